/* SPDX-License-Identifier: MIT */
#ifndef PERFCTR_CSV_FIELD_H
#define PERFCTR_CSV_FIELD_H

#include <stdio.h>

/* Write a field of CSV, in quotes if it has the separator, a quote or a line feed inside. */
void csv_field(FILE *out, const char *text, const char *separator);

#endif /* PERFCTR_CSV_FIELD_H */
