/* SPDX-License-Identifier: MIT */
/* Rows of comma-separated values, with the column in which each cell begins. */
#ifndef VALIDATE_CSV_H
#define VALIDATE_CSV_H

#include "base.h"

enum { CSV_MAX_COLUMNS = 32 };

struct cell {
	const char *text;
	/* from 1 on, in bytes */
	unsigned int column;
};

/* a text while it is read */
struct csv {
	const char *name;
	struct arena *arena;
	struct failure *failure;
	const char *at; /* what comes next */
	const char *end;
	unsigned int line; /* last line that was read */
	unsigned int row_line; /* in which the row began: quoted cells may have line feeds */
	struct cell cells[CSV_MAX_COLUMNS];
	size_t count;
};

/* Reads the next row that is neither empty nor a comment. Returns 1, 0 at the end, -1. */
int csv_row(struct csv *csv);

/* Returns -1; @text may be NULL. */
int csv_fail(const struct csv *csv, unsigned int column, const char *what, const char *text);

#endif /* VALIDATE_CSV_H */
