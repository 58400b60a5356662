// SPDX-License-Identifier: MIT
/* The table of perfctr stat. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"
#include "lib/output.h"
#include "lib/describe.h"
#include "stat.h"

/* The value as people read it: integers in full, the rest in four digits. */
static void value_text(const struct row *row, double number, char *text, size_t size)
{
	struct row copy = *row;

	copy.number = number;
	if (row->state != PERFCTR_VALUE_OK)
		snprintf(text, size, "<%s>", perfctr_value_state_text(row->state));
	else
		describe_value(&copy, text, size);
}

/* Notes on a value, in parentheses. */
static void print_notes(FILE *out, const struct row *row)
{
	char notes[256];

	if (*describe_notes(row, notes, sizeof(notes)))
		fprintf(out, "  (%s)", notes);
}

static void text_begin(struct stat_report *report)
{
	if (report->options->interval_ns)
		fprintf(report->out, "#%11s %18s  %-18s %s\n", "time s", "counts", "unit", "event");
}

static void text_interval(struct stat_report *report, const struct rows *rows)
{
	double time_s = (double)(rows->span.end_ns - report->start_ns) * 1e-9;
	const char *device = rows->device ? rows->device : "", *colon = rows->device ? ": " : "";
	char value[64], rate[32];
	double scale;

	if (report->has_intervals && rows->count > 1)
		fputc('\n', report->out);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		value_text(row, row->number, value, sizeof(value));
		fprintf(report->out, "%12.6f %18s  %-18s %s", time_s, value, row->unit, row->event);
		if (isfinite(row->rate)) {
			const char *unit = row_rate_unit(row, &scale);

			fprintf(report->out, "  # %s%s%s",
				number_short(row->rate * scale, rate, sizeof(rate)),
				scale == 1 ? row->unit : "", unit);
		}
		print_notes(report->out, row);
		fputc('\n', report->out);
	}
	if (rows->span.merged_periods)
		fprintf(report->out,
			"%12.6f   (%s%s%" PRIu64 " period%s merged into this interval)\n", time_s,
			device, colon, rows->span.merged_periods,
			rows->span.merged_periods == 1 ? "" : "s");
	if (rows->span.lost_ns)
		fprintf(report->out, "%12.6f   (%s%shardware lost up to %.6f s of counts)\n",
			time_s, device, colon, (double)rows->span.lost_ns * 1e-9);
}

static void print_command(struct stat_report *report)
{
	const struct stat_options *o = report->options;
	char devices[1024];

	fputs("\n Counters of ", report->out);
	if (o->counting.command) {
		fputc('\'', report->out);
		for (char **word = o->counting.command; *word; word++)
			fprintf(report->out, "%s%s", word == o->counting.command ? "" : " ", *word);
		fputc('\'', report->out);
	}
	if (o->counting.pid || o->counting.tid)
		fprintf(report->out, "%s%s %" PRIu64, o->counting.command ? " on " : "",
			o->counting.pid ? "process" : "thread",
			o->counting.pid ? o->counting.pid : o->counting.tid);
	if (counting_of_task(&o->counting))
		fputs(" and its children", report->out);
	if (!counting_of_task(&o->counting) || report->count > 1)
		fprintf(report->out, "%s%s",
			o->counting.command || o->counting.pid || o->counting.tid ? " on " : "",
			counting_text(&o->counting, devices, sizeof(devices)));
	if (report->runs > 1)
		fprintf(report->out, ", mean of %u runs%s", report->runs,
			report->ended_by ? ", the last one cut short" : "");
	fputs(":\n\n", report->out);
}

static void print_range(struct stat_report *report, const struct stat_device *device,
			const struct row_stat *stat, double scale)
{
	char min[32], mean[32], max[32];

	if (!row_stat_has_range(device, stat)) {
		fprintf(report->out, "  %27s", "");
		return;
	}
	fprintf(report->out, "  %9s%9s%9s", number_short(stat->min * scale, min, sizeof(min)),
		number_short(row_stat_mean(stat) * scale, mean, sizeof(mean)),
		number_short(stat->max * scale, max, sizeof(max)));
}

/* column widths in characters */
struct columns {
	int value, unit, event;
	bool range;
	uint64_t intervals; /* largest number of intervals of a range */
};

static void row_value(struct stat_report *report, const struct row *row,
		      const struct row_stat *stat, char *value, size_t size)
{
	bool runs = report->runs > 1 && stat && stat->runs;

	if (runs && row->state == PERFCTR_VALUE_OK && !row->metric && row->scale == 1)
		number_group_signed(llround(stat->run_mean), value, size);
	else
		value_text(row, runs ? stat->run_mean : row->number, value, size);
}

static void measure_device(struct stat_report *report, const struct stat_device *device,
			   struct columns *c)
{
	char value[64];

	for (size_t i = 0; i < device->rows.count; i++) {
		const struct row_stat *stat = stat_of_row(device, i);
		const struct row *row = &device->rows.rows[i];

		row_value(report, row, stat, value, sizeof(value));
		c->value = columns_wider(c->value, value);
		c->unit = columns_wider(c->unit, row->unit);
		c->event = columns_wider(c->event, row->event);
		if (!row_stat_has_range(device, stat))
			continue;
		c->range = report->runs < 2;
		if (stat->intervals > c->intervals)
			c->intervals = stat->intervals;
	}
}

static struct columns measure(struct stat_report *report)
{
	struct columns c = { .value = 14, .unit = 4, .event = 20 };

	for (size_t n = 0; n < report->count; n++)
		measure_device(report, &report->devices[n], &c);
	/* the other columns: five blanks, a rate of 12, a range of 29 */
	if (c.value + c.unit + c.event + 5 + 12 + 29 > app_columns(report->out, INT_MAX))
		c.range = false;
	return c;
}

static void print_row(struct stat_report *report, const struct stat_device *device,
		      const struct row *row, const struct row_stat *stat, const struct columns *c)
{
	char value[64], rate[32] = "";
	double scale;
	const char *unit = row_rate_unit(row, &scale);

	row_value(report, row, stat, value, sizeof(value));
	fprintf(report->out, "%*s  %-*s %c %-*s", c->value, value, c->unit, row->unit,
		verdicts_mark(row->trust), c->event, row->event);
	if (isfinite(row->rate))
		number_short(row->rate * scale, rate, sizeof(rate));
	fprintf(report->out, " %*s%s", 11 - (int)strlen(unit), rate, *rate ? unit : "  ");
	if (report->runs > 1 && stat && stat->runs)
		fprintf(report->out, "  ( +- %5.2f%% )", row_stat_stddev_percent(stat));
	else if (c->range)
		print_range(report, device, stat, scale);
	print_notes(report->out, row);
	fputc('\n', report->out);
}

/* The same counts by context. */
static void print_contexts(struct stat_report *report, const struct stat_device *device,
			   const struct columns *c)
{
	static const char *const texts[] = {
		[STAT_CONTEXT_TAGGED] = "by the tag of its samples",
		[STAT_CONTEXT_OTHERS] = "what no tagged sample is about",
		[STAT_CONTEXT_MIXED] = "the ring was full: mixed",
		[STAT_CONTEXT_FURTHER] = "contexts beyond the first ones",
	};

	bool tagged = false, of_machine = false;

	for (size_t i = 0; i < device->contexts.count; i++) {
		const struct stat_context *context = &device->contexts.contexts[i];
		const struct perfctr_span *span = &context->rows.span;
		char name[32];

		fprintf(report->out, "\n %s%s: %s; %" PRIu64 " sample%s, %.6f seconds\n",
			context->kind == STAT_CONTEXT_TAGGED ? "context " : "",
			stat_context_name(context, name, sizeof(name)), texts[context->kind],
			span->samples, span->samples == 1 ? "" : "s",
			(double)span->elapsed_ns * 1e-9);
		for (size_t n = 0; n < context->rows.count; n++) {
			const struct row *row = &context->rows.rows[n];

			print_row(report, device, row, NULL, c);
			of_machine |= row->info && row->info->is_pmu;
		}
		tagged |= context->kind == STAT_CONTEXT_TAGGED;
	}
	if (tagged && of_machine)
		fputs("\n PMUs are read a moment later and count the whole machine meanwhile\n",
		      report->out);
	if (device->contexts.count && !tagged)
		fputs("\n no job carried a tagged sample of PERFCTR_SESSION: see perfctr-stat(1)\n",
		      report->out);
}

static void print_trouble(struct stat_report *report, const struct stat_device *device)
{
	const struct perfctr_span *span = &device->rows.span;
	const struct drm_perfctr_status *status = &device->status;
	char flags[160];

	if (span->merged_periods)
		fprintf(report->out,
			" %13" PRIu64 " period%s merged into longer samples: "
			"time resolution lost, no counts\n",
			span->merged_periods, span->merged_periods == 1 ? "" : "s");
	if (span->lost_ns)
		fprintf(report->out, " %13.6f seconds at most whose counts the hardware lost\n",
			(double)span->lost_ns * 1e-9);
	if (span->missing_samples)
		fprintf(report->out, " %13" PRIu64 " sample%s missing: please report\n",
			span->missing_samples, plural(span->missing_samples));
	if (describe_flags(span, flags, sizeof(flags)))
		fprintf(report->out, " %s\n", flags);
	if (status->bad_extract)
		fprintf(report->out, " %13" PRIu64 " impossible extract indices\n",
			(uint64_t)status->bad_extract);
}

/* Whether a row of a process counts the whole machine: its PMU has a cpumask, or is not perf's. */
static bool counts_machine(const struct row *row)
{
	char path[128];
	size_t length;

	if (!row->info || !row->info->is_pmu)
		return false;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", row->label);
	length = strlen(path);
	if (row->info->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || access(path, F_OK))
		return true;
	snprintf(path + length, sizeof(path) - length, "/cpumask");
	return !access(path, F_OK);
}

/* what a process's counts do not say */
static void print_scope(struct stat_report *report, const struct stat_device *device)
{
	const struct rows *rows = &device->rows;
	bool clients = false;
	int found = 0;

	for (size_t i = 0; i < rows->count; i++)
		clients |= !strcmp(rows->rows[i].label, "drm");
	if (clients && !app_has_capability(APP_CAP_SYS_PTRACE))
		fputs(" drm: the clients of this user only; root sees those of all users\n",
		      report->out);
	if (!device->counted->of_task)
		return;
	for (size_t i = 0; i < rows->count; i++)
		if (counts_machine(&rows->rows[i]))
			fprintf(report->out, "%s%s",
				found++ ? ", " :
					  " of the whole machine, as the PMU cannot count a "
					  "process: ",
				rows->rows[i].event);
	if (found)
		fputc('\n', report->out);
	if (!counting_excludes(&report->options->counting))
		return;
	fputs(" without the kernel, which kernel.perf_event_paranoid keeps for CAP_PERFMON\n",
	      report->out);
	if (report->has_broker)
		fputs(" the broker (perfctr serve) lets this user count more than the own "
		      "processes: perfctr stat -a\n",
		      report->out);
}

/* what the marks mean, and what marked counters count */
static void print_verdicts(struct stat_report *report)
{
	bool marks = false;
	size_t hidden = 0;

	for (size_t n = 0; n < report->count; n++)
		for (size_t i = 0; i < report->devices[n].rows.count; i++)
			marks |= report->devices[n].rows.rows[i].trust != PERFCTR_TRUST_UNVALIDATED;
	if (marks)
		fputs(" " VERDICTS_LEGEND "\n", report->out);
	for (size_t n = 0; n < report->count; n++) {
		const struct rows *rows = &report->devices[n].rows;

		for (size_t i = 0; i < rows->count; i++)
			verdicts_print_note(report->verdicts, report->out, rows->rows[i].event,
					    rows->rows[i].desc);
		hidden += rows->hidden;
	}
	if (hidden)
		fprintf(report->out, " %zu left out: not known to be trusted\n", hidden);
}

static void print_intervals(struct stat_report *report, const struct columns *c)
{
	const struct stat_options *o = report->options;
	const uint64_t ns = o->interval_ns ? o->interval_ns : o->counting.period_ns;
	char text[32];

	if (c->range)
		fprintf(report->out,
			" %13" PRIu64 " interval%s of about %s: min, mean and max are of %s\n",
			c->intervals, plural(c->intervals),
			number_seconds((double)ns * 1e-9, text, sizeof(text)),
			c->intervals == 1 ? "it" : "them");
}

/* What was counted on a device, and what is wrong with it. */
static void print_device(struct stat_report *report, const struct stat_device *device,
			 const struct columns *c)
{
	const struct perfctr_span *span = &device->rows.span;
	const double seconds = (double)span->elapsed_ns * 1e-9;

	if (device->rows.device)
		fprintf(report->out, " %s:\n", device->rows.device);
	fprintf(report->out, " %13.6f seconds counted, %" PRIu64 " sample%s%s\n", seconds,
		span->samples, span->samples == 1 ? "" : "s",
		report->runs > 1 ? " in all runs together" : "");
	if (report->count == 1)
		print_intervals(report, c);
	if (device->counted->is_gone)
		fprintf(report->out, " %13.6f seconds were the device's last: it is gone\n",
			seconds);
	print_trouble(report, device);
	print_scope(report, device);
}

static void text_end(struct stat_report *report)
{
	const struct stat_options *o = report->options;
	const char *name = sigabbrev_np(report->exit_status - EXIT_SIGNAL_BASE);
	uint64_t samples = 0;
	struct columns c;

	if (!report->runs) {
		/* the message was printed */
		return;
	}
	for (size_t n = 0; n < report->count; n++)
		samples += report->devices[n].rows.span.samples;
	if (!samples) {
		fputs("nothing was counted\n", report->out);
		return;
	}
	c = measure(report);
	print_command(report);
	fprintf(report->out, "%*s  %-*s   %-*s %9s  ", c.value, "count", c.unit, "unit", c.event,
		"event", "rate");
	if (c.range)
		fprintf(report->out, "  %9s%9s%9s/s", "min ", "mean ", "max ");
	fputc('\n', report->out);
	for (size_t n = 0; n < report->count; n++) {
		const struct stat_device *d = &report->devices[n];

		for (size_t i = 0; i < d->rows.count; i++)
			print_row(report, d, &d->rows.rows[i], stat_of_row(d, i), &c);
		print_contexts(report, d, &c);
	}
	fputc('\n', report->out);
	for (size_t n = 0; n < report->count; n++)
		print_device(report, &report->devices[n], &c);
	if (report->count > 1)
		print_intervals(report, &c);
	print_verdicts(report);
	if (o->counting.command && report->exit_status)
		fprintf(report->out, " %s ended with status %d%s%s\n", o->counting.command[0],
			report->exit_status, name ? ", by SIG" : "", name ? name : "");
	fputc('\n', report->out);
}

const struct stat_format stat_text = { text_begin, text_interval, text_end };
