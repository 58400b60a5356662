/* SPDX-License-Identifier: MIT */
/* Files of campaigns/ and listings/ that are built into the program. */
#pragma once

#include <stddef.h>

/* a file */
struct builtin {
	const char *name; /* without the folder, for example "matrix-copy.lst" */
	const char *text; /* NUL terminated */
	const char *end; /* after the NUL */
};

extern const struct builtin builtins[];
extern const size_t builtin_count;

/* The file or NULL. */
const struct builtin *builtin_find(const char *name);
