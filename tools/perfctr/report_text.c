// SPDX-License-Identifier: MIT
/* Tables of perfctr report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/number.h"
#include "report.h"

enum { VALUE_WIDTH = 22, UNIT_WIDTH = 14, EVENT_WIDTH = 28 };

static void print_field(FILE *out, const char *name, const char *value)
{
	if (value && *value)
		fprintf(out, " %-10s %s\n", name, value);
}

static void print_session(const struct report *report)
{
	const struct capture_file *file = report->file;
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	char text[64], number[32], bytes[32];

	if (file->session && file->session->period_ns)
		snprintf(text, sizeof(text), ", one each %ss",
			 number_short((double)file->session->period_ns * 1e-9, number,
				      sizeof(number)));
	else
		snprintf(text, sizeof(text), "%s", file->session ? ", no period" : "");
	fprintf(report->out, " %-10s %s%s, %.6f s, file of %sB\n", "samples",
		number_group(span->samples, number, sizeof(number)), text,
		(double)span->elapsed_ns * 1e-9,
		number_short((double)file->bytes, bytes, sizeof(bytes)));
}

static void print_head(const struct report *report)
{
	const struct capture_file *file = report->file;
	const struct perfctr_device *device = file->device;
	const char *host = capture_file_text(file, "host");
	const char *kernel = capture_file_text(file, "kernel");
	char text[512];

	snprintf(text, sizeof(text), "%s (%s, %s)", perfctr_device_info(device)->name,
		 perfctr_device_driver(device), perfctr_device_path(device));
	print_field(report->out, "device", text);
	print_field(report->out, "command", capture_file_text(file, "command"));
	print_field(report->out, "recorded", report_date(file, text, sizeof(text)));
	if (host && kernel) {
		snprintf(text, sizeof(text), "%.200s, %.200s", host, kernel);
		print_field(report->out, "on", text);
	}
	print_session(report);
	for (size_t n = 0; report_trouble(file, n, text, sizeof(text)); n++)
		print_field(report->out, n ? "" : "note", text);
	if (!report_trouble(file, 0, text, sizeof(text)))
		print_field(report->out, "note", "complete: nothing merged, nothing lost");
}

static const char *short_or_blank(double value, char *text, size_t size)
{
	return isfinite(value) ? number_short(value, text, size) : "";
}

static void print_line(const struct report *report, const struct timeline_line *line, int width)
{
	const struct row *row = line->row;
	char value[64], rate[32], least[32], most[32], notes[256];

	fprintf(report->out, "%*s  %-*s %-*s %9s%s %10s %10s", VALUE_WIDTH,
		report_value(row, value, sizeof(value)), UNIT_WIDTH, row->unit, width, row->event,
		short_or_blank(row->rate, rate, sizeof(rate)), isfinite(row->rate) ? "/s" : "  ",
		short_or_blank(line->least, least, sizeof(least)),
		short_or_blank(line->most, most, sizeof(most)));
	report_notes(row, notes, sizeof(notes));
	if (*notes)
		fprintf(report->out, "  (%s)", notes);
	fputc('\n', report->out);
}

static void print_table(const struct report *report, const char *title, bool of_blocks)
{
	const struct timeline *t = report->timeline;
	size_t width = EVENT_WIDTH;

	for (size_t n = 0; n < t->line_count; n++) {
		size_t length = strlen(t->lines[n].row->event);

		if (t->lines[n].is_block == of_blocks && length > width)
			width = length;
	}
	fprintf(report->out, "\n%*s  %-*s %-*s %9s   %10s %10s\n", VALUE_WIDTH, title, UNIT_WIDTH,
		"unit", (int)width, "event", "rate", "min ", "max ");
	for (size_t n = 0; n < t->line_count; n++) {
		const struct timeline_line *line = &t->lines[n];

		/* a metric of the device is in the first table */
		if (line->is_block == of_blocks && (!of_blocks || line->row->info))
			print_line(report, line, (int)width);
	}
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
}
