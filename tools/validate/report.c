// SPDX-License-Identifier: MIT
/* Common parts of all reports. */
#include "report.h"

#include "common/number.h"

bool validate_usable(const struct outcome *o)
{
	return o->verdict == VERDICT_TRUSTED || o->verdict == VERDICT_EXPLAINED;
}

bool validate_row(const struct study *study, size_t point, size_t event, struct table_row *row)
{
	const struct analysis *a = &study->analysis;
	const struct campaign_event *of = &a->campaign->events[event];
	const struct outcome *o = &study->outcomes[event];
	const struct point *at = &a->points[point];

	*row = (struct table_row){ .cell = analysis_cell(a, point, event) };
	if (!row->cell.count)
		return false;
	row->has_expected =
		of->documented.given &&
		!analysis_expected(a, at, &of->documented, row->cell.units, &row->expected);
	row->has_refined = o->verdict == VERDICT_EXPLAINED && o->found.given &&
			   !analysis_expected(a, at, &o->found, row->cell.units, &row->refined);
	row->slip = row->has_expected && row->cell.has_published &&
		    row->cell.published != row->expected;
	return true;
}

struct chain {
	struct arena *arena;
	const char **steps;
	size_t count;
};

static void add(struct chain *c, const char *text)
{
	c->steps = arena_grow(c->arena, c->steps, c->count, sizeof(*c->steps));
	c->steps[c->count++] = text;
}

static const char *count_text(struct arena *arena, uint64_t count)
{
	char text[40];

	if (count == UINT64_MAX)
		return "more than 2^64";
	return arena_printf(arena, "%s", number_group(count, text, sizeof(text)));
}

static void add_comparison(struct chain *c, const struct study *study, const struct outcome *o,
			   const struct campaign_event *event)
{
	const struct analysis *a = &study->analysis;

	if (event->documented.given)
		add(c, arena_printf(c->arena, "%s: %s%s%s", campaign_word(event),
				    rule_text(c->arena, &event->documented),
				    *o->absent ? "; no benchmark had: " : "", o->absent));
	if (o->off)
		add(c, arena_printf(c->arena,
				    "%zu of %zu points are off; the worst is %s: expected %s, "
				    "measured %s",
				    o->off, o->points, a->points[o->worst].name,
				    count_text(c->arena, o->worst_expected),
				    count_text(c->arena, o->worst_value)));
	else if (event->documented.given && o->points)
		add(c, arena_printf(c->arena, "all %zu point%s are as %s", o->points,
				    o->points == 1 ? "" : "s", campaign_word(event)));
	if (*o->left_out)
		add(c, o->left_out);
	if (o->spread)
		add(c, arena_printf(c->arena, "readings of the same work differ by up to %s%s",
				    count_text(c->arena, o->spread),
				    o->repeatable ? ", which is accepted" : ""));
	if (*o->violated)
		add(c, arena_printf(c->arena, "violated: %s", o->violated));
	if (*o->violated_by_others)
		add(c,
		    arena_printf(c->arena, "violated by other events: %s", o->violated_by_others));
}

static void add_ideas(struct chain *c, const struct study *study, const struct outcome *o,
		      const struct campaign_event *event, size_t number)
{
	const struct analysis *a = &study->analysis;

	for (size_t i = 0; i < event->idea_count && o->ideas; i++) {
		const struct idea_result *result = &o->ideas[i];
		struct cell cell = analysis_cell(a, result->point, number);

		if (result->fits)
			add(c, arena_printf(c->arena, "hypothesis '%s' agrees with all points",
					    event->ideas[i].name));
		else
			add(c, arena_printf(c->arena,
					    "hypothesis '%s' is rejected at %s: it gives %s, "
					    "measured %s",
					    event->ideas[i].name, a->points[result->point].name,
					    count_text(c->arena, result->predicted),
					    count_text(c->arena, cell.value)));
	}
}

static void add_search(struct chain *c, const struct outcome *o)
{
	if (o->search_error) {
		add(c, arena_printf(c->arena, "not searched: %s", o->search_error));
		return;
	}
	if (!o->searched)
		return;
	add(c, arena_printf(c->arena, "searched: %s", o->bounds));
	if (*o->assumed)
		add(c, arena_printf(c->arena, "not searched, taken not to count: %s", o->assumed));
	for (size_t i = 0; i < o->round_count; i++) {
		const struct round *round = &o->rounds[i];

		add(c, arena_printf(c->arena, "after %s (%zu point%s): %s rule%s%s%s", round->after,
				    round->points, round->points == 1 ? "" : "s",
				    count_text(c->arena, round->remaining),
				    round->remaining == 1 ? " fits" : "s fit",
				    *round->open ? "; open: " : "", round->open));
	}
	if (o->pruned_by)
		add(c, arena_printf(c->arena, "of %s rules the relation %s leaves %s",
				    count_text(c->arena, o->before), o->pruned_by,
				    count_text(c->arena, o->remaining)));
	if (o->together_count)
		add(c, together_text(c->arena, o->together, o->together_count));
	if (*o->untested)
		add(c, arena_printf(c->arena, "searched, but no benchmark had: %s", o->untested));
	if (!o->remaining)
		return;
	add(c, arena_printf(c->arena, "proven to count: %s", o->proven));
	if (*o->excluded)
		add(c, arena_printf(c->arena, "proven not to count: %s", o->excluded));
}

const char *carried_text(const struct carried *c, struct arena *arena)
{
	return arena_printf(arena, "carried over from %s (%s there): %s: %s: %s", c->campaign,
			    c->verdict, c->definition, carried_names[c->result], c->text);
}

const char **validate_chain(const struct study *study, size_t event, struct arena *arena,
			    size_t *count)
{
	const struct analysis *a = &study->analysis;
	const struct campaign_event *of = &a->campaign->events[event];
	const struct outcome *o = &study->outcomes[event];
	const struct proposal *next = &study->next;
	struct chain c = { .arena = arena };

	add_comparison(&c, study, o, of);
	add_ideas(&c, study, o, of, event);
	if (study->carried && study->carried[event].campaign)
		add(&c, carried_text(&study->carried[event], arena));
	add_search(&c, o);
	for (size_t i = 0; i < o->fault_count; i++)
		add(&c, arena_printf(arena, "known fault that agrees: %s", o->faults[i].text));
	for (size_t i = 0; next->point >= 0 && i < next->split_count; i++) {
		const struct split *split = &next->splits[i];

		if (split->event == event && split->groups > 1)
			add(&c,
			    arena_printf(arena,
					 "next: %s would tell %zu groups of %zu rules apart, "
					 "the largest of %zu",
					 next->name, split->groups, split->rules, split->largest));
	}
	add(&c, arena_printf(arena, "%s: %s", verdict_names[o->verdict], o->reason));
	*count = c.count;
	return c.steps;
}

static bool has_requirement(const struct campaign_event *event, const char *id)
{
	for (const char **ids = event->requirements; ids && *ids; ids++)
		if (!strcmp(*ids, id))
			return true;
	return false;
}

const char *report_requirement(const struct study *study, size_t n)
{
	const struct campaign *c = study->analysis.campaign;

	for (size_t e = 0; e < c->event_count; e++) {
		const char **ids = c->events[e].requirements;

		for (size_t i = 0; ids && ids[i]; i++) {
			bool again = false;

			for (size_t f = 0; f < e && !again; f++)
				again = has_requirement(&c->events[f], ids[i]);
			if (!again && !n--)
				return ids[i];
		}
	}
	return NULL;
}

const char *report_required(const struct report *report, const struct study *study, const char *id)
{
	const struct campaign *c = study->analysis.campaign;
	const char *text = "";

	for (size_t e = 0; e < c->event_count; e++)
		if (has_requirement(&c->events[e], id))
			text = arena_printf(report->arena, "%s%s%s %s", text, *text ? ", " : "",
					    c->events[e].name,
					    verdict_names[study->outcomes[e].verdict]);
	return text;
}
