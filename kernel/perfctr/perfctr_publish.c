// SPDX-License-Identifier: GPL-2.0
/*
 * Publishing: writes a session's counts since its last sample to a slot.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "perfctr_extension.h"
#include "perfctr_sink.h"
#include "perfctr_trace.h"
#include "pmu/pmu.h"

/**
 * DOC: samples
 *
 * A source adds hardware counts to totals that only grow. A session remembers the totals of its
 * last sample, its base, and publishes the difference::
 *
 *     totals of a counter   0----3-------9----12------20----->
 *     collections           |    |       |     |       |
 *     session A, periodic   S    +3      +6    +3      +8
 *     session B, manual          S             +9      X +8
 *
 *     S: START takes the base      X: STOP publishes the rest
 *
 * A session therefore costs nothing while no sample is due, and other sessions that start or stop
 * do not affect it. The sum over its samples telescopes to (total at STOP) - (total at START):
 * counts are conserved by construction, even if samples are merged.
 *
 * A sample that is due while no slot is free is not published; the session counts it as pending,
 * and the next sample includes it and is STRETCHED. The base does not change.
 *
 * States, flags and valid masks are sticky (struct perfctr_sticky), and thus also exact for every
 * session's span.
 */

/* the latest capture time of a session's blocks */
u64 drm_perfctr_session_time(struct drm_perfctr_session *session)
{
	u64 time_ns = drm_perfctr_pmu_time(session);
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		time_ns = max(time_ns, session->sources[i].source->state->time_ns);
	return time_ns;
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

/* begins a span without publishing earlier counts; the session was just collected */
void drm_perfctr_baseline(struct drm_perfctr_session *session)
{
	unsigned int i;

	lockdep_assert_held(&session->pc->lock);
	for (i = 0; i < session->view_count; i++) {
		struct perfctr_view *view = &session->views[i];

		if (view->pmu) {
			drm_perfctr_pmu_baseline(view);
			continue;
		}
		drm_perfctr_counters_rebase(view->base, view->totals, view->header.enable_mask);
		if (view->running) {
			drm_perfctr_counters_rebase(view->base_running, view->running,
						    view->header.enable_mask);
			view->base_enabled = view->block->enabled;
		}
		view->base_cycles = view_cycles(session->pc, view);
	}
	if (perfctr_sink_ops(session))
		perfctr_sink_ops(session)->begin(session);
	rebase_sources(session);
	for (i = 0; i < session->source_count; i++)
		session->sources[i].transition_seq = session->sources[i].base_seq;
	memset(&session->pending, 0, sizeof(session->pending));
	session->pending.end_ns = drm_perfctr_session_time(session);
}

/* whether a sample other than the final one may be published; one slot is reserved for STOP */
bool drm_perfctr_has_room(struct drm_perfctr_session *session)
{
	return drm_perfctr_ring_free(session->ring) >= 2;
}

/* updates the copy that STATUS returns without the sampler lock */
void drm_perfctr_update_status(struct drm_perfctr_session *session)
{
	struct drm_perfctr_status *totals = &session->totals;

	totals->flags = session->active ? DRM_PERFCTR_STATUS_ACTIVE : 0;
	if (session->active && perfctr_in_batches(session))
		totals->flags |= DRM_PERFCTR_STATUS_BATCHED;
	totals->slots = session->ring->slots;
	if (session->dead)
		totals->flags |= DRM_PERFCTR_STATUS_DEAD;
	totals->published = session->ring->published;
	totals->insert_idx = session->ring->insert;
	totals->extract_idx = session->ring->extract;
	totals->bad_extract = session->ring->bad_extract;
	totals->pending_merged = session->pending.periods + session->pending.others;
	spin_lock(&session->status_lock);
	session->status = *totals;
	spin_unlock(&session->status_lock);
}

/* inlined, so that the loop over views need not save its registers */
static __always_inline void *publish_view(struct drm_perfctr_session *session,
					  struct perfctr_view *view, void *at,
					  struct drm_perfctr_sample_header *sample, u32 *states)
{
	const struct drm_perfctr_block *block = view->block;
	const struct perfctr_source_state *state;
	const struct perfctr_source_view *sv;
	struct perfctr_block_status span;
	u64 cycles;

	if (view->pmu)
		return drm_perfctr_pmu_layout(at, view, sample, states);

	sv = &session->sources[view->source];
	state = sv->source->state;
	cycles = view_cycles(session->pc, view);
	span.states = drm_perfctr_sticky_since(&block->states, sv->base_seq);
	/* not lost for other sessions, whose next collection may read these counts */
	if (unlikely(session->pending.unread_ns) && state->incomplete)
		span.states |= DRM_PERFCTR_STATE_LOST;
	span.valid = perfctr_block_valid(block, view->header.section, view->header.set,
					 sv->base_seq, span.states);
	span.clock_cycles = cycles - view->base_cycles;
	span.capture_ns = (block->time_ns ?: state->time_ns) - sample->end_ns;
	view->base_cycles = cycles;
	at = drm_perfctr_layout_block(at, view, &span);
	*states |= span.states;
	return at;
}

/* sets flags, lost time and GPU timestamp, which is that of the most recent source */
static void fill_from_sources(struct drm_perfctr_session *session,
			      struct drm_perfctr_sample_header *header)
{
	u64 latest_ns = 0;
	unsigned int i;

	for (i = 0; i < session->source_count; i++) {
		const struct perfctr_source_view *sv = &session->sources[i];
		const struct perfctr_source_state *state = sv->source->state;

		header->flags |= drm_perfctr_sticky_since(&state->flags, sv->base_seq);
		header->lost_ns = max(header->lost_ns, state->lost_ns - sv->base_lost_ns);
		if (state->time_ns >= latest_ns) {
			latest_ns = state->time_ns;
			header->gpu_epoch = state->gpu_epoch;
			header->gpu_timestamp = state->gpu_timestamp;
		}
	}
	header->lost_ns = max(header->lost_ns, session->pending.unread_ns);
	header->lost_ns = min(header->lost_ns, header->end_ns - header->start_ns);
}

static void take_pending(struct drm_perfctr_session *session,
			 struct drm_perfctr_sample_header *header)
{
	header->merged_periods = min_t(u64, session->pending.periods, U32_MAX);
	session->pending.periods -= header->merged_periods;
	header->merged_others = min_t(u64, session->pending.others, U32_MAX);
	session->pending.others -= header->merged_others;
	session->pending.automatic_due = false;
	session->pending.unread_ns = 0;
	if (header->merged_periods || header->merged_others) {
		header->flags |= DRM_PERFCTR_SAMPLE_STRETCHED;
		trace_drm_perfctr_stretch(session, header, 0);
	}
}

static void add_totals(struct drm_perfctr_session *session,
		       const struct drm_perfctr_sample_header *header)
{
	struct drm_perfctr_status *totals = &session->totals;

	totals->merged_periods += header->merged_periods;
	totals->merged_others += header->merged_others;
	totals->lost_ns += header->lost_ns;
	totals->errors += !!(header->flags & DRM_PERFCTR_SAMPLE_ERROR);
	totals->overflows += !!(header->flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
}

/*
 * Publishes the counts since the last sample of a session, just collected, with a free slot; no
 * longer active if this is the final one. @flags: DRM_PERFCTR_SAMPLE_*, its reason. Returns whether
 * readers must be signalled.
 */
bool drm_perfctr_publish_only(struct drm_perfctr_session *session, u32 flags, u64 user_data)
{
	struct drm_perfctr_sample_header header = {
		.size = session->memory->layout.sample_size,
		.header_size = sizeof(header),
		.block_count = session->view_count,
		.seq = session->ring->published,
		.start_ns = session->pending.end_ns,
		.end_ns = max(drm_perfctr_session_time(session), session->pending.end_ns),
		.user_data = user_data,
		.flags = flags,
	};
	const struct perfctr_sink_ops *sink = perfctr_sink_ops(session);
	const struct perfctr_view *end = session->views + session->view_count;
	void *slot = drm_perfctr_ring_slot(session->ring);
	void *at = slot + sizeof(header);
	struct perfctr_view *view;
	u32 unread, states = 0;
	bool wake;

	lockdep_assert_held(&session->pc->lock);
	fill_from_sources(session, &header);
	if (unlikely(sink))
		sink->blocks(session, slot);
	else
		for (view = session->views; view < end; view++)
			at = publish_view(session, view, at, &header, &states);
	rebase_sources(session);
	if (states & DRM_PERFCTR_STATE_MULTIPLEXED)
		header.flags |= DRM_PERFCTR_SAMPLE_MULTIPLEXED;
	take_pending(session, &header);
	session->pending.end_ns = header.end_ns;
	if (unlikely(sink))
		sink->header(session, slot, &header);
	else
		drm_perfctr_layout_header(slot, &header);
	add_totals(session, &header);

	unread = drm_perfctr_ring_publish(session->ring);
	if (unlikely(sink))
		drm_perfctr_count_signal(session->memory);
	trace_drm_perfctr_publish(session, &header, unread);
	wake = unread >= session->memory->watermark || flags & DRM_PERFCTR_SAMPLE_FINAL;
	session->totals.wakeups += wake;
	/* a reader who is woken, or who sees the session stopped, finds the sample in STATUS */
	drm_perfctr_update_status(session);
	if (flags & DRM_PERFCTR_SAMPLE_FINAL)
		drm_perfctr_ring_set_state(session->ring, 0);
	return wake;
}

/* the same, and has readers signalled */
void drm_perfctr_publish(struct drm_perfctr_session *session, u32 flags, u64 user_data)
{
	if (drm_perfctr_publish_only(session, flags, user_data))
		drm_perfctr_wake(session->memory);
}
