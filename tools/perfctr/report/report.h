/* SPDX-License-Identifier: MIT */
/* The formats of perfctr report. */
#pragma once

#include "lib/describe.h"
#include "lib/output.h"
#include "lib/timeline.h"

/* contents and format of a report */
struct report {
	struct app *app;
	const struct capture *capture;
	const struct timeline
		*timelines; /* of its sessions; lines that were not asked for are gone */
	/* the session that texts and JSON are about; of pictures and pages the first one */
	const struct capture_file *file;
	const struct timeline *timeline;
	uint64_t start_ns, end_ns; /* of all sessions */
	bool is_exact; /* as of all timelines */
	FILE *out;
	bool per_block; /* lines of single blocks too */
	const struct timeline_line **plots; /* as report_order() has them */
	size_t plot_count;
};

void report_text(const struct report *report);
void report_json(const struct report *report);
void report_svg(const struct report *report);
void report_html(const struct report *report);

/*
 * Name of the group that a line is shown in: a type of block, "software", with its device if there
 * are several. Return: @text.
 */
enum { REPORT_GROUP_BYTES = 4400 };
char *report_group(const struct row *row, char *text);

/*
 * Lines as they are drawn: by group, metrics before counters, each followed by its blocks.
 * @plots: room for twice all lines; @count: more by their number.
 */
void report_order(const struct timeline *t, const struct timeline_line **plots, size_t *count);

/*
 * Top of a line's scale. A few short peaks that would flatten the rest are cut off; a label shows
 * it.
 */
double report_top(const struct timeline *t, const struct timeline_line *line);
