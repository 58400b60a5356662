// SPDX-License-Identifier: GPL-2.0
/*
 * Packing of counters into passes, and rotation of passes.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "pcounter_sched.h"

/**
 * DOC: scheduling
 *
 * A pass is a set of counters that the hardware can count at the same time:
 *
 * - a domain has four counters, but only one mode: either one counter that adds integers
 *   (EVENT_B4, EVENT_B6), or up to four SIMPLE ones;
 * - a TPC has four MP counters;
 * - a multiplexer has one value. PCOUNTER and MP counters share one multiplexer.
 *   no special case.
 *
 * The requested counters are packed into as few passes as possible: first fit, counters with the
 * most conflicts first, followed by a search if the number exceeds a lower bound. SEARCH_STEPS
 * bounds the search: it finds the minimum for common sets, and ends in time for unusual ones.
 * Finally each counter joins all other passes that have room for it, so that one without conflicts
 * counts permanently.
 *
 * The pass with the shortest running time is next. With equal slices that is round-robin; with
 * unequal ones no pass is more than a slice behind another.
 *
 * A new schedule begins with a pass of the counter that has waited longest. Otherwise sessions that
 * start and stop faster than passes rotate would keep the schedule in its first pass.
 */

/* limit of placements tried in the search for fewer passes */
#define SEARCH_STEPS	20000

bool pcounter_pass_fits(const struct pcounter_pass *pass, const struct pcounter_recipe *recipe)
{
	const u8 d = recipe->domain;
	unsigned int i;

	if (recipe->kind == PCOUNTER_KIND_MP) {
		if (pass->mp == MP_SLOTS)
			return false;
	} else if (recipe->mode != PCOUNTER_SIMPLE) {
		if (pass->integer[d] || pass->simple[d])
			return false;
	} else if (pass->integer[d] || pass->simple[d] == PCOUNTER_SLOTS) {
		return false;
	}

	for (i = 0; i < PCOUNTER_RECIPE_MUXES; i++) {
		const u8 mux = recipe->mux[i];

		if (mux && pass->mux_users[mux] && pass->mux_value[mux] != recipe->value[i])
			return false;
	}
	return true;
}

/* adds (@by 1) or removes (@by -1) a counter */
static void change(struct pcounter_pass *pass, const struct pcounter_recipe *recipe,
		   unsigned int counter, int by)
{
	const u64 bit = 1ull << (counter % 64);
	unsigned int i;

	if (by > 0)
		pass->members.bits[counter / 64] |= bit;
	else
		pass->members.bits[counter / 64] &= ~bit;
	if (recipe->kind == PCOUNTER_KIND_MP)
		pass->mp += by;
	else if (recipe->mode != PCOUNTER_SIMPLE)
		pass->integer[recipe->domain] += by;
	else
		pass->simple[recipe->domain] += by;
	for (i = 0; i < PCOUNTER_RECIPE_MUXES; i++) {
		const u8 mux = recipe->mux[i];

		if (!mux)
			continue;
		pass->mux_users[mux] += by;
		pass->mux_value[mux] = recipe->value[i];
	}
}

static bool is_exclusive(const struct pcounter_recipe *r)
{
	return r->kind == PCOUNTER_KIND_DOMAIN && r->mode != PCOUNTER_SIMPLE;
}

static bool same_domain(const struct pcounter_recipe *a, const struct pcounter_recipe *b)
{
	return a->kind == b->kind && (a->kind == PCOUNTER_KIND_MP || a->domain == b->domain);
}

/* whether two counters can never share a pass */
static bool conflict(const struct pcounter_recipe *a, const struct pcounter_recipe *b)
{
	unsigned int i, k;

	if (same_domain(a, b) && (is_exclusive(a) || is_exclusive(b)))
		return true;
	for (i = 0; i < PCOUNTER_RECIPE_MUXES; i++)
		for (k = 0; k < PCOUNTER_RECIPE_MUXES; k++)
			if (a->mux[i] && a->mux[i] == b->mux[k] && a->value[i] != b->value[k])
				return true;
	return false;
}

static unsigned int conflicts_of(const struct pcounter_schedule *s,
				 const struct pcounter_recipe *recipes, unsigned int counter)
{
	unsigned int i, n = 0;

	for (i = 0; i < s->wanted; i++)
		n += s->order[i] != counter && conflict(&recipes[counter], &recipes[s->order[i]]);
	return n;
}

/* sorts by number of conflicts, highest first, then by number */
static void sort_wanted(struct pcounter_schedule *s, const struct pcounter_recipe *recipes,
			const struct pcounter_set *wanted)
{
	u8 degree[PCOUNTER_COUNTERS];
	unsigned int i, k;

	s->wanted = 0;
	for (i = 0; i < PCOUNTER_COUNTERS; i++)
		if (pcounter_in_set(wanted, i) && recipes[i].kind)
			s->order[s->wanted++] = i;
	for (i = 0; i < s->wanted; i++)
		degree[s->order[i]] = conflicts_of(s, recipes, s->order[i]);
	for (i = 1; i < s->wanted; i++) {
		const u8 counter = s->order[i];

		for (k = i; k && degree[s->order[k - 1]] < degree[counter]; k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = counter;
	}
}

/* size of a greedy set of counters that all conflict with each other */
static unsigned int clique_of(const struct pcounter_schedule *s,
			      const struct pcounter_recipe *recipes, unsigned int first)
{
	u8 clique[PCOUNTER_COUNTERS] = { s->order[first] };
	unsigned int i, k, n = 1;

	for (i = 0; i < s->wanted; i++) {
		for (k = 0; k < n; k++)
			if (s->order[i] == clique[k] ||
			    !conflict(&recipes[s->order[i]], &recipes[clique[k]]))
				break;
		if (k == n)
			clique[n++] = s->order[i];
	}
	return n;
}

/* lower bound of the number of passes */
static unsigned int lower_bound(const struct pcounter_schedule *s,
				const struct pcounter_recipe *recipes)
{
	unsigned int simple[PCOUNTER_DOMAINS] = {}, exclusive[PCOUNTER_DOMAINS] = {};
	unsigned int i, mp = 0, bound = 1;

	for (i = 0; i < s->wanted; i++) {
		const struct pcounter_recipe *r = &recipes[s->order[i]];

		if (r->kind == PCOUNTER_KIND_MP)
			mp++;
		else if (is_exclusive(r))
			exclusive[r->domain]++;
		else
			simple[r->domain]++;
		bound = max(bound, clique_of(s, recipes, i));
	}
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		bound = max(bound, exclusive[i] +
				   (simple[i] + PCOUNTER_SLOTS - 1) / PCOUNTER_SLOTS);
	return max(bound, (mp + MP_SLOTS - 1) / MP_SLOTS);
}

static void clear_passes(struct pcounter_schedule *s)
{
	memset(s->passes, 0, s->wanted * sizeof(s->passes[0]));
	s->count = 0;
}

static void first_fit(struct pcounter_schedule *s, const struct pcounter_recipe *recipes)
{
	unsigned int i, p;

	clear_passes(s);
	for (i = 0; i < s->wanted; i++) {
		const struct pcounter_recipe *r = &recipes[s->order[i]];

		for (p = 0; p < s->count && !pcounter_pass_fits(&s->passes[p], r); p++)
			;
		change(&s->passes[p], r, s->order[i], 1);
		s->count = max(s->count, p + 1);
	}
}

/* search for an assignment of the counters to @limit passes, with at most @steps tries */
static bool search(struct pcounter_schedule *s, const struct pcounter_recipe *recipes,
		   unsigned int limit, unsigned int *steps)
{
	/* number of passes in use before each counter was placed: all empty ones are equivalent */
	u8 used[PCOUNTER_COUNTERS + 1] = {};
	unsigned int i = 0, p = 0;

	clear_passes(s);
	while (i < s->wanted) {
		const struct pcounter_recipe *r = &recipes[s->order[i]];
		const unsigned int last = min_t(unsigned int, used[i] + 1, limit);

		while (p < last && !pcounter_pass_fits(&s->passes[p], r))
			p++;
		if (!*steps)
			return false;
		--*steps;
		if (p < last) {
			change(&s->passes[p], r, s->order[i], 1);
			s->assigned[i] = p;
			used[i + 1] = max_t(unsigned int, used[i], p + 1);
			i++;
			p = 0;
			continue;
		}
		if (!i--)
			return false;
		change(&s->passes[s->assigned[i]], &recipes[s->order[i]], s->order[i], -1);
		p = s->assigned[i] + 1;
	}
	s->count = used[i];
	return true;
}

/* add counters to all passes that have room for them */
static void fill(struct pcounter_schedule *s, const struct pcounter_recipe *recipes)
{
	unsigned int i, p;

	for (p = 0; p < s->count; p++)
		for (i = 0; i < s->wanted; i++) {
			/* start with a different counter in each pass */
			const unsigned int counter = s->order[(i + p) % s->wanted];

			if (!pcounter_in_set(&s->passes[p].members, counter) &&
			    pcounter_pass_fits(&s->passes[p], &recipes[counter]))
				change(&s->passes[p], &recipes[counter], counter, 1);
		}
}

static void begin_slice(struct pcounter_schedule *s, unsigned int pass)
{
	unsigned int i;

	s->current_pass = pass;
	s->slice++;
	for (i = 0; i < PCOUNTER_COUNTERS; i++)
		if (pcounter_in_set(&s->passes[pass].members, i))
			s->last_slice[i] = s->slice;
}

/* a pass of the counter that has waited longest */
static unsigned int longest_waiting(const struct pcounter_schedule *s)
{
	unsigned int i, first = s->order[0], pass = 0;

	for (i = 1; i < s->wanted; i++)
		if (s->last_slice[s->order[i]] < s->last_slice[first])
			first = s->order[i];
	while (!pcounter_in_set(&s->passes[pass].members, first))
		pass++;
	return pass;
}

/**
 * pcounter_schedule_make() - pack counters into passes
 * @s: the schedule; only the counters' last slices are kept
 * @recipes: PCOUNTER_COUNTERS of them
 * @wanted: counters; those without a recipe are ignored
 *
 * Takes a bounded time and does not allocate memory.
 */
void pcounter_schedule_make(struct pcounter_schedule *s, const struct pcounter_recipe *recipes,
			    const struct pcounter_set *wanted)
{
	unsigned int steps = SEARCH_STEPS;
	unsigned int limit, best;

	sort_wanted(s, recipes, wanted);
	s->current_pass = 0;
	s->count = 0;
	if (!s->wanted) {
		memset(&s->passes[0], 0, sizeof(s->passes[0]));
		return;
	}

	first_fit(s, recipes);
	best = s->count;
	for (limit = lower_bound(s, recipes); limit < best; limit++)
		if (search(s, recipes, limit, &steps))
			break;
	if (limit >= best)
		first_fit(s, recipes);
	fill(s, recipes);
	begin_slice(s, longest_waiting(s));
}

/**
 * pcounter_schedule_ran() - account for running time of the current pass
 * @s: the schedule
 * @ns: running time
 */
void pcounter_schedule_ran(struct pcounter_schedule *s, u64 ns)
{
	if (s->count)
		s->passes[s->current_pass].ran_ns += ns;
}

/**
 * pcounter_schedule_rotate() - select the next pass
 * @s: the schedule
 *
 * Returns: true if the pass has changed.
 */
bool pcounter_schedule_rotate(struct pcounter_schedule *s)
{
	const unsigned int before = s->current_pass;
	unsigned int i, next;

	if (s->count < 2)
		return false;
	/* among equal ones, the next after the current pass */
	next = (before + 1) % s->count;
	for (i = 2; i <= s->count; i++) {
		const unsigned int p = (before + i) % s->count;

		if (s->passes[p].ran_ns < s->passes[next].ran_ns)
			next = p;
	}
	begin_slice(s, next);
	return next != before;
}
