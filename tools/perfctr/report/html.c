// SPDX-License-Identifier: MIT
/*
 * perfctr report --html: one self-contained file. Tables are plain HTML; the page's script draws
 * the time lines from data in the file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/busiest.h"
#include "common/number.h"
#include "lib/embed.h"
#include "lib/json.h"
#include "lib/page.h"
#include "report.h"

EMBED(report_css, "tools/perfctr/report/page.css");
EMBED(report_js, "tools/perfctr/report/page.js");

/* --- head --------------------------------------------------------------------- */

static const char *title_of(const struct report *report)
{
	const char *command = capture_file_text(report->file, "command");

	return command ? command : capture_file_name(report->file);
}

static void write_facts(const struct report *report, const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	char text[256], number[32], other[32];

	fputs("<dl class=\"facts\">\n", report->out);
	page_fact(report->out, "device", describe_device(file, text, sizeof(text)));
	page_fact(report->out, "recorded", describe_date(file, text, sizeof(text)));
	snprintf(text, sizeof(text), "%.6f s", (double)span->elapsed_ns * 1e-9);
	page_fact(report->out, "time", text);
	page_fact(report->out, "samples", number_group(span->samples, number, sizeof(number)));
	if (file->period_ns) {
		snprintf(text, sizeof(text), "%s",
			 number_seconds((double)file->period_ns * 1e-9, number, sizeof(number)));
		page_fact(report->out, "period", text);
	}
	snprintf(text, sizeof(text), "%sB",
		 number_short((double)file->bytes, other, sizeof(other)));
	page_fact(report->out, "file", text);
	page_fact(report->out, "host", capture_file_text(file, "host"));
	page_fact(report->out, "kernel", capture_file_text(file, "kernel"));
	fputs("</dl>\n", report->out);
}

static void write_notes(const struct report *report, const struct timeline *t,
			const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	char text[512];
	size_t n;

	fputs("<ul class=\"notes\">\n", report->out);
	for (n = 0; describe_trouble(file, n, text, sizeof(text)); n++) {
		bool bad = span->lost_ns || span->missing_samples || file->damage;

		fprintf(report->out, "<li%s>", bad ? " class=\"bad\"" : "");
		markup_text(report->out, text);
		fputs("</li>\n", report->out);
	}
	if (!n)
		fputs("<li class=\"good\">complete: nothing merged, nothing lost</li>\n",
		      report->out);
	if (*busiest_text(file->totals, text)) {
		fputs("<li>busiest unit: ", report->out);
		markup_text(report->out, text);
		fputs("</li>\n", report->out);
	}
	if (t->left_out)
		fprintf(report->out,
			"<li>a page has a limit: these are the first %zu of %zu counters and "
			"metrics, sums before single blocks; report --html -e PATTERN chooses, "
			"report -A and export have all</li>\n",
			t->line_count, t->line_count + t->left_out);
	fputs("</ul>\n", report->out);
}

static void write_head(const struct report *report)
{
	FILE *out = report->out;
	char title[600];

	snprintf(title, sizeof(title), "%s \xe2\x80\x93 perfctr", title_of(report));
	page_begin(out, "report", title, embed_report_css);
	fputs("<header>\n", out);
	page_element(out, "h1", title_of(report));
	fputc('\n', out);
	for (size_t n = 0; n < report->capture->count; n++) {
		write_facts(report, &report->capture->files[n]);
		write_notes(report, &report->timelines[n], &report->capture->files[n]);
	}
	fputs("</header>\n", out);
}

static const char page_lines[] =
	"<noscript><p>The time lines need JavaScript; the tables below are complete "
	"without.</p></noscript>\n"
	"<main>\n<div class=\"bar\">\n"
	"<div class=\"tools\" role=\"toolbar\" aria-label=\"Time lines\">\n"
	"<input type=\"search\" id=\"search\" placeholder=\"search counters\" "
	"aria-label=\"Search counters\">\n"
	"<label><input type=\"checkbox\" id=\"blocks\"> each block</label>\n"
	"<label><input type=\"checkbox\" id=\"zero\"> zeros</label>\n"
	"<button type=\"button\" id=\"out\" title=\"zoom out (-)\" "
	"aria-label=\"Zoom out\">\xe2\x88\x92</button>\n"
	"<button type=\"button\" id=\"in\" title=\"zoom in (+)\" "
	"aria-label=\"Zoom in\">+</button>\n"
	"<button type=\"button\" id=\"all\" title=\"all of it (0)\">all</button>\n"
	"<button type=\"button\" id=\"clear\" title=\"no markers (Esc)\">no markers</button>\n"
	"<button type=\"button\" id=\"theme\">light/dark</button>\n"
	"<span id=\"readout\" role=\"status\"></span>\n</div>\n"
	"<div class=\"strip\"><div class=\"name\">merged, lost</div>\n<div class=\"time\">\n"
	"<div id=\"overview\" role=\"slider\" tabindex=\"0\" aria-label=\"Visible time\" "
	"aria-valuemin=\"0\" aria-valuemax=\"100\" aria-valuenow=\"0\">"
	"<div id=\"window\" class=\"hidden\"></div></div>\n"
	"<div id=\"axis\" aria-hidden=\"true\"></div>\n<div id=\"marks\"></div>\n</div>\n</div>\n"
	"</div>\n"
	"<div id=\"over\" aria-hidden=\"true\"></div>\n"
	"<section id=\"pinned\" class=\"hidden\">\n<div id=\"charts\"></div>\n"
	"<div class=\"scroll\"><table id=\"legend\"><thead><tr><th>pinned</th><th>unit</th>"
	"<th>at cursor</th><th>at A</th><th>at B</th><th>B \xe2\x88\x92 A</th><th>mean</th>"
	"<th>min</th><th>max</th><th id=\"range\">count</th></tr></thead>"
	"<tbody></tbody></table></div>\n"
	"</section>\n<div id=\"lines\"></div>\n"
	"<p id=\"none\" class=\"quiet hidden\">Nothing has that name, or all of it is zero.</p>\n"
	"</main>\n";

/* --- tables ------------------------------------------------------------------------ */

static void write_number(FILE *out, double value, const char *text)
{
	if (isfinite(value))
		fprintf(out, "<td class=\"n%s\" data-v=\"%.17g\">%s</td>",
			value == 0 ? " zero" : "", value, text);
	else
		fputs("<td class=\"n\" data-v=\"-1\"></td>", out);
}

static void write_row(const struct report *report, const struct timeline_line *line)
{
	const struct row *row = line->row;
	FILE *out = report->out;
	char text[64], notes[256];
	bool ok = row->state == PERFCTR_VALUE_OK;

	fputs("<tr><td title=\"", out);
	if (row->metric)
		markup_text(out, row->metric->long_text);
	else if (row->desc)
		markup_text(out, row->desc->long_text);
	fputs("\">", out);
	markup_text(out, row->event);
	fputs("</td>", out);
	describe_value(row, text, sizeof(text));
	if (ok && !row->metric && !row_is_level(row) && row->flags & PERFCTR_VALUE_INTEGER)
		fprintf(out, "<td class=\"n%s\" data-v=\"%" PRIu64 "\">%s</td>",
			row->value ? "" : " zero", row->value, text);
	else if (ok)
		write_number(out, row->number, text);
	else
		page_element(out, "td class=\"n\" data-v=\"-1\"", text);
	page_element(out, "td", row->unit);
	write_number(out, line->average, number_short(line->average, text, sizeof(text)));
	write_number(out, line->least, number_short(line->least, text, sizeof(text)));
	write_number(out, line->most, number_short(line->most, text, sizeof(text)));
	page_element(out, "td", describe_rate_unit(row, true, text, sizeof(text)));
	page_element(out, "td class=\"note\"", describe_notes(row, notes, sizeof(notes)));
	fputs("</tr>\n", out);
}

static void write_table(const struct report *report, const char *title, bool of_blocks)
{
	FILE *out = report->out;

	fprintf(out,
		"<details%s>\n<summary>%s</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
		"<th scope=\"col\">event</th><th scope=\"col\" class=\"n\">count</th>"
		"<th scope=\"col\">unit</th><th scope=\"col\" class=\"n\">mean</th>"
		"<th scope=\"col\" class=\"n\">min</th><th scope=\"col\" class=\"n\">max</th>"
		"<th scope=\"col\">unit</th><th scope=\"col\">notes</th></tr></thead>\n<tbody>\n",
		of_blocks ? "" : " open", title);
	for (size_t i = 0; i < report->capture->count; i++) {
		const struct timeline *t = &report->timelines[i];

		for (size_t n = 0; n < t->line_count; n++)
			if (t->lines[n].is_block == of_blocks &&
			    (!of_blocks || t->lines[n].row->info))
				write_row(report, &t->lines[n]);
	}
	fputs("</tbody></table></div>\n</details>\n", out);
}

/* --- data of the time lines ---------------------------------------------------------- */

/* Write a text as JSON inside a script element: nothing in it can end the script. */
static void write_quoted(FILE *out, const char *value)
{
	struct json_object *o = json_object_new_object(), *text;
	const char *bytes = "null";

	json_add_text(o, "", value);
	if (json_object_object_get_ex(o, "", &text) && text)
		bytes = json_object_to_json_string(text);
	for (; *bytes; bytes++) {
		if (*bytes == '<')
			fputs("\\u003c", out);
		else
			fputc(*bytes, out);
	}
	json_object_put(o);
}

static void write_text(FILE *out, const char *name, const char *value)
{
	fprintf(out, "\"%s\":", name);
	write_quoted(out, value);
	fputc(',', out);
}

/* With seven digits, or all. */
static void write_value(FILE *out, double value, bool in_full)
{
	char text[32];
	size_t length;

	if (!isfinite(value)) {
		fputs("null", out);
	} else if (in_full) {
		fprintf(out, "%.17g", value);
	} else {
		length = number_seven_digits(value, text, sizeof(text));
		fwrite(text, 1, length, out);
	}
}

/* Extremes in full: the page shows them with the digits of the table. */
static void write_values(FILE *out, const char *name, const struct timeline_line *line,
			 const double *values, size_t count)
{
	fprintf(out, ",\"%s\":[", name);
	for (size_t n = 0; n < count; n++) {
		bool is_extreme = values[n] == line->least || values[n] == line->most;

		if (n)
			fputc(',', out);
		write_value(out, values[n], is_extreme);
	}
	fputc(']', out);
}

/* Exact counts; a number above 2^53 would lose digits in a script, so it is text. */
static void write_counts(FILE *out, const struct timeline_line *line, size_t count)
{
	const uint64_t most = UINT64_C(1) << 53;

	fprintf(out, ",\"scale\":%.17g,\"isLevel\":%s,\"count\":[", line->row->scale,
		line->is_rate ? "false" : "true");
	for (size_t n = 0; n < count; n++) {
		const bool is_level = !line->is_rate;
		const char *quote = !is_level && line->count[n] > most ? "\"" : "";

		if (n)
			fputc(',', out);
		if (isnan(line->mean[n]) && !line->count[n])
			fputs("null", out);
		else if (is_level)
			fprintf(out, "%" PRId64, (int64_t)line->count[n]);
		else
			fprintf(out, "%s%" PRIu64 "%s", quote, line->count[n], quote);
	}
	fputc(']', out);
}

/* Text alternative of a plot, for screen readers. */
static void describe(const struct timeline_line *line, char *text, size_t size)
{
	char unit[64], mean[32], least[32], most[32];

	describe_rate_unit(line->row, true, unit, sizeof(unit));
	snprintf(text, size, "mean %s%s, from %s%s to %s%s",
		 number_short(line->average, mean, sizeof(mean)), unit,
		 number_short(line->least, least, sizeof(least)), unit,
		 number_short(line->most, most, sizeof(most)), unit);
}

static void write_line(const struct report *report, const struct timeline_line *line, bool first)
{
	const struct timeline *t = line->of;
	const struct row *row = line->row;
	char unit[64], text[512];
	FILE *out = report->out;

	fputs(first ? "\n{" : ",\n{", out);
	write_text(out, "event", row->event);
	write_text(out, "name", row->counter);
	write_text(out, "label", row->label);
	write_text(out, "group", report_group(row, text));
	write_text(out, "text",
		   row->metric ? row->metric->short_text :
		   row->desc   ? row->desc->short_text :
				 "");
	write_text(out, "unit", describe_rate_unit(row, true, unit, sizeof(unit)));
	write_text(out, "total", describe_value_unit(row, text, sizeof(text)));
	write_text(out, "totalUnit", row->unit);
	write_text(out, "note", describe_notes(row, text, sizeof(text)));
	describe(line, text, sizeof(text));
	write_text(out, "say", text);
	fprintf(out, "\"session\":%zu,\"block\":%d,\"average\":", (size_t)(t - report->timelines),
		line->is_block);
	write_value(out, line->average, true);
	fputs(",\"most\":", out);
	write_value(out, line->most, true);
	fputs(",\"top\":", out);
	write_value(out, report_top(t, line), false);
	write_values(out, "mean", line, line->mean, t->bin_count);
	/* in a bin of a single sample min and max equal the mean */
	if (!t->is_exact) {
		write_values(out, "min", line, line->min, t->bin_count);
		write_values(out, "max", line, line->max, t->bin_count);
	}
	if (!row->metric && row->state == PERFCTR_VALUE_OK &&
	    !(row->flags & PERFCTR_VALUE_ESTIMATED))
		write_counts(out, line, t->bin_count);
	fputc('}', out);
}

static void write_quality(const struct report *report, const struct timeline *t)
{
	const uint32_t usual = DRM_PERFCTR_SAMPLE_PERIODIC | DRM_PERFCTR_SAMPLE_MANUAL |
			       DRM_PERFCTR_SAMPLE_FINAL | DRM_PERFCTR_SAMPLE_IN_STREAM |
			       DRM_PERFCTR_SAMPLE_AUTOMATIC | DRM_PERFCTR_SAMPLE_STRETCHED |
			       DRM_PERFCTR_SAMPLE_MULTIPLEXED;
	char flags[200], text[320];
	bool first = true;

	fputs(",\"quality\":{", report->out);
	for (size_t n = 0; n < t->bin_count; n++) {
		const struct timeline_bin *bin = &t->bins[n];
		uint32_t odd = bin->flags & ~usual;

		if (!bin->merged_periods && !bin->lost_ns && !odd)
			continue;
		perfctr_flag_text(odd, flags, sizeof(flags));
		snprintf(text, sizeof(text), "%" PRIu64 " period%s merged%s%s%s",
			 bin->merged_periods, bin->merged_periods == 1 ? "" : "s",
			 bin->lost_ns ? ", counts lost" : "", odd ? ", " : "", flags);
		fprintf(report->out, "%s\"%zu\":[%" PRIu64 ",%" PRIu64 ",%d,\"%s\"]",
			first ? "" : ",", n, bin->merged_periods, bin->lost_ns, odd != 0, text);
		first = false;
	}
	fputc('}', report->out);
}

/* Times are those of the bins; a mark may precede the first one. */
static void write_marks(const struct report *report)
{
	const struct marks *marks = &report->file->marks;
	const uint64_t zero_ns = report->start_ns;
	FILE *out = report->out;

	fputs(",\n\"marks\":[", out);
	for (size_t n = 0, written = 0; n < marks->count; n++) {
		const struct mark *m = &marks->all[n];

		if (m->lane < 0)
			continue;
		fprintf(out, "%s\n[%" PRId64 ",%" PRId64 ",%d,\"%s\",", written++ ? "," : "",
			(int64_t)(m->start_ns - zero_ns), (int64_t)(m->end_ns - zero_ns), m->lane,
			mark_kind(m));
		write_quoted(out, m->name);
		fputc(']', out);
	}
	fputc(']', out);
}

/* Bins of a session: lines of a session have one value for each. */
static void write_session(const struct report *report, const struct timeline *t)
{
	FILE *out = report->out;

	fputs("{\"from\":[", out);
	for (size_t n = 0; n < t->bin_count; n++)
		fprintf(out, "%s%" PRIu64, n ? "," : "", t->bins[n].start_ns - report->start_ns);
	fputs("],\n\"to\":[", out);
	for (size_t n = 0; n < t->bin_count; n++)
		fprintf(out, "%s%" PRIu64, n ? "," : "", t->bins[n].end_ns - report->start_ns);
	fputc(']', out);
	write_quality(report, t);
	fputc('}', out);
}

static void write_data(const struct report *report)
{
	const struct capture *capture = report->capture;
	uint64_t samples = 0;
	FILE *out = report->out;

	for (size_t n = 0; n < capture->count; n++)
		samples += perfctr_totals_span(capture->files[n].totals)->samples;
	fprintf(out,
		"<script type=\"application/json\" id=\"data\">{\"exact\":%s,\"samples\":%" PRIu64
		",\n\"sessions\":[",
		report->is_exact ? "true" : "false", samples);
	for (size_t n = 0; n < capture->count; n++) {
		fputs(n ? "," : "", out);
		write_session(report, &report->timelines[n]);
	}
	fputc(']', out);
	write_marks(report);
	fputs(",\n\"lines\":[", out);
	for (size_t n = 0; n < report->plot_count; n++)
		write_line(report, report->plots[n], n == 0);
	fputs("]}</script>\n", out);
}

static const char page_foot[] =
	"<footer>\n<p>Tick counters to put them into one plot at the top. Drag over a plot to zoom "
	"into a piece of time, click to set the markers A and B at borders of samples, or on a "
	"mark of the program to set them to its ends: then counts are those between the markers. "
	"A double click or <kbd>Esc</kbd> resets both.</p>\n"
	"<p>Keys: <kbd>\xe2\x86\x90</kbd> <kbd>\xe2\x86\x92</kbd> or <kbd>shift</kbd> drag move, "
	"<kbd>+</kbd> <kbd>\xe2\x88\x92</kbd> or <kbd>ctrl</kbd> wheel zoom, <kbd>0</kbd> all, "
	"<kbd>,</kbd> <kbd>.</kbd> cursor to the previous and next sample, <kbd>a</kbd> "
	"<kbd>b</kbd> set a marker there, <kbd>/</kbd> search.</p>\n"
	"<p>Counts are exact sums of all samples. The lines are rates over each sample's time; "
	"metrics and levels are shown as they are. Grey: there is no value, as nobody measured or "
	"a ratio would be one of nothing. A mean is that over time, of the samples "
	"that measured it. ";

static const char page_exact[] = "Each step of a line is one sample.";

void report_html(const struct report *report)
{
	FILE *out = report->out;
	size_t bins = 0;

	for (size_t n = 0; n < report->capture->count; n++)
		bins += report->timelines[n].bin_count;
	write_head(report);
	fputs(page_lines, out);
	write_table(report, "Totals by type of block, and metrics", false);
	write_table(report, "Totals of each block", true);
	fputs(page_foot, out);
	if (report->is_exact)
		fputs(page_exact, out);
	else
		fprintf(out,
			"This capture has more samples than the page has points: each of the %zu "
			"points is the mean of some samples, and the area around the line reaches "
			"from the smallest to the largest sample, so no peak is hidden. perfctr "
			"export has every sample.",
			bins);
	fputs("</p>\n</footer>\n", out);
	write_data(report);
	fputs("<script>\n", out);
	fputs(embed_report_js, out);
	fputs("</script>\n</body>\n</html>\n", out);
}
