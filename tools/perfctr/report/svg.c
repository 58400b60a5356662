// SPDX-License-Identifier: MIT
/*
 * perfctr report --svg: counters and metrics over time as a picture, for documents and bug reports.
 * Bins are drawn as steps, because the course within a sample is unknown.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "lib/output.h"
#include "lib/page.h"
#include "report.h"

enum {
	WIDTH = 1200,
	MARGIN = 24,
	NAME_WIDTH = 236,
	VALUE_WIDTH = 190,
	PLOT_X = MARGIN + NAME_WIDTH,
	PLOT_WIDTH = WIDTH - 2 * MARGIN - NAME_WIDTH - VALUE_WIDTH - 14,
	VALUE_X = WIDTH - MARGIN,
	VALUE_LETTERS = 26,
	ROW_HEIGHT = 44,
	PLOT_HEIGHT = 36,
	GROUP_HEIGHT = 30,
	AXIS_HEIGHT = 30,
	STRIP_HEIGHT = 8,
	MARK_HEIGHT = 17,
	MARK_LETTERS = 30, /* the least width that has a name in it */
	LETTER_WIDTH = 7,
	LINE_HEIGHT = 19,
	COLORS = 8,
	TICKS = 16, /* at most: labels of more would touch */
};

/* The style sheet only has the colours of dark pages. */
static const struct picture_class classes[] = {
	{ "page", "fill=\"#ffffff\"" },
	{ "card", "fill=\"#f6f7f9\"" },
	{ "grid", "stroke=\"#dfe3e8\" stroke-width=\"1\"" },
	{ "quiet", "fill=\"#5b6673\"" },
	{ "warn", "fill=\"#c98500\"" },
	{ "bad", "fill=\"#b3261e\"" },
	{ "title", "font-size=\"17\" font-weight=\"600\"" },
	{ "group", "font-size=\"14\" font-weight=\"600\"" },
	{ "name", "font-weight=\"500\"" },
	/* readable on a line: an edge of the card's colour below the letters */
	{ "edged", "stroke=\"#f6f7f9\" stroke-width=\"3\" paint-order=\"stroke\"" },
	{ "small", "font-size=\"11\"" },
	{ "end", "text-anchor=\"end\"" },
	{ "middle", "text-anchor=\"middle\"" },
	{ "mean", "fill=\"none\" stroke-width=\"1.2\"" },
	{ "area", "opacity=\".3\"" },
	{ "pale", "opacity=\".14\"" },
	{ "f0", "fill=\"#0b62c4\"" },
	{ "f1", "fill=\"#c2570c\"" },
	{ "f2", "fill=\"#0f8265\"" },
	{ "f3", "fill=\"#7a4bb5\"" },
	{ "f4", "fill=\"#a8336f\"" },
	{ "f5", "fill=\"#54710f\"" },
	{ "f6", "fill=\"#1f7a96\"" },
	{ "f7", "fill=\"#8a5a2b\"" },
	{ "s0", "stroke=\"#0b62c4\"" },
	{ "s1", "stroke=\"#c2570c\"" },
	{ "s2", "stroke=\"#0f8265\"" },
	{ "s3", "stroke=\"#7a4bb5\"" },
	{ "s4", "stroke=\"#a8336f\"" },
	{ "s5", "stroke=\"#54710f\"" },
	{ "s6", "stroke=\"#1f7a96\"" },
	{ "s7", "stroke=\"#8a5a2b\"" },
};

static const char style[] =
	"svg{font-variant-numeric:tabular-nums}\n"
	"@media (prefers-color-scheme:dark){svg{fill:#e6eaef}.page{fill:#12161b}"
	".card{fill:#1a2027}.grid{stroke:#2b343e}.edged{stroke:#1a2027}"
	".quiet{fill:#9aa6b3}.warn{fill:#f0b34a}"
	".bad{fill:#ff8a80}"
	".f0{fill:#6cb0ff}.s0{stroke:#6cb0ff}.f1{fill:#ff9d5c}.s1{stroke:#ff9d5c}"
	".f2{fill:#4fd1ad}.s2{stroke:#4fd1ad}.f3{fill:#c09bf2}.s3{stroke:#c09bf2}"
	".f4{fill:#f28bbd}.s4{stroke:#f28bbd}.f5{fill:#b6d35f}.s5{stroke:#b6d35f}"
	".f6{fill:#63c9e6}.s6{stroke:#63c9e6}.f7{fill:#d9a571}.s7{stroke:#d9a571}}";

struct picture {
	const struct report *report;
	FILE *out;
	double y;
	double ns_width;
	uint64_t start_ns;
};

static double x_of(const struct picture *p, uint64_t ns)
{
	return PLOT_X + (double)(ns - p->start_ns) * p->ns_width;
}

static void write_class(const struct picture *p, const char *words)
{
	picture_class(p->out, classes, ARRAY_SIZE(classes), words);
}

/* A class with one of the colours, for filling ('f') or a line ('s'). */
static void write_colored(const struct picture *p, char what, int color, const char *words)
{
	char all[64];

	snprintf(all, sizeof(all), "%c%d%s%s", what, color, *words ? " " : "", words);
	write_class(p, all);
}

static void write_text(const struct picture *p, double x, double y, const char *class,
		       const char *text)
{
	fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
	write_class(p, class);
	fputc('>', p->out);
	markup_text(p->out, text);
	fputs("</text>", p->out);
}

/* Cut a text to a number of characters. */
static char *cut(char *text, size_t characters)
{
	if (strlen(text) > characters) {
		/* do not split a character of several bytes */
		while (characters && ((unsigned char)text[characters] & 0xc0) == 0x80)
			characters--;
		snprintf(text + characters, 4, "...");
	}
	return text;
}

/* --- what is in the picture ------------------------------------------------------- */

static bool is_zero(const struct timeline_line *line)
{
	return !(line->most > 0) && !(line->least < 0) && line->row->state == PERFCTR_VALUE_OK;
}

static bool is_drawn(const struct picture *p, const struct timeline_line *line)
{
	if (is_zero(line) || !line->samples)
		return false;
	return !line->is_block || (p->report->per_block && line->row->info);
}

/* --- head and axis ------------------------------------------------------------------ */

static void write_session(struct picture *p, const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	const char *host = capture_file_text(file, "host");
	char text[600], device[300], date[64], number[32];

	snprintf(text, sizeof(text), "%s \xc2\xb7 %s \xc2\xb7 %.3f s \xc2\xb7 %s sample%s%s%s",
		 describe_device(file, device, sizeof(device)),
		 describe_date(file, date, sizeof(date)), (double)span->elapsed_ns * 1e-9,
		 number_group(span->samples, number, sizeof(number)), plural(span->samples),
		 host ? " \xc2\xb7 " : "", host ? host : "");
	p->y += LINE_HEIGHT + 2;
	write_text(p, MARGIN, p->y, "quiet", cut(text, 150));
	for (size_t n = 0; describe_trouble(file, n, text, sizeof(text)); n++) {
		p->y += LINE_HEIGHT;
		fputs("<path", p->out);
		write_class(p, "warn");
		fprintf(p->out, " d=\"M%d %.1fl5 -9l5 9z\"/>", MARGIN, p->y);
		write_text(p, MARGIN + 16, p->y, "", cut(text, 150));
	}
}

static void write_head(struct picture *p)
{
	const struct capture *capture = p->report->capture;
	const char *command = capture_file_text(capture->files, "command");
	char text[600];

	snprintf(text, sizeof(text), "%s", command ? command : capture_file_name(capture->files));
	p->y += 22;
	write_text(p, MARGIN, p->y, "title", cut(text, 110));
	for (size_t n = 0; n < capture->count; n++)
		write_session(p, &capture->files[n]);
	p->y += 12;
}

static void time_text(double ns, double span_ns, char *text, size_t size)
{
	if (span_ns >= 1e9)
		snprintf(text, size, "%.6g s", ns * 1e-9);
	else if (span_ns >= 1e6)
		snprintf(text, size, "%.6g ms", ns * 1e-6);
	else
		snprintf(text, size, "%.6g \xc2\xb5s", ns * 1e-3);
}

static void write_axis(struct picture *p)
{
	const double span_ns = (double)(p->report->end_ns - p->report->start_ns);
	const double step = picture_step(span_ns, TICKS);
	char text[32];

	p->y += AXIS_HEIGHT - 8;
	for (double ns = 0; ns <= span_ns * (1 + 1e-9); ns += step) {
		double x = PLOT_X + ns * p->ns_width;

		time_text(ns, span_ns, text, sizeof(text));
		write_text(p, x, p->y, "quiet small middle", text);
	}
	p->y += 8;
}

static void write_grid(const struct picture *p, double top, double bottom)
{
	const double span_ns = (double)(p->report->end_ns - p->report->start_ns);
	const double step = picture_step(span_ns, TICKS);

	fputs("<path", p->out);
	write_class(p, "grid");
	fputs(" d=\"", p->out);
	for (double ns = 0; ns <= span_ns * (1 + 1e-9); ns += step)
		fprintf(p->out, "M%.1f %.1fV%.1f", PLOT_X + ns * p->ns_width, top, bottom);
	fputs("\"/>", p->out);
}

/* Mark a bin where samples were merged or counts were lost. Return: whether it is one. */
static bool write_trouble(const struct picture *p, const struct timeline_bin *bin, bool is_first)
{
	bool is_bad = bin->lost_ns || bin->flags & DESCRIBE_ODD_FLAGS;
	double x = x_of(p, bin->start_ns), width = x_of(p, bin->end_ns) - x;

	if (!is_bad && !bin->merged_periods)
		return false;
	if (is_first)
		write_text(p, MARGIN, p->y + STRIP_HEIGHT, "quiet small", "merged, lost");
	fputs("<rect", p->out);
	write_class(p, is_bad ? "bad" : "warn");
	fprintf(p->out, " x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"/>", x, p->y,
		width < 1 ? 1 : width, STRIP_HEIGHT);
	return true;
}

static void write_strip(struct picture *p)
{
	bool any = false;

	for (size_t i = 0; i < p->report->capture->count; i++) {
		const struct timeline *t = &p->report->timelines[i];

		for (size_t n = 0; n < t->bin_count; n++)
			any |= write_trouble(p, &t->bins[n], !any);
	}
	if (any)
		p->y += STRIP_HEIGHT + 6;
}

/* Marks of the program: spans with their names, points as lines. */
static void write_marks(struct picture *p)
{
	const struct marks *marks = &p->report->file->marks;
	const struct report *t = p->report;
	double shown[MARKS_LANES] = { 0 };
	char name[PERFCTR_MARK_NAME_MAX + 4];

	for (size_t n = 0; n < marks->count; n++) {
		const struct mark *m = &marks->all[n];
		const double x = x_of(p, m->start_ns > t->start_ns ? m->start_ns : t->start_ns);
		double width = x_of(p, m->end_ns < t->end_ns ? m->end_ns : t->end_ns) - x;
		const double y = p->y + MARK_HEIGHT * m->lane;

		/* of marks within a pixel only the first one is drawn */
		if (m->lane < 0 || m->end_ns < t->start_ns || m->start_ns > t->end_ns ||
		    x + width < shown[m->lane])
			continue;
		width = width < 1 ? 1 : width;
		shown[m->lane] = x + width;
		fputs("<g><title>", p->out);
		markup_text(p->out, m->name);
		fputs("</title><rect", p->out);
		write_colored(p, 'f', marks_color(m) % COLORS,
			      m->kind == PERFCTR_MARK_POINT ? "" : "area");
		fprintf(p->out, " x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"/>", x, y,
			width < 2 ? width : width - 0.7, MARK_HEIGHT - 2);
		snprintf(name, sizeof(name), "%s", m->name);
		if (width > MARK_LETTERS)
			write_text(p, x + 3, y + MARK_HEIGHT - 6, "small",
				   cut(name, (size_t)(width / LETTER_WIDTH)));
		fputs("</g>\n", p->out);
	}
	if (marks->lanes)
		write_text(p, MARGIN, p->y + MARK_HEIGHT - 6, "quiet small", "marks");
	p->y += MARK_HEIGHT * marks->lanes;
}

/* --- lines ---------------------------------------------------------------------------- */

/* The next run of bins without a hole, as a range. Return: false after the last one. */
static bool next_run(const struct timeline *t, const double *values, size_t *first, size_t *last)
{
	size_t n = *last;

	while (n < t->bin_count && isnan(values[n]))
		n++;
	*first = n;
	while (n < t->bin_count && !isnan(values[n]))
		n++;
	*last = n;
	return *first < n;
}

/* what a plot shows: values from @low, which is 0 unless some are negative, to @top */
struct scale {
	double bottom, low, top; /* @bottom: y of the lowest value */
};

static double y_of(const struct scale *s, double value)
{
	double share = value > s->low ? (value - s->low) / (s->top - s->low) : 0;

	return share > 1 ? s->bottom - PLOT_HEIGHT : s->bottom - (PLOT_HEIGHT - 3) * share;
}

static void write_steps(const struct picture *p, const struct timeline *t, const double *values,
			size_t first, size_t last, const struct scale *s)
{
	for (size_t n = first; n < last; n++)
		fprintf(p->out, "%c%.1f %.1fH%.1f", n == first ? 'M' : 'L',
			x_of(p, t->bins[n].start_ns), y_of(s, values[n]),
			x_of(p, t->bins[n].end_ns));
}

static void write_area(const struct picture *p, const struct timeline_line *line,
		       const struct scale *s)
{
	const struct timeline *t = line->of;
	size_t first = 0, last = 0;

	while (next_run(t, line->max, &first, &last)) {
		write_steps(p, t, t->is_exact ? line->mean : line->max, first, last, s);
		if (t->is_exact)
			fprintf(p->out, "V%.1fH%.1fZ", y_of(s, 0),
				x_of(p, t->bins[first].start_ns));
		for (size_t n = last; !t->is_exact && n-- > first;)
			fprintf(p->out, "L%.1f %.1fH%.1f%s", x_of(p, t->bins[n].end_ns),
				y_of(s, line->min[n]), x_of(p, t->bins[n].start_ns),
				n == first ? "Z" : "");
	}
}

static void write_curve(const struct picture *p, const struct timeline_line *line, int color)
{
	const struct timeline *t = line->of;
	const struct scale s = { .bottom = p->y + PLOT_HEIGHT,
				 .low = line->least < 0 ? line->least : 0,
				 .top = report_top(t, line) };
	size_t first = 0, last = 0;
	char text[200], unit[64], number[32], most[32];

	fputs("<path", p->out);
	write_colored(p, 'f', color, t->is_exact ? "pale" : "area");
	fputs(" d=\"", p->out);
	write_area(p, line, &s);
	fputs("\"/><path", p->out);
	write_colored(p, 's', color, "mean");
	fputs(" d=\"", p->out);
	while (next_run(t, line->mean, &first, &last))
		write_steps(p, t, line->mean, first, last, &s);
	fputs("\"/>", p->out);
	describe_rate_unit(line->row, true, unit, sizeof(unit));
	number_short(s.top, number, sizeof(number));
	if (line->most > s.top)
		snprintf(text, sizeof(text), "%s%s, peaks to %s%s", number, unit,
			 number_short(line->most, most, sizeof(most)), unit);
	else if (s.low < 0)
		snprintf(text, sizeof(text), "%s%s, down to %s%s", number, unit,
			 number_short(s.low, most, sizeof(most)), unit);
	else
		snprintf(text, sizeof(text), "%s%s", number, unit);
	write_text(p, PLOT_X + 4, p->y + 10, "quiet small edged", text);
}

static void write_values(const struct picture *p, const struct timeline_line *line)
{
	const struct row *row = line->row;
	char text[160], unit[64], number[32];

	describe_value_unit(row, text, sizeof(text));
	if (strlen(text) > VALUE_LETTERS && row->state == PERFCTR_VALUE_OK)
		snprintf(text, sizeof(text), "%s%s",
			 number_short(row->number, number, sizeof(number)), row->unit);
	cut(text, VALUE_LETTERS);
	write_text(p, VALUE_X, p->y + 15, "end", text);
	if (row->metric || !isfinite(row->rate)) {
		snprintf(text, sizeof(text), "mean");
	} else {
		describe_rate_unit(row, true, unit, sizeof(unit));
		snprintf(text, sizeof(text), "%s%s mean",
			 number_short(row->rate, number, sizeof(number)), unit);
	}
	write_text(p, VALUE_X, p->y + 30, "quiet small end", text);
}

static void write_line(struct picture *p, const struct timeline_line *line, int color)
{
	const struct row *row = line->row;
	const double indent = line->is_block ? 14 : 0;
	char name[ROW_EVENT_BYTES + 4], text[ROW_EVENT_BYTES + 4];

	snprintf(name, sizeof(name), "%s", row->counter);
	snprintf(text, sizeof(text), "%s",
		 line->is_block ? row->label :
		 row->metric	? row->metric->short_text :
		 row->desc	? row->desc->short_text :
				  row->label);
	fputs("<g><title>", p->out);
	markup_text(p->out, row->event);
	fputs("</title>", p->out);
	write_text(p, MARGIN + indent, p->y + 15, "name", columns_squeeze(name, 26));
	write_text(p, MARGIN + indent, p->y + 30, "quiet small", cut(text, 36));
	fputs("<rect", p->out);
	write_class(p, "card");
	fprintf(p->out, " x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"2\"/>", PLOT_X, p->y,
		PLOT_WIDTH, PLOT_HEIGHT);
	write_grid(p, p->y, p->y + PLOT_HEIGHT);
	write_curve(p, line, color);
	write_values(p, line);
	fputs("</g>\n", p->out);
	p->y += ROW_HEIGHT;
}

/* @group: of the line before; REPORT_GROUP_BYTES, updated */
static bool is_new_group(const struct timeline_line *line, char *group)
{
	char text[REPORT_GROUP_BYTES];
	const bool is_new = strcmp(group, report_group(line->row, text));

	strcpy(group, text);
	return is_new;
}

static void write_lines(struct picture *p)
{
	char group[REPORT_GROUP_BYTES] = "";
	int color = -1;

	for (size_t n = 0; n < p->report->plot_count; n++) {
		const struct timeline_line *line = p->report->plots[n];

		if (!is_drawn(p, line))
			continue;
		if (is_new_group(line, group)) {
			color = (color + 1) % COLORS;
			p->y += GROUP_HEIGHT - 8;
			fputs("<g", p->out);
			write_colored(p, 'f', color, "");
			fputc('>', p->out);
			write_text(p, MARGIN, p->y, "group", group);
			fputs("</g>\n", p->out);
			p->y += 8;
		}
		write_line(p, line, color);
	}
}

/* Counters that were zero or not measured have no line: list them. */
static void write_list(struct picture *p, const char *title, bool zeros)
{
	size_t length = strlen(title), found = 0;
	char text[4096];

	snprintf(text, sizeof(text), "%s", title);
	for (size_t n = 0; n < p->report->plot_count; n++) {
		const struct timeline_line *line = p->report->plots[n];

		if (line->is_block || is_drawn(p, line) || is_zero(line) != zeros)
			continue;
		found++;
		if (length < sizeof(text))
			length += (size_t)snprintf(text + length, sizeof(text) - length, " %s",
						   line->row->event);
	}
	if (!found)
		return;
	p->y += LINE_HEIGHT;
	write_text(p, MARGIN, p->y, "quiet small", cut(text, 170));
}

static double picture_height(const struct picture *p)
{
	const struct capture *capture = p->report->capture;
	char group[REPORT_GROUP_BYTES] = "";
	double height = 4 * LINE_HEIGHT + AXIS_HEIGHT + STRIP_HEIGHT + 80 +
			MARK_HEIGHT * p->report->file->marks.lanes;
	char text[512];

	for (size_t i = 0; i < capture->count; i++) {
		height += i ? LINE_HEIGHT + 2 : 0;
		for (size_t n = 0; describe_trouble(&capture->files[i], n, text, sizeof(text)); n++)
			height += LINE_HEIGHT;
	}
	for (size_t n = 0; n < p->report->plot_count; n++) {
		const struct timeline_line *line = p->report->plots[n];

		if (is_drawn(p, line))
			height += ROW_HEIGHT + (is_new_group(line, group) ? GROUP_HEIGHT : 0);
	}
	return height;
}

void report_svg(const struct report *report)
{
	const double span_ns = (double)(report->end_ns - report->start_ns);
	struct picture p = {
		.report = report,
		.out = report->out,
		.y = MARGIN - 8,
		.start_ns = report->start_ns,
		.ns_width = span_ns > 0 ? PLOT_WIDTH / span_ns : 0,
	};
	double height = picture_height(&p);

	fprintf(p.out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\" fill=\"#1a1f26\" font-size=\"13\" "
		"font-family=\"system-ui,'Segoe UI','DejaVu Sans',sans-serif\">\n<title>",
		WIDTH, height, WIDTH, height);
	markup_text(p.out, capture_file_name(report->file));
	fprintf(p.out,
		": counters over time</title>\n<!-- made by perfctr report %s -->\n"
		"<style>%s</style>\n<rect",
		PERFCTR_VERSION, style);
	write_class(&p, "page");
	fprintf(p.out, " width=\"%d\" height=\"%.0f\"/>\n", WIDTH, height);
	write_head(&p);
	if (span_ns > 0) {
		write_axis(&p);
		write_strip(&p);
		write_marks(&p);
	}
	if (span_ns > 0)
		write_lines(&p);
	else
		write_text(&p, MARGIN, p.y + LINE_HEIGHT, "", "the capture has no samples");
	write_list(&p, "zero throughout:", true);
	write_list(&p, "not measured:", false);
	if (!report->is_exact)
		write_text(
			&p, MARGIN, p.y + LINE_HEIGHT, "quiet small",
			"lines: mean of several samples; areas: from the smallest to the largest "
			"of them");
	fputs("</svg>\n", p.out);
}
