// SPDX-License-Identifier: GPL-2.0
/*
 * Exact mode: each request is a sequence of events, in the order of time.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "memsim.h"

void memsim_exact_init(struct memsim_exact *exact)
{
	for (u32 i = 0; i < MEMSIM_REQUESTS; i++)
		exact->heap[i] = i;
}

/* --- heap ----------------------------------------------------------------- */

static bool earlier(const struct memsim_exact *x, u32 a, u32 b)
{
	const struct memsim_request *p = &x->requests[x->heap[a]], *q = &x->requests[x->heap[b]];

	return p->at_ps < q->at_ps || (p->at_ps == q->at_ps && p->order < q->order);
}

static void swap_entries(struct memsim_exact *x, u32 a, u32 b)
{
	const u16 entry = x->heap[a];

	x->heap[a] = x->heap[b];
	x->heap[b] = entry;
}

static void sift_up(struct memsim_exact *x, u32 i)
{
	for (; i && earlier(x, i, (i - 1) / 2); i = (i - 1) / 2)
		swap_entries(x, i, (i - 1) / 2);
}

/* the entry at the top was changed */
static void sift_down(struct memsim_exact *x)
{
	u32 i = 0, child;

	while ((child = 2 * i + 1) < x->count) {
		if (child + 1 < x->count && earlier(x, child + 1, child))
			child++;
		if (!earlier(x, child, i))
			break;
		swap_entries(x, i, child);
		i = child;
	}
}

/* --- requests ------------------------------------------------------------- */

/* scattered, so that streams with equal offsets are not always in one bank */
static u32 bank_of(u64 row)
{
	row *= 0x9e3779b97f4a7c15ULL;
	return ((row ^ row >> 32) * 0x9e3779b97f4a7c15ULL) >> 61;
}

/* A line passes a server. Returns when it is served. */
u64 memsim_server_pass(struct memsim_server *s, u64 line, u64 now_ps)
{
	const u32 unit = line & (s->units - 1);
	u64 service_ps = s->service_ps;

	if (s->row_ps) {
		const u64 row = div_u64(line, s->units * MEMSIM_ROW_LINES);
		u64 *open = &s->row[unit][bank_of(row)];

		/* 0: no row was opened yet */
		if (*open != row + 1)
			service_ps += s->row_ps;
		*open = row + 1;
	}
	s->free_ps[unit] = max(s->free_ps[unit], now_ps) + service_ps;
	s->busy_ps += service_ps;
	s->requests++;
	return s->free_ps[unit];
}

static u64 pass(struct memsim *sim, u8 server, u64 line, u64 now_ps)
{
	return server == MEMSIM_NONE ? now_ps :
	       memsim_server_pass(&sim->servers[server], line, now_ps);
}

/* the number of requests at a hop is about to change */
static void integrate(struct memsim *sim, struct memsim_flow *f, u32 hop)
{
	f->count.outstanding_ps[hop] += (f->count.entered[hop] - f->count.left[hop]) *
					(sim->now_ps - f->since_ps[hop]);
	f->since_ps[hop] = sim->now_ps;
}

/* Writes a line back. The request that caused it goes on when the server has room to hold it. */
static void write_back(struct memsim *sim, struct memsim_request *r, u8 server, u64 line)
{
	const u64 hold_ps = MEMSIM_POSTED * sim->servers[server].service_ps;
	const u64 end_ps = pass(sim, server, line, sim->now_ps);

	r->at_ps = max(r->at_ps, end_ps - min(end_ps, hold_ps));
}

/* looks a request's line up; returns whether it turns around */
static bool look_up(struct memsim *sim, struct memsim_request *r, const struct memsim_hop *hop)
{
	struct memsim_flow *f = &sim->flows[r->flow];
	struct memsim_cache *c = &sim->caches[hop->cache];
	const struct memsim_lookup before = f->count.lookup;

	memsim_access(c, r->line, 1, f->op, f->holder, &f->count.lookup);
	if (f->count.lookup.writebacks != before.writebacks)
		write_back(sim, r, c->memory, f->count.lookup.victim);
	if (f->count.lookup.far_writebacks != before.far_writebacks)
		write_back(sim, r, c->far, f->count.lookup.victim);
	return f->op == MEMSIM_WRITE || f->op == MEMSIM_DATALESS ||
	       f->count.lookup.hits != before.hits;
}

/*
 * The next event of a request. Forward, it arrives at hop @r->hop. On the way back, it leaves that
 * hop and passes the back server of the one before; false: it left the first hop and is done.
 */
static bool arrive(struct memsim *sim, struct memsim_request *r)
{
	struct memsim_flow *f = &sim->flows[r->flow];
	const struct memsim_hop *hop = &f->hops[r->hop];

	if (!r->back) {
		integrate(sim, f, r->hop);
		f->count.entered[r->hop]++;
		r->enter_ps[r->hop] = sim->now_ps;
		r->deepest = r->hop;
		r->at_ps = pass(sim, hop->forward, r->line, sim->now_ps) + hop->wire_ps;
		r->hop++;
		r->back = r->hop == f->hop_count;
		if (hop->cache != MEMSIM_NONE && look_up(sim, r, hop))
			r->back = true;
		return true;
	}
	if (r->hop <= r->deepest) {
		integrate(sim, f, r->hop);
		f->count.left[r->hop]++;
		f->count.latency_ps[r->hop] += sim->now_ps - r->enter_ps[r->hop];
	}
	if (!r->hop)
		return false;
	hop = &f->hops[--r->hop];
	r->at_ps = pass(sim, hop->back, r->line, sim->now_ps) + hop->wire_ps;
	return true;
}

static void issue(struct memsim *sim, u32 slot)
{
	struct memsim_flow *f = &sim->flows[slot];
	struct memsim_exact *x = sim->exact;
	struct memsim_request *r = &x->requests[x->heap[x->count]];

	if (f->waiting == f->fresh) {
		f->fresh--;
		f->next_ps += f->interval_ps;
	}
	f->waiting--;
	f->in_flight++;
	*r = (struct memsim_request){
		.at_ps = sim->now_ps, .order = x->order++, .line = f->line++, .flow = slot,
	};
	sift_up(x, x->count++);
}

/* the request at @i of the heap is done; the last one takes its place there */
static void end(struct memsim *sim, u32 i)
{
	struct memsim_exact *x = sim->exact;
	const struct memsim_request *r = &x->requests[x->heap[i]];

	sim->flows[r->flow].in_flight--;
	if (x->done)
		x->done(x->data, &sim->flows[r->flow], r, sim->now_ps);
	swap_entries(x, i, --x->count);
}

/* advance the earliest request */
static void advance(struct memsim *sim)
{
	struct memsim_exact *x = sim->exact;
	struct memsim_request *r = &x->requests[x->heap[0]];

	r->order = x->order++;
	if (!arrive(sim, r))
		end(sim, 0);
	sift_down(x);
}

void memsim_drain_exact(struct memsim *sim, unsigned int slot)
{
	struct memsim_exact *x = sim->exact;

	for (u32 i = x->count; i--;) {
		struct memsim_request *r = &x->requests[x->heap[i]];

		if (r->flow != slot)
			continue;
		while (arrive(sim, r))
			;
		end(sim, i);
	}
	for (u32 i = 1; i < x->count; i++)
		sift_up(x, i);
}

/* when the flow can issue its next request */
static u64 issue_ps(const struct memsim *sim, const struct memsim_flow *f)
{
	if (!f->waiting || f->in_flight >= f->window)
		return U64_MAX;
	return f->waiting == f->fresh ? max(f->next_ps, sim->now_ps) : sim->now_ps;
}

void memsim_run_exact(struct memsim *sim, u64 until_ps)
{
	struct memsim_exact *x = sim->exact;

	for (;;) {
		u64 at_ps = x->count ? x->requests[x->heap[0]].at_ps : U64_MAX;
		u32 first = MEMSIM_FLOWS;

		for (u32 i = 0; i < MEMSIM_FLOWS; i++) {
			const u64 ps = issue_ps(sim, &sim->flows[i]);

			if (ps < at_ps) {
				at_ps = ps;
				first = i;
			}
		}
		if (at_ps >= until_ps)
			break;
		sim->now_ps = at_ps;
		if (first < MEMSIM_FLOWS)
			issue(sim, first);
		else
			advance(sim);
	}
	sim->now_ps = until_ps;
	for (u32 i = 0; i < MEMSIM_FLOWS; i++)
		for (u32 hop = 0; hop < sim->flows[i].hop_count; hop++)
			integrate(sim, &sim->flows[i], hop);
}
