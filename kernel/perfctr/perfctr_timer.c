// SPDX-License-Identifier: GPL-2.0
/*
 * What the ticks of both workers have in common: when a session is due, timers, rests, samples.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "perfctr_extension.h"

/* time at which a worker must serve the session; KTIME_MAX: never */
static ktime_t next_due(const struct drm_perfctr_session *session)
{
	if (session->pending.automatic_due || session->pmu.wanted)
		return 0;
	/* the source determines when a batch is due */
	if (!session->config.period_ns || perfctr_in_batches(session))
		return KTIME_MAX;
	return session->pending.due;
}

/* when a worker may serve a session; KTIME_MAX: never */
ktime_t drm_perfctr_sampler_due(const struct perfctr_worker *worker,
				const struct drm_perfctr_session *session)
{
	return max_t(ktime_t, next_due(session),
		     session->privileged ? worker->rest_until : worker->users_rest_until);
}

/* sets the timer of a worker to its next deadline, on the CPU of a worker */
void drm_perfctr_sampler_arm(struct perfctr_worker *worker)
{
	struct drm_perfctr *pc = worker->pc;
	struct drm_perfctr_session *session;
	ktime_t next = KTIME_MAX;
	unsigned int i;

	lockdep_assert_held(&pc->lock);
	list_for_each_entry(session, &worker->active, node)
		next = min_t(ktime_t, next, drm_perfctr_sampler_due(worker, session));
	if (worker == &pc->workers[PERFCTR_HARDWARE] && !pc->suspended && !pc->unplugged)
		for (i = 0; i < pc->source_count; i++)
			next = min_t(ktime_t, next, drm_perfctr_collect_due(pc->sources[i]));

	if (next == KTIME_MAX)
		hrtimer_cancel(&worker->timer);
	else
		hrtimer_start(&worker->timer, next, HRTIMER_MODE_ABS_PINNED_HARD);
}

/* publishes an AUTOMATIC sample that was counted as pending */
void drm_perfctr_sampler_publish_automatic(struct drm_perfctr_session *session)
{
	session->pending.automatic_due = false;
	if (!drm_perfctr_has_room(session)) {
		drm_perfctr_update_status(session);
		return;
	}
	/* the sample itself is the last one */
	session->pending.others--;
	drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_AUTOMATIC, session->config.user_data);
}

/*
 * Publishes the sessions in the tick that are due: one collection, of @sources, too, and one end of
 * span for all.
 */
void drm_perfctr_sampler_publish(struct perfctr_worker *worker, ktime_t now, unsigned long sources)
{
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &worker->active, node) {
		if (!session->pending.in_tick)
			continue;
		session->pending.periodic = drm_perfctr_period_is_due(session, now);
		session->pending.in_tick = session->pending.periodic ||
					   session->pending.automatic_due;
		if (session->pending.in_tick)
			sources |= drm_perfctr_sampler_sources(session);
	}
	drm_perfctr_sampler_collect_mask(worker->pc, sources);
	list_for_each_entry(session, &worker->active, node) {
		if (!session->pending.in_tick)
			continue;
		if (session->pending.periodic)
			drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC,
					    session->config.user_data);
		else
			drm_perfctr_sampler_publish_automatic(session);
	}
}

/*
 * After a tick of @privileged sessions: they rest for as long as it ran, so that others get the
 * lock and the CPU even if collections take longer than the shortest period. After one of others,
 * only these rest, for @users times as long; 0: there were none.
 */
void drm_perfctr_sampler_rest(struct perfctr_worker *worker, ktime_t begin, bool privileged,
			      unsigned int users)
{
	const u64 ran_ns = ktime_to_ns(ktime_sub(ktime_get(), begin));

	if (privileged)
		worker->rest_until = ktime_add_ns(begin, max(2 * ran_ns, PERFCTR_MIN_PERIOD_NS));
	if (users)
		worker->users_rest_until = ktime_add_ns(begin, (1 + users) * ran_ns);
}
