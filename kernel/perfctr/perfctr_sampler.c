// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: collects from the sources, hands each session its share.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <drm/drm_managed.h>

#include "compat.h"
#include "perfctr_internal.h"

/**
 * DOC: sampling
 *
 * A source adds what the hardware counted to totals that only ever grow. A
 * session remembers the totals of its last sample, its base, and publishes the
 * difference::
 *
 *     totals of a counter   0----3-------9----12------20----->
 *     collections           |    |       |     |       |
 *     session A, periodic   S    +3      +6    +3      +8
 *     session B, manual          S             +9      X +8
 *
 *     S: START takes the base      X: STOP publishes the rest
 *
 * So a session costs nothing while it is not due, another session's coming and
 * going changes nothing for it, and the sum over its samples telescopes to
 * (total at STOP) - (total at START): the law of conservation holds by
 * construction, whatever was merged in between.
 *
 * A sample that is due while no slot is free is not published; pending_periods or
 * pending_others counts it and the next sample is STRETCHED by it. Its base was not touched.
 *
 * States, flags and valid masks are kept as traces (struct perfctr_trace), so
 * they too are exact for every session's own span.
 */

/**
 * DOC: locking
 *
 * &drm_perfctr.lock, the sampler lock, serialises everything: collections,
 * START, STOP, SAMPLE, suspend, reset, unplug. It is held while a source waits
 * for its hardware, which every source bounds; so a waiter waits for
 * (waiters before it) x (bound) at worst, and interruptibly where it is an ioctl.
 *
 * Reset and in-stream SAMPLE take it where a driver signals dma-fences, or has to
 * before they can be signalled. Reclaim may wait for fences. So under the sampler
 * lock nobody may allocate memory with GFP_KERNEL, wait for a fence, or take a
 * lock under which somebody else does: this holds for sources too, and lockdep
 * knows it from drmm_perfctr_create() on. perf does all of that, so it is called
 * without the sampler lock, see "perf events and fences".
 *
 * Order: driver's locks around suspend and reset -> sampler lock -> locks of
 * sources; session's pmu_lock -> sampler lock; pmu_lock -> perf's locks. A source's
 * interrupt handler never takes the sampler lock. The hotplug callback only queues
 * work, because creating a perf event takes the CPU hotplug lock.
 *
 * The session table of a file is an xarray; a lookup takes a reference under
 * its lock. A session enters the table when it is complete.
 */

/**
 * DOC: turns of users
 *
 * Samples that a session gets of its own accord, PERIODIC and AUTOMATIC, are
 * limited for sessions made without CAP_PERFMON, all of a device together: they are
 * published in turns that keep perfctr_users_distance_ns(). Whatever collects
 * meanwhile, sessions with CAP_PERFMON or transitions that others cause, gives them
 * none, or else the finest session of all would be everybody's clock. All that is
 * due has a share in a turn, so no session waits for more than one::
 *
 *     root, 10 us          ||||||||||||||||||||||||||||||||||
 *     transitions            T  TT        T
 *     user A, AUTOMATIC      A            A+2      A: turn, 2 were merged
 *     user B, periodic       |            P        due with the second T: late
 *                            <--distance-->
 *
 * Batches have turns of their own, by the times in the batch.
 */

/* of two clocks: so close is close enough, and so often it is tried */
#define CLOCKS_APART_NS		2000
#define CLOCK_READINGS		8

/* sources of @mask, each once */
static int collect_sources(struct drm_perfctr *pc, unsigned long mask)
{
	unsigned int id;
	int ret = 0;

	for_each_set_bit(id, &mask, PERFCTR_MAX_SOURCES) {
		int err = perfctr_source_collect(pc, pc->sources[id]);

		if (err && !ret)
			ret = err;
	}
	return ret;
}

static unsigned long session_sources(const struct drm_perfctr_session *session)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		mask |= BIT(session->sources[i].source->id);
	return mask;
}

/**
 * perfctr_sampler_collect() - bring all sources of a session up to now
 * @pc: the device
 * @session: the session
 *
 * PMU blocks were read before, see "perf events and fences".
 *
 * Returns: 0 or the first error of a source; the others were read all the same.
 */
int perfctr_sampler_collect(struct drm_perfctr *pc, struct drm_perfctr_session *session)
{
	lockdep_assert_held(&pc->lock);
	return collect_sources(pc, session_sources(session));
}

/**
 * perfctr_sampler_collect_first() - collect for the baseline of a span
 * @pc: the device
 * @session: the session
 *
 * Counts of before that a source could not give yet would come with those of the span.
 *
 * Returns: 0, the first error of a source, or -ETIMEDOUT if one still has such counts.
 */
int perfctr_sampler_collect_first(struct drm_perfctr *pc, struct drm_perfctr_session *session)
{
	int ret = perfctr_sampler_collect(pc, session);
	unsigned int i;

	for (i = 0; !ret && i < session->source_count; i++)
		if (session->sources[i].source->state->incomplete)
			ret = -ETIMEDOUT;
	return ret;
}

/**
 * perfctr_sampler_give_up() - no more collections for this session
 * @session: the session, just collected
 *
 * What a source did not give comes too late for its last sample, and is lost
 * for it.
 */
void perfctr_sampler_give_up(struct drm_perfctr_session *session)
{
	unsigned int i;

	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_state *state = session->sources[i].source->state;

		if (!state->incomplete)
			continue;
		/* the span ends here all the same */
		state->time_ns = max(state->time_ns, ktime_get_raw_ns());
		session->unread_ns = max(session->unread_ns,
					 state->time_ns - min(state->time_ns, state->good_ns));
	}
}

/**
 * perfctr_sampler_collect_final() - collect for the last sample of a span
 * @pc: the device
 * @session: the session
 */
void perfctr_sampler_collect_final(struct drm_perfctr *pc, struct drm_perfctr_session *session)
{
	perfctr_sampler_collect(pc, session);
	perfctr_sampler_give_up(session);
}

/* the latest capture time of a session's blocks */
static u64 session_time(struct drm_perfctr_session *session)
{
	u64 time_ns = 0;
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		time_ns = max(time_ns, session->sources[i].source->state->time_ns);
	if (session->has_pmu)
		for (i = 0; i < session->view_count; i++)
			if (session->views[i].pmu)
				time_ns = max(time_ns, session->views[i].pmu->time_ns);
	return time_ns;
}

/**
 * perfctr_raw_offset_ns() - from the clock of samples to that of timers
 *
 * The two clocks cannot be read at once. What comes between the readings, an
 * interrupt or a host that takes the CPU away, would make times of hardware look
 * later than they are, and periods be counted that are not over.
 *
 * Returns: CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW, of the closest of some readings.
 */
s64 perfctr_raw_offset_ns(void)
{
	u64 best_ns = U64_MAX;
	s64 offset_ns = 0;
	unsigned int i;

	for (i = 0; i < CLOCK_READINGS && best_ns > CLOCKS_APART_NS; i++) {
		u64 before_ns = ktime_get_raw_ns();
		u64 monotonic_ns = ktime_get_ns();
		u64 apart_ns = ktime_get_raw_ns() - before_ns;

		if (apart_ns >= best_ns)
			continue;
		best_ns = apart_ns;
		offset_ns = monotonic_ns - (before_ns + apart_ns / 2);
	}
	return offset_ns;
}

/* a time of hardware, CLOCK_MONOTONIC_RAW, on the timer's clock */
static ktime_t to_monotonic(u64 raw_ns)
{
	return ns_to_ktime(raw_ns + perfctr_raw_offset_ns());
}

static u64 view_cycles(const struct drm_perfctr *pc, const struct perfctr_view *view)
{
	u8 clock = view->block->desc.clock;

	return clock < DRM_PERFCTR_MAX_CLOCKS ? pc->cycles[clock] : 0;
}

static void rebase_sources(struct drm_perfctr_session *session)
{
	unsigned int i;

	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_view *sv = &session->sources[i];

		sv->base_seq = sv->source->state->seq;
		sv->base_lost_ns = sv->source->state->lost_ns;
	}
}

/**
 * perfctr_sampler_baseline() - begin a span: what was counted so far is not published
 * @session: the session, just collected
 */
void perfctr_sampler_baseline(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i;

	lockdep_assert_held(&pc->lock);
	for (i = 0; i < session->view_count; i++) {
		struct perfctr_view *view = &session->views[i];

		if (view->pmu) {
			u32 size = view->pmu->count * sizeof(u64);

			memcpy(view->base, view->pmu->totals, size);
			memcpy(view->pmu->base_enabled, view->pmu->enabled, size);
			memcpy(view->pmu->base_running, view->pmu->running, size);
			view->pmu->states = 0;
			view->pmu->incomplete = 0;
			continue;
		}
		perfctr_counters_rebase(view->base, view->totals, view->mask);
		if (view->running) {
			perfctr_counters_rebase(view->base_running, view->running, view->mask);
			view->base_enabled = view->block->enabled;
		}
		view->base_cycles = view_cycles(pc, view);
	}
	rebase_sources(session);
	for (i = 0; i < session->source_count; i++)
		session->sources[i].transition_seq = session->sources[i].base_seq;
	session->end_ns = session_time(session);
	session->pending_periods = 0;
	session->pending_others = 0;
	session->automatic_due = false;
	if (session->period_ns) {
		u64 start_ns = ktime_to_ns(to_monotonic(session->end_ns));

		/* multiples of the period: equal periods share one collection */
		session->due = ns_to_ktime(start_ns - start_ns % session->period_ns +
					   session->period_ns);
	}
}

/**
 * perfctr_sampler_has_room() - may a sample be published that is not the final one?
 * @session: the session
 *
 * One slot is kept for STOP.
 *
 * Returns: true if two slots are free.
 */
bool perfctr_sampler_has_room(struct drm_perfctr_session *session)
{
	return perfctr_ring_free(&session->ring) >= 2;
}

static void publish_view(struct drm_perfctr_session *session, struct perfctr_view *view,
			 void **at, u64 end_ns, u32 *states)
{
	struct drm_perfctr *pc = session->pc;
	struct perfctr_source_view *sv;
	struct perfctr_span span;
	u64 cycles;

	if (view->pmu) {
		*at = perfctr_layout_pmu_block(*at, view, end_ns, states);
		return;
	}

	sv = &session->sources[view->source];
	cycles = view_cycles(pc, view);
	span.states = perfctr_trace_since(&view->block->states, sv->base_seq);
	/* for other sessions these counts are not lost, the next collection may get them */
	if (session->unread_ns && sv->source->state->incomplete)
		span.states |= DRM_PERFCTR_STATE_LOST;
	span.valid = perfctr_trace_since(&view->block->valid[view->section], sv->base_seq);
	span.clock_cycles = cycles - view->base_cycles;
	span.capture_ns = (view->block->time_ns ?: sv->source->state->time_ns) - end_ns;
	view->base_cycles = cycles;
	*at = perfctr_layout_block(*at, view, &span);
	*states |= span.states;
}

/**
 * perfctr_sampler_publish() - publish what a session counted since its last sample
 * @session: the session, just collected, with a free slot
 * @flags: DRM_PERFCTR_SAMPLE_* that say why
 * @user_data: for the header
 */
void perfctr_sampler_publish(struct drm_perfctr_session *session, u32 flags, u64 user_data)
{
	struct drm_perfctr_sample_header header = {
		.size = session->sample_size,
		.header_size = sizeof(header),
		.block_count = session->view_count,
		.seq = session->ring.insert,
		.start_ns = session->end_ns,
		.end_ns = max(session_time(session), session->end_ns),
		.user_data = user_data,
	};
	void *slot = perfctr_ring_slot(&session->ring);
	void *at = slot + sizeof(header);
	u32 unread, states = 0;
	unsigned int i;

	lockdep_assert_held(&session->pc->lock);

	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_view *sv = &session->sources[i];
		struct perfctr_source_state *state = sv->source->state;

		flags |= perfctr_trace_since(&state->flags, sv->base_seq);
		header.lost_ns = max(header.lost_ns, state->lost_ns - sv->base_lost_ns);
	}
	for (i = 0; i < session->view_count; i++)
		publish_view(session, &session->views[i], &at, header.end_ns, &states);
	rebase_sources(session);
	header.lost_ns = max(header.lost_ns, session->unread_ns);
	header.lost_ns = min(header.lost_ns, header.end_ns - header.start_ns);
	session->unread_ns = 0;

	header.merged_periods = min_t(u64, session->pending_periods, U32_MAX);
	session->pending_periods -= header.merged_periods;
	header.merged_others = min_t(u64, session->pending_others, U32_MAX);
	session->pending_others -= header.merged_others;
	session->automatic_due = false;
	if (header.merged_periods || header.merged_others)
		flags |= DRM_PERFCTR_SAMPLE_STRETCHED;
	if (states & DRM_PERFCTR_STATE_MULTIPLEXED)
		flags |= DRM_PERFCTR_SAMPLE_MULTIPLEXED;
	header.flags = flags;
	perfctr_layout_header(slot, &header);

	session->end_ns = header.end_ns;
	session->totals.merged_periods += header.merged_periods;
	session->totals.merged_others += header.merged_others;
	session->totals.lost_ns += header.lost_ns;
	session->totals.errors += !!(flags & DRM_PERFCTR_SAMPLE_ERROR);
	session->totals.overflows += !!(flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	session->totals.resets += !!(flags & DRM_PERFCTR_SAMPLE_RESET);
	perfctr_ring_set_totals(&session->ring, session->totals.merged_periods,
				session->totals.lost_ns);

	unread = perfctr_ring_publish(&session->ring);
	/* who waits for the end and is woken by its sample must not find the session active */
	if (flags & DRM_PERFCTR_SAMPLE_FINAL)
		perfctr_ring_set_state(&session->ring, 0);
	if (unread < session->watermark && !(flags & DRM_PERFCTR_SAMPLE_FINAL))
		return;
	if (session->pc->in_batch)
		session->wake_due++;
	else
		perfctr_wake(session, 1);
}

/**
 * perfctr_sampler_attach() - have all sources count that a session needs
 * @session: the session
 *
 * Returns: 0 or the error of the source that could not be started; nothing has
 * changed then.
 */
int perfctr_sampler_attach(struct drm_perfctr_session *session)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&session->pc->lock);
	for (i = 0; i < session->source_count; i++) {
		ret = perfctr_source_acquire(session->sources[i].source, session);
		if (ret)
			goto undo;
	}
	return 0;

undo:
	while (i--)
		perfctr_source_release(session->sources[i].source);
	return ret;
}

/**
 * perfctr_sampler_detach() - undo perfctr_sampler_attach()
 * @session: the session
 */
void perfctr_sampler_detach(struct drm_perfctr_session *session)
{
	unsigned int i;

	lockdep_assert_held(&session->pc->lock);
	for (i = 0; i < session->source_count; i++)
		perfctr_source_release(session->sources[i].source);
}

/* the next sample that the timer is to make for a session, KTIME_MAX: none */
static ktime_t next_due(const struct drm_perfctr_session *session)
{
	if (session->automatic_due)
		return 0;
	/* batches are due as their source says */
	if (!session->period_ns || perfctr_sampler_in_batches(session))
		return KTIME_MAX;
	return session->due;
}

static bool is_users_turn(const struct drm_perfctr *pc, ktime_t now)
{
	return !ktime_before(now, ktime_add_ns(pc->users_served, perfctr_users_distance_ns()));
}

/**
 * perfctr_sampler_arm() - set the timer to the next thing that is due
 * @pc: the device
 */
void perfctr_sampler_arm(struct drm_perfctr *pc)
{
	ktime_t users_turn = ktime_add_ns(pc->users_served, perfctr_users_distance_ns());
	struct drm_perfctr_session *session;
	ktime_t next = KTIME_MAX;
	unsigned int i;

	lockdep_assert_held(&pc->lock);
	list_for_each_entry(session, &pc->active, node) {
		ktime_t due = next_due(session);

		if (due == KTIME_MAX)
			continue;
		/* many sessions with unequal periods must not add up to a storm */
		due = max_t(ktime_t, due, ktime_add_ns(pc->last_tick, PERFCTR_MIN_PERIOD_NS));
		if (session->user)
			due = max_t(ktime_t, due, users_turn);
		next = min_t(ktime_t, next, due);
	}
	if (!pc->suspended && !pc->unplugged)
		for (i = 0; i < pc->source_count; i++) {
			u64 left_ns = perfctr_source_time_left_ns(pc->sources[i]);

			if (left_ns != U64_MAX)
				next = min_t(ktime_t, next, ktime_add_ns(ktime_get(), left_ns));
		}

	if (next == KTIME_MAX)
		hrtimer_cancel(&pc->timer);
	else
		hrtimer_start(&pc->timer, next, HRTIMER_MODE_ABS);
}

/* count the periods of a session, periodic or not, that ended before @now, CLOCK_MONOTONIC */
static void count_periods(struct drm_perfctr_session *session, ktime_t now)
{
	u64 ended;

	if (!session->period_ns || ktime_before(now, session->due))
		return;
	ended = 1 + div64_u64(ktime_to_ns(ktime_sub(now, session->due)), session->period_ns);
	session->due = ktime_add_ns(session->due, ended * session->period_ns);
	session->pending_periods += ended;
}

/**
 * perfctr_sampler_count_final_periods() - count the periods that the final sample merges
 * @session: the session, periodic or not, just collected for the last time
 *
 * Those that ended inside its span, however long hardware took to answer afterwards.
 */
void perfctr_sampler_count_final_periods(struct drm_perfctr_session *session)
{
	count_periods(session, to_monotonic(max(session_time(session), session->end_ns)));
}

/* a periodic session whose time has come: count its periods, see if there is room */
static bool session_due(struct drm_perfctr_session *session, ktime_t now)
{
	if (!session->period_ns || ktime_before(now, session->due))
		return false;
	count_periods(session, now);
	if (!perfctr_sampler_has_room(session))
		return false;
	/* the last one is the sample itself */
	session->pending_periods--;
	return true;
}

/**
 * perfctr_sampler_in_batches() - are periodic samples made from batches of the source?
 * @session: an active session
 *
 * Returns: true if so, and the timer does not care about its periods.
 */
bool perfctr_sampler_in_batches(const struct drm_perfctr_session *session)
{
	const struct drm_perfctr_source *source = session->sources[0].source;

	return perfctr_session_is_batchable(session) && source->batch_ns &&
	       source->state->running;
}

static bool is_of_batches(const struct drm_perfctr_session *session,
			  const struct drm_perfctr_source *source)
{
	return session->sources[0].source == source && perfctr_sampler_in_batches(session);
}

/**
 * perfctr_sampler_next_due() - when is the next sample from a source's batch due?
 * @source: the source, with batches
 * @raw_offset_ns: CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW
 *
 * Returns: CLOCK_MONOTONIC_RAW; U64_MAX: never.
 */
u64 perfctr_sampler_next_due(const struct drm_perfctr_source *source, s64 raw_offset_ns)
{
	const ktime_t users_turn =
		ktime_add_ns(source->state->users_served, perfctr_users_distance_ns());
	const struct drm_perfctr_session *session;
	u64 next_ns = U64_MAX;

	list_for_each_entry(session, &source->pc->active, node) {
		ktime_t due = session->due;

		if (!is_of_batches(session, source))
			continue;
		if (session->user)
			due = max_t(ktime_t, due, users_turn);
		next_ns = min_t(u64, next_ns, ktime_to_ns(due) - raw_offset_ns);
	}
	return next_ns;
}

/**
 * perfctr_sampler_publish_batched() - publish what is due at a piece of a batch
 * @source: the source, just collected
 * @raw_offset_ns: CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW
 */
void perfctr_sampler_publish_batched(struct drm_perfctr_source *source, s64 raw_offset_ns)
{
	const ktime_t time = ns_to_ktime(source->state->time_ns + raw_offset_ns);
	const ktime_t users_turn =
		ktime_add_ns(source->state->users_served, perfctr_users_distance_ns());
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &source->pc->active, node) {
		if (!is_of_batches(session, source) || ktime_before(time, session->due))
			continue;
		if (session->user) {
			if (ktime_before(time, users_turn))
				continue;
			source->state->users_served = time;
		}
		if (session_due(session, time))
			perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC,
						session->user_data);
	}
}

/**
 * perfctr_sampler_end_batch() - wake whose samples were in a batch
 * @pc: the device
 */
void perfctr_sampler_end_batch(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &pc->active, node) {
		if (session->wake_due)
			perfctr_wake(session, session->wake_due);
		session->wake_due = 0;
	}
}

/* AUTOMATIC samples that waited for the users' turn; the sources were collected */
static void publish_automatic_due(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &pc->active, node) {
		/* another sample has it inside, and a batch may have taken the room */
		if (!session->automatic_due)
			continue;
		session->automatic_due = false;
		if (!perfctr_sampler_has_room(session))
			continue;
		/* the last one is the sample itself */
		session->pending_others--;
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_AUTOMATIC,
					session->user_data);
	}
}

/*
 * The worker runs before everybody else, and hundreds of perf events, which users may have,
 * can take longer to read than a turn is. So after a turn, which began at @now, users have
 * none for as long as it took.
 */
static void rest(struct drm_perfctr *pc, ktime_t now)
{
	const ktime_t end = ktime_get();
	const s64 next_ns = 2 * ktime_to_ns(ktime_sub(end, now)) - perfctr_users_distance_ns();

	if (pc->users_served == now && next_ns > 0)
		pc->users_served = ktime_add_ns(now, next_ns);
}

static void perfctr_tick(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, tick_work);
	struct drm_perfctr_session *session, *next;
	unsigned long sources = 0;
	bool users_turn;
	unsigned int i;
	LIST_HEAD(due);
	ktime_t now;

	mutex_lock(&pc->lock);
	now = ktime_get();
	pc->last_tick = now;
	users_turn = is_users_turn(pc, now);
	list_for_each_entry(session, &pc->active, node)
		if ((users_turn || !session->user) && !ktime_before(now, next_due(session)))
			perfctr_session_want_pmu(session, false);
	perfctr_serve_pmu(pc);
	list_for_each_entry_safe(session, next, &pc->active, node) {
		if ((session->user && !users_turn) || ktime_before(now, next_due(session)))
			continue;
		/* also if there is no room: what is due must not add up to a storm either */
		if (session->user)
			pc->users_served = now;
		if (session->automatic_due)
			sources |= session_sources(session);
		if (perfctr_sampler_in_batches(session) || !session_due(session, now))
			continue;
		sources |= session_sources(session);
		list_move_tail(&session->node, &due);
	}
	for (i = 0; i < pc->source_count; i++)
		if (!perfctr_source_time_left_ns(pc->sources[i]))
			sources |= BIT(i);

	collect_sources(pc, sources);
	list_for_each_entry(session, &due, node)
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC, session->user_data);
	list_splice_tail(&due, &pc->active);
	if (users_turn)
		publish_automatic_due(pc);
	rest(pc, now);
	perfctr_sampler_arm(pc);
	mutex_unlock(&pc->lock);
}

/* an AUTOMATIC session that has not had a sample for what the collections found */
static bool session_saw_transition(struct drm_perfctr_session *session)
{
	bool due = false;
	unsigned int i;

	if (!(session->flags & DRM_PERFCTR_SETUP_AUTOMATIC))
		return false;
	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_view *sv = &session->sources[i];

		due |= sv->source->state->transition_seq > sv->transition_seq;
		sv->transition_seq = sv->source->state->seq;
	}
	return due;
}

/* a tick is about to serve whoever of the users waits, which must not lose its turn to another */
static bool users_wait(const struct drm_perfctr *pc, ktime_t now)
{
	const struct drm_perfctr_session *session;

	list_for_each_entry(session, &pc->active, node)
		if (session->user && !ktime_before(now, next_due(session)))
			return true;
	return false;
}

/* the hardware took a sample by itself, or its buffer fills up */
static void perfctr_event(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, event_work);
	struct drm_perfctr_session *session;
	unsigned long sources = 0;
	bool users_turn;
	unsigned int i;
	ktime_t now;

	mutex_lock(&pc->lock);
	now = ktime_get();
	users_turn = is_users_turn(pc, now) && !users_wait(pc, now);
	list_for_each_entry(session, &pc->active, node)
		if (session->flags & DRM_PERFCTR_SETUP_AUTOMATIC && (users_turn || !session->user))
			perfctr_session_want_pmu(session, false);
	perfctr_serve_pmu(pc);
	for (i = 0; i < pc->source_count; i++)
		if (pc->sources[i]->state->running)
			sources |= BIT(i);
	/* firmware that never ceases to tell transitions must not keep this work busy */
	pc->serving_events = true;
	collect_sources(pc, sources);
	pc->serving_events = false;

	list_for_each_entry(session, &pc->active, node) {
		if (!session_saw_transition(session))
			continue;
		if (!perfctr_sampler_has_room(session)) {
			session->pending_others++;
			continue;
		}
		if (session->user && !users_turn) {
			session->pending_others++;
			session->automatic_due = true;
			continue;
		}
		if (session->user)
			pc->users_served = now;
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_AUTOMATIC,
					session->user_data);
	}
	rest(pc, now);
	perfctr_sampler_arm(pc);
	mutex_unlock(&pc->lock);
}

static void perfctr_hotplug(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, hotplug_work);
	struct drm_perfctr_session *session;

	mutex_lock(&pc->lock);
	list_for_each_entry(session, &pc->active, node)
		perfctr_session_want_pmu(session, true);
	perfctr_serve_pmu(pc);
	mutex_unlock(&pc->lock);
}

static void perfctr_pmu_wanted(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, pmu_work);

	mutex_lock(&pc->lock);
	perfctr_serve_pmu(pc);
	mutex_unlock(&pc->lock);
}

static enum hrtimer_restart perfctr_timer(struct hrtimer *timer)
{
	struct drm_perfctr *pc = container_of(timer, struct drm_perfctr, timer);

	WRITE_ONCE(pc->timer_interrupts, pc->timer_interrupts + 1);
	kthread_queue_work(pc->worker, &pc->tick_work);
	return HRTIMER_NORESTART;
}

/**
 * drm_perfctr_show() - what the sampler did, for debugfs
 * @pc: the counters
 * @m: where to
 */
void drm_perfctr_show(struct drm_perfctr *pc, struct seq_file *m)
{
	seq_printf(m, "timer_interrupts %llu\n", READ_ONCE(pc->timer_interrupts));
}
EXPORT_SYMBOL_GPL(drm_perfctr_show);

/**
 * perfctr_sampler_init() - create the sampler of a device
 * @pc: the device
 *
 * Returns: 0 or a negative errno.
 */
int perfctr_sampler_init(struct drm_perfctr *pc)
{
	struct kthread_worker *worker;

	worker = kthread_create_worker(0, "perfctr/%s", dev_name(pc->drm->dev));
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	/* a late sample is a stretched one: run before ordinary work */
	sched_set_fifo_low(worker->task);

	pc->worker = worker;
	kthread_init_work(&pc->tick_work, perfctr_tick);
	kthread_init_work(&pc->event_work, perfctr_event);
	kthread_init_work(&pc->hotplug_work, perfctr_hotplug);
	kthread_init_work(&pc->pmu_work, perfctr_pmu_wanted);
	perfctr_hrtimer_setup(&pc->timer, perfctr_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	return 0;
}

/**
 * perfctr_sampler_fini() - undo perfctr_sampler_init()
 * @pc: the device, without active sessions
 */
void perfctr_sampler_fini(struct drm_perfctr *pc)
{
	hrtimer_cancel(&pc->timer);
	kthread_destroy_worker(pc->worker);
}
