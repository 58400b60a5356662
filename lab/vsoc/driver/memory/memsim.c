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
 * Return: the time at the first hop, never 0.
 */
static u64 hop_times(const struct memsim *sim, const struct memsim_flow *f, u64 *times)
{
	u64 ps = 0;

	for (u32 i = f->hop_count; i--;) {
		const struct memsim_hop *hop = &f->hops[i];
		const u8 servers[] = { hop->forward, hop->back };

		if (hop->cache != MEMSIM_NONE) {
			const struct memsim_cache *c = &sim->caches[hop->cache];

			ps = part(ps, f->missed) +
			     part(sim->servers[c->memory].full_ps, f->written) +
			     part(sim->servers[c->far].full_ps, f->written_far);
		}
		for (u32 k = 0; k < 2; k++) {
			const struct memsim_server *s;

			if (servers[k] == MEMSIM_NONE)
				continue;
			s = &sim->servers[servers[k]];
			ps += (s->flows ? s->unit_ps + s->wait_ps : service_ps(s, 1)) + s->full_ps;
		}
		ps += 2 * hop->wire_ps;
		times[i] = ps;
	}
	return max(ps, 1ULL);
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
	for (u32 hop = 0; hop < MEMSIM_HOPS; hop++) {
		f->since_ps[hop] = sim->now_ps;
		f->ahead_ps[hop] = 0;
	}
	/* no better guess than that all lines that can go to the memory do */
	f->use_count = 0;
	set_shares(sim, f, waits_for_memory(f) ? ONE : 0, 0, 0);
}

/* chooses the lines that closed loops of the flows' windows pass at the current waiting times */
static void set_lines(struct memsim *sim)
{
	for (u32 i = 0; i < sim->busy_count; i++)
		sim->servers[sim->busy[i]].load_ps = 0;
	for (u32 i = 0; i < sim->active_count; i++) {
		struct memsim_flow *f = &sim->flows[sim->active[i]];
		const struct memsim_use *use, *end = f->uses + f->use_count;
		u64 times[MEMSIM_HOPS], ps = hop_times(sim, f, times), room;

		/* of those that stood, no more than the window's pass at once */
		room = min_t(u64, max(f->room, 0LL), f->window * (sim->dt_ps + ps));
		f->lines = min(f->waiting, div64_u64(room, ps));
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

/*
 * The stream that needs most of a server, and how many of its lines pass the server. NULL: lines
 * are written back, which is known from the run before only.
 */
static const struct memsim_flow *busiest(const struct memsim *sim, u8 server, u64 *lines)
{
	const struct memsim_flow *found = NULL;

	*lines = 0;
	for (u32 i = 0; i < sim->active_count; i++) {
		const struct memsim_flow *f = &sim->flows[sim->active[i]];
		u64 pass = 0;

		if (f->written || f->written_far)
			return NULL;
		for (u32 k = 0; k < f->use_count; k++)
			if (f->uses[k].server == server)
				pass += part(f->lines, f->uses[k].share);
		if (!found || pass > *lines) {
			found = f;
			*lines = pass;
		}
	}
	return found;
}

/*
 * The mean wait for a memory that is not saturated. While two streams have their rows in one bank,
 * each line of either may need its row opened: then a queue grows, unless the memory serves that,
 * too, and is served afterwards. That lasts until the faster stream leaves its row. Nobody waits
 * longer than when the faster stream's window is what bounds it.
 */
static void set_wait(struct memsim *sim, u8 server)
{
	struct memsim_server *s = &sim->servers[server];
	const u64 all = div64_u64(s->load_ps, max(s->line_ps, 1ULL));
	const u64 time_ps = s->units * sim->dt_ps;
	u64 most, apart, together, row_ps, wait, times[MEMSIM_HOPS], room, bound;
	const struct memsim_flow *f;

	s->wait_ps = 0;
	if (!s->row_ps || s->flows < 2 || !all || is_overloaded(sim, s))
		return;
	f = busiest(sim, server, &most);
	if (!f || !most)
		return;
	/* loads in 1/1024 */
	apart = div64_u64(all * service_ps(s, 1) * 1024, time_ps);
	together = apart + div64_u64(2 * (all - most) * s->row_ps * 1024,
				     time_ps * (s->flows - 1));
	if (together <= 1024)
		return;
	row_ps = div64_u64(MEMSIM_ROW_LINES * time_ps, most);
	wait = row_ps / 1024 * (together - 1024) / (4 * MEMSIM_BANKS) * s->flows * (s->flows - 1);
	wait += wait * (together - 1024) / (1024 - min(apart, 1000ULL));
	/* what is left to the faster stream */
	room = sim->dt_ps - min(sim->dt_ps - 1, (all - most) * s->line_ps);
	bound = div64_u64(f->window * sim->dt_ps, max(div64_u64(room, s->line_ps), 1ULL));
	s->wait_ps = min(wait, bound - min(bound, hop_times(sim, f, times)));
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

static s64 signed_part(s64 n, u32 share)
{
	const s64 one = ONE;

	return n / one * share + n % one * share / one;
}

/*
 * Counts the time that requests were in flight in this run: that of the lines that passed, and of
 * those that stand, which had @left requests × ps of the window since. What was counted of these
 * in earlier runs is not counted again when they pass; if lines took more than the window had
 * (@left is negative), the rest is counted in later runs. Each hop has its share of a request's
 * time, and no more than the hop before, the first one no more than the window.
 */
static void count_times(const struct memsim *sim, struct memsim_flow *f, const u64 *lines,
			const u64 *times, s64 left)
{
	const s64 window = f->window, standing = left < 0 ? window : min_t(s64, f->waiting, window);
	const s64 most = window * max(times[0], 1ULL);
	const s64 stand = div_s64(left, f->window) * standing;
	const s64 keep = div_s64(min(left, most), f->window) * standing;
	s64 room = window * sim->dt_ps;
	u32 reach = ONE;

	for (u32 i = 0; i < f->hop_count; i++) {
		const u32 share = div64_u64(part(times[i], reach) * ONE, max(times[0], 1ULL));
		const s64 ps = lines[i] * times[i] + signed_part(stand, share) - f->ahead_ps[i];

		room = clamp_t(s64, ps, 0, room);
		f->count.outstanding_ps[i] += room;
		f->count.latency_ps[i] += room;
		f->ahead_ps[i] = signed_part(keep, share) + room - ps;
		if (f->hops[i].cache != MEMSIM_NONE)
			reach = part(reach, f->missed);
	}
	/* lines whose time was not counted yet are in flight */
	f->in_flight = f->ahead_ps[0] < 0 ?
		min_t(u64, 1 + div64_u64(-f->ahead_ps[0], max(times[0], 1ULL)), window) : 0;
	f->count.left[0] = f->count.entered[0] - f->in_flight;
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
	u64 times[MEMSIM_HOPS], lines[MEMSIM_HOPS] = { 0 }, ps;

	pass_lines(sim, f, lines);
	/* what really missed may take more time than the window had */
	ps = hop_times(sim, f, times);
	count_times(sim, f, lines, times, f->room - (s64)(f->lines * ps));
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

		if (!f->waiting && !f->in_flight)
			continue;
		sim->active[sim->active_count++] = i;
		f->room = (s64)(f->window * sim->dt_ps) + f->ahead_ps[0];
		for (u32 k = 0; k < f->use_count; k++)
			if (!sim->servers[f->uses[k].server].flows++)
				sim->busy[sim->busy_count++] = f->uses[k].server;
	}
	for (u32 i = 0; i < sim->busy_count; i++) {
		struct memsim_server *s = &sim->servers[sim->busy[i]];

		s->wait_ps = 0;
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
	set_lines(sim);
	for (u32 i = 0; i < sim->busy_count; i++)
		set_wait(sim, sim->busy[i]);
	set_lines(sim);
	/* twice: the second server that is saturated may relieve the first one */
	for (u32 i = 0; i < 2 * sim->busy_count; i++)
		solve(sim, &sim->servers[sim->busy[i % sim->busy_count]]);
	sim->now_ps += ps;
	for (u32 i = 0; i < sim->busy_count; i++) {
		struct memsim_server *s = &sim->servers[sim->busy[i]];

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
		f->in_flight = 0;
		f->count.left[0] = f->count.entered[0];
	}
	f->count.offered -= dropped;
	return dropped;
}
