/* SPDX-License-Identifier: MIT */
/* Text in as many columns as a terminal has. */
#ifndef PERFCTR_COLUMNS_H
#define PERFCTR_COLUMNS_H

#include <stdio.h>

/* a line's first words stand at its beginning, the further lines are indented */
enum { COLUMNS_UNINDENTED = -1 };

/**
 * columns_wrap() - print text, broken between words
 * @out: stream
 * @text: words; line feeds are blanks
 * @column: where the stream is in its line, or COLUMNS_UNINDENTED
 * @indent: blanks before each further line, and before the first one if @column is 0
 * @columns: of the terminal
 *
 * Ends with a line feed. A word that is too long for a line has one for itself.
 */
void columns_wrap(FILE *out, const char *text, int column, int indent, int columns);

/**
 * columns_cut() - print text padded on the right, or cut off where it is too long
 * @out: stream
 * @text: ASCII
 * @width: columns, at least 1
 */
void columns_cut(FILE *out, const char *text, int width);

#endif /* PERFCTR_COLUMNS_H */
