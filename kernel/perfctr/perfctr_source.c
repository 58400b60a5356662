// SPDX-License-Identifier: GPL-2.0
/*
 * A source's life: started for sessions, collected, stopped, lost and started again; and
 * what it tells the core meanwhile.
 */
#include <linux/bitops.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "perfctr_internal.h"

/**
 * DOC: lost time
 *
 * Each source keeps the time up to which everything is accounted for: in its
 * totals or in its total of lost time (perfctr_source_state.good_ns). While
 * perfctr_source_state.lost_flags says that the hardware is awake and does not
 * count, every collection moves both on, so that each session sees its own part
 * of the loss, however many of them sample meanwhile::
 *
 *     counting           ======|.............|=======
 *                          good^      ^      ^ start succeeds: the rest is added
 *                          reset      collection of a session: lost_ns += ...
 *     session A, 10 ms   s  s  s  L  L  L  L  L  s  s
 *     session B, manual  s                          L (all of it)
 *
 * ======================================= =================== ==================
 * what happens                            counts are lost     until
 * ======================================= =================== ==================
 * reset                                   since good_ns       a start succeeds
 * last collection before suspend failed   since good_ns       suspended
 * restart after resume or reset failed    since the attempt   a start succeeds; tried
 *                                                             again by collections, at
 *                                                             most once a second
 * last collection of STOP, unplug failed  since good_ns       (the session ends)
 * suspended                               no: nothing happens
 * ======================================= =================== ==================
 */

/* hardware that does not start again is tried this often */
#define RESTART_INTERVAL_NS	NSEC_PER_SEC

/* the hardware cannot be asked: what a collection reports instead */
static void source_report_all(struct drm_perfctr_source *source, u32 states, bool valid)
{
	u8 set = perfctr_active_set(source->pc);
	unsigned int i;

	for (i = 0; i < source->block_count; i++) {
		const struct drm_perfctr_block_desc *desc = &source->blocks[i].desc;

		drm_perfctr_block_report(source, i, states,
					 valid ? perfctr_block_available(desc, set) : NULL);
	}
}

/*
 * A start after resume or reset that failed is not the end: hardware that was slow to wake up
 * must not cost its sessions the rest of their lives. One that stays dead holds the lock for a
 * timeout now and then only.
 */
static void retry_start(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	u64 now = ktime_get_raw_ns();
	int ret;

	if (state->running || !state->users || now < state->restart_ns)
		return;
	ret = perfctr_source_start(pc, source);
	state->restart_ns = ktime_get_raw_ns() + RESTART_INTERVAL_NS;
	if (ret)
		drm_dbg(pc->drm, "perfctr: %s still does not start: %d\n", source->name, ret);
}

/* @until_ns, @more: see struct drm_perfctr_collection */
static int collect(struct drm_perfctr *pc, struct drm_perfctr_source *source, u64 until_ns,
		   bool *more)
{
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr_collection c = { .until_ns = until_ns };
	unsigned int i;
	u64 now;
	int ret = 0;

	state->seq++;
	if (state->running) {
		ret = source->ops->collect(source, &c);
		if (ret) {
			source_report_all(source, DRM_PERFCTR_STATE_ERROR, false);
			c.flags |= DRM_PERFCTR_SAMPLE_ERROR;
		}
	} else if (pc->suspended || pc->unplugged) {
		/* without power nothing happens: zero is what was counted */
		source_report_all(source, DRM_PERFCTR_STATE_OFF, true);
		c.flags |= pc->suspended ? DRM_PERFCTR_SAMPLE_SUSPENDED : 0;
	} else {
		source_report_all(source, DRM_PERFCTR_STATE_ERROR, false);
		c.flags |= DRM_PERFCTR_SAMPLE_ERROR;
		ret = -EIO;
	}

	now = ktime_get_raw_ns();
	if (!c.time_ns || c.time_ns > now || c.time_ns < state->time_ns)
		c.time_ns = max(now, state->time_ns);

	if (state->lost_flags)
		c.lost_ns = U64_MAX;
	/* a collection that failed lost nothing by itself, but may be part of what was */
	state->lost_ns += min(c.lost_ns, c.time_ns - min(c.time_ns, state->good_ns));
	perfctr_trace_set(&state->flags, state->seq,
			  c.flags | state->pending_flags | state->lost_flags);
	state->pending_flags = 0;
	state->pending_lost = false;
	state->time_ns = c.time_ns;
	if (c.transition) {
		state->transition_seq = state->seq;
		/* whoever collects: its interrupt may be late or lost */
		if (!pc->serving_events)
			kthread_queue_work(pc->worker, &pc->event_work);
	}
	if (!ret || state->lost_flags)
		state->good_ns = max(state->good_ns, c.time_ns);
	state->incomplete = state->running && (ret || c.incomplete);
	for (i = 0; i < DRM_PERFCTR_MAX_CLOCKS; i++)
		pc->cycles[i] += c.clock_cycles[i];
	*more = c.more && state->running && !ret;
	retry_start(pc, source);
	return ret;
}

/*
 * A sample for each period in it, by the times of the pieces. If that takes longer than half
 * of the time that the next batch will be about, the rest is merged, and the worker, which runs
 * before everybody else, pauses for as long as it took: a CPU that is too slow for the rate must
 * not have nothing else to do.
 */
static int collect_batch(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	const u64 begin_ns = ktime_get_raw_ns();
	const s64 raw_offset_ns = perfctr_raw_offset_ns();
	u64 now_ns;
	bool more;
	int ret;

	pc->in_batch = true;
	do {
		u64 until_ns = U64_MAX;

		if (ktime_get_raw_ns() - begin_ns <= source->state->batch_ns / 2)
			until_ns = perfctr_sampler_next_due(source, raw_offset_ns);
		ret = collect(pc, source, until_ns, &more);
		/* the last piece ends anywhere, maybe for a sample that the caller publishes */
		if (more || ret)
			perfctr_sampler_publish_batched(source, raw_offset_ns);
	} while (more);
	pc->in_batch = false;
	perfctr_sampler_end_batch(pc);
	now_ns = ktime_get_raw_ns();
	/* the hardware has room for two batches' time: half of one is left of it for coming late */
	source->state->rest_until_ns =
		now_ns + min(now_ns - begin_ns, source->state->batch_ns / 2);
	return ret;
}

/**
 * perfctr_source_collect() - bring the totals of a source up to now
 * @pc: the device
 * @source: the source; one that does not run is reported as such
 *
 * Publishes the periodic samples of sessions that are served from batches. The slot
 * that STOP needs stays free, others may not.
 *
 * Returns: 0 or the source's error.
 */
int perfctr_source_collect(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	bool more;

	if (source->state->running && source->batch_ns)
		return collect_batch(pc, source);
	return collect(pc, source, U64_MAX, &more);
}

/**
 * perfctr_source_account_lost() - counts are not lost any more from now on
 * @source: the source
 *
 * Counting began again, or power went and nothing happens any more. The time is
 * told by the next sample of each session, whoever collects first.
 */
void perfctr_source_account_lost(struct drm_perfctr_source *source)
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

/**
 * perfctr_source_start() - have a source count, if the device can
 * @pc: the device
 * @source: the source
 *
 * Returns: 0 or the source's error.
 */
int perfctr_source_start(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	int ret;

	if (source->state->running || pc->suspended || pc->resetting || pc->unplugged)
		return 0;
	ret = source->ops->start(source, perfctr_active_set(pc));
	if (ret)
		return ret;
	source->state->running = true;
	perfctr_source_account_lost(source);
	return 0;
}

/**
 * perfctr_source_stop() - undo perfctr_source_start()
 * @source: the source
 */
void perfctr_source_stop(struct drm_perfctr_source *source)
{
	if (!source->state->running)
		return;
	source->ops->stop(source);
	source->state->running = false;
}

static void add_wanted(const struct drm_perfctr_session *session,
		       const struct drm_perfctr_source *source, u64 *wanted)
{
	unsigned int i;

	for (i = 0; i < session->view_count; i++) {
		const struct perfctr_view *view = &session->views[i];

		if (view->block && view->block->source == source)
			wanted[(view->block - source->blocks) * DRM_PERFCTR_BLOCK_INFO_SECTIONS +
			       view->section] |= view->mask;
	}
}

static void add_period(const struct drm_perfctr_session *session,
		       struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	u64 ring_ns;

	if (!perfctr_session_is_batchable(session) || session->sources[0].source != source)
		return;
	source->period_ns = min_not_zero(source->period_ns, session->period_ns);
	/* a reader that keeps up must not find that a batch was larger than its ring */
	ring_ns = session->period_ns * max(session->ring.slots / 2, 1u);
	state->batch_ns = min_not_zero(state->batch_ns, ring_ns);
}

/*
 * Tell a source what all active sessions want of it, and @session, which is about to become
 * one, or NULL. What was counted until now belongs to what was wanted until now.
 */
static void select_counters(struct drm_perfctr *pc, struct drm_perfctr_source *source,
			    const struct drm_perfctr_session *session)
{
	const struct drm_perfctr_session *other;
	u64 *wanted = source->state->wanted;

	if (!wanted)
		return;
	if (source->state->running)
		perfctr_source_collect(pc, source);
	memset(wanted, 0, source->block_count * DRM_PERFCTR_BLOCK_INFO_SECTIONS * sizeof(*wanted));
	source->period_ns = 0;
	source->state->batch_ns = 0;
	list_for_each_entry(other, &pc->active, node) {
		add_wanted(other, source, wanted);
		add_period(other, source);
	}
	if (session) {
		add_wanted(session, source, wanted);
		add_period(session, source);
	}
	source->ops->select(source, wanted);
	source->state->batch_ns = min_not_zero(source->state->batch_ns, source->batch_ns);
}

/**
 * perfctr_source_acquire() - have a source count for one more session
 * @source: the source
 * @session: the session, not yet active
 *
 * Returns: 0 or the source's error; nothing has changed then.
 */
int perfctr_source_acquire(struct drm_perfctr_source *source,
			   const struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = source->pc;
	int ret;

	select_counters(pc, source, session);
	ret = perfctr_source_start(pc, source);
	if (ret) {
		drm_dbg(pc->drm, "perfctr: %s did not start: %d\n", source->name, ret);
		if (source->state->users)
			select_counters(pc, source, NULL);
		return ret;
	}
	source->state->users++;
	return 0;
}

/**
 * perfctr_source_release() - undo perfctr_source_acquire()
 * @source: the source
 *
 * What is left for the other sessions is told to the source.
 */
void perfctr_source_release(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;

	if (--state->users) {
		select_counters(source->pc, source, NULL);
		return;
	}
	perfctr_source_stop(source);
	/* what is lost while there is no session is nobody's loss */
	state->lost_flags = 0;
	state->pending_flags = 0;
	state->pending_lost = false;
}

/**
 * perfctr_source_time_left_ns() - how long a source may go without being read
 * @source: the source
 *
 * Returns: ns until a hardware counter may wrap or a batch is due, U64_MAX: never.
 */
u64 perfctr_source_time_left_ns(const struct drm_perfctr_source *source)
{
	/* half the interval: the worker may come late */
	u64 interval_ns = source->max_interval_ns / 2;
	u64 now_raw, age, left_ns;

	if (source->batch_ns)
		interval_ns = min_not_zero(interval_ns, source->state->batch_ns);
	if (!source->state->running || !interval_ns)
		return U64_MAX;
	now_raw = ktime_get_raw_ns();
	age = now_raw - min(now_raw, source->state->time_ns);
	left_ns = interval_ns - min(age, interval_ns);
	if (source->batch_ns && source->state->rest_until_ns > now_raw)
		left_ns = max(left_ns, source->state->rest_until_ns - now_raw);
	return left_ns;
}

/**
 * drm_perfctr_source_event() - the hardware has something to say by itself
 * @source: the source
 *
 * For samples that the hardware took without being asked (power transitions,
 * protected mode) and for buffers that fill up: has the core collect soon.
 * Which of them it was is told by &drm_perfctr_collection.transition then: an
 * interrupt often stands for both. Any context.
 */
void drm_perfctr_source_event(struct drm_perfctr_source *source)
{
	kthread_queue_work(source->pc->worker, &source->pc->event_work);
}
EXPORT_SYMBOL_GPL(drm_perfctr_source_event);

/**
 * drm_perfctr_block_totals() - totals that a source adds to
 * @source: the source, in its collect
 * @block: index in the source's descs
 *
 * Returns: one u64 for each of the block's counters.
 */
u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	return source->blocks[block].totals;
}
EXPORT_SYMBOL_GPL(drm_perfctr_block_totals);

/**
 * drm_perfctr_block_report() - how a block fared since the last collection
 * @source: the source, in its collect
 * @block: index in the source's descs
 * @states: enum drm_perfctr_block_states
 * @valid: counters that were measured, one mask for each 64; NULL: none
 *
 * To be called for every block in every successful collection, once.
 */
void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block,
			      u32 states, const u64 *valid)
{
	struct drm_perfctr_block *b = &source->blocks[block];
	const u64 *available = perfctr_block_available(&b->desc, perfctr_active_set(source->pc));
	u64 seq = source->state->seq;
	unsigned int i;

	/* what a reset costs, or hardware that did not start, no source can know */
	if (source->state->lost_flags || source->state->pending_lost)
		states |= DRM_PERFCTR_STATE_LOST;
	b->time_ns = 0;
	perfctr_trace_set(&b->states, seq, states);
	for (i = 0; i < perfctr_block_sections(&b->desc); i++)
		perfctr_trace_set(&b->valid[i], seq, valid ? valid[i] & available[i] : 0);
}
EXPORT_SYMBOL_GPL(drm_perfctr_block_report);

/**
 * drm_perfctr_block_ran() - which counters of a block had their turn
 * @source: the source, in its collect
 * @block: index in the source's descs, of an NVIDIA block type
 * @ns: time since the last collection in which the block counted
 * @counted: counters that counted meanwhile, one mask for each 64
 */
void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted)
{
	struct drm_perfctr_block *b = &source->blocks[block];
	unsigned int i;

	if (!b->running)
		return;
	b->enabled += ns;
	for (i = 0; i < perfctr_block_sections(&b->desc); i++) {
		u64 mask;

		for (mask = counted[i]; mask; mask &= mask - 1)
			b->running[i * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask)] += ns;
	}
}
EXPORT_SYMBOL_GPL(drm_perfctr_block_ran);

/**
 * drm_perfctr_block_reached() - a block's counts go to another time than the collection's
 * @source: the source, in its collect, after drm_perfctr_block_report()
 * @block: index in the source's descs
 * @time_ns: CLOCK_MONOTONIC_RAW, not later than that of the collection
 */
void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block,
			       u64 time_ns)
{
	source->blocks[block].time_ns = time_ns;
}
EXPORT_SYMBOL_GPL(drm_perfctr_block_reached);
