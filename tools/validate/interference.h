/* SPDX-License-Identifier: MIT */
/* Contention, measured: a task alone, then beside each aggressor. */
#pragma once

#include "base.h"
#include "lib/app.h"

/*
 * Measure what a file describes (docs/validate.md, "Interference"), and report it.
 * @path: NULL: the built-in one; @device, @output, @html: as the options; @json: instead of text.
 * Return: exit status; messages were printed.
 */
int interference_run(struct app *app, const char *path, const char *device, const char *output,
		     const char *html, bool json);
