// SPDX-License-Identifier: MIT
/* The report as a self-contained page: tables, plots and the reasoning. */
#include <inttypes.h>
#include <string.h>

#include "base.h"
#include "common/number.h"
#include "lib/embed.h"
#include "lib/output.h"
#include "lib/page.h"
#include "build.h"
#include "report.h"

EMBED(validate_css, "tools/validate/page.css");

/* Repeated for each column group of a table. */
enum { COLUMNS = 3 };

static void text(FILE *out, const char *words)
{
	markup_text(out, words);
}

void report_page_begin(FILE *out, const char *command, const char *title)
{
	page_begin(out, command, title, embed_validate_css);
}

static void number_cell(FILE *out, const char *style, bool known, uint64_t value)
{
	char digits[40];

	fprintf(out, "<td class=\"n%s\">%s", style,
		known ? number_group(value, digits, sizeof(digits)) : "");
}

/* --- verdicts ------------------------------------------------------------------------ */

static void print_verdicts(const struct study *study, FILE *out)
{
	const struct campaign *c = study->analysis.campaign;

	fputs("<h3>Verdicts</h3><div class=\"scroll\"><table><tr><th>event<th>counter<th>verdict"
	      "<th>why<th>what it counts<th class=\"n\">rules left</tr>\n",
	      out);
	for (size_t e = 0; e < c->event_count; e++) {
		const struct outcome *o = &study->outcomes[e];

		fputs("<tr>", out);
		page_element(out, "td", c->events[e].name);
		page_element(out, "td class=\"quiet\"", c->events[e].counter);
		fprintf(out, "<td><span class=\"verdict %s\">%s</span>", verdict_names[o->verdict],
			verdict_names[o->verdict]);
		page_element(out, "td", o->reason);
		page_element(out, "td class=\"rule\"", o->definition ? o->definition : "");
		if (o->searched && !o->search_error && o->remaining == UINT64_MAX)
			fputs("<td class=\"n\">&gt; 2<sup>64</sup>", out);
		else
			number_cell(out, "", o->searched && !o->search_error, o->remaining);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
}

/*
 * --- tables as in the publication ----------------------------------------------------
 */

static void print_discrepancy(FILE *out, const struct table_row *row)
{
	const uint64_t value = row->cell.value, expected = row->expected;
	const bool off = row->has_expected && value != expected;
	char digits[40] = "";

	if (off)
		number_group(value > expected ? value - expected : expected - value, digits,
			     sizeof(digits));
	fprintf(out, "<td class=\"n%s\">%s%s", off ? " off" : "",
		!off		 ? "" :
		value > expected ? "+" :
				   "&minus;",
		digits);
}

static void print_cells(FILE *out, bool known, const struct table_row *row)
{
	char digits[40], max[40];

	if (!known) {
		fputs("<td class=\"n first\"><td class=\"n\"><td class=\"n\">", out);
		return;
	}
	number_cell(out, " first", row->has_expected, row->expected);
	if (row->slip)
		fprintf(out, "<sup title=\"the source printed %s\">*</sup>",
			number_group(row->cell.published, digits, sizeof(digits)));
	number_cell(out, "", true, row->cell.value);
	if (row->cell.min != row->cell.max)
		fprintf(out, "<br><span class=\"quiet\">%s&hellip;%s</span>",
			number_group(row->cell.min, digits, sizeof(digits)),
			number_group(row->cell.max, max, sizeof(max)));
	print_discrepancy(out, row);
}

/* points of a benchmark that were measured */
static size_t measured_points(const struct study *study, size_t benchmark, size_t *points,
			      size_t max)
{
	const struct analysis *a = &study->analysis;
	size_t count = 0;

	for (size_t p = 0; p < a->point_count && count < max; p++) {
		bool any = false;

		for (size_t e = 0; e < a->campaign->event_count && !any; e++)
			any = a->points[p].benchmark == benchmark && analysis_cell(a, p, e).count;
		if (any)
			points[count++] = p;
	}
	return count;
}

static void print_slips(const struct study *study, const size_t *points, size_t count, FILE *out)
{
	const struct analysis *a = &study->analysis;
	char printed[40], follows[40];
	struct table_row row;

	for (size_t e = 0; e < a->campaign->event_count; e++)
		for (size_t i = 0; i < count; i++)
			if (validate_row(study, points[i], e, &row) && row.slip)
				page_element(
					out, "p class=\"quiet\"",
					arena_printf(a->arena,
						     "* %s, %s: the source of the data expected "
						     "%s; what is documented gives %s for its "
						     "listing.",
						     a->campaign->events[e].name,
						     a->points[points[i]].name,
						     number_group(row.cell.published, printed,
								  sizeof(printed)),
						     number_group(row.expected, follows,
								  sizeof(follows))));
}

static void print_table(const struct study *study, size_t benchmark, FILE *out)
{
	const struct analysis *a = &study->analysis;
	const struct benchmark *b = &a->campaign->benchmarks[benchmark];
	size_t points[MAX_PARAMETER_VALUES], count;

	count = measured_points(study, benchmark, points, ARRAY_SIZE(points));
	if (!count || b->constructed)
		return;
	fputs("<h3>", out);
	text(out, b->name);
	fputs(" ", out);
	page_element(out, "span class=\"quiet\"", b->title);
	fputs("</h3><div class=\"scroll\"><table><tr><th>", out);
	for (size_t i = 0; i < count; i++) {
		const char *values = a->points[points[i]].name + strlen(b->name);

		fprintf(out, "<th class=\"group\" colspan=\"%d\">", COLUMNS);
		text(out, *values ? values : b->name);
	}
	fputs("</tr><tr><th>event", out);
	for (size_t i = 0; i < count; i++)
		fputs("<th class=\"n first\">expected<th class=\"n\">measured<th class=\"n\">"
		      "difference",
		      out);
	fputs("</tr>\n", out);
	for (size_t e = 0; e < a->campaign->event_count; e++) {
		struct table_row any = { 0 };

		for (size_t i = 0; i < count && !any.cell.count; i++)
			validate_row(study, points[i], e, &any);
		if (!any.cell.count)
			continue;
		fputs("<tr>", out);
		page_element(out, "td", a->campaign->events[e].name);
		for (size_t i = 0; i < count; i++) {
			struct table_row row;
			bool known = validate_row(study, points[i], e, &row);

			print_cells(out, known, &row);
		}
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
	print_slips(study, points, count, out);
}

static void print_plots(const struct study *study, size_t benchmark, FILE *out)
{
	const struct analysis *a = &study->analysis;
	long parameter = chart_parameter(&a->campaign->benchmarks[benchmark]);

	if (parameter < 0)
		return;
	fputs("<div class=\"plots\">\n", out);
	for (size_t e = 0; e < a->campaign->event_count; e++)
		chart_print(out, study, benchmark, (size_t)parameter, e);
	fputs("</div>\n", out);
}

/* --- reasoning ------------------------------------------------------------------------- */

static void print_chain(const struct report *report, const struct study *study, size_t e, FILE *out)
{
	const struct campaign_event *event = &study->analysis.campaign->events[e];
	const struct outcome *o = &study->outcomes[e];
	const char **steps;
	size_t count;

	if (o->verdict == VERDICT_SELECTED)
		return;
	steps = validate_chain(study, e, report->arena, &count);
	fprintf(out, "<details%s><summary><b>", o->verdict == VERDICT_TRUSTED ? "" : " open");
	text(out, event->name);
	fputs("</b> ", out);
	for (size_t i = 0; i < o->path_length; i++)
		fprintf(out, "%s<span class=\"verdict %s\">%s</span>", i ? " &rarr; " : "",
			verdict_names[o->path[i]], verdict_names[o->path[i]]);
	fputs("</summary>", out);
	if (*event->text)
		page_element(out, "p class=\"quiet\"", event->text);
	fputs("<ol>\n", out);
	for (size_t i = 0; i < count; i++)
		page_element(out, "li", steps[i]);
	fputs("</ol></details>\n", out);
}

static void print_relations(const struct study *study, FILE *out)
{
	const struct analysis *a = &study->analysis;

	if (!a->campaign->relation_count)
		return;
	fputs("<h3>Relations</h3><div class=\"scroll\"><table><tr><th>relation<th>left<th>right"
	      "<th>result</tr>\n",
	      out);
	for (size_t r = 0; r < a->campaign->relation_count; r++) {
		const struct relation *relation = &a->campaign->relations[r];
		const struct relation_result *result = &study->relations[r];

		fputs("<tr>", out);
		page_element(out, "td", relation->name);
		page_element(out, "td class=\"rule\"", relation->left);
		page_element(out, "td class=\"rule\"", relation->right);
		if (!result->points)
			fputs("<td class=\"quiet\">not measured", out);
		else if (!result->violated)
			fputs("<td><span class=\"verdict TRUSTED\">holds</span> at ", out);
		else
			fprintf(out,
				"<td><span class=\"verdict UNTRUSTED\">violated</span>: %" PRId64
				" against %" PRId64 ", at %zu point%s; measured at ",
				result->left, result->right, result->violated,
				plural(result->violated));
		if (result->points)
			text(out, result->measured_at);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
}

static void print_listing(FILE *out, const char *name, const char *listing, const char *note)
{
	fputs("<details><summary>", out);
	text(out, name);
	fputs(" ", out);
	page_element(out, "span class=\"quiet\"", note);
	fputs("</summary><pre>", out);
	/* line by line: markup_text() would turn line feeds into blanks */
	for (const char *line = listing; line && *line;) {
		int length = (int)strcspn(line, "\n");
		char copy[128];

		snprintf(copy, sizeof(copy), "%.*s", length, line);
		text(out, copy);
		fputc('\n', out);
		/* the last line may lack a line feed */
		line += length;
		line += *line == '\n';
	}
	fputs("</pre></details>\n", out);
}

static void print_made(const struct study *study, FILE *out)
{
	const struct analysis *a = &study->analysis;
	const struct proposal *next = &study->next;
	bool any = false;

	for (size_t b = 0; b < a->campaign->benchmark_count; b++) {
		const struct benchmark *benchmark = &a->campaign->benchmarks[b];
		bool waits = next->listing && !strcmp(benchmark->name, next->name);

		if (!benchmark->constructed)
			continue;
		if (!any)
			fputs("<h3>Constructed benchmarks</h3>\n", out);
		any = true;
		print_listing(out, benchmark->name, benchmark->listing,
			      waits ? "not measured: it would tell most" : "measured");
	}
	if (next->point >= 0 && !next->listing) {
		fputs("<p>Not measured, but it would tell most: ", out);
		text(out, next->name);
		fputs("</p>\n", out);
	}
}

static void print_requirements(const struct report *report, const struct study *study, FILE *out)
{
	const char *id;

	for (size_t n = 0; (id = report_requirement(study, n)); n++) {
		fputs(n ? "<tr>" : "<h3>Requirements</h3>\n<table><tr>", out);
		page_element(out, "td", id);
		page_element(out, "td", report_required(report, study, id));
		fputs("</tr>\n", out);
		if (!report_requirement(study, n + 1))
			fputs("</table>\n", out);
	}
}

/* --- the page --------------------------------------------------------------------------- */

static void print_study(const struct report *report, const struct study *study, FILE *out)
{
	const struct analysis *a = &study->analysis;
	const struct measured *m = &a->measured;

	page_element(out, "h2", a->campaign->title);
	page_element(out, "p class=\"quiet\"", a->campaign->text);
	fputs("\n<dl>", out);
	page_fact(out, "campaign", a->campaign->name);
	page_fact(out, "measured", m->source);
	for (size_t i = 0; i < m->configuration_count; i++)
		page_fact(out, m->configuration[2 * i], m->configuration[2 * i + 1]);
	if (a->dropped)
		page_fact(out, "left out",
			  arena_printf(report->arena,
				       "%zu readings, the anchor %s of their run was off",
				       a->dropped, a->campaign->anchor));
	fputs("</dl>\n", out);
	print_verdicts(study, out);
	print_requirements(report, study, out);
	for (size_t b = 0; b < a->campaign->benchmark_count; b++) {
		print_table(study, b, out);
		print_plots(study, b, out);
	}
	print_relations(study, out);
	fputs("<h3>Reasoning</h3>\n", out);
	for (size_t e = 0; e < a->campaign->event_count; e++)
		print_chain(report, study, e, out);
	print_made(study, out);
}

static void print_head(const struct report *report, FILE *out)
{
	size_t counts[VERDICTS] = { 0 };

	report_page_begin(out, "validate", "perfctr validate");
	fputs("<h1>Which counters can be trusted</h1>\n<dl>", out);
	page_fact(out, "tool", "perfctr validate " PERFCTR_VERSION);
	page_fact(out, "build", build_id(report->arena));
	page_fact(out, "written", report->time);
	page_fact(out, "on",
		  arena_printf(report->arena, "%s, %s", report->on.release, report->on.machine));
	fputs("</dl>\n<p>", out);
	for (size_t i = 0; i < report->count; i++) {
		const struct campaign *c = report->studies[i].analysis.campaign;

		for (size_t e = 0; e < c->event_count; e++)
			counts[report->studies[i].outcomes[e].verdict] +=
				!event_is_stepped(&c->events[e]);
	}
	for (size_t v = 0; v < VERDICTS; v++)
		if (counts[v])
			fprintf(out, "<span class=\"verdict %s\">%s</span> %zu &emsp;",
				verdict_names[v], verdict_names[v], counts[v]);
	fputs("</p>\n", out);
}

void validate_html(const struct report *report, FILE *out)
{
	print_head(report, out);
	for (size_t i = 0; i < report->count; i++)
		print_study(report, &report->studies[i], out);
	for (size_t i = 0; i < report->skipped_count; i++) {
		page_element(out, "p class=\"quiet\"",
			     arena_printf(report->arena, "Campaign %s was not run: %s",
					  report->skipped[2 * i], report->skipped[2 * i + 1]));
	}
	fputs("</body></html>\n", out);
}
