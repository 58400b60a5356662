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

/* sets the timer of a class to its next deadline */
static void arm(struct perfctr_class *class)
{
	struct drm_perfctr *pc = class->pc;
	struct drm_perfctr_session *session;
	ktime_t next = KTIME_MAX;
	unsigned int i;

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
		hrtimer_start(&class->timer, next, HRTIMER_MODE_ABS_PINNED_HARD);
}

/* sets the timers anew, after sessions or sources have changed */
void drm_perfctr_sampler_arm(struct drm_perfctr *pc)
{
	lockdep_assert_held(&pc->lock);
	arm(&pc->classes[PERFCTR_PRIVILEGED]);
	arm(&pc->classes[PERFCTR_ORDINARY]);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct perfctr_class *class = container_of(timer, struct perfctr_class, timer);

	atomic64_inc(&class->pc->timer_interrupts);
	perfctr_kick(class);
	return HRTIMER_NORESTART;
}

/* stops or reprograms sources that have fewer sessions than before; false: there were none */
bool drm_perfctr_sampler_release(struct drm_perfctr *pc)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];
		struct perfctr_source_state *state = source->state;

		if (!state->release_due)
			continue;
		any = true;
		state->release_due = false;
		if (!state->users) {
			drm_perfctr_source_stop(source);
		} else if (state->wanted) {
			if (state->running)
				drm_perfctr_sampler_collect_source(source);
			drm_perfctr_sampler_select(source, NULL);
		}
	}
	return any;
}

/*
 * Collects sources whose own deadline has passed, except those of @collected, or all for an event.
 * Returns them with those of @collected.
 */
static unsigned long collect_due(struct perfctr_class *class, unsigned long collected)
{
	const bool event = atomic_xchg(&class->event, 0);
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < class->pc->source_count; i++) {
		const struct drm_perfctr_source *source = class->pc->sources[i];

		if (event)
			mask |= source->state->running ? BIT(i) : 0;
		else if (!(collected & BIT(i)) && class == perfctr_class_of(source) &&
			 !drm_perfctr_collect_left_ns(source))
			mask |= BIT(i);
	}
	drm_perfctr_sampler_collect_mask(class->pc, mask);
	return collected | mask;
}

/* whether the collections found a transition since the session's last AUTOMATIC sample */
static bool saw_transition(const struct drm_perfctr_session *session)
{
	unsigned int i;

	if (session->config.flags & DRM_PERFCTR_SETUP_AUTOMATIC)
		for (i = 0; i < session->source_count; i++)
			if (session->sources[i].source->state->transition >
			    session->pending.collections)
				return true;
	return false;
}

/* the transitions so far are in a sample, or counted as merged */
static void end_transitions(struct drm_perfctr_session *session)
{
	session->pending.collections = session->pc->collections;
}

static bool is_due(const struct drm_perfctr_session *session, ktime_t now)
{
	return saw_transition(session) || !ktime_before(now, perfctr_next_due(session));
}

/* the reason of the sample to publish at @now; 0: none, or no room */
static u32 take_due(struct drm_perfctr_session *session, ktime_t now)
{
	if (saw_transition(session)) {
		if (drm_perfctr_has_room(session))
			return DRM_PERFCTR_SAMPLE_AUTOMATIC;
		end_transitions(session);
		session->pending.others++;
		drm_perfctr_update_status(session);
	}
	return !perfctr_in_batches(session) && drm_perfctr_sampler_is_due(session, now) ?
	       DRM_PERFCTR_SAMPLE_PERIODIC : 0;
}

/*
 * Serves the next session, with or without perf events, of which something is due at @now; false:
 * none. Moves each session to the tail, so that all are visited once, also if the lock is released
 * meanwhile. @collected: sources that need not be collected again.
 */
static bool serve_next(struct perfctr_class *class, ktime_t now, bool pmu,
		       unsigned long *collected)
{
	struct drm_perfctr_session *session;
	unsigned long sources;
	u32 reason;

	do {
		session = list_first_entry_or_null(&class->active, struct drm_perfctr_session,
						   node);
		if (!session || session->pending.visit == class->visits)
			return false;
		session->pending.visit = class->visits;
		list_move_tail(&session->node, &class->active);
		reason = 0;
		if (session->pmu.present != pmu)
			continue;
		if (pmu) {
			if (!is_due(session, now) && !drm_perfctr_pmu_is_wanted(session))
				continue;
			*collected = 0;
			if (!drm_perfctr_pmu_serve(session))
				continue;
		}
		reason = take_due(session, now);
	} while (!reason);

	sources = drm_perfctr_sampler_sources(session) & ~*collected;
	drm_perfctr_sampler_collect_mask(class->pc, sources);
	*collected |= sources;
	if (reason == DRM_PERFCTR_SAMPLE_AUTOMATIC)
		end_transitions(session);
	drm_perfctr_publish(session, reason, session->config.user_data);
	return true;
}

/*
 * Serves events of the hardware first, and sessions that wait for perf last. The privileged
 * worker then rests for as long as it ran, so that others get the lock and the CPU even if
 * collections take longer than the shortest period. The ordinary one releases the lock after each
 * session.
 */
static void tick(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, work);
	struct drm_perfctr *pc = class->pc;
	const bool ordinary = class == &pc->classes[PERFCTR_ORDINARY];
	unsigned long collected;
	ktime_t begin, now;
	int pmu;

	perfctr_lock_worker(class);
	begin = ktime_get();
	collected = atomic_read(&class->event) ? collect_due(class, 0) : 0;
	if (ordinary && drm_perfctr_sampler_release(pc))
		drm_perfctr_sampler_arm(pc);
	/* no periods while it rests: the work was queued for something else */
	now = ktime_before(begin, class->rest_until) ? 0 : begin;
	for (pmu = 0; pmu <= !!class->pmu_sessions; pmu++) {
		class->visits++;
		while (serve_next(class, READ_ONCE(pc->ending) ? 0 : now, pmu, &collected)) {
			if (ordinary) {
				perfctr_unlock_worker(class);
				cond_resched();
				perfctr_lock_worker(class);
			}
			if (ordinary || pmu)
				collect_due(class, 0);
		}
		/* most ticks have collected the sources for sessions */
		if (!pmu)
			collected = collect_due(class, collected);
	}
	if (now) {
		ktime_t end = ktime_get();

		/* different periods must not add up to a timer storm */
		class->rest_until = ktime_add_ns(begin, ordinary ? ORDINARY_MIN_GAP_NS :
								   PERFCTR_MIN_PERIOD_NS);
		if (!ordinary)
			class->rest_until = max_t(ktime_t, class->rest_until,
						  ktime_add(end, ktime_sub(end, begin)));
	}
	arm(class);
	perfctr_unlock_worker(class);
}

static int init_class(struct drm_perfctr *pc, struct perfctr_class *class, const char *suffix)
{
	class->pc = pc;
	rt_mutex_init(&class->caller_lock);
	INIT_LIST_HEAD(&class->active);
	kthread_init_work(&class->work, tick);
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
