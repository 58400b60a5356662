/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which counters count together, and which pass is next. Also built natively by kernel/tests.
 */
#ifndef _PCOUNTER_SCHED_H_
#define _PCOUNTER_SCHED_H_

#include <linux/types.h>
#include "pcounter_hw.h"

/* counters that can be asked for: positions of PCOUNTER, then those of MP */
#define PCOUNTER_POSITIONS	64
#define PCOUNTER_MP_FIRST	PCOUNTER_POSITIONS
#define PCOUNTER_COUNTERS	(2 * PCOUNTER_POSITIONS)
#define PCOUNTER_RECIPE_MUXES	2
#define PCOUNTER_MUXES_MAX	16

/* what a recipe is for */
enum pcounter_kind {
	PCOUNTER_KIND_NONE,
	PCOUNTER_KIND_DOMAIN,
	PCOUNTER_KIND_MP,
};

/**
 * struct pcounter_recipe - what the hardware is set to for a counter; from the database
 */
struct pcounter_recipe {
	/** @kind: enum pcounter_kind. */
	u8 kind;
	/** @domain: PCOUNTER: clock domain. */
	u8 domain;
	/** @mode: enum pcounter_count_mode or enum mp_mode. */
	u8 mode;
	/** @unit: MP: unit. */
	u8 unit;
	/** @signal: MP: signal of the unit. */
	u8 signal;
	/** @mux: multiplexers, 0: none. */
	u8 mux[PCOUNTER_RECIPE_MUXES];
	/** @value: what they must be set to. */
	u32 value[PCOUNTER_RECIPE_MUXES];
	/** @event: PCOUNTER: sources. */
	u32 event;
	/** @event_op: PCOUNTER: table. */
	u32 event_op;
	/** @start: PCOUNTER, EVENT_B4 and EVENT_B6: sources. */
	u32 start;
	/** @start_op: PCOUNTER, EVENT_B4 and EVENT_B6: table. */
	u32 start_op;
};

/**
 * struct pcounter_set - a set of counters
 */
struct pcounter_set {
	/** @bits: positions of PCOUNTER, and of MP. */
	u64 bits[PCOUNTER_COUNTERS / 64];
};

static inline bool pcounter_in_set(const struct pcounter_set *set, unsigned int n)
{
	return set->bits[n / 64] >> (n % 64) & 1;
}

static inline void pcounter_set_add(struct pcounter_set *set, unsigned int n)
{
	set->bits[n / 64] |= 1ull << (n % 64);
}

/**
 * struct pcounter_pass - counters that count at the same time
 */
struct pcounter_pass {
	/** @members: the counters. */
	struct pcounter_set members;
	/** @simple: counters of each domain that use one of its four. */
	u8 simple[PCOUNTER_DOMAINS];
	/** @integer: a counter has the whole domain: another mode. */
	u8 integer[PCOUNTER_DOMAINS];
	/** @mp: MP counters. */
	u8 mp;
	/** @mux_users: counters that need a multiplexer as it is. */
	u8 mux_users[PCOUNTER_MUXES_MAX];
	/** @mux_value: values of multiplexers with users. */
	u32 mux_value[PCOUNTER_MUXES_MAX];
	/** @ran_ns: time that it has counted since the schedule was made. */
	u64 ran_ns;
};

/* a counter each: the worst case */
#define PCOUNTER_PASSES_MAX	PCOUNTER_COUNTERS

/**
 * struct pcounter_schedule - passes in round-robin
 */
struct pcounter_schedule {
	/** @count: passes; 0: nothing is wanted. */
	unsigned int count;
	/** @current_pass: the one that counts. */
	unsigned int current_pass;
	/** @passes: the passes. */
	struct pcounter_pass passes[PCOUNTER_PASSES_MAX];
	/** @slice: number of the last slice, of all schedules. */
	u64 slice;
	/** @last_slice: of each counter, 0: it had none. */
	u64 last_slice[PCOUNTER_COUNTERS];

	/* private: while it is made */
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
