/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interfaces between the files of the PCOUNTER source. perfctr calls batch, batch calls collect,
 * collect calls program.
 */
#ifndef _PCOUNTER_INTERNAL_H_
#define _PCOUNTER_INTERNAL_H_

#include <linux/types.h>
#include <drm/drm_perfctr_extension.h>

#include "nv50_counters.h"
#include "pcounter_perfctr.h"
#include "pcounter_record.h"
#include "pcounter_sched.h"

/* no counter, in struct pcounter and struct pcounter_slice */
#define PCOUNTER_NONE		PCOUNTER_COUNTERS
/* domain that has the TPCs' clock */
#define PCOUNTER_MP_DOMAIN	3
#define PCOUNTER_MAX_TPCS	64
#define PCOUNTER_MAX_BLOCKS	(PCOUNTER_DOMAINS + PCOUNTER_MAX_TPCS)
/* a swap takes one clock, and the slowest clock runs at some MHz */
#define PCOUNTER_SWAP_TRIES	100
/* selections without a successful collection before their running times are dropped */
#define PCOUNTER_PENDING_SLICES	8

/* a time span with a constant set of programmed counters */
struct pcounter_slice {
	struct pcounter_set members;		/* the programmed counters */
	u64 ns;					/* length for MP counters */
	u64 domain_ns[PCOUNTER_DOMAINS];	/* length for each domain; 0: it did not count */
	u8 mp_counter[MP_SLOTS];		/* MP counter of each slot, or PCOUNTER_NONE */
	u64 mp_missed_ns[MP_SLOTS];		/* part of @ns without a slot */
};

/* the counters of a device */
struct pcounter {
	struct drm_perfctr_source source;	/* interface to the core */
	struct drm_perfctr_extension extension;	/* likewise */
	struct pcounter_config config;		/* as given by the driver */
	unsigned int tpc_count;			/* elements of @tpc */
	u8 tpc[PCOUNTER_MAX_TPCS];		/* physical index of each TPC */

	/* passes for the requested counters; the hardware may still run an older one */
	struct pcounter_schedule schedule;
	bool running;		/* between start and stop */
	u8 clocks_wanted;	/* mask of domains whose clocks are requested */
	u64 period_ns;		/* shortest session period to record for; 0: do not record */

	/* counter in each slot of a domain, or PCOUNTER_NONE */
	u8 counter[PCOUNTER_DOMAINS][PCOUNTER_SLOTS];
	u32 ctrl[PCOUNTER_DOMAINS];	/* CTRL of each domain */
	u8 recorded;	/* mask of domains in RECORD mode; 0: all are in QUAD mode */
	u8 mp_counter[MP_SLOTS];	/* MP counter of each slot, or PCOUNTER_NONE */
	u64 mp_missed_ns[MP_SLOTS];	/* time in this slice without a slot */

	u64 time_ns;		/* time of the last collection */
	u64 clock_ns;		/* time of the domains' clocks at @time_ns */
	u64 slice_ns;		/* running time of the current pass */
	u64 held_ns;		/* time of the last pcounter_hold() */
	u64 held_clock_ns;	/* time of the domains' clocks at @held_ns */
	u8 late;		/* mask of domains that have not responded yet */
	u64 late_ns;		/* length of their unread period */

	/*
	 * read but not reported, after a failed collection or between a collection and a
	 * selection; the counts themselves are already in the totals.
	 */
	struct drm_perfctr_collection pending;
	u32 pending_states[PCOUNTER_MAX_BLOCKS];	/* of each block */
	/* of packets, by domain: times overlap, so the maximum is reported */
	u64 pending_lost_ns[PCOUNTER_DOMAINS];
	/* ended between a collection and a selection */
	struct pcounter_slice pending_slices[PCOUNTER_PENDING_SLICES];
	unsigned int pending_slice_count;	/* elements of @pending_slices in use */

	struct pcounter_record record[PCOUNTER_DOMAINS];	/* packets of each domain */
	bool in_batch;				/* a batch is being read */
	u64 batch_ns;				/* end of the batch */
	u64 reached_ns[PCOUNTER_DOMAINS];	/* end of the last packet of each domain */
	u64 reported_ns[PCOUNTER_DOMAINS];	/* @reached_ns at the last report */

	/* for debugfs */
	struct {
		u64 collections;
		u64 batches;
		u64 packets;
		u64 full;
		u64 refused;
		u64 saturated;
	} stats;
};

static inline const struct pcounter_pass *pcounter_current_pass(const struct pcounter *p)
{
	return &p->schedule.passes[p->schedule.current_pass];
}

static inline u32 pcounter_rd(struct pcounter *p, u32 reg)
{
	return p->config.ops->read(p->config.priv, reg);
}

static inline void pcounter_wr(struct pcounter *p, u32 reg, u32 value)
{
	p->config.ops->write(p->config.priv, reg, value);
}

/* pcounter_batch.c: record mode */
int pcounter_begin_batch(struct pcounter *p);
u8 pcounter_take_packets(struct pcounter *p, u64 until_ns, u64 *reached_ns);
int pcounter_collect_packets(struct pcounter *p, struct drm_perfctr_collection *c);

/* pcounter_collect.c: QUAD mode and MP counters; reports */
void pcounter_lose(struct pcounter *p, unsigned int block, u64 ns, u32 states);
int pcounter_read_domains(struct pcounter *p, u64 ns);
void pcounter_read_mp(struct pcounter *p, u64 ns);
struct pcounter_slice pcounter_end_slice(struct pcounter *p, const struct pcounter_set *members,
					 u64 ns);
void pcounter_report(struct pcounter *p, unsigned int block, const struct pcounter_slice *slice,
		     u32 states);
void pcounter_report_all(struct pcounter *p, u64 ns, const u32 *states);
void pcounter_take_pending(struct pcounter *p, struct drm_perfctr_collection *c, u32 *states);

/* pcounter_program.c: registers */
extern const struct pcounter_recipe pcounter_recipes[PCOUNTER_COUNTERS];
extern const u64 pcounter_domain_counters[PCOUNTER_DOMAINS];
void pcounter_hold(struct pcounter *p);
void pcounter_release(struct pcounter *p);
unsigned int pcounter_periodic(const struct pcounter *p, unsigned int d);
void pcounter_write_ctrl(struct pcounter *p, unsigned int d, u32 ctrl);
u8 pcounter_program(struct pcounter *p);

#endif /* _PCOUNTER_INTERNAL_H_ */
