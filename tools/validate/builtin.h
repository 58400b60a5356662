/* SPDX-License-Identifier: MIT */
/* Files that are built into the program: campaigns and listings. */
#pragma once

#include <stddef.h>

#include "lib/embed.h"

/* a file */
struct builtin {
	const char *name; /* without the folder, for example "matrix-copy.lst" */
	const char *text; /* NUL terminated */
	const char *end; /* after the NUL */
};

struct builtin_list {
	const struct builtin *files;
	size_t count; /* elements of @files */
	struct builtin_list *next;
};

/* A program with more files adds them before main(). @list: stays until the program ends. */
void builtin_add(struct builtin_list *list);

/* Return: a file by number, from 0 on; NULL: there are no more. */
const struct builtin *builtin_get(size_t n);

/* The file or NULL. */
const struct builtin *builtin_find(const char *name);

#define BUILTIN(symbol, name)                              \
	{                                                  \
		name, embed_##symbol, embed_##symbol##_end \
	}
