/* SPDX-License-Identifier: MIT */
/*
 * What the hardware counts at the same time. NVIDIA's counters have four in each clock domain and each
 * TPC, and multiplexers that several of them need: what does not fit into one pass takes turns.
 */
#ifndef GPC_PASSES_H
#define GPC_PASSES_H

#include "gpc_catalogue.h"

#include <time.h>

enum {
	/* a pass has its turn for so long, at least: "Turns" of docs/pcounter.md; no ioctl tells it */
	GPC_TURN_NS = 2000000,
	/* between two looks: a turn, and something for clocks that are not the same */
	GPC_LOOK_NS = 3000000,
	/*
	 * Looks that see two turns. The first turn tells nothing: it is given to who begins to count, as
	 * others had theirs before. Each look collects, and a collection gives the turn to the next pass if
	 * one is over: the second look does, the third one sees it.
	 */
	GPC_LOOKS = 3,
};

/**
 * gpc_wait_for_turn() - let the time between two looks pass
 */
static inline void gpc_wait_for_turn(void)
{
	const struct timespec wait = { .tv_nsec = GPC_LOOK_NS };

	nanosleep(&wait, NULL);
}

/**
 * gpc_takes_turns() - whether counters of a type of block may need several passes
 * @block_type: enum drm_perfctr_block_type
 *
 * Of the others a device counts everything that it has; perf PMUs are perf's business.
 *
 * Return: whether they may.
 */
static inline bool gpc_takes_turns(unsigned int block_type)
{
	return block_type >= DRM_PERFCTR_BLOCK_PCOUNTER &&
	       block_type < DRM_PERFCTR_BLOCK_GENERIC_PMU;
}

/**
 * gpc_passes_measure() - find out what one pass has of a group
 * @path: what perfctr_device_open() takes
 * @first: the group's first counter, its others follow; @several_passes of its metrics is set
 * @count: counters of the group
 *
 * Counts for some moments. Counters are tried one after the other, those first that metrics need;
 * a metric whose counters are in the pass is in it, too. While somebody else counts what shares the
 * hardware, the answer is that nothing is known, or, at worst, too small.
 *
 * Return: how many counters one pass has at most; 0 if it is not known.
 */
unsigned int gpc_passes_measure(const char *path, struct gpc_counter *first, unsigned int count);

#endif /* GPC_PASSES_H */
