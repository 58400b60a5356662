/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A block of perf events.
 */
#ifndef _PERFCTR_PMU_BLOCK_H_
#define _PERFCTR_PMU_BLOCK_H_

#include <linux/types.h>
#include "perfctr_block.h"

struct cred;
struct drm_perfctr_sample_header;
struct perfctr_pmu_event;

/* of a block of perf events */
#define PERFCTR_PMU_FORMAT	(DRM_PERFCTR_FORMAT_RUNNING_TIMES | \
				 DRM_PERFCTR_FORMAT_PMU_IDENTITY | DRM_PERFCTR_FORMAT_SPAN)

/* what QUERY says of all perf events */
static inline void perfctr_pmu_block_info(struct drm_perfctr_block_info *info)
{
	*info = (struct drm_perfctr_block_info) {
		.type = DRM_PERFCTR_BLOCK_GENERIC_PMU,
		.index = DRM_PERFCTR_INDEX_ALL,
		.counters = 1,
		.product = DRM_PERFCTR_PRODUCT_PERF_PMU,
		.sets = 1 << DRM_PERFCTR_SET_PRIMARY,
		.clock = DRM_PERFCTR_CLOCK_NONE,
		.format = PERFCTR_PMU_FORMAT,
		.available = { 1 },
	};
}

/*
 * counts of perf events
 *
 * Arrays of totals are packed: one element for each bit of the view's mask.
 */
struct perfctr_pmu_block {
	u16 type;
	u16 index;
	/* for the block's header; cpu is -1 for a sum over several CPUs */
	struct drm_perfctr_pmu_identity identity;
	/* description of the PMU's kind, with a reference to its module; NULL: any PMU */
	const struct drm_perfctr_pmu_kind *kind;
	struct module *owner;
	/* of OPEN's caller; events are opened with them */
	const struct cred *cred;
	unsigned int count;

	/* handed over, under the sampler lock: by event; and for all since the last sample */
	u64 *totals;
	u64 *enabled;
	u64 *running;
	u64 *base_enabled;
	u64 *base_running;
	u32 states;
	u64 time_ns;
	/* @time_ns of the last sample */
	u64 base_ns;

	/* read but not handed over, under the session's pmu.lock */
	struct {
		u32 states;
		s32 cpu;
		u64 time_ns;
	} fresh;
	/* the perf side, private to pmu_events.c */
	struct perfctr_pmu_event *events;
};

/* pmu_layout.c; with the sampler lock */
void drm_perfctr_pmu_baseline(struct perfctr_view *view);
void *drm_perfctr_pmu_layout(void *dst, struct perfctr_view *view,
			     struct drm_perfctr_sample_header *sample, u32 *states);

#endif /* _PERFCTR_PMU_BLOCK_H_ */
