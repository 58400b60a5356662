// SPDX-License-Identifier: MIT
/* Proposes the measurement that would separate the remaining rules best. */
#include "search.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_RULES = 4096, /* rules that are examined individually; of more, an even selection */
	/* keeps a thread far below the limit of devices */
	MAX_INSTRUCTIONS = 3000,
	MAX_FEATURES = 16,
	/* of the first feature in a listing that is a second point */
	LEAST_AMOUNT = 2,
	MOST_AMOUNT = MAX_INSTRUCTIONS / MAX_FEATURES - MAX_FEATURES,
};

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* any number of units will do: it is the same for all rules */
static uint64_t units_of(const struct analysis *a, size_t event)
{
	for (size_t i = 0; i < a->measured.count; i++)
		if (a->measured.readings[i].event == event && a->measured.readings[i].units)
			return a->measured.readings[i].units;
	return 0;
}

/* predictions of the remaining rules of a wish; the caller frees */
static int64_t *predictions(const struct analysis *a, const struct point *point,
			    const struct wish *wish, size_t *count)
{
	const struct search *s = wish->search;
	const uint64_t rules = s->space.solutions, units = units_of(a, wish->event);
	uint8_t *weights = calloc(s->count + 1, 1);
	int64_t *values;

	*count = rules < MAX_RULES ? (size_t)rules : MAX_RULES;
	values = calloc(*count + 1, sizeof(*values));
	if (!weights || !values) {
		free(weights);
		free(values);
		*count = 0;
		return NULL;
	}
	for (size_t i = 0; i < *count; i++) {
		uint64_t number = rules <= MAX_RULES ? i : rules / MAX_RULES * i;

		space_solution(&s->space, number, weights);
		for (size_t v = 0; v < s->count; v++)
			/* modulo 2^64: equal sums stay equal */
			values[i] = (int64_t)((uint64_t)values[i] +
					      weights[v] * (uint64_t)analysis_count(a, point,
										    s->variables[v],
										    units));
	}
	free(weights);
	return values;
}

/* Number of rules outside the largest group of equal predictions, over all wishes. */
static size_t split_score(const struct analysis *a, const struct point *point,
			  const struct wish *wishes, size_t count, struct proposal *proposal)
{
	size_t score = 0;

	proposal->splits = arena_array(a->arena, count, sizeof(*proposal->splits));
	proposal->split_count = 0;
	for (size_t w = 0; w < count; w++) {
		size_t rules, groups = 0, largest = 0, run = 0;
		int64_t *values;

		if (!wishes[w].search) {
			/*
			 * prefer a constructed benchmark: isolated features make the space small
			 * enough to search
			 */
			score += a->campaign->benchmarks[point->benchmark].constructed;
			continue;
		}
		values = predictions(a, point, &wishes[w], &rules);
		if (!values)
			continue;
		qsort(values, rules, sizeof(*values), by_value);
		for (size_t i = 0; i < rules; i++) {
			run = i && values[i] == values[i - 1] ? run + 1 : 1;
			groups += run == 1;
			largest = run > largest ? run : largest;
		}
		free(values);
		score += rules - largest;
		proposal->splits[proposal->split_count++] =
			(struct split){ wishes[w].event, rules, groups, largest };
	}
	return score;
}

/* a feature in which rules differ, and the number of events that depend on it */
struct open_feature {
	size_t feature;
	size_t wishes;
	bool is_branch; /* branches are written line by line: use few */
};

/* measured in a benchmark that was constructed to separate it */
static bool was_isolated(const struct analysis *a, size_t feature)
{
	for (size_t p = 0; p < a->point_count; p++)
		if (a->campaign->benchmarks[a->points[p].benchmark].constructed &&
		    !a->points[p].reserve && analysis_count(a, &a->points[p], feature, 0))
			return true;
	return false;
}

static bool is_open(const struct analysis *a, const struct wish *wish, size_t feature)
{
	const struct search *s = wish->search;

	if (!s)
		return search_may_use(a, wish->event, feature, true) && !was_isolated(a, feature);
	for (size_t v = 0; v < s->count; v++)
		if (s->variables[v] == feature)
			return search_weight(s, v) < 0;
	return false;
}

/* a device may execute some mnemonics only; for others a person must write the benchmark */
static bool can_build(const struct analysis *a, const struct feature *feature)
{
	size_t length = strcspn(feature->name, ".");
	const struct worker *worker;

	if (*feature->name == '@' || a->campaign->amounts || a->only_own)
		return false;
	/* a CPU's program has to be compiled */
	for (size_t b = 0; b < a->campaign->benchmark_count; b++)
		if (a->campaign->benchmarks[b].code.count)
			return false;
	worker = worker_of(a->campaign->device);
	return worker ? worker->executes(feature->name, length) :
			!strpbrk(feature->name, "abcdefghijklmnopqrstuvwxyz");
}

static int by_wishes(const void *a, const void *b)
{
	const struct open_feature *x = a, *y = b;

	if (x->is_branch != y->is_branch)
		return x->is_branch ? -1 : 1;
	if (x->wishes != y->wishes)
		return x->wishes < y->wishes ? 1 : -1;
	return x->feature < y->feature ? -1 : x->feature > y->feature;
}

static struct open_feature *open_features(const struct analysis *a, const struct wish *wishes,
					  size_t count, size_t *found)
{
	struct open_feature *open = arena_array(a->arena, a->features.count, sizeof(*open));

	*found = 0;
	for (size_t f = 0; f < a->features.count; f++) {
		struct open_feature *at = &open[*found];

		*at = (struct open_feature){
			.feature = f,
			.is_branch = !strcmp(a->features.items[f].name, "BRA"),
		};
		for (size_t w = 0; w < count; w++)
			at->wishes += is_open(a, &wishes[w], f);
		*found += at->wishes && can_build(a, &a->features.items[f]);
	}
	qsort(open, *found, sizeof(*open), by_wishes);
	return open;
}

static const char *lines(struct arena *arena, const char *text, size_t times, const char *guard,
			 const char *name)
{
	if (strcmp(name, "BRA"))
		return arena_printf(arena, "%s\t%zu * %s%s\n", text, times, guard, name);
	/* a branch has one target; this one goes to the next line */
	while (times--)
		text = arena_printf(arena, "%s\t%sBRA +1\n", text, guard);
	return text;
}

/* amounts of features by state; the EXIT that ends the thread is added */
static const char *write_listing(struct arena *arena, const struct features *features,
				 const struct open_feature *open, const size_t *amounts,
				 size_t count)
{
	const char *parts[STATES] = { "", "", "", "" };
	size_t skipped = 0;

	for (size_t i = 0; i < count; i++) {
		const struct feature *feature = &features->items[open[i].feature];
		const char **part = &parts[feature->state];

		if (!amounts[i])
			continue;
		*part = lines(arena, *part, amounts[i], feature->state == STATE_OFF ? "@!PT " : "",
			      feature->name);
		if (feature->state == STATE_SKIPPED)
			skipped += amounts[i];
	}
	if (skipped)
		parts[STATE_SKIPPED] =
			arena_printf(arena, "\tBRA +%zu\n%s", skipped + 1, parts[STATE_SKIPPED]);
	/* the last branch after EXIT needs a target */
	if (*parts[STATE_DEAD])
		return arena_printf(arena, "%s%s%s\tEXIT\n%s%s", parts[STATE_ON], parts[STATE_OFF],
				    parts[STATE_SKIPPED], parts[STATE_DEAD],
				    strstr(parts[STATE_DEAD], "BRA") ? "\tNOP\n" : "");
	return arena_printf(arena, "%s%s%s\tEXIT\n", parts[STATE_ON], parts[STATE_OFF],
			    parts[STATE_SKIPPED]);
}

/*
 * Amounts are digits of a number: if all weights are below the base, the count shows the weight of
 * each feature. Features that do not fit into one listing are left for the next one.
 */
static const char *construct(struct analysis *a, const struct wish *wishes, size_t count)
{
	size_t found, used = 0, total = 0, amount = 1, base = 2;
	struct open_feature *open = open_features(a, wishes, count, &found);
	size_t amounts[MAX_FEATURES] = { 0 };
	bool exit_open = false;

	for (size_t w = 0; w < count; w++)
		if (weights_most(a->campaign->events[wishes[w].event].weights) + 1 > base)
			base = weights_most(a->campaign->events[wishes[w].event].weights) + 1;
	for (size_t i = 0; i < found; i++) {
		const struct feature *feature = &a->features.items[open[i].feature];

		if (feature->state == STATE_ON && !strcmp(feature->name, "EXIT")) {
			/* there is exactly one EXIT: it takes the first digit */
			exit_open = true;
			amount = base;
			memmove(&open[i], &open[i + 1], (--found - i) * sizeof(*open));
			break;
		}
	}
	while (used < found && used < MAX_FEATURES && total + amount <= MAX_INSTRUCTIONS) {
		amounts[used++] = amount;
		total += amount;
		amount *= base;
	}
	if (!used && !exit_open)
		return NULL;
	return write_listing(a->arena, &a->features, open, amounts, used);
}

/* A name that no benchmark has; a file may have brought some. */
static const char *new_name(struct analysis *a, unsigned int number)
{
	const char *name;

	do
		name = arena_printf(a->arena, "constructed-%u", number++);
	while (campaign_benchmark(a->campaign, name) >= 0);
	return name;
}

/* Adds a constructed benchmark as a point in reserve. Returns it or -1. */
static long add_listing(struct analysis *a, const char *listing, unsigned int number,
			struct proposal *proposal)
{
	const char *name = new_name(a, number);
	const long point = analysis_construct(a, name, listing);

	proposal->point = point;
	proposal->name = name;
	proposal->listing = listing;
	if (point >= 0)
		a->points[point].reserve = true;
	return point;
}

/* --- a second point ------------------------------------------------------------------ */

/* Whether a point is a second one for a wish's rule, which gives another count there. */
static bool confirms(const struct analysis *a, const struct point *point, const struct wish *wish)
{
	uint64_t value = 0, constant;

	return wish->confirm &&
	       benchmark_states(&a->campaign->benchmarks[point->benchmark], wish->event) &&
	       !analysis_expected(a, point, wish->confirm, 1, &value) &&
	       acceptance_is_narrow(&a->campaign->events[wish->event].accept, value) &&
	       !analysis_constant(a, wish->event, NULL, &value, &constant);
}

static bool has_listing(const struct campaign *c)
{
	for (size_t b = 0; b < c->benchmark_count; b++)
		if (c->benchmarks[b].listing && !c->benchmarks[b].quantity_count)
			return true;
	return false;
}

/* A listing with @first and more of all features that the rules count; NULL: not possible. */
static const char *second_listing(struct analysis *a, const struct wish *wishes, size_t count,
				  size_t first)
{
	struct open_feature *use = arena_array(a->arena, a->features.count, sizeof(*use));
	size_t amounts[MAX_FEATURES], used = 0;

	for (size_t f = 0; f < a->features.count && used < MAX_FEATURES; f++) {
		const struct feature *feature = &a->features.items[f];
		bool counts = false;

		for (size_t w = 0; w < count; w++)
			counts |= wishes[w].confirm && rule_weight(wishes[w].confirm, feature) &&
				  analysis_exercises(a, wishes[w].event, f);
		if (!counts || !can_build(a, feature) ||
		    (feature->state == STATE_ON && !strcmp(feature->name, "EXIT")))
			continue;
		use[used].feature = f;
		amounts[used] = first + used;
		used++;
	}
	return used && has_listing(a->campaign) ?
		       write_listing(a->arena, &a->features, use, amounts, used) :
		       NULL;
}

/* Rules for which a point is a second one. */
static size_t confirmed(const struct analysis *a, const struct point *point,
			const struct wish *wishes, size_t count)
{
	size_t rules = 0;

	for (size_t w = 0; w < count; w++)
		rules += confirms(a, point, &wishes[w]);
	return rules;
}

/* The unmeasured point that is a second one for most rules, or a constructed one. */
static int propose_second(struct analysis *a, const struct wish *wishes, size_t count,
			  unsigned int number, struct proposal *proposal)
{
	size_t best = 0;

	for (size_t p = 0; p < a->point_count; p++) {
		const size_t helps =
			a->points[p].reserve ? confirmed(a, &a->points[p], wishes, count) : 0;

		if (helps <= best)
			continue;
		best = helps;
		*proposal = (struct proposal){ .point = (long)p, .name = a->points[p].name };
	}
	/* the first amounts may be those that were measured, or too few for the acceptance */
	for (size_t first = LEAST_AMOUNT; !best && first <= MOST_AMOUNT; first += first / 3 + 1) {
		const char *listing = second_listing(a, wishes, count, first);
		const long point = listing ? add_listing(a, listing, number, proposal) : 0;

		if (point < 0)
			return -1;
		if (!listing || confirmed(a, &a->points[point], wishes, count))
			return 0;
		a->point_count--;
		a->campaign->benchmark_count--;
		*proposal = (struct proposal){ .point = -1 };
	}
	return 0;
}

int split_propose(struct analysis *a, const struct wish *wishes, size_t count, unsigned int number,
		  struct proposal *proposal)
{
	const char *listing = count ? construct(a, wishes, count) : NULL;
	size_t best = 0;

	*proposal = (struct proposal){ .point = -1 };
	for (size_t p = 0; p < a->point_count; p++) {
		struct proposal with = { 0 };
		size_t score;

		if (!a->points[p].reserve)
			continue;
		score = split_score(a, &a->points[p], wishes, count, &with);
		if (score > best) {
			best = score;
			*proposal = with;
			proposal->point = (long)p;
			proposal->name = a->points[p].name;
		}
	}
	if (listing) {
		struct proposal with = { 0 }, made = { 0 };
		const long point = add_listing(a, listing, number, &made);

		if (point < 0)
			return -1;
		if (split_score(a, &a->points[point], wishes, count, &with) > best) {
			made.splits = with.splits;
			made.split_count = with.split_count;
			*proposal = made;
		} else {
			/* will not be measured */
			a->point_count--;
			a->campaign->benchmark_count--;
		}
	}
	return proposal->point < 0 ? propose_second(a, wishes, count, number, proposal) : 0;
}
