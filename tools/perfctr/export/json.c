// SPDX-License-Identifier: MIT
/* A capture as JSON lines: header, samples, end. */
#include <math.h>

#include "export.h"
#include "lib/json.h"
#include "lib/rows.h"

/* Names of counters and metrics as they occur in samples, with their units. */
static struct json_object *columns(const struct values *values)
{
	struct json_object *array = json_object_new_array();

	for (size_t n = 0; n < values->count; n++) {
		const struct row *row = values->lines[n].row;
		struct json_object *o;

		if (!values->lines[n].is_block)
			continue;
		o = json_append(array);
		json_add_text(o, "event", row->event);
		json_add_bool(o, "is_metric", row->metric);
		json_add_text(o, "block", row->label);
		json_add_text(o, "counter", row->counter);
		json_add_text(o, "id",
			      row->metric ? row->metric->id :
			      row->desc	  ? row->desc->id :
					    NULL);
		json_add_text(o, "unit", *row->unit ? row->unit : NULL);
		json_add_double(o, "scale", row->scale);
	}
	return array;
}

static int json_begin(struct export *e)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "record", "capture");
	json_add_u64(o, "version", 1);
	json_add(o, "capture", capture_file_json(e->file));
	json_add(o, "columns", columns(&e->values));
	json_write(e->out, o, false);
	return 0;
}

static int json_sample(struct export *e, const struct perfctr_sample *sample)
{
	struct json_object *o = json_object_new_object();
	struct json_object *counters = json_object_new_object();
	struct json_object *metrics = json_object_new_object();
	uint64_t ns = 0;
	const bool known = capture_file_realtime(e->file, sample->end_ns, &ns);
	char flags[256];

	json_add_text(o, "record", "sample");
	json_add_u64(o, "seq", sample->seq);
	json_add_u64(o, "start_ns", sample->start_ns);
	json_add_u64(o, "end_ns", sample->end_ns);
	json_add_known(o, "end_realtime_ns", known, ns);
	json_add_u64(o, "user_data", sample->user_data);
	perfctr_flag_text(sample->flags, flags, sizeof(flags));
	json_add_words(o, "flags", flags);
	json_add_u64(o, "merged_periods", sample->merged_periods);
	json_add_u64(o, "lost_ns", sample->lost_ns);
	if (sample->gpu_epoch) {
		json_add_u64(o, "gpu_epoch", sample->gpu_epoch);
		json_add_u64(o, "gpu_timestamp", sample->gpu_timestamp);
	}
	for (size_t n = 0; n < e->values.count; n++) {
		const struct values_line *line = &e->values.lines[n];
		const struct values_item *item = &e->values.items[n];

		if (!line->is_block || !item->is_present)
			continue;
		if (line->row->metric)
			json_add_double(metrics, line->row->event,
					item->is_measured ? item->number : NAN);
		else
			json_add_known(counters, line->row->event, item->is_measured, item->count);
	}
	json_add(o, "counters", counters);
	json_add(o, "metrics", metrics);
	json_write(e->out, o, false);
	return 0;
}

static int json_end(struct export *e)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "record", "end");
	rows_json_add_span(o, perfctr_totals_span(e->file->totals));
	json_add_bool(o, "finished", e->file->status);
	json_write(e->out, o, false);
	return 0;
}

const struct export_format export_json = { "json", json_begin, json_sample, json_end };
