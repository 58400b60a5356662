/* SPDX-License-Identifier: MIT */
/* The formats of perfctr export. */
#pragma once

#include <math.h>

#include "lib/values.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- Fast text output, for CSV and JSON lines --- */

enum { TEXT_BYTES = 64 * 1024 };

/* text that is not written yet */
struct text {
	FILE *out;
	size_t used;
	char bytes[TEXT_BYTES];
};

/* a part of a line that is the same each time; its bytes are to be freed */
struct piece {
	char *bytes;
	size_t size;
};

void text_flush(struct text *text);
/* Append bytes that may not fit. */
void text_add_any(struct text *text, const char *bytes, size_t size);
void text_u64(struct text *text, uint64_t value);
/* a value of a row: signed if it is a level */
void text_value(struct text *text, const struct row *row, uint64_t value);
/* Append a finite number as json_add_double() writes it: the fewest digits that read back as it. */
void text_double(struct text *text, double value);

static inline void text_add(struct text *text, const char *bytes, size_t size)
{
	if (size > TEXT_BYTES - text->used) {
		text_add_any(text, bytes, size);
		return;
	}
	memcpy(text->bytes + text->used, bytes, size);
	text->used += size;
}

static inline void text_piece(struct text *text, const struct piece *piece)
{
	text_add(text, piece->bytes, piece->size);
}

static inline void text_put(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}

/* One export of a session of a capture. */
struct export
{
	struct capture_file *file;
	FILE *out;
	/** @values: including lines of single blocks. */
	struct values values;
	/** @counts: Perfetto: counts of each sample instead of rates. */
	bool counts;
	/** @is_first: of the captures that are written to @out. */
	bool is_first;
	/** @text: of CSV and JSON, of all sessions, written to @out when full and at the end. */
	struct text *text;
	/** @names: CSV, JSON: what precedes the value of each line of @values; freed at the end. */
	struct piece *names;
	/** @origin: CSV, JSON: where each row comes from; freed at the end. */
	struct piece origin;
	/** @state: private to the format. */
	void *state;
};

/* an output format; its functions return 0 or a negative errno */
struct export_format {
	const char *name;
	int (*begin)(struct export *e);
	/* @values holds the values of the sample */
	int (*sample)(struct export *e, const struct perfctr_sample *sample);
	int (*end)(struct export *e);
};

extern const struct export_format export_csv;
extern const struct export_format export_json;
extern const struct export_format export_perfetto;
