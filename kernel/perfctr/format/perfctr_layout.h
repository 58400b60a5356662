/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bytes of a sample. Free of kernel interfaces, so that it can be tested in user space.
 */
#ifndef _PERFCTR_LAYOUT_H_
#define _PERFCTR_LAYOUT_H_

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include "perfctr_block.h"

/**
 * struct perfctr_block_status - status of one block in the span of a sample
 */
struct perfctr_block_status {
	/** @states: enum drm_perfctr_block_states seen in the span. */
	u32 states;
	/** @valid: counters of the section that were measured. */
	u64 valid;
	/** @clock_cycles: cycles of the block's clock. */
	u64 clock_cycles;
	/** @capture_ns: time at which the block was read, relative to the sample's end. */
	s64 capture_ns;
};

bool drm_perfctr_layout_times(void *dst, struct perfctr_view *view);

/* a time relative to the sample's end, clamped to the range of the block header */
static inline s32 drm_perfctr_layout_capture(s64 ns)
{
	return clamp_t(s64, ns, S32_MIN, S32_MAX);
}

/*
 * Writes a block of a source, begins its next span, and returns the address after it. Adds
 * MULTIPLEXED to the span's states. Never reads @dst.
 */
static inline void *drm_perfctr_layout_block(void *dst, struct perfctr_view *view,
					     struct perfctr_block_status *span)
{
	const u32 size = view->header.size;
	struct drm_perfctr_block_header *header = dst;

	drm_perfctr_counters_emit(dst + view->header.header_size, view->base, view->totals,
				  view->header.enable_mask, span->valid);
	if (view->running && drm_perfctr_layout_times(dst, view))
		span->states |= DRM_PERFCTR_STATE_MULTIPLEXED;
	*header = view->header;
	header->states = span->states;
	header->clock_cycles = span->clock_cycles;
	header->valid_mask = view->header.enable_mask & span->valid;
	header->capture_ns = drm_perfctr_layout_capture(span->capture_ns);
	return dst + size;
}

/* writes a sample's header to a slot, which is never read */
static inline void drm_perfctr_layout_header(void *dst,
					     const struct drm_perfctr_sample_header *values)
{
	struct drm_perfctr_sample_header *header = dst;

	/* by members: a copy of words would wait until the members just written are in the cache */
	header->size = values->size;
	header->header_size = values->header_size;
	header->block_count = values->block_count;
	header->seq = values->seq;
	header->start_ns = values->start_ns;
	header->end_ns = values->end_ns;
	header->user_data = values->user_data;
	header->flags = values->flags;
	header->merged_periods = values->merged_periods;
	header->lost_ns = values->lost_ns;
	header->merged_others = values->merged_others;
	header->gpu_epoch = values->gpu_epoch;
	header->gpu_timestamp = values->gpu_timestamp;
}

#endif /* _PERFCTR_LAYOUT_H_ */
