/* SPDX-License-Identifier: MIT */
/* Lines of a configuration file for inih, whose own readers take a long line for several. */
#pragma once

#include <stdio.h>

enum { CONFIG_SECTION_MOST = 49 }; /* bytes of a section's name, without its brackets */

struct config_file {
	FILE *file; /* NULL: it could not be opened */
	const char *instead; /* of a long line, for the message */
	int line; /* number of the last line that was read, from 1 on */
	int wrong; /* the line that @reason is about, which ended the file; 0: none is wrong */
	char reason[256];
};

/*
 * For ini_parse_stream(), as fgets(). A line that does not fit, has a byte that is 0, or a section
 * that is cut or followed by text ends the file, and is noted: inih takes what does not fit for
 * another line, drops the line after it, or drops the text.
 * @config: struct config_file. Return: @line; NULL at the end.
 */
char *config_line(char *line, int size, void *config);

/* The line that is being read is wrong. Return: 0, for a handler of inih. */
int config_refuse(struct config_file *config, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
