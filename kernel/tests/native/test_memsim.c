// SPDX-License-Identifier: GPL-2.0
/*
 * The memory system of the virtual SoC against queueing theory and an LRU stack written separately;
 * test_route.c has its law on all paths.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "memory/memsim_core.h"
#include "test.h"

enum { LINK, BANKS, DRAM, LINK_BACK };

static struct memsim sim;
static struct memsim_exact exact;
static u64 tags[1 << 14];
/* what the requests themselves took, recorded at their ends */
static u64 own_ps[MEMSIM_HOPS], own_count;

static void record(void *data, const struct memsim_flow *flow, const struct memsim_request *r,
		   u64 now_ps)
{
	own_ps[0] += now_ps - r->enter_ps[0];
	own_count++;
}

static void begin(bool with_exact)
{
	memset(&sim, 0, sizeof(sim));
	memset(&exact, 0, sizeof(exact));
	memset(own_ps, 0, sizeof(own_ps));
	own_count = 0;
	sim.servers[LINK] = (struct memsim_server){ .service_ps = 2000, .units = 1 };
	sim.servers[LINK_BACK] = (struct memsim_server){ .service_ps = 2000, .units = 1 };
	sim.servers[BANKS] = (struct memsim_server){ .service_ps = 4000, .units = 4 };
	sim.servers[DRAM] =
		(struct memsim_server){ .service_ps = 12000, .row_ps = 18000, .units = 4 };
	for (unsigned int i = 0; i < MEMSIM_CACHES; i++) {
		sim.caches[i] = (struct memsim_cache){
			.lines = 1 << 12, .memory = DRAM, .far = LINK, .sets = 1 << 8, .ways = 16,
		};
		if (with_exact)
			sim.caches[i].tags = tags + i * (1 << 12);
	}
	memset(tags, 0, sizeof(tags));
	if (!with_exact)
		return;
	memsim_exact_init(&exact);
	exact.done = record;
	sim.exact = &exact;
}

/* a flow through one server */
static struct memsim_flow single(u8 server, u32 window, u32 wire_ps)
{
	return (struct memsim_flow){
		.hops = { { server, MEMSIM_NONE, MEMSIM_NONE, wire_ps } },
		.hop_count = 1, .window = window,
	};
}

/* link, cache, memory */
static struct memsim_flow full(enum memsim_op op, u64 line, u32 window)
{
	return (struct memsim_flow){
		.hops = { { LINK, LINK_BACK, MEMSIM_NONE, 15000 },
			  { BANKS, MEMSIM_NONE, 0, 5000 },
			  { DRAM, MEMSIM_NONE, MEMSIM_NONE, 14000 } },
		.hop_count = 3, .op = op, .holder = MEMSIM_HOLDER_CPU, .line = line,
		.window = window,
	};
}

/* lets all requests of a flow complete */
static void finish(unsigned int slot)
{
	while (memsim_pending(&sim, slot))
		memsim_run(&sim, 1000000);
}

/* --- queues --------------------------------------------------------------- */

/* arrivals at a fixed rate: no wait below the rate of service, a wait that grows linearly above */
TEST(dd1_has_its_closed_form)
{
	const u64 n = 200;

	for (u64 gap_ps = 1000; gap_ps <= 4000; gap_ps += 500) {
		const struct memsim_flow flow = single(LINK, MEMSIM_WINDOW_MAX, 7000);
		const u64 late_ps = gap_ps < 2000 ? 2000 - gap_ps : 0;

		begin(true);
		memsim_open(&sim, 0, &flow);
		memsim_offer(&sim, 0, n, n * gap_ps);
		finish(0);
		check_eq(sim.flows[0].count.latency_ps[0],
			 n * (2000 + 2 * 7000) + late_ps * n * (n - 1) / 2);
	}
}

/* mean wait in M/D/1: load / (2 (1 - load)) service times; 2 % at 400,000 requests */
TEST(md1_waits_as_long_as_theory_says)
{
	static const double loads[] = { 0.3, 0.5, 0.7, 0.8 };
	struct random_state random = { test_seed() };
	const u64 n = 400000;

	for (unsigned int i = 0; i < ARRAY_SIZE(loads); i++) {
		const struct memsim_flow flow = single(LINK, MEMSIM_WINDOW_MAX, 0);
		double wait, theory = loads[i] / (2 * (1 - loads[i])) * 2000;

		begin(true);
		memsim_open(&sim, 0, &flow);
		for (u64 k = 0; k < n; k++) {
			const double u = ldexp(random_u64(&random) >> 11, -53);

			memsim_offer(&sim, 0, 1, 0);
			memsim_run(&sim, (u64)(-log(1 - u) * 2000 / loads[i]));
		}
		finish(0);
		wait = (double)sim.flows[0].count.latency_ps[0] / n - 2000;
		check(fabs(wait / theory - 1) < 0.02);
	}
}

/* a closed loop of N requests: min(N / round trip, rate of service), in both modes */
TEST(closed_loop_reaches_the_smaller_bound)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		for (u32 window = 1; window <= 64; window *= 2) {
			const struct memsim_flow flow = single(LINK, window, 15000);
			const u64 ps = 100000000, round_ps = 2000 + 2 * 15000;
			const u64 bound = min(window * ps / round_ps, ps / 2000);
			u64 passed;

			begin(mode);
			memsim_open(&sim, 0, &flow);
			memsim_offer(&sim, 0, 1000000, 0);
			memsim_run(&sim, ps);
			passed = sim.flows[0].count.left[0];
			check(passed + window + bound / 500 >= bound);
			check(passed <= bound + window + bound / 500);
			/* full: as many in flight as the window allows */
			if (window * 2000 > round_ps)
				check(llabs((s64)(sim.flows[0].count.outstanding_ps[0] / ps) -
					    (s64)window) <= 1 + window / 50);
		}
	}
}

/* Little's law on each hop, and what the requests themselves measured */
TEST(integral_of_occupancy_is_the_sum_of_latencies)
{
	struct random_state random = { test_seed() };

	begin(true);
	for (unsigned int round = 0; round < 50; round++) {
		u64 sum_ps = 0, done = 0;

		for (unsigned int i = 0; i < 6; i++) {
			const struct memsim_flow flow =
				full(random_below(&random, MEMSIM_OPS),
				     random_below(&random, 1 << 13), 1 + random_below(&random, 64));

			memsim_open(&sim, i, &flow);
			memsim_offer(&sim, i, random_below(&random, 3000),
				     random_below(&random, 20000000));
		}
		memsim_run(&sim, random_below(&random, 10000000));
		for (unsigned int i = 0; i < 6; i++)
			check_eq(sim.flows[i].in_flight,
				 sim.flows[i].count.entered[0] - sim.flows[i].count.left[0]);
		for (unsigned int i = 0; i < 6; i++)
			finish(i);
		for (unsigned int i = 0; i < 6; i++) {
			const struct memsim_count *c = &sim.flows[i].count;

			check_eq(c->left[0], c->offered);
			for (unsigned int hop = 0; hop < 3; hop++) {
				check_eq(c->left[hop], c->entered[hop]);
				check_eq(c->outstanding_ps[hop], c->latency_ps[hop]);
			}
			sum_ps += c->latency_ps[0];
			done += c->left[0];
		}
		check_eq(sum_ps, own_ps[0]);
		check_eq(done, own_count);
	}
}

/* lines that the memory got and gave are those that the caches missed and wrote back */
TEST(each_line_is_counted_once_at_each_hop)
{
	struct random_state random = { test_seed() };

	for (unsigned int mode = 0; mode < 2; mode++) {
		u64 passed = 0, deep = 0, back = 0, dirty = 0;

		begin(mode);
		for (unsigned int round = 0; round < 40; round++) {
			for (unsigned int i = 0; i < 8; i++) {
				const struct memsim_flow flow =
					full(i % MEMSIM_OPS, random_below(&random, 1 << 13), 64);

				memsim_open(&sim, i, &flow);
				memsim_offer(&sim, i, random_below(&random, 4000), 1000000);
			}
			memsim_run(&sim, random_below(&random, 20000000));
			for (unsigned int i = 0; i < 8; i++)
				finish(i);
		}
		for (unsigned int i = 0; i < 8; i++) {
			const struct memsim_count *c = &sim.flows[i].count;

			check_eq(c->offered, c->left[0]);
			check_eq(c->left[1], c->left[0]);
			if (i % MEMSIM_OPS == MEMSIM_READ || i % MEMSIM_OPS == MEMSIM_ATOMIC)
				check_eq(c->left[2] + c->lookup.hits, c->left[1]);
			else
				check_eq(c->left[2], 0);
			passed += c->left[0];
			deep += c->left[2];
			back += c->lookup.writebacks;
			dirty += c->lookup.far_writebacks;
		}
		check_eq(dirty, 0);
		check_eq(sim.servers[BANKS].requests, passed);
		check_eq(sim.servers[DRAM].requests, deep + back);
	}
}

/* lines and their time in flight of several flows that compete for the banks and rows of memory */
static void compete(unsigned int flows, unsigned int place, u64 *passed, u64 *ps)
{
	for (unsigned int i = 0; i < flows; i++) {
		const struct memsim_flow flow = {
			.hops = { { BANKS, MEMSIM_NONE, MEMSIM_NONE, 5000 },
				  { DRAM, MEMSIM_NONE, MEMSIM_NONE, 14000 } },
			.hop_count = 2, .line = ((u64)(place * 8 + i) << 24) + 777 * place * i,
			.window = 8 + 4 * i,
		};

		memsim_open(&sim, i, &flow);
		memsim_offer(&sim, i, 1000000, 0);
	}
	for (unsigned int k = 0; k < 20; k++)
		memsim_run(&sim, 10000000);
	for (unsigned int i = 0; i < flows; i++) {
		*passed += sim.flows[i].count.left[1];
		*ps += sim.flows[i].count.outstanding_ps[1];
	}
}

/* open rows in coarse mode are a mean over all places of streams; 10 % */
TEST(coarse_mode_agrees_with_exact_mode)
{
	for (unsigned int flows = 1; flows <= 6; flows++) {
		u64 passed[2] = { 0 }, ps[2] = { 0 };

		for (unsigned int place = 0; place < 20; place++) {
			for (unsigned int mode = 0; mode < 2; mode++) {
				begin(mode);
				compete(flows, place, &passed[mode], &ps[mode]);
			}
		}
		check(fabs((double)passed[0] / passed[1] - 1) < 0.1);
		check(fabs(((double)ps[0] / passed[0]) / ((double)ps[1] / passed[1]) - 1) < 0.1);
	}
}

/*
 * A full server serves a flow in proportion to its window, beside others of large windows, in runs
 * that are longer and shorter than the wait for it; 5 %. The window is in flight all the time.
 */
static void share(bool with_exact, unsigned int window, u64 run_ps)
{
	const u64 others = 7 * MEMSIM_WINDOW_MAX, ps = 2000000000;
	const struct memsim_count *count = &sim.flows[7].count;

	begin(with_exact);
	for (unsigned int i = 0; i < 8; i++) {
		const struct memsim_flow flow = single(LINK, i < 7 ? MEMSIM_WINDOW_MAX : window,
						       5000);

		memsim_open(&sim, i, &flow);
		memsim_offer(&sim, i, 10000000, 0);
	}
	for (unsigned int i = 0; i < ps / run_ps; i++)
		memsim_run(&sim, run_ps);
	check(fabs((double)count->left[0] * (others + window) / (window * ps / 2000) - 1) < 0.05);
	check(fabs((double)count->outstanding_ps[0] / (window * ps) - 1) < 0.01);
}

TEST(each_flow_has_the_share_of_its_window)
{
	for (unsigned int window = 1; window <= 64; window *= 8) {
		share(true, window, 10000000);
		for (u64 run_ps = 100000; run_ps <= 100000000; run_ps *= 10)
			share(false, window, run_ps);
	}
}

/*
 * Nobody writes faster than the memory takes what is written back. Coarse mode divides its time
 * between readers and writers by what they did in the run before; their sum is within 10 %.
 */
TEST(memory_bounds_what_is_written)
{
	for (unsigned int writers = 1; writers <= 3; writers++) {
		u64 passed[2] = { 0 }, read[2] = { 0 };

		for (unsigned int mode = 0; mode < 2; mode++) {
			begin(mode);
			for (unsigned int i = 0; i < 3; i++) {
				const struct memsim_flow flow =
					full(i < writers ? MEMSIM_WRITE : MEMSIM_READ,
					     ((u64)i << 24) + 777 * i, 32);

				memsim_open(&sim, i, &flow);
				memsim_offer(&sim, i, 10000000, 0);
			}
			for (unsigned int k = 0; k < 200; k++)
				memsim_run(&sim, 100000000);
			for (unsigned int i = 0; i < 3; i++) {
				passed[mode] += sim.flows[i].count.left[0];
				read[mode] += sim.flows[i].count.left[2];
			}
			check(sim.servers[DRAM].busy_ps <=
			      (sim.now_ps + 1000000) * sim.servers[DRAM].units);
		}
		check(fabs((double)passed[0] / passed[1] - 1) < 0.1);
		if (writers < 3)
			check(fabs((double)read[0] / read[1] - 1) < 0.75);
	}
}

/* a flow that ends takes no time, and its server no more than its window: others do not notice */
TEST(flows_that_end_leave_others_alone)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		const struct memsim_flow flow = single(LINK, 64, 5000);
		const struct memsim_flow other = single(LINK, 1, 5000);
		const struct memsim_count *count = &sim.flows[0].count;
		const struct memsim_count *ended = &sim.flows[1].count;

		begin(mode);
		memsim_open(&sim, 0, &flow);
		memsim_offer(&sim, 0, 1000000, 0);
		for (unsigned int i = 1; i <= 20; i++) {
			memsim_open(&sim, 1, &other);
			memsim_offer(&sim, 1, 100000, 0);
			memsim_run(&sim, 50000000);
			memsim_drain(&sim, 1);
			check_eq(sim.now_ps, i * 50000000ULL);
			check_eq(memsim_pending(&sim, 1), 0);
			check_eq(ended->offered, ended->left[0]);
		}
		check(fabs((double)count->left[0] / (sim.now_ps / 2000 * 64 / 65) - 1) < 0.02);
		check(fabs((double)count->outstanding_ps[0] / (64 * sim.now_ps) - 1) < 0.02);
		check(ended->outstanding_ps[0] <= sim.now_ps + 20 * 12000);
	}
}

/* also while nobody passes a memory that is busy with something else for many runs */
TEST(window_bounds_what_is_in_flight)
{
	for (unsigned int window = 1; window <= 16; window *= 4) {
		const struct memsim_flow flow = full(MEMSIM_READ, 1ULL << 40, window);

		begin(false);
		memsim_open(&sim, 0, &flow);
		memsim_offer(&sim, 0, 1 << 24, 0);
		sim.servers[DRAM].credit_ps = -500000000;
		for (unsigned int i = 0; i < 100; i++) {
			memsim_run(&sim, 20000000);
			check(fabs((double)sim.flows[0].count.outstanding_ps[0] /
				   (window * sim.now_ps) - 1) < 0.02);
		}
	}
}

/* --- cache ---------------------------------------------------------------- */

/* the oracle: a list of lines, most recently used first; a hit is a distance below the ways */
struct stack {
	u64 lines[1 << 12];
	u32 count, ways;
};

static bool stack_access(struct stack *s, u64 line)
{
	u32 i;

	for (i = 0; i < s->count && s->lines[i] != line; i++)
		;
	const bool hit = i < s->ways && i < s->count;

	if (i == s->count && s->count < ARRAY_SIZE(s->lines))
		s->count++;
	memmove(s->lines + 1, s->lines, min(i, s->count - 1) * sizeof(u64));
	s->lines[0] = line;
	return hit;
}

static void compare_with_stacks(u32 sets, u32 ways)
{
	struct random_state random = { test_seed() };
	struct stack *stacks = calloc(sets, sizeof(*stacks));
	struct memsim_lookup found = { 0 };
	u64 hits = 0;

	begin(true);
	sim.caches[0].sets = sets;
	sim.caches[0].ways = ways;
	for (unsigned int i = 0; i < 60000; i++) {
		const u64 line = random_below(&random, 1 + random_below(&random, 3 * sets * ways));
		struct stack *s = &stacks[line % sets];

		s->ways = ways;
		hits += stack_access(s, line);
		memsim_access(&sim.caches[0], line, 1, MEMSIM_READ, 0, &found);
		check_eq(found.hits, hits);
		check_eq(found.fills, i + 1 - hits);
	}
	free(stacks);
	check(hits > 1000 && hits < 59000);
}

TEST(one_set_hits_like_an_lru_stack)
{
	compare_with_stacks(1, 64);
}

TEST(each_set_hits_like_an_lru_stack)
{
	compare_with_stacks(32, 8);
}

/* ranges are single lines in their order, for a cache of one set */
TEST(ranges_hit_like_an_lru_stack)
{
	struct random_state random = { test_seed() };
	static struct stack s;
	struct memsim_lookup found = { 0 }, lines = { 0 };
	static u64 set[512];
	u64 hits = 0, total = 0;

	memset(&s, 0, sizeof(s));
	s.ways = 512;
	begin(false);
	sim.caches[0].lines = 512;
	sim.caches[1] = (struct memsim_cache){ .tags = set, .sets = 1, .ways = 512 };
	memset(set, 0, sizeof(set));
	for (unsigned int i = 0; i < 600; i++) {
		/* aligned starts: so few ranges that none has to make room for another */
		const u64 first = 32 * random_below(&random, 40);
		const u64 count = 1 + random_below(&random, 400);
		const enum memsim_op op = random_below(&random, 3);
		const u8 holder = 1 + random_below(&random, 2);

		for (u64 k = 0; k < count; k++)
			hits += stack_access(&s, first + k);
		total += count;
		memsim_access(&sim.caches[0], first, count, op, holder, &found);
		for (u64 k = 0; k < count; k++)
			memsim_access(&sim.caches[1], first + k, 1, op, holder, &lines);
		check_eq(found.hits, hits);
		check_eq(found.fills, total - hits);
		check_eq(found.writebacks, lines.writebacks);
		check_eq(found.local_snoops, lines.local_snoops);
		check_eq(found.external_snoops, lines.external_snoops);
		check_eq(found.external_evicts, lines.external_evicts);
		check(sim.caches[0].used <= 512);
	}
	check(hits > 1000 && found.writebacks > 1000);
}

/* lines without neighbours, each a range of its own, cost a large range nothing */
TEST(single_lines_do_not_evict_a_large_range)
{
	struct memsim_lookup found = { 0 };

	begin(false);
	memsim_access(&sim.caches[0], 0, 2048, MEMSIM_WRITE, 0, &found);
	for (unsigned int i = 0; i < 500; i++)
		memsim_access(&sim.caches[0], 1000000 + 1000 * i, 1, MEMSIM_READ, 0, &found);
	memsim_access(&sim.caches[0], 0, 2048, MEMSIM_READ, 0, &found);
	check_eq(found.hits, 2048);
	check_eq(found.writebacks, 0);
}

/* --- core ----------------------------------------------------------------- */

/* the published copy: 524,288 elements, two arrays of 32,768 lines, 8,192 lines of L2 */
TEST(copy_has_the_events_of_table_6)
{
	const u64 n = 524288, lines = 32768, left = 8192;
	/* the line of the loop's variables, and what is outside the loop */
	const u64 want[MEMSIM_EVENTS] = {
		2 * lines + 1, 7 * n + 2, 5 * n + 1, 2 * n + 1, 21 * n + 8, 7 * n + 2,
		2 * lines + 1, 2 * lines + 1, 4 * (2 * lines + 1 + lines - left),
	};
	static struct memsim_core core;

	for (u32 counting = 0; counting < MEMSIM_L2_COUNTINGS; counting++) {
		memset(&core, 0, sizeof(core));
		core.counting = counting;
		memsim_core_init(&core);
		for (u64 i = 0; i < n; i += 4096)
			memsim_core_copy(&core, i, 4096, i + 4096 == n);
		for (u32 i = 0; i < MEMSIM_EVENTS; i++)
			if (i != MEMSIM_L2D_CACHE)
				check_eq(core.events[i], want[i]);
		check_eq(core.evictions, lines - left);
		if (counting == MEMSIM_L2_REFILLS)
			check_eq(core.events[MEMSIM_L2D_CACHE], want[MEMSIM_L2D_CACHE]);
		else if (counting == MEMSIM_L2_SPECULATIVE)
			check_eq(core.events[MEMSIM_L2D_CACHE], 2 * want[MEMSIM_L2D_CACHE]);
		else
			/* but stored lines that are left in the L1 */
			check(core.events[MEMSIM_L2D_CACHE] >= 3 * lines - 260);
	}
}
