/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

/* Write a field of CSV, in quotes if it has the separator, a quote or a line feed inside. */
void csv_field(FILE *out, const char *text, const char *separator);
