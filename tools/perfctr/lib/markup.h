/* SPDX-License-Identifier: MIT */
#ifndef PERFCTR_MARKUP_H
#define PERFCTR_MARKUP_H

#include <stdio.h>

/* Text of HTML and SVG, in elements and attributes. */
void markup_text(FILE *out, const char *text);

#endif /* PERFCTR_MARKUP_H */
