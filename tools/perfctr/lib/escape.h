/* SPDX-License-Identifier: MIT */
/* Text in other formats. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Write a field of CSV, in quotes if it has the separator, a quote or a line feed inside. */
void csv_field(FILE *out, const char *text, const char *separator);

/* Escape a text for elements and attributes of HTML and SVG. */
void markup_text(FILE *out, const char *text);

/* Escape a label's value or, without @quote, a help text for Prometheus. */
void label_text(FILE *out, const char *text, bool quote);
