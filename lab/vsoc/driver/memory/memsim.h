/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory system with state: queues and caches that requests of a line pass. No locks, no kernel
 * services; it never allocates.
 *
 * A flow is a sequence of requests of one initiator along one path, a list of hops. A request
 * passes the forward server of each hop, turns around at the last one or where the cache has the
 * line, and passes the back servers. At most @window requests of a flow are in flight. All times
 * are picoseconds of the simulation's own clock, which memsim_run() advances.
 *
 * Exact mode simulates each request as events. Coarse mode, the default, treats what was offered
 * for a run as a fluid: it solves for the waiting time at which closed loops of @window requests
 * just fill a saturated server, adds the mean wait of streams that meet in the banks of a memory
 * below saturation, and keeps the cache as at most MEMSIM_EXTENTS ranges of lines, the smallest of
 * which makes room for another. Its cost does not depend on the number of lines. Both count each
 * line once, at each hop. In both, no hop has more requests in flight than @window.
 *
 * Arrivals are regular: other servers than memories have no wait below saturation in coarse mode.
 * Beside writers that fill the memory, a reader waits up to two fifths less than in exact mode.
 */
#ifndef _MEMSIM_H_
#define _MEMSIM_H_

#include <linux/bits.h>
#include <linux/types.h>

#define MEMSIM_LINE_BYTES	64
#define MEMSIM_FLOWS		16
#define MEMSIM_HOPS		12
#define MEMSIM_USES		(2 * MEMSIM_HOPS + 2 * MEMSIM_CACHES)
#define MEMSIM_SERVERS		48
#define MEMSIM_CACHES		2
#define MEMSIM_UNITS		4	/* parallel units of a server, by line address */
#define MEMSIM_BANKS		8	/* open rows of a DRAM channel; their number has 3 bits */
#define MEMSIM_ROW_LINES	32	/* lines of a row in a channel */
#define MEMSIM_POSTED		16	/* lines to be written that a unit of a server holds */
#define MEMSIM_EXTENTS		96	/* ranges of lines in a coarse cache */
#define MEMSIM_WINDOW_MAX	256
#define MEMSIM_REQUESTS		(MEMSIM_FLOWS * MEMSIM_WINDOW_MAX) /* in flight, in exact mode */
#define MEMSIM_NONE		0xff	/* no server, no cache */

/* bit of a line number: the line is not in the DRAM beside the cache, but behind @far */
#define MEMSIM_FAR_LINE		BIT_ULL(58)

enum memsim_op {
	MEMSIM_READ,
	MEMSIM_WRITE,	/* whole lines; allocates without reading them */
	MEMSIM_ATOMIC,	/* read and modified in the cache */
	MEMSIM_DATALESS,	/* clean and invalidate */
	MEMSIM_OPS,
};

/* whose caches may have the line, too; the last one that accessed it */
enum memsim_holder {
	MEMSIM_HOLDER_NONE,
	MEMSIM_HOLDER_CPU,
	MEMSIM_HOLDER_EXTERNAL,
};

/* a queue with @units servers of equal, fixed service time */
struct memsim_server {
	u32 service_ps;		/* of a line in one unit; 0: the server does not exist */
	u32 row_ps;		/* in addition, if another row of the bank is open; 0: no rows */
	u8 units;		/* a power of two, up to MEMSIM_UNITS */
	/* totals */
	u64 requests;
	u64 busy_ps;		/* sum of all units */
	/* exact mode */
	u64 free_ps[MEMSIM_UNITS];
	u64 row[MEMSIM_UNITS][MEMSIM_BANKS];
	/* coarse mode */
	s64 credit_ps;		/* capacity left over, or used in advance */
	u64 used_ps;		/* end of the last run with flows */
	u64 last_full_ps;	/* @full_ps when it was last saturated */
	/* coarse mode, in this run */
	u64 line_ps;		/* capacity that a line takes: of the server, not of a unit */
	u64 load_ps;		/* by the lines that pass */
	u64 full_ps;		/* wait with which closed loops just fill the server */
	u32 flows;		/* that use it; 0: none, and the rest is not set */
	u64 unit_ps;		/* mean service time of a line in a unit */
	u64 wait_ps;		/* mean wait below saturation */
};

/* what an access of a cache caused, in lines */
struct memsim_lookup {
	u64 hits;
	u64 fills;		/* lines allocated */
	u64 writebacks;		/* dirty lines written to the DRAM */
	u64 far_writebacks;	/* to what is behind the cache's @far server */
	u64 local_snoops;	/* lines that CPUs may have, requested by others */
	u64 external_snoops;	/* lines that others may have, requested by somebody else */
	u64 external_evicts;	/* lines that others may have, replaced */
	u64 victim;		/* the last line written back, in exact mode */
};

struct memsim_extent {
	u64 first;
	u64 lines;
	u8 holder;
	bool dirty;
};

/* write-back, allocating, least recently used */
struct memsim_cache {
	u64 lines;		/* capacity */
	u8 memory, far;		/* servers that write-backs use */
	/* exact mode, by set, most recently used first; NULL: coarse mode */
	u64 *tags;
	u32 sets, ways;		/* their product is @lines */
	/* coarse mode: fully associative, least recently used first */
	struct memsim_extent extents[MEMSIM_EXTENTS];
	u32 extent_count;
	u64 used;		/* lines of all extents */
};

struct memsim_hop {
	u8 forward, back;	/* servers, or MEMSIM_NONE */
	u8 cache;		/* in which the line is looked up behind @forward */
	u32 wire_ps;		/* of a request, and again of its answer */
};

/* totals of a flow; they only grow, but memsim_drain() takes from @offered */
struct memsim_count {
	u64 offered;
	u64 entered[MEMSIM_HOPS];	/* requests by hop */
	u64 left[MEMSIM_HOPS];
	u64 outstanding_ps[MEMSIM_HOPS]; /* integral of their difference over time */
	/* sum of the requests' own times at a hop; in coarse mode the integral again */
	u64 latency_ps[MEMSIM_HOPS];
	struct memsim_lookup lookup;
};

/* a server that requests of a flow, or their write-backs, need */
struct memsim_use {
	u32 share;		/* for each line, in 1/65536 */
	u8 server;
};

struct memsim_flow {
	struct memsim_hop hops[MEMSIM_HOPS];
	u8 hop_count;		/* 0: the flow is not in use */
	u8 op;			/* enum memsim_op */
	u8 holder;		/* enum memsim_holder of the initiator */
	u32 window;		/* 1..MEMSIM_WINDOW_MAX */
	u64 line;		/* next to be issued */
	u64 waiting;		/* offered, not yet issued */
	u64 in_flight;
	struct memsim_count count;
	/* exact mode */
	u64 fresh;		/* of @waiting, those with a time of their own */
	u64 next_ps;		/* of the next of them */
	u64 interval_ps;
	u64 since_ps[MEMSIM_HOPS];	/* time of the last change of entered or left */
	/* coarse mode */
	/*
	 * requests × ps at each hop that were counted, and that no line took yet: requests stand;
	 * below 0: lines took it, and it was not counted yet
	 */
	s64 ahead_ps[MEMSIM_HOPS];
	u64 lines;		/* that pass in this run */
	s64 room;		/* the window over this run and what was counted ahead */
	struct memsim_use uses[MEMSIM_USES];
	u32 use_count;
	/* of the last run: misses, and lines written back to either server for a line */
	u32 missed, written, written_far;
};

struct memsim_request {
	u64 at_ps;		/* of its next event */
	u64 order;		/* of equal times */
	u64 line;
	u64 enter_ps[MEMSIM_HOPS];
	u8 flow, hop;
	u8 deepest;		/* hop that it reached */
	bool back;
};

/* requests in flight, exact mode only */
struct memsim_exact {
	struct memsim_request requests[MEMSIM_REQUESTS];
	u16 heap[MEMSIM_REQUESTS];	/* the earliest first, then the unused ones */
	u32 count;
	u64 order;
	/* called at the end of each request, if set */
	void (*done)(void *data, const struct memsim_flow *flow, const struct memsim_request *r,
		     u64 now_ps);
	void *data;
};

struct memsim {
	u64 now_ps;
	u64 dt_ps;		/* length of this run, coarse mode */
	/* coarse mode: servers with flows, and flows with requests */
	u8 busy[MEMSIM_SERVERS], active[MEMSIM_FLOWS];
	u32 busy_count, active_count;
	struct memsim_server servers[MEMSIM_SERVERS];
	struct memsim_cache caches[MEMSIM_CACHES];
	struct memsim_flow flows[MEMSIM_FLOWS];
	struct memsim_exact *exact;	/* NULL: coarse mode */
};

/* Prepares @exact, zeroed memory of the caller, for @sim->exact. */
void memsim_exact_init(struct memsim_exact *exact);

/* Begins a flow whose path, op, holder, window and line are set; its slot must be idle. */
void memsim_open(struct memsim *sim, unsigned int slot, const struct memsim_flow *flow);

/* The flow issues @lines more, evenly spread over the next @ps. */
void memsim_offer(struct memsim *sim, unsigned int slot, u64 lines, u64 ps);

/* Advances the clock by @ps. */
void memsim_run(struct memsim *sim, u64 ps);

/*
 * Ends a flow: its requests in flight complete at once, without time, the others are never issued
 * and are no longer offered. Returns the number of those.
 */
u64 memsim_drain(struct memsim *sim, unsigned int slot);

/* requests of a flow that are not completed */
static inline u64 memsim_pending(const struct memsim *sim, unsigned int slot)
{
	return sim->flows[slot].waiting + sim->flows[slot].in_flight;
}

/* parts of the simulation */
void memsim_run_exact(struct memsim *sim, u64 until_ps);
void memsim_drain_exact(struct memsim *sim, unsigned int slot);
u64 memsim_server_pass(struct memsim_server *server, u64 line, u64 now_ps);
/* exact mode: the cache has the line */
bool memsim_has(const struct memsim_cache *cache, u64 line);
void memsim_access(struct memsim_cache *cache, u64 line, u64 lines, enum memsim_op op, u8 holder,
		   struct memsim_lookup *out);

#endif /* _MEMSIM_H_ */
