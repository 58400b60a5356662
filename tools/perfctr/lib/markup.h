/* SPDX-License-Identifier: MIT */
#ifndef PERFCTR_MARKUP_H
#define PERFCTR_MARKUP_H

#include <stdio.h>

/* Escape a text for elements and attributes of HTML and SVG. */
void markup_text(FILE *out, const char *text);

#endif /* PERFCTR_MARKUP_H */
