// SPDX-License-Identifier: MIT
/* Removes rules with which no rules of the related events can satisfy a relation. */
#include "verdict.h"

#include <string.h>

/* an event of a relation: left - right = sum of factor * event */
struct part {
	size_t event;
	int64_t factor;
	const weight_set *masks; /* by feature: weights that its rule may have */
};

/* --- what is known of an event ---------------------------------------------------------- */

/* Nothing is known of features that no measurement had. NULL: nor of any other. */
static weight_set *masks_of(const struct analysis *a, size_t event, const struct search *search,
			    const struct outcome *o)
{
	const bool known = o->verdict == VERDICT_TRUSTED || o->verdict == VERDICT_EXPLAINED;
	weight_set *masks = arena_array(a->arena, a->features.count, sizeof(*masks));

	if (known ? !o->found.given : !o->searched || o->search_error || !o->remaining)
		return NULL;
	for (size_t f = 0; f < a->features.count; f++) {
		const int64_t weight = known ? rule_weight(&o->found, &a->features.items[f]) : 0;

		masks[f] = weight < 0 || weight > MAX_WEIGHT || !analysis_exercises(a, event, f) ?
				   ALL_WEIGHTS :
				   weight_bit((unsigned int)weight);
	}
	for (size_t v = 0; !known && v < search->count; v++) {
		const size_t f = search->variables[v];

		masks[f] = search->occurs[v] ? search->space.allowed[v] : ALL_WEIGHTS;
	}
	for (size_t f = 0; !known && a->limits[event] && f < a->features.count; f++)
		masks[f] &= a->limits[event][f];
	return masks;
}

/* --- relations -------------------------------------------------------------------------- */

static bool names(const struct analysis *a, const struct relation *relation, const char *name)
{
	return analysis_formula_has(a, relation->left, name) ||
	       analysis_formula_has(a, relation->right, name);
}

static bool names_parameter(const struct analysis *a, const struct relation *relation)
{
	for (size_t b = 0; b < a->campaign->benchmark_count; b++)
		for (size_t i = 0; i < a->campaign->benchmarks[b].parameter_count; i++)
			if (names(a, relation, a->campaign->benchmarks[b].parameters[i].name))
				return true;
	return false;
}

/* left - right, if each event has the count in @cells; 0 or -1 */
static int difference(const struct analysis *a, const struct relation *relation,
		      const struct cell *cells, int64_t *value)
{
	int64_t left, right;

	if (analysis_formula(a, relation->left, NULL, cells, &left) ||
	    analysis_formula(a, relation->right, NULL, cells, &right))
		return -1;
	*value = (int64_t)((uint64_t)left - (uint64_t)right);
	return 0;
}

/*
 * The factors of a relation's events, from the formulas' values with one event at a time.
 * Return: number of parts; 0 if the relation is no sum of events; -1 on failure.
 */
static int parts_of(const struct analysis *a, const struct relation *relation, struct part *parts)
{
	struct cell *cells = arena_array(a->arena, a->campaign->event_count, sizeof(*cells));
	int64_t none, value, sum = 0;
	int count = 0;

	if (names_parameter(a, relation))
		return 0;
	for (size_t e = 0; e < a->campaign->event_count; e++)
		cells[e].count = 1;
	if (difference(a, relation, cells, &none) < 0)
		return -1;
	for (size_t e = 0; e < a->campaign->event_count; e++) {
		if (!names(a, relation, a->campaign->events[e].name))
			continue;
		cells[e].value = 1;
		if (difference(a, relation, cells, &value) < 0)
			return -1;
		cells[e].value = 0;
		parts[count++] = (struct part){ .event = e, .factor = value - none };
	}
	/* other formulas than sums give something else with different counts */
	for (int i = 0; i < count; i++) {
		cells[parts[i].event].value = (uint64_t)i + 2;
		sum += parts[i].factor * (i + 2);
	}
	if (difference(a, relation, cells, &value) < 0)
		return -1;
	return !none && value == sum ? count : 0;
}

static int64_t least(const struct part *part, size_t feature, bool most)
{
	const weight_set mask = part->masks[feature];
	const bool high = most == (part->factor > 0);

	return part->factor * (int64_t)(high ? weights_most(mask) : weights_least(mask));
}

/* weights of a part with which the sum can be 0 */
static weight_set possible(const struct part *parts, int count, int which, size_t feature)
{
	int64_t lo = 0, hi = 0;
	weight_set mask = 0;

	for (int i = 0; i < count; i++) {
		if (i == which)
			continue;
		lo += least(&parts[i], feature, false);
		hi += least(&parts[i], feature, true);
	}
	for (unsigned int w = 0; w <= MAX_WEIGHT; w++) {
		const int64_t own = parts[which].factor * (int64_t)w;

		if (own + lo <= 0 && own + hi >= 0)
			mask |= weight_bit(w);
	}
	return mask;
}

/* Whether a weight is the documented one of an event that counts as documented. */
static bool is_documented(const struct analysis *a, size_t event, const struct outcome *o,
			  size_t feature, weight_set mask)
{
	const struct rule *rule = &a->campaign->events[event].documented;
	const int64_t weight = rule_weight(rule, &a->features.items[feature]);

	return rule->given && !a->campaign->events[event].is_guess && !verdict_is_discrepant(o) &&
	       weight >= 0 && weight <= MAX_WEIGHT && mask & weight_bit((unsigned int)weight);
}

static bool narrow(struct analysis *a, const struct part *parts, int count, int which,
		   const struct outcome *o)
{
	const size_t event = parts[which].event;
	const bool documented = !verdict_is_discrepant(o);
	bool changed = false;

	for (size_t f = 0; f < a->features.count; f++) {
		const weight_set now = parts[which].masks[f];
		const weight_set mask = possible(parts, count, which, f);

		/*
		 * A contradiction excludes nothing: some verdict, or the relation, is wrong; or
		 * features that depend on each other say the same in two ways.
		 */
		if (!(now & mask) || !(now & ~mask) ||
		    (documented && is_documented(a, event, o, f, now) &&
		     !is_documented(a, event, o, f, mask)))
			continue;
		if (!a->limits[event]) {
			a->limits[event] = arena_array(a->arena, a->features.count, sizeof(mask));
			memset(a->limits[event], 0xff, a->features.count * sizeof(mask));
		}
		a->limits[event][f] &= mask;
		changed = true;
	}
	return changed;
}

int prune_by_relations(struct analysis *a, const struct relation_result *results,
		       const struct search *searches, const bool *ignored, struct outcome *outcomes,
		       bool *changed)
{
	const struct campaign *c = a->campaign;
	struct part *parts = arena_array(a->arena, c->event_count, sizeof(*parts));

	for (size_t r = 0; r < c->relation_count; r++) {
		const struct relation *relation = &c->relations[r];
		int count, known = 0;

		/* at a single point two sides can be equal by chance */
		if (results[r].points < 2 || results[r].violated || relation->accept.absolute ||
		    relation->accept.relative_ppm)
			continue;
		count = parts_of(a, relation, parts);
		if (count < 0)
			return -1;
		for (int i = 0; i < count; i++) {
			const size_t e = parts[i].event;

			parts[i].masks = masks_of(a, e, &searches[e], &outcomes[e]);
			known += parts[i].masks != NULL;
		}
		for (int i = 0; count && known == count && i < count; i++) {
			struct outcome *o = &outcomes[parts[i].event];

			if (ignored[parts[i].event] || !verdict_is_open(o) ||
			    o->verdict != VERDICT_QUARANTINED || !narrow(a, parts, count, i, o))
				continue;
			changed[parts[i].event] = true;
			if (!o->pruned_by || !strstr(o->pruned_by, relation->name))
				o->pruned_by = arena_printf(a->arena, "%s%s'%s'",
							    o->pruned_by ? o->pruned_by : "",
							    o->pruned_by ? ", " : "",
							    relation->name);
		}
	}
	return 0;
}
