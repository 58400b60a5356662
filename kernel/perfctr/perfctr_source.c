// SPDX-License-Identifier: GPL-2.0
/*
 * Sources: their blocks; prepare, start and stop.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/ktime.h>

#include "perfctr_internal.h"

/**
 * DOC: life of a source
 *
 * ::
 *
 *     OPEN               START            STOP               last CLOSE + 1 s
 *     prepare            select, start    select or stop     unprepare
 *     |                  |                |                  |
 *     | memory, mappings | counts         |                  |
 *
 * Preparing may sleep, allocate and resume the device. It therefore has its own mutex, which
 * neither reset nor the sampler takes. The last session only schedules unprepare, because CLOSE
 * may run in any process context, and a tool that is restarted finds the source prepared.
 */

#define UNPREPARE_DELAY	HZ

/* the @nth block of all sources; @nth is below pc->block_count */
struct drm_perfctr_block *drm_perfctr_block_at(struct drm_perfctr *pc, unsigned int nth)
{
	unsigned int s = 0;

	while (nth >= pc->sources[s]->block_count)
		nth -= pc->sources[s++]->block_count;
	return &pc->sources[s]->blocks[nth];
}

static void unprepare_locked(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;

	lockdep_assert_held(&state->prepare_lock);
	if (!state->prepared)
		return;
	/* release_work may not have run yet */
	rt_mutex_lock(&source->pc->lock);
	drm_perfctr_source_stop(source);
	rt_mutex_unlock(&source->pc->lock);
	state->prepared = false;
	if (source->ops->unprepare)
		source->ops->unprepare(source);
}

static void unprepare_work(struct work_struct *work)
{
	struct perfctr_source_state *state =
		container_of(to_delayed_work(work), struct perfctr_source_state, unprepare_work);

	mutex_lock(&state->prepare_lock);
	if (!atomic_read(&state->prepare_users))
		unprepare_locked(state->source);
	mutex_unlock(&state->prepare_lock);
}

void drm_perfctr_source_prepare_init(struct drm_perfctr_source *source)
{
	source->state->source = source;
	mutex_init(&source->state->prepare_lock);
	INIT_DELAYED_WORK(&source->state->unprepare_work, unprepare_work);
}

/* adds a session that will use the source; 0, the driver's error, -ENODEV or -EINTR */
int drm_perfctr_source_prepare(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	int ret = 0;

	if (mutex_lock_interruptible(&state->prepare_lock))
		return -EINTR;
	if (state->unplugged)
		ret = -ENODEV;
	else if (!state->prepared && source->ops->prepare)
		ret = source->ops->prepare(source);
	if (!ret) {
		state->prepared = true;
		atomic_inc(&state->prepare_users);
	} else {
		drm_dbg(source->pc->drm, "perfctr: %s cannot be prepared: %d\n", source->name, ret);
	}
	mutex_unlock(&state->prepare_lock);
	return ret;
}

/* undoes drm_perfctr_source_prepare(); does not wait */
void drm_perfctr_source_unprepare(struct drm_perfctr_source *source)
{
	if (atomic_dec_and_test(&source->state->prepare_users))
		schedule_delayed_work(&source->state->unprepare_work, UNPREPARE_DELAY);
}

/* the hardware is removed: no op is called afterwards */
void drm_perfctr_source_unplug(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;

	mutex_lock(&state->prepare_lock);
	unprepare_locked(source);
	state->unplugged = true;
	mutex_unlock(&state->prepare_lock);
	cancel_delayed_work_sync(&state->unprepare_work);
}

/* starts a source in the active set, if the device has power; 0 or the source's error */
int drm_perfctr_source_start(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr *pc = source->pc;
	u8 set = perfctr_active_set(pc);
	int ret;

	/* still running for sessions that have ended */
	if (state->running && state->set != set)
		drm_perfctr_source_stop(source);
	if (state->running || pc->suspended || pc->resetting || pc->unplugged)
		return 0;
	ret = source->ops->start(source, set);
	if (ret) {
		drm_dbg(pc->drm, "perfctr: %s did not start: %d\n", source->name, ret);
		return ret;
	}
	state->running = true;
	state->set = set;
	state->last_read = ktime_get();
	drm_perfctr_source_account_lost(source);
	return 0;
}

/* undo drm_perfctr_source_start() */
void drm_perfctr_source_stop(struct drm_perfctr_source *source)
{
	if (!source->state->running)
		return;
	source->ops->stop(source);
	source->state->running = false;
}

/*
 * Ends a loss: counting has resumed, or the hardware is without power and counts nothing. The next
 * sample of each session reports the time, whichever session collects first.
 */
void drm_perfctr_source_account_lost(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	u64 now = ktime_get_raw_ns();

	if (!state->lost_flags)
		return;
	state->lost_ns += now - min(now, state->good_ns);
	state->good_ns = max(now, state->good_ns);
	state->pending_flags |= state->lost_flags;
	state->pending_lost = true;
	state->lost_flags = 0;
}
