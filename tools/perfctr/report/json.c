// SPDX-License-Identifier: MIT
/* JSON of perfctr report. */
#include "lib/busiest.h"
#include "lib/json.h"
#include "report.h"
#include "lib/rows.h"

static void write_lines(struct json_stream *json, const struct report *report, const char *name,
			bool of_blocks, bool metrics)
{
	const struct timeline *t = report->timeline;
	char unit[64];

	json_stream_array(json, name);
	for (size_t n = 0; n < t->line_count; n++) {
		const struct timeline_line *line = &t->lines[n];
		const struct row *row = line->row;
		struct json_object *o;

		if (line->is_block != of_blocks || (row->metric != NULL) != metrics ||
		    (of_blocks && metrics && !row->info))
			continue;
		o = metrics ? rows_json_metric(row) : rows_json_counter(row);
		/* over single samples: rates, levels, metrics */
		json_add_double(o, "sample_min", line->least);
		json_add_double(o, "sample_mean", line->average);
		json_add_double(o, "sample_max", line->most);
		json_add_text(o, "sample_unit", describe_rate_unit(row, false, unit, sizeof(unit)));
		json_stream_item(json, o);
	}
}

void report_json(const struct report *report)
{
	struct json_stream json = { .to = report->out };
	struct json_object *root = json_object_new_object(), *mark;
	struct json_object *notes = json_object_new_array();
	char text[512];

	json_add_u64(root, "version", 1);
	json_add(root, "capture", capture_file_json(report->file));
	for (size_t n = 0; describe_trouble(report->file, n, text, sizeof(text)); n++)
		json_append_text(notes, text);
	json_add(root, "notes", notes);
	json_add(root, "busiest", busiest_json(report->file->totals));
	json_stream_members(&json, root);
	json_stream_array(&json, "marks");
	/* they are of all sessions */
	for (size_t n = 0; !report->file->number && n < report->file->marks.count; n++) {
		mark = json_object_new_object();
		mark_json(&report->file->marks.all[n], mark);
		json_stream_item(&json, mark);
	}
	write_lines(&json, report, "counters", false, false);
	write_lines(&json, report, "metrics", false, true);
	if (report->per_block) {
		write_lines(&json, report, "block_counters", true, false);
		write_lines(&json, report, "block_metrics", true, true);
	}
	json_stream_end(&json);
}
