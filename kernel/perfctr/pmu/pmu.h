/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks of perf PMUs: interface to the rest of the core. Without CONFIG_DRM_PERFCTR_PMU, requests
 * for such blocks are rejected.
 */
#ifndef _PERFCTR_PMU_H_
#define _PERFCTR_PMU_H_

#include <linux/types.h>
#include "../perfctr_internal.h"

#if IS_ENABLED(CONFIG_DRM_PERFCTR_PMU)

#include "../format/pmu_block.h"

int drm_perfctr_pmu_init(void);
void drm_perfctr_pmu_exit(void);
void drm_perfctr_pmu_add_device(struct drm_perfctr *pc);
void drm_perfctr_pmu_remove_device(struct drm_perfctr *pc);

/* OPEN: checks a request; creates a view with its events; releases all of them */
int drm_perfctr_pmu_check(struct drm_perfctr *pc, const struct drm_perfctr_block_request *request,
			  unsigned int i);
int drm_perfctr_pmu_view(struct drm_perfctr_session *session,
			 const struct drm_perfctr_block_request *request);
void drm_perfctr_pmu_destroy(struct drm_perfctr_session *session);

/* START and STOP, CLOSE when the session is in no list: they take the session's pmu.lock */
int drm_perfctr_pmu_enable(struct drm_perfctr_session *session);
void drm_perfctr_pmu_disable(struct drm_perfctr_session *session);
void drm_perfctr_pmu_close(struct drm_perfctr_session *session);
/* with pmu.lock but not the sampler lock, because they call perf */
void drm_perfctr_pmu_read(struct drm_perfctr_session *session);
void drm_perfctr_pmu_follow(struct drm_perfctr_session *session);
void drm_perfctr_pmu_stop(struct drm_perfctr_session *session);
/* without: its events are released */
void drm_perfctr_pmu_end(struct drm_perfctr_session *session);
/* with pmu.lock and the sampler lock: makes values read available to samples */
void drm_perfctr_pmu_handover(struct drm_perfctr_session *session);
/* with both locks, releases the sampler lock meanwhile: an active session's first span begins */
void drm_perfctr_pmu_begin(struct drm_perfctr_session *session);

/* with the sampler lock: the second worker is to read the events; @follow: it follows CPUs first */
void drm_perfctr_pmu_want(struct drm_perfctr_session *session, bool follow);
/* the tick_work of that worker */
void drm_perfctr_pmu_tick(struct kthread_work *work);
/* for unplug: has it read all sessions, and waits for it; without the sampler lock */
void drm_perfctr_pmu_read_all(struct drm_perfctr *pc);

/* with the sampler lock: publishing */
u64 drm_perfctr_pmu_time(const struct drm_perfctr_session *session);

#else

static inline int drm_perfctr_pmu_init(void)
{
	return 0;
}

static inline void drm_perfctr_pmu_exit(void) {}
static inline void drm_perfctr_pmu_add_device(struct drm_perfctr *pc) {}
static inline void drm_perfctr_pmu_remove_device(struct drm_perfctr *pc) {}

static inline int drm_perfctr_pmu_check(struct drm_perfctr *pc,
					const struct drm_perfctr_block_request *request,
					unsigned int i)
{
	return perfctr_reject(pc, EOPNOTSUPP, "requests[%u]: this kernel has no PMU blocks", i);
}

static inline int drm_perfctr_pmu_view(struct drm_perfctr_session *session,
				       const struct drm_perfctr_block_request *request)
{
	return -EOPNOTSUPP;
}

static inline void drm_perfctr_pmu_destroy(struct drm_perfctr_session *session) {}

static inline int drm_perfctr_pmu_enable(struct drm_perfctr_session *session)
{
	return 0;
}

static inline void drm_perfctr_pmu_disable(struct drm_perfctr_session *session) {}
static inline void drm_perfctr_pmu_read(struct drm_perfctr_session *session) {}
static inline void drm_perfctr_pmu_close(struct drm_perfctr_session *session) {}
static inline void drm_perfctr_pmu_handover(struct drm_perfctr_session *session) {}
static inline void drm_perfctr_pmu_begin(struct drm_perfctr_session *session) {}
static inline void drm_perfctr_pmu_want(struct drm_perfctr_session *session, bool follow) {}
static inline void drm_perfctr_pmu_tick(struct kthread_work *work) {}
static inline void drm_perfctr_pmu_read_all(struct drm_perfctr *pc) {}

static inline u64 drm_perfctr_pmu_time(const struct drm_perfctr_session *session)
{
	return 0;
}

static inline void drm_perfctr_pmu_baseline(struct perfctr_view *view) {}

static inline void *drm_perfctr_pmu_layout(void *dst, struct perfctr_view *view,
					   struct drm_perfctr_sample_header *sample, u32 *states)
{
	return dst;
}

#endif

#endif /* _PERFCTR_PMU_H_ */
