/* SPDX-License-Identifier: MIT */
/* The formats of perfctr report. */
#pragma once

#include "lib/describe.h"
#include "lib/escape.h"
#include "lib/timeline.h"

/* contents and format of a report */
struct report {
	struct app *app;
	struct capture_file *file;
	struct timeline *timeline;
	FILE *out;
	bool per_block; /* lines of single blocks too */
};

void report_text(const struct report *report);
void report_json(const struct report *report);
void report_svg(const struct report *report);
void report_html(const struct report *report);

/* Name of the group that a line is shown in: a type of block, "software". */
const char *report_group(const struct row *row);

/* Whether a line of a single block is of a counter or metric that several blocks have. */
bool report_is_part(const struct timeline_line *block, const struct timeline_line *sum);
