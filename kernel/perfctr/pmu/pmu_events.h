/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks of perf events: shared by the files of this directory.
 */
#ifndef _PERFCTR_PMU_EVENTS_H_
#define _PERFCTR_PMU_EVENTS_H_

#include <drm/drm_perfctr_extension.h>

#include "../format/pmu_block.h"

struct drm_perfctr;
struct module;

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

#endif /* _PERFCTR_PMU_EVENTS_H_ */
