/* SPDX-License-Identifier: MIT */
/* Output of a result: to stdout, or to a file that appears only when it is complete. */
#pragma once

#include "app.h"
#include <stdbool.h>
#include <stdio.h>

/* of a path with its zero byte */
enum { OUTPUT_PATH_BYTES = 4096 };

/* a result that is being written */
struct output {
	FILE *stream; /* to write to */
	const char *path; /* NULL for stdout */
	bool is_nameless; /* the file gets its name when it is complete */
	bool is_beside; /* the same where files need a name: that of @part until then */
	char part[OUTPUT_PATH_BYTES]; /* PATH.PID.part, or PATH.PID.N.part if that exists */
};

/*
 * Begin a result. An existing file stays until output_close(), even if the process is killed or
 * the machine stops before. Then a new file has its name, with its mode and, as far as the user may
 * give them, its owner, group and ACL: nobody may read the result who could not read the old file.
 * Other hard links keep the old contents. A symbolic link stays, and what it leads to is written
 * directly, as are devices, pipes and files in a folder that may not change. A capture is never
 * replaced. A file that has no permission to write, or gives this user none, is refused.
 * @app: for messages, and for stdout; @path: file, NULL for stdout; must outlive @output.
 * Return: 0 or an exit status, the message was printed.
 */
int output_open(const struct app *app, const char *path, struct output *output);

/* names to try for a file beside another one */
enum { OUTPUT_PARTS = 100 };

/*
 * The name of a file beside path, one of several.
 * @n: 0..OUTPUT_PARTS - 1; @part: OUTPUT_PATH_BYTES bytes. Return: whether it fits.
 */
bool output_part_name(const char *path, unsigned int n, char *part);

/*
 * Create a file beside @path, which will replace it; never one that exists, nor through a link.
 * @part: set to its name, OUTPUT_PATH_BYTES. Return: descriptor; a negative errno.
 */
int output_open_part(const char *path, char *part);

/*
 * Whether the user may replace the contents of @path.
 * Return: 0, also if there is no file; -EACCES it is read-only, also for root; another errno.
 */
int output_is_writable(const char *path);

/*
 * Give a new file the mode, and as far as possible the owner, group and ACL, of the one that it
 * will replace. Without its group or ACL it has no permissions for a group.
 * Return: 0, also if @path is no file; a negative errno.
 */
int output_take_mode(int fd, const char *path);

/*
 * Check that a new file can replace @path, before there is one.
 * Return: 0 or EXIT_FAILED, the message was printed.
 */
int output_check_folder(const struct app *app, const char *path);

/*
 * End a result.
 * @status: of the writer; the file is discarded if it is not 0.
 * Return: @status, or EXIT_FAILED if the result could not be written; the message was printed.
 */
int output_close(const struct app *app, struct output *output, int status);

/*
 * Open a stream that a reader may follow while it is written.
 * @path: file; NULL: none; @otherwise: the stream without a file; @append: what the file has
 * stays; @stream: set to the stream on success.
 * Return: 0 or an exit status, the message was printed.
 */
int output_open_live(const struct app *app, const char *path, FILE *otherwise, bool append,
		     FILE **stream);

/*
 * Close the stream.
 * @path: as it was opened with; @stream: the stream; NULL: it was not opened; @status: of the
 * writer.
 * Return: @status, or EXIT_FAILED if the result could not be written; the message was printed.
 */
int output_close_live(const struct app *app, const char *path, FILE *stream, int status);

/* --- Text in other formats --- */

/*
 * Without memory these end the stream with ENOMEM, see stream.h.
 *
 * Write a field of CSV, in quotes if it has the separator, a quote or a line feed inside.
 * Return: false without memory, as another stream than those of stream.h has no such end.
 */
bool csv_field(FILE *out, const char *text, const char *separator);

/* Escape a text for elements and attributes of HTML and SVG. */
void markup_text(FILE *out, const char *text);

/* Escape a label's value or, without @quote, a help text for Prometheus. */
void label_text(FILE *out, const char *text, bool quote);

/* --- Text wrapped at the terminal's width --- */

/* the first line is not indented, further lines are */
enum { COLUMNS_UNINDENTED = -1 };

/* Terminal width of a stream, @otherwise if it is no terminal. */
int terminal_columns(FILE *out, int otherwise);

/*
 * Print text, broken between words. Ends with a line feed. A word that is too long for a line gets
 * a line of its own. Several blanks stay within a line, as they align what follows.
 * @text: words; line feeds are blanks; @column: current column of the stream, or
 * COLUMNS_UNINDENTED; @indent: blanks before each further line, and before the first one if @column
 * is 0; @columns: of the terminal.
 */
void columns_wrap(FILE *out, const char *text, int column, int indent, int columns);

/* The larger one of a width and the length of a text. */
int columns_wider(int width, const char *text);

/*
 * Shorten a name to that many bytes, in the middle: names differ at their ends, "...,pid=7".
 * @text: UTF-8, changed in place. Return: @text.
 */
char *columns_squeeze(char *text, size_t bytes);

/* Print text padded or cut to a width. @text: ASCII; @width: columns, at least 1. */
void columns_cut(FILE *out, const char *text, int width);

/*
 * Print the name of a row: in its column, or where that has no room, on a line of its own.
 * @text: ASCII, not empty; @width: of the column, 0: it has none; @columns: of the terminal.
 */
void columns_name(FILE *out, const char *text, int width, int columns);
