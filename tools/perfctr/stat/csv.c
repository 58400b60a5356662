// SPDX-License-Identifier: MIT
/* CSV of perfctr stat: the fields of perf stat -x, followed by a few more. */
#include <inttypes.h>
#include <math.h>

#include "lib/output.h"
#include "stat.h"

static void put_number(FILE *out, double value)
{
	/* as many digits as a double has */
	if (isfinite(value))
		fprintf(out, "%.15g", value);
}

/*
 * Time that the counter ran, in ns: of a perf PMU without the time in which it was multiplexed or
 * its process slept, of all its CPUs, and 0 if it did not count; a metric and a block that was not
 * measured have none.
 */
static void put_running(FILE *out, const struct row *row, uint32_t runs)
{
	double ns;

	if (row->metric || !row->info || (!row->measured && !row->info->is_pmu))
		return;
	ns = (double)(row->info->is_pmu ? row->info->time_enabled : row->info->elapsed_ns);
	fprintf(out, "%.0f", ns * row->running_ratio / runs);
}

static void put_row(struct stat_report *report, const struct stat_device *device,
		    const struct row *row, const struct row_stat *stat)
{
	const char *separator = report->options->separator;
	const bool repeats = report->options->repeat > 1;
	const bool has_runs = repeats && stat && stat->runs;
	FILE *out = report->out;

	if (row->state != PERFCTR_VALUE_OK)
		fprintf(out, "<%s>", perfctr_value_state_text(row->state));
	else if (has_runs)
		put_number(out, stat->run_mean);
	else if (row->metric || row->scale != 1 || row->flags & PERFCTR_VALUE_ESTIMATED)
		put_number(out, row->number);
	else if (row_is_level(row))
		fprintf(out, "%" PRId64, (int64_t)row->value);
	else
		fprintf(out, "%" PRIu64, row->value);
	fputs(separator, out);
	csv_field(out, row->unit, separator);
	fputs(separator, out);
	csv_field(out, row->event, separator);
	fputs(separator, out);
	put_running(out, row, repeats && report->runs ? report->runs : 1);
	fputs(separator, out);
	/* perf's 0 of 0 ns are 100 % */
	fprintf(out, "%.2f",
		row->state == PERFCTR_VALUE_NOT_SUPPORTED ? 100 : 100 * row->running_ratio);
	fputs(separator, out);
	put_number(out, row->rate);
	if (row_stat_has_range(device, stat)) {
		fputs(separator, out);
		put_number(out, stat->min);
		fputs(separator, out);
		put_number(out, stat->max);
	} else {
		fprintf(out, "%s%s", separator, separator);
	}
	if (repeats) {
		fputs(separator, out);
		if (has_runs && stat->runs > 1)
			put_number(out, row_stat_stddev_percent(stat));
		fprintf(out, "%s%" PRIu64, separator, has_runs ? stat->runs : 0);
	}
	fputc('\n', out);
}

static void csv_begin(struct stat_report *report)
{
	if (counting_excludes(&report->options->counting))
		fputs("perfctr stat: without the kernel, which kernel.perf_event_paranoid keeps "
		      "for CAP_PERFMON\n",
		      stderr);
}

static void csv_interval(struct stat_report *report, const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		fprintf(report->out, "%.9f%s",
			(double)(rows->span.end_ns - report->start_ns) * 1e-9,
			report->options->separator);
		put_row(report, NULL, &rows->rows[i], NULL);
	}
}

/* What is missing in the values: perf's fields have no place for it. */
static void say_losses(const struct rows *rows)
{
	const struct perfctr_span *span = &rows->span;
	const char *device = rows->device ? rows->device : "", *colon = rows->device ? ": " : "";

	if (span->lost_ns)
		fprintf(stderr, "perfctr stat: %s%scounts of up to %.6f s were lost\n", device,
			colon, (double)span->lost_ns * 1e-9);
	if (span->missing_samples)
		fprintf(stderr, "perfctr stat: %s%s%" PRIu64 " sample%s missing\n", device, colon,
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

const struct stat_format stat_csv = { csv_begin, csv_interval, csv_end };
