/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes of a sample. Pure code: also built natively by kernel/tests/native.
 */
#ifndef _PERFCTR_LAYOUT_H_
#define _PERFCTR_LAYOUT_H_

#include <linux/types.h>
#include "perfctr_block.h"

struct cred;

/**
 * struct perfctr_span - what one block reports for the span of a sample
 */
struct perfctr_span {
	/** @states: enum drm_perfctr_block_states seen in the span. */
	u32 states;
	/** @valid: counters of the section that were measured. */
	u64 valid;
	/** @clock_cycles: cycles of the block's clock. */
	u64 clock_cycles;
	/** @capture_ns: when the block was read, relative to the sample's end. */
	s64 capture_ns;
};

/**
 * struct perfctr_pmu_block - counts of perf events, as the PMU code leaves them
 *
 * Totals are packed: one for each bit of the mask.
 */
struct perfctr_pmu_block {
	/** @config: for the block's header. */
	u64 config;
	/** @config1: for the block's header. */
	u64 config1;
	/** @config2: for the block's header. */
	u64 config2;
	/** @pmu_type: dynamic perf type number. */
	u32 pmu_type;
	/** @cpu: the CPU that counts, -1 for several. */
	s32 cpu;
	/** @type: enum drm_perfctr_block_type. */
	u16 type;
	/** @index: of the block. */
	u16 index;
	/** @product: enum drm_perfctr_product. */
	u16 product;
	/** @name: the PMU's name. */
	char name[DRM_PERFCTR_PMU_NAME_BYTES];
	/** @states: since the last sample. */
	u32 states;
	/** @incomplete: events that lacked a CPU since the last sample; bit n: @totals[n]. */
	u64 incomplete;
	/** @time_ns: CLOCK_MONOTONIC_RAW of the last read. */
	u64 time_ns;
	/** @count: number of events. */
	unsigned int count;
	/** @totals: counts. */
	u64 *totals;
	/** @enabled: ns enabled, per event. */
	u64 *enabled;
	/** @running: ns running, per event. */
	u64 *running;
	/** @base_enabled: at the end of the last sample. */
	u64 *base_enabled;
	/** @base_running: at the end of the last sample. */
	u64 *base_running;
	/** @cred: of SETUP, with which events are opened. */
	const struct cred *cred;
	/**
	 * @fresh: what was read, with each event's counts, and not handed over yet;
	 * under &drm_perfctr_session.pmu_lock, the rest under the sampler lock too.
	 */
	struct {
		/** @fresh.states: as @states. */
		u32 states;
		/** @fresh.cpu: as @cpu. */
		s32 cpu;
		/** @fresh.incomplete: as @incomplete. */
		u64 incomplete;
		/** @fresh.time_ns: as @time_ns. */
		u64 time_ns;
	} fresh;
	/** @events: the perf side, private to perfctr_pmu.c. */
	struct perfctr_pmu_event *events;
};

void *perfctr_layout_block(void *dst, struct perfctr_view *view, struct perfctr_span *span);
void *perfctr_layout_pmu_block(void *dst, struct perfctr_view *view, u64 end_ns, u32 *states);
void perfctr_layout_header(void *dst, const struct drm_perfctr_sample_header *values);

#endif /* _PERFCTR_LAYOUT_H_ */
