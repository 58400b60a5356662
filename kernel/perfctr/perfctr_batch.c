// SPDX-License-Identifier: GPL-2.0
/*
 * The extension of sources that select what they count, take turns, or record and return batches.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <drm/drm_managed.h>

#include "perfctr_extension.h"

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
		if (is_of_batch(session, source) && drm_perfctr_period_is_due(session, time))
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
	struct drm_perfctr_extension *ext = source->extension;
	struct perfctr_source_state *state = source->state;
	const s64 offset_ns = drm_perfctr_raw_offset_ns();
	/* after what takes longest on a slow CPU: at least the first period gets its sample */
	const u64 begin_ns = ktime_get_ns();
	bool more, reached = true;
	u64 now_ns, until_ns;
	int ret;

	do {
		until_ns = U64_MAX;
		if (reached && ktime_get_ns() - begin_ns <= ext->interval_ns / 2)
			until_ns = next_in_batch(source, offset_ns);
		ext->until_ns = until_ns;
		ext->more = false;
		ret = drm_perfctr_collect(source);
		more = ext->more && !ret;
		/* a source whose pieces end no period must return the rest at once */
		reached = state->time_ns >= until_ns;
		/* the last piece ends at no period: the caller may publish a sample of it */
		if (more || ret)
			publish_batched(source, offset_ns);
	} while (more && until_ns != U64_MAX);
	state->incomplete |= more;
	now_ns = ktime_get_ns();
	/* the hardware has room for two batches; half of one is reserved for delays */
	ext->backoff_until_ns = now_ns + min(now_ns - begin_ns, ext->batch_ns / 2);
	return ret;
}

/* --- selection ----------------------------------------------------------- */

static void add_wanted(const struct drm_perfctr_session *session,
		       const struct drm_perfctr_source *source, u64 *wanted)
{
	unsigned int i;

	for (i = 0; i < session->view_count; i++) {
		const struct perfctr_view *view = &session->views[i];

		if (view->block && view->block->source == source)
			wanted[(view->block - source->blocks) * DRM_PERFCTR_BLOCK_INFO_SECTIONS +
			       view->header.section] |= view->header.enable_mask;
	}
}

static void add_period(const struct drm_perfctr_session *session,
		       struct drm_perfctr_source *source)
{
	struct drm_perfctr_extension *ext = source->extension;
	u64 ring_ns;

	if (!perfctr_is_batchable(session) || session->sources[0].source != source)
		return;
	ext->period_ns = min_not_zero(ext->period_ns, session->config.period_ns);
	/* a batch must fit into half the ring, so that a reader can keep up */
	ring_ns = session->config.period_ns * max(session->ring->slots / 2, 1u);
	ext->interval_ns = min_not_zero(ext->interval_ns, ring_ns);
}

/*
 * Passes a source the counters that all active sessions and @session need.
 *
 * Counts so far belong to the previous selection. A source that runs adds them to its totals now,
 * and their times with the next collection: no span may begin or end in between. A batch must be
 * collected before, for the samples of its periods.
 */
static void select_counters(struct drm_perfctr_source *source,
			    const struct drm_perfctr_session *session)
{
	struct drm_perfctr_extension *ext = source->extension;
	const struct drm_perfctr_session *other;
	struct perfctr_worker *worker;

	memset(ext->wanted, 0,
	       source->block_count * DRM_PERFCTR_BLOCK_INFO_SECTIONS * sizeof(*ext->wanted));
	ext->period_ns = 0;
	ext->interval_ns = 0;
	perfctr_for_each_active(source->pc, worker, other) {
		add_wanted(other, source, ext->wanted);
		add_period(other, source);
	}
	if (session) {
		add_wanted(session, source, ext->wanted);
		add_period(session, source);
	}
	ext->select(source, ext->wanted);
	ext->interval_ns = min_not_zero(ext->interval_ns, ext->batch_ns);
}

static const struct perfctr_extension_ops extension_ops = {
	.collect = collect_batch,
	.select = select_counters,
};

/**
 * drm_perfctr_extend_source() - give a source an extension
 * @source: the source, just added to a device that is not registered yet
 * @extension: with its @select, in memory that lives as long as the source's
 *
 * Returns: 0, or -ENOMEM.
 */
int drm_perfctr_extend_source(struct drm_perfctr_source *source,
			      struct drm_perfctr_extension *extension)
{
	extension->wanted = drmm_kcalloc(source->pc->drm, source->block_count *
					 DRM_PERFCTR_BLOCK_INFO_SECTIONS,
					 sizeof(*extension->wanted), GFP_KERNEL);
	if (!extension->wanted)
		return -ENOMEM;
	extension->ops = &extension_ops;
	source->extension = extension;
	return 0;
}
EXPORT_SYMBOL_GPL(drm_perfctr_extend_source);

/* --- turns --------------------------------------------------------------- */

/**
 * drm_perfctr_block_ran() - report which counters of a block were counting
 * @source: the source, in its collect
 * @block: index in the source's descs, of a block with DRM_PERFCTR_FORMAT_RUNNING_TIMES
 * @ns: time since the last collection in which the block counted
 * @counted: counters that were counting, one mask for each 64
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
