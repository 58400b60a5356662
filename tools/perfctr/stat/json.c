// SPDX-License-Identifier: MIT
/*
 * JSON of perfctr stat.
 *
 * Intervals are written as they come, so that memory does not grow with time; end() completes the
 * document in all cases.
 */
#include <math.h>
#include <signal.h>

#include "lib/rows.h"
#include "stat.h"

static void add_statistics(struct json_object *object, const struct stat_report *report,
			   const struct stat_device *device, size_t n)
{
	const struct row_stat *stat = stat_of_row(device, n);
	const struct row *row = &device->rows.rows[n];

	json_add_u64(object, "intervals", stat ? stat->intervals : 0);
	if (row_stat_has_range(device, stat)) {
		bool is_rate = isfinite(row->rate);

		json_add_double(object, is_rate ? "min_rate" : "min", stat->min);
		json_add_double(object, is_rate ? "mean_rate" : "mean", row_stat_mean(stat));
		json_add_double(object, is_rate ? "max_rate" : "max", stat->max);
	}
	if (report->options->repeat > 1) {
		const uint64_t runs = stat ? stat->runs : 0;

		json_add_u64(object, "runs", runs);
		json_add_double(object, "run_mean", runs ? stat->run_mean : NAN);
		json_add_double(object, "run_stddev_percent",
				runs > 1 ? row_stat_stddev_percent(stat) : NAN);
	}
}

/* @device: with statistics of the rows, or NULL. */
static void add_rows(struct json_object *object, const struct rows *rows,
		     const struct stat_report *report, const struct stat_device *device)
{
	struct json_object *counters = json_object_new_array();
	struct json_object *metrics = json_object_new_array();

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		struct json_object *o = row->metric ? rows_json_metric(row) :
						      rows_json_counter(row);

		if (device)
			add_statistics(o, report, device, i);
		json_object_array_add(row->metric ? metrics : counters, o);
	}
	json_add(object, "counters", counters);
	json_add(object, "metrics", metrics);
}

/* The same counts by context, null without --per-context. */
static struct json_object *contexts(const struct stat_report *report,
				    const struct stat_device *device)
{
	struct json_object *array;

	if (!report->options->per_context)
		return NULL;
	array = json_object_new_array();
	for (size_t i = 0; i < device->contexts.count; i++) {
		const struct stat_context *context = &device->contexts.contexts[i];
		struct json_object *o = json_append(array);

		json_add_text(o, "kind", stat_context_kind_name(context->kind));
		json_add_known(o, "user_data", context->kind == STAT_CONTEXT_TAGGED,
			       context->user_data);
		rows_json_add_span(o, &context->rows.span);
		/* the sequence numbers in between are other contexts' samples */
		json_object_object_del(o, "missing_samples");
		add_rows(o, &context->rows, report, NULL);
	}
	return array;
}

static struct json_object *identity(const struct stat_device *d)
{
	struct json_object *device = json_object_new_object();

	json_add_text(device, "path", perfctr_device_path(d->counted->device));
	json_add_text(device, "driver", perfctr_device_driver(d->counted->device));
	json_add_text(device, "name", perfctr_device_info(d->counted->device)->name);
	return device;
}

/* "device" is null if there are several, which are in the array "devices" at the end. */
static void add_head(struct json_object *root, const struct stat_report *report)
{
	const struct stat_options *o = report->options;

	json_add_u64(root, "version", 1);
	json_add(root, "device", report->count == 1 ? identity(&report->devices[0]) : NULL);
	if (o->counting.command) {
		struct json_object *words = json_object_new_array();

		for (char **word = o->counting.command; *word; word++)
			json_append_text(words, *word);
		json_add(root, "command", words);
	} else {
		json_add(root, "command", NULL);
	}
	json_add_text(root, "excludes", counting_excludes(&o->counting));
	json_add_u64(root, "period_ns", o->counting.period_ns);
	json_add_known(root, "interval_ns", o->interval_ns, o->interval_ns);
}

static void add_device(struct json_object *object, const struct stat_report *report,
		       const struct stat_device *device)
{
	rows_json_add_span(object, &device->rows.span);
	add_rows(object, &device->rows, report, device);
	json_add(object, "contexts", contexts(report, device));
	json_add(object, "kernel", rows_json_status(&device->status));
}

static void add_tail(struct json_object *root, const struct stat_report *report)
{
	struct json_object *devices = NULL;

	if (report->count == 1) {
		add_device(root, report, &report->devices[0]);
	} else {
		devices = json_object_new_array();
		json_add(root, "devices", devices);
	}
	for (size_t n = 0; devices && n < report->count; n++) {
		const struct stat_device *d = &report->devices[n];
		struct json_object *o = json_append(devices);

		json_add_text(o, "node", d->counted->name);
		json_add(o, "device", identity(d));
		json_add_bool(o, "gone", d->counted->is_gone);
		add_device(o, report, d);
	}
	json_add_u64(root, "runs", report->runs);
	json_add_text(root, "ended_by",
		      report->device_gone ? "device" :
		      report->ended_by	  ? sigabbrev_np(report->ended_by) :
					    NULL);
	json_add(root, "exit_status", json_object_new_int(report->exit_status));
}

static struct json_object *interval(const struct stat_report *report,
				    const struct stat_device *device)
{
	const struct rows *rows = &device->scratch;
	struct json_object *i = json_object_new_object();

	json_add_double(i, "time_s", (double)(report->stamp_ns - report->start_ns) * 1e-9);
	if (rows->device)
		json_add_text(i, "node", rows->device);
	rows_json_add_span(i, &rows->span);
	add_rows(i, rows, report, NULL);
	return i;
}

/* Write the members of an object without its braces: the intervals come between two parts. */
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

static void json_interval(struct stat_report *report, const struct stat_device *device)
{
	fputc(report->has_intervals ? ',' : '\n', report->out);
	json_write(report->out, interval(report, device), false);
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
}

static void jsonl_interval(struct stat_report *report, const struct stat_device *device)
{
	struct json_object *i = interval(report, device);

	json_add_text(i, "record", "interval");
	json_write(report->out, i, false);
}

static void jsonl_end(struct stat_report *report)
{
	struct json_object *tail = json_object_new_object();

	json_add_text(tail, "record", "summary");
	add_tail(tail, report);
	json_write(report->out, tail, false);
}

const struct stat_format stat_jsonl = { jsonl_begin, jsonl_interval, jsonl_end };
