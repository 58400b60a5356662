/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Accumulated counts of a block of counters, and sticky status over a span of collections. Free of
 * kernel interfaces, so that it can be tested in user space.
 */
#ifndef _PERFCTR_BLOCK_H_
#define _PERFCTR_BLOCK_H_

#include <linux/bits.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include <drm/drm_perfctr.h>

#include "perfctr_mask.h"

#define PERFCTR_SECTIONS_MAX	DRM_PERFCTR_BLOCK_INFO_SECTIONS
#define PERFCTR_SETS_MASK	GENMASK(DRM_PERFCTR_SET_TERTIARY, 0)
#define PERFCTR_COUNTERS_MAX	(PERFCTR_SECTIONS_MAX * DRM_PERFCTR_SECTION_COUNTERS)

/**
 * struct perfctr_sticky - sticky status of 64 conditions for any number of readers
 *
 * Collections are numbered 1, 2, 3 ...; number n covers the time since n - 1. A condition is either
 * set or clear in a collection. Each reader can query which conditions were set in at least one of
 * the collections base + 1 ... now. No work per reader is needed in between.
 */
struct perfctr_sticky {
	/** @now: conditions of the latest collection. */
	u64 now;
	/** @changed: number of the latest collection that differed from its predecessor. */
	u64 changed;
	/** @last: for each bit not in @now, the last collection that had it. */
	u64 last[64];
};

void drm_perfctr_sticky_set(struct perfctr_sticky *sticky, u64 seq, u64 bits);
u64 drm_perfctr_sticky_search(const struct perfctr_sticky *sticky, u64 base_seq);

/* the conditions of at least one collection after number @base_seq */
static inline u64 drm_perfctr_sticky_since(const struct perfctr_sticky *sticky, u64 base_seq)
{
	return sticky->changed <= base_seq + 1 ? sticky->now :
						 drm_perfctr_sticky_search(sticky, base_seq);
}

/**
 * struct drm_perfctr_block - the core's state of a block of counters
 *
 * Totals only grow (modulo 2^64). A session remembers the totals of its last sample and publishes
 * the difference, so that the cost of a collection does not depend on the number of sessions.
 */
struct drm_perfctr_block {
	/** @desc: as described by the source. */
	struct drm_perfctr_block_desc desc;
	/** @totals: desc.counters values. */
	u64 *totals;
	/** @running: ns that each counter counted; NULL without FORMAT_RUNNING_TIMES. */
	u64 *running;
	/** @enabled: ns in which the block was counting. */
	u64 enabled;
	/** @time_ns: CLOCK_MONOTONIC_RAW up to which @totals count; 0: the source's. */
	u64 time_ns;
	/** @states: enum drm_perfctr_block_states of each collection. */
	struct perfctr_sticky states;
	/** @valid: mask of measured counters, one per section, 0 while off. */
	struct perfctr_sticky *valid;
	/** @source: the source that counts it. */
	struct drm_perfctr_source *source;
};

/* counters in set @set, one mask for each 64 */
static inline const u64 *perfctr_block_available(const struct drm_perfctr_block_desc *desc, u8 set)
{
	return set == DRM_PERFCTR_SET_PRIMARY ? desc->available : desc->set_available[set - 1];
}

static inline unsigned int perfctr_block_sections(const struct drm_perfctr_block_desc *desc)
{
	return (desc->counters + DRM_PERFCTR_SECTION_COUNTERS - 1) /
	       DRM_PERFCTR_SECTION_COUNTERS;
}

/* whether a block had no power all the time: then each of its counters counted zero */
static inline bool perfctr_block_was_off(u32 states)
{
	const u32 counted = DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_ERROR |
			    DRM_PERFCTR_STATE_UNAVAILABLE;

	return (states & (counted | DRM_PERFCTR_STATE_OFF)) == DRM_PERFCTR_STATE_OFF;
}

/**
 * perfctr_block_valid() - counters of a section that were measured in a span
 * @block: the block; its @valid has nothing of collections in which it was off
 * @section: of the block
 * @set: counter set
 * @base_seq: the span begins after this collection
 * @states: of the span
 *
 * Time without power says nothing of which counters hardware measures when it has power.
 */
static inline u64 perfctr_block_valid(const struct drm_perfctr_block *block, unsigned int section,
				      u8 set, u64 base_seq, u32 states)
{
	if (perfctr_block_was_off(states))
		return perfctr_block_available(&block->desc, set)[section];
	return drm_perfctr_sticky_since(&block->valid[section], base_seq);
}

/* what QUERY says of a block */
static inline void perfctr_block_info(const struct drm_perfctr_block_desc *desc,
				      struct drm_perfctr_block_info *info)
{
	*info = (struct drm_perfctr_block_info) {
		.type = desc->type,
		.index = desc->index,
		.counters = desc->counters,
		.product = desc->product,
		.sets = desc->sets,
		.clock = desc->clock,
		.format = desc->format,
	};
	memcpy(info->available, desc->available, sizeof(info->available));
	memcpy(info->set_available, desc->set_available, sizeof(info->set_available));
}

/**
 * struct perfctr_view - one block of one session's samples
 *
 * The counters that the session requested, and their totals at its last sample.
 */
struct perfctr_view {
	/**
	 * @header: what is the same in each sample, see drm_perfctr_view_complete(); states, times,
	 * cycles and measured counters are zero.
	 */
	struct drm_perfctr_block_header header;
	/** @totals: of the section's 64 counters; of the stored ones for a PMU block. */
	const u64 *totals;
	/** @base: totals at the end of the last sample, one per stored counter. */
	u64 *base;
	/** @running: of the section's 64 counters; NULL without FORMAT_RUNNING_TIMES. */
	const u64 *running;
	/** @base_running: running times at the end of the last sample, one per stored counter. */
	u64 *base_running;
	/** @base_enabled: the block's @enabled at the end of the last sample. */
	u64 base_enabled;
	/** @base_cycles: total of the block's clock at the end of the last sample. */
	u64 base_cycles;
	/** @block: the shared block, NULL for a PMU block. */
	struct drm_perfctr_block *block;
	/** @pmu: PMU block of this session, NULL for a shared block. */
	struct perfctr_pmu_block *pmu;
	/** @source: index in the session's list of sources. */
	unsigned int source;
};

/* bytes of a block's common header and of its format's extensions */
static inline u32 drm_perfctr_header_size(u8 format)
{
	u32 size = sizeof(struct drm_perfctr_block_header);

	if (!format)
		return size;
	if (format & DRM_PERFCTR_FORMAT_RUNNING_TIMES)
		size += sizeof(struct drm_perfctr_running_times);
	if (format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
		size += sizeof(struct drm_perfctr_pmu_identity);
	if (format & DRM_PERFCTR_FORMAT_SPAN)
		size += sizeof(struct drm_perfctr_block_span);
	return size;
}

u32 drm_perfctr_view_complete(struct perfctr_view *view);
void drm_perfctr_counters_rebase(u64 *base, const u64 *totals, u64 mask);
void drm_perfctr_counters_emit_valid(__le64 *dst, u64 *base, const u64 *totals, u64 mask,
				     u64 valid);

static __always_inline void perfctr_emit(__le64 *__restrict dst, u64 *__restrict base,
					 const u64 *__restrict totals, unsigned int count)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < count; i++) {
		dst[i] = cpu_to_le64(totals[i] - base[i]);
		base[i] = totals[i];
	}
}

/**
 * drm_perfctr_counters_emit() - store counts since the last sample
 * @dst: destination; never read, as userspace can access it
 * @base: totals at the end of the last sample; updated
 * @totals: of the 64 counters of the section
 * @mask: stored counters
 * @valid: counters that were measured
 *
 * A counter that was not measured is stored as zero and keeps its base, so that nothing is lost if
 * its total has changed nevertheless.
 */
static inline void drm_perfctr_counters_emit(__le64 *dst, u64 *base, const u64 *totals,
					     u64 mask, u64 valid)
{
	if (mask & ~valid) {
		drm_perfctr_counters_emit_valid(dst, base, totals, mask, valid);
		return;
	}
	while (mask) {
		unsigned int first, count = perfctr_mask_run(&mask, &first);
		const u64 *from = totals + first;

		/* the kernel has no vector registers, and a plain loop costs as much again */
		for (; count >= 8; count -= 8, dst += 8, base += 8, from += 8)
			perfctr_emit(dst, base, from, 8);
		if (count & 4) {
			perfctr_emit(dst, base, from, 4);
			dst += 4;
			base += 4;
			from += 4;
		}
		if (count & 2) {
			perfctr_emit(dst, base, from, 2);
			dst += 2;
			base += 2;
			from += 2;
		}
		if (count & 1)
			perfctr_emit(dst++, base++, from, 1);
	}
}

#endif /* _PERFCTR_BLOCK_H_ */
