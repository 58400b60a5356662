// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to a device while it counts: suspend, resume, reset, unplug.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>

#include "perfctr_internal.h"

/**
 * drm_perfctr_suspend() - the hardware is about to lose power
 * @pc: the counters
 *
 * Call while it still answers. Active sessions stay active; their samples say
 * so and go on after drm_perfctr_resume().
 */
void drm_perfctr_suspend(struct drm_perfctr *pc)
{
	unsigned int i;

	mutex_lock(&pc->lock);
	if (!pc->suspended && !pc->unplugged) {
		for (i = 0; i < pc->source_count; i++) {
			struct drm_perfctr_source *source = pc->sources[i];

			if (source->state->running) {
				perfctr_source_collect(pc, source);
				/* stopping drops what could not be read */
				if (source->state->incomplete)
					source->state->lost_flags |= DRM_PERFCTR_SAMPLE_ERROR;
				perfctr_source_stop(source);
			}
			perfctr_source_account_lost(source);
		}
		pc->suspended = true;
	}
	mutex_unlock(&pc->lock);
}
EXPORT_SYMBOL_GPL(drm_perfctr_suspend);

/* sources that active sessions need; while one does not run, its counts are lost */
static void restart_sources(struct drm_perfctr *pc)
{
	unsigned int i;

	for (i = 0; i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];
		struct perfctr_source_state *state = source->state;
		int ret;

		if (!state->users)
			continue;
		ret = perfctr_source_start(pc, source);
		if (ret)
			drm_dbg(pc->drm, "perfctr: %s did not restart: %d\n", source->name, ret);
		if (!state->running && !pc->suspended)
			state->lost_flags |= DRM_PERFCTR_SAMPLE_ERROR;
	}
	perfctr_sampler_arm(pc);
}

/* up to now nothing happened that could have been counted */
static void end_suspension(struct drm_perfctr *pc)
{
	unsigned int i;

	pc->suspended = false;
	for (i = 0; i < pc->source_count; i++) {
		struct perfctr_source_state *state = pc->sources[i]->state;

		if (!state->users)
			continue;
		state->good_ns = max(state->good_ns, ktime_get_raw_ns());
		state->pending_flags |= DRM_PERFCTR_SAMPLE_SUSPENDED;
	}
}

/**
 * drm_perfctr_resume() - the hardware has power again
 * @pc: the counters
 *
 * Call before anything runs on it.
 */
void drm_perfctr_resume(struct drm_perfctr *pc)
{
	mutex_lock(&pc->lock);
	if (pc->suspended) {
		end_suspension(pc);
		restart_sources(pc);
	}
	mutex_unlock(&pc->lock);
}
EXPORT_SYMBOL_GPL(drm_perfctr_resume);

/**
 * drm_perfctr_pre_reset() - the hardware is about to be reset
 * @pc: the counters
 *
 * What it counted since the last collection is lost, as it may not answer any
 * more, and so is everything until it counts again; the samples say so.
 */
void drm_perfctr_pre_reset(struct drm_perfctr *pc)
{
	unsigned int i;

	mutex_lock(&pc->lock);
	pc->resetting = true;
	for (i = 0; !pc->suspended && i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];

		if (!source->state->users)
			continue;
		if (source->state->running && source->ops->reset)
			source->ops->reset(source);
		source->state->running = false;
		source->state->lost_flags |= DRM_PERFCTR_SAMPLE_RESET;
	}
	mutex_unlock(&pc->lock);
}
EXPORT_SYMBOL_GPL(drm_perfctr_pre_reset);

/**
 * drm_perfctr_post_reset() - the hardware works again
 * @pc: the counters
 *
 * Not to be called for a reset that failed: drm_perfctr_unplug() is.
 */
void drm_perfctr_post_reset(struct drm_perfctr *pc)
{
	mutex_lock(&pc->lock);
	pc->resetting = false;
	if (!pc->unplugged)
		restart_sources(pc);
	mutex_unlock(&pc->lock);
}
EXPORT_SYMBOL_GPL(drm_perfctr_post_reset);

/* the last time for active sessions; those that are dead by now stop counting */
static void read_pmu_blocks(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;

	mutex_lock(&pc->lock);
	list_for_each_entry(session, &pc->all, all_node)
		perfctr_session_want_pmu(session, false);
	mutex_unlock(&pc->lock);
	kthread_queue_work(pc->worker, &pc->pmu_work);
	kthread_flush_worker(pc->worker);
}

/**
 * drm_perfctr_unplug() - the hardware is gone or about to go
 * @pc: the counters
 *
 * Ends every active session with a final sample. No source is called after this
 * returned. Call before drm_dev_unplug(), which ends what else calls use of the
 * driver, see &struct drm_perfctr_driver_ops.
 */
void drm_perfctr_unplug(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session, *next;
	unsigned int i;

	read_pmu_blocks(pc);
	mutex_lock(&pc->lock);
	/* also those that do not run: that is what their sessions have to be told */
	for (i = 0; i < pc->source_count; i++) {
		if (pc->sources[i]->state->users)
			perfctr_source_collect(pc, pc->sources[i]);
		/* or it would count on, and be asked again when the first session is gone */
		perfctr_source_stop(pc->sources[i]);
	}

	list_for_each_entry_safe(session, next, &pc->active, node) {
		list_del_init(&session->node);
		perfctr_sampler_give_up(session);
		perfctr_sampler_count_final_periods(session);
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_FINAL |
					DRM_PERFCTR_SAMPLE_UNPLUGGED, session->user_data);
		session->active = false;
		perfctr_sampler_detach(session);
	}
	list_for_each_entry(session, &pc->all, all_node) {
		session->dead = true;
		perfctr_ring_set_state(&session->ring, DRM_PERFCTR_RING_DEAD);
		perfctr_wake(session, 1);
	}
	pc->unplugged = true;
	hrtimer_cancel(&pc->timer);
	mutex_unlock(&pc->lock);

	read_pmu_blocks(pc);
}
EXPORT_SYMBOL_GPL(drm_perfctr_unplug);
