// SPDX-License-Identifier: MIT
/* CSV of perfctr stat: the fields of perf stat -x, followed by a few more. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/output.h"
#include "stat.h"

/* a row as its fields are written */
struct field_row {
	const struct row *row;
	const struct stat_device *device;
	const struct row_stat *stat; /* of a whole run; NULL: an interval or a context */
	const struct drm_perfctr_block_request *request; /* of a perf PMU's event, or NULL */
	const char *event; /* as the user wrote it; NULL: it is no event of perf's */
	int event_bytes;
	bool is_clock; /* perf shows these in msec */
	double ran_ns; /* NAN: it has no such time */
};

static void put_number(FILE *out, double value)
{
	/* as many digits as a double has */
	if (isfinite(value))
		fprintf(out, "%.15g", value);
}

static const struct drm_perfctr_block_request *request_of(const struct stat_device *device,
							  const struct row *row)
{
	const struct perfctr_selection *s = device->counted->selection;

	if (row->metric || !row->info || row->info->type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return NULL;
	for (size_t n = 0; n < perfctr_selection_request_count(s); n++) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(s, n);

		if (r->type == row->info->type && r->index == row->info->index)
			return r;
	}
	return NULL;
}

/*
 * Time that the counter ran, in ns: of a perf PMU without the time in which it was multiplexed or
 * its process slept, of all its CPUs, and 0 if it did not count; a metric and a block that was not
 * measured have none.
 */
static double ran_ns(const struct stat_report *report, const struct row *row)
{
	const uint32_t runs = report->options->repeat > 1 && report->runs ? report->runs : 1;

	if (row->metric || !row->info || (!row->measured && !row->info->is_pmu))
		return NAN;
	return (double)(row->info->is_pmu ? row->info->time_enabled : row->info->elapsed_ns) *
	       row->running_ratio / runs;
}

static struct field_row examine(const struct stat_report *report, const struct stat_device *device,
				const struct row *row, const struct row_stat *stat)
{
	struct field_row f = { .row = row, .device = device, .stat = stat };

	f.request = request_of(device, row);
	f.event = f.request ? stat_written_find(&report->written, device->counted, f.request,
						row->counter) :
			      NULL;
	f.event_bytes = f.event ? (int)strlen(f.event) : 0;
	/* of a pattern, and of the defaults: as perf's defaults are named */
	if (!f.event && row->is_software) {
		f.event = row->counter;
		f.event_bytes = (int)strcspn(row->counter, ",");
	}
	f.is_clock = row->is_software && row->desc && row->desc->kind == PERFCTR_KIND_TIME;
	f.ran_ns = ran_ns(report, row);
	return f;
}

/* perf calls it so also of a process that slept all the time. */
static bool has_no_count(const struct field_row *f)
{
	return f->device->is_uncounted || f->row->state == PERFCTR_VALUE_NOT_MEASURED ||
	       (f->event && f->row->state == PERFCTR_VALUE_OK && f->ran_ns == 0);
}

static void put_value(const struct stat_report *report, const struct field_row *f)
{
	const bool has_runs = report->options->repeat > 1 && f->stat && f->stat->runs;
	const struct row *row = f->row;
	FILE *out = report->out;

	if (has_no_count(f))
		fputs("<not counted>", out);
	else if (row->state != PERFCTR_VALUE_OK)
		fprintf(out, "<%s>", perfctr_value_state_text(row->state));
	else if (f->is_clock)
		fprintf(out, "%.2f", (has_runs ? f->stat->run_mean : row->number) * 1e-6);
	else if (f->event && row->scale == 1 && (has_runs || row->flags & PERFCTR_VALUE_ESTIMATED))
		fprintf(out, "%.0f", has_runs ? f->stat->run_mean : row->number);
	else if (has_runs)
		put_number(out, f->stat->run_mean);
	else if (row->metric || row->scale != 1 || row->flags & PERFCTR_VALUE_ESTIMATED)
		put_number(out, row->number);
	else if (row_is_level(row))
		fprintf(out, "%" PRId64, (int64_t)row->value);
	else
		fprintf(out, "%" PRIu64, row->value);
}

/* Of an event of perf's, what sysfs says; our own unit is of what perf calls a number. */
static const char *unit_of(const struct field_row *f)
{
	const struct row *row = f->row;

	if (f->is_clock)
		return "msec";
	return f->event && row->scale == 1 && row->desc && !strcmp(row->unit, row->desc->unit) ?
		       "" :
		       row->unit;
}

/* perf says in the name that this user may not count the kernel. */
static const char *exclusion_of(const struct stat_report *report, const struct field_row *f)
{
	if (!f->device->counted->of_task || !counting_excludes(&report->options->counting) ||
	    strchr(f->row->counter, '/'))
		return "";
	return strpbrk(f->event, "/:") ? "u" : ":u";
}

static void put_event(const struct stat_report *report, const struct field_row *f)
{
	const char *separator = report->options->separator;
	const struct counting *c = &report->options->counting;
	char *event;

	if (!f->event) {
		csv_field(report->out, f->row->event + (c->has_cgroups ? f->row->prefix : 0),
			  separator);
	} else if (asprintf(&event, "%.*s%s", f->event_bytes, f->event, exclusion_of(report, f)) >=
		   0) {
		csv_field(report->out, event, separator);
		free(event);
	}
	if (c->has_cgroups || c->cgroup) {
		const struct counted *d = f->device->counted;

		fputs(separator, report->out);
		csv_field(report->out,
			  c->cgroup    ? c->cgroup :
			  d->is_cgroup ? d->name :
					 "",
			  separator);
	}
}

/* perf's pair of a number and what it is: the rate, of a clock in CPUs. */
static void put_rate(const struct stat_report *report, const struct field_row *f)
{
	const char *separator = report->options->separator;
	const struct row *row = f->row;
	char *unit;

	if (isfinite(row->rate) && !has_no_count(f))
		put_number(report->out, f->is_clock ? row->rate * 1e-9 : row->rate);
	fputs(separator, report->out);
	if (!isfinite(row->rate) || has_no_count(f))
		return;
	if (f->is_clock)
		fputs("CPUs utilized", report->out);
	else if (asprintf(&unit, "%s/sec", unit_of(f)) >= 0) {
		csv_field(report->out, unit, separator);
		free(unit);
	}
}

static void put_row(struct stat_report *report, const struct stat_device *device,
		    const struct row *row, const struct row_stat *stat)
{
	const struct field_row f = examine(report, device, row, stat);
	const char *separator = report->options->separator;
	const bool repeats = report->options->repeat > 1;
	const bool has_range = row_stat_has_range(device, stat) && !has_no_count(&f);
	FILE *out = report->out;

	if (report->options->per_block) {
		if (f.request && f.request->cpu != DRM_PERFCTR_CPU_ANY)
			fprintf(out, "CPU%d", f.request->cpu);
		fputs(separator, out);
	}
	put_value(report, &f);
	fputs(separator, out);
	csv_field(out, unit_of(&f), separator);
	fputs(separator, out);
	put_event(report, &f);
	if (repeats)
		fprintf(out, "%s%.2f%%", separator,
			stat && stat->runs > 1 ? row_stat_stddev_percent(stat) : 0);
	fputs(separator, out);
	if (device->is_uncounted)
		fputc('0', out);
	else if (isfinite(f.ran_ns))
		fprintf(out, "%.0f", f.ran_ns);
	fputs(separator, out);
	/* perf's 0 of 0 ns are 100 % */
	fprintf(out, "%.2f",
		row->state == PERFCTR_VALUE_NOT_SUPPORTED || device->is_uncounted ?
			100 :
			100 * row->running_ratio);
	fputs(separator, out);
	put_rate(report, &f);
	fputs(separator, out);
	if (has_range)
		put_number(out, stat->min);
	fputs(separator, out);
	if (has_range)
		put_number(out, stat->max);
	if (repeats)
		fprintf(out, "%s%" PRIu64, separator, stat ? stat->runs : 0);
	fputc('\n', out);
}

static void csv_interval(struct stat_report *report, const struct stat_device *device)
{
	const uint64_t ns = report->stamp_ns - report->start_ns;

	for (size_t i = 0; i < device->scratch.count; i++) {
		fprintf(report->out, "%6" PRIu64 ".%09" PRIu64 "%s", ns / (uint64_t)NS_PER_S,
			ns % (uint64_t)NS_PER_S, report->options->separator);
		put_row(report, device, &device->scratch.rows[i], NULL);
	}
}

/* What is missing in the values: perf's fields have no place for it. As its comments begin. */
static void say_losses(const struct rows *rows)
{
	const struct perfctr_span *span = &rows->span;
	const char *device = rows->device ? rows->device : "", *colon = rows->device ? ": " : "";

	if (span->lost_ns)
		fprintf(stderr, "# perfctr stat: %s%scounts of up to %.6f s were lost\n", device,
			colon, (double)span->lost_ns * 1e-9);
	if (span->missing_samples)
		fprintf(stderr, "# perfctr stat: %s%s%" PRIu64 " sample%s missing\n", device, colon,
			span->missing_samples, span->missing_samples == 1 ? " is" : "s are");
}

static void put_device(struct stat_report *report, const struct stat_device *device)
{
	const struct stat_contexts *contexts = &device->contexts;
	char name[32];

	say_losses(&device->rows);
	/* as perf: no summary beside parts, or sums would be counted twice */
	for (size_t i = 0; i < contexts->count; i++) {
		const struct rows *rows = &contexts->contexts[i].rows;

		for (size_t n = 0; n < rows->count; n++) {
			fprintf(report->out, "%s%s",
				stat_context_name(&contexts->contexts[i], name, sizeof(name)),
				report->options->separator);
			put_row(report, device, &rows->rows[n], NULL);
		}
	}
	if (report->options->per_context)
		return;
	for (size_t i = 0; !report->options->interval_ns && i < device->rows.count; i++)
		put_row(report, device, &device->rows.rows[i], stat_of_row(device, i));
}

static void csv_end(struct stat_report *report)
{
	for (size_t n = 0; n < report->count; n++)
		put_device(report, &report->devices[n]);
}

const struct stat_format stat_csv = { NULL, csv_interval, csv_end };
