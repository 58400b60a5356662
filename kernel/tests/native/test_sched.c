// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler of PCOUNTER: schedules are valid, minimal by exhaustive search and fair.
 */
#include "kernel.h"
#include "nv50_counters.h"
#include "pcounter_sched.h"
#include "test.h"

static const struct pcounter_recipe nv50[PCOUNTER_COUNTERS] = {
#define DOMAIN_RECIPE(position, d, m, e, eop, st, stop, m0, v0, m1, v1) \
	[(position)] = { .kind = PCOUNTER_KIND_DOMAIN, .domain = d, .mode = m, .event = e, \
		       .event_op = eop, .start = st, .start_op = stop, .mux = { m0, m1 }, \
		       .value = { v0, v1 } },
	NV50_PCOUNTER_RECIPES(DOMAIN_RECIPE)
#define MP_RECIPE(position, m, u, s, m0, v0, m1, v1) \
	[PCOUNTER_MP_FIRST + (position)] = { .kind = PCOUNTER_KIND_MP, .mode = m, .unit = u, \
					   .signal = s, .mux = { m0, m1 }, .value = { v0, v1 } },
	NV50_MP_RECIPES(MP_RECIPE)
};

static struct pcounter_recipe random_recipes[PCOUNTER_COUNTERS];
static struct pcounter_schedule schedule;

static unsigned int size(const struct pcounter_set *set)
{
	return hweight64(set->bits[0]) + hweight64(set->bits[1]);
}

/* whether the hardware can count the set, from the recipes alone */
static bool is_valid(const struct pcounter_recipe *recipes, const struct pcounter_set *set)
{
	unsigned int simple[PCOUNTER_DOMAINS] = { 0 }, integer[PCOUNTER_DOMAINS] = { 0 };
	unsigned int mp = 0, i, k, a, b;

	for (i = 0; i < PCOUNTER_COUNTERS; i++) {
		const struct pcounter_recipe *r = &recipes[i];

		if (!pcounter_in_set(set, i))
			continue;
		if (r->kind == PCOUNTER_KIND_MP)
			mp++;
		else if (r->mode == PCOUNTER_SIMPLE)
			simple[r->domain]++;
		else
			integer[r->domain]++;
		for (k = 0; k < i; k++) {
			if (!pcounter_in_set(set, k))
				continue;
			for (a = 0; a < 2; a++)
				for (b = 0; b < 2; b++)
					if (r->mux[a] && r->mux[a] == recipes[k].mux[b] &&
					    r->value[a] != recipes[k].value[b])
						return false;
		}
	}
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		if (simple[i] > 4 || integer[i] > 1 || (integer[i] && simple[i]))
			return false;
	return mp <= 4;
}

static void check_schedule(const struct pcounter_recipe *recipes, const struct pcounter_set *wanted)
{
	struct pcounter_set all = { { 0 } };
	unsigned int p, w;

	for (p = 0; p < schedule.count; p++) {
		const struct pcounter_set *members = &schedule.passes[p].members;

		check(size(members));
		check(is_valid(recipes, members));
		for (w = 0; w < 2; w++)
			all.bits[w] |= members->bits[w];
	}
	check(!memcmp(&all, wanted, sizeof(all)));
}

static void make_random_recipes(struct random_state *r, unsigned int domains)
{
	unsigned int i, k;

	memset(random_recipes, 0, sizeof(random_recipes));
	for (i = 0; i < PCOUNTER_COUNTERS; i++) {
		struct pcounter_recipe *rec = &random_recipes[i];

		rec->kind = i < PCOUNTER_MP_FIRST ? PCOUNTER_KIND_DOMAIN : PCOUNTER_KIND_MP;
		rec->domain = random_below(r, domains);
		rec->mode = i < PCOUNTER_MP_FIRST && !random_below(r, 4) ? PCOUNTER_EVENT_B6 : 0;
		for (k = 0; k < 2; k++) {
			rec->mux[k] = random_below(r, 3) ? 0 : 1 + random_below(r, 4) * 2 + k;
			rec->value[k] = random_below(r, 3);
		}
	}
}

static struct pcounter_set random_wanted(struct random_state *r, unsigned int n,
					 const struct pcounter_recipe *recipes)
{
	struct pcounter_set set = { { 0 } };

	while (size(&set) < n) {
		unsigned int i = random_below(r, PCOUNTER_COUNTERS);

		if (recipes[i].kind)
			pcounter_set_add(&set, i);
	}
	return set;
}

TEST(random_requests_give_valid_schedules)
{
	struct random_state r = { test_seed() };
	unsigned long round, rounds = test_rounds(300);

	for (round = 0; round < rounds; round++) {
		const bool real = round & 1;
		const struct pcounter_recipe *recipes = real ? nv50 : random_recipes;
		struct pcounter_set wanted;

		make_random_recipes(&r, 1 + random_below(&r, PCOUNTER_DOMAINS));
		wanted = random_wanted(&r, 1 + random_below(&r, real ? 53 : 100), recipes);
		pcounter_schedule_make(&schedule, recipes, &wanted);
		check_schedule(recipes, &wanted);
	}
}

/* the smallest number of passes, by trying all partitions */
static unsigned int smallest(const struct pcounter_recipe *recipes, const u8 *counters,
			     unsigned int n, struct pcounter_set *passes, unsigned int used,
			     unsigned int best)
{
	unsigned int p;

	if (used >= best)
		return best;
	if (!n)
		return used;
	for (p = 0; p <= used; p++) {
		const struct pcounter_set before = passes[p];

		pcounter_set_add(&passes[p], *counters);
		if (is_valid(recipes, &passes[p]))
			best = smallest(recipes, counters + 1, n - 1, passes,
					used + (p == used), best);
		passes[p] = before;
	}
	return best;
}

TEST(small_schedules_are_minimal)
{
	struct random_state r = { test_seed() + 1 };
	unsigned long round, rounds = test_rounds(500);
	unsigned int several = 0;

	for (round = 0; round < rounds; round++) {
		const struct pcounter_recipe *recipes = round & 1 ? nv50 : random_recipes;
		struct pcounter_set passes[9] = { { { 0 } } };
		struct pcounter_set wanted;
		unsigned int i, n = 0;
		u8 counters[8];

		make_random_recipes(&r, 1 + random_below(&r, 2));
		wanted = random_wanted(&r, 1 + random_below(&r, 8), recipes);
		for (i = 0; i < PCOUNTER_COUNTERS; i++)
			if (pcounter_in_set(&wanted, i))
				counters[n++] = i;
		pcounter_schedule_make(&schedule, recipes, &wanted);
		check_schedule(recipes, &wanted);
		check_eq(schedule.count, smallest(recipes, counters, n, passes, 0, n + 1));
		several += schedule.count > 1;
	}
	check(several > rounds / 4);
}

/* first fit alone, in the scheduler's order of the counters */
static unsigned int first_fit(const struct pcounter_recipe *recipes)
{
	struct pcounter_set passes[PCOUNTER_COUNTERS] = { { { 0 } } };
	unsigned int i, p, used = 0;

	for (i = 0; i < schedule.wanted; i++)
		for (p = 0;; p++) {
			const struct pcounter_set before = passes[p];

			pcounter_set_add(&passes[p], schedule.order[i]);
			if (is_valid(recipes, &passes[p])) {
				used = max(used, p + 1);
				break;
			}
			passes[p] = before;
		}
	return used;
}

/*
 * Requests for which first fit needs one pass too many: domain, mode, two multiplexers with their
 * values. The recipes are made up: first fit was optimal for 300,000 random requests of 14 to 18
 * counters of the database.
 */
#define S(d, ...)	{ .domain = d, .mode = PCOUNTER_SIMPLE, __VA_ARGS__ }
#define B6(d, ...)	{ .domain = d, .mode = PCOUNTER_EVENT_B6, __VA_ARGS__ }
static const struct {
	struct {
		u8 domain, mode, mux[2], value[2];
	} counters[9];
	u8 count, first, least;
} first_fit_fails[] = {
	{ { B6(1, { 7, 0 }, { 1, 0 }), S(0), B6(0, { 0, 4 }, { 0, 1 }), S(1),
	    S(0, { 3, 8 }, { 1, 0 }), S(1, { 3, 0 }, { 2, 0 }) }, 6, 3, 2 },
	{ { S(1), B6(0), S(0, { 0, 4 }, { 0, 0 }), S(1, { 0, 4 }, { 0, 1 }), S(1), B6(1),
	    S(0) }, 7, 3, 2 },
	{ { B6(0), S(0), B6(1), S(1, { 7, 0 }, { 0, 0 }), S(1), S(1, { 5, 4 }, { 0, 1 }), S(1),
	    S(0, { 0, 4 }, { 0, 0 }) }, 8, 3, 2 },
	{ { S(0), S(0, { 3, 0 }, { 0, 0 }), S(1, { 3, 0 }, { 1, 0 }), B6(0, { 0, 6 }, { 0, 2 }),
	    S(1), B6(1, { 0, 2 }, { 0, 1 }), S(1), S(0) }, 8, 3, 2 },
	{ { S(0, { 7, 6 }, { 0, 2 }), B6(1), S(0), S(1, { 5, 0 }, { 2, 0 }),
	    S(0, { 5, 0 }, { 1, 0 }), B6(0, { 0, 6 }, { 0, 0 }), S(1) }, 7, 3, 2 },
};

TEST(search_finds_less_passes_than_first_fit)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(first_fit_fails); i++) {
		const typeof(*first_fit_fails) *c = &first_fit_fails[i];
		struct pcounter_set wanted = { { 0 } }, passes[9] = { { { 0 } } };
		u8 counters[9];

		memset(random_recipes, 0, sizeof(random_recipes));
		for (k = 0; k < c->count; k++) {
			struct pcounter_recipe *r = &random_recipes[k];

			r->kind = PCOUNTER_KIND_DOMAIN;
			r->domain = c->counters[k].domain;
			r->mode = c->counters[k].mode;
			r->mux[0] = c->counters[k].mux[0];
			r->mux[1] = c->counters[k].mux[1];
			r->value[0] = c->counters[k].value[0];
			r->value[1] = c->counters[k].value[1];
			pcounter_set_add(&wanted, k);
			counters[k] = k;
		}
		pcounter_schedule_make(&schedule, random_recipes, &wanted);
		check_schedule(random_recipes, &wanted);
		/* first fit needs more passes */
		check_eq(first_fit(random_recipes), c->first);
		check_eq(smallest(random_recipes, counters, c->count, passes, 0,
				  c->count + 1), c->least);
		check(c->least < c->first);
		check_eq(schedule.count, c->least);
	}
}

TEST(empty_request_has_no_pass)
{
	const struct pcounter_set none = { { 0 } };
	struct pcounter_set nonsense = { { 0 } };

	pcounter_schedule_make(&schedule, nv50, &none);
	check_eq(schedule.count, 0);
	check(!pcounter_schedule_rotate(&schedule));
	/* positions without a recipe */
	pcounter_set_add(&nonsense, 63);
	pcounter_schedule_make(&schedule, nv50, &nonsense);
	check_eq(schedule.count, 0);
}

/* kernel/source/pcounter/README.md has these numbers */
TEST(all_counters_take_ten_passes)
{
	struct random_state r = { test_seed() };
	struct pcounter_set wanted = random_wanted(&r, 53, nv50);
	unsigned int i, p, passes_of[11] = { 0 };

	pcounter_schedule_make(&schedule, nv50, &wanted);
	check_eq(schedule.count, 10);
	for (i = 0; i < PCOUNTER_COUNTERS; i++) {
		unsigned int n = 0;

		for (p = 0; p < schedule.count; p++)
			n += pcounter_in_set(&schedule.passes[p].members, i);
		passes_of[n]++;
	}
	check_eq(passes_of[0], PCOUNTER_COUNTERS - 53);
	check_eq(passes_of[1], 39);
	/* the others */
	check_eq(passes_of[2] + passes_of[4] + passes_of[5] + passes_of[7], 14);
}

static struct pcounter_set set_of(const u8 *counters, unsigned int n)
{
	struct pcounter_set set = { { 0 } };

	while (n--)
		pcounter_set_add(&set, counters[n]);
	return set;
}

TEST(counter_without_conflict_is_in_every_pass)
{
	static const u8 counters[] = { NV50_PCOUNTER_GPU_BUSY, NV50_PCOUNTER_ROP_BUSY,
				       NV50_PCOUNTER_SHADER_BUSY, NV50_PCOUNTER_GEOM_BUSY };
	struct pcounter_set wanted = set_of(counters, ARRAY_SIZE(counters));
	unsigned int p;

	pcounter_schedule_make(&schedule, nv50, &wanted);
	check_eq(schedule.count, 2);
	for (p = 0; p < 2; p++) {
		check(pcounter_in_set(&schedule.passes[p].members, NV50_PCOUNTER_GPU_BUSY));
		check(pcounter_in_set(&schedule.passes[p].members, NV50_PCOUNTER_ROP_BUSY));
	}
}

/* no pass is ever more than the longest slice behind another */
TEST(passes_run_equally_long)
{
	struct random_state r = { test_seed() + 2 };
	struct pcounter_set wanted = random_wanted(&r, 53, nv50);
	unsigned int i, p, k;

	pcounter_schedule_make(&schedule, nv50, &wanted);
	check(schedule.count > 3);
	/* equal slices: round-robin */
	for (k = 0; k < 3; k++) {
		u64 seen = 0;

		for (i = 0; i < schedule.count; i++) {
			seen |= BIT_ULL(schedule.current_pass);
			pcounter_schedule_ran(&schedule, 1000);
			check(pcounter_schedule_rotate(&schedule));
		}
		check_eq(hweight64(seen), schedule.count);
	}
	for (i = 0; i < 10000; i++) {
		u64 least = U64_MAX, most = 0;

		pcounter_schedule_ran(&schedule, 1 + random_below(&r, 5000));
		pcounter_schedule_rotate(&schedule);
		for (p = 0; p < schedule.count; p++) {
			least = min(least, schedule.passes[p].ran_ns);
			most = max(most, schedule.passes[p].ran_ns);
		}
		check(most - least <= 5000);
	}
}
