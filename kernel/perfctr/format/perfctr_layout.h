/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bytes of a sample. Free of kernel interfaces, so that it can be tested in user space.
 */
#ifndef _PERFCTR_LAYOUT_H_
#define _PERFCTR_LAYOUT_H_

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

void *drm_perfctr_layout_block(void *dst, struct perfctr_view *view,
			       struct perfctr_block_status *span);
s32 drm_perfctr_layout_capture(s64 ns);

/* writes a sample's header to a slot, which is never read */
static inline void drm_perfctr_layout_header(void *dst,
					     const struct drm_perfctr_sample_header *values)
{
	/* not memcpy(), whose start costs more than these nine words where it uses string moves */
	*(struct drm_perfctr_sample_header *)dst = *values;
}

#endif /* _PERFCTR_LAYOUT_H_ */
