// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU blocks of a session: read without the sampler lock, handed over with it.
 */
#include <linux/atomic.h>

#include "perfctr_internal.h"

/**
 * DOC: perf events and fences
 *
 * Whatever perf does with an event, it holds the mutex of the event's CPU, and it
 * allocates memory under it (perf_event_open() does). Reclaim can wait for a
 * fence of the GPU, so neither GPU reset nor a job may wait for perf, nor for a
 * lock that is held across a call of perf. Therefore
 *
 * - &drm_perfctr_session.pmu_lock is held across all calls of perf, and never
 *   taken by reset, suspend, resume or a job;
 * - what was read is handed over with &drm_perfctr.lock held as well, so that a
 *   sample can be published with that one alone::
 *
 *     START, STOP, SAMPLE        worker (period, event, CPU hotplug)
 *       pmu_lock                   pmu_lock
 *         perf: open, read           perf: open, read
 *         sampler lock               sampler lock, hand over, unlock
 *           hand over              unlock
 *           collect sources        sampler lock
 *           publish                  collect sources, publish
 *
 *     reset, SAMPLE in a job
 *       sampler lock
 *         collect sources, publish: PMU blocks as they were handed over last
 *
 * The worker needs no reference to the sessions that it serves: who removes one
 * flushes it.
 */

/* read all PMU blocks; later hand_over() */
static void read_blocks(struct drm_perfctr_session *session)
{
	unsigned int i;

	lockdep_assert_held(&session->pmu_lock);
	lockdep_assert_not_held(&session->pc->lock);
	for (i = 0; i < session->view_count; i++)
		if (session->views[i].pmu)
			perfctr_pmu_read(session->pc, session->views[i].pmu);
}

static void hand_over(struct drm_perfctr_session *session)
{
	unsigned int i;

	lockdep_assert_held(&session->pmu_lock);
	lockdep_assert_held(&session->pc->lock);
	for (i = 0; i < session->view_count; i++)
		if (session->views[i].pmu)
			perfctr_pmu_hand_over(session->views[i].pmu);
}

static void disable_blocks(struct drm_perfctr_session *session, unsigned int count)
{
	while (count--)
		if (session->views[count].pmu)
			perfctr_pmu_disable(session->views[count].pmu);
}

/**
 * perfctr_session_lock() - take both locks for a command, PMU blocks just read
 * @session: the session
 *
 * Returns: 0 or -EINTR, with neither lock held.
 */
int perfctr_session_lock(struct drm_perfctr_session *session)
{
	int ret;

	ret = mutex_lock_interruptible(&session->pmu_lock);
	if (ret)
		return ret;
	read_blocks(session);
	ret = mutex_lock_interruptible(&session->pc->lock);
	if (ret)
		mutex_unlock(&session->pmu_lock);
	else
		hand_over(session);
	return ret;
}

/**
 * perfctr_session_unlock() - undo perfctr_session_lock()
 * @session: the session
 */
void perfctr_session_unlock(struct drm_perfctr_session *session)
{
	mutex_unlock(&session->pc->lock);
	mutex_unlock(&session->pmu_lock);
}

/**
 * perfctr_session_enable_pmu() - have the PMU blocks count
 * @session: the session, stopped, pmu_lock held
 *
 * Returns: 0 or why not; nothing counts then.
 */
int perfctr_session_enable_pmu(struct drm_perfctr_session *session)
{
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&session->pmu_lock);
	lockdep_assert_not_held(&session->pc->lock);
	/* CPUs that come or go from here on may find the session not active yet */
	session->cpu_changes = atomic_read(&session->pc->cpu_changes);
	for (i = 0; !ret && i < session->view_count; i++)
		if (session->views[i].pmu)
			ret = perfctr_pmu_enable(session->pc, session->views[i].pmu);
	if (ret)
		disable_blocks(session, i);
	else
		read_blocks(session);
	return ret;
}

/**
 * perfctr_session_disable_pmu() - have the PMU blocks stop
 * @session: the session, pmu_lock held
 */
void perfctr_session_disable_pmu(struct drm_perfctr_session *session)
{
	lockdep_assert_held(&session->pmu_lock);
	lockdep_assert_not_held(&session->pc->lock);
	disable_blocks(session, session->view_count);
}

/**
 * perfctr_session_baseline_pmu() - hand over what START read
 * @session: the session, becoming active, both locks held
 */
void perfctr_session_baseline_pmu(struct drm_perfctr_session *session)
{
	hand_over(session);
	if (session->has_pmu && session->cpu_changes != atomic_read(&session->pc->cpu_changes))
		kthread_queue_work(session->pc->worker, &session->pc->hotplug_work);
}

/**
 * perfctr_session_close_pmu() - release the events of a session that nobody finds any more
 * @session: the session, in no list of the device
 *
 * The session itself may have to be freed by a job, where perf must not be called.
 */
void perfctr_session_close_pmu(struct drm_perfctr_session *session)
{
	unsigned int i;

	if (!session->has_pmu)
		return;
	/* the worker may have found it before */
	kthread_flush_worker(session->pc->worker);
	mutex_lock(&session->pmu_lock);
	for (i = 0; i < session->view_count; i++)
		if (session->views[i].pmu)
			perfctr_pmu_close(session->views[i].pmu);
	mutex_unlock(&session->pmu_lock);
}

/**
 * perfctr_session_want_pmu() - have the worker read the PMU blocks of a session
 * @session: the session
 * @follow: and look after CPUs that came or went
 *
 * Any caller but the worker's own works queues &drm_perfctr.pmu_work then.
 */
void perfctr_session_want_pmu(struct drm_perfctr_session *session, bool follow)
{
	lockdep_assert_held(&session->pc->lock);
	if (!session->has_pmu)
		return;
	session->pmu_wanted = true;
	session->pmu_follow |= follow;
	session->pc->pmu_wanted = true;
}

static void serve(struct drm_perfctr_session *session, bool follow)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i;
	bool dead;

	mutex_lock(&session->pmu_lock);
	for (i = 0; follow && i < session->view_count; i++)
		if (session->views[i].pmu)
			perfctr_pmu_follow_cpus(pc, session->views[i].pmu);
	read_blocks(session);
	mutex_lock(&pc->lock);
	hand_over(session);
	dead = session->dead;
	mutex_unlock(&pc->lock);
	/* unplugged: nobody will STOP it */
	if (dead)
		perfctr_session_disable_pmu(session);
	mutex_unlock(&session->pmu_lock);
}

/**
 * perfctr_serve_pmu() - read the PMU blocks that are wanted
 * @pc: the device; its lock is held, and released meanwhile
 *
 * In the worker only.
 */
void perfctr_serve_pmu(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session, *next;
	LIST_HEAD(wanted);
	LIST_HEAD(follow);

	lockdep_assert_held(&pc->lock);
	if (!pc->pmu_wanted)
		return;
	pc->pmu_wanted = false;
	list_for_each_entry(session, &pc->all, all_node) {
		if (!session->pmu_wanted)
			continue;
		list_add_tail(&session->pmu_node, session->pmu_follow ? &follow : &wanted);
		session->pmu_wanted = false;
		session->pmu_follow = false;
	}
	mutex_unlock(&pc->lock);

	list_for_each_entry_safe(session, next, &wanted, pmu_node)
		serve(session, false);
	list_for_each_entry_safe(session, next, &follow, pmu_node)
		serve(session, true);
	mutex_lock(&pc->lock);
}
