// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: locks of commands, collections of several sources, their sessions.
 */
#include <linux/bitops.h>

#include "perfctr_extension.h"
#include "pmu/pmu.h"

/**
 * DOC: order
 *
 * Calls go in one direction. The sampler decides when to collect; collecting reads a source and
 * adds to totals; publishing fills slots. None of them calls back::
 *
 *     session, power  -->  sampler  -->  collect  -->  source
 *                                   -->  publish  -->  layout, ring
 */

static void unlock_users(struct drm_perfctr_session *session)
{
	if (!session->privileged)
		rt_mutex_unlock(&session->pc->users_lock);
}

/*
 * Takes the locks of a command and hands over its perf events, just read. -EINTR, or -ENODEV during
 * unplug, with no lock held.
 */
int drm_perfctr_lock_call(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = session->privileged ? 0 : rt_mutex_lock_interruptible(&pc->users_lock);
	if (ret)
		return ret;
	ret = READ_ONCE(pc->ending) ? -ENODEV : rt_mutex_lock_interruptible(&session->pmu.lock);
	if (ret)
		goto err_users;
	drm_perfctr_pmu_read(session);
	ret = rt_mutex_lock_interruptible(&pc->lock);
	if (ret)
		goto err_pmu;
	/* unplug waits behind all that came before it: none of them accesses the hardware now */
	if (READ_ONCE(pc->ending))
		goto err_ending;
	drm_perfctr_pmu_handover(session);
	return 0;

err_ending:
	rt_mutex_unlock(&pc->lock);
	ret = -ENODEV;
err_pmu:
	rt_mutex_unlock(&session->pmu.lock);
err_users:
	unlock_users(session);
	return ret;
}

void drm_perfctr_unlock_call(struct drm_perfctr_session *session)
{
	rt_mutex_unlock(&session->pc->lock);
	rt_mutex_unlock(&session->pmu.lock);
	unlock_users(session);
}

/* has the first worker do what does not wait, and set the timers; any context */
void drm_perfctr_sampler_settle(struct drm_perfctr *pc)
{
	kthread_queue_work(pc->workers[PERFCTR_HARDWARE].thread, &pc->release_work);
}

/**
 * drm_perfctr_sampler_collect_source() - update the totals of a source
 * @source: the source
 *
 * Publishes the periodic samples of sessions that are served from its batches. They may fill all
 * slots except the one reserved for STOP.
 *
 * Returns: 0 or the source's error.
 */
int drm_perfctr_sampler_collect_source(struct drm_perfctr_source *source)
{
	if (source->state->running && perfctr_has_batches(source))
		return source->extension->ops->collect(source);
	return drm_perfctr_collect(source);
}

/* collects each source of @mask; returns 0 or the first error */
int drm_perfctr_sampler_collect_mask(struct drm_perfctr *pc, unsigned long mask)
{
	unsigned int id;
	int ret = 0;

	for_each_set_bit(id, &mask, PERFCTR_MAX_SOURCES) {
		int err = drm_perfctr_sampler_collect_source(pc->sources[id]);

		ret = ret ?: err;
	}
	return ret;
}

unsigned long drm_perfctr_sampler_sources(const struct drm_perfctr_session *session)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		mask |= BIT(session->sources[i].source->id);
	return mask;
}

/* collects all sources of a session, whose perf events have been read */
int drm_perfctr_sampler_collect(struct drm_perfctr_session *session)
{
	lockdep_assert_held(&session->pc->lock);
	return drm_perfctr_sampler_collect_mask(session->pc, drm_perfctr_sampler_sources(session));
}

/* the same for a sample: periods of a batch are published first, and may use up the room */
bool drm_perfctr_sampler_collect_with_room(struct drm_perfctr_session *session)
{
	if (!drm_perfctr_has_room(session))
		return false;
	drm_perfctr_sampler_collect(session);
	return drm_perfctr_has_room(session);
}

/*
 * The sources have one session less. release_work does the rest, so that CLOSE does not wait for
 * hardware. STOP, which has just @collected, drops the session's counters at once, because others
 * would share the hardware with them until the worker runs.
 */
static void release_sources(struct drm_perfctr_session *session, unsigned int count, bool collected)
{
	struct drm_perfctr *pc = session->pc;

	while (count--) {
		struct drm_perfctr_source *source = session->sources[count].source;
		struct perfctr_source_state *state = source->state;

		state->users--;
		WRITE_ONCE(pc->set_users, pc->set_users - 1);
		state->release_due = !state->users || !state->running || !collected;
		if (!state->release_due)
			perfctr_select(source, NULL);
	}
	drm_perfctr_sampler_settle(pc);
}

static int attach_source(struct drm_perfctr_source *source, struct drm_perfctr_session *session)
{
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr *pc = source->pc;
	int ret;

	WRITE_ONCE(pc->set, session->set);
	WRITE_ONCE(pc->set_users, pc->set_users + 1);
	/* losses without an active session are not reported */
	if (!state->users) {
		state->lost_flags = 0;
		state->pending_flags = 0;
		state->pending_lost = false;
	}
	if (state->running && perfctr_has_batches(source))
		drm_perfctr_sampler_collect_source(source);
	perfctr_select(source, session);
	ret = drm_perfctr_source_start(source);
	if (ret) {
		WRITE_ONCE(pc->set_users, pc->set_users - 1);
		state->release_due = true;
	} else {
		state->users++;
	}
	return ret;
}

/**
 * drm_perfctr_sampler_attach() - start all sources that a session needs
 * @session: the session; its counter set is in use from now on, no other one is
 *
 * Returns: 0, or the error of a source that failed to start or still has earlier counts; in that
 * case no source counts for the session.
 */
int drm_perfctr_sampler_attach(struct drm_perfctr_session *session)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&session->pc->lock);
	for (i = 0; i < session->source_count; i++) {
		ret = attach_source(session->sources[i].source, session);
		if (ret)
			goto undo;
	}
	ret = drm_perfctr_sampler_collect(session);
	for (i = 0; !ret && i < session->source_count; i++)
		if (session->sources[i].source->state->incomplete)
			ret = -ETIMEDOUT;
	if (!ret)
		return 0;
	drm_dbg(session->pc->drm, "perfctr: START: no baseline: %d\n", ret);
	i = session->source_count;
undo:
	release_sources(session, i, false);
	return ret;
}

/* makes an attached session active: the workers serve it */
void drm_perfctr_sampler_add(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;

	WRITE_ONCE(session->active, true);
	list_add_tail(&session->node, &perfctr_worker_of(session)->active);
	if (session->config.flags & DRM_PERFCTR_OPEN_AUTOMATIC)
		WRITE_ONCE(pc->automatic_sessions, pc->automatic_sessions + 1);
}

/*
 * Undoes attach and add of a session that is no longer active, or dead. release_work stops idle
 * sources and sets the timers anew.
 */
void drm_perfctr_sampler_detach(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;

	list_del_init(&session->node);
	if (session->config.flags & DRM_PERFCTR_OPEN_AUTOMATIC)
		WRITE_ONCE(pc->automatic_sessions, pc->automatic_sessions - 1);
	release_sources(session, session->source_count, !session->dead);
}
