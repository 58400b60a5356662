/* SPDX-License-Identifier: MIT */
/* Files of campaigns/ and listings/ that are part of the program. */
#ifndef VALIDATE_BUILTIN_H
#define VALIDATE_BUILTIN_H

#include <stddef.h>

/**
 * struct builtin - a file
 */
struct builtin {
	/** @name: without folder, for example "matrix-copy.lst". */
	const char *name;
	/** @text: NUL terminated. */
	const char *text;
	/** @end: behind the NUL. */
	const char *end;
};

extern const struct builtin builtins[];
extern const size_t builtin_count;

/* The file or NULL. */
const struct builtin *builtin_find(const char *name);

#endif /* VALIDATE_BUILTIN_H */
