// SPDX-License-Identifier: GPL-2.0
/*
 * Wake-ups: who reads a ring is told by its eventfd.
 */
#include <linux/atomic.h>
#include <linux/eventfd.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "perfctr_internal.h"

/**
 * DOC: wake-ups
 *
 * A signal of an eventfd walks all that waits for it, with interrupts off, and
 * how many do is up to user space: some 100,000 are no problem for an attacker.
 * So nobody signals with the sampler lock held or at the sampler's priority; what
 * is owed is counted.
 *
 * STOP, SAMPLE and TEARDOWN pay for themselves when they hold no lock any more:
 * when they return, the eventfd can be read, and after STOP it has all. What periods,
 * jobs and other sessions' collections bring is paid by a work of ordinary priority.
 * All works of a user without CAP_PERFMON share an ordered queue: they are one more
 * busy process for others, no matter how many sessions there are.
 */

/* between two chances for others who use the same queue */
#define WAKES_AT_ONCE	16

static void pay(struct work_struct *work)
{
	struct drm_perfctr_session *session =
		container_of(work, struct drm_perfctr_session, wake_work);
	s64 due = min_t(s64, atomic64_read(&session->wakes_due), WAKES_AT_ONCE);

	perfctr_eventfd_signal(session->eventfd, due);
	if (atomic64_sub_return(due, &session->wakes_due))
		queue_work(session->wake_queue, &session->wake_work);
}

/**
 * perfctr_wake_init() - a session gets its eventfd
 * @session: the session, not visible yet, with its user
 * @eventfd: consumed if this succeeds
 *
 * Returns: 0 or -ENOMEM.
 */
int perfctr_wake_init(struct drm_perfctr_session *session, struct eventfd_ctx *eventfd)
{
	session->wake_queue = perfctr_user_wake_queue(session->user);
	if (!session->wake_queue)
		return -ENOMEM;
	INIT_WORK(&session->wake_work, pay);
	session->eventfd = eventfd;
	return 0;
}

/**
 * perfctr_wake() - tell user space that there is something to read
 * @session: the session
 * @samples: the eventfd gets +1 for each: a reader of a semaphore counts them
 *
 * What was to be seen by then has been written. With the sampler lock held.
 */
void perfctr_wake(struct drm_perfctr_session *session, u32 samples)
{
	lockdep_assert_held(&session->pc->lock);
	if (!session->eventfd)
		return;
	session->totals.wakeups++;
	if (session == session->pc->caller) {
		session->wakes_of_caller += samples;
		return;
	}
	atomic64_add(samples, &session->wakes_due);
	queue_work(session->wake_queue, &session->wake_work);
}

/**
 * perfctr_wake_begin_call() - from here on the caller pays for wake-ups of its session
 * @session: the session, sampler lock held
 */
void perfctr_wake_begin_call(struct drm_perfctr_session *session)
{
	lockdep_assert_held(&session->pc->lock);
	session->pc->caller = session;
}

/**
 * perfctr_wake_end_call() - what the caller owes
 * @session: as given to perfctr_wake_begin_call(), sampler lock still held
 *
 * Returns: for perfctr_wake_pay().
 */
u32 perfctr_wake_end_call(struct drm_perfctr_session *session)
{
	const u32 due = session->wakes_of_caller;

	lockdep_assert_held(&session->pc->lock);
	session->pc->caller = NULL;
	session->wakes_of_caller = 0;
	return due;
}

/**
 * perfctr_wake_pay() - signal in the caller's own time
 * @session: the session; the caller holds a reference and no lock
 * @due: from perfctr_wake_end_call()
 */
void perfctr_wake_pay(struct drm_perfctr_session *session, u32 due)
{
	lockdep_assert_not_held(&session->pc->lock);
	if (due)
		perfctr_eventfd_signal(session->eventfd, due);
}

/**
 * perfctr_wake_pay_all() - the same, and what the work owes: nothing is left when this returns
 * @session: the session, stopped; the caller holds a reference and no lock
 * @due: from perfctr_wake_end_call()
 *
 * Who is to be killed, or has a signal to attend to, leaves the rest to the work.
 */
void perfctr_wake_pay_all(struct drm_perfctr_session *session, u32 due)
{
	u64 left;

	lockdep_assert_not_held(&session->pc->lock);
	if (!session->eventfd)
		return;
	/* what it pays at this moment comes first */
	cancel_work_sync(&session->wake_work);
	left = due + atomic64_xchg(&session->wakes_due, 0);
	for (; left && !signal_pending(current) && !(current->flags & PF_EXITING); left--)
		perfctr_eventfd_signal(session->eventfd, 1);
	if (left) {
		atomic64_add(left, &session->wakes_due);
		queue_work(session->wake_queue, &session->wake_work);
	}
}

/**
 * perfctr_wake_end() - no work pays for this session any more
 * @session: the session, torn down, after perfctr_wake_pay_all()
 *
 * Readers that are not told of all samples are woken once.
 */
void perfctr_wake_end(struct drm_perfctr_session *session)
{
	if (!session->eventfd)
		return;
	cancel_work_sync(&session->wake_work);
	if (atomic64_xchg(&session->wakes_due, 0))
		perfctr_eventfd_signal(session->eventfd, 1);
}

/**
 * perfctr_wake_fini() - undo perfctr_wake_init()
 * @session: the session, torn down; maybe without an eventfd
 */
void perfctr_wake_fini(struct drm_perfctr_session *session)
{
	if (!session->eventfd)
		return;
	cancel_work_sync(&session->wake_work);
	eventfd_ctx_put(session->eventfd);
}
