// SPDX-License-Identifier: GPL-2.0
/*
 * The workers of a device: timers, due samples, events of the hardware.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>

#include "compat.h"
#include "perfctr_internal.h"
#include "pmu/pmu.h"

/* minimum time between two ticks of the ordinary worker */
#define ORDINARY_MIN_GAP_NS	(250 * NSEC_PER_USEC)

/**
 * drm_perfctr_sampler_arm() - set the timer of a class to its next deadline
 * @class: the class
 */
void drm_perfctr_sampler_arm(struct perfctr_class *class)
{
	struct drm_perfctr *pc = class->pc;
	struct drm_perfctr_session *session;
	ktime_t next = KTIME_MAX;
	unsigned int i;

	lockdep_assert_held(&pc->lock);
	list_for_each_entry(session, &class->active, node)
		next = min_t(ktime_t, next, perfctr_next_due(session));
	if (next != KTIME_MAX)
		next = max_t(ktime_t, next, class->rest_until);
	if (!pc->suspended && !pc->unplugged)
		for (i = 0; i < pc->source_count; i++) {
			u64 left_ns = drm_perfctr_collect_left_ns(pc->sources[i]);

			if (class == perfctr_class_of(pc->sources[i]) && left_ns != U64_MAX)
				next = min_t(ktime_t, next, ktime_add_ns(ktime_get(), left_ns));
		}

	if (next == KTIME_MAX)
		hrtimer_cancel(&class->timer);
	else
		/* on the worker's CPU; not on that of a command, which may be isolated */
		hrtimer_start(&class->timer, next, current == class->worker->task ?
			      HRTIMER_MODE_ABS_PINNED_HARD : HRTIMER_MODE_ABS_HARD);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct perfctr_class *class = container_of(timer, struct perfctr_class, timer);

	atomic64_inc(&class->pc->timer_interrupts);
	kthread_queue_work(class->worker, &class->tick_work);
	return HRTIMER_NORESTART;
}

/* adds sources of the class whose own deadline has passed to @mask */
static unsigned long add_sources_left(const struct perfctr_class *class, unsigned long mask)
{
	unsigned int i;

	for (i = 0; i < class->pc->source_count; i++)
		if (!(mask & BIT(i)) && class == perfctr_class_of(class->pc->sources[i]) &&
		    !drm_perfctr_collect_left_ns(class->pc->sources[i]))
			mask |= BIT(i);
	return mask;
}

/* publishes due sessions, with or without perf events: one collection, one end of span for all */
static void publish_due(struct perfctr_class *class, ktime_t now, bool pmu)
{
	struct drm_perfctr_session *session;
	unsigned long sources = 0;

	list_for_each_entry(session, &class->active, node) {
		session->pending.in_tick = session->pmu.present == pmu &&
					   !perfctr_in_batches(session) &&
					   drm_perfctr_sampler_is_due(session, now);
		if (session->pending.in_tick)
			sources |= drm_perfctr_sampler_sources(session);
	}
	drm_perfctr_sampler_collect_mask(class->pc, add_sources_left(class, sources));
	list_for_each_entry(session, &class->active, node)
		if (session->pending.in_tick)
			drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC,
					    session->config.user_data);
}

/*
 * SCHED_FIFO. Serves hardware before sessions that wait for perf. Rests for as long as it ran, so
 * that others get the lock and the CPU even if collections take longer than the shortest period.
 */
static void tick_privileged(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, tick_work);
	struct drm_perfctr *pc = class->pc;
	ktime_t now, end;

	rt_mutex_lock(&pc->lock);
	now = ktime_get();
	/* for hardware, or START set the timer while this work waited for the lock */
	if (ktime_before(now, class->rest_until)) {
		drm_perfctr_sampler_collect_mask(pc, add_sources_left(class, 0));
	} else {
		publish_due(class, now, false);
		if (drm_perfctr_pmu_serve_due(class, now))
			publish_due(class, now, true);
		end = ktime_get();
		class->rest_until = max_t(ktime_t, ktime_add(end, ktime_sub(end, now)),
					  ktime_add_ns(now, PERFCTR_MIN_PERIOD_NS));
	}
	drm_perfctr_sampler_arm(class);
	rt_mutex_unlock(&pc->lock);
}

/* publishes an AUTOMATIC sample that was counted as pending */
static void publish_automatic(struct drm_perfctr_session *session)
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
 * Serves the next ordinary session that is due at @now; false: none. Moves each session to the
 * tail, so that a tick visits it once.
 */
static bool serve_one(struct perfctr_class *class, ktime_t now, unsigned long *collected)
{
	struct drm_perfctr_session *session;
	unsigned long sources;

	drm_perfctr_sampler_collect_mask(class->pc, add_sources_left(class, 0));
	do {
		session = list_first_entry_or_null(&class->active, struct drm_perfctr_session,
						   node);
		if (!session || session->pending.tick == class->ticks)
			return false;
		session->pending.tick = class->ticks;
		list_move_tail(&session->node, &class->active);
	} while (ktime_before(now, perfctr_next_due(session)));

	sources = drm_perfctr_sampler_sources(session) & ~*collected;
	drm_perfctr_sampler_collect_mask(class->pc, sources);
	*collected |= sources;
	if (drm_perfctr_sampler_is_due(session, now))
		drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC,
				    session->config.user_data);
	else if (session->pending.automatic_due)
		publish_automatic(session);
	return true;
}

/* ordinary priority: releases the lock after each session */
static void tick_ordinary(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, tick_work);
	struct drm_perfctr *pc = class->pc;
	unsigned long collected = 0;
	bool more = true;
	ktime_t now;

	rt_mutex_lock(&pc->lock);
	now = ktime_get();
	/* a tick visits each session: different periods must not add up to a timer storm */
	class->rest_until = ktime_add_ns(now, ORDINARY_MIN_GAP_NS);
	class->ticks++;
	drm_perfctr_pmu_serve_due(class, now);
	rt_mutex_unlock(&pc->lock);
	while (more) {
		rt_mutex_lock(&class->caller_lock);
		rt_mutex_lock(&pc->lock);
		more = !READ_ONCE(pc->ending) && serve_one(class, now, &collected);
		if (!more)
			drm_perfctr_sampler_arm(class);
		rt_mutex_unlock(&pc->lock);
		rt_mutex_unlock(&class->caller_lock);
		cond_resched();
	}
}

/* whether the collections found a transition since the session's last AUTOMATIC sample */
static bool saw_transition(struct drm_perfctr_session *session)
{
	bool saw = false;
	unsigned int i;

	if (!(session->config.flags & DRM_PERFCTR_OPEN_AUTOMATIC))
		return false;
	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_view *sv = &session->sources[i];

		saw |= sv->source->state->transition_seq > sv->transition_seq;
		sv->transition_seq = sv->source->state->seq;
	}
	return saw;
}

/* publishes AUTOMATIC samples; returns true if the ordinary worker must publish some */
static bool publish_transitions(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;
	struct perfctr_class *class;
	bool later = false;

	perfctr_for_each_active(pc, class, session) {
		if (!saw_transition(session))
			continue;
		session->pending.others++;
		session->pending.automatic_due = true;
		if (perfctr_is_privileged(session))
			publish_automatic(session);
		else
			later = true;
	}
	return later;
}

/* the hardware took a sample by itself, or its buffer fills up: collect before calling perf */
static void serve_event(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, event_work);
	struct drm_perfctr *pc = class->pc;
	struct perfctr_class *privileged = &pc->classes[PERFCTR_PRIVILEGED];
	struct perfctr_class *ordinary = &pc->classes[PERFCTR_ORDINARY];
	struct drm_perfctr_session *session;
	unsigned long sources = 0;
	unsigned int i;

	if (class == ordinary)
		rt_mutex_lock(&class->caller_lock);
	rt_mutex_lock(&pc->lock);
	for (i = 0; i < pc->source_count; i++)
		if (pc->sources[i]->state->running)
			sources |= BIT(i);
	/* endless transitions in firmware must not requeue this work */
	pc->serving_events = true;
	drm_perfctr_sampler_collect_mask(pc, sources);
	pc->serving_events = false;
	if (class == privileged) {
		list_for_each_entry(session, &class->active, node)
			if (session->config.flags & DRM_PERFCTR_OPEN_AUTOMATIC)
				drm_perfctr_pmu_want(session, false);
		drm_perfctr_pmu_serve(class);
	}
	if (publish_transitions(pc))
		kthread_queue_work(ordinary->worker, &ordinary->tick_work);
	drm_perfctr_sampler_arm(privileged);
	rt_mutex_unlock(&pc->lock);
	if (class == ordinary)
		rt_mutex_unlock(&class->caller_lock);
}

/* sources have fewer sessions than before: stop or reprogram them */
static void release(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, release_work);
	unsigned int i;

	rt_mutex_lock(&pc->classes[PERFCTR_ORDINARY].caller_lock);
	rt_mutex_lock(&pc->lock);
	for (i = 0; i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];
		struct perfctr_source_state *state = source->state;

		if (!state->release_due)
			continue;
		state->release_due = false;
		if (!state->users) {
			drm_perfctr_source_stop(source);
			continue;
		}
		if (state->running && state->wanted)
			drm_perfctr_sampler_collect_source(source);
		drm_perfctr_sampler_select(source, NULL);
	}
	drm_perfctr_sampler_arm(&pc->classes[PERFCTR_PRIVILEGED]);
	drm_perfctr_sampler_arm(&pc->classes[PERFCTR_ORDINARY]);
	rt_mutex_unlock(&pc->lock);
	rt_mutex_unlock(&pc->classes[PERFCTR_ORDINARY].caller_lock);
}

/* perf events of a job's session must be read, a CPU came or went, or a job waits */
static void serve_pmus(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, pmu_work);

	rt_mutex_lock(&class->pc->lock);
	drm_perfctr_pmu_serve(class);
	rt_mutex_unlock(&class->pc->lock);
}

static int init_class(struct drm_perfctr *pc, struct perfctr_class *class, const char *suffix)
{
	class->pc = pc;
	rt_mutex_init(&class->caller_lock);
	INIT_LIST_HEAD(&class->active);
	INIT_LIST_HEAD(&class->pmu_wanted);
	kthread_init_work(&class->pmu_work, serve_pmus);
	kthread_init_work(&class->event_work, serve_event);
	perfctr_hrtimer_setup(&class->timer, timer_fired, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_HARD);
	class->worker = perfctr_run_worker(0, "perfctr%s/%s", suffix, dev_name(pc->drm->dev));
	return PTR_ERR_OR_ZERO(class->worker);
}

/* creates the workers of a device; returns 0 or a negative errno */
int drm_perfctr_sampler_init(struct drm_perfctr *pc)
{
	struct perfctr_class *privileged = &pc->classes[PERFCTR_PRIVILEGED];
	struct perfctr_class *ordinary = &pc->classes[PERFCTR_ORDINARY];
	int ret;

	kthread_init_work(&pc->release_work, release);
	kthread_init_work(&privileged->tick_work, tick_privileged);
	kthread_init_work(&ordinary->tick_work, tick_ordinary);
	ret = init_class(pc, privileged, "");
	if (ret)
		return ret;
	ret = init_class(pc, ordinary, "-u");
	if (ret)
		kthread_destroy_worker(privileged->worker);
	else
		/* delayed samples are stretched: run before ordinary work */
		sched_set_fifo_low(privileged->worker->task);
	return ret;
}

/* undoes drm_perfctr_sampler_init(); there are no active sessions */
void drm_perfctr_sampler_fini(struct drm_perfctr *pc)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_CLASSES; i++) {
		hrtimer_cancel(&pc->classes[i].timer);
		kthread_destroy_worker(pc->classes[i].worker);
	}
}
