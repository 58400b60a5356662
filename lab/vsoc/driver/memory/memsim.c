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
/* longest wait for a full server: nobody makes progress with it */
#define MAX_WAIT_PS	1000000000000ULL
/* shares of the lines of a flow are in 1/ONE */
#define ONE		65536ULL

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

static u64 part(u64 n, u32 share)
{
	return n * share / ONE;
}

/* requests that pass the cache if it does not have the line */
static bool waits_for_memory(const struct memsim_flow *f)
{
	return f->op == MEMSIM_READ || f->op == MEMSIM_ATOMIC;
}

static void add_use(struct memsim_flow *f, u8 server, u32 share)
{
	if (server != MEMSIM_NONE && share)
		f->uses[f->use_count++] = (struct memsim_use){ share, server };
}

/* shares of lines that pass the cache, and for which others are written back */
static void set_shares(const struct memsim *sim, struct memsim_flow *f, u32 missed, u32 written,
		       u32 written_far)
{
	u32 share = ONE;

	if (f->use_count && f->missed == missed && f->written == written &&
	    f->written_far == written_far)
		return;
	f->missed = missed;
	f->written = written;
	f->written_far = written_far;
	f->use_count = 0;
	for (u32 i = 0; i < f->hop_count; i++) {
		const struct memsim_hop *hop = &f->hops[i];

		add_use(f, hop->forward, share);
		add_use(f, hop->back, share);
		if (hop->cache == MEMSIM_NONE)
			continue;
		add_use(f, sim->caches[hop->cache].memory, written);
		add_use(f, sim->caches[hop->cache].far, written_far);
		share = missed;
	}
}

/*
 * Times of a request at each hop, from its arrival to its answer. A line that is written back waits
 * for a full server, as the line that takes its place does.
 * @base_ps: set to the time at the first hop without the waits for full servers.
 * Return: the time at the first hop.
 */
static u64 hop_times(const struct memsim *sim, const struct memsim_flow *f, u64 *times,
		     u64 *base_ps)
{
	u64 ps = 0, base = 0;

	for (u32 i = f->hop_count; i--;) {
		const struct memsim_hop *hop = &f->hops[i];
		const u8 servers[] = { hop->forward, hop->back };

		if (hop->cache != MEMSIM_NONE) {
			const struct memsim_cache *c = &sim->caches[hop->cache];

			base = part(base, f->missed);
			ps = part(ps, f->missed) +
			     part(sim->servers[c->memory].full_ps, f->written) +
			     part(sim->servers[c->far].full_ps, f->written_far);
		}
		for (u32 k = 0; k < 2; k++) {
			const struct memsim_server *s;
			u64 own_ps;

			if (servers[k] == MEMSIM_NONE)
				continue;
			s = &sim->servers[servers[k]];
			own_ps = s->flows ? s->unit_ps + s->wait_ps : service_ps(s, 1);
			base += own_ps;
			ps += own_ps + s->full_ps;
		}
		base += 2 * hop->wire_ps;
		ps += 2 * hop->wire_ps;
		times[i] = ps;
	}
	*base_ps = base;
	return ps;
}

void memsim_open(struct memsim *sim, unsigned int slot, const struct memsim_flow *flow)
{
	struct memsim_flow *f = &sim->flows[slot];
	const struct memsim_count count = f->count;
	u64 times[MEMSIM_HOPS];

	*f = *flow;
	f->count = count;
	f->waiting = 0;
	f->in_flight = 0;
	/* a hop's counts are of different paths, but nobody is there now */
	for (u32 hop = 0; hop < MEMSIM_HOPS; hop++)
		f->since_ps[hop] = sim->now_ps;
	f->stood = 0;
	/* no better guess than that all lines that can go to the memory do */
	f->use_count = 0;
	set_shares(sim, f, waits_for_memory(f) ? ONE : 0, 0, 0);
	hop_times(sim, f, times, &f->base_ps);
	f->credit = f->window * f->base_ps;
}

/* chooses the lines that closed loops of the flows' windows pass at the current waiting times */
static void set_lines(struct memsim *sim)
{
	for (u32 i = 0; i < sim->busy_count; i++)
		sim->servers[sim->busy[i]].load_ps = 0;
	for (u32 i = 0; i < sim->active_count; i++) {
		struct memsim_flow *f = &sim->flows[sim->active[i]];
		const struct memsim_use *use, *end = f->uses + f->use_count;
		u64 ps = f->base_ps, room;

		for (use = f->uses; use < end; use++)
			ps += part(sim->servers[use->server].full_ps, use->share);
		/* of those that stood, no more than the window's pass at once */
		room = min(f->room, f->window * (sim->dt_ps + ps));
		f->lines = min(f->waiting, div64_u64(room, max(ps, 1ULL)));
		for (use = f->uses; use < end; use++) {
			struct memsim_server *s = &sim->servers[use->server];

			s->load_ps += part(f->lines, use->share) * s->line_ps;
		}
	}
}

static bool is_overloaded(const struct memsim *sim, const struct memsim_server *s)
{
	return s->load_ps && (s64)s->load_ps > s->credit_ps + (s64)sim->dt_ps;
}

static bool is_too_short(struct memsim *sim, struct memsim_server *s, u64 ps)
{
	s->full_ps = ps;
	set_lines(sim);
	return is_overloaded(sim, s);
}

/*
 * Finds the waiting time at which the loops through a server just fill it, to 1/256. The search
 * begins at that of an earlier run, as load seldom changes.
 */
static void solve(struct memsim *sim, struct memsim_server *s)
{
	u64 low = s->full_ps, high = clamp(s->last_full_ps, low + 1, MAX_WAIT_PS);
	u64 step = high / 256 + 1;

	if (!is_overloaded(sim, s))
		return;
	if (is_too_short(sim, s, high)) {
		do {
			low = high;
			high += step;
			step *= 8;
		} while (is_too_short(sim, s, high) && high < MAX_WAIT_PS);
	} else {
		while (high > low + step && !is_too_short(sim, s, high - step)) {
			high -= step;
			step *= 8;
		}
		low = max(low, high - min(step, high));
	}
	while (high - low > 1 + low / 256) {
		const u64 middle = low + (high - low) / 2;

		if (is_too_short(sim, s, middle))
			low = middle;
		else
			high = middle;
	}
	is_too_short(sim, s, high);
	s->last_full_ps = high;
}

/* the mean wait in M/D/1 with this load, for a server that is not saturated */
static void set_wait(const struct memsim *sim, struct memsim_server *s)
{
	u64 load;

	s->wait_ps = 0;
	if (s->full_ps || !sim->dt_ps)
		return;
	load = min_t(u64, div64_u64(s->load_ps * 1024, sim->dt_ps), MAX_LOAD);
	s->wait_ps = div64_u64(load * s->unit_ps, 2 * (1024 - load));
}

static void count_requests(struct memsim *sim, u8 server, u64 lines)
{
	struct memsim_server *s;

	if (server == MEMSIM_NONE || !lines)
		return;
	s = &sim->servers[server];
	/* lines that were not expected to come here: the next run has less room for others */
	if (!s->line_ps)
		s->line_ps = div_u64(service_ps(s, 1), s->units);
	s->requests += lines;
	s->busy_ps += lines * s->line_ps * s->units;
	s->credit_ps -= lines * s->line_ps;
}

/* looks the lines of a flow up; returns how many go to the memory */
static u64 look_up(struct memsim *sim, struct memsim_flow *f, struct memsim_cache *cache)
{
	struct memsim_lookup *now = &f->count.lookup;
	const u64 hits = now->hits, writebacks = now->writebacks, far = now->far_writebacks;
	u64 misses, written, written_far;

	memsim_access(cache, f->line, f->lines, f->op, f->holder, now);
	misses = waits_for_memory(f) ? f->lines - (now->hits - hits) : 0;
	written = now->writebacks - writebacks;
	written_far = now->far_writebacks - far;
	count_requests(sim, cache->memory, written);
	count_requests(sim, cache->far, written_far);
	/* a range that made room for another is no share: the servers' credit has it */
	set_shares(sim, f, div64_u64(misses * ONE, f->lines),
		   div64_u64(min(written, f->lines) * ONE, f->lines),
		   div64_u64(min(written_far, f->lines) * ONE, f->lines));
	return misses;
}

/*
 * Counts the time that requests were in flight in this run: that of the lines that passed, and of
 * those that stand, which had @left requests × ps of the window since. What was counted of these
 * in earlier runs is not counted again when they pass. Each hop has its share of a request's time.
 */
static void count_times(struct memsim_flow *f, const u64 *lines, const u64 *times, u64 left)
{
	const u64 standing = min_t(u64, f->waiting, f->window), stood = f->stood;
	const u64 stand = div_u64(left, f->window) * standing;
	u32 reach = ONE;

	f->stood = div_u64(f->credit, f->window) * standing;
	for (u32 i = 0; i < f->hop_count; i++) {
		u64 ps = lines[i] * times[i];

		if (stand != stood) {
			const u32 share = div64_u64(part(times[i], reach) * ONE,
						    max(times[0], 1ULL));

			ps += part(stand, share);
			ps -= min(ps, part(stood, share));
		}
		f->count.outstanding_ps[i] += ps;
		f->count.latency_ps[i] += ps;
		if (f->hops[i].cache != MEMSIM_NONE)
			reach = part(reach, f->missed);
	}
}

/* the lines of a flow pass: looks them up and counts them; @lines: those at each hop */
static void pass_lines(struct memsim *sim, struct memsim_flow *f, u64 *lines)
{
	u64 deep = f->lines;

	for (u32 i = 0; deep && i < f->hop_count; i++) {
		const struct memsim_hop *hop = &f->hops[i];

		lines[i] = deep;
		f->count.entered[i] += deep;
		f->count.left[i] += deep;
		count_requests(sim, hop->forward, deep);
		count_requests(sim, hop->back, deep);
		if (hop->cache != MEMSIM_NONE)
			deep = look_up(sim, f, &sim->caches[hop->cache]);
	}
	f->line += f->lines;
	f->waiting -= f->lines;
}

static void pass_flow(struct memsim *sim, struct memsim_flow *f)
{
	u64 times[MEMSIM_HOPS], lines[MEMSIM_HOPS] = { 0 }, ps, left;

	pass_lines(sim, f, lines);
	/* what really missed may take more time than the window had */
	ps = hop_times(sim, f, times, &f->base_ps);
	left = f->room - min(f->room, f->lines * ps);
	f->credit = min(left, f->window * ps);
	count_times(f, lines, times, left);
}

/* which flows and servers are in use, and how fast they are then */
static void find_busy(struct memsim *sim)
{
	for (u32 i = 0; i < sim->busy_count; i++) {
		sim->servers[sim->busy[i]].flows = 0;
		sim->servers[sim->busy[i]].full_ps = 0;
	}
	sim->busy_count = 0;
	sim->active_count = 0;
	for (u32 i = 0; i < MEMSIM_FLOWS; i++) {
		struct memsim_flow *f = &sim->flows[i];

		if (!f->waiting)
			continue;
		sim->active[sim->active_count++] = i;
		f->room = f->window * sim->dt_ps + f->credit;
		for (u32 k = 0; k < f->use_count; k++)
			if (!sim->servers[f->uses[k].server].flows++)
				sim->busy[sim->busy_count++] = f->uses[k].server;
	}
	for (u32 i = 0; i < sim->busy_count; i++) {
		struct memsim_server *s = &sim->servers[sim->busy[i]];

		s->unit_ps = service_ps(s, s->flows);
		s->line_ps = div_u64(s->unit_ps, s->units);
		/* it was idle for as long as nobody used it */
		s->credit_ps = min(s->credit_ps + (s64)(sim->now_ps - s->used_ps), SLACK_PS);
	}
}

static void run_coarse(struct memsim *sim, u64 ps)
{
	sim->dt_ps = ps;
	find_busy(sim);
	if (sim->busy_count)
		set_lines(sim);
	/* twice: the second server that is saturated may relieve the first one */
	for (u32 i = 0; i < 2 * sim->busy_count; i++)
		solve(sim, &sim->servers[sim->busy[i % sim->busy_count]]);
	sim->now_ps += ps;
	for (u32 i = 0; i < sim->busy_count; i++) {
		struct memsim_server *s = &sim->servers[sim->busy[i]];

		set_wait(sim, s);
		s->credit_ps += ps;
		s->used_ps = sim->now_ps;
	}
	for (u32 i = 0; i < sim->active_count; i++)
		pass_flow(sim, &sim->flows[sim->active[i]]);
	for (u32 i = 0; i < sim->busy_count; i++) {
		struct memsim_server *s = &sim->servers[sim->busy[i]];

		s->credit_ps = min(s->credit_ps, SLACK_PS);
	}
}

void memsim_run(struct memsim *sim, u64 ps)
{
	if (sim->exact)
		memsim_run_exact(sim, sim->now_ps + ps);
	else
		run_coarse(sim, ps);
}

u64 memsim_drain(struct memsim *sim, unsigned int slot)
{
	struct memsim_flow *f = &sim->flows[slot];
	u64 lines[MEMSIM_HOPS], dropped = f->waiting;

	f->waiting = 0;
	if (sim->exact) {
		memsim_drain_exact(sim, slot);
	} else {
		f->lines = min_t(u64, dropped, f->window);
		f->waiting = f->lines;
		dropped -= f->lines;
		pass_lines(sim, f, lines);
	}
	f->count.offered -= dropped;
	return dropped;
}
