/* SPDX-License-Identifier: MIT */
/* Captures that a command line names as files and directories. */
#pragma once

#include <stddef.h>

#include "app.h"

struct capture_list {
	char **paths;
	size_t count;
};

/*
 * Add captures in the order of the words. A directory stands for the captures in it and in those
 * below it, by name; its other files are left out.
 * @words: files, directories, or - for standard input; @count: of @words, 0: the file that record
 * writes by default; @list: zeroed or filled
 * before; call capture_list_free() also after a failure.
 * Return: 0 or an exit status, the message was printed.
 */
int capture_list_add(const struct app *app, char *const *words, int count,
		     struct capture_list *list);

void capture_list_free(struct capture_list *list);
