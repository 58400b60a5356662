/* SPDX-License-Identifier: MIT */
/* Names that a user may have meant. The tools use it, too, so it is no code of the library. */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { NEAR_BYTES = 64 };

/* The number of differences from which on a name is another one. */
static inline unsigned int near_distance_limit(const char *name)
{
	return (unsigned int)strlen(name) / 3 + 1;
}

/* Letters of @a to insert, remove or change. @b: shorter than NEAR_BYTES */
static inline unsigned int near_distance(const char *a, const char *b)
{
	unsigned int row[NEAR_BYTES];

	for (unsigned int i = 0; i <= strlen(b); i++)
		row[i] = i;
	for (; *a; a++) {
		unsigned int diagonal = row[0]++;

		for (unsigned int i = 0; b[i]; i++) {
			unsigned int change = diagonal + (tolower((unsigned char)*a) !=
							  tolower((unsigned char)b[i]));
			unsigned int least = (row[i] < row[i + 1] ? row[i] : row[i + 1]) + 1;

			diagonal = row[i + 1];
			row[i + 1] = change < least ? change : least;
		}
	}
	return row[strlen(b)];
}

/* Whether two adjacent letters of one name are swapped in the other. */
static inline bool near_is_swapped(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a && a[0] == b[1] && a[1] == b[0] && !strcmp(a + 2, b + 2);
}

/* Whether a name is nearer to the one wanted than *distance, which then becomes its distance. */
static inline bool near_is_nearer(const char *wanted, const char *name, unsigned int *distance)
{
	const size_t limit = strlen(wanted), length = strlen(name);
	unsigned int d;

	/* each letter too many or too few is one to remove or insert */
	if (length >= NEAR_BYTES || length >= limit + *distance || limit >= length + *distance)
		return false;
	d = limit == length && length > 1 && near_is_swapped(wanted, name) ?
		    1 :
		    near_distance(wanted, name);
	if (d >= *distance)
		return false;
	*distance = d;
	return true;
}
