/* SPDX-License-Identifier: MIT */
/* The formats of perfctr report. */
#pragma once

#include "lib/describe.h"
#include "lib/output.h"
#include "lib/timeline.h"

/* contents and format of a report */
struct report {
	struct app *app;
	struct capture_file *file;
	struct timeline *timeline;
	FILE *out;
	bool per_block; /* lines of single blocks too */
	const struct timeline_line **plots; /* as report_order() has them */
	size_t plot_count;
};

void report_text(const struct report *report);
void report_json(const struct report *report);
void report_svg(const struct report *report);
void report_html(const struct report *report);

/* Name of the group that a line is shown in: a type of block, "software". */
const char *report_group(const struct row *row);

/*
 * Lines as they are drawn: by group, metrics before counters, each followed by its blocks.
 * @plots: room for twice all lines; @count: set to their number.
 */
void report_order(const struct timeline *t, const struct timeline_line **plots, size_t *count);

/*
 * Top of a line's scale. A few short peaks that would flatten the rest are cut off; a label shows
 * it.
 */
double report_top(const struct timeline *t, const struct timeline_line *line);
