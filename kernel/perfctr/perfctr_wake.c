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

/* between two chances for others who use the same queue, and for signals */
#define WAKES_AT_ONCE	16

/* each signal has one payer: who claims it */
static u32 claim(struct drm_perfctr_session *session, u64 most)
{
	s64 due = atomic64_read(&session->wakes_due);
	u32 n;

	do {
		n = min3((u64)due, most, (u64)WAKES_AT_ONCE);
		if (!n)
			return 0;
	} while (!atomic64_try_cmpxchg(&session->wakes_due, &due, due - n));
	return n;
}

static void leave_to_work(struct drm_perfctr_session *session)
{
	if (atomic64_read(&session->wakes_due))
		queue_work(session->wake_queue, &session->wake_work);
}

static void pay(struct work_struct *work)
{
	struct drm_perfctr_session *session =
		container_of(work, struct drm_perfctr_session, wake_work);

	perfctr_eventfd_signal(session->eventfd, claim(session, WAKES_AT_ONCE));
	leave_to_work(session);
}

/* whoever closes a file last may be a worker that serves everybody */
static bool has_no_time(void)
{
	return signal_pending(current) || current->flags & (PF_EXITING | PF_KTHREAD);
}

static void pay_now(struct drm_perfctr_session *session, u64 most)
{
	u32 n;

	do {
		n = claim(session, most);
		perfctr_eventfd_signal(session->eventfd, n);
		most -= n;
	} while (n && !has_no_time());
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
 *
 * Who has a signal to attend to leaves all but the first ones to the work.
 */
void perfctr_wake_pay(struct drm_perfctr_session *session, u32 due)
{
	lockdep_assert_not_held(&session->pc->lock);
	if (!due)
		return;
	atomic64_add(due, &session->wakes_due);
	pay_now(session, due);
	leave_to_work(session);
}

/**
 * perfctr_wake_pay_all() - the same, and what the work owes: nothing is left when this returns
 * @session: the session, stopped; the caller holds a reference and no lock
 * @due: from perfctr_wake_end_call()
 */
void perfctr_wake_pay_all(struct drm_perfctr_session *session, u32 due)
{
	lockdep_assert_not_held(&session->pc->lock);
	if (!session->eventfd)
		return;
	atomic64_add(due, &session->wakes_due);
	pay_now(session, U64_MAX);
	/* what it has claimed */
	cancel_work_sync(&session->wake_work);
	leave_to_work(session);
}

/**
 * perfctr_wake_end() - the session ends: no work pays for it any more
 * @session: the session, torn down; the caller holds a reference and no lock
 * @due: from perfctr_wake_end_call()
 *
 * Who has no time for all signals sends one, so that no reader sleeps on.
 */
void perfctr_wake_end(struct drm_perfctr_session *session, u32 due)
{
	lockdep_assert_not_held(&session->pc->lock);
	if (!session->eventfd)
		return;
	atomic64_add(due, &session->wakes_due);
	cancel_work_sync(&session->wake_work);
	if (!has_no_time())
		pay_now(session, U64_MAX);
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
