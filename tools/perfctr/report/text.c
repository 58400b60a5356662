// SPDX-License-Identifier: MIT
/* Tables of perfctr report. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "lib/busiest.h"
#include "lib/output.h"
#include "common/number.h"
#include "report.h"

enum { VALUE_WIDTH = 22, UNIT_WIDTH = 14, EVENT_WIDTH = 28, FIELD_COLUMN = 12 };

static void print_field(FILE *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, " %-10s ", name);
	columns_wrap(out, value, FIELD_COLUMN, FIELD_COLUMN, terminal_columns(out, INT_MAX));
}

static void print_session(const struct report *report)
{
	const struct capture_file *file = report->file;
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	char text[64], number[32], bytes[32], line[192];

	if (file->period_ns)
		snprintf(text, sizeof(text), ", one each %s",
			 number_seconds((double)file->period_ns * 1e-9, number, sizeof(number)));
	else
		snprintf(text, sizeof(text), "%s", file->has_session ? ", no period" : "");
	snprintf(line, sizeof(line), "%s%s, %.6f s, file of %sB",
		 number_group(span->samples, number, sizeof(number)), text,
		 (double)span->elapsed_ns * 1e-9,
		 number_short((double)file->bytes, bytes, sizeof(bytes)));
	print_field(report->out, "samples", line);
}

static void print_notes(const struct report *report)
{
	char text[512];

	for (size_t n = 0; describe_trouble(report->file, n, text, sizeof(text)); n++)
		print_field(report->out, n ? "" : "note", text);
	if (!describe_trouble(report->file, 0, text, sizeof(text)))
		print_field(report->out, "note", "complete: nothing merged, nothing lost");
}

static void print_head(const struct report *report)
{
	const struct capture_file *file = report->file;
	const char *host = capture_file_text(file, "host");
	const char *kernel = capture_file_text(file, "kernel");
	char text[512];

	print_field(report->out, "device", describe_device(file, text, sizeof(text)));
	if (file->number) {
		/* the rest is that of the first session */
		print_session(report);
		print_notes(report);
		return;
	}
	print_field(report->out, "command", capture_file_text(file, "command"));
	print_field(report->out, "excludes", capture_file_text(file, "excludes"));
	print_field(report->out, "recorded", describe_date(file, text, sizeof(text)));
	snprintf(text, sizeof(text), "%.200s%s%.200s", host ? host : "", host && kernel ? ", " : "",
		 kernel ? kernel : "");
	print_field(report->out, "on", text);
	print_session(report);
	print_notes(report);
}

static const char *short_or_blank(double value, char *text, size_t size)
{
	return isfinite(value) ? number_short(value, text, size) : "";
}

/* Widths in characters; an event of 0 has a line of its own, and a rate of 0 is left out. */
struct layout {
	int value, unit, event, rate, range;
	bool has_range;
	int columns;
};

enum { RATE_WIDTH = 11, RANGE_WIDTH = 10, BLANKS = 4, EVENT_LEAST = 12 };

static int columns_of(const struct layout *l)
{
	return l->value + l->unit + l->event + BLANKS + l->rate +
	       (l->has_range ? 2 * (1 + l->range) : 0);
}

/* A table that is too wide drops the range, cuts names, then has lines of names, then no rate. */
static struct layout lay_out(const struct report *report, bool of_blocks)
{
	const struct timeline *t = report->timeline;
	struct layout l = {
		VALUE_WIDTH, UNIT_WIDTH, EVENT_WIDTH, RATE_WIDTH, RANGE_WIDTH, true, 0,
	};
	struct layout least = { 5, 4, 5, RATE_WIDTH, RANGE_WIDTH, true, 0 };
	char value[64], rate[48];
	double scale;

	l.columns = terminal_columns(report->out, INT_MAX);
	for (size_t n = 0; n < t->line_count; n++) {
		const struct row *row = t->lines[n].row;

		if (t->lines[n].is_block != of_blocks)
			continue;
		l.unit = columns_wider(l.unit, row->unit);
		l.event = columns_wider(l.event, row->event);
		least.event = columns_wider(least.event, row->event);
		least.value = columns_wider(least.value, describe_value(row, value, sizeof(value)));
		least.unit = columns_wider(least.unit, row->unit);
		l.rate = columns_wider(l.rate, describe_rate(row, rate, sizeof(rate)));
		row_rate_unit(row, &scale);
		l.range = columns_wider(l.range, short_or_blank(t->lines[n].least * scale, value,
								sizeof(value)));
		l.range = columns_wider(l.range, short_or_blank(t->lines[n].most * scale, value,
								sizeof(value)));
	}
	if (columns_of(&l) <= l.columns)
		return l;
	least.columns = l.columns;
	least.rate = l.rate;
	least.range = l.range;
	least.has_range = columns_of(&least) <= l.columns;
	if (columns_of(&least) > l.columns)
		least.event -= columns_of(&least) - l.columns;
	if (least.event < EVENT_LEAST)
		least.event = 0;
	if (columns_of(&least) > l.columns)
		least.rate = 0;
	return least;
}

static void print_line(const struct report *report, const struct timeline_line *line,
		       const struct layout *l)
{
	const struct row *row = line->row;
	char value[64], rate[48], least[32], most[32], notes[256], text[264];
	double scale;

	row_rate_unit(row, &scale);
	if (!l->event)
		columns_name(report->out, row->event, 0, l->columns);
	fprintf(report->out, "%*s  %-*s ", l->value, describe_value(row, value, sizeof(value)),
		l->unit, row->unit);
	if (l->event)
		columns_name(report->out, row->event, l->event, l->columns);
	if (l->rate)
		fprintf(report->out, " %*s", l->rate, describe_rate(row, rate, sizeof(rate)));
	if (l->has_range)
		fprintf(report->out, " %*s %*s", l->range,
			short_or_blank(line->least * scale, least, sizeof(least)), l->range,
			short_or_blank(line->most * scale, most, sizeof(most)));
	describe_notes(row, notes, sizeof(notes));
	if (!*notes) {
		fputc('\n', report->out);
		return;
	}
	snprintf(text, sizeof(text), "(%s)", notes);
	/* after the line, or below it */
	if (columns_of(l) + 2 + (int)strlen(text) > l->columns) {
		fputc('\n', report->out);
		columns_wrap(report->out, text, 0, 2, l->columns);
	} else {
		fprintf(report->out, "  %s\n", text);
	}
}

static void print_table(const struct report *report, const char *title, bool of_blocks)
{
	const struct layout l = lay_out(report, of_blocks);
	const struct timeline *t = report->timeline;
	bool has_lines = !of_blocks && !report->per_block;

	for (size_t n = 0; n < t->line_count; n++)
		has_lines |= t->lines[n].is_block == of_blocks;
	if (!has_lines)
		return;
	fputc('\n', report->out);
	if (!l.event)
		columns_name(report->out, "event", 0, l.columns);
	fprintf(report->out, "%*s  %-*s ", l.value, (int)strlen(title) > l.value ? "count" : title,
		l.unit, "unit");
	if (l.event)
		columns_name(report->out, "event", l.event, l.columns);
	if (l.rate)
		fprintf(report->out, " %*s  ", l.rate - 2, "rate");
	if (l.has_range)
		fprintf(report->out, " %*s %*s", l.range, "min ", l.range, "max ");
	fputc('\n', report->out);
	for (size_t n = 0; n < t->line_count; n++) {
		const struct timeline_line *line = &t->lines[n];

		/* a metric of the device is in the first table */
		if (line->is_block == of_blocks && (!of_blocks || line->row->info))
			print_line(report, line, &l);
	}
}

/* Which unit of a GPU limits. */
static void print_busiest(const struct report *report)
{
	char text[BUSIEST_BYTES];

	if (!*busiest_text(report->file->totals, text))
		return;
	fputc('\n', report->out);
	print_field(report->out, "busiest", text);
}

/* Marks by name. */
static void print_marks(const struct report *report)
{
	enum { MOST_NAMES = 20, NARROW = 60 };
	const bool is_narrow = terminal_columns(report->out, INT_MAX) < NARROW;
	const struct {
		int count, time, mean;
	} w = { is_narrow ? 5 : 10, is_narrow ? 9 : 12, is_narrow ? 0 : 13 };
	const struct marks *marks = &report->file->marks;
	struct {
		const struct mark *first;
		uint64_t count, ns;
	} names[MOST_NAMES] = { 0 }, *name;
	size_t count = 0, left_out = 0;
	char number[32], time[32], mean[32];

	for (size_t n = 0; n < marks->count; n++) {
		const struct mark *m = &marks->all[n];

		for (name = names; name < names + count; name++)
			if (name->first->kind == m->kind && name->first->open == m->open &&
			    !strcmp(name->first->name, m->name))
				break;
		if (name == names + MOST_NAMES) {
			left_out++;
			continue;
		}
		if (name == names + count) {
			name->first = m;
			name->count = name->ns = 0;
			count++;
		}
		name->count++;
		name->ns += m->end_ns - m->start_ns;
	}
	if (count)
		fprintf(report->out, "\n%*s  %-10s %*s%*s  mark\n", w.count, "marks", "kind",
			w.time, "time", w.mean, w.mean ? "mean" : "");
	for (name = names; name < names + count; name++) {
		const double seconds = (double)name->ns * 1e-9;
		const bool is_point = name->first->kind == PERFCTR_MARK_POINT;

		fprintf(report->out, "%*s  %-10s %*s%*s  %s\n", w.count,
			number_group(name->count, number, sizeof(number)),
			name->first->open ? "unfinished" : mark_kind(name->first), w.time,
			is_point ? "" : number_seconds(seconds, time, sizeof(time)), w.mean,
			is_point || !w.mean ?
				"" :
				number_seconds(seconds / (double)name->count, mean, sizeof(mean)),
			name->first->name);
	}
	if (left_out)
		fprintf(report->out, "%*s  of other names (--json has all)\n", w.count,
			number_group(left_out, number, sizeof(number)));
	if (marks->unmatched)
		fprintf(report->out, "%*s  ends without a beginning\n", w.count,
			number_group(marks->unmatched, number, sizeof(number)));
}

void report_text(const struct report *report)
{
	print_head(report);
	if (!perfctr_totals_span(report->file->totals)->samples) {
		fputs("\nthe capture has no samples\n", report->out);
		return;
	}
	print_table(report, "count", false);
	if (report->per_block)
		print_table(report, "count of each block", true);
	print_busiest(report);
	/* they are of all sessions */
	if (!report->file->number)
		print_marks(report);
}
