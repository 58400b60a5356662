// SPDX-License-Identifier: GPL-2.0
/*
 * The workers of a device: timers, due samples, events of the hardware.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>

#include "compat.h"
#include "perfctr_internal.h"
#include "pmu/pmu.h"

static bool is_hardware(const struct perfctr_worker *worker)
{
	return worker == &worker->pc->workers[PERFCTR_HARDWARE];
}

/**
 * drm_perfctr_sampler_arm() - set the timer of a worker to its next deadline
 * @worker: the worker
 */
void drm_perfctr_sampler_arm(struct perfctr_worker *worker)
{
	struct drm_perfctr *pc = worker->pc;
	struct drm_perfctr_session *session;
	ktime_t next = KTIME_MAX;
	unsigned int i;

	lockdep_assert_held(&pc->lock);
	list_for_each_entry(session, &worker->active, node)
		next = min_t(ktime_t, next, perfctr_next_due(session));
	if (next != KTIME_MAX)
		next = max_t(ktime_t, next, worker->rest_until);
	if (is_hardware(worker) && !pc->suspended && !pc->unplugged)
		for (i = 0; i < pc->source_count; i++) {
			u64 left_ns = drm_perfctr_collect_left_ns(pc->sources[i]);

			if (left_ns != U64_MAX)
				next = min_t(ktime_t, next, ktime_add_ns(ktime_get(), left_ns));
		}

	if (next == KTIME_MAX)
		hrtimer_cancel(&worker->timer);
	else
		/* on the worker's CPU; not on that of a command, which may be isolated */
		hrtimer_start(&worker->timer, next, current == worker->thread->task ?
			      HRTIMER_MODE_ABS_PINNED_HARD : HRTIMER_MODE_ABS_HARD);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct perfctr_worker *worker = container_of(timer, struct perfctr_worker, timer);

	atomic64_inc(&worker->pc->timer_interrupts);
	kthread_queue_work(worker->thread, &worker->tick_work);
	return HRTIMER_NORESTART;
}

/* sources whose own deadline has passed */
static unsigned long sources_left(const struct drm_perfctr *pc)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < pc->source_count; i++)
		if (!drm_perfctr_collect_left_ns(pc->sources[i]))
			mask |= BIT(i);
	return mask;
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
 * Publishes the sessions in the tick that are due: one collection, of @sources, too, and one end of
 * span for all.
 */
static void publish_tick(struct perfctr_worker *worker, ktime_t now, unsigned long sources)
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
			publish_automatic(session);
	}
}

/*
 * After a tick that began at @now: rests for as long as it ran, so that others get the lock and the
 * CPU even if collections take longer than the shortest period.
 */
static void rest(struct perfctr_worker *worker, ktime_t now)
{
	ktime_t end = ktime_get();

	worker->rest_until = max_t(ktime_t, ktime_add(end, ktime_sub(end, now)),
				   ktime_add_ns(now, PERFCTR_MIN_PERIOD_NS));
}

static void tick_hardware(struct kthread_work *work)
{
	struct perfctr_worker *worker = container_of(work, struct perfctr_worker, tick_work);
	struct drm_perfctr *pc = worker->pc;
	struct drm_perfctr_session *session;
	ktime_t now;

	drm_perfctr_lock_worker(pc);
	now = ktime_get();
	/* for hardware, or START set the timer while this work waited for the lock */
	if (ktime_before(now, worker->rest_until)) {
		drm_perfctr_sampler_collect_mask(pc, sources_left(pc));
	} else {
		list_for_each_entry(session, &worker->active, node)
			session->pending.in_tick = !ktime_before(now, perfctr_next_due(session));
		publish_tick(worker, now, sources_left(pc));
		rest(worker, now);
	}
	drm_perfctr_sampler_arm(worker);
	rt_mutex_unlock(&pc->lock);
}

/*
 * Puts due sessions with perf events in the tick: all of holders of CAP_PERFMON, or else one of the
 * others, in turn, because reading their events may take long.
 */
static bool choose_due(struct perfctr_worker *worker, ktime_t now, bool *privileged)
{
	struct drm_perfctr_session *session, *user = NULL;

	*privileged = false;
	list_for_each_entry(session, &worker->active, node) {
		bool due = !ktime_before(now, perfctr_next_due(session));

		session->pending.in_tick = due && session->privileged;
		*privileged |= session->pending.in_tick;
		if (due && !session->privileged && !user)
			user = session;
	}
	if (!*privileged && user) {
		user->pending.in_tick = true;
		list_move_tail(&user->node, &worker->active);
	}
	return *privileged || user;
}

/* the worker's part of a tick of the second one */
struct tick_request {
	struct perfctr_request base;
	ktime_t now;
	bool due;
	bool privileged;
};

static void begin_tick(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct tick_request *tick = container_of(base, struct tick_request, base);
	struct perfctr_worker *worker = &pc->workers[PERFCTR_PMU];
	struct drm_perfctr_session *session;

	tick->now = ktime_get();
	tick->due = !ktime_before(tick->now, worker->rest_until) &&
		    choose_due(worker, tick->now, &tick->privileged);
	list_for_each_entry(session, &worker->active, node)
		if (tick->due && session->pending.in_tick)
			drm_perfctr_pmu_want(session, false);
	if (!tick->due)
		drm_perfctr_sampler_arm(worker);
}

static void end_tick(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct tick_request *tick = container_of(base, struct tick_request, base);
	struct perfctr_worker *worker = &pc->workers[PERFCTR_PMU];

	publish_tick(worker, tick->now, 0);
	rest(worker, tick->now);
	drm_perfctr_sampler_arm(worker);
}

/*
 * Reads perf events at the priority of the sessions in the tick; then one collection is enough for
 * all of them. Waiting for the sampler lock behind callers would keep CLOSE waiting.
 */
static void tick_events(struct kthread_work *work)
{
	struct perfctr_worker *worker = container_of(work, struct perfctr_worker, tick_work);
	struct tick_request tick = { .base = { .run = begin_tick, .later = true } };

	drm_perfctr_run_urgent(worker->pc, &tick.base);
	if (!tick.due)
		return;
	set_user_nice(current, tick.privileged ? MIN_NICE : 0);
	drm_perfctr_pmu_serve(worker->pc);
	tick.base.run = end_tick;
	drm_perfctr_run_urgent(worker->pc, &tick.base);
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

/* publishes AUTOMATIC samples; the second worker, those with perf events */
static void publish_transitions(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;
	struct perfctr_worker *worker;

	perfctr_for_each_active(pc, worker, session) {
		if (!saw_transition(session))
			continue;
		session->pending.others++;
		session->pending.automatic_due = true;
		if (session->pmu.present)
			kthread_queue_work(worker->thread, &worker->tick_work);
		else
			publish_automatic(session);
	}
}

/* the hardware took a sample by itself, or its buffer fills up */
static void serve_event(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, event_work);
	unsigned long sources = 0;
	unsigned int i;

	drm_perfctr_lock_worker(pc);
	for (i = 0; i < pc->source_count; i++)
		if (pc->sources[i]->state->running)
			sources |= BIT(i);
	/* endless transitions in firmware must not requeue this work */
	pc->serving_events = true;
	drm_perfctr_sampler_collect_mask(pc, sources);
	pc->serving_events = false;
	publish_transitions(pc);
	drm_perfctr_sampler_arm(&pc->workers[PERFCTR_HARDWARE]);
	rt_mutex_unlock(&pc->lock);
}

/* sources have fewer sessions than before: stop or reprogram them */
static void release(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, release_work);
	unsigned int i;

	drm_perfctr_lock_worker(pc);
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
		drm_perfctr_batch_select(source, NULL);
	}
	drm_perfctr_sampler_arm(&pc->workers[PERFCTR_HARDWARE]);
	drm_perfctr_sampler_arm(&pc->workers[PERFCTR_PMU]);
	rt_mutex_unlock(&pc->lock);
}

/* somebody waits for the lock: taking it does what is requested */
static void serve_requests(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, requests.work);

	drm_perfctr_lock_worker(pc);
	rt_mutex_unlock(&pc->lock);
}

/* perf events of a job's session must be read, or a CPU came or went */
static void serve_events(struct kthread_work *work)
{
	drm_perfctr_pmu_serve(container_of(work, struct drm_perfctr, pmu.work));
}

static void init_worker(struct drm_perfctr *pc, struct perfctr_worker *worker,
			void (*tick)(struct kthread_work *work))
{
	worker->pc = pc;
	INIT_LIST_HEAD(&worker->active);
	kthread_init_work(&worker->tick_work, tick);
	perfctr_hrtimer_setup(&worker->timer, timer_fired, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_HARD);
}

/* creates the workers of a device; returns 0 or a negative errno */
int drm_perfctr_sampler_init(struct drm_perfctr *pc)
{
	struct perfctr_worker *hardware = &pc->workers[PERFCTR_HARDWARE];
	struct perfctr_worker *events = &pc->workers[PERFCTR_PMU];
	const char *device = dev_name(pc->drm->dev);
	struct kthread_worker *thread;

	init_worker(pc, hardware, tick_hardware);
	init_worker(pc, events, tick_events);
	raw_spin_lock_init(&pc->requests.lock);
	INIT_LIST_HEAD(&pc->requests.lists[false]);
	INIT_LIST_HEAD(&pc->requests.lists[true]);
	INIT_LIST_HEAD(&pc->pmu.wanted);
	INIT_LIST_HEAD(&pc->pmu.todo);
	kthread_init_work(&pc->requests.work, serve_requests);
	kthread_init_work(&pc->release_work, release);
	kthread_init_work(&pc->event_work, serve_event);
	kthread_init_work(&pc->pmu.work, serve_events);

	thread = perfctr_run_worker(0, "perfctr/%s", device);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	hardware->thread = thread;
	/* delayed samples are stretched: run before ordinary work */
	sched_set_fifo_low(thread->task);
	if (!IS_ENABLED(CONFIG_DRM_PERFCTR_PMU))
		return 0;
	thread = perfctr_run_worker(0, "perfctr-pmu/%s", device);
	if (IS_ERR(thread)) {
		kthread_destroy_worker(hardware->thread);
		return PTR_ERR(thread);
	}
	events->thread = thread;
	return 0;
}

/* undoes drm_perfctr_sampler_init(); there are no active sessions */
void drm_perfctr_sampler_fini(struct drm_perfctr *pc)
{
	unsigned int i;

	/* the second one needs the first */
	for (i = PERFCTR_WORKERS; i--;) {
		hrtimer_cancel(&pc->workers[i].timer);
		if (pc->workers[i].thread)
			kthread_destroy_worker(pc->workers[i].thread);
	}
}
