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

static void put_row(struct stat_report *report, const struct row *row, const struct row_stat *stat)
{
	const char *separator = report->options->separator;
	FILE *out = report->out;

	if (row->state != PERFCTR_VALUE_OK)
		fprintf(out, "<%s>", perfctr_value_state_text(row->state));
	else if (row->metric || row->scale != 1)
		put_number(out, row->number);
	else if (row_is_level(row))
		fprintf(out, "%" PRId64, (int64_t)row->value);
	else
		/* the raw count; the running percentage shows how it extrapolates */
		fprintf(out, "%" PRIu64, row->value);
	fputs(separator, out);
	csv_field(out, row->unit, separator);
	fputs(separator, out);
	csv_field(out, row->event, separator);
	fputs(separator, out);
	if (row->info && row->info->is_pmu && !row->metric)
		fprintf(out, "%.0f", (double)row->info->time_enabled * row->running_ratio);
	fputs(separator, out);
	fprintf(out, "%.2f", 100 * row->running_ratio);
	fputs(separator, out);
	put_number(out, row->rate);
	if (row_stat_has_range(report, stat)) {
		fputs(separator, out);
		put_number(out, stat->min);
		fputs(separator, out);
		put_number(out, stat->max);
	} else {
		fprintf(out, "%s%s", separator, separator);
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
		put_row(report, &rows->rows[i], NULL);
	}
}

static void csv_end(struct stat_report *report)
{
	const struct stat_contexts *contexts = &report->contexts;
	char name[32];

	/* as perf: no summary beside parts, or sums would be counted twice */
	for (size_t i = 0; i < contexts->count; i++) {
		const struct rows *rows = &contexts->contexts[i].rows;

		for (size_t n = 0; n < rows->count; n++) {
			fprintf(report->out, "%s%s",
				stat_context_name(&contexts->contexts[i], name, sizeof(name)),
				report->options->separator);
			put_row(report, &rows->rows[n], NULL);
		}
	}
	if (report->options->per_context)
		return;
	for (size_t i = 0; !report->options->interval_ns && i < report->rows.count; i++)
		put_row(report, &report->rows.rows[i], stat_of_row(report, i));
}

const struct stat_format stat_csv = { csv_begin, csv_interval, csv_end };
