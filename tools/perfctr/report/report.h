/* SPDX-License-Identifier: MIT */
/* The formats of perfctr report. */
#ifndef PERFCTR_REPORT_H
#define PERFCTR_REPORT_H

#include "lib/markup.h"
#include "timeline.h"

/**
 * struct report - what is shown, and how
 */
struct report {
	struct app *app;
	struct capture_file *file;
	struct timeline *timeline;
	FILE *out;
	/** @per_block: lines of single blocks too. */
	bool per_block;
};

void report_text(const struct report *report);
void report_json(const struct report *report);
void report_svg(const struct report *report);
void report_html(const struct report *report);

/* Name of the group that a line is shown in: a type of block, "software". */
const char *report_group(const struct row *row);

/* Whether a line of a single block is of a counter or metric that several blocks have. */
bool report_is_part(const struct timeline_line *block, const struct timeline_line *sum);

/* "2026-11-21 07:31:12 UTC", empty if the capture does not tell. Return: @text. */
char *report_date(const struct capture_file *file, char *text, size_t size);

/*
 * One sentence on what is wrong with the counts, NULL after the last one.
 * n: 0.. ; text: where it goes. Return: @text.
 */
char *report_trouble(const struct capture_file *file, size_t n, char *text, size_t size);

/* The value of a row as people read it, in full; "not measured" and the like if there is none. */
char *report_value(const struct row *row, char *text, size_t size);

/* Unit of the rate, "" for levels and metrics. Return: @text. */
char *report_rate_unit(const struct row *row, char *text, size_t size);

/* What is to be known about a value, separated by "; ", empty if nothing. Return: @text. */
char *report_notes(const struct row *row, char *text, size_t size);

#endif /* PERFCTR_REPORT_H */
