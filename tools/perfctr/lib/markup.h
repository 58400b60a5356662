/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

/* Escape a text for elements and attributes of HTML and SVG. */
void markup_text(FILE *out, const char *text);
