// SPDX-License-Identifier: MIT
/* Sets up the search for an event, counts the rules that are left, and names them. */
#include "search.h"

#include <inttypes.h>
#include <string.h>

/* open features that are listed one by one */
enum { MAX_LISTED = 12 };

/* a feature that the documentation names */
static bool is_documented(const struct analysis *a, size_t number, size_t f, bool whole)
{
	const struct feature *feature = &a->features.items[f];
	const struct rule *rule = &a->campaign->events[number].documented;

	for (size_t t = 0; t < rule->count; t++) {
		const struct feature *part = &rule->terms[t].feature;

		if (!feature_covers(part, feature))
			continue;
		if (analysis_exercises(a, number, f))
			return true;
		/* a part that no measurement has is one feature, as it is written */
		if (whole && !strcmp(part->name, feature->name) && analysis_lacks(a, number, part))
			return true;
	}
	return false;
}

bool search_may_use(const struct analysis *a, size_t number, size_t f, bool whole)
{
	const struct campaign_event *event = &a->campaign->events[number];
	const struct feature *feature = &a->features.items[f];
	bool is_candidate = false;

	if (is_documented(a, number, f, whole))
		return true;
	/* by default all states of mnemonics except skipped ones */
	if (!event->candidate_count)
		return *feature->name != '@' && feature->state != STATE_SKIPPED &&
		       analysis_may_exercise(a, number, f);
	for (size_t i = 0; i < event->candidate_count; i++)
		is_candidate |= feature_covers(&event->candidates[i], feature);
	/* an instruction can be put into a benchmark, an amount of something else cannot */
	return is_candidate &&
	       (!analysis_is_quantity(a->campaign, feature) || analysis_may_exercise(a, number, f));
}

static void choose_variables(const struct analysis *a, size_t number, bool whole, struct search *s)
{
	const struct campaign_event *event = &a->campaign->events[number];

	s->variables = arena_array(&s->arena, a->features.count, sizeof(*s->variables));
	for (size_t f = 0; f < a->features.count; f++)
		if (search_may_use(a, number, f, whole))
			s->variables[s->count++] = f;
	s->occurs = arena_array(&s->arena, s->count, sizeof(*s->occurs));
	s->choices = arena_array(&s->arena, s->count, sizeof(*s->choices));
	s->weights = event->weights;
	s->has_documented = event->documented.given;
	for (size_t v = 0; v < s->count; v++) {
		const int64_t weight =
			rule_weight(&event->documented, &a->features.items[s->variables[v]]);

		s->choices[v] = event->weights;
		if (weight < 0 || weight > MAX_WEIGHT)
			s->has_documented = false;
		else
			s->choices[v] |= weight_bit((unsigned int)weight);
	}
}

static int64_t clip(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_row(const struct analysis *a, const struct campaign_event *event,
		    const struct point *point, const struct cell *cell, struct search *s,
		    struct solve_row *row)
{
	const uint64_t limit = acceptance_limit(&event->accept, cell->value);
	int64_t *coefficients = arena_array(&s->arena, s->count, sizeof(*coefficients));

	for (size_t v = 0; v < s->count; v++) {
		coefficients[v] = analysis_count(a, point, s->variables[v], cell->units);
		s->occurs[v] |= coefficients[v] != 0;
	}
	/* a rule must agree with every reading, not only with the median */
	row->coefficients = coefficients;
	row->lo = clip(cell->max > limit ? cell->max - limit : 0);
	row->hi = clip(cell->min <= UINT64_MAX - limit ? cell->min + limit : UINT64_MAX);
}

static long variable_of(const struct analysis *a, const struct search *s,
			const struct feature *feature)
{
	const long number = features_find(&a->features, feature);

	for (size_t v = 0; v < s->count; v++)
		if (number >= 0 && s->variables[v] == (size_t)number)
			return (long)v;
	return -1;
}

/* Excludes weights that are not in a set, as far as the event's measurements have its features. */
static void keep_within(const struct analysis *a, const struct rule_group *set, struct search *s,
			weight_set *choices, struct solve_row *rows)
{
	for (size_t i = 0; i < set->count; i++) {
		long v = variable_of(a, s, &set->features[i]);

		if (v >= 0 && s->occurs[v])
			choices[v] &= set->allowed[i];
	}
	for (size_t i = 0; i < set->fact_count; i++) {
		const struct sum_fact *fact = &set->facts[i];
		int64_t *coefficients = arena_array(&s->arena, s->count, sizeof(*coefficients));
		long v = 0;

		for (size_t t = 0; v >= 0 && t < fact->sum.count; t++) {
			v = variable_of(a, s, &fact->sum.terms[t].feature);
			if (v >= 0)
				coefficients[v] = fact->sum.terms[t].weight;
		}
		/* a row without an effect, if the event cannot count all of them here */
		rows[i] = (struct solve_row){ coefficients, v < 0 ? INT64_MIN / 4 : fact->lo,
					      v < 0 ? INT64_MAX / 4 : fact->hi };
	}
}

int search_rules(const struct analysis *a, size_t event_number, bool whole,
		 const struct rule_group *within, struct search *s)
{
	const struct campaign_event *event = &a->campaign->events[event_number];
	const weight_set *limits = a->limits ? a->limits[event_number] : NULL;
	const size_t more = within ? within->fact_count : 0;
	struct solve_problem problem;
	struct solve_row *rows;
	weight_set *choices;
	bool impossible = false;

	*s = (struct search){ 0 };
	choose_variables(a, event_number, whole, s);
	rows = arena_array(&s->arena, a->point_count + more, sizeof(*rows));
	choices = arena_array(&s->arena, s->count, sizeof(*choices));
	for (size_t v = 0; v < s->count; v++)
		choices[v] = s->choices[v] & (limits ? limits[s->variables[v]] : ALL_WEIGHTS);
	s->rows = rows;
	for (size_t p = 0; p < a->point_count; p++) {
		struct cell cell = analysis_cell(a, p, event_number);

		if (!cell.count)
			continue;
		add_row(a, event, &a->points[p], &cell, s, &rows[s->points]);
		/* if readings differ by more than the acceptance, no rule fits */
		impossible |= rows[s->points].lo > rows[s->points].hi;
		s->points++;
	}
	if (impossible) {
		s->space.allowed = arena_array(&s->arena, s->count, sizeof(weight_set));
		return 0;
	}
	if (within)
		keep_within(a, within, s, choices, &rows[s->points]);
	problem = (struct solve_problem){ choices, rows, s->count, s->points + more };
	return solve(&s->arena, &problem, &s->space, &s->failure);
}

void search_free(struct search *s)
{
	arena_free(&s->arena);
}

int search_weight(const struct search *s, size_t variable)
{
	const weight_set allowed = s->space.allowed[variable];

	return weights_count(allowed) == 1 ? (int)weights_least(allowed) : -1;
}

struct rule search_rule(const struct analysis *a, const struct search *s, uint64_t number,
			struct arena *arena)
{
	uint8_t *weights = arena_array(arena, s->count, sizeof(*weights));
	struct rule rule = { .given = true };

	space_solution(&s->space, number, weights);
	for (size_t v = 0; v < s->count; v++)
		if (weights[v] && s->occurs[v])
			rule_add(arena, &rule, &a->features.items[s->variables[v]], weights[v]);
	return rule;
}

const char *search_proven(const struct analysis *a, const struct search *s, struct arena *arena)
{
	struct rule rule = { .given = true };

	for (size_t v = 0; v < s->count; v++)
		if (s->occurs[v] && search_weight(s, v) > 0)
			rule_add(arena, &rule, &a->features.items[s->variables[v]],
				 search_weight(s, v));
	return rule_text(arena, &rule);
}

static const char *append(struct arena *arena, const char *text, const char *more)
{
	return arena_printf(arena, "%s%s%s", text, *text ? ", " : "", more);
}

/* names of the features that are proven not to count, or that no benchmark had */
static const char *names(const struct analysis *a, const struct search *s, struct arena *arena,
			 bool untested)
{
	const char *text = "";
	char name[96];

	for (size_t v = 0; v < s->count; v++)
		if (untested ? !s->occurs[v] : s->occurs[v] && !search_weight(s, v))
			text = append(arena, text,
				      feature_text(&a->features.items[s->variables[v]], name,
						   sizeof(name)));
	return text;
}

const char *search_excluded(const struct analysis *a, const struct search *s, struct arena *arena)
{
	return names(a, s, arena, false);
}

const char *search_untested(const struct analysis *a, const struct search *s, struct arena *arena)
{
	return names(a, s, arena, true);
}

/* "0|1|32", "0..15" */
static const char *weights_text(struct arena *arena, weight_set allowed)
{
	const char *text = "";

	if (weights_count(allowed) > 4 && allowed == weights_up_to(weights_most(allowed)))
		return arena_printf(arena, "0..%u", weights_most(allowed));
	for (; allowed; allowed &= allowed - 1)
		text = arena_printf(arena, "%s%s%u", text, *text ? "|" : "",
				    weights_least(allowed));
	return text;
}

/* --- what the measurements cannot tell apart ------------------------------------------- */

/* a variable whose weight is not known, of which some measurement has an amount */
static bool is_open(const struct search *s, size_t v)
{
	return s->occurs[v] && s->space.allowed[v] && search_weight(s, v) < 0;
}

/* Whether all measurements have two variables in the proportion of the first that has @v. */
static bool proportional(const struct search *s, size_t base, size_t v, size_t u)
{
	const int64_t *first = s->rows[base].coefficients;

	for (size_t r = 0; r < s->points; r++) {
		const int64_t *c = s->rows[r].coefficients;

		if ((wide)c[v] * first[u] != (wide)c[u] * first[v])
			return false;
	}
	return first[u] != 0;
}

/* The open variables that came in one proportion with @v, which are marked as @done. */
static struct rule group_of(const struct analysis *a, const struct search *s, size_t v, bool *done,
			    struct arena *arena)
{
	struct rule group = { 0 };
	int64_t divisor = 0;
	size_t base = 0;

	while (!s->rows[base].coefficients[v])
		base++;
	for (size_t u = v; u < s->count; u++) {
		const int64_t amount = s->rows[base].coefficients[u];

		if (done[u] || !is_open(s, u) || !proportional(s, base, v, u))
			continue;
		done[u] = true;
		divisor = gcd(divisor, amount);
		rule_add(arena, &group, &a->features.items[s->variables[u]], amount);
	}
	for (size_t i = 0; i < group.count; i++)
		group.terms[i].weight /= divisor;
	return group;
}

struct rule *search_together(const struct analysis *a, const struct search *s, struct arena *arena,
			     size_t *count)
{
	bool *done = arena_array(arena, s->count, sizeof(*done));
	struct rule *groups = NULL;

	*count = 0;
	for (size_t v = 0; v < s->count; v++) {
		struct rule group;

		if (done[v] || !is_open(s, v))
			continue;
		group = group_of(a, s, v, done, arena);
		if (group.count < 2)
			continue;
		groups = arena_grow(arena, groups, *count, sizeof(group));
		groups[(*count)++] = group;
	}
	return groups;
}

/* "LDG, STG and 2 EXIT" */
static const char *list_text(struct arena *arena, const struct rule *group)
{
	const char *text = "";

	for (size_t i = 0; i < group->count; i++) {
		const struct rule one = { &group->terms[i], 1, true };

		if (i == MAX_LISTED)
			return arena_printf(arena, "%s and %zu more", text, group->count - i);
		text = arena_printf(arena, "%s%s%s", text,
				    !i			  ? "" :
				    i + 1 == group->count ? " and " :
							    ", ",
				    rule_text(arena, &one));
	}
	return text;
}

const char *together_text(struct arena *arena, const struct rule *groups, size_t count)
{
	const char *text = "";

	for (size_t i = 0; i < count; i++)
		text = arena_printf(arena, "%s%s%s%s", text, i ? ", as did " : "",
				    list_text(arena, &groups[i]), i ? "" : " always came together");
	return text;
}

const char *search_assumed(const struct analysis *a, size_t event, const struct search *s,
			   struct arena *arena)
{
	const char *text = "";
	char name[96];

	for (size_t f = 0; f < a->features.count; f++) {
		bool searched = false;

		for (size_t v = 0; v < s->count; v++)
			searched |= s->variables[v] == f;
		if (!searched && *a->features.items[f].name != '@' &&
		    analysis_exercises(a, event, f))
			text = append(arena, text,
				      feature_text(&a->features.items[f], name, sizeof(name)));
	}
	return text;
}

/* drop the factor of all terms, the number of threads, which makes the text hard to read */
static void shorten(struct rule *rule, int64_t *sum)
{
	int64_t divisor = *sum;

	for (size_t i = 0; i < rule->count; i++)
		divisor = gcd(divisor, rule->terms[i].weight);
	for (size_t i = 0; divisor > 1 && i < rule->count; i++)
		rule->terms[i].weight /= divisor;
	if (divisor > 1)
		*sum /= divisor;
}

/* what measurements imply about weights that are not known individually */
static const char *fact_text(const struct analysis *a, const struct search *s,
			     const struct solve_fact *fact, struct arena *arena)
{
	struct rule rule = { .given = true };
	int64_t lo = fact->lo, hi = fact->hi;
	bool negative = false;

	for (size_t v = 0; v < s->count; v++) {
		int64_t c = fact->coefficients[v];
		int weight = search_weight(s, v);

		if (!c)
			continue;
		if (weight >= 0) {
			lo -= c * weight;
			hi -= c * weight;
			continue;
		}
		if (!rule.count)
			negative = c < 0;
		rule_add(arena, &rule, &a->features.items[s->variables[v]], negative ? -c : c);
	}
	if (!rule.count || lo != hi)
		return NULL;
	shorten(&rule, &lo);
	return arena_printf(arena, "%s = %" PRId64, rule_text(arena, &rule), negative ? -lo : lo);
}

const char *search_open(const struct analysis *a, const struct search *s, struct arena *arena)
{
	const char *text = "";
	size_t open = 0;
	char name[96];

	for (size_t v = 0; v < s->count; v++)
		open += s->occurs[v] && search_weight(s, v) < 0 && s->space.allowed[v];
	if (open > MAX_LISTED)
		return arena_printf(arena, "the weights of %zu features", open);
	for (size_t v = 0; v < s->count; v++) {
		if (!s->occurs[v] || search_weight(s, v) >= 0 || !s->space.allowed[v])
			continue;
		feature_text(&a->features.items[s->variables[v]], name, sizeof(name));
		text = append(arena, text,
			      arena_printf(arena, "%s %s", name,
					   weights_text(arena, s->space.allowed[v])));
	}
	if (!*text)
		return text;
	for (size_t c = 0; c < s->space.count; c++) {
		const struct component *component = &s->space.components[c];

		for (size_t i = 0; component->solutions > 1 && i < component->fact_count; i++) {
			const char *fact = fact_text(a, s, component->facts[i], arena);

			if (fact && !strstr(text, fact))
				text = arena_printf(arena, "%s; %s", text, fact);
		}
	}
	return text;
}

struct rule_group search_set(const struct analysis *a, const struct search *s, struct arena *arena)
{
	struct rule_group set = { .features = arena_array(arena, s->count, sizeof(*set.features)),
				  .allowed = arena_array(arena, s->count, sizeof(*set.allowed)) };

	for (size_t v = 0; v < s->count; v++) {
		if (!s->occurs[v] || !s->space.allowed[v])
			continue;
		set.features[set.count] = a->features.items[s->variables[v]];
		set.allowed[set.count++] = s->space.allowed[v];
	}
	for (size_t c = 0; c < s->space.count; c++) {
		const struct component *component = &s->space.components[c];

		for (size_t i = 0; component->solutions > 1 && i < component->fact_count; i++) {
			const struct solve_fact *fact = component->facts[i];
			struct sum_fact open = { .lo = fact->lo, .hi = fact->hi };

			for (size_t v = 0; v < s->count; v++) {
				const int64_t factor = fact->coefficients[v];
				const int weight = search_weight(s, v);

				if (factor && weight < 0)
					rule_add(arena, &open.sum,
						 &a->features.items[s->variables[v]], factor);
				open.lo -= weight < 0 ? 0 : factor * weight;
				open.hi -= weight < 0 ? 0 : factor * weight;
			}
			set.facts = arena_grow(arena, set.facts, set.fact_count, sizeof(open));
			set.facts[set.fact_count] = open;
			set.fact_count += open.sum.given;
		}
	}
	return set;
}

const char *search_size(const struct search *s, struct arena *arena)
{
	uint64_t rules = 1;
	bool more = false;

	for (size_t v = 0; v < s->count && !more; v++)
		more = __builtin_mul_overflow(rules, weights_count(s->choices[v]), &rules);
	if (more)
		return arena_printf(arena, "%u^%zu", weights_count(s->weights), s->count);
	return arena_printf(arena, "%" PRIu64, rules);
}

const char *search_bounds(const struct search *s, struct arena *arena)
{
	const bool whole = s->weights == weights_up_to(weights_most(s->weights));
	const char *weights = whole ? arena_printf(arena, "0..%u", weights_most(s->weights)) :
				      weights_text(arena, s->weights);

	return arena_printf(arena, "%zu feature%s, weights %s: %s rules", s->count,
			    s->count == 1 ? "" : "s", weights, search_size(s, arena));
}
