/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bytes of a sample of PERF_CONTROL: all blocks of the device, each with all its counters. Free
 * of kernel interfaces, so that it can be tested in user space.
 */
#ifndef _PERFCTR_DENSE_LAYOUT_H_
#define _PERFCTR_DENSE_LAYOUT_H_

#include <linux/types.h>
#include <drm/drm_perfctr_control.h>
#include "perfctr_block.h"

/* the bits of states that samples have: those of enum drm_perfctr_block_states, the first six */
#define PERFCTR_DENSE_STATES		0x3f

/* flags of a sample */
#define PERFCTR_DENSE_INCOMPLETE	0x1 /* counts are missing: overflow, error, reset, loss */
#define PERFCTR_DENSE_STRETCHED		0x2

/* the bytes of a sample's header; little-endian, as is the machine */
struct perfctr_dense_sample {
	u64 start_ns, end_ns;
	u8 set;
	u8 pad[3];
	u32 flags;
	u64 user_data;
	u64 cycles[DRM_PERFCTR_CONTROL_CLOCKS];
};

/* the bytes of a block's header, followed by all counters */
struct perfctr_dense_header {
	u8 type, index, states, clock;
	u8 pad[4];
	u64 enable_mask[DRM_PERFCTR_CONTROL_SECTIONS];
};

/**
 * struct perfctr_dense_block - a block of the device in each sample of a session
 */
struct perfctr_dense_block {
	/** @block: the block. */
	const struct drm_perfctr_block *block;
	/** @views: of its sections; NULL: nothing of the section was requested. */
	struct perfctr_view *views[DRM_PERFCTR_CONTROL_SECTIONS];
	/** @type: in the sample, from 1. */
	u8 type;
	/** @index: among the blocks of the type, without gaps. */
	u8 index;
};

/**
 * struct perfctr_dense_status - status of a block in the span of a sample
 */
struct perfctr_dense_status {
	/** @states: enum drm_perfctr_block_states seen in the span; 0 if nothing was requested. */
	u32 states;
	/** @valid: counters of each section that were measured. */
	u64 valid[DRM_PERFCTR_CONTROL_SECTIONS];
};

void *drm_perfctr_dense_block(void *dst, const struct perfctr_dense_block *block,
			      const struct perfctr_dense_status *status, unsigned int sections);

#endif /* _PERFCTR_DENSE_LAYOUT_H_ */
