// SPDX-License-Identifier: MIT
/* The table of perfctr stat. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/number.h"
#include "stat.h"

/* The value as people read it: integers in full, the rest in four digits. */
static void value_text(const struct row *row, double number, char *text, size_t size)
{
	if (row->state != PERFCTR_VALUE_OK)
		snprintf(text, size, "<%s>",
			 row->state == PERFCTR_VALUE_NOT_MEASURED ?
				 "not measured" :
				 perfctr_value_state_text(row->state));
	else if (row->metric)
		number_short(number, text, size);
	else if (row->scale != 1)
		snprintf(text, size, "%.2f", number);
	else if (row->flags & PERFCTR_VALUE_ESTIMATED && number >= 0 && number < 1.8e19)
		number_group((uint64_t)llround(number), text, size);
	else
		number_group(row->value, text, size);
	/* the blank for a prefix is of no use at the end of a column */
	if (*text && text[strlen(text) - 1] == ' ')
		text[strlen(text) - 1] = '\0';
}

/* What is to be known about a value, in parentheses. */
static void print_notes(FILE *out, const struct row *row)
{
	char states[128];

	if (row->flags & PERFCTR_VALUE_ESTIMATED && !row->metric)
		fprintf(out, "  (estimated: ran %.2f%% of the time)", 100 * row->running_ratio);
	else if (row->flags & PERFCTR_VALUE_ESTIMATED)
		fputs("  (estimated: multiplexed)", out);
	if (row->missed && row->measured)
		fprintf(out, "  (not measured in %" PRIu64 " of %" PRIu64 " samples)", row->missed,
			row->missed + row->measured);
	if (row->state == PERFCTR_VALUE_NOT_MEASURED && row->info && row->info->states) {
		perfctr_state_text(row->info->states, states, sizeof(states));
		fprintf(out, "  (block: %s)", states);
	}
}

static void text_begin(struct stat_report *report)
{
	if (report->options->interval_ns)
		fprintf(report->out, "#%11s %18s  %-18s %s\n", "time s", "counts", "unit", "event");
}

static void text_interval(struct stat_report *report, const struct rows *rows)
{
	double time_s = (double)(rows->span.end_ns - report->start_ns) * 1e-9;
	char value[64], rate[32];

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		value_text(row, row->number, value, sizeof(value));
		fprintf(report->out, "%12.6f %18s  %-18s %s", time_s, value, row->unit, row->event);
		if (isfinite(row->rate))
			fprintf(report->out, "  # %s%s/s",
				number_short(row->rate, rate, sizeof(rate)), row->unit);
		print_notes(report->out, row);
		fputc('\n', report->out);
	}
	if (rows->span.merged_periods)
		fprintf(report->out, "%12.6f   (%" PRIu64 " periods merged into this interval)\n",
			time_s, rows->span.merged_periods);
	if (rows->span.lost_ns)
		fprintf(report->out, "%12.6f   (hardware lost up to %.6f s of counts)\n", time_s,
			(double)rows->span.lost_ns * 1e-9);
}

static void print_command(struct stat_report *report)
{
	const struct stat_options *o = report->options;

	fputs("\n Counters of ", report->out);
	if (o->command) {
		fputc('\'', report->out);
		for (char **word = o->command; *word; word++)
			fprintf(report->out, "%s%s", word == o->command ? "" : " ", *word);
		fputs("' on ", report->out);
	}
	fprintf(report->out, "%s (%s)", perfctr_device_info(report->device)->name,
		perfctr_device_path(report->device));
	if (report->runs > 1)
		fprintf(report->out, ", mean of %u runs", report->runs);
	fputs(":\n\n", report->out);
}

static void print_range(struct stat_report *report, const struct row_stat *stat)
{
	char min[32], mean[32], max[32];
	double n;

	if (!stat || !stat->intervals)
		return;
	n = (double)stat->intervals;
	fprintf(report->out, "  %9s%9s%9s", number_short(stat->number_min, min, sizeof(min)),
		number_short(stat->number_sum / n, mean, sizeof(mean)),
		number_short(stat->number_max, max, sizeof(max)));
}

static void print_row(struct stat_report *report, size_t n, int width)
{
	const struct row *row = &report->rows.rows[n];
	const struct row_stat *stat = stat_of_row(report, n);
	bool runs = report->runs > 1 && stat && stat->runs;
	char value[64], rate[32] = "";

	if (runs && row->state == PERFCTR_VALUE_OK && !row->metric && row->scale == 1)
		number_group((uint64_t)llround(stat->run_mean), value, sizeof(value));
	else
		value_text(row, runs ? stat->run_mean : row->number, value, sizeof(value));
	fprintf(report->out, "%20s  %-16s %c %-*s", value, row->unit, verdicts_mark(row->trust),
		width, row->event);
	if (isfinite(row->rate))
		number_short(row->rate, rate, sizeof(rate));
	fprintf(report->out, " %9s%s", rate, *rate ? "/s" : "  ");
	if (runs)
		fprintf(report->out, "  ( +- %5.2f%% )", row_stat_stddev_percent(stat));
	else
		print_range(report, stat);
	print_notes(report->out, row);
	fputc('\n', report->out);
}

static void print_trouble(struct stat_report *report)
{
	const struct perfctr_span *span = &report->rows.span;
	const struct drm_perfctr_status *status = &report->status;
	const uint32_t odd = DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR |
			     DRM_PERFCTR_SAMPLE_RESET | DRM_PERFCTR_SAMPLE_SUSPENDED |
			     DRM_PERFCTR_SAMPLE_UNPLUGGED;
	char flags[128];

	if (span->merged_periods)
		fprintf(report->out,
			" %13" PRIu64 " periods merged into longer samples: "
			"time resolution lost, no counts\n",
			span->merged_periods);
	if (span->lost_ns)
		fprintf(report->out, " %13.6f seconds at most whose counts the hardware lost\n",
			(double)span->lost_ns * 1e-9);
	if (span->missing_samples)
		fprintf(report->out, " %13" PRIu64 " samples missing: please report\n",
			span->missing_samples);
	if (span->flags & odd) {
		perfctr_flag_text(span->flags & odd, flags, sizeof(flags));
		fprintf(report->out, " samples are marked: %s\n", flags);
	}
	if (status->bad_extract)
		fprintf(report->out, " %13" PRIu64 " impossible extract indices\n",
			(uint64_t)status->bad_extract);
}

/* what the marks mean, and what marked counters count */
static void print_verdicts(struct stat_report *report)
{
	const struct rows *rows = &report->rows;
	bool marks = false;

	for (size_t i = 0; i < rows->count; i++)
		marks |= rows->rows[i].trust != PERFCTR_TRUST_UNVALIDATED;
	if (marks)
		fputs(" " VERDICTS_LEGEND "\n", report->out);
	for (size_t i = 0; i < rows->count; i++)
		verdicts_print_note(report->verdicts, report->out, rows->rows[i].event,
				    rows->rows[i].desc);
	if (rows->hidden)
		fprintf(report->out, " %zu left out: not known to be trusted\n", rows->hidden);
}

static void text_end(struct stat_report *report)
{
	const struct stat_options *o = report->options;
	const struct perfctr_span *span = &report->rows.span;
	uint64_t interval_ns = o->interval_ns ? o->interval_ns : o->period_ns;
	bool has_range = false;
	size_t width = 24;
	char text[32];

	if (!report->runs) {
		/* the reason was told */
		return;
	}
	if (!span->samples) {
		fputs("nothing was counted\n", report->out);
		return;
	}
	for (size_t i = 0; i < report->rows.count; i++) {
		size_t length = strlen(report->rows.rows[i].event);

		width = length > width ? length : width;
		has_range |= i < report->stat_count && report->stats[i].intervals;
	}
	print_command(report);
	fprintf(report->out, "%20s  %-18s %-*s %9s  ", "count", "unit", (int)width, "event",
		"rate");
	if (report->runs < 2 && has_range)
		fprintf(report->out, "  %9s%9s%9s  in %ss", "min ", "mean ", "max ",
			number_short((double)interval_ns * 1e-9, text, sizeof(text)));
	fputc('\n', report->out);
	for (size_t i = 0; i < report->rows.count; i++)
		print_row(report, i, (int)width);
	fprintf(report->out, "\n %13.6f seconds counted, %" PRIu64 " sample%s\n",
		(double)span->elapsed_ns * 1e-9, span->samples, span->samples == 1 ? "" : "s");
	print_trouble(report);
	print_verdicts(report);
	if (o->command && report->exit_status)
		fprintf(report->out, " %s ended with status %d\n", o->command[0],
			report->exit_status);
	fputc('\n', report->out);
}

const struct stat_format stat_text = { text_begin, text_interval, text_end };
