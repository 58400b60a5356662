// SPDX-License-Identifier: GPL-2.0
/*
 * Collecting: read a source, add to the totals, account for lost time.
 */
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/ktime.h>

#include "perfctr_extension.h"
#include "perfctr_trace.h"

/**
 * DOC: lost time
 *
 * For each source, perfctr_source_state.good_ns is the time up to which everything is accounted
 * for: in its totals or in its total of lost time. While perfctr_source_state.lost_flags is set,
 * the hardware has power but does not count: every collection advances both, so that each session
 * gets its own part of the loss, however many of them are sampling. s: a sample without a loss, L:
 * one with lost_ns::
 *
 *     counting           ======|.............|=======
 *                          good^      ^      ^ start succeeds: the rest is added
 *                          reset      collection of a session: lost_ns += ...
 *     session A, 10 ms   s  s  s  L  L  L  L  L  s  s
 *     session B, manual  s                          L (all of it)
 *
 * ======================================= =================== ==================
 * event                                   counts are lost     until
 * ======================================= =================== ==================
 * reset                                   since good_ns       a start succeeds
 * last collection before suspend failed   since good_ns       suspended
 * restart after resume or reset failed    since the attempt   a start succeeds;
 *                                                             collections retry, at
 *                                                             most once a second
 * last collection of STOP, unplug failed  since good_ns       (the session ends)
 * suspended                               nothing counts
 * ======================================= =================== ==================
 */

/* interval of attempts to start hardware that failed to start */
#define RESTART_INTERVAL_NS	NSEC_PER_SEC

/* report for hardware that cannot be read */
static void report_all(struct drm_perfctr_source *source, u32 states)
{
	unsigned int i;

	for (i = 0; i < source->block_count; i++)
		drm_perfctr_block_report(source, i, states, NULL);
}

/*
 * Retries a start that failed after resume or reset, so that sessions survive hardware that is slow
 * to wake up. Dead hardware holds the lock for one timeout per interval only.
 */
static void retry_start(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr *pc = source->pc;

	if (state->running || !state->users || ktime_get_raw_ns() < state->restart_ns)
		return;
	drm_perfctr_source_start(source);
	state->restart_ns = ktime_get_raw_ns() + RESTART_INTERVAL_NS;
	/* sets the timers: there was no deadline while it did not run */
	if (state->running)
		kthread_queue_work(pc->workers[PERFCTR_HARDWARE].thread, &pc->release_work);
}

static int read_source(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct drm_perfctr *pc = source->pc;
	int ret = -EIO;

	if (source->state->running) {
		ret = source->ops->collect(source, c);
	} else if (pc->suspended || pc->unplugged) {
		report_all(source, DRM_PERFCTR_STATE_OFF);
		c->flags |= pc->suspended ? DRM_PERFCTR_SAMPLE_SUSPENDED : 0;
		return 0;
	}
	if (ret) {
		report_all(source, DRM_PERFCTR_STATE_ERROR);
		c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
	}
	return ret;
}

/* the GPU timestamp of this collection, also for QUERY_CLOCKS */
static void take_timestamp(struct drm_perfctr_source *source,
			   const struct drm_perfctr_collection *c, bool has_timestamp)
{
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr *pc = source->pc;

	state->gpu_epoch = has_timestamp ? pc->clock.epoch : 0;
	state->gpu_timestamp = has_timestamp ? c->gpu_timestamp : 0;
	if (!has_timestamp)
		return;
	spin_lock(&pc->clock.lock);
	pc->clock.gpu_timestamp = c->gpu_timestamp;
	pc->clock.raw_ns = c->time_ns;
	pc->clock.pair_epoch = pc->clock.epoch;
	spin_unlock(&pc->clock.lock);
}

/* has a source add to its totals; if it does not run, that is reported; 0 or the source's error */
int drm_perfctr_collect(struct drm_perfctr_source *source)
{
	struct drm_perfctr_collection c = { };
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr *pc = source->pc;
	bool has_timestamp;
	unsigned int i;
	u64 now;
	int ret;

	lockdep_assert_held(&pc->lock);
	state->seq++;
	pc->collections++;
	ret = read_source(source, &c);
	now = ktime_get_raw_ns();
	state->last_read = ktime_get();
	has_timestamp = c.has_gpu_timestamp && !ret && pc->config.timestamp_hz &&
			(pc->clock.pair_epoch != pc->clock.epoch ||
			 c.gpu_timestamp >= pc->clock.gpu_timestamp);
	if (!c.time_ns || c.time_ns > now || c.time_ns < state->time_ns) {
		has_timestamp &= !c.time_ns;
		c.time_ns = max(now, state->time_ns);
	}
	take_timestamp(source, &c, has_timestamp);

	if (state->lost_flags)
		c.lost_ns = U64_MAX;
	/* a failed collection loses nothing by itself, but may overlap a loss */
	c.lost_ns = min(c.lost_ns, c.time_ns - min(c.time_ns, state->good_ns));
	state->lost_ns += c.lost_ns;
	c.flags |= state->pending_flags | state->lost_flags;
	drm_perfctr_sticky_set(&state->flags, state->seq, c.flags);
	state->pending_flags = 0;
	state->pending_lost = false;
	state->time_ns = c.time_ns;
	if (c.transition) {
		state->transition_seq = state->seq;
		/* the transition's own interrupt may be late or lost */
		if (!pc->serving_events)
			drm_perfctr_source_transition(source);
	}
	if (!ret || state->lost_flags)
		state->good_ns = max(state->good_ns, c.time_ns);
	state->incomplete = state->running && (ret || c.incomplete);
	for (i = 0; i < DRM_PERFCTR_MAX_CLOCKS; i++)
		pc->cycles[i] += c.clock_cycles[i];
	trace_drm_perfctr_collect(source, &c, ret);
	if (c.flags & DRM_PERFCTR_SAMPLE_ERROR)
		trace_drm_perfctr_error(source, &c, ret);
	if (!state->running)
		retry_start(source);
	return ret;
}

/*
 * When a hardware counter of a source may soon wrap or a batch is due, CLOCK_MONOTONIC; KTIME_MAX:
 * never. Counted from the last attempt, as the time that the source reports may not advance.
 */
ktime_t drm_perfctr_collect_due(const struct drm_perfctr_source *source)
{
	const struct perfctr_source_state *state = source->state;
	const struct drm_perfctr_extension *ext = source->extension;
	/* half the interval, to allow for delays of the worker */
	u64 interval_ns = source->max_interval_ns / 2;
	ktime_t due;

	if (perfctr_has_batches(source))
		interval_ns = min_not_zero(interval_ns, ext->interval_ns);
	if (!state->running || !state->users || !interval_ns)
		return KTIME_MAX;
	/* of a counter that takes centuries to wrap: the sum is a time, too */
	due = ktime_add_ns(state->last_read, min_t(u64, interval_ns, KTIME_MAX / 2));
	return perfctr_has_batches(source) ? max(due, ns_to_ktime(ext->backoff_until_ns)) : due;
}

/**
 * drm_perfctr_source_event() - a buffer of the hardware is filling up or full
 * @source: the source
 *
 * Makes the core collect at once. Any context.
 */
void drm_perfctr_source_event(struct drm_perfctr_source *source)
{
	struct drm_perfctr *pc = source->pc;

	kthread_queue_work(pc->workers[PERFCTR_HARDWARE].thread, &pc->event_work);
}
EXPORT_SYMBOL_GPL(drm_perfctr_source_event);

/**
 * drm_perfctr_source_transition() - the hardware took an unsolicited sample
 * @source: the source
 *
 * For changes of power or of protected mode. If a session requested AUTOMATIC samples, the core
 * collects soon. Any context.
 */
void drm_perfctr_source_transition(struct drm_perfctr_source *source)
{
	if (READ_ONCE(source->pc->automatic_sessions))
		drm_perfctr_source_event(source);
}
EXPORT_SYMBOL_GPL(drm_perfctr_source_transition);

/**
 * drm_perfctr_block_totals() - totals for a source to add to
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

/* counters that the driver calls valid, but that the set does not have, are not */
static noinline void report_change(struct drm_perfctr_source *source,
				   struct drm_perfctr_block *b, u32 states, const u64 *valid)
{
	const u64 *available = perfctr_block_available(&b->desc, perfctr_active_set(source->pc));
	const u64 seq = source->state->seq;
	unsigned int i;

	drm_perfctr_sticky_set(&b->states, seq, states);
	for (i = 0; i < perfctr_block_sections(&b->desc); i++)
		drm_perfctr_sticky_set(&b->valid[i], seq, valid ? valid[i] & available[i] : 0);
}

/**
 * drm_perfctr_block_report() - states and valid counters since the last collection
 * @source: the source, in its collect
 * @block: index in the source's descs
 * @states: enum drm_perfctr_block_states
 * @valid: counters that were measured, one mask for each 64; NULL: none. Without effect for a block
 *	   that was off: all of its counters are zero, which is known.
 *
 * Call it once for every block in every successful collection.
 */
void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block,
			      u32 states, const u64 *valid)
{
	struct drm_perfctr_block *b = &source->blocks[block];
	unsigned int i, sections = perfctr_block_sections(&b->desc);
	const struct perfctr_source_state *state = source->state;
	u64 changed;

	/* sources do not know what a reset, or hardware that failed to start, has lost */
	if (state->lost_flags || state->pending_lost)
		states |= DRM_PERFCTR_STATE_LOST;
	b->time_ns = 0;
	if (perfctr_block_was_off(states))
		valid = NULL;
	/*
	 * Usually the same as in the last collection. Bits of @valid that the block does not have
	 * only make a change of what is none: report_change() masks them.
	 */
	changed = b->states.now ^ states;
	for (i = 0; i < sections; i++)
		changed |= b->valid[i].now ^ (valid ? valid[i] : 0);
	if (changed)
		report_change(source, b, states, valid);
}
EXPORT_SYMBOL_GPL(drm_perfctr_block_report);

/**
 * drm_perfctr_block_reached() - report a block's own end time
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
