/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A block of perf events: shared by the files of this directory.
 */
#ifndef _PERFCTR_PMU_BLOCK_H_
#define _PERFCTR_PMU_BLOCK_H_

#include <linux/types.h>
#include "perfctr_block.h"

struct cred;
struct drm_perfctr;
struct drm_perfctr_sample_header;
struct module;
struct perfctr_pmu_event;

/* of a block of perf events */
#define PERFCTR_PMU_FORMAT	(DRM_PERFCTR_FORMAT_RUNNING_TIMES | \
				 DRM_PERFCTR_FORMAT_PMU_IDENTITY | DRM_PERFCTR_FORMAT_SPAN)

/*
 * counts of perf events
 *
 * Arrays of totals are packed: one element for each bit of the view's mask.
 */
struct perfctr_pmu_block {
	u16 type;
	u16 index;
	u16 product;
	/* for the block's header; cpu is -1 for a sum over several CPUs */
	struct drm_perfctr_pmu_identity identity;
	/* description of the PMU's kind, with a reference to its module; NULL: any PMU */
	const struct drm_perfctr_pmu_kind *kind;
	struct module *owner;
	/* of SETUP's caller; events are opened with them */
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

/* pmu_kinds.c */
int drm_perfctr_pmu_kind_get(u16 type, const struct drm_perfctr_pmu_kind **kind,
			     struct module **owner);
bool drm_perfctr_pmu_kind_matches(const struct drm_perfctr_pmu_kind *kind, const char *pmu_name,
				  u16 index);
u64 drm_perfctr_pmu_kind_invalid_bits(const struct drm_perfctr_pmu_kind *kind, unsigned int field,
				      u64 config, u64 value);

/* pmu_events.c; with the session's pmu.lock */
int drm_perfctr_pmu_open(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu,
			 const struct drm_perfctr_block_request *request);
void drm_perfctr_pmu_free(struct perfctr_pmu_block *pmu);
int drm_perfctr_pmu_block_enable(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu);
void drm_perfctr_pmu_block_disable(struct perfctr_pmu_block *pmu);
int drm_perfctr_pmu_block_follow(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu);
void drm_perfctr_pmu_block_read(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu);
void drm_perfctr_pmu_block_handover(struct perfctr_pmu_block *pmu);
void drm_perfctr_pmu_block_close(struct perfctr_pmu_block *pmu);

#endif /* _PERFCTR_PMU_BLOCK_H_ */
