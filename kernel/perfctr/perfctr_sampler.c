// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: locks of commands, collections of several sources, begin and end of spans.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "perfctr_internal.h"
#include "pmu/pmu.h"

/**
 * DOC: order
 *
 * Calls go in one direction. The sampler decides when to collect; collecting reads a source and
 * adds to totals; publishing fills slots. None of them calls back::
 *
 *     session, power  -->  sampler  -->  collect  -->  source
 *                                   -->  publish  -->  layout, ring
 */

/* readings of two clocks at most this far apart are accepted; number of attempts */
#define CLOCKS_APART_NS		2000
#define CLOCK_READINGS		8

/*
 * Takes the locks of a command and hands over its perf events, just read. -EINTR, or -ENODEV during
 * unplug, with no lock held.
 */
int drm_perfctr_lock_call(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	if (READ_ONCE(pc->ending))
		return -ENODEV;
	ret = rt_mutex_lock_interruptible(&session->pmu.lock);
	if (ret)
		return ret;
	drm_perfctr_pmu_read(session);
	ret = rt_mutex_lock_interruptible(&pc->lock);
	if (ret)
		rt_mutex_unlock(&session->pmu.lock);
	else
		drm_perfctr_pmu_handover(session);
	return ret;
}

void drm_perfctr_unlock_call(struct drm_perfctr_session *session)
{
	rt_mutex_unlock(&session->pc->lock);
	rt_mutex_unlock(&session->pmu.lock);
}

/*
 * CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW: converts from the clock of samples to that of timers. The
 * clocks are not read simultaneously. An interrupt between the readings would shift hardware times
 * and count periods that have not ended, so the closest of several readings is used.
 */
static s64 raw_offset_ns(void)
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

/* counts the periods of a session, periodic or not, that ended before @now (CLOCK_MONOTONIC) */
static void count_periods(struct drm_perfctr_session *session, ktime_t now)
{
	u64 ended;

	if (!session->config.period_ns || ktime_before(now, session->pending.due))
		return;
	ended = 1 + div64_u64(ktime_to_ns(ktime_sub(now, session->pending.due)),
			      session->config.period_ns);
	session->pending.due = ktime_add_ns(session->pending.due,
					    ended * session->config.period_ns);
	session->pending.periods += ended;
}

/* for a periodic session that is due: counts its periods, returns whether there is room */
bool drm_perfctr_sampler_is_due(struct drm_perfctr_session *session, ktime_t now)
{
	if (!session->config.period_ns || ktime_before(now, session->pending.due))
		return false;
	count_periods(session, now);
	if (!drm_perfctr_has_room(session)) {
		drm_perfctr_update_status(session);
		return false;
	}
	/* the sample itself is the last period */
	session->pending.periods--;
	return true;
}

/* --- batches ------------------------------------------------------------- */

static bool is_of_batch(const struct drm_perfctr_session *session,
			const struct drm_perfctr_source *source)
{
	return session->sources[0].source == source && perfctr_in_batches(session);
}

/* CLOCK_MONOTONIC_RAW of the next sample to make from a source's batch */
static u64 next_in_batch(const struct drm_perfctr_source *source, s64 offset_ns)
{
	struct perfctr_worker *worker = &source->pc->workers[PERFCTR_HARDWARE];
	const struct drm_perfctr_session *session;
	u64 next_ns = U64_MAX;

	list_for_each_entry(session, &worker->active, node)
		if (is_of_batch(session, source))
			next_ns = min_t(u64, next_ns,
					ktime_to_ns(session->pending.due) - offset_ns);
	return next_ns;
}

static void publish_batched(struct drm_perfctr_source *source, s64 offset_ns)
{
	struct perfctr_worker *worker = &source->pc->workers[PERFCTR_HARDWARE];
	const ktime_t time = ns_to_ktime(source->state->time_ns + offset_ns);
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &worker->active, node)
		if (is_of_batch(session, source) && drm_perfctr_sampler_is_due(session, time))
			drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC,
					    session->config.user_data);
}

/*
 * Makes a sample for each period in the batch, by the times of its pieces. If that takes longer
 * than half of the interval of batches, the remaining periods are merged. The worker pauses for as
 * long as it ran, so that it does not monopolise a CPU that is too slow for the rate.
 */
static int collect_batch(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	const s64 offset_ns = raw_offset_ns();
	/* after what takes longest on a slow CPU: at least the first period gets its sample */
	const u64 begin_ns = ktime_get_raw_ns();
	bool more, reached = true;
	u64 now_ns, until_ns;
	int ret;

	do {
		until_ns = U64_MAX;
		if (reached && ktime_get_raw_ns() - begin_ns <= state->batch_ns / 2)
			until_ns = next_in_batch(source, offset_ns);
		ret = drm_perfctr_collect(source, until_ns, &more);
		/* a source whose pieces end no period must return the rest at once */
		reached = state->time_ns >= until_ns;
		/* the last piece ends at no period: the caller may publish a sample of it */
		if (more || ret)
			publish_batched(source, offset_ns);
	} while (more && until_ns != U64_MAX);
	state->incomplete |= more;
	now_ns = ktime_get_raw_ns();
	/* the hardware has room for two batches; half of one is reserved for delays */
	state->backoff_until_ns = now_ns + min(now_ns - begin_ns, source->batch_ns / 2);
	return ret;
}

/**
 * drm_perfctr_sampler_collect_source() - update the totals of a source
 * @source: the source
 *
 * Publishes the periodic samples of sessions that are served from its batches. They may fill all
 * slots except the one reserved for STOP.
 *
 * Returns: 0 or the source's error.
 */
int drm_perfctr_sampler_collect_source(struct drm_perfctr_source *source)
{
	bool more;

	if (source->state->running && source->batch_ns)
		return collect_batch(source);
	return drm_perfctr_collect(source, U64_MAX, &more);
}

/* collects each source of @mask; returns 0 or the first error */
int drm_perfctr_sampler_collect_mask(struct drm_perfctr *pc, unsigned long mask)
{
	unsigned int id;
	int ret = 0;

	for_each_set_bit(id, &mask, PERFCTR_MAX_SOURCES) {
		int err = drm_perfctr_sampler_collect_source(pc->sources[id]);

		ret = ret ?: err;
	}
	return ret;
}

unsigned long drm_perfctr_sampler_sources(const struct drm_perfctr_session *session)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		mask |= BIT(session->sources[i].source->id);
	return mask;
}

/* collects all sources of a session, whose perf events have been read */
int drm_perfctr_sampler_collect(struct drm_perfctr_session *session)
{
	lockdep_assert_held(&session->pc->lock);
	return drm_perfctr_sampler_collect_mask(session->pc, drm_perfctr_sampler_sources(session));
}

/* --- begin and end of a span --------------------------------------------- */

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

	if (!perfctr_is_batchable(session) || session->sources[0].source != source)
		return;
	source->period_ns = min_not_zero(source->period_ns, session->config.period_ns);
	/* a batch must fit into half the ring, so that a reader can keep up */
	ring_ns = session->config.period_ns * max(session->ring->slots / 2, 1u);
	state->batch_ns = min_not_zero(state->batch_ns, ring_ns);
}

/**
 * drm_perfctr_sampler_select() - pass a source the counters that all active sessions need
 * @source: the source
 * @session: counted as active; may be NULL
 *
 * Counts so far belong to the previous selection. A source that runs adds them to its totals now,
 * and their times with the next collection: no span may begin or end in between. A batch must be
 * collected before, for the samples of its periods.
 */
void drm_perfctr_sampler_select(struct drm_perfctr_source *source,
				const struct drm_perfctr_session *session)
{
	const struct drm_perfctr_session *other;
	struct perfctr_worker *worker;
	u64 *wanted = source->state->wanted;

	if (!wanted)
		return;
	memset(wanted, 0, source->block_count * DRM_PERFCTR_BLOCK_INFO_SECTIONS * sizeof(*wanted));
	source->period_ns = 0;
	source->state->batch_ns = 0;
	perfctr_for_each_active(source->pc, worker, other) {
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

/*
 * The sources have one session less. release_work does the rest, so that CLOSE does not wait for
 * hardware. STOP, which has just @collected, drops the session's counters at once, because others
 * would share the hardware with them until the worker runs.
 */
static void release_sources(struct drm_perfctr_session *session, unsigned int count, bool collected)
{
	struct drm_perfctr *pc = session->pc;

	while (count--) {
		struct drm_perfctr_source *source = session->sources[count].source;
		struct perfctr_source_state *state = source->state;

		state->users--;
		WRITE_ONCE(pc->set_users, pc->set_users - 1);
		state->release_due = !state->users || !state->running || !collected;
		if (!state->release_due)
			drm_perfctr_sampler_select(source, NULL);
	}
	kthread_queue_work(pc->workers[PERFCTR_HARDWARE].thread, &pc->release_work);
}

static int attach_source(struct drm_perfctr_source *source, struct drm_perfctr_session *session)
{
	struct perfctr_source_state *state = source->state;
	struct drm_perfctr *pc = source->pc;
	int ret;

	WRITE_ONCE(pc->set, session->set);
	WRITE_ONCE(pc->set_users, pc->set_users + 1);
	/* losses without an active session are not reported */
	if (!state->users) {
		state->lost_flags = 0;
		state->pending_flags = 0;
		state->pending_lost = false;
	}
	if (state->running && source->batch_ns)
		drm_perfctr_sampler_collect_source(source);
	drm_perfctr_sampler_select(source, session);
	ret = drm_perfctr_source_start(source);
	if (ret) {
		WRITE_ONCE(pc->set_users, pc->set_users - 1);
		state->release_due = true;
	} else {
		state->users++;
	}
	return ret;
}

/**
 * drm_perfctr_sampler_attach() - start all sources that a session needs
 * @session: the session; its counter set is in use from now on, no other one is
 *
 * Returns: 0, or the error of a source that failed to start or still has earlier counts; in that
 * case no source counts for the session.
 */
int drm_perfctr_sampler_attach(struct drm_perfctr_session *session)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&session->pc->lock);
	for (i = 0; i < session->source_count; i++) {
		ret = attach_source(session->sources[i].source, session);
		if (ret)
			goto undo;
	}
	ret = drm_perfctr_sampler_collect(session);
	for (i = 0; !ret && i < session->source_count; i++)
		if (session->sources[i].source->state->incomplete)
			ret = -ETIMEDOUT;
	if (!ret)
		return 0;
	drm_dbg(session->pc->drm, "perfctr: START: no baseline: %d\n", ret);
	i = session->source_count;
undo:
	release_sources(session, i, false);
	return ret;
}

/* makes an attached session active: the workers serve it */
void drm_perfctr_sampler_add(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;

	WRITE_ONCE(session->active, true);
	list_add_tail(&session->node, &perfctr_worker_of(session)->active);
	if (session->config.flags & DRM_PERFCTR_OPEN_AUTOMATIC)
		WRITE_ONCE(pc->automatic_sessions, pc->automatic_sessions + 1);
}

/*
 * Undoes attach and add of a session that is no longer active, or dead. release_work stops idle
 * sources and sets the timers anew.
 */
void drm_perfctr_sampler_detach(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;

	list_del_init(&session->node);
	if (session->config.flags & DRM_PERFCTR_OPEN_AUTOMATIC)
		WRITE_ONCE(pc->automatic_sessions, pc->automatic_sessions - 1);
	release_sources(session, session->source_count, !session->dead);
}

/* starts an active session's first period; the session was just baselined */
void drm_perfctr_sampler_begin(struct drm_perfctr_session *session)
{
	u64 period_ns = session->config.period_ns;
	u64 start_ns, into_ns;

	if (!period_ns)
		return;
	start_ns = session->pending.end_ns + raw_offset_ns();
	/* align to multiples of the period: equal periods share one collection */
	div64_u64_rem(start_ns, period_ns, &into_ns);
	session->pending.due = ns_to_ktime(start_ns - into_ns + period_ns);
}

/*
 * After the last collection of a session: counts the periods that ended in its span, including the
 * time that the hardware took to respond. What a source did not return is lost for the session.
 */
void drm_perfctr_sampler_end(struct drm_perfctr_session *session)
{
	unsigned int i;
	u64 end_ns;

	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_state *state = session->sources[i].source->state;
		u64 lost_ns;

		if (!state->incomplete)
			continue;
		/* the span ends now nevertheless, without a GPU timestamp */
		state->time_ns = max(state->time_ns, ktime_get_raw_ns());
		state->gpu_epoch = 0;
		state->gpu_timestamp = 0;
		/* at least 1: something is lost */
		lost_ns = 1 + state->time_ns - min(state->time_ns, state->good_ns);
		session->pending.unread_ns = max(session->pending.unread_ns, lost_ns);
	}
	if (session->config.period_ns) {
		end_ns = max(drm_perfctr_session_time(session), session->pending.end_ns);
		count_periods(session, ns_to_ktime(end_ns + raw_offset_ns()));
	}
}
