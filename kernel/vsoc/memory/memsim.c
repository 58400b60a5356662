// SPDX-License-Identifier: GPL-2.0
/*
 * Flows of the memory system, and its coarse mode.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "memsim.h"

/* capacity that a server may have left over, or use in advance */
#define SLACK_PS	1000000LL
/* highest load for which the wait of M/D/1 is computed, in 1/1024 */
#define MAX_LOAD	1000
#define SOLVE_STEPS	40

/* requests that pass the cache if it does not have the line */
static bool waits_for_memory(const struct memsim_flow *f)
{
	return f->op == MEMSIM_READ || f->op == MEMSIM_ATOMIC;
}

void memsim_open(struct memsim *sim, unsigned int slot, const struct memsim_flow *flow)
{
	struct memsim_flow *f = &sim->flows[slot];
	const struct memsim_count count = f->count;

	*f = *flow;
	f->count = count;
	f->waiting = 0;
	f->in_flight = 0;
	/* a hop's counts are of different paths, but nobody is there now */
	for (u32 hop = 0; hop < MEMSIM_HOPS; hop++)
		f->since_ps[hop] = sim->now_ps;
	f->credit = U64_MAX;
	/* no better guess than that all lines that can go to the memory do */
	f->passed = 1;
	f->passed_misses = waits_for_memory(f);
}

void memsim_offer(struct memsim *sim, unsigned int slot, u64 lines, u64 ps)
{
	struct memsim_flow *f = &sim->flows[slot];

	if (!lines)
		return;
	f->count.offered += lines;
	f->waiting += lines;
	f->fresh = lines;
	f->next_ps = sim->now_ps;
	f->interval_ps = div64_u64(ps, lines);
}

void memsim_drain(struct memsim *sim, unsigned int slot)
{
	u64 ps = SLACK_PS;

	while (memsim_pending(sim, slot)) {
		memsim_run(sim, ps);
		ps *= 2;
	}
}

/* --- coarse mode ---------------------------------------------------------- */

/*
 * Mean time of a line in a unit. Streams close each other's rows: an open row survives each other
 * stream in 11 of 12 cases, as in exact mode (within a tenth, for up to 8 streams).
 */
static u64 service_ps(const struct memsim_server *s, u32 flows)
{
	u64 open = 1024 - 1024 / MEMSIM_ROW_LINES;

	if (!s->row_ps)
		return s->service_ps;
	while (flows-- > 1)
		open = open * 11 / 12;
	return s->service_ps + s->row_ps * (1024 - open) / 1024;
}

static u64 part(u64 lines, u64 of, u64 total)
{
	return total ? mul_u64_u64_div_u64(lines, of, total) : 0;
}

/* calls @add for each server with the requests that @lines of a flow bring it */
static void each_load(struct memsim *sim, const struct memsim_flow *f, u64 lines,
		      void (*add)(struct memsim_server *server, u64 lines))
{
	u64 deep = lines;

	for (u32 i = 0; lines && i < f->hop_count; i++) {
		const struct memsim_hop *hop = &f->hops[i];

		if (hop->forward != MEMSIM_NONE)
			add(&sim->servers[hop->forward], deep);
		if (hop->back != MEMSIM_NONE)
			add(&sim->servers[hop->back], deep);
		if (hop->cache != MEMSIM_NONE) {
			const struct memsim_cache *cache = &sim->caches[hop->cache];

			add(&sim->servers[cache->memory],
			    part(lines, f->passed_writebacks, f->passed));
			add(&sim->servers[cache->far], part(lines, f->passed_far, f->passed));
			deep = part(lines, f->passed_misses, f->passed);
		}
	}
}

static void add_flow(struct memsim_server *s, u64 lines)
{
	s->flows += !!lines;
}

static void add_load(struct memsim_server *s, u64 lines)
{
	s->load_ps += lines * s->line_ps;
}

static void add_requests(struct memsim_server *s, u64 lines)
{
	s->requests += lines;
	s->busy_ps += lines * s->line_ps * s->units;
	s->credit_ps -= lines * s->line_ps;
}

/* times of a request at each hop, from its arrival to its answer; returns that at the first */
static u64 hop_times(const struct memsim *sim, const struct memsim_flow *f, u64 misses, u64 lines,
		     bool loaded, u64 *times)
{
	u64 ps = 0;

	for (u32 i = f->hop_count; i--;) {
		const struct memsim_hop *hop = &f->hops[i];
		const u8 servers[] = { hop->forward, hop->back };

		if (hop->cache != MEMSIM_NONE)
			ps = part(ps, misses, lines);
		ps += 2 * hop->wire_ps;
		for (u32 k = 0; k < 2; k++) {
			const struct memsim_server *s;

			if (servers[k] == MEMSIM_NONE)
				continue;
			s = &sim->servers[servers[k]];
			ps += service_ps(s, loaded ? s->flows : 1);
			ps += loaded ? s->wait_ps + s->full_ps : 0;
		}
		if (times)
			times[i] = ps;
	}
	return ps;
}

u64 memsim_unloaded_ps(const struct memsim *sim, const struct memsim_flow *flow, u64 misses,
		       u64 lines)
{
	return hop_times(sim, flow, misses, lines, false, NULL);
}

/* requests × time of its window that a flow may make up for, because runs end between requests */
static u64 slack(const struct memsim *sim, const struct memsim_flow *f)
{
	return f->window * memsim_unloaded_ps(sim, f, f->passed_misses, f->passed);
}

/* chooses the lines that closed loops of the flows' windows pass at the current waiting times */
static void set_lines(struct memsim *sim)
{
	for (u32 i = 0; i < MEMSIM_SERVERS; i++)
		sim->servers[i].load_ps = 0;
	for (u32 i = 0; i < MEMSIM_FLOWS; i++) {
		struct memsim_flow *f = &sim->flows[i];
		u64 ps;

		f->lines = 0;
		if (!f->waiting)
			continue;
		ps = max(hop_times(sim, f, f->passed_misses, f->passed, true, NULL), 1ULL);
		f->lines = min(f->waiting, div64_u64(f->window * sim->dt_ps +
						     min(f->credit, slack(sim, f)), ps));
		each_load(sim, f, f->lines, add_load);
	}
}

static bool is_overloaded(const struct memsim *sim, const struct memsim_server *s)
{
	return s->load_ps && (s64)s->load_ps > s->credit_ps + (s64)sim->dt_ps;
}

/* finds the waiting time at which the loops through a server just fill it */
static void solve(struct memsim *sim, struct memsim_server *s)
{
	u64 low = s->full_ps, high = max(low, 1ULL);

	if (!is_overloaded(sim, s))
		return;
	for (u32 i = 0; i < SOLVE_STEPS && is_overloaded(sim, s); i++) {
		low = high;
		high *= 2;
		s->full_ps = high;
		set_lines(sim);
	}
	while (high - low > 1 + low / 1024) {
		s->full_ps = low + (high - low) / 2;
		set_lines(sim);
		if (is_overloaded(sim, s))
			low = s->full_ps;
		else
			high = s->full_ps;
	}
	s->full_ps = high;
	set_lines(sim);
}

/* the mean wait in M/D/1 with this load, for a server that is not saturated */
static void set_wait(const struct memsim *sim, struct memsim_server *s)
{
	u64 load;

	s->wait_ps = 0;
	if (s->full_ps || !sim->dt_ps)
		return;
	load = min_t(u64, div64_u64(s->load_ps * 1024, sim->dt_ps), MAX_LOAD);
	s->wait_ps = div64_u64(load * service_ps(s, s->flows), 2 * (1024 - load));
}

/* the lines of a flow pass: looks them up and counts them */
static void pass_flow(struct memsim *sim, struct memsim_flow *f)
{
	const struct memsim_lookup before = f->count.lookup;
	u64 times[MEMSIM_HOPS], deep = f->lines, misses = f->lines, ps;

	for (u32 i = 0; i < f->hop_count; i++) {
		if (f->hops[i].cache == MEMSIM_NONE)
			continue;
		memsim_access(&sim->caches[f->hops[i].cache], f->line, f->lines, f->op, f->holder,
			      &f->count.lookup);
		misses -= f->count.lookup.hits - before.hits;
		if (!waits_for_memory(f))
			misses = 0;
	}
	if (f->lines) {
		f->passed = f->lines;
		f->passed_misses = misses;
		f->passed_writebacks = f->count.lookup.writebacks - before.writebacks;
		f->passed_far = f->count.lookup.far_writebacks - before.far_writebacks;
	}
	/* what really missed may take more time than the window had */
	ps = hop_times(sim, f, f->passed_misses, f->passed, true, times);
	f->credit = min(f->credit, slack(sim, f)) + f->window * sim->dt_ps;
	f->credit = min(f->credit - min(f->credit, f->lines * ps), slack(sim, f));
	for (u32 i = 0; i < f->hop_count; i++) {
		f->count.entered[i] += deep;
		f->count.left[i] += deep;
		f->count.outstanding_ps[i] += deep * times[i];
		f->count.latency_ps[i] += deep * times[i];
		if (f->hops[i].cache != MEMSIM_NONE)
			deep = misses;
	}
	f->line += f->lines;
	f->waiting -= f->lines;
	each_load(sim, f, f->lines, add_requests);
}

static void run_coarse(struct memsim *sim, u64 ps)
{
	struct memsim_server *s;

	sim->dt_ps = ps;
	for (s = sim->servers; s < sim->servers + MEMSIM_SERVERS; s++) {
		s->flows = 0;
		s->full_ps = 0;
	}
	for (u32 i = 0; i < MEMSIM_FLOWS; i++)
		each_load(sim, &sim->flows[i], sim->flows[i].waiting, add_flow);
	for (s = sim->servers; s < sim->servers + MEMSIM_SERVERS; s++)
		s->line_ps = s->units ? div_u64(service_ps(s, s->flows), s->units) : 0;
	set_lines(sim);
	/* twice: the second server that is saturated may relieve the first one */
	for (u32 i = 0; i < 2 * MEMSIM_SERVERS; i++)
		solve(sim, &sim->servers[i % MEMSIM_SERVERS]);
	for (s = sim->servers; s < sim->servers + MEMSIM_SERVERS; s++) {
		set_wait(sim, s);
		s->credit_ps += ps;
	}
	for (u32 i = 0; i < MEMSIM_FLOWS; i++)
		if (sim->flows[i].waiting)
			pass_flow(sim, &sim->flows[i]);
	for (s = sim->servers; s < sim->servers + MEMSIM_SERVERS; s++)
		s->credit_ps = min(s->credit_ps, SLACK_PS);
	sim->now_ps += ps;
}

void memsim_run(struct memsim *sim, u64 ps)
{
	if (sim->exact)
		memsim_run_exact(sim, sim->now_ps + ps);
	else
		run_coarse(sim, ps);
}
