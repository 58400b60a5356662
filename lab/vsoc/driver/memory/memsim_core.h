/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A core in the style of a Cortex-A53 that copies an array, and its events: instructions, and what
 * its two levels of cache and its bus do.
 */
#ifndef _MEMSIM_CORE_H_
#define _MEMSIM_CORE_H_

#include "memsim.h"

#define MEMSIM_L1_SETS		128	/* 32 KiB, 4 ways */
#define MEMSIM_L1_WAYS		4
#define MEMSIM_L2_SETS		512	/* 512 KiB, 16 ways */
#define MEMSIM_L2_WAYS		16
#define MEMSIM_LINE_BEATS	4	/* 16 bytes each on the bus */
#define MEMSIM_COPY_LOADS	5	/* of an iteration */
#define MEMSIM_COPY_STORES	2
#define MEMSIM_COPY_INSTRUCTIONS	21

enum memsim_event {
	MEMSIM_L1D_CACHE_REFILL,
	MEMSIM_L1D_CACHE,
	MEMSIM_LD_RETIRED,
	MEMSIM_ST_RETIRED,
	MEMSIM_INST_RETIRED,
	MEMSIM_MEM_ACCESSES,
	MEMSIM_L2D_CACHE,
	MEMSIM_L2D_CACHE_REFILL,
	MEMSIM_BUS_ACCESS,
	MEMSIM_EVENTS,
};

/* what L2D_CACHE counts */
enum memsim_l2_counting {
	MEMSIM_L2_SPECULATIVE,	/* the lookup of each refill and a speculative one before it */
	MEMSIM_L2_REFILLS,	/* refills of the L1, as documented */
	MEMSIM_L2_EVICTIONS,	/* these and lines that the L1 writes back */
	MEMSIM_L2_COUNTINGS,
};

struct memsim_core {
	u64 events[MEMSIM_EVENTS];
	u64 evictions;			/* lines that the L2 wrote back */
	u32 counting;			/* enum memsim_l2_counting */
	u64 l1_tags[MEMSIM_L1_SETS * MEMSIM_L1_WAYS];
	u64 l2_tags[MEMSIM_L2_SETS * MEMSIM_L2_WAYS];
	struct memsim_cache l1, l2;
};

/* Empties the caches. */
void memsim_core_init(struct memsim_core *core);

/* Copies elements @first.. of an array of 4-byte elements; @last: the loop ends after them. */
void memsim_core_copy(struct memsim_core *core, u64 first, u64 count, bool last);

#endif /* _MEMSIM_CORE_H_ */
