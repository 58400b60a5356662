// SPDX-License-Identifier: MIT
/* Rows of a CSV file with quotes, for measured.c. */
#include "base.h"

#include <string.h>

int csv_fail(const struct csv *csv, unsigned int column, const char *what, const char *text)
{
	return fail(csv->failure, "%s:%u:%u: %s%s%s", csv->name, csv->row_line, column, what,
		    text ? ": " : "", text ? text : "");
}

static int plain_cell(struct csv *csv, const char *line_start, struct csv_cell *cell)
{
	const char *start = csv->at, *end;

	while (csv->at < csv->end && !strchr(",\r\n\"", *csv->at))
		csv->at++;
	if (csv->at < csv->end && *csv->at == '"')
		return csv_fail(csv, (unsigned int)(csv->at - line_start) + 1,
				"a quote in the middle of a cell", NULL);
	end = csv->at;
	while (start < end && *start == ' ')
		start++;
	while (end > start && end[-1] == ' ')
		end--;
	cell->text = arena_copy(csv->arena, start, (size_t)(end - start));
	return 0;
}

/* Maximum bytes of a quoted cell: up to the quote that is not doubled. */
static size_t quoted_length(const struct csv *csv)
{
	const char *at = csv->at + 1;

	while (at < csv->end && (*at != '"' || (at + 1 < csv->end && at[1] == '"')))
		at += *at == '"' ? 2 : 1;
	return (size_t)(at - csv->at);
}

static int quoted_cell(struct csv *csv, struct csv_cell *cell)
{
	char *to = arena_alloc(csv->arena, quoted_length(csv) + 1);

	cell->text = to;
	for (csv->at++; csv->at < csv->end; csv->at++) {
		if (*csv->at == '\n')
			csv->line++;
		if (*csv->at == '"') {
			csv->at++;
			if (csv->at == csv->end || strchr(",\r\n", *csv->at))
				return 0;
			if (*csv->at != '"')
				return csv_fail(csv, cell->column,
						"text after the closing quote of a cell", NULL);
		}
		*to++ = *csv->at;
	}
	return csv_fail(csv, cell->column, "the cell has no closing quote", NULL);
}

static int read_cells(struct csv *csv, const char *line_start)
{
	for (csv->count = 0;; csv->at++) {
		struct csv_cell *cell = &csv->cells[csv->count];
		int ret;

		if (csv->count == CSV_MAX_COLUMNS)
			return csv_fail(csv, 1, "more than 32 columns", NULL);
		cell->column = (unsigned int)(csv->at - line_start) + 1;
		ret = csv->at < csv->end && *csv->at == '"' ? quoted_cell(csv, cell) :
							      plain_cell(csv, line_start, cell);
		if (ret < 0)
			return ret;
		csv->count++;
		if (csv->at == csv->end || *csv->at != ',')
			return 0;
	}
}

int csv_row(struct csv *csv)
{
	const char *start;

	for (;; csv->at++) {
		if (csv->at == csv->end)
			return 0;
		csv->line++;
		start = csv->at;
		if (*csv->at == '#')
			while (csv->at < csv->end && *csv->at != '\n')
				csv->at++;
		if (csv->at < csv->end && *csv->at == '\r')
			csv->at++;
		if (csv->at == csv->end)
			return 0;
		if (*csv->at != '\n')
			break;
	}
	csv->row_line = csv->line;
	if (read_cells(csv, start) < 0)
		return -1;
	if (csv->at < csv->end && *csv->at == '\r')
		csv->at++;
	if (csv->at < csv->end && *csv->at != '\n')
		return csv_fail(csv, (unsigned int)(csv->at - start) + 1,
				"a carriage return in the middle of a line", NULL);
	if (csv->at < csv->end)
		csv->at++;
	return 1;
}
