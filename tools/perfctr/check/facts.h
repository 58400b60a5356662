/* SPDX-License-Identifier: MIT */
/* What a report of a defect needs to know of a machine: kernel, drivers, GPUs, PMUs, sensors. */
#pragma once

#include <json.h>

#include "lib/app.h"

/*
 * Members of @report. Only what is named here is read, none of it is a serial number, and no
 * device is woken. Texts are as the kernel has them: private_remove() follows.
 */
void facts_add(const struct app *app, struct json_object *report);

/* Write a value as text, its members in lines. */
void facts_write(FILE *to, struct json_object *value);
