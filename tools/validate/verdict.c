// SPDX-License-Identifier: MIT
/* Judges each event: what agrees, which fault or rule explains it, which step follows. */
#include "verdict.h"

#include <inttypes.h>
#include <string.h>

#include "common/number.h"

const char *const verdict_names[VERDICTS] = {
	[VERDICT_SELECTED] = "SELECTED",   [VERDICT_MEASURED] = "MEASURED",
	[VERDICT_TRUSTED] = "TRUSTED",	   [VERDICT_QUARANTINED] = "QUARANTINED",
	[VERDICT_EXPLAINED] = "EXPLAINED", [VERDICT_UNTRUSTED] = "UNTRUSTED",
};

/* --- relations ----------------------------------------------------------------------- */

static uint64_t apart(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

enum reading_of { MEDIAN, LEAST, MOST, READINGS_OF };

/* The campaign's events at a point, for formulas, which use the median or an extreme of each. */
static void fill_cells(const struct analysis *a, size_t point, enum reading_of of,
		       struct cell *cells)
{
	for (size_t e = 0; e < a->campaign->event_count; e++) {
		cells[e] = analysis_cell(a, point, e);
		if (of != MEDIAN)
			cells[e].value = of == LEAST ? cells[e].min : cells[e].max;
	}
}

/* Both sides of a relation. Return: as of analysis_formula(). */
static int sides_of(const struct analysis *a, const struct relation *relation, size_t point,
		    const struct cell *cells, int64_t *left, int64_t *right)
{
	const int missing = analysis_formula(a, relation->left, &a->points[point], cells, left);

	return missing ? missing :
			 analysis_formula(a, relation->right, &a->points[point], cells, right);
}

static bool is_satisfied(const struct relation *relation, int64_t left, int64_t right)
{
	return apart(left, right) <=
	       acceptance_limit(&relation->accept, right < 0 ? 0 : (uint64_t)right);
}

/* Check a relation at a point. Return: 0; -1 with a failure. */
static int check_relation(const struct analysis *a, const struct relation *relation, size_t point,
			  struct cell *cells, struct relation_result *result)
{
	bool violated = false, computed = false;

	for (enum reading_of of = MEDIAN; of < READINGS_OF; of++) {
		int64_t left = 0, right = 0;
		int missing;

		fill_cells(a, point, of, cells);
		missing = sides_of(a, relation, point, cells, &left, &right);
		if (missing < 0)
			return -1;
		if (missing)
			return 0;
		if ((!result->points && !computed) ||
		    apart(left, right) > apart(result->left, result->right)) {
			result->worst = point;
			result->left = left;
			result->right = right;
		}
		computed = true;
		violated |= !is_satisfied(relation, left, right);
	}
	result->points++;
	result->violated += violated;
	return 0;
}

static bool relation_has(const struct analysis *a, const struct relation *relation, size_t event)
{
	const char *name = a->campaign->events[event].name;

	return analysis_formula_has(a, relation->left, name) ||
	       analysis_formula_has(a, relation->right, name);
}

/* "2 points", "2 of 5 points (not measured: a, b, c)"; the others are from analysis_left_out() */
static const char *points_text(const struct analysis *a, size_t points, const char *left_out,
			       size_t count)
{
	if (!count)
		return arena_printf(a->arena, "%zu point%s", points, plural(points));
	return arena_printf(a->arena, "%zu of %zu points (%s)", points, points + count, left_out);
}

int verdict_relations(const struct analysis *a, struct relation_result *results)
{
	const struct campaign *c = a->campaign;
	struct cell *cells = arena_array(a->arena, c->event_count, sizeof(*cells));
	bool *events = arena_array(a->arena, c->event_count, sizeof(*events));
	const char *left_out;
	size_t count;

	memset(results, 0, c->relation_count * sizeof(*results));
	for (size_t r = 0; r < c->relation_count; r++) {
		for (size_t p = 0; p < a->point_count; p++)
			if (check_relation(a, &c->relations[r], p, cells, &results[r]) < 0)
				return -1;
		for (size_t e = 0; e < c->event_count; e++)
			events[e] = relation_has(a, &c->relations[r], e);
		left_out = analysis_left_out(a, events, &count);
		results[r].measured_at = points_text(a, results[r].points, left_out, count);
	}
	return 0;
}

/* Whether an event differs from the documentation, which a guess is not, at a point. */
static bool is_off_at(const struct analysis *a, size_t number, size_t point, uint64_t *expected)
{
	const struct campaign_event *event = &a->campaign->events[number];
	const struct cell cell = analysis_cell(a, point, number);

	return event->documented.given && !event->is_guess && cell.count &&
	       !analysis_expected(a, &a->points[point], &event->documented, cell.units, expected) &&
	       (!analysis_accepts(event, *expected, cell.min) ||
		!analysis_accepts(event, *expected, cell.max));
}

static bool is_off(const struct analysis *a, size_t number)
{
	uint64_t expected;

	for (size_t p = 0; p < a->point_count; p++)
		if (is_off_at(a, number, p, &expected))
			return true;
	return false;
}

/*
 * Whether a relation is violated at a point, and would be even if the other events that are off
 * there had counted what is documented.
 */
static bool is_blamed_at(const struct analysis *a, size_t event, const struct relation *relation,
			 size_t point, struct cell *cells)
{
	struct relation_result measured = { 0 };

	/* a failure was reported by verdict_relations() */
	check_relation(a, relation, point, cells, &measured);
	for (enum reading_of of = MEDIAN; measured.violated && of < READINGS_OF; of++) {
		int64_t left, right;
		uint64_t expected;
		int missing;

		fill_cells(a, point, of, cells);
		for (size_t e = 0; e < a->campaign->event_count; e++)
			if (e != event && is_off_at(a, e, point, &expected))
				cells[e].value = expected;
		missing = sides_of(a, relation, point, cells, &left, &right);
		/* a formula without a value does not hold */
		a->failure->text[0] = '\0';
		if (missing || !is_satisfied(relation, left, right))
			return true;
	}
	return false;
}

static bool is_blamed(const struct analysis *a, size_t event, const struct relation *relation,
		      struct cell *cells)
{
	for (size_t p = 0; p < a->point_count; p++)
		if (is_blamed_at(a, event, relation, p, cells))
			return true;
	return false;
}

/* The violated relations of an event: those that it may have caused, and those of others. */
static void violated_relations(const struct analysis *a, size_t event,
			       const struct relation_result *results, struct outcome *o)
{
	const struct campaign *c = a->campaign;
	struct cell *cells = arena_array(a->arena, c->event_count, sizeof(*cells));

	for (size_t r = 0; r < c->relation_count; r++) {
		const char **text;

		if (!results[r].violated || !relation_has(a, &c->relations[r], event))
			continue;
		text = is_blamed(a, event, &c->relations[r], cells) ? &o->violated :
								      &o->violated_by_others;
		*text = arena_printf(a->arena, "%s%s%s", *text, **text ? ", " : "",
				     c->relations[r].name);
	}
}

/* --- comparing ------------------------------------------------------------------------ */

static void step(struct outcome *o, enum verdict verdict)
{
	o->verdict = verdict;
	if (o->path_length < MAX_PATH)
		o->path[o->path_length++] = verdict;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* the reading that differs most from the documentation, over all points */
static void compare(const struct analysis *a, size_t number, struct outcome *o)
{
	const struct campaign_event *event = &a->campaign->events[number];

	o->repeatable = true;
	for (size_t p = 0; p < a->point_count; p++) {
		struct cell cell = analysis_cell(a, p, number);
		uint64_t expected, value;

		if (!cell.count)
			continue;
		o->points++;
		if (cell.max - cell.min > o->spread)
			o->spread = cell.max - cell.min;
		if (cell.max - cell.min > 2 * acceptance_limit(&event->accept, cell.value))
			o->repeatable = false;
		if (!event->documented.given ||
		    analysis_expected(a, &a->points[p], &event->documented, cell.units, &expected))
			continue;
		o->exercised += expected > 0;
		value = distance(cell.max, expected) > distance(cell.min, expected) ? cell.max :
										      cell.min;
		o->off += !analysis_accepts(event, expected, value);
		if (o->points == 1 ||
		    distance(value, expected) > distance(o->worst_value, o->worst_expected)) {
			o->worst = p;
			o->worst_expected = expected;
			o->worst_value = value;
		}
	}
}

static void try_ideas(const struct analysis *a, size_t number, struct outcome *o)
{
	const struct campaign_event *event = &a->campaign->events[number];

	o->ideas = arena_array(a->arena, event->idea_count, sizeof(*o->ideas));
	for (size_t i = 0; i < event->idea_count; i++) {
		struct idea_result *result = &o->ideas[i];

		result->fits = true;
		for (size_t p = 0; p < a->point_count && result->fits; p++) {
			struct cell cell = analysis_cell(a, p, number);

			if (!cell.count)
				continue;
			result->point = p;
			result->fits = !analysis_expected(a, &a->points[p], &event->ideas[i].rule,
							  cell.units, &result->predicted) &&
				       analysis_accepts(event, result->predicted, cell.min) &&
				       analysis_accepts(event, result->predicted, cell.max);
		}
	}
}

/* --- searching -------------------------------------------------------------------------- */

static void add_round(const struct analysis *a, struct outcome *o, const char *after)
{
	const struct round *last = o->round_count ? &o->rounds[o->round_count - 1] : NULL;

	/* do not print a round without a new measurement of this event */
	if (last && last->points == o->points)
		return;
	o->rounds = arena_grow(a->arena, o->rounds, o->round_count, sizeof(*o->rounds));
	o->rounds[o->round_count++] = (struct round){ after, o->points, o->remaining, o->open };
}

bool verdict_is_discrepant(const struct outcome *o)
{
	return o->off || !o->repeatable || *o->violated;
}

static int search_event(const struct analysis *a, size_t number, const char *after,
			struct search *search, struct outcome *o)
{
	const struct campaign_event *event = &a->campaign->events[number];

	o->searched = event->candidate_count || event->documented.given;
	if (!o->searched)
		return 0;
	/* a documented feature that no benchmark had is open as long as nothing else is wrong */
	if (search_rules(a, number, event->documented.given && !verdict_is_discrepant(o), NULL,
			 search) < 0) {
		o->search_error =
			arena_copy(a->arena, search->failure.text, strlen(search->failure.text));
		search_free(search);
		return 0;
	}
	o->search_error = NULL;
	o->remaining = search->space.solutions;
	o->size = search_size(search, a->arena);
	o->together = search_together(a, search, a->arena, &o->together_count);
	o->assumed = search_assumed(a, number, search, a->arena);
	o->bounds = search_bounds(search, a->arena);
	o->proven = search_proven(a, search, a->arena);
	o->excluded = search_excluded(a, search, a->arena);
	o->open = search_open(a, search, a->arena);
	o->untested = search_untested(a, search, a->arena);
	o->left = search_set(a, search, a->arena);
	add_round(a, o, after);
	return 1;
}

bool verdict_is_open(const struct outcome *o)
{
	return o->searched && !o->search_error && o->remaining > 1;
}

bool verdict_is_unconfirmed(const struct outcome *o)
{
	return o->verdict == VERDICT_QUARANTINED && o->searched && !o->search_error &&
	       o->remaining == 1 && o->found.given;
}

/* --- judging ---------------------------------------------------------------------------- */

static void define(struct outcome *o, const struct rule *rule, const char *text)
{
	o->definition = text;
	o->found = *rule;
}

/* "3 rules fit", and what the measurements lack to tell them apart */
static void judge_several(const struct analysis *a, const char *among, struct outcome *o)
{
	const char *text;

	if (o->remaining == UINT64_MAX)
		text = "more than 2^64 rules fit";
	else
		text = arena_printf(a->arena, "%" PRIu64 " rules fit", o->remaining);
	text = arena_printf(a->arena, "%s%s", text, among);
	if (o->together_count)
		text = arena_printf(a->arena, "%s; %s", text,
				    together_text(a->arena, o->together, o->together_count));
	if (*o->untested)
		text = arena_printf(a->arena, "%s; no benchmark had: %s", text, o->untested);
	if (!o->together_count && !*o->untested)
		text = arena_printf(a->arena, "%s; it takes a further benchmark to tell them apart",
				    text);
	o->reason = text;
	o->definition = arena_printf(a->arena, "%s%s%s%s%s", o->proven, *o->open ? "; open: " : "",
				     o->open, *o->untested ? "; untested: " : "", o->untested);
}

/* whether two points do the same work under different names or parameters */
static bool same_work(const struct analysis *a, size_t p, size_t q)
{
	for (size_t f = 0; f < a->features.count; f++)
		if (analysis_count(a, &a->points[p], f, 0) !=
		    analysis_count(a, &a->points[q], f, 0))
			return false;
	return true;
}

/* What a measured point counts by a rule or by the documentation, the larger one; or measured. */
static uint64_t counted_by(const struct analysis *a, size_t point, size_t number,
			   const struct rule *rule)
{
	const struct rule *documented = &a->campaign->events[number].documented;
	const struct cell cell = analysis_cell(a, point, number);
	uint64_t value = 0, expected = 0;

	if (!cell.count || !rule)
		return cell.value;
	analysis_expected(a, &a->points[point], rule, cell.units, &value);
	analysis_expected(a, &a->points[point], documented, cell.units, &expected);
	return value > expected ? value : expected;
}

const char *verdict_doubt(const struct analysis *a, size_t number, const struct rule *rule,
			  const bool *left_out)
{
	const struct acceptance *accept = &a->campaign->events[number].accept;
	size_t first = 0, tried = 0, same = 0, wide_at = 0;
	uint64_t constant;

	for (size_t p = 0; p < a->point_count; p++) {
		const uint64_t count = counted_by(a, p, number, rule);

		if (!count || (left_out && left_out[p]))
			continue;
		if (!acceptance_is_narrow(accept, count))
			wide_at++;
		else if (tried && same_work(a, p, first))
			same++;
		else
			first = tried++ ? first : p;
	}
	if (tried < 2 && wide_at)
		return arena_printf(a->arena,
				    "at %zu point%s more than 10 %% of the count is accepted, "
				    "which tests nothing; it takes %s with a larger count",
				    wide_at, plural(wide_at), tried ? "another one" : "two");
	if (tried < 2)
		return same ? "it counts at points of the same work, it takes a second work" :
			      "it counts at one point, it takes a second to confirm it";
	if ((rule && !rule->count) || !analysis_constant(a, number, left_out, NULL, &constant))
		return NULL;
	return arena_printf(a->arena,
			    "a counter that always reads %" PRIu64 " fits as well, it takes a "
			    "point with another count",
			    constant);
}

/* A measurement that suggested a rule cannot confirm it. */
static void explain(const struct analysis *a, size_t number, const struct rule *rule,
		    const char *reason, struct outcome *o)
{
	const char *doubt = verdict_doubt(a, number, rule, NULL);

	define(o, rule, rule_text(a->arena, rule));
	o->reason = doubt ? arena_printf(a->arena, "%s; %s", reason, doubt) : reason;
	if (doubt)
		return;
	/* the right definition of a counter that cannot count is of no use */
	if (rule->count)
		step(o, VERDICT_EXPLAINED);
	else if (!a->campaign->events[number].is_guess)
		step(o, VERDICT_UNTRUSTED);
}

/* whether two rules are equal at all measured points, by their weights of each feature */
static bool same_rule(const struct analysis *a, const struct search *search, const struct rule *x,
		      const struct rule *y)
{
	for (size_t f = 0; f < a->features.count; f++) {
		bool occurs = true;

		for (size_t v = 0; v < search->count; v++)
			if (search->variables[v] == f)
				occurs = search->occurs[v];
		if (occurs &&
		    rule_weight(x, &a->features.items[f]) != rule_weight(y, &a->features.items[f]))
			return false;
	}
	return true;
}

/* "doubled: 2 LDG; swapped with the event b" */
static const char *faults_text(const struct analysis *a, const struct outcome *o)
{
	const char *text = o->faults[0].text;

	for (size_t i = 1; i < o->fault_count; i++)
		text = arena_printf(a->arena, "%s; %s", text, o->faults[i].text);
	return text;
}

static void judge_none(const struct analysis *a, size_t number, struct outcome *o)
{
	const struct fault_found *fault = o->fault_count == 1 ? &o->faults[0] : NULL;
	const bool is_guess = a->campaign->events[number].is_guess;

	if (!o->repeatable) {
		o->reason = arena_printf(
			a->arena, "readings of the same work differ by up to %" PRIu64, o->spread);
	} else if (fault && fault->correct.given) {
		explain(a, number, &fault->correct, fault->text, o);
		return;
	} else if (o->fault_count > 1) {
		o->reason = arena_printf(a->arena, "%zu known faults fit: %s", o->fault_count,
					 faults_text(a, o));
		return;
	} else if (fault) {
		o->reason = arena_printf(a->arena, "%s: counts are lost", fault->text);
	} else if (o->search_error) {
		/* a search that failed does not prove that no rule fits */
		o->reason = arena_printf(a->arena, "not searched: %s", o->search_error);
		return;
	} else if (*o->violated && (!o->off || is_guess)) {
		o->reason = arena_printf(a->arena, "relation violated: %s", o->violated);
	} else if (is_guess) {
		/* the space of rules is as much a guess: nothing is said against the counter */
		o->reason = "not as guessed, and no other rule of the stated space fits; no "
			    "document says what it counts";
		return;
	} else if (o->searched) {
		o->reason = "no rule of the stated space and no known fault fits";
	} else {
		o->reason = "it is off, and no space of rules was stated";
	}
	step(o, VERDICT_UNTRUSTED);
}

static void judge_one(const struct analysis *a, size_t number, const struct search *search,
		      struct outcome *o)
{
	const bool is_guess = a->campaign->events[number].is_guess;
	struct rule rule = search_rule(a, search, 0, a->arena);
	struct fault_found named;

	/* faults are hypotheses like rules: one of either kind may be left */
	for (size_t i = 0; i < o->fault_count; i++) {
		if (o->faults[i].correct.given &&
		    same_rule(a, search, &rule, &o->faults[i].correct))
			continue;
		o->reason = arena_printf(a->arena, "one rule fits, and a known fault as well: %s",
					 o->faults[i].text);
		o->definition = arena_printf(a->arena, "%s, unless it is faulty",
					     rule_text(a->arena, &rule));
		return;
	}
	if (!o->fault_count && fault_of_rule(a, number, search, &named))
		o->faults[o->fault_count++] = named;
	explain(a, number, &rule,
		o->fault_count ? o->faults[0].text :
				 arena_printf(a->arena, "%sone rule is left%s%s",
					      is_guess ? "not as guessed, but " : "",
					      o->pruned_by ? ", by the relation " : "",
					      o->pruned_by ? o->pruned_by : ""),
		o);
}

static void judge_quarantined(const struct analysis *a, size_t number, bool has_search,
			      const struct search *search, struct outcome *o)
{
	step(o, VERDICT_QUARANTINED);
	o->fault_count = fault_find(a, number, o->faults, MAX_FAULTS);
	if (has_search && o->remaining > 1)
		judge_several(a, "", o);
	else if (has_search && o->remaining == 1 && o->repeatable && !*o->violated)
		judge_one(a, number, search, o);
	else if (has_search && o->remaining == 1 && o->repeatable && o->off &&
		 !(*o->violated && a->campaign->events[number].is_guess))
		judge_one(a, number, search, o);
	else
		judge_none(a, number, o);
}

/* whether some reading of an event is not 0 */
static bool has_counted(const struct analysis *a, size_t number)
{
	for (size_t p = 0; p < a->point_count; p++)
		if (analysis_cell(a, p, number).max)
			return true;
	return false;
}

/* Why readings that agree are those of a counter which cannot count, too; NULL: they are not. */
static const char *dead_text(const struct analysis *a, size_t number, const struct outcome *o)
{
	const bool is_none = !a->campaign->events[number].documented.count;

	if (!has_counted(a, number))
		return is_none ? "it never counted, as documented; a counter that cannot would "
				 "look the same" :
				 "it never counted, which the acceptance allows; a counter that "
				 "cannot would look the same";
	if (is_none && !verdict_is_open(o))
		return "all readings are within the acceptance of 0, as documented; a counter that "
		       "is stuck there would look the same";
	return NULL;
}

/* What the reason of a TRUSTED event says of violated relations. */
static const char *others_text(const struct analysis *a, const struct outcome *o)
{
	if (!*o->violated_by_others)
		return "";
	return arena_printf(a->arena, "; relation violated, by other events: %s",
			    o->violated_by_others);
}

/*
 * All readings are as documented. They are evidence for the rule if no other one gives them; a
 * guess is then the definition that is left.
 */
static void judge_documented(const struct analysis *a, size_t number, const struct search *search,
			     struct outcome *o)
{
	const struct campaign_event *event = &a->campaign->events[number];
	const struct rule *rule = &event->documented;
	const char *word = campaign_word(event);
	const char *points = points_text(a, o->points, o->left_out, o->left_out_count);
	const char *by =
		o->pruned_by ? arena_printf(a->arena, ", by the relation %s", o->pruned_by) : "";
	struct rule left = { 0 };

	if (!o->search_error && o->remaining == 1)
		left = search_rule(a, search, 0, a->arena);
	if (o->search_error) {
		step(o, VERDICT_QUARANTINED);
		o->reason = arena_printf(a->arena,
					 "as %s at %s; whether other rules fit as well is not "
					 "known: %s",
					 word, points, o->search_error);
	} else if (o->remaining > 1) {
		step(o, VERDICT_QUARANTINED);
		judge_several(a,
			      arena_printf(a->arena,
					   search->has_documented ? ", the %s one among them" :
								    " as well as the %s one",
					   word),
			      o);
	} else if (o->remaining && !same_rule(a, search, &left, rule)) {
		step(o, VERDICT_QUARANTINED);
		if (event->is_guess && o->pruned_by)
			explain(a, number, &left,
				arena_printf(a->arena, "not as guessed, but one rule is left%s",
					     by),
				o);
		else
			o->reason = arena_printf(a->arena, "as %s at %s, and %s fits as well%s",
						 word, points, rule_text(a->arena, &left), by);
	} else {
		const char *doubt = verdict_doubt(a, number, rule, NULL);

		if (doubt || event->is_guess)
			step(o, VERDICT_QUARANTINED);
		if (!doubt)
			step(o, event->is_guess ? VERDICT_EXPLAINED : VERDICT_TRUSTED);
		define(o, rule, rule_text(a->arena, rule));
		o->reason = arena_printf(a->arena,
					 "as %s at %s, and the only rule of %s that fits%s%s%s",
					 word, points, o->size, by,
					 doubt ? "; " : others_text(a, o), doubt ? doubt : "");
	}
}

/*
 * Whether a relation determines at a point what an event counted: it would be violated if
 * the event had not counted, or a quarter less or more, half, twice or three times as much, or, as
 * one that is stuck, what it counted elsewhere.
 */
static bool determines(const struct analysis *a, const struct relation *relation, size_t point,
		       size_t event, uint64_t elsewhere, struct cell *cells)
{
	const uint64_t value = cells[event].value;
	const uint64_t quarter = value / 4 + 1;
	const uint64_t wrong[] = { 0,
				   value > quarter ? value - quarter : 0,
				   value + quarter,
				   value / 2,
				   2 * value + 1,
				   3 * value + 2,
				   elsewhere };
	bool is_safe = true;
	int64_t left, right;

	if (sides_of(a, relation, point, cells, &left, &right))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(wrong) && is_safe; i++) {
		cells[event].value = wrong[i];
		/* a formula without a value does not hold */
		is_safe = sides_of(a, relation, point, cells, &left, &right) ||
			  !is_satisfied(relation, left, right);
		a->failure->text[0] = '\0';
	}
	cells[event].value = value;
	return is_safe;
}

/* Points with different work at which a relation tests an event: 0, 1 or, for all more, 2. */
static size_t tested_at(const struct analysis *a, const struct relation *relation, size_t event)
{
	struct cell *cells = arena_array(a->arena, a->campaign->event_count, sizeof(*cells));
	size_t first = 0, count = 0;
	uint64_t elsewhere = 0;

	for (size_t p = 0; p < a->point_count && count < 2; p++) {
		fill_cells(a, p, MEDIAN, cells);
		if (!cells[event].count || (count && same_work(a, p, first)) ||
		    !determines(a, relation, p, event, elsewhere, cells))
			continue;
		elsewhere = cells[event].value;
		first = count++ ? first : p;
	}
	return count;
}

/*
 * Whether all other events of a relation are known to count what it takes them for, which is what
 * they are documented to count. An EXPLAINED one counts something else.
 */
static bool others_are_known(const struct analysis *a, size_t event,
			     const struct relation *relation, const struct outcome *outcomes)
{
	for (size_t e = 0; e < a->campaign->event_count; e++)
		if (e != event && relation_has(a, relation, e) &&
		    outcomes[e].verdict != VERDICT_TRUSTED)
			return false;
	return true;
}

/* relations of an event that hold */
struct held {
	size_t all;
	size_t known; /* of these: the other events are known */
	size_t tested[3]; /* of these, by number of points that test the event, see tested_at() */
};

static struct held held_relations(const struct analysis *a, size_t event,
				  const struct relation_result *results,
				  const struct outcome *outcomes)
{
	struct held held = { 0 };

	for (size_t r = 0; r < a->campaign->relation_count; r++) {
		const struct relation *relation = &a->campaign->relations[r];

		if (!results[r].points || results[r].violated || !relation_has(a, relation, event))
			continue;
		held.all++;
		if (!others_are_known(a, event, relation, outcomes))
			continue;
		held.known++;
		held.tested[tested_at(a, relation, event)]++;
	}
	return held;
}

/* Trust an event that relations test at two points. Return: whether it is so. */
static bool trust_by_relations(const struct analysis *a, const struct held *held, struct outcome *o)
{
	const size_t count = held->tested[2];

	if (!count || *o->violated || !o->repeatable)
		return false;
	step(o, VERDICT_TRUSTED);
	o->reason = arena_printf(a->arena,
				 "%zu relation%s with other events hold%s at two points or more, "
				 "and would not with another count%s",
				 count, plural(count), count == 1 ? "s" : "", others_text(a, o));
	return true;
}

static void judge_by_relations(const struct analysis *a, size_t number, const struct held *held,
			       struct outcome *o)
{
	if (*o->violated) {
		step(o, VERDICT_QUARANTINED);
		o->reason = arena_printf(a->arena, "relation violated: %s", o->violated);
		step(o, VERDICT_UNTRUSTED);
	} else if (held->tested[2]) {
		step(o, VERDICT_QUARANTINED);
		o->reason = arena_printf(a->arena,
					 "relations with other events hold, but readings of the "
					 "same work differ by up to %" PRIu64,
					 o->spread);
	} else if (held->tested[1]) {
		step(o, VERDICT_QUARANTINED);
		o->reason = "a relation with other events holds; it tests this one at one point, "
			    "it takes a second, with another count";
	} else if (held->all && !has_counted(a, number)) {
		o->reason = "it never counted; a counter that cannot would look the same";
	} else if (held->known) {
		o->reason = "relations hold, but would hold as well if it counted something else";
	} else if (held->all) {
		o->reason = "relations hold, but only with events of which as little is known";
	} else {
		o->reason = "nothing to compare with: no documented rule, and no relation that "
			    "holds or speaks against it";
	}
}

static bool is_undecided(const struct analysis *a, size_t event, const struct outcome *o)
{
	return o->verdict == VERDICT_MEASURED && !a->campaign->events[event].documented.given;
}

void verdict_by_relations(const struct analysis *a, const struct relation_result *results,
			  struct outcome *outcomes)
{
	const size_t events = a->campaign->event_count;
	struct held held;
	bool any;

	/* a trusted event can be the last one of another relation that was not known */
	do {
		any = false;
		for (size_t e = 0; e < events; e++) {
			if (!is_undecided(a, e, &outcomes[e]))
				continue;
			held = held_relations(a, e, results, outcomes);
			any |= trust_by_relations(a, &held, &outcomes[e]);
		}
	} while (any);
	for (size_t e = 0; e < events; e++) {
		if (!is_undecided(a, e, &outcomes[e]))
			continue;
		held = held_relations(a, e, results, outcomes);
		judge_by_relations(a, e, &held, &outcomes[e]);
	}
}

/*
 * Single steps are no counter that can be wrong: if they differ from the expected values, these are
 * wrong, for all events.
 */
static void blame_listing(const struct analysis *a, size_t number, struct outcome *o)
{
	const struct campaign *c = a->campaign;

	if (!o->off)
		return;
	if (event_is_stepped(&c->events[number]))
		o->reason =
			arena_printf(a->arena,
				     "%s; single steps are exact, so what the campaign expects "
				     "is wrong: the listing, \"taken\", \"kernels\" or the rule",
				     o->reason);
	for (size_t e = 0; e < c->event_count && !event_is_stepped(&c->events[number]); e++)
		if (event_is_stepped(&c->events[e]) && is_off(a, e)) {
			o->reason = arena_printf(a->arena,
						 "%s; the single steps of %s differ from what is "
						 "expected, too: mend that first",
						 o->reason, c->events[e].name);
			return;
		}
}

int verdict_event(const struct analysis *a, size_t number, const struct relation_result *relations,
		  const char *after, struct search *search, struct outcome *o)
{
	const struct campaign_event *event = &a->campaign->events[number];
	bool *self = arena_array(a->arena, a->campaign->event_count, sizeof(*self));
	const char *dead;
	int searched;

	*o = (struct outcome){ .rounds = o->rounds,
			       .round_count = o->round_count,
			       .pruned_by = o->pruned_by,
			       .left_out = "",
			       .violated = "",
			       .violated_by_others = "",
			       .absent = "",
			       .assumed = "",
			       .before = o->before };
	step(o, VERDICT_SELECTED);
	o->reason = a->unavailable[number] ? a->unavailable[number] : "not measured";
	violated_relations(a, number, relations, o);
	if (!analysis_has(a, number))
		return 0;
	step(o, VERDICT_MEASURED);
	self[number] = true;
	o->left_out = analysis_left_out(a, self, &o->left_out_count);
	o->absent = analysis_missing(a, number, &a->campaign->events[number].documented);
	compare(a, number, o);
	try_ideas(a, number, o);
	searched = search_event(a, number, after, search, o);
	/* verdict_by_relations() follows */
	if (!event->documented.given)
		return searched;
	if (event->is_guess && !has_counted(a, number) && !*o->violated) {
		o->reason = "it never counted; a counter that cannot would look the same";
		return searched;
	}
	if (verdict_is_discrepant(o)) {
		judge_quarantined(a, number, searched, search, o);
		blame_listing(a, number, o);
		return searched;
	}
	/* an event documented as zero is exercised by any work */
	if (!o->exercised && event->documented.count) {
		o->reason = "no benchmark made it count; a counter that cannot would look the same";
		return searched;
	}
	dead = dead_text(a, number, o);
	if (dead) {
		o->reason = dead;
		return searched;
	}
	judge_documented(a, number, search, o);
	return searched;
}
