/* SPDX-License-Identifier: MIT */
/* Text wrapped at the terminal's width. */
#pragma once

#include <stdio.h>

/* the first line is not indented, further lines are */
enum { COLUMNS_UNINDENTED = -1 };

/*
 * Print text, broken between words. Ends with a line feed. A word that is too long for a line gets
 * a line of its own.
 * @text: words; line feeds are blanks; @column: current column of the stream, or
 * COLUMNS_UNINDENTED; @indent: blanks before each further line, and before the first one if @column
 * is 0; @columns: of the terminal.
 */
void columns_wrap(FILE *out, const char *text, int column, int indent, int columns);

/* The larger one of a width and the length of a text. */
int columns_wider(int width, const char *text);

/* Print text padded or cut to a width. @text: ASCII; @width: columns, at least 1. */
void columns_cut(FILE *out, const char *text, int width);
