// SPDX-License-Identifier: MIT
/* JSON of perfctr report. */
#include "lib/busiest.h"
#include "lib/json.h"
#include "report.h"
#include "lib/rows.h"

static void add_lines(struct json_object *root, const struct report *report, bool of_blocks)
{
	const struct timeline *t = report->timeline;
	struct json_object *counters = json_object_new_array();
	struct json_object *metrics = json_object_new_array();
	char unit[64];

	for (size_t n = 0; n < t->line_count; n++) {
		const struct timeline_line *line = &t->lines[n];
		const struct row *row = line->row;
		struct json_object *o;

		if (line->is_block != of_blocks || (of_blocks && row->metric && !row->info))
			continue;
		o = row->metric ? rows_json_metric(row) : rows_json_counter(row);
		/* over single samples: rates, levels, metrics */
		json_add_double(o, "sample_min", line->least);
		json_add_double(o, "sample_mean", line->average);
		json_add_double(o, "sample_max", line->most);
		json_add_text(o, "sample_unit", describe_rate_unit(row, false, unit, sizeof(unit)));
		json_object_array_add(row->metric ? metrics : counters, o);
	}
	json_add(root, of_blocks ? "block_counters" : "counters", counters);
	json_add(root, of_blocks ? "block_metrics" : "metrics", metrics);
}

void report_json(const struct report *report)
{
	struct json_object *root = json_object_new_object();
	struct json_object *notes = json_object_new_array();
	struct json_object *marks = json_object_new_array();
	char text[512];

	json_add_u64(root, "version", 1);
	json_add(root, "capture", capture_file_json(report->file));
	for (size_t n = 0; describe_trouble(report->file, n, text, sizeof(text)); n++)
		json_append_text(notes, text);
	json_add(root, "notes", notes);
	json_add(root, "busiest", busiest_json(report->file->totals));
	/* they are of all sessions */
	for (size_t n = 0; !report->file->number && n < report->file->marks.count; n++)
		mark_json(&report->file->marks.all[n], json_append(marks));
	json_add(root, "marks", marks);
	add_lines(root, report, false);
	if (report->per_block)
		add_lines(root, report, true);
	json_write(report->out, root, true);
}
