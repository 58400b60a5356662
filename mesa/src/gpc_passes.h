/* SPDX-License-Identifier: MIT */
/*
 * What the hardware counts at the same time. NVIDIA's counters have four in each clock domain and each
 * TPC, and multiplexers that several of them need: what does not fit into one pass takes turns.
 */
#ifndef GPC_PASSES_H
#define GPC_PASSES_H

#include "gpc_catalogue.h"

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
