// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions after OPEN: START, SAMPLE, STOP, STATUS, end.
 */
#include <linux/pid.h>
#include <linux/slab.h>
#include <drm/drm_perfctr_extension.h>

#include "perfctr_internal.h"
#include "perfctr_sink.h"
#include "pmu/pmu.h"

/**
 * DOC: life of a session
 *
 * ::
 *
 *     OPEN ---> stopped --START--> active --STOP--> stopped --> CLOSE
 *                  ^                 |                 |
 *                  |                 | unplug          |
 *                  +-----START-------|-----------------+
 *                                    v
 *                                   dead
 *
 * CLOSE, of the last descriptor, works in every state and does not access the hardware:
 * release_work stops sources that are no longer needed. A session's memory is freed with its last
 * reference: a job that contains a SAMPLE holds one, and finds the session dead.
 */

/* maximum time that START waits for the end of a reset */
#define RESET_TIMEOUT	(5 * HZ)

/* frees a session, also one that OPEN could not complete */
void drm_perfctr_session_release(struct kref *ref)
{
	struct drm_perfctr_session *session =
		container_of(ref, struct drm_perfctr_session, refcount);

	drm_perfctr_pmu_destroy(session);
	drm_perfctr_memory_put(session->memory);
	if (perfctr_sink_ops(session))
		perfctr_sink_ops(session)->release(session->sink);
	kvfree(session->bases);
	kvfree(session->views);
	put_pid(session->owner.pid);
	drm_dev_put(session->pc->drm);
	kfree(session);
}

/* with the sampler lock held; -EAGAIN during a reset */
static int check_start(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;

	if (pc->unplugged || session->dead)
		return -ENODEV;
	if (!drm_perfctr_ring_free(session->ring))
		return perfctr_reject(pc, ENOSPC, "START: no slot is free for the final sample");
	if (session->source_count && pc->set_users && pc->set != session->set)
		return perfctr_reject(pc, EBUSY, "START: set %u: set %u is in use", session->set,
				      pc->set);
	return pc->resetting ? -EAGAIN : 0;
}

/* with the locks of a command, after perf events were enabled */
static int activate(struct drm_perfctr_session *session, u64 user_data, bool awake)
{
	int ret;

	ret = drm_perfctr_sampler_attach(session);
	if (ret)
		return ret;
	drm_perfctr_baseline(session);
	drm_perfctr_period_begin(session);
	session->config.user_data = user_data;
	session->awake = awake;
	drm_perfctr_sampler_add(session);
	drm_perfctr_ring_set_state(session->ring, DRM_PERFCTR_RING_ACTIVE);
	drm_perfctr_update_status(session);
	drm_perfctr_pmu_begin(session);
	return 0;
}

/* -EAGAIN during a reset */
static int start(struct drm_perfctr_session *session, u64 user_data, bool awake)
{
	int ret;

	/* only START sets it */
	if (READ_ONCE(session->active))
		return perfctr_reject(session->pc, EALREADY, "START: session is active");
	ret = drm_perfctr_pmu_enable(session);
	if (ret)
		return ret;
	ret = drm_perfctr_lock_call(session);
	if (!ret) {
		ret = check_start(session);
		if (!ret)
			ret = activate(session, user_data, awake);
		drm_perfctr_unlock_call(session);
	}
	if (ret)
		drm_perfctr_pmu_disable(session);
	else
		drm_perfctr_sampler_settle(session->pc);
	return ret;
}

static int start_outside_reset(struct drm_perfctr_session *session, u64 user_data, bool awake)
{
	struct drm_perfctr *pc = session->pc;
	long left;
	int ret;

	do {
		left = wait_event_interruptible_timeout(pc->reset_wait,
							!READ_ONCE(pc->resetting) ||
							READ_ONCE(pc->unplugged), RESET_TIMEOUT);
		if (left < 0)
			return -EINTR;
		if (!left)
			return perfctr_reject(pc, ETIMEDOUT, "START: the reset does not end");
		ret = start(session, user_data, awake);
	} while (ret == -EAGAIN);
	return ret;
}

/* -ENODEV: the device was removed; -EIO: whatever else keeps it from waking, as no argument does */
static int wake_device(struct drm_perfctr *pc)
{
	int idx, ret;

	if (!drm_dev_enter(pc->drm, &idx))
		return -ENODEV;
	ret = pc->config.ops->wake(pc->drm);
	drm_dev_exit(idx);
	if (!ret || ret == -EINTR)
		return ret;
	return perfctr_reject(pc, EIO, "START: the device does not power up: %d", ret);
}

/* START; returns 0 or an errno as in the uAPI header */
int drm_perfctr_session_start(struct drm_perfctr_session *session, u64 user_data)
{
	bool wake = session->config.flags & DRM_PERFCTR_OPEN_KEEP_AWAKE;
	struct drm_perfctr *pc = session->pc;
	int ret = 0;

	/* before the sampler lock, which resuming takes */
	if (wake)
		ret = wake_device(pc);
	if (ret)
		return ret;
	ret = start_outside_reset(session, user_data, wake);
	if (ret && wake)
		pc->config.ops->relax(pc->drm);
	return ret;
}

/*
 * Ends an active session, just collected; @flags: DRM_PERFCTR_SAMPLE_UNPLUGGED or 0. Returns
 * whether readers must be signalled: those of a session that also dies are, when they find both.
 */
bool drm_perfctr_session_finish(struct drm_perfctr_session *session, u32 flags, u64 user_data)
{
	bool wake;

	drm_perfctr_period_end(session);
	drm_perfctr_ring_free(session->ring);
	WRITE_ONCE(session->active, false);
	wake = drm_perfctr_publish_only(session, DRM_PERFCTR_SAMPLE_FINAL | flags, user_data);
	/* afterwards, because counts of the next selection are not part of the sample */
	drm_perfctr_sampler_detach(session);
	return wake;
}

/* STOP, likewise */
int drm_perfctr_session_stop(struct drm_perfctr_session *session, u64 user_data)
{
	struct drm_perfctr *pc = session->pc;
	bool relax = false;
	int ret;

	ret = drm_perfctr_lock_call(session);
	if (ret)
		return ret;
	if (session->dead) {
		ret = -ENODEV;
	} else if (!session->active) {
		ret = perfctr_reject(pc, EALREADY, "STOP: session is not active");
	} else {
		/* the sample's flags report an error; it contains what could be read */
		drm_perfctr_sampler_collect(session);
		if (drm_perfctr_session_finish(session, 0, user_data))
			drm_perfctr_wake(session->memory);
		swap(relax, session->awake);
	}
	drm_perfctr_unlock_call(session);
	if (!ret)
		drm_perfctr_pmu_disable(session);
	if (relax)
		pc->config.ops->relax(pc->drm);
	return ret;
}

/* SAMPLE, likewise */
int drm_perfctr_session_manual(struct drm_perfctr_session *session, u64 user_data)
{
	struct drm_perfctr *pc = session->pc;
	bool wake = false;
	int ret;

	ret = drm_perfctr_lock_call(session);
	if (ret)
		return ret;
	if (session->dead) {
		ret = -ENODEV;
	} else if (!session->active) {
		ret = perfctr_reject(pc, ENOTCONN, "SAMPLE: session is not active");
	} else if (!drm_perfctr_sampler_collect_with_room(session)) {
		session->totals.ring_full++;
		drm_perfctr_update_status(session);
		ret = perfctr_reject(pc, ENOSPC, "SAMPLE: only the slot of STOP is free");
	} else {
		wake = drm_perfctr_publish_only(session, DRM_PERFCTR_SAMPLE_MANUAL, user_data);
	}
	drm_perfctr_unlock_call(session);
	if (wake)
		drm_perfctr_signal(session->memory);
	return ret;
}

/* STATUS: as of the last sample or command, but for readers; does not wait */
void drm_perfctr_session_status(struct drm_perfctr_session *session,
				struct drm_perfctr_status *status)
{
	spin_lock(&session->status_lock);
	*status = session->status;
	spin_unlock(&session->status_lock);
	status->readers = atomic_read(&session->memory->readers);
}

/* undoes OPEN and drops its reference; the session must not be in any list */
void drm_perfctr_session_discard(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i;

	for (i = 0; i < pc->source_count; i++)
		if (session->prepared & BIT(i))
			drm_perfctr_source_unprepare(pc->sources[i]);
	drm_perfctr_uncharge(session->owner.charged, 1, 0);
	drm_perfctr_session_put(session);
}

/* the session ends, or its device is gone: readers see that; with the sampler lock held */
void drm_perfctr_session_die(struct drm_perfctr_session *session)
{
	if (session->memory->counted && !session->dead)
		drm_perfctr_count_signal(session->memory);
	WRITE_ONCE(session->dead, true);
	drm_perfctr_ring_set_state(session->ring, DRM_PERFCTR_RING_DEAD);
	drm_perfctr_update_status(session);
	drm_perfctr_wake(session->memory);
}

struct end_request {
	struct perfctr_request base;
	struct drm_perfctr_session *session;
};

static void end(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct drm_perfctr_session *session =
		container_of(base, struct end_request, base)->session;

	drm_perfctr_session_die(session);
	if (session->active)
		drm_perfctr_sampler_detach(session);
	pc->users_sessions -= !session->privileged;
	list_del_init(&session->all_node);
	list_del_init(&session->pmu.node);
}

/*
 * Ends a session in any state and drops the reference of its creator: no command, tick or job uses
 * it any more. It accesses no hardware, and waits for one access of others: it is urgent.
 */
void drm_perfctr_session_end(struct drm_perfctr_session *session)
{
	struct end_request request = { .base.run = end, .session = session };
	struct drm_perfctr *pc = session->pc;

	drm_perfctr_run_urgent(pc, &request.base);
	drm_perfctr_pmu_close(session);
	/* also after unplug, which keeps the wake reference */
	if (session->awake)
		pc->config.ops->relax(pc->drm);
	drm_perfctr_session_discard(session);
}

/**
 * drm_perfctr_session_put() - release a reference
 * @session: the session, or NULL
 *
 * Process context, outside of fence-signalling sections, e.g. where a driver frees its jobs: the
 * last reference frees memory.
 */
void drm_perfctr_session_put(struct drm_perfctr_session *session)
{
	if (session)
		kref_put(&session->refcount, drm_perfctr_session_release);
}

#ifndef PERFCTR_IN_TREE
EXPORT_SYMBOL_GPL(drm_perfctr_session_put);
#endif
