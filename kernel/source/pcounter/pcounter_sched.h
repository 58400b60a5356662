/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packing of counters into passes, and rotation of passes. kernel/tests builds it natively, too.
 */
#ifndef _PCOUNTER_SCHED_H_
#define _PCOUNTER_SCHED_H_

#include <linux/types.h>
#include "pcounter_hw.h"

/* counters: positions of PCOUNTER, then those of MP */
#define PCOUNTER_POSITIONS	64
#define PCOUNTER_MP_FIRST	PCOUNTER_POSITIONS
#define PCOUNTER_COUNTERS	(2 * PCOUNTER_POSITIONS)
#define PCOUNTER_RECIPE_MUXES	2
#define PCOUNTER_MUXES_MAX	16

enum pcounter_kind {
	PCOUNTER_KIND_NONE,
	PCOUNTER_KIND_DOMAIN,
	PCOUNTER_KIND_MP,
};

/* hardware settings for a counter; from the database */
struct pcounter_recipe {
	u8 kind;				/* enum pcounter_kind */
	u8 domain;				/* PCOUNTER: clock domain */
	u8 mode;				/* enum pcounter_count_mode or enum mp_mode */
	u8 unit;				/* MP: unit */
	u8 signal;				/* MP: signal of the unit */
	u8 mux[PCOUNTER_RECIPE_MUXES];		/* multiplexers, 0: none */
	u32 value[PCOUNTER_RECIPE_MUXES];	/* their values */
	u32 event;				/* PCOUNTER: sources */
	u32 event_op;				/* PCOUNTER: table */
	u32 start;				/* PCOUNTER, EVENT_B4 and EVENT_B6: sources */
	u32 start_op;				/* PCOUNTER, EVENT_B4 and EVENT_B6: table */
};

/* a set of counters */
struct pcounter_set {
	u64 bits[PCOUNTER_COUNTERS / 64];	/* positions of PCOUNTER, and of MP */
};

static inline bool pcounter_in_set(const struct pcounter_set *set, unsigned int n)
{
	return set->bits[n / 64] >> (n % 64) & 1;
}

static inline void pcounter_set_add(struct pcounter_set *set, unsigned int n)
{
	set->bits[n / 64] |= 1ull << (n % 64);
}

/* counters that count at the same time */
struct pcounter_pass {
	struct pcounter_set members;	/* the counters */
	u8 simple[PCOUNTER_DOMAINS];	/* SIMPLE counters in each domain */
	u8 integer[PCOUNTER_DOMAINS];	/* an integer counter, which uses the whole domain */
	u8 mp;				/* number of MP counters */
	u8 mux_users[PCOUNTER_MUXES_MAX];	/* counters that depend on the value */
	u32 mux_value[PCOUNTER_MUXES_MAX];	/* values of multiplexers with users */
	u64 ran_ns;			/* running time since the schedule was made */
};

/* worst case: one counter in each pass */
#define PCOUNTER_PASSES_MAX	PCOUNTER_COUNTERS

/* passes and their rotation */
struct pcounter_schedule {
	unsigned int count;			/* number of passes; 0: no counter requested */
	unsigned int current_pass;		/* index of the running pass */
	struct pcounter_pass passes[PCOUNTER_PASSES_MAX];
	u64 slice;				/* number of the last slice, across schedules */
	u64 last_slice[PCOUNTER_COUNTERS];	/* of each counter, 0: none */

	/* private to pcounter_schedule_make() */
	u8 order[PCOUNTER_COUNTERS];
	u8 assigned[PCOUNTER_COUNTERS];
	unsigned int wanted;
};

bool pcounter_pass_fits(const struct pcounter_pass *pass, const struct pcounter_recipe *recipe);
void pcounter_schedule_make(struct pcounter_schedule *s, const struct pcounter_recipe *recipes,
			    const struct pcounter_set *wanted);
void pcounter_schedule_ran(struct pcounter_schedule *s, u64 ns);
bool pcounter_schedule_rotate(struct pcounter_schedule *s);

#endif /* _PCOUNTER_SCHED_H_ */
