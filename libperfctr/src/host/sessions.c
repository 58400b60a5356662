// SPDX-License-Identifier: MIT
/*
 * Sessions that this process counts: START, SAMPLE, STOP, the end. They follow the contract of
 * perfctr_drm.h. The core's own code (core.c) writes ring and blocks; a thread replaces the
 * kernel's timer and worker. It takes the session's lock and then, to collect sources, the host's.
 */
#include "sessions.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "session_state.h"
#include "kernel.h"

/* --- samples ---------------------------------------------------------------------- */

/*
 * Read perf events into their blocks. Return: CLOCK_MONOTONIC_RAW of the read.
 * @starts: the next counts begin with what is known, even of a counter that cannot be read now
 */
static u64 collect_events(struct host_session *s, bool starts)
{
	u64 now = perf_events_read(&s->events);

	for (size_t n = 0; n < s->views.count; n++) {
		struct host_block *b = &s->views.blocks[n];
		struct perfctr_pmu_block *pmu = &b->pmu;
		u64 mask = b->view.header.enable_mask;
		unsigned int open_count = 0;

		if (!b->view.pmu)
			continue;
		b->asleep_mask = 0;
		for (unsigned int i = 0; i < pmu->count; i++, mask &= mask - 1) {
			struct local_counter *c = &s->events.counters[b->first + i];

			if (!c->incomplete || starts) {
				pmu->totals[i] = c->sum[0];
				pmu->enabled[i] = c->sum[1];
				pmu->running[i] = c->sum[2];
				if (c->asleep)
					b->asleep_mask |= mask & -mask;
			} else if (c->is_level) {
				pmu->totals[i] = 0;
			}
			pmu->states |= c->states;
			pmu->identity.cpu = c->open_cpu;
			open_count += c->open_count;
			c->states = 0;
			c->incomplete = false;
		}
		if (open_count != pmu->count)
			pmu->identity.cpu = DRM_PERFCTR_CPU_ANY;
		pmu->time_ns = now;
	}
	return now;
}

/* From before a collection until its sample is published, as other sessions collect, too. */
static void lock_sources(struct host_session *s)
{
	if (s->views.span_count)
		pthread_mutex_lock(&s->host->lock);
}

static void unlock_sources(struct host_session *s)
{
	if (s->views.span_count)
		pthread_mutex_unlock(&s->host->lock);
}

/* Read all into totals. Return: CLOCK_MONOTONIC_RAW up to which the session's sample counts. */
static u64 collect(struct host_session *s, bool starts)
{
	u64 now = s->events.counter_count ? collect_events(s, starts) : 0;

	for (unsigned int i = 0; i < s->views.span_count; i++)
		host_source_collect(s->views.spans[i].source);
	now = max(now, host_views_time_ns(&s->views));
	return starts ? now : max(now, s->end_ns);
}

static void update_status(struct host_session *s)
{
	s->status.published = s->ring.published;
	s->status.insert_idx = s->ring.insert;
	s->status.extract_idx = s->ring.extract;
	s->status.bad_extract = s->ring.bad_extract;
}

/* Add the periods that ended by @now to the pending ones of the next sample. */
static u64 count_periods(struct host_session *s, u64 now)
{
	u64 ended = s->period_ns ? (now - s->start_ns) / s->period_ns - s->periods : 0;

	s->periods += ended;
	s->status.pending_merged += ended;
	return ended;
}

static void signal_program(struct host_session *s)
{
	const uint64_t one = 1;

	s->status.wakeups++;
	if (s->eventfd >= 0)
		s->sys->write(s->sys->data, s->eventfd, &one, sizeof(one));
}

static void write_blocks(struct host_session *s, void *at, struct drm_perfctr_sample_header *header,
			 u32 *states)
{
	for (size_t n = 0; n < s->views.count; n++) {
		struct host_block *b = &s->views.blocks[n];
		struct drm_perfctr_block_header *block = at;

		if (!b->view.pmu) {
			at = host_views_publish(&s->views, b, at, header, states);
			continue;
		}
		/* a level is no difference */
		if (s->events.counters[b->first].is_level)
			*b->view.base = 0;
		at = drm_perfctr_pmu_layout(at, &b->view, header, states);
		/* the zero of a process that slept is a count, which took no time */
		block->valid_mask |= b->asleep_mask;
	}
	/*
	 * not the whole span, which the layout assumes; a loss may be found after its sample, but
	 * all samples together lost no more than their time
	 */
	header->lost_ns = s->events.span_lost ?
				  max(s->events.lost_ns, header->end_ns - header->start_ns) :
				  s->events.lost_ns;
	s->events.lost_ns = 0;
	s->events.span_lost = false;
	host_views_finish(&s->views, header);
	header->lost_ns = min(header->lost_ns, header->end_ns - s->start_ns - s->lost_ns);
	s->lost_ns += header->lost_ns;
}

static void add_to_status(struct host_session *s, const struct drm_perfctr_sample_header *header)
{
	s->status.lost_ns += header->lost_ns;
	s->status.errors += !!(header->flags & DRM_PERFCTR_SAMPLE_ERROR);
	s->status.overflows += !!(header->flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	s->status.merged_periods += header->merged_periods;
	for (unsigned int i = 0; i < s->views.span_count; i++) {
		struct host_span *span = &s->views.spans[i];

		s->status.resets += span->source->state.resets - span->resets;
		span->resets = span->source->state.resets;
	}
}

/* Publish the counts since the last sample. There is a free slot, and collect() was just called. */
static void publish(struct host_session *s, u64 end_ns, u32 flags, u64 user_data)
{
	struct drm_perfctr_sample_header header = {
		.size = s->sample_bytes,
		.header_size = sizeof(header),
		.block_count = (u16)s->views.count,
		.seq = s->ring.published,
		.start_ns = s->end_ns,
		.end_ns = end_ns,
		.user_data = user_data,
		.flags = flags,
	};
	char *slot = drm_perfctr_ring_slot(&s->ring);
	u32 states = 0, unread;

	write_blocks(s, slot + sizeof(header), &header, &states);
	if (flags & DRM_PERFCTR_SAMPLE_PERIODIC)
		s->status.pending_merged--;
	header.merged_periods =
		s->status.pending_merged > UINT32_MAX ? UINT32_MAX : (u32)s->status.pending_merged;
	s->status.pending_merged -= header.merged_periods;
	if (header.merged_periods)
		header.flags |= DRM_PERFCTR_SAMPLE_STRETCHED;
	if (states & DRM_PERFCTR_STATE_MULTIPLEXED)
		header.flags |= DRM_PERFCTR_SAMPLE_MULTIPLEXED;
	add_to_status(s, &header);
	*(struct drm_perfctr_sample_header *)slot = header;
	s->end_ns = end_ns;
	unread = drm_perfctr_ring_publish(&s->ring);
	/* a reader that the final sample wakes must not see an active session */
	if (flags & DRM_PERFCTR_SAMPLE_FINAL)
		drm_perfctr_ring_set_state(
			&s->ring, flags & DRM_PERFCTR_SAMPLE_UNPLUGGED ? DRM_PERFCTR_RING_DEAD : 0);
	if (unread >= s->watermark || flags & DRM_PERFCTR_SAMPLE_FINAL)
		signal_program(s);
	update_status(s);
}

static bool is_active(const struct host_session *s)
{
	return s->status.flags & DRM_PERFCTR_STATUS_ACTIVE;
}

static bool is_dead(const struct host_session *s)
{
	return s->status.flags & DRM_PERFCTR_STATUS_DEAD;
}

/* The sources count for the session no more; with their lock. */
static void detach(struct host_session *s)
{
	struct host_views **v = &s->host->counting;

	if (!s->views.span_count)
		return;
	while (*v && *v != &s->views)
		v = &(*v)->next;
	if (*v)
		*v = s->views.next;
	while (s->attached)
		host_source_detach(s->views.spans[--s->attached].source);
	if (s->keeps_awake && !--s->host->awake_users)
		s->host->driver->keep_awake(s->host, false);
	s->keeps_awake = false;
}

static int keep_awake(struct host_session *s)
{
	const struct host_driver *driver = s->host->driver;
	int error = 0;

	if (!s->views.keeps_awake || !driver || !driver->keep_awake)
		return 0;
	if (!s->host->awake_users)
		error = driver->keep_awake(s->host, true);
	s->keeps_awake = !error;
	s->host->awake_users += !error;
	return error;
}

/* What the last collection of a session left in the hardware is lost for it. */
static void note_unread(struct host_session *s, u64 now)
{
	for (unsigned int i = 0; i < s->views.span_count; i++) {
		const struct perfctr_source_state *state = &s->views.spans[i].source->state;

		if (state->incomplete)
			s->views.unread_ns =
				max(s->views.unread_ns, 1 + now - min(now, state->good_ns));
	}
}

/* End an active session that was just collected, up to @now; with the lock of the sources. */
static void finish(struct host_session *s, u64 now, u32 flags, u64 user_data)
{
	perf_events_stop(&s->events);
	note_unread(s, now);
	count_periods(s, now);
	drm_perfctr_ring_free(&s->ring);
	s->status.flags &= ~(u32)DRM_PERFCTR_STATUS_ACTIVE;
	if (flags & DRM_PERFCTR_SAMPLE_UNPLUGGED)
		s->status.flags |= DRM_PERFCTR_STATUS_DEAD;
	publish(s, now, DRM_PERFCTR_SAMPLE_FINAL | flags, user_data);
	detach(s);
}

/* The device is gone, after a collection up to @now; with the lock of the sources. */
static bool ends_with_device(struct host_session *s, u64 now)
{
	if (!s->views.span_count || !s->host->gone)
		return false;
	finish(s, now, DRM_PERFCTR_SAMPLE_UNPLUGGED, s->user_data);
	return true;
}

static void collect_and_publish(struct host_session *s, u32 flags, u64 user_data)
{
	u64 now;

	lock_sources(s);
	now = collect(s, false);
	if (flags & DRM_PERFCTR_SAMPLE_PERIODIC)
		s->tick_ns = now;
	else
		count_periods(s, now);
	if (!ends_with_device(s, now))
		publish(s, now, flags, user_data);
	unlock_sources(s);
}

/* A periodic sample if it is due. Return: ns until the next period ends. */
static u64 tick_period(struct host_session *s)
{
	u64 now = perfctr_time_raw_ns();

	if (!s->period_ns)
		return U64_MAX;
	/*
	 * the next sample has the counts if there is no slot (one is for STOP), or if the last one
	 * was late: in the short rest of this period the moments of reading would decide the rates
	 */
	if (count_periods(s, now) && drm_perfctr_ring_free(&s->ring) >= 2 &&
	    now - s->tick_ns >= s->period_ns / 2)
		collect_and_publish(s, DRM_PERFCTR_SAMPLE_PERIODIC, s->user_data);
	update_status(s);
	now = perfctr_time_raw_ns() - s->start_ns;
	return now < (s->periods + 1) * s->period_ns ? (s->periods + 1) * s->period_ns - now : 0;
}

/*
 * Collect sources whose counters would wrap, or that woke the thread, without a sample.
 * Return: ns until one must be collected.
 */
static u64 tick_sources(struct host_session *s, bool woken)
{
	u64 left_ns = U64_MAX, now = 0;

	lock_sources(s);
	for (unsigned int i = 0; i < s->views.span_count; i++) {
		struct host_source *hs = s->views.spans[i].source;

		if (!host_source_left_ns(hs) || (woken && hs->wake_fd >= 0)) {
			host_source_collect(hs);
			now = hs->state.time_ns;
		}
		left_ns = min(left_ns, host_source_left_ns(hs));
	}
	if (now)
		ends_with_device(s, max(now, s->end_ns));
	unlock_sources(s);
	return left_ns;
}

/* Wait for @left_ns, a command or a source. Return: whether something is readable. */
static bool wait(struct host_session *s, u64 left_ns)
{
	int files[1 + HOST_MAX_SOURCES] = { s->wake };

	for (unsigned int i = 0; i < s->views.span_count; i++)
		files[1 + i] = s->views.spans[i].source->wake_fd;
	return s->sys->poll(s->sys->data, files, 1 + s->views.span_count,
			    left_ns > INT64_MAX ? -1 : (int64_t)left_ns) > 0;
}

static void *sampler(void *arg)
{
	struct host_session *s = arg;

	prctl(PR_SET_NAME, "perfctr-local");
	/* precise sleeps; the default slack is 50 us */
	prctl(PR_SET_TIMERSLACK, 1ul);
	pthread_mutex_lock(&s->lock);
	while (is_active(s)) {
		u64 left_ns = tick_period(s);
		bool woken;

		left_ns = is_active(s) ? min(left_ns, tick_sources(s, false)) : 0;
		pthread_mutex_unlock(&s->lock);
		woken = wait(s, left_ns);
		pthread_mutex_lock(&s->lock);
		if (woken && is_active(s))
			tick_sources(s, true);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- commands --------------------------------------------------------------------- */

static int start_thread(struct host_session *s)
{
	sigset_t all, before;
	int error;

	if (!s->period_ns && !s->views.span_count)
		return 0;
	/* leave signals to the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&s->thread, NULL, sampler, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->has_thread = !error;
	return -error;
}

static void end_thread(struct host_session *s)
{
	uint64_t value = 1;

	if (!s->has_thread)
		return;
	s->has_thread = false;
	s->sys->write(s->sys->data, s->wake, &value, sizeof(value));
	pthread_join(s->thread, NULL);
	s->sys->read(s->sys->data, s->wake, &value, sizeof(value));
}

/* Have the sources count for the session, from a baseline on; with their lock. */
static int attach(struct host_session *s)
{
	int error = 0;

	if (s->host->gone)
		return -ENODEV;
	if (s->host->set_users && s->host->set != s->views.set)
		return -EBUSY;
	if (s->views.span_count) {
		s->views.next = s->host->counting;
		s->host->counting = &s->views;
		error = keep_awake(s);
	}
	while (!error && s->attached < s->views.span_count) {
		struct host_source *hs = s->views.spans[s->attached].source;

		error = host_source_attach(hs, s->views.set);
		if (error)
			s->host->refusing = hs;
		else
			s->attached++;
	}
	return error;
}

/* After attach(): the counts from now on are the session's; with the lock of the sources. */
static int take_baseline(struct host_session *s)
{
	s->start_ns = s->end_ns = s->tick_ns = collect(s, true);
	for (unsigned int i = 0; i < s->views.span_count; i++) {
		struct host_source *hs = s->views.spans[i].source;

		if (!hs->state.incomplete)
			continue;
		if (hs->state.error || hs->why)
			s->host->refusing = hs;
		return s->host->gone ? -ENODEV : hs->state.error ? hs->state.error : -EIO;
	}
	host_views_begin(&s->views);
	for (size_t n = 0; n < s->views.count; n++) {
		struct host_block *b = &s->views.blocks[n];

		if (!b->view.pmu)
			continue;
		drm_perfctr_pmu_baseline(&b->view);
		b->pmu.states = 0;
	}
	s->events.lost_ns = 0;
	s->events.span_lost = false;
	return 0;
}

int host_session_start(struct host_session *s, uint64_t user_data)
{
	int error = 0;

	if (is_dead(s))
		return -ENODEV;
	if (is_active(s))
		return -EALREADY;
	if (!drm_perfctr_ring_free(&s->ring))
		return -ENOSPC;
	error = s->events.counter_count ? perf_events_start(&s->events) : 0;
	if (error)
		return error;
	s->user_data = user_data;
	s->periods = s->lost_ns = s->status.pending_merged = 0;
	lock_sources(s);
	error = attach(s);
	if (!error)
		error = take_baseline(s);
	if (!error) {
		s->status.flags |= DRM_PERFCTR_STATUS_ACTIVE;
		drm_perfctr_ring_set_state(&s->ring, DRM_PERFCTR_RING_ACTIVE);
		error = start_thread(s);
	}
	if (error)
		detach(s);
	/* a collection for another session may have another reason */
	if (error && s->host->refusing)
		host_refuse(s->host->refusing, error);
	unlock_sources(s);
	if (error) {
		perf_events_stop(&s->events);
		s->status.flags = 0;
		drm_perfctr_ring_set_state(&s->ring, 0);
	}
	return error;
}

int host_session_sample(struct host_session *s, uint64_t user_data)
{
	int error = 0;

	pthread_mutex_lock(&s->lock);
	if (is_dead(s)) {
		error = -ENODEV;
	} else if (!is_active(s)) {
		error = -ENOTCONN;
	} else if (drm_perfctr_ring_free(&s->ring) < 2) {
		s->status.ring_full++;
		error = -ENOSPC;
	} else {
		collect_and_publish(s, DRM_PERFCTR_SAMPLE_MANUAL, user_data);
		error = is_dead(s) ? -ENODEV : 0;
	}
	update_status(s);
	pthread_mutex_unlock(&s->lock);
	return error;
}

int host_session_stop(struct host_session *s, uint64_t user_data)
{
	u64 now;

	pthread_mutex_lock(&s->lock);
	if (!is_active(s)) {
		pthread_mutex_unlock(&s->lock);
		return is_dead(s) ? -ENODEV : -EALREADY;
	}
	s->events.ends = true;
	lock_sources(s);
	now = collect(s, false);
	s->events.ends = false;
	if (!ends_with_device(s, now))
		finish(s, now, 0, user_data);
	unlock_sources(s);
	pthread_mutex_unlock(&s->lock);
	end_thread(s);
	return is_dead(s) ? -ENODEV : 0;
}

void host_session_status(struct host_session *s, struct drm_perfctr_status *status)
{
	pthread_mutex_lock(&s->lock);
	*status = s->status;
	pthread_mutex_unlock(&s->lock);
}

void host_session_free(struct host_session *s)
{
	if (is_active(s)) {
		pthread_mutex_lock(&s->lock);
		s->status.flags = 0;
		lock_sources(s);
		detach(s);
		unlock_sources(s);
		pthread_mutex_unlock(&s->lock);
	}
	end_thread(s);
	host_session_discard(s);
}
