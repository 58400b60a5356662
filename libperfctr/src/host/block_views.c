// SPDX-License-Identifier: MIT
/* Blocks of sources in a session's samples, as kernel/perfctr/perfctr_view.c has them. */
#include "block_views.h"

#include <stdlib.h>

#include "kernel.h"

#include "format/perfctr_layout.h"

static bool is_of(const struct drm_perfctr_block_request *r, const struct drm_perfctr_block *block)
{
	if (block->desc.type != r->type)
		return false;
	if (r->index == DRM_PERFCTR_INDEX_ALL)
		return r->section < perfctr_block_sections(&block->desc);
	return block->desc.index == r->index;
}

size_t host_views_room(const struct host *host, const struct drm_perfctr_block_request *r)
{
	size_t count = 0;

	if (request_is_pmu(r))
		return 1;
	for (unsigned int n = 0; n < host->block_count; n++)
		count += is_of(r, host_block(host, n));
	return count;
}

static unsigned int span_of(struct host_views *views, struct host_source *source)
{
	unsigned int i = 0;

	while (i < views->span_count && views->spans[i].source != source)
		i++;
	if (i == views->span_count)
		views->spans[views->span_count++] = (struct host_span){ .source = source };
	return i;
}

static void add_times(struct perfctr_view *view)
{
	view->header.format |= DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	view->running = view->block->running + view->header.section * DRM_PERFCTR_SECTION_COUNTERS;
	view->base_running = view->base + hweight64(view->header.enable_mask);
}

static int add_block(struct host_views *views, struct drm_perfctr_block *block,
		     const struct drm_perfctr_block_request *r)
{
	struct host_block *b = &views->blocks[views->count];
	const u64 available = perfctr_block_available(&block->desc, r->set)[r->section];
	const u64 mask = r->flags & DRM_PERFCTR_REQUEST_AVAILABLE ? r->mask & available : r->mask;
	const size_t count = hweight64(mask);

	if (!(block->desc.sets >> r->set & 1))
		return -EOPNOTSUPP;
	if (mask & ~available)
		return -EINVAL;
	if (!mask)
		return 0;
	for (size_t n = 0; n < views->count; n++)
		if (views->blocks[n].view.block == block &&
		    views->blocks[n].view.header.section == r->section)
			return -EEXIST;
	*b = (struct host_block){
		.words = calloc(2 * count, sizeof(*b->words)),
		.view = { .block = block,
			  .header = { .section = (u8)r->section,
				      .format = block->desc.format,
				      .set = r->set,
				      .enable_mask = mask },
			  .totals = block->totals + r->section * DRM_PERFCTR_SECTION_COUNTERS,
			  .source = span_of(views, host_source_of(block->source)) },
	};
	views->count++;
	if (!b->words)
		return -ENOMEM;
	b->view.base = b->words;
	if (block->desc.format & DRM_PERFCTR_FORMAT_RUNNING_TIMES)
		add_times(&b->view);
	return 0;
}

int host_views_add(const struct host *host, struct host_views *views,
		   const struct drm_perfctr_block_request *r)
{
	bool found = false;
	int error = 0;

	for (unsigned int n = 0; !error && n < host->block_count; n++) {
		struct drm_perfctr_block *block = host_block(host, n);

		if (!is_of(r, block))
			continue;
		if (r->section >= perfctr_block_sections(&block->desc))
			return -ENXIO;
		found = true;
		error = add_block(views, block, r);
	}
	return found ? error : -ENXIO;
}

static unsigned int wanted_of(const struct host_views *views, const struct drm_perfctr_block *block)
{
	unsigned int count = 0;

	for (size_t n = 0; n < views->count; n++)
		if (views->blocks[n].view.block == block)
			count += hweight64(views->blocks[n].view.header.enable_mask);
	return count;
}

void host_views_add_times(struct host_views *views)
{
	for (size_t n = 0; n < views->count; n++) {
		struct perfctr_view *view = &views->blocks[n].view;
		struct drm_perfctr_block *block = view->block;
		const struct host_source *hs = block ? host_source_of(block->source) : NULL;

		if (hs && hs->limits &&
		    wanted_of(views, block) > hs->limits[block - hs->source.blocks])
			add_times(view);
	}
}

/* --- spans ------------------------------------------------------------------------ */

static u64 view_cycles(const struct host_views *views, const struct perfctr_view *view)
{
	const u8 clock = view->block->desc.clock;

	return clock < DRM_PERFCTR_MAX_CLOCKS ?
		       views->spans[view->source].source->host->cycles[clock] :
		       0;
}

static u64 lost_alone_ns(const struct host_block *b)
{
	const struct host_source *hs = host_source_of(b->view.block->source);

	return hs->state.block_lost_ns[b->view.block - hs->source.blocks];
}

static void begin_spans(struct host_views *views)
{
	for (unsigned int i = 0; i < views->span_count; i++) {
		struct host_span *span = &views->spans[i];

		span->seq = span->source->state.seq;
		span->lost_ns = span->source->state.lost_ns;
	}
}

void host_views_begin(struct host_views *views)
{
	for (size_t n = 0; n < views->count; n++) {
		struct perfctr_view *view = &views->blocks[n].view;

		if (view->pmu)
			continue;
		drm_perfctr_counters_rebase(view->base, view->totals, view->header.enable_mask);
		if (view->running) {
			drm_perfctr_counters_rebase(view->base_running, view->running,
						    view->header.enable_mask);
			view->base_enabled = view->block->enabled;
		}
		view->base_cycles = view_cycles(views, view);
		views->blocks[n].lost_ns = lost_alone_ns(&views->blocks[n]);
	}
	begin_spans(views);
	views->unread_ns = views->lost_ns = 0;
	for (unsigned int i = 0; i < views->span_count; i++)
		views->spans[i].resets = views->spans[i].source->state.resets;
}

void *host_views_publish(struct host_views *views, struct host_block *b, void *at,
			 const struct drm_perfctr_sample_header *header, u32 *states)
{
	struct perfctr_view *view = &b->view;
	const struct host_span *span = &views->spans[view->source];
	const struct perfctr_source_state *state = &span->source->state;
	const struct drm_perfctr_block *block = view->block;
	const u64 cycles = view_cycles(views, view);
	struct perfctr_block_status status = {
		.states = (u32)drm_perfctr_sticky_since(&block->states, span->seq),
		.clock_cycles = cycles - view->base_cycles,
		.capture_ns =
			(s64)((block->time_ns ? block->time_ns : state->time_ns) - header->end_ns),
	};
	const u64 lost_alone = lost_alone_ns(b);
	u64 lost_ns;

	status.valid = perfctr_block_valid(block, view->header.section, view->header.set, span->seq,
					   status.states);
	if (views->unread_ns && state->incomplete)
		status.states |= DRM_PERFCTR_STATE_LOST;
	view->base_cycles = cycles;
	lost_ns = state->lost_ns - span->lost_ns + lost_alone - b->lost_ns;
	views->lost_ns = max(views->lost_ns, lost_ns);
	b->lost_ns = lost_alone;
	at = drm_perfctr_layout_block(at, view, &status);
	*states |= status.states;
	return at;
}

void host_views_finish(struct host_views *views, struct drm_perfctr_sample_header *header)
{
	u64 latest_ns = 0;

	for (unsigned int i = 0; i < views->span_count; i++) {
		const struct host_span *span = &views->spans[i];
		const struct perfctr_source_state *state = &span->source->state;

		header->flags |= (u32)drm_perfctr_sticky_since(&state->flags, span->seq);
		if (state->time_ns >= latest_ns) {
			latest_ns = state->time_ns;
			header->gpu_epoch = state->gpu_epoch;
			header->gpu_timestamp = state->gpu_timestamp;
		}
	}
	header->lost_ns = max(header->lost_ns, views->lost_ns);
	header->lost_ns = max(header->lost_ns, views->unread_ns);
	views->unread_ns = views->lost_ns = 0;
	begin_spans(views);
}

u64 host_views_time_ns(const struct host_views *views)
{
	u64 time_ns = 0;

	for (unsigned int i = 0; i < views->span_count; i++)
		time_ns = max(time_ns, views->spans[i].source->state.time_ns);
	return time_ns;
}
