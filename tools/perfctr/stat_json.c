// SPDX-License-Identifier: MIT
/*
 * JSON of perfctr stat.
 *
 * Intervals are written as they come, so that memory does not grow with time;
 * end() closes the document, whatever ended the counting.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

static const char *const kind_names[] = {
	[PERFCTR_KIND_COUNT] = "count", [PERFCTR_KIND_CYCLES] = "cycles",
	[PERFCTR_KIND_BYTES] = "bytes", [PERFCTR_KIND_TIME] = "time",
	[PERFCTR_KIND_LEVEL] = "level",
};

static void add_rate(struct json_object *object, const struct row *row)
{
	char unit[ROW_UNIT_BYTES + 2];

	json_add_double(object, "rate", row->rate);
	if (!isfinite(row->rate)) {
		json_add(object, "rate_unit", NULL);
		return;
	}
	snprintf(unit, sizeof(unit), "%s/s", row->unit);
	json_add_text(object, "rate_unit", unit);
}

static struct json_object *counter(const struct row *row)
{
	struct json_object *c = json_object_new_object();
	bool ok = row->state == PERFCTR_VALUE_OK;
	char states[128];

	json_add_text(c, "event", row->event);
	json_add_text(c, "block", row->label);
	json_add_text(c, "type", perfctr_block_type_name(row->info->type));
	if (row->info->index == DRM_PERFCTR_INDEX_ALL || row->info->blocks > 1)
		json_add(c, "index", NULL);
	else
		json_add_u64(c, "index", row->info->index);
	json_add_u64(c, "blocks", row->info->blocks);
	json_add_text(c, "counter", row->counter);
	json_add_text(c, "id", row->desc ? row->desc->id : NULL);
	json_add_text(c, "kind",
		      row->desc && row->desc->kind < ARRAY_SIZE(kind_names) ?
			      kind_names[row->desc->kind] :
			      NULL);
	json_add_text(c, "unit", *row->unit ? row->unit : NULL);
	/* the exact count; null and never 0 if it was not measured */
	if (ok)
		json_add_u64(c, "value", row->value);
	else
		json_add(c, "value", NULL);
	json_add_text(c, "state", ok ? "ok" : perfctr_value_state_text(row->state));
	if (row->scale != 1) {
		json_add_double(c, "scale", row->scale);
		json_add_double(c, "scaled_value", ok ? row->number : NAN);
	}
	if (row->flags & PERFCTR_VALUE_ESTIMATED)
		json_add_double(c, "estimate", row->number);
	json_add_double(c, "running_percent", 100 * row->running_ratio);
	json_add_u64(c, "samples_measured", row->measured);
	json_add_u64(c, "samples_missed", row->missed);
	perfctr_state_text(row->info->states, states, sizeof(states));
	json_add_words(c, "block_states", states);
	add_rate(c, row);
	return c;
}

static struct json_object *metric(const struct row *row)
{
	struct json_object *m = json_object_new_object();
	bool ok = row->state == PERFCTR_VALUE_OK;

	json_add_text(m, "metric", row->event);
	json_add_text(m, "block", row->label);
	json_add_text(m, "name", row->counter);
	json_add_text(m, "id", row->metric->id);
	json_add_text(m, "unit", row->metric->unit);
	json_add_double(m, "value", ok ? row->number : NAN);
	json_add_text(m, "state", ok ? "ok" : perfctr_value_state_text(row->state));
	json_add_bool(m, "estimated", row->flags & PERFCTR_VALUE_ESTIMATED);
	json_add_bool(m, "partial", row->flags & PERFCTR_VALUE_PARTIAL);
	return m;
}

static void add_span(struct json_object *object, const struct perfctr_span *span)
{
	char flags[256];

	json_add_u64(object, "start_ns", span->start_ns);
	json_add_u64(object, "end_ns", span->end_ns);
	json_add_u64(object, "elapsed_ns", span->elapsed_ns);
	json_add_u64(object, "samples", span->samples);
	json_add_u64(object, "merged_periods", span->merged_periods);
	json_add_u64(object, "lost_ns", span->lost_ns);
	json_add_u64(object, "missing_samples", span->missing_samples);
	perfctr_flag_text(span->flags, flags, sizeof(flags));
	json_add_words(object, "flags", flags);
}

static void add_statistics(struct json_object *object, const struct stat_report *report, size_t n)
{
	const struct row_stat *stat = stat_of_row(report, n);
	const struct row *row = &report->rows.rows[n];

	json_add_u64(object, "intervals", stat ? stat->intervals : 0);
	if (stat && stat->intervals) {
		if (row->metric || row->scale != 1) {
			json_add_double(object, "min", stat->number_min);
			json_add_double(object, "max", stat->number_max);
		} else {
			json_add_u64(object, "min", stat->min);
			json_add_u64(object, "max", stat->max);
		}
		json_add_double(object, "mean", stat->number_sum / (double)stat->intervals);
	}
	if (stat && report->runs > 1) {
		json_add_double(object, "run_mean", stat->run_mean);
		json_add_double(object, "run_stddev_percent", row_stat_stddev_percent(stat));
	}
}

static void add_rows(struct json_object *object, const struct rows *rows,
		     const struct stat_report *report)
{
	struct json_object *counters = json_object_new_array();
	struct json_object *metrics = json_object_new_array();

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		struct json_object *o = row->metric ? metric(row) : counter(row);

		if (report)
			add_statistics(o, report, i);
		json_object_array_add(row->metric ? metrics : counters, o);
	}
	json_add(object, "counters", counters);
	json_add(object, "metrics", metrics);
}

static void add_head(struct json_object *root, const struct stat_report *report)
{
	const struct stat_options *o = report->options;
	struct json_object *device = json_object_new_object();

	json_add_u64(root, "version", 1);
	json_add_text(device, "path", perfctr_device_path(report->device));
	json_add_text(device, "driver", perfctr_device_driver(report->device));
	json_add_text(device, "name", perfctr_device_info(report->device)->name);
	json_add(root, "device", device);
	if (o->command) {
		struct json_object *holder = json_object_new_object(), *text;
		struct json_object *words = json_object_new_array();

		/* by way of an object, for its check of the bytes */
		for (char **word = o->command; *word; word++) {
			json_add_text(holder, "word", *word);
			json_object_object_get_ex(holder, "word", &text);
			json_object_array_add(words, json_object_get(text));
		}
		json_object_put(holder);
		json_add(root, "command", words);
	} else {
		json_add(root, "command", NULL);
	}
	json_add_u64(root, "period_ns", o->period_ns);
	if (o->interval_ns)
		json_add_u64(root, "interval_ns", o->interval_ns);
	else
		json_add(root, "interval_ns", NULL);
}

static void add_tail(struct json_object *root, const struct stat_report *report)
{
	const struct drm_perfctr_status *st = &report->status;
	struct json_object *status = json_object_new_object();

	add_span(root, &report->rows.span);
	add_rows(root, &report->rows, report);
	json_add_u64(status, "samples", st->insert_idx);
	json_add_u64(status, "merged_periods", st->merged_periods);
	json_add_u64(status, "lost_ns", st->lost_ns);
	json_add_u64(status, "errors", st->errors);
	json_add_u64(status, "overflows", st->overflows);
	json_add_u64(status, "resets", st->resets);
	json_add(root, "kernel", status);
	json_add_u64(root, "runs", report->runs);
	json_add_text(root, "ended_by", report->ended_by ? sigabbrev_np(report->ended_by) : NULL);
	json_add(root, "exit_status", json_object_new_int(report->exit_status));
}

static struct json_object *interval(const struct stat_report *report, const struct rows *rows)
{
	struct json_object *i = json_object_new_object();

	json_add_double(i, "time_s", (double)(rows->span.end_ns - report->start_ns) * 1e-9);
	add_span(i, &rows->span);
	add_rows(i, rows, NULL);
	return i;
}

/*
 * Write the members of an object without its braces: the document is written in
 * two parts, with the intervals between them.
 */
static void write_members(FILE *out, struct json_object *object)
{
	bool first = true;

	json_object_object_foreach(object, name, value)
	{
		struct json_object *key = json_object_new_string(name);

		fprintf(out, "%s%s: ", first ? "" : ",\n", json_object_to_json_string(key));
		fputs(json_object_to_json_string_ext(value, JSON_C_TO_STRING_SPACED |
								    JSON_C_TO_STRING_NOSLASHESCAPE),
		      out);
		json_object_put(key);
		first = false;
	}
	json_object_put(object);
}

static void json_begin(struct stat_report *report)
{
	struct json_object *head = json_object_new_object();

	add_head(head, report);
	fputs("{\n", report->out);
	write_members(report->out, head);
	fputs(",\n\"intervals\": [", report->out);
}

static void json_interval(struct stat_report *report, const struct rows *rows)
{
	fputs(report->has_intervals ? ",\n" : "\n", report->out);
	json_write(report->out, interval(report, rows), false);
}

static void json_end(struct stat_report *report)
{
	struct json_object *tail = json_object_new_object();

	add_tail(tail, report);
	fputs("],\n", report->out);
	write_members(report->out, tail);
	fputs("\n}\n", report->out);
}

const struct stat_format stat_json = { json_begin, json_interval, json_end };

static void jsonl_begin(struct stat_report *report)
{
	struct json_object *head = json_object_new_object();

	json_add_text(head, "record", "begin");
	add_head(head, report);
	json_write(report->out, head, false);
	fputc('\n', report->out);
}

static void jsonl_interval(struct stat_report *report, const struct rows *rows)
{
	struct json_object *i = interval(report, rows);

	json_add_text(i, "record", "interval");
	json_write(report->out, i, false);
	fputc('\n', report->out);
}

static void jsonl_end(struct stat_report *report)
{
	struct json_object *tail = json_object_new_object();

	json_add_text(tail, "record", "summary");
	add_tail(tail, report);
	json_write(report->out, tail, false);
	fputc('\n', report->out);
}

const struct stat_format stat_jsonl = { jsonl_begin, jsonl_interval, jsonl_end };
