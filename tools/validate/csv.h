/* SPDX-License-Identifier: MIT */
/* Rows of comma-separated values, with the column in which each cell begins. */
#pragma once

#include "base.h"

enum { CSV_MAX_COLUMNS = 32 };

struct cell {
	const char *text;
	unsigned int column; /* from 1 on, in bytes */
};

/* a parser's position in a text */
struct csv {
	const char *name;
	struct arena *arena;
	struct failure *failure;
	const char *at; /* next byte to read */
	const char *end;
	unsigned int line; /* line that was read last */
	/* line in which the row began: quoted cells may contain line feeds */
	unsigned int row_line;
	struct cell cells[CSV_MAX_COLUMNS];
	size_t count;
};

/* Reads the next row that is neither empty nor a comment. Returns 1, 0 at the end, -1. */
int csv_row(struct csv *csv);

/* Returns -1; @text may be NULL. */
int csv_fail(const struct csv *csv, unsigned int column, const char *what, const char *text);
