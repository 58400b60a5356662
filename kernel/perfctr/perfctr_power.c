// SPDX-License-Identifier: GPL-2.0
/*
 * Events of a device while it counts: suspend, resume, reset, unplug.
 */

#include "perfctr_internal.h"
#include "pmu/pmu.h"

/* the GPU timestamp counter may have restarted */
static void new_epoch(struct drm_perfctr *pc)
{
	spin_lock(&pc->clock.lock);
	/* 0 means that there is no timestamp */
	if (!++pc->clock.epoch)
		pc->clock.epoch = 1;
	spin_unlock(&pc->clock.lock);
}

static void suspend(struct drm_perfctr *pc, struct perfctr_request *unused)
{
	unsigned int i;

	if (pc->suspended || pc->unplugged)
		return;
	for (i = 0; i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];

		if (source->state->running) {
			drm_perfctr_sampler_collect_source(source);
			/* stopping discards what could not be read */
			if (source->state->incomplete)
				source->state->lost_flags |= DRM_PERFCTR_SAMPLE_ERROR;
			drm_perfctr_source_stop(source);
		}
		drm_perfctr_source_account_lost(source);
	}
	pc->suspended = true;
}

/**
 * drm_perfctr_suspend() - the hardware is about to lose power
 * @pc: the counters
 *
 * Call while the hardware still responds. Active sessions remain active; their samples report the
 * suspension and continue after drm_perfctr_resume().
 */
void drm_perfctr_suspend(struct drm_perfctr *pc)
{
	struct perfctr_request request = { .run = suspend };

	drm_perfctr_run_urgent(pc, &request);
}
EXPORT_SYMBOL_GPL(drm_perfctr_suspend);

/* starts the sources of active sessions; while one does not run, its counts are lost */
static void restart_sources(struct drm_perfctr *pc)
{
	unsigned int i;

	for (i = 0; !pc->unplugged && i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];
		struct perfctr_source_state *state = source->state;

		if (!state->users)
			continue;
		drm_perfctr_source_start(source);
		if (!state->running && !pc->suspended)
			state->lost_flags |= pc->resetting ? DRM_PERFCTR_SAMPLE_RESET :
							     DRM_PERFCTR_SAMPLE_ERROR;
	}
	drm_perfctr_sampler_settle(pc);
}

/* nothing was counted up to now, so nothing is lost */
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

static void resume(struct drm_perfctr *pc, struct perfctr_request *unused)
{
	if (!pc->suspended)
		return;
	new_epoch(pc);
	end_suspension(pc);
	restart_sources(pc);
}

/**
 * drm_perfctr_resume() - the hardware has power again
 * @pc: the counters
 *
 * Call before any work runs on the hardware.
 */
void drm_perfctr_resume(struct drm_perfctr *pc)
{
	struct perfctr_request request = { .run = resume };

	drm_perfctr_run_urgent(pc, &request);
}
EXPORT_SYMBOL_GPL(drm_perfctr_resume);

/* once for each session of the device's blocks, though several samples may report it */
static void count_reset(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;
	struct perfctr_worker *worker;

	perfctr_for_each_active(pc, worker, session) {
		session->totals.resets += !!session->source_count;
		drm_perfctr_update_status(session);
	}
}

static void pre_reset(struct drm_perfctr *pc, struct perfctr_request *unused)
{
	unsigned int i;

	if (!pc->resetting && !pc->suspended)
		count_reset(pc);
	WRITE_ONCE(pc->resetting, true);
	for (i = 0; !pc->suspended && i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];

		if (source->state->running && source->collect_at_reset)
			drm_perfctr_sampler_collect_source(source);
		/* includes sources that no session needs but release_work has not stopped yet */
		if (source->state->running && source->ops->reset)
			source->ops->reset(source);
		source->state->running = false;
		if (source->state->users)
			source->state->lost_flags |= DRM_PERFCTR_SAMPLE_RESET;
	}
}

/**
 * drm_perfctr_pre_reset() - the hardware is about to be reset
 * @pc: the counters
 *
 * Counts since the last collection are lost, because the hardware may no longer respond, unless the
 * source says that it does. So are all counts until counting is restarted; the samples report both.
 */
void drm_perfctr_pre_reset(struct drm_perfctr *pc)
{
	struct perfctr_request request = { .run = pre_reset };

	drm_perfctr_run_urgent(pc, &request);
}
EXPORT_SYMBOL_GPL(drm_perfctr_pre_reset);

static void post_reset(struct drm_perfctr *pc, struct perfctr_request *unused)
{
	WRITE_ONCE(pc->resetting, false);
	new_epoch(pc);
	restart_sources(pc);
}

/**
 * drm_perfctr_post_reset() - the reset has succeeded
 * @pc: the counters
 *
 * After a reset that failed, call drm_perfctr_unplug() instead.
 */
void drm_perfctr_post_reset(struct drm_perfctr *pc)
{
	struct perfctr_request request = { .run = post_reset };

	drm_perfctr_run_urgent(pc, &request);
	wake_up_all(&pc->reset_wait);
}
EXPORT_SYMBOL_GPL(drm_perfctr_post_reset);

/**
 * drm_perfctr_unplug() - the hardware is or will be removed
 * @pc: the counters
 *
 * Ends every active session with a final sample. No source is called afterwards. Call before
 * drm_dev_unplug(), which ends the calls of &struct drm_perfctr_driver_ops. It waits for perf and
 * for ops->prepare, which allocate memory: if a reset failed, signal all fences first.
 */
void drm_perfctr_unplug(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session, *next;
	struct perfctr_worker *worker;
	unsigned int i;

	WRITE_ONCE(pc->ending, true);
	drm_perfctr_pmu_read_all(pc);
	rt_mutex_lock(&pc->lock);
	/* also those that do not run: the samples of their sessions must report the loss */
	for (i = 0; i < pc->source_count; i++) {
		if (pc->sources[i]->state->users)
			drm_perfctr_sampler_collect_source(pc->sources[i]);
		drm_perfctr_source_stop(pc->sources[i]);
	}
	for (worker = pc->workers; worker < pc->workers + PERFCTR_WORKERS; worker++) {
		list_for_each_entry_safe(session, next, &worker->active, node)
			drm_perfctr_session_finish(session, DRM_PERFCTR_SAMPLE_UNPLUGGED,
						   session->config.user_data);
		hrtimer_cancel(&worker->timer);
	}
	list_for_each_entry(session, &pc->all, all_node)
		drm_perfctr_session_die(session);
	WRITE_ONCE(pc->unplugged, true);
	rt_mutex_unlock(&pc->lock);

	wake_up_all(&pc->reset_wait);
	for (i = 0; i < pc->source_count; i++)
		drm_perfctr_source_unplug(pc->sources[i]);
	drm_perfctr_pmu_read_all(pc);
}
EXPORT_SYMBOL_GPL(drm_perfctr_unplug);
