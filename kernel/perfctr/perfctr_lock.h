/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The workers of a device, and what others have them do with the sampler lock.
 */
#ifndef _PERFCTR_LOCK_H_
#define _PERFCTR_LOCK_H_

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/types.h>

struct drm_perfctr;

/*
 * a thread of a device, its timer, and the active sessions that it serves
 *
 * The first one is SCHED_FIFO and serves the hardware. Sessions with perf events have the second.
 */
struct perfctr_worker {
	struct drm_perfctr *pc;
	struct kthread_worker *thread;
	/* something is due */
	struct kthread_work tick_work;
	/* queues tick_work; only the workers set it, as the CPU of a caller may be isolated */
	struct hrtimer timer;
	/* none is served before; and none of users without CAP_PERFMON */
	ktime_t rest_until;
	ktime_t users_rest_until;
	/* sessions between START and STOP, under &drm_perfctr.lock */
	struct list_head active;
};

enum { PERFCTR_HARDWARE, PERFCTR_PMU, PERFCTR_WORKERS };

/* to be run with the sampler lock; embedded in what it needs, on the stack of its caller */
struct perfctr_request {
	void (*run)(struct drm_perfctr *pc, struct perfctr_request *request);
	/* no fence waits for it */
	bool later;
	/* in &drm_perfctr.requests; @run has returned */
	struct list_head node;
	struct completion done;
};

/* without the sampler lock; the second one returns with it */
void drm_perfctr_run_urgent(struct drm_perfctr *pc, struct perfctr_request *request);
void drm_perfctr_lock_worker(struct drm_perfctr *pc);

#endif /* _PERFCTR_LOCK_H_ */
