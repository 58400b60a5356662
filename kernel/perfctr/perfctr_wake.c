// SPDX-License-Identifier: GPL-2.0
/*
 * Wake-ups: signals a session's eventfd when there are samples to read.
 *
 * eventfd_signal() walks every waiter with interrupts off, and userspace controls how many there
 * are. It is therefore never called under the sampler lock or at the sampler's priority: the caller
 * of SAMPLE signals when it holds no lock but its session's, for all other samples publishing
 * queues the session's work item. Several samples may share one signal. The queue has
 * WQ_MEM_RECLAIM, because a job scheduler waits for it when a job drops the last reference to a
 * session.
 */
#include <linux/eventfd.h>

#include "compat.h"
#include "perfctr_internal.h"

struct workqueue_struct *drm_perfctr_wake_queue;

/* signals at once; call without locks that other sessions wait for, in process context */
void drm_perfctr_signal(struct drm_perfctr_session *session)
{
	if (session->eventfd)
		perfctr_eventfd_signal(session->eventfd);
}

static void signal_eventfd(struct work_struct *work)
{
	drm_perfctr_signal(container_of(work, struct drm_perfctr_session, wake_work));
}

/* sets a session's eventfd, -1: none; returns 0 or the errno of SETUP */
int drm_perfctr_wake_init(struct drm_perfctr_session *session, int fd)
{
	struct eventfd_ctx *eventfd;

	if (fd < 0)
		return 0;
	eventfd = eventfd_ctx_fdget(fd);
	if (IS_ERR(eventfd))
		return perfctr_reject(session->pc, -PTR_ERR(eventfd), "eventfd: %d is none", fd);
	INIT_WORK(&session->wake_work, signal_eventfd);
	session->eventfd = eventfd;
	return 0;
}

/* queues a signal; whatever is to be read must have been written before; any context */
void drm_perfctr_wake(struct drm_perfctr_session *session)
{
	if (session->eventfd)
		queue_work(drm_perfctr_wake_queue, &session->wake_work);
}

/* undoes drm_perfctr_wake_init(); sends a queued signal first */
void drm_perfctr_wake_fini(struct drm_perfctr_session *session)
{
	if (!session->eventfd)
		return;
	flush_work(&session->wake_work);
	eventfd_ctx_put(session->eventfd);
}
