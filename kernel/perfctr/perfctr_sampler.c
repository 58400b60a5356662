// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: decides when sources are asked and who gets a sample.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>

#include "compat.h"
#include "perfctr_internal.h"
#include "pmu/pmu.h"

/**
 * DOC: order
 *
 * Calls go in one direction. The sampler decides when, collecting asks a source and
 * adds up, publishing fills slots; none of them calls back::
 *
 *     session, power  -->  sampler  -->  collect  -->  source
 *                                   -->  publish  -->  layout, ring
 */

/**
 * DOC: locking
 *
 * &drm_perfctr.lock, the sampler lock, serialises collections, START, STOP, SAMPLE,
 * suspend, reset, unplug. It is held while a source waits for its hardware, which
 * every source bounds.
 *
 * It is an rt_mutex, so that an ordinary task which holds it inherits the priority of
 * the SCHED_FIFO worker that waits. &drm_perfctr.caller_lock comes before it for
 * ordinary callers: START, SAMPLE and STOP of sessions without CAP_PERFMON, and the
 * ordinary worker. So at most one of them holds the sampler lock or waits for it, and
 * a privileged period, a job's SAMPLE or a reset waits for one collection of theirs,
 * however many tasks call in a loop::
 *
 *     ordinary callers --> caller_lock --+
 *     privileged callers, jobs, power ---+--> sampler lock --> locks of sources
 *     SCHED_FIFO worker -----------------+
 *
 * Reset and in-stream SAMPLE take the sampler lock where a driver signals dma-fences,
 * or has to before they can be signalled. Reclaim may wait for fences. So under the
 * sampler lock nobody may allocate memory with GFP_KERNEL, wait for a fence, or take a
 * lock under which somebody else does: this holds for sources too, and lockdep knows
 * it from drmm_perfctr_create() on. perf does all of that, so it is called without the
 * sampler lock, see "perf events and fences".
 *
 * Order: driver's locks around suspend and reset -> sampler lock -> locks of sources;
 * session's pmu.lock -> caller_lock -> sampler lock; prepare_lock -> sampler lock. A
 * source's interrupt handler never takes the sampler lock. QUERY, STATUS and fdinfo
 * take neither of these locks: they read copies.
 *
 * The session table of a file is an xarray; a lookup takes a reference under its lock.
 * A session enters the table when it is complete.
 */

/* readings of two clocks that are this close belong together; so many are tried */
#define CLOCKS_APART_NS		2000
#define CLOCK_READINGS		8

/* the sampler lock for a command of user space; -EINTR with no lock held */
int drm_perfctr_lock_call(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	bool ordinary = !perfctr_is_privileged(session);
	int ret = 0;

	if (ordinary)
		ret = mutex_lock_interruptible(&pc->caller_lock);
	if (ret)
		return ret;
	ret = rt_mutex_lock_interruptible(&pc->lock);
	if (ret && ordinary)
		mutex_unlock(&pc->caller_lock);
	return ret;
}

void drm_perfctr_unlock_call(struct drm_perfctr_session *session)
{
	rt_mutex_unlock(&session->pc->lock);
	if (!perfctr_is_privileged(session))
		mutex_unlock(&session->pc->caller_lock);
}

/*
 * CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW: from the clock of samples to that of timers. The two
 * cannot be read at once. An interrupt between the readings would make times of hardware look
 * later than they are, and periods be counted that are not over: the closest readings count.
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

/* count the periods of a session, periodic or not, that ended before @now, CLOCK_MONOTONIC */
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

/* a periodic session whose time has come: count its periods, see if there is room */
static bool is_due(struct drm_perfctr_session *session, ktime_t now)
{
	if (!session->config.period_ns || ktime_before(now, session->pending.due))
		return false;
	count_periods(session, now);
	if (!drm_perfctr_has_room(session)) {
		drm_perfctr_update_status(session);
		return false;
	}
	/* the last one is the sample itself */
	session->pending.periods--;
	return true;
}

static void publish_period(struct drm_perfctr_session *session)
{
	drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_PERIODIC, session->config.user_data);
}

/* --- batches ------------------------------------------------------------- */

/* are the periodic samples of an active session made from batches of its source? */
bool drm_perfctr_sampler_in_batches(const struct drm_perfctr_session *session)
{
	const struct drm_perfctr_source *source = session->sources[0].source;

	return perfctr_is_batchable(session) && source->batch_ns && source->state->running;
}

static bool is_of_batch(const struct drm_perfctr_session *session,
			const struct drm_perfctr_source *source)
{
	return session->sources[0].source == source && drm_perfctr_sampler_in_batches(session);
}

/* CLOCK_MONOTONIC_RAW of the next sample from a source's batch */
static u64 next_in_batch(const struct drm_perfctr_source *source, s64 offset_ns)
{
	struct perfctr_class *class = &source->pc->classes[PERFCTR_PRIVILEGED];
	const struct drm_perfctr_session *session;
	u64 next_ns = U64_MAX;

	list_for_each_entry(session, &class->active, node)
		if (is_of_batch(session, source))
			next_ns = min_t(u64, next_ns,
					ktime_to_ns(session->pending.due) - offset_ns);
	return next_ns;
}

static void publish_batched(struct drm_perfctr_source *source, s64 offset_ns)
{
	struct perfctr_class *class = &source->pc->classes[PERFCTR_PRIVILEGED];
	const ktime_t time = ns_to_ktime(source->state->time_ns + offset_ns);
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &class->active, node)
		if (is_of_batch(session, source) && is_due(session, time))
			publish_period(session);
}

/* wake the readers of samples that were in a batch, once */
static void end_batch(struct drm_perfctr *pc)
{
	struct perfctr_class *class = &pc->classes[PERFCTR_PRIVILEGED];
	struct drm_perfctr_session *session;

	pc->in_batch = false;
	list_for_each_entry(session, &class->active, node) {
		if (session->wake.due)
			drm_perfctr_wake(session);
		session->wake.due = false;
	}
}

/*
 * A sample for each period in the batch, by the times of its pieces. If that takes longer than
 * half of the time that the next batch will be about, the rest is merged, and the worker pauses
 * for as long as it took: it must not take all of a CPU that is too slow for the rate.
 */
static int collect_batch(struct drm_perfctr_source *source)
{
	struct perfctr_source_state *state = source->state;
	const u64 begin_ns = ktime_get_raw_ns();
	const s64 offset_ns = raw_offset_ns();
	u64 now_ns;
	bool more;
	int ret;

	source->pc->in_batch = true;
	do {
		u64 until_ns = U64_MAX;

		if (ktime_get_raw_ns() - begin_ns <= state->batch_ns / 2)
			until_ns = next_in_batch(source, offset_ns);
		ret = drm_perfctr_collect(source, until_ns, &more);
		/* the last piece ends anywhere, maybe for a sample that the caller publishes */
		if (more || ret)
			publish_batched(source, offset_ns);
	} while (more);
	end_batch(source->pc);
	now_ns = ktime_get_raw_ns();
	/* the hardware has room for two batches: half of one is left for coming late */
	state->backoff_until_ns = now_ns + min(now_ns - begin_ns, state->batch_ns / 2);
	return ret;
}

/**
 * drm_perfctr_sampler_collect_source() - bring the totals of a source up to now
 * @source: the source
 *
 * Publishes the periodic samples of sessions that are served from its batches. The
 * slot that STOP needs stays free, others may not.
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

/* sources of @mask, each once; 0 or the first error */
static int collect_sources(struct drm_perfctr *pc, unsigned long mask)
{
	unsigned int id;
	int ret = 0;

	for_each_set_bit(id, &mask, PERFCTR_MAX_SOURCES) {
		int err = drm_perfctr_sampler_collect_source(pc->sources[id]);

		if (!ret)
			ret = err;
	}
	return ret;
}

static unsigned long sources_of(const struct drm_perfctr_session *session)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		mask |= BIT(session->sources[i].source->id);
	return mask;
}

/* all sources of a session; perf events were read before */
int drm_perfctr_sampler_collect(struct drm_perfctr_session *session)
{
	lockdep_assert_held(&session->pc->lock);
	return collect_sources(session->pc, sources_of(session));
}

/* --- begin and end of a span --------------------------------------------- */

/* the sources have one session less: later, as the caller does not wait for hardware */
static void release_sources(struct drm_perfctr_session *session, unsigned int count)
{
	struct drm_perfctr *pc = session->pc;

	while (count--) {
		session->sources[count].source->state->users--;
		session->sources[count].source->state->release_due = true;
	}
	kthread_queue_work(pc->classes[PERFCTR_ORDINARY].worker, &pc->release_work);
}

static int attach_source(struct drm_perfctr_source *source, struct drm_perfctr_session *session)
{
	struct perfctr_source_state *state = source->state;
	int ret;

	/* what was lost while no session was active is nobody's loss */
	if (!state->users) {
		state->lost_flags = 0;
		state->pending_flags = 0;
		state->pending_lost = false;
	}
	/* what was counted until now belongs to what was selected until now */
	if (state->running && state->wanted)
		drm_perfctr_sampler_collect_source(source);
	drm_perfctr_source_select(source, session);
	ret = drm_perfctr_source_start(source);
	if (ret) {
		drm_dbg(source->pc->drm, "perfctr: %s did not start: %d\n", source->name, ret);
		state->release_due = true;
	} else {
		state->users++;
	}
	return ret;
}

/**
 * drm_perfctr_sampler_attach() - have all sources count that a session needs
 * @session: the session
 *
 * Returns: 0, or the error of the source that could not be started or that still has
 * counts from before; no source counts for the session then.
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
	release_sources(session, i);
	return ret;
}

/* undo drm_perfctr_sampler_attach(): a work stops what is not needed any more */
void drm_perfctr_sampler_detach(struct drm_perfctr_session *session)
{
	lockdep_assert_held(&session->pc->lock);
	release_sources(session, session->source_count);
}

/* an active session's first period; it was just baselined */
void drm_perfctr_sampler_begin(struct drm_perfctr_session *session)
{
	u64 period_ns = session->config.period_ns;
	u64 start_ns;

	if (!period_ns)
		return;
	start_ns = session->pending.end_ns + raw_offset_ns();
	/* multiples of the period: equal periods share one collection */
	session->pending.due = ns_to_ktime(start_ns - start_ns % period_ns + period_ns);
}

/*
 * The last collection of a session is over: count the periods that ended in its span, however
 * long the hardware took to answer. What a source did not return is lost for the session.
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
		/* the span ends here all the same */
		state->time_ns = max(state->time_ns, ktime_get_raw_ns());
		lost_ns = state->time_ns - min(state->time_ns, state->good_ns);
		session->pending.unread_ns = max(session->pending.unread_ns, lost_ns);
	}
	if (session->config.period_ns) {
		end_ns = max(drm_perfctr_session_time(session), session->pending.end_ns);
		count_periods(session, ns_to_ktime(end_ns + raw_offset_ns()));
	}
}

/* --- timers -------------------------------------------------------------- */

/* the next sample that the timer is to make for a session, KTIME_MAX: none */
static ktime_t next_due(const struct drm_perfctr_session *session)
{
	if (session->pending.automatic_due)
		return 0;
	/* the source says when a batch is due */
	if (!session->config.period_ns || drm_perfctr_sampler_in_batches(session))
		return KTIME_MAX;
	return session->pending.due;
}

/**
 * drm_perfctr_sampler_arm() - set the timer of a class to the next thing that is due
 * @class: the privileged one also looks after the sources' own deadlines
 */
void drm_perfctr_sampler_arm(struct perfctr_class *class)
{
	struct drm_perfctr *pc = class->pc;
	struct drm_perfctr_session *session;
	ktime_t next = KTIME_MAX;
	unsigned int i;

	lockdep_assert_held(&pc->lock);
	list_for_each_entry(session, &class->active, node)
		next = min_t(ktime_t, next, next_due(session));
	/* many sessions with unequal periods must not add up to a storm */
	if (next != KTIME_MAX)
		next = max_t(ktime_t, next, ktime_add_ns(class->last_tick, PERFCTR_MIN_PERIOD_NS));
	if (class == &pc->classes[PERFCTR_PRIVILEGED] && !pc->suspended && !pc->unplugged)
		for (i = 0; i < pc->source_count; i++) {
			u64 left_ns = drm_perfctr_collect_left_ns(pc->sources[i]);

			if (left_ns != U64_MAX)
				next = min_t(ktime_t, next, ktime_add_ns(ktime_get(), left_ns));
		}

	if (next == KTIME_MAX)
		hrtimer_cancel(&class->timer);
	else
		hrtimer_start(&class->timer, next, HRTIMER_MODE_ABS_HARD);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct perfctr_class *class = container_of(timer, struct perfctr_class, timer);

	WRITE_ONCE(class->timer_interrupts, class->timer_interrupts + 1);
	kthread_queue_work(class->worker, &class->tick_work);
	return HRTIMER_NORESTART;
}

/* with the sampler lock, released meanwhile: read the perf events of what is due */
static void read_pmus(struct perfctr_class *class, ktime_t now)
{
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &class->active, node)
		if (!ktime_before(now, next_due(session)))
			drm_perfctr_pmu_want(session, false);
	drm_perfctr_pmu_serve(class);
}

static unsigned long sources_left(const struct drm_perfctr *pc)
{
	unsigned long mask = 0;
	unsigned int i;

	for (i = 0; i < pc->source_count; i++)
		if (!drm_perfctr_collect_left_ns(pc->sources[i]))
			mask |= BIT(i);
	return mask;
}

/* SCHED_FIFO: all that is due at once, at the same end of a span */
static void tick_privileged(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, tick_work);
	struct drm_perfctr_session *session, *next;
	struct drm_perfctr *pc = class->pc;
	unsigned long sources;
	LIST_HEAD(due);
	ktime_t now;

	rt_mutex_lock(&pc->lock);
	class->runs++;
	now = ktime_get();
	class->last_tick = now;
	read_pmus(class, now);
	sources = sources_left(pc);
	list_for_each_entry_safe(session, next, &class->active, node) {
		if (drm_perfctr_sampler_in_batches(session) || !is_due(session, now))
			continue;
		sources |= sources_of(session);
		list_move_tail(&session->node, &due);
	}
	collect_sources(pc, sources);
	list_for_each_entry(session, &due, node)
		publish_period(session);
	list_splice_tail(&due, &class->active);
	drm_perfctr_sampler_arm(class);
	rt_mutex_unlock(&pc->lock);
}

/* an AUTOMATIC sample of a session that was counted as pending */
static void publish_automatic(struct drm_perfctr_session *session)
{
	session->pending.automatic_due = false;
	if (!drm_perfctr_has_room(session)) {
		drm_perfctr_update_status(session);
		return;
	}
	/* the last one is the sample itself */
	session->pending.others--;
	drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_AUTOMATIC, session->config.user_data);
}

/* the next ordinary session that is due at @now; false: there is none */
static bool serve_one(struct perfctr_class *class, ktime_t now, unsigned long *collected)
{
	struct drm_perfctr_session *session;

	list_for_each_entry(session, &class->active, node) {
		unsigned long sources = sources_of(session) & ~*collected;

		if (ktime_before(now, next_due(session)))
			continue;
		collect_sources(class->pc, sources);
		*collected |= sources;
		if (is_due(session, now))
			publish_period(session);
		else if (session->pending.automatic_due)
			publish_automatic(session);
		list_move_tail(&session->node, &class->active);
		return true;
	}
	return false;
}

/* ordinary priority: others may have the lock after each session */
static void tick_ordinary(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, tick_work);
	struct drm_perfctr *pc = class->pc;
	unsigned long collected = 0;
	bool more = true;
	ktime_t now;

	rt_mutex_lock(&pc->lock);
	class->runs++;
	now = ktime_get();
	class->last_tick = now;
	read_pmus(class, now);
	rt_mutex_unlock(&pc->lock);
	while (more) {
		mutex_lock(&pc->caller_lock);
		rt_mutex_lock(&pc->lock);
		more = serve_one(class, now, &collected);
		if (!more)
			drm_perfctr_sampler_arm(class);
		rt_mutex_unlock(&pc->lock);
		mutex_unlock(&pc->caller_lock);
		cond_resched();
	}
}

/* has an AUTOMATIC session had no sample yet for what the collections found? */
static bool saw_transition(struct drm_perfctr_session *session)
{
	bool saw = false;
	unsigned int i;

	if (!(session->config.flags & DRM_PERFCTR_SETUP_AUTOMATIC))
		return false;
	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_view *sv = &session->sources[i];

		saw |= sv->source->state->transition_seq > sv->transition_seq;
		sv->transition_seq = sv->source->state->seq;
	}
	return saw;
}

/* AUTOMATIC samples; true if some of them are left to the ordinary worker */
static bool publish_transitions(struct drm_perfctr *pc)
{
	struct drm_perfctr_session *session;
	struct perfctr_class *class;
	bool later = false;

	perfctr_for_each_active(pc, class, session) {
		if (!saw_transition(session))
			continue;
		session->pending.others++;
		session->pending.automatic_due = true;
		if (perfctr_is_privileged(session))
			publish_automatic(session);
		else
			later = true;
	}
	return later;
}

/* the hardware took a sample by itself, or its buffer fills up */
static void serve_event(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, event_work);
	struct perfctr_class *privileged = &pc->classes[PERFCTR_PRIVILEGED];
	struct perfctr_class *ordinary = &pc->classes[PERFCTR_ORDINARY];
	struct drm_perfctr_session *session;
	unsigned long sources = 0;
	unsigned int i;

	rt_mutex_lock(&pc->lock);
	privileged->runs++;
	list_for_each_entry(session, &privileged->active, node)
		if (session->config.flags & DRM_PERFCTR_SETUP_AUTOMATIC)
			drm_perfctr_pmu_want(session, false);
	drm_perfctr_pmu_serve(privileged);
	for (i = 0; i < pc->source_count; i++)
		if (pc->sources[i]->state->running)
			sources |= BIT(i);
	/* firmware that reports transitions without end must not keep this work busy */
	pc->serving_events = true;
	collect_sources(pc, sources);
	pc->serving_events = false;
	if (publish_transitions(pc))
		kthread_queue_work(ordinary->worker, &ordinary->tick_work);
	drm_perfctr_sampler_arm(privileged);
	rt_mutex_unlock(&pc->lock);
}

/* sources have fewer sessions than before: stop them, or have them count less */
static void release(struct kthread_work *work)
{
	struct drm_perfctr *pc = container_of(work, struct drm_perfctr, release_work);
	unsigned int i;

	mutex_lock(&pc->caller_lock);
	rt_mutex_lock(&pc->lock);
	for (i = 0; i < pc->source_count; i++) {
		struct drm_perfctr_source *source = pc->sources[i];
		struct perfctr_source_state *state = source->state;

		if (!state->release_due)
			continue;
		state->release_due = false;
		if (!state->users) {
			drm_perfctr_source_stop(source);
		} else if (state->wanted) {
			if (state->running)
				drm_perfctr_sampler_collect_source(source);
			drm_perfctr_source_select(source, NULL);
		}
	}
	drm_perfctr_sampler_arm(&pc->classes[PERFCTR_PRIVILEGED]);
	rt_mutex_unlock(&pc->lock);
	mutex_unlock(&pc->caller_lock);
}

/* perf events of a job's session are to be read, or a CPU came or went */
static void serve_pmus(struct kthread_work *work)
{
	struct perfctr_class *class = container_of(work, struct perfctr_class, pmu_work);

	rt_mutex_lock(&class->pc->lock);
	class->runs++;
	drm_perfctr_pmu_serve(class);
	rt_mutex_unlock(&class->pc->lock);
}

static int init_class(struct drm_perfctr *pc, struct perfctr_class *class, const char *suffix)
{
	class->pc = pc;
	INIT_LIST_HEAD(&class->active);
	kthread_init_work(&class->pmu_work, serve_pmus);
	perfctr_hrtimer_setup(&class->timer, timer_fired, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_HARD);
	class->worker = kthread_create_worker(0, "perfctr%s/%s", suffix, dev_name(pc->drm->dev));
	return PTR_ERR_OR_ZERO(class->worker);
}

/* the workers of a device; 0 or a negative errno */
int drm_perfctr_sampler_init(struct drm_perfctr *pc)
{
	struct perfctr_class *privileged = &pc->classes[PERFCTR_PRIVILEGED];
	struct perfctr_class *ordinary = &pc->classes[PERFCTR_ORDINARY];
	int ret;

	kthread_init_work(&pc->event_work, serve_event);
	kthread_init_work(&pc->release_work, release);
	kthread_init_work(&privileged->tick_work, tick_privileged);
	kthread_init_work(&ordinary->tick_work, tick_ordinary);
	ret = init_class(pc, privileged, "");
	if (ret)
		return ret;
	ret = init_class(pc, ordinary, "-u");
	if (ret) {
		kthread_destroy_worker(privileged->worker);
		return ret;
	}
	/* a late sample is a stretched one: run before ordinary work */
	sched_set_fifo_low(privileged->worker->task);
	return 0;
}

/* undo drm_perfctr_sampler_init(); there are no active sessions */
void drm_perfctr_sampler_fini(struct drm_perfctr *pc)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_CLASSES; i++) {
		hrtimer_cancel(&pc->classes[i].timer);
		kthread_destroy_worker(pc->classes[i].worker);
	}
}
