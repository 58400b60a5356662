/* SPDX-License-Identifier: MIT */
/* Commands of benchmarks: words with formulas, and programs. */
#pragma once

#include "analysis.h"

enum { MAX_WORDS = 32 };

/* a command that is a program */
#define RUN "run "
/* one that is a kernel of a GPU */
#define LAUNCH "launch "

/*
 * The words of a command with its formulas evaluated.
 * @words: set, room for MAX_WORDS.
 * Return: their number, at least 1; -1 with a failure.
 */
int words_split(const struct analysis *a, const struct point *point, const char *command,
		const char **words);

/* Whether the campaign's programs may be run. Return: 0; -1 with a failure. */
int words_allow(struct analysis *a);
