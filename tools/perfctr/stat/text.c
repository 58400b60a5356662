// SPDX-License-Identifier: MIT
/* The table of perfctr stat. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"
#include "lib/describe.h"
#include "lib/device.h"
#include "lib/output.h"
#include "lib/pmu.h"
#include "stat.h"

/* Take out the commas between digits, if they are not wanted. */
static void ungroup(const struct stat_report *report, char *text)
{
	char *to = text;

	if (!report->options->no_big_numbers)
		return;
	for (; *text; text++)
		if (*text != ',')
			*to++ = *text;
	*to = '\0';
}

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

/* A rate as it stands behind a name, with its whole unit if there is room. */
static void print_interval_rate(FILE *out, const struct row *row, bool is_narrow)
{
	char rate[32];
	double scale;
	const char *unit = row_rate_unit(row, &scale);

	if (isfinite(row->rate))
		fprintf(out, "%s# %s%s%s", is_narrow ? " " : "  ",
			number_short(row->rate * scale, rate, sizeof(rate)),
			scale == 1 && !is_narrow ? row->unit : "", unit);
}

/* Widths in characters; an event of 0 has a line of its own, and a rate of 0 is left out. */
struct columns {
	int time, value, unit, event, rate, range;
	bool has_rate, has_range, is_narrow;
	int line; /* all of them */
	uint64_t intervals; /* largest number of intervals of a range */
	int terminal;
};

enum { EVENT_LEAST = 12 };

/* Notes on a value in parentheses, behind a line of that many columns or below it. */
static void print_notes(FILE *out, const struct row *row, int line, int terminal)
{
	char notes[256], text[264];

	if (!*describe_notes(row, notes, sizeof(notes))) {
		fputc('\n', out);
		return;
	}
	snprintf(text, sizeof(text), "(%s)", notes);
	if (line + 2 + (int)strlen(text) > terminal) {
		fputc('\n', out);
		columns_wrap(out, text, 0, 2, terminal);
	} else {
		fprintf(out, "  %s\n", text);
	}
}

/* A line below the table: an amount, NULL for none, and words, which the terminal's width wraps. */
static void __attribute__((format(printf, 3, 4)))
print_line(struct stat_report *report, const char *amount, const char *format, ...)
{
	enum { AMOUNT = 15, INDENT = 5 };
	const int columns = terminal_columns(report->out, INT_MAX);
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (amount)
		fprintf(report->out, " %13s ", amount);
	else
		fputc(' ', report->out);
	columns_wrap(report->out, text, amount ? AMOUNT : 1, amount ? AMOUNT : INDENT, columns);
}

/* If lines are too long, narrow the columns, drop the rate, cut names, give them lines. */
static struct columns lay_out_interval(struct stat_report *report, const struct rows *rows)
{
	enum { BLANKS = 4, RATE = 14, RATE_LEAST = 13 };
	struct columns c = { .time = 12,
			     .value = 18,
			     .unit = 18,
			     .event = (int)strlen("event"),
			     .has_rate = true,
			     .terminal = terminal_columns(report->out, INT_MAX) };
	struct columns narrow = { .time = 11,
				  .value = 14,
				  .unit = (int)strlen("unit"),
				  .is_narrow = true,
				  .terminal = c.terminal };
	double scale;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		const int rate = (int)strlen(row_rate_unit(row, &scale));
		const int whole = rate + (scale == 1 ? (int)strlen(row->unit) : 0);

		narrow.unit = columns_wider(narrow.unit, row->unit);
		c.event = columns_wider(c.event, row->event);
		if (!isfinite(row->rate))
			continue;
		c.rate = c.rate > RATE + whole ? c.rate : RATE + whole;
		narrow.rate = narrow.rate > RATE_LEAST + rate ? narrow.rate : RATE_LEAST + rate;
	}
	c.line = c.time + c.value + c.unit + c.event + c.rate + BLANKS;
	if (c.line <= c.terminal)
		return c;
	narrow.line = narrow.time + narrow.value + narrow.unit + BLANKS;
	narrow.event = c.event;
	narrow.has_rate = narrow.line + c.event + narrow.rate <= c.terminal;
	if (narrow.line + c.event > c.terminal)
		narrow.event = c.terminal - narrow.line;
	if (narrow.event < EVENT_LEAST && narrow.event < c.event)
		narrow.event = 0;
	narrow.line += narrow.event + (narrow.has_rate ? narrow.rate : 0);
	return narrow;
}

static void text_interval(struct stat_report *report, const struct stat_device *of)
{
	const struct rows *rows = &of->scratch;
	double time_s = (double)(report->stamp_ns - report->start_ns) * 1e-9;
	const char *device = rows->device ? rows->device : "", *colon = rows->device ? ": " : "";
	const struct columns c = lay_out_interval(report, rows);
	char value[64], text[128];

	if (!report->has_intervals)
		fprintf(report->out, "#%*s %*s  %-*s %s\n", c.time - 1, "time s", c.value, "counts",
			c.unit, "unit", c.event ? "event" : "");
	else if (rows->count > 1)
		fputc('\n', report->out);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		value_text(row, row->number, value, sizeof(value));
		ungroup(report, value);
		if (!c.event)
			columns_name(report->out, row->event, 0, c.terminal);
		fprintf(report->out, "%*.6f %*s  %-*s ", c.time, time_s, c.value, value, c.unit,
			row->unit);
		if (c.event)
			columns_name(report->out, row->event, c.event, c.terminal);
		if (c.has_rate)
			print_interval_rate(report->out, row, c.is_narrow);
		print_notes(report->out, row, c.line, c.terminal);
	}
	for (int n = 0; n < 2; n++) {
		if (!(n ? rows->span.lost_ns : rows->span.merged_periods))
			continue;
		if (n)
			snprintf(text, sizeof(text), "(%s%scounts of up to %.6f s were lost)",
				 device, colon, (double)rows->span.lost_ns * 1e-9);
		else
			snprintf(text, sizeof(text),
				 "(%s%s%" PRIu64 " period%s merged into this interval)", device,
				 colon, rows->span.merged_periods,
				 rows->span.merged_periods == 1 ? "" : "s");
		fprintf(report->out, "%*.6f   ", c.time, time_s);
		columns_wrap(report->out, text, c.time + 3, c.time + 3, c.terminal);
	}
}

static void print_command(struct stat_report *report)
{
	const struct stat_options *o = report->options;
	const struct counting_tasks *tasks = counting_tasks(&o->counting);
	char devices[1024], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fputs("Counters of ", out);
	if (o->counting.command) {
		fputc('\'', out);
		for (char **word = o->counting.command; *word; word++)
			fprintf(out, "%s%s", word == o->counting.command ? "" : " ", *word);
		fputc('\'', out);
	}
	if (tasks)
		fprintf(out, "%s%s%s", o->counting.command ? " on " : "",
			o->counting.pids.count ? "process" : "thread",
			tasks->count == 1      ? "" :
			o->counting.pids.count ? "es" :
						 "s");
	for (size_t n = 0; tasks && n < tasks->count; n++)
		fprintf(out, "%s %d", n ? "," : "", (int)tasks->numbers[n]);
	if (counting_of_task(&o->counting))
		fprintf(out, " and %s children", tasks && tasks->count > 1 ? "their" : "its");
	if (!counting_of_task(&o->counting) || report->count > 1)
		fprintf(out, "%s%s", o->counting.command || tasks ? " on " : "",
			counting_text(&o->counting, devices, sizeof(devices)));
	if (report->runs > 1)
		fprintf(out, ", mean of %u runs%s", report->runs,
			report->ended_by ? ", the last one cut short" : "");
	fputc(':', out);
	fclose(out);
	fputs("\n ", report->out);
	columns_wrap(report->out, text, 1, 5, terminal_columns(report->out, INT_MAX));
	fputc('\n', report->out);
	free(text);
}

static void print_range(struct stat_report *report, const struct stat_device *device,
			const struct row_stat *stat, double scale, int width)
{
	char min[32], mean[32], max[32];

	if (!row_stat_has_range(device, stat)) {
		fprintf(report->out, "  %*s", 3 * width, "");
		return;
	}
	fprintf(report->out, "  %*s%*s%*s", width,
		number_short(stat->min * scale, min, sizeof(min)), width,
		number_short(row_stat_mean(stat) * scale, mean, sizeof(mean)), width,
		number_short(stat->max * scale, max, sizeof(max)));
}

static void row_value(struct stat_report *report, const struct row *row,
		      const struct row_stat *stat, char *value, size_t size)
{
	bool runs = report->runs > 1 && stat && stat->runs;

	if (runs && row->state == PERFCTR_VALUE_OK && !row->metric && row->scale == 1)
		number_group_signed(llround(stat->run_mean), value, size);
	else
		value_text(row, runs ? stat->run_mean : row->number, value, size);
	ungroup(report, value);
}

static void measure_row(struct stat_report *report, const struct row *row,
			const struct row_stat *stat, struct columns *c)
{
	char text[64];

	row_value(report, row, stat, text, sizeof(text));
	c->value = columns_wider(c->value, text);
	c->unit = columns_wider(c->unit, row->unit);
	c->event = columns_wider(c->event, row->event);
	c->rate = columns_wider(c->rate, describe_rate(row, text, sizeof(text)));
}

static void measure_device(struct stat_report *report, const struct stat_device *device,
			   struct columns *c)
{
	double scale;
	char text[32];

	for (size_t i = 0; i < device->rows.count; i++) {
		const struct row_stat *stat = stat_of_row(device, i);

		measure_row(report, &device->rows.rows[i], stat, c);
		if (!row_stat_has_range(device, stat))
			continue;
		row_rate_unit(&device->rows.rows[i], &scale);
		for (size_t n = 0; n < 3; n++) {
			const double ends[] = { stat->min, row_stat_mean(stat), stat->max };
			const int blank = n > 0;

			number_short(ends[n] * scale, text, sizeof(text));
			if (c->range < blank + (int)strlen(text))
				c->range = blank + (int)strlen(text);
		}
		c->has_range = report->runs < 2;
		if (stat->intervals > c->intervals)
			c->intervals = stat->intervals;
	}
	for (size_t i = 0; i < device->contexts.count; i++) {
		const struct rows *rows = &device->contexts.contexts[i].rows;

		for (size_t n = 0; n < rows->count; n++)
			measure_row(report, &rows->rows[n], NULL, c);
	}
}

static int columns_of(const struct columns *c)
{
	enum { BLANKS = 6 };

	return c->value + c->unit + c->event + BLANKS + c->rate +
	       (c->has_range ? 2 + 3 * c->range + (int)strlen("/s") : 0);
}

/* A table that is too wide drops the range, cuts names, then has lines of names, then no rate. */
static struct columns lay_out(struct stat_report *report)
{
	struct columns c = { .value = 5,
			     .unit = 4,
			     .event = 5,
			     .rate = 11,
			     .range = 9,
			     .terminal = terminal_columns(report->out, INT_MAX) };
	struct columns wide;

	for (size_t n = 0; n < report->count; n++)
		measure_device(report, &report->devices[n], &c);
	wide = c;
	wide.value = c.value < 14 ? 14 : c.value;
	wide.event = c.event < 20 ? 20 : c.event;
	if (columns_of(&wide) > c.terminal)
		wide.has_range = false;
	if (columns_of(&wide) <= c.terminal)
		return wide;
	c.has_range = false;
	if (columns_of(&c) > c.terminal)
		c.event -= columns_of(&c) - c.terminal;
	if (c.event < EVENT_LEAST)
		c.event = 0;
	if (columns_of(&c) > c.terminal)
		c.rate = 0;
	return c;
}

static void print_row(struct stat_report *report, const struct stat_device *device,
		      const struct row *row, const struct row_stat *stat, const struct columns *c)
{
	char value[64], rate[48];
	double scale;

	row_rate_unit(row, &scale);
	row_value(report, row, stat, value, sizeof(value));
	if (!c->event)
		columns_name(report->out, row->event, 0, c->terminal);
	fprintf(report->out, "%*s  %-*s %c ", c->value, value, c->unit, row->unit,
		verdicts_mark(row->trust));
	if (c->event)
		columns_name(report->out, row->event, c->event, c->terminal);
	if (c->rate)
		fprintf(report->out, " %*s", c->rate, describe_rate(row, rate, sizeof(rate)));
	if (report->runs > 1 && stat && stat->runs)
		fprintf(report->out, "  ( +- %5.2f%% )", row_stat_stddev_percent(stat));
	else if (c->has_range)
		print_range(report, device, stat, scale, c->range);
	print_notes(report->out, row, columns_of(c), c->terminal);
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
	if (tagged && of_machine) {
		fputc('\n', report->out);
		print_line(report, NULL,
			   "PMUs are read a moment later and count the whole machine meanwhile");
	}
	if (device->contexts.count && !tagged) {
		fputc('\n', report->out);
		print_line(
			report, NULL,
			"no job carried a tagged sample of PERFCTR_SESSION: see perfctr-stat(1)");
	}
}

static const char *count_text(uint64_t count, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, count);
	return text;
}

static const char *seconds_text(uint64_t ns, char *text, size_t size)
{
	snprintf(text, size, "%.6f", (double)ns * 1e-9);
	return text;
}

static void print_trouble(struct stat_report *report, const struct stat_device *device)
{
	const struct perfctr_span *span = &device->rows.span;
	const struct drm_perfctr_status *status = &device->status;
	char flags[160], amount[32];

	if (span->merged_periods)
		print_line(
			report, count_text(span->merged_periods, amount, sizeof(amount)),
			"period%s merged into longer samples, which loses resolution but no counts",
			span->merged_periods == 1 ? "" : "s");
	if (span->lost_ns)
		print_line(report, seconds_text(span->lost_ns, amount, sizeof(amount)),
			   "seconds at most whose counts were lost");
	if (span->missing_samples)
		print_line(report, count_text(span->missing_samples, amount, sizeof(amount)),
			   "sample%s missing: please report", plural(span->missing_samples));
	if (describe_flags(span, flags, sizeof(flags)))
		print_line(report, NULL, "%s", flags);
	if (status->bad_extract)
		print_line(report, count_text(status->bad_extract, amount, sizeof(amount)),
			   "impossible extract indices");
}

/* Whether a row counts the whole machine, whatever is to be counted. */
static bool counts_machine(const struct row *row)
{
	return row->info && row->info->is_pmu && row->state != PERFCTR_VALUE_NOT_SUPPORTED &&
	       (row->info->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || pmu_counts_machine(row->label));
}

/* what counts of a process, a cgroup or CPUs do not say */
static void print_scope(struct stat_report *report, const struct stat_device *device)
{
	const struct rows *rows = &device->rows;
	const struct counting *c = &report->options->counting;
	const char *of_what = device->counted->of_task ? "a process" :
			      c->cgroup		       ? "a cgroup" :
			      c->cpus		       ? "some CPUs" :
							 NULL;
	bool clients = false;
	char *text = NULL;
	FILE *events;
	size_t size;
	int found = 0;

	for (size_t i = 0; i < rows->count; i++)
		clients |= !strcmp(rows->rows[i].label, "drm");
	if (clients && !app_has_capability(APP_CAP_SYS_PTRACE))
		print_line(report, NULL,
			   "drm: the clients of this user only; root sees those of all users");
	if (!of_what)
		return;
	events = open_memstream(&text, &size);
	if (events)
		fprintf(events, " of the whole machine, as the PMU cannot count %s: ", of_what);
	for (size_t i = 0; events && i < rows->count; i++)
		if (counts_machine(&rows->rows[i]))
			fprintf(events, "%s%s", found++ ? ", " : "", rows->rows[i].event);
	if (events)
		fclose(events);
	if (found)
		columns_wrap(report->out, text, COLUMNS_UNINDENTED, 5,
			     terminal_columns(report->out, INT_MAX));
	free(text);
	if (!counting_excludes(c))
		return;
	print_line(report, NULL,
		   "without the kernel, which kernel.perf_event_paranoid keeps for CAP_PERFMON");
	if (device_has_event_of_kernel(device->counted->selection))
		print_line(report, NULL, "the kernel switches and migrates tasks: 0 without it");
	if (report->has_broker)
		print_line(report, NULL,
			   "the broker (perfctr serve) lets this user count more than the own "
			   "processes: perfctr stat -a");
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
		print_line(report, NULL, VERDICTS_LEGEND);
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
	char text[32], amount[32];

	if (c->has_range)
		print_line(report, count_text(c->intervals, amount, sizeof(amount)),
			   "interval%s of about %s: min, mean and max are of %s",
			   plural(c->intervals),
			   number_seconds((double)ns * 1e-9, text, sizeof(text)),
			   c->intervals == 1 ? "it" : "them");
}

/* What was counted on a device, and what is wrong with it. */
static void print_device(struct stat_report *report, const struct stat_device *device,
			 const struct columns *c)
{
	const struct perfctr_span *span = &device->rows.span;
	char amount[32];

	seconds_text(span->elapsed_ns, amount, sizeof(amount));
	if (device->rows.device)
		fprintf(report->out, " %s:\n", device->rows.device);
	print_line(report, amount, "seconds counted, %" PRIu64 " sample%s%s", span->samples,
		   span->samples == 1 ? "" : "s", report->runs > 1 ? " in all runs together" : "");
	if (report->count == 1)
		print_intervals(report, c);
	if (device->counted->is_gone)
		print_line(report, amount, "seconds were the device's last: it is gone");
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
	c = lay_out(report);
	print_command(report);
	fprintf(report->out, "%*s  %-*s   ", c.value, "count", c.unit, "unit");
	if (c.event)
		columns_name(report->out, "event", c.event, c.terminal);
	if (c.rate)
		fprintf(report->out, " %*s  ", c.rate - 2, "rate");
	if (c.has_range)
		fprintf(report->out, "  %*s%*s%*s/s", c.range, "min ", c.range, "mean ", c.range,
			"max ");
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

const struct stat_format stat_text = { NULL, text_interval, text_end };
