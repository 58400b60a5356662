// SPDX-License-Identifier: MIT
/* The report for terminals. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/number.h"
#include "report.h"

/* constructed benchmarks that are shown like the campaign's own */
enum { FEW_CONSTRUCTED = 4 };

void report_time(char *text, size_t size)
{
	const time_t now = time(NULL);
	struct tm utc;

	*text = '\0';
	if (gmtime_r(&now, &utc))
		strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void report_print_configuration(FILE *out, const struct measured *measured)
{
	for (size_t n = 0; n < measured->configuration_count; n++)
		fprintf(out, ", %s %s", measured->configuration[2 * n],
			measured->configuration[2 * n + 1]);
}

static const char *signed_group(uint64_t from, uint64_t to, char *text, size_t size)
{
	char digits[40];

	if (from == to)
		return "0";
	number_group(to > from ? to - from : from - to, digits, sizeof(digits));
	snprintf(text, size, "%c%s", to > from ? '+' : '-', digits);
	return text;
}

static void print_row(FILE *out, const struct campaign_event *event, const struct table_row *row)
{
	char expected[40] = "-", measured[40], refined[40] = "", apart[48] = "";

	number_group(row->cell.value, measured, sizeof(measured));
	if (row->has_expected)
		number_group(row->expected, expected, sizeof(expected));
	if (row->has_refined)
		number_group(row->refined, refined, sizeof(refined));
	fprintf(out, "  %-22s %15s %15s %15s %15s", event->name, expected, measured,
		row->has_expected ?
			signed_group(row->expected, row->cell.value, apart, sizeof(apart)) :
			"",
		refined);
	if (row->cell.max != row->cell.min)
		fprintf(out, "  %s..%s", number_group(row->cell.min, measured, sizeof(measured)),
			number_group(row->cell.max, expected, sizeof(expected)));
	if (row->slip)
		fprintf(out, "  the source expected %s: not what the listing gives",
			number_group(row->cell.published, expected, sizeof(expected)));
	fputc('\n', out);
}

static void print_point(const struct study *study, size_t point, FILE *out)
{
	const struct analysis *a = &study->analysis;
	bool any = false;

	for (size_t e = 0; e < a->campaign->event_count; e++) {
		struct table_row row;

		if (!validate_row(study, point, e, &row))
			continue;
		if (!any)
			fprintf(out, "\n  %-22s %15s %15s %15s %15s\n", a->points[point].name,
				"expected", "measured", "difference", "refined");
		any = true;
		print_row(out, &a->campaign->events[e], &row);
	}
}

static void print_tables(const struct study *study, FILE *out)
{
	const struct analysis *a = &study->analysis;
	size_t constructed = 0, made = 0;
	bool few;

	for (size_t p = 0; p < a->point_count; p++)
		made += a->campaign->benchmarks[a->points[p].benchmark].constructed;
	few = made <= FEW_CONSTRUCTED;
	for (size_t p = 0; p < a->point_count; p++) {
		if (!few && a->campaign->benchmarks[a->points[p].benchmark].constructed)
			constructed += !a->points[p].reserve;
		else
			print_point(study, p, out);
	}
	if (constructed)
		fprintf(out, "\n  %zu constructed benchmark%s beside these\n", constructed,
			constructed == 1 ? "" : "s");
	if (a->dropped)
		fprintf(out, "\n  %zu readings left out: the anchor %s of their run was off\n",
			a->dropped, a->campaign->anchor);
}

static void print_verdicts(const struct report *report, const struct study *study, FILE *out)
{
	const struct campaign *c = study->analysis.campaign;

	fprintf(out, "\n  %-22s %-12s %s\n", "event", "verdict", "why; what it counts");
	for (size_t e = 0; e < c->event_count; e++) {
		const struct outcome *o = &study->outcomes[e];

		fprintf(out, "  %-22s %-12s %s\n", c->events[e].name, verdict_names[o->verdict],
			o->reason);
		if (o->definition && o->verdict != VERDICT_TRUSTED)
			fprintf(out, "  %-22s %-12s = %s\n", "", "", o->definition);
		if (earlier_verdict(study, e))
			fprintf(out, "  %-22s %-12s was %s (%s)\n", "", "",
				earlier_verdict(study, e), study->earlier_tool);
		if (c->events[e].accept.absolute || c->events[e].accept.relative_ppm)
			fprintf(out,
				"  %-22s %-12s accepted: differences of %" PRIu64 " or %" PRIu64
				" ppm\n",
				"", "", c->events[e].accept.absolute,
				c->events[e].accept.relative_ppm);
		if (study->carried && study->carried[e].campaign)
			fprintf(out, "  %-22s %-12s %s\n", "", "",
				carried_text(&study->carried[e], report->arena));
	}
}

static void print_requirements(const struct report *report, const struct study *study, FILE *out)
{
	const char *id;

	for (size_t n = 0; (id = report_requirement(study, n)); n++)
		fprintf(out, "%s  %-22s %s\n", n ? "" : "\n  requirements\n", id,
			report_required(report, study, id));
}

static void print_strangers(const struct study *study, FILE *out)
{
	if (study->analysis.strangers)
		fprintf(out, "\n  untested, as the campaign has no such event: %s\n",
			study->analysis.strangers);
}

static void print_relations(const struct study *study, FILE *out)
{
	const struct analysis *a = &study->analysis;

	if (!a->campaign->relation_count)
		return;
	fputs("\n  relations\n", out);
	for (size_t r = 0; r < a->campaign->relation_count; r++) {
		const struct relation_result *result = &study->relations[r];

		fprintf(out, "  %-42s ", a->campaign->relations[r].name);
		if (!result->points)
			fputs("not measured\n", out);
		else if (!result->violated)
			fprintf(out, "holds at %s\n", result->measured_at);
		else
			fprintf(out,
				"violated at %zu point%s; measured at %s; %s: %" PRId64
				" against %" PRId64 "\n",
				result->violated, plural(result->violated), result->measured_at,
				a->points[result->worst].name, result->left, result->right);
	}
}

static void print_chains(const struct report *report, const struct study *study, FILE *out)
{
	const struct campaign *c = study->analysis.campaign;

	for (size_t e = 0; e < c->event_count; e++) {
		const struct outcome *o = &study->outcomes[e];
		const char **steps;
		size_t count;

		if (o->verdict == VERDICT_SELECTED ||
		    (o->verdict == VERDICT_TRUSTED && !report->verbose))
			continue;
		steps = validate_chain(study, e, report->arena, &count);
		fprintf(out, "\n  %s:", c->events[e].name);
		for (size_t i = 0; i < o->path_length; i++)
			fprintf(out, "%s %s", i ? " ->" : "", verdict_names[o->path[i]]);
		fputc('\n', out);
		for (size_t i = 0; i < count; i++)
			fprintf(out, "  %2zu. %s\n", i + 1, steps[i]);
	}
}

/* "EXIT" twice in a row becomes a line, with how often it stands there */
static void print_listing(const char *line, FILE *out)
{
	while (*line) {
		const size_t length = strcspn(line, "\n");
		size_t times = 0;

		for (const char *same = line; !strncmp(same, line, length + 1) && *same;
		     same += length + 1)
			times++;
		fprintf(out, "    %.*s", (int)length, line);
		fprintf(out, times > 1 ? "\t# %zu times\n" : "\n", times);
		line += times * (length + 1);
	}
}

static bool is_wanting(const struct outcome *o)
{
	return verdict_is_unconfirmed(o) ||
	       (o->verdict == VERDICT_QUARANTINED && verdict_is_open(o));
}

static void print_next(const struct report *report, const struct study *study, FILE *out)
{
	const struct campaign *c = study->analysis.campaign;
	const struct proposal *next = &study->next;
	size_t wanting = 0;

	for (size_t e = 0; next->point < 0 && e < c->event_count; e++)
		if (is_wanting(&study->outcomes[e]))
			fprintf(out, "%s%s", wanting++ ? ", " : "\n  a benchmark is missing for ",
				c->events[e].name);
	if (wanting)
		fputs(": neither the campaign nor a listing that can be constructed here helps; "
		      "write\n  one in which what came together comes in other amounts\n",
		      out);
	if (next->point < 0)
		return;
	fprintf(out, "\n  next benchmark: %s\n", next->name);
	if (next->listing)
		print_listing(next->listing, out);
	fputs("  its rows to fill in (--propose FILE writes them behind the readings, and the "
	      "listing):\n",
	      out);
	propose_rows(study, report->arena, "    ", out);
}

/* "own: 20 counters: 18 TRUSTED, 2 not measured; 3 of 3 relations hold" */
static void print_summary(const struct study *study, FILE *out)
{
	static const enum verdict order[VERDICTS] = { VERDICT_TRUSTED,	   VERDICT_EXPLAINED,
						      VERDICT_QUARANTINED, VERDICT_UNTRUSTED,
						      VERDICT_MEASURED,	   VERDICT_SELECTED };
	const struct campaign *c = study->analysis.campaign;
	size_t counts[2][VERDICTS] = { 0 }, all[2] = { 0 }, measured = 0, hold = 0;

	for (size_t e = 0; e < c->event_count; e++) {
		const bool stepped = event_is_stepped(&c->events[e]);

		counts[stepped][study->outcomes[e].verdict]++;
		all[stepped]++;
	}
	fprintf(out, "%s: %zu counter%s", c->name, all[0], plural(all[0]));
	for (size_t stepped = 0; stepped < 2; stepped++) {
		size_t printed = 0;

		if (stepped && all[1])
			fputs("; single steps, which are no counter", out);
		for (size_t i = 0; i < VERDICTS; i++)
			if (counts[stepped][order[i]])
				fprintf(out, "%s%zu %s", printed++ ? ", " : ": ",
					counts[stepped][order[i]],
					order[i] == VERDICT_SELECTED ? "not measured" :
								       verdict_names[order[i]]);
	}
	for (size_t r = 0; r < c->relation_count; r++) {
		measured += study->relations[r].points > 0;
		hold += study->relations[r].points && !study->relations[r].violated;
	}
	if (measured)
		fprintf(out, "; %zu of %zu relation%s hold%s", hold, measured, plural(measured),
			hold == 1 ? "s" : "");
	fputc('\n', out);
}

static void print_skipped(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->skipped_count; i++)
		fprintf(out, "%s%s: not run: %s\n", i || !report->count ? "" : "\n",
			report->skipped[2 * i], report->skipped[2 * i + 1]);
}

void validate_summary(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->count; i++)
		print_summary(&report->studies[i], out);
	print_skipped(report, out);
}

void validate_text(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct study *study = &report->studies[i];
		const struct measured *m = &study->analysis.measured;

		fprintf(out, "%s%s: %s\n", i ? "\n" : "", study->analysis.campaign->name,
			study->analysis.campaign->title);
		if (m->waiting)
			fprintf(out, "  %zu row%s without a value yet\n", m->waiting,
				plural(m->waiting));
		if (m->source)
			fprintf(out, "  measured: %s", m->source);
		report_print_configuration(out, m);
		if (m->source)
			fputc('\n', out);
		print_tables(study, out);
		print_verdicts(report, study, out);
		print_requirements(report, study, out);
		print_strangers(study, out);
		print_relations(study, out);
		print_chains(report, study, out);
		print_next(report, study, out);
		fputc('\n', out);
		print_summary(study, out);
	}
	print_skipped(report, out);
}
