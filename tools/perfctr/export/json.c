// SPDX-License-Identifier: MIT
/* A capture as JSON lines: header, samples, end. */
#include <errno.h>

#include "export.h"
#include "lib/json.h"
#include "lib/rows.h"

/* A counter or metric as it occurs in samples, with its unit. */
static struct json_object *column(const struct row *row)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "event", row->event);
	json_add_bool(o, "is_metric", row->metric);
	json_add_text(o, "block", row->label);
	json_add_text(o, "counter", row->counter);
	json_add_text(o, "id", row->metric ? row->metric->id : row->desc ? row->desc->id : NULL);
	json_add_text(o, "unit", *row->unit ? row->unit : NULL);
	json_add_double(o, "scale", row->scale);
	return o;
}

/* A name as JSON, between a comma and a colon. Return: 0 or -ENOMEM. */
static int quote(const char *text, struct piece *piece)
{
	struct json_object *o = json_object_new_object();
	int size;

	json_add_text(o, "", text);
	size = asprintf(&piece->bytes, ",%s:",
			json_object_to_json_string_ext(json_object_object_get(o, ""),
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
	if (size < 0)
		piece->bytes = NULL;
	piece->size = size < 0 ? 0 : (size_t)size;
	return size < 0 ? -ENOMEM : 0;
}

static int json_begin(struct export *e)
{
	struct json_stream json = { .to = e->out, .is_line = true };
	struct json_object *o = json_object_new_object();

	for (size_t n = 0; n < e->values.count; n++)
		if (quote(e->values.lines[n].row->event, &e->names[n]))
			return -ENOMEM;
	json_add_text(o, "file", e->file->path);
	json_add_text(o, "host", capture_file_text(e->file, "host"));
	json_add_text(o, "device", capture_file_name(e->file));
	if (capture_file_device(e->file))
		json_add_text(o, "node", capture_file_device(e->file));
	e->origin.bytes = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
	if (!e->origin.bytes)
		return -ENOMEM;
	e->origin.size = strlen(e->origin.bytes);
	o = json_object_new_object();
	json_add_text(o, "record", "capture");
	json_add_u64(o, "version", 1);
	json_add(o, "capture", capture_file_json(e->file));
	text_flush(e->text);
	json_stream_members(&json, o);
	json_stream_array(&json, "columns");
	for (size_t n = 0; n < e->values.count; n++)
		if (e->values.lines[n].is_block)
			json_stream_item(&json, column(e->values.lines[n].row));
	json_stream_end(&json);
	/* they are of all sessions */
	for (size_t n = 0; !e->file->number && n < e->file->marks.count; n++) {
		/* the members of each row */
		o = json_tokener_parse(e->origin.bytes);
		json_add_text(o, "record", "mark");
		mark_json(&e->file->marks.all[n], o);
		json_write(e->out, o, false);
	}
	return 0;
}

/* The members of the sample's counters, or of its metrics. */
static void add_values(struct export *e, bool of_metrics)
{
	size_t first = 1;

	for (size_t n = 0; n < e->values.count; n++) {
		const struct values_line *line = &e->values.lines[n];
		const struct values_item *item = &e->values.items[n];

		if (!line->is_block || !item->is_present || !line->row->metric == of_metrics)
			continue;
		/* the first one without its comma */
		text_add(e->text, e->names[n].bytes + first, e->names[n].size - first);
		first = 0;
		if (!item->is_measured || (of_metrics && !isfinite(item->number)))
			text_put(e->text, "null");
		else if (of_metrics)
			text_double(e->text, item->number);
		else
			text_value(e->text, line->row, item->count);
	}
}

static void add_member(struct text *text, const char *name, uint64_t value)
{
	text_put(text, name);
	text_u64(text, value);
}

/* Begin and end of the counts of blocks that have a span of their own. */
static void add_spans(struct export *e)
{
	bool any = false;

	for (size_t n = 0; n < e->values.count; n++) {
		const struct values_item *item = &e->values.items[n];

		if (!e->values.lines[n].is_block || !item->has_span)
			continue;
		text_put(e->text, any ? "," : ",\"spans\":{");
		text_add(e->text, e->names[n].bytes + 1, e->names[n].size - 1);
		add_member(e->text, "[", item->start_ns);
		add_member(e->text, ",", item->end_ns);
		text_put(e->text, "]");
		any = true;
	}
	text_put(e->text, any ? "}" : "");
}

/* By hand: json-c takes longer for this than the rest of the sample. */
static int json_sample(struct export *e, const struct perfctr_sample *sample)
{
	struct text *text = e->text;
	char flags[256];
	uint64_t ns;

	add_member(text, "{\"record\":\"sample\",\"seq\":", sample->seq);
	add_member(text, ",\"start_ns\":", sample->start_ns);
	add_member(text, ",\"end_ns\":", sample->end_ns);
	if (capture_file_time(e->file, sample->end_ns, CLOCK_REALTIME, &ns))
		add_member(text, ",\"end_realtime_ns\":", ns);
	else
		text_put(text, ",\"end_realtime_ns\":null");
	add_member(text, ",\"user_data\":", sample->user_data);
	perfctr_flag_text(sample->flags, flags, sizeof(flags));
	text_put(text, *flags ? ",\"flags\":[\"" : ",\"flags\":[");
	for (const char *c = flags; *c; c++)
		text_add(text, *c == ',' ? "\",\"" : c, *c == ',' ? 3 : 1);
	text_put(text, *flags ? "\"]" : "]");
	add_member(text, ",\"merged_periods\":", sample->merged_periods);
	add_member(text, ",\"lost_ns\":", sample->lost_ns);
	if (sample->gpu_epoch) {
		add_member(text, ",\"gpu_epoch\":", sample->gpu_epoch);
		add_member(text, ",\"gpu_timestamp\":", sample->gpu_timestamp);
	}
	text_put(text, ",\"counters\":{");
	add_values(e, false);
	text_put(text, "},\"metrics\":{");
	add_values(e, true);
	text_put(text, "}");
	add_spans(e);
	text_put(text, ",");
	/* without its brace */
	text_add(text, e->origin.bytes + 1, e->origin.size - 1);
	text_put(text, "\n");
	return 0;
}

static int json_end(struct export *e)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "record", "end");
	if (capture_file_device(e->file))
		json_add_text(o, "node", capture_file_device(e->file));
	rows_json_add_span(o, perfctr_totals_span(e->file->totals));
	json_add_bool(o, "finished", e->file->is_finished);
	text_flush(e->text);
	json_write(e->out, o, false);
	return 0;
}

const struct export_format export_json = { "json", json_begin, json_sample, json_end };
