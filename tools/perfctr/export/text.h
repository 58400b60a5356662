/* SPDX-License-Identifier: MIT */
/* Fast text output, for CSV and JSON lines. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 64 * 1024 };

/* text that is not written yet */
struct text {
	FILE *out;
	size_t used;
	char bytes[TEXT_BYTES];
};

void text_flush(struct text *text);
/* Append bytes. */
void text_add(struct text *text, const char *bytes, size_t size);
void text_u64(struct text *text, uint64_t value);
/* Append a finite number as json_add_double() writes it: the fewest digits that read back as it. */
void text_double(struct text *text, double value);

static inline void text_put(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}
