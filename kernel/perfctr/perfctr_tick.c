// SPDX-License-Identifier: GPL-2.0
/*
 * The workers of a device: due samples, events of the hardware, what others left to do.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>

#include "compat.h"
#include "perfctr_extension.h"
#include "pmu/pmu.h"

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct perfctr_worker *worker = container_of(timer, struct perfctr_worker, timer);

	atomic64_inc(&worker->pc->timer_interrupts);
	kthread_queue_work(worker->thread, &worker->tick_work);
	return HRTIMER_NORESTART;
}

/* sources that are due by themselves */
static unsigned long sources_due(const struct drm_perfctr *pc, ktime_t now)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < pc->source_count; i++)
		if (!ktime_before(now, drm_perfctr_collect_due(pc->sources[i])))
			mask |= BIT(i);
	return mask;
}

static void tick_hardware(struct kthread_work *work)
{
	struct perfctr_worker *worker = container_of(work, struct perfctr_worker, tick_work);
	struct drm_perfctr *pc = worker->pc;
	bool privileged = false, users = false;
	struct drm_perfctr_session *session;
	ktime_t now;

	drm_perfctr_lock_worker(pc);
	now = ktime_get();
	list_for_each_entry(session, &worker->active, node) {
		bool due = !ktime_before(now, drm_perfctr_sampler_due(worker, session));

		session->pending.in_tick = due;
		privileged |= due && session->privileged;
		users |= due && !session->privileged;
	}
	drm_perfctr_sampler_publish(worker, now, sources_due(pc, now));
	drm_perfctr_sampler_rest(worker, now, privileged, users);
	drm_perfctr_sampler_arm(worker);
	rt_mutex_unlock(&pc->lock);
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
			drm_perfctr_sampler_publish_automatic(session);
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

/* sources have fewer sessions than before: stops or reprograms them; and sets the timers */
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
		if (state->running && source->extension)
			drm_perfctr_sampler_collect_source(source);
		perfctr_select(source, NULL);
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
	init_worker(pc, events, drm_perfctr_pmu_tick);
	raw_spin_lock_init(&pc->requests.lock);
	INIT_LIST_HEAD(&pc->requests.lists[false]);
	INIT_LIST_HEAD(&pc->requests.lists[true]);
	INIT_LIST_HEAD(&pc->pmu.todo);
	kthread_init_work(&pc->requests.work, serve_requests);
	kthread_init_work(&pc->release_work, release);
	kthread_init_work(&pc->event_work, serve_event);

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
	/* as reading may take long, and ordinary work would make it longer */
	set_user_nice(thread->task, MIN_NICE);
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
