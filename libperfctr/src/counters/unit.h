/* SPDX-License-Identifier: MIT */
/* Units as powers of words: bytes/s is byte 1, s -1. The generator has the same algebra. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { UNIT_WORDS = 96 };

struct unit {
	signed char power[UNIT_WORDS]; /* of each row of table_units, then of words of pages */
};

/* Return: whether all words of it are known. */
bool unit_read(const char *text, struct unit *unit);
/* For example "bytes/s"; empty without a unit. */
void unit_text(const struct unit *unit, char *text, size_t size);
/* Make a lower-case plural known. Return: whether it is. */
bool unit_add_word(const char *plural);
/* A known word by its singular or plural in any case; NULL: there is none. */
const char *unit_plural(const char *word);
bool unit_equal(const struct unit *a, const struct unit *b);
