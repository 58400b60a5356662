// SPDX-License-Identifier: GPL-2.0
/*
 * The blocks of a session's samples, looked up from its requests.
 */
#include <linux/nospec.h>
#include <linux/slab.h>

#include "perfctr_internal.h"
#include "pmu/pmu.h"

static bool already_viewed(const struct drm_perfctr_session *session,
			   const struct drm_perfctr_block *block, u16 section)
{
	unsigned int i;

	for (i = 0; i < session->view_count; i++)
		if (session->views[i].block == block && session->views[i].header.section == section)
			return true;
	return false;
}

static unsigned int index_of_source(struct drm_perfctr_session *session,
				    struct drm_perfctr_source *source)
{
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		if (session->sources[i].source == source)
			return i;
	session->sources[i].source = source;
	session->source_count++;
	return i;
}

static int view_block(struct drm_perfctr_session *session, struct drm_perfctr_block *block,
		      const struct drm_perfctr_block_request *request)
{
	struct drm_perfctr *pc = session->pc;
	struct perfctr_view *view = &session->views[session->view_count];
	u64 mask = request->mask;
	unsigned int section;
	u64 available;
	u8 set;

	if (!(block->desc.sets & BIT(request->set)))
		return perfctr_reject(pc, EOPNOTSUPP, "block %u:%u has no set %u",
				      block->desc.type, block->desc.index, request->set);
	/* both were checked; prevents speculation past the checks */
	set = array_index_nospec(request->set, DRM_PERFCTR_SET_TERTIARY + 1);
	section = array_index_nospec(request->section, PERFCTR_SECTIONS_MAX);
	available = perfctr_block_available(&block->desc, set)[section];
	if (request->flags & DRM_PERFCTR_REQUEST_AVAILABLE)
		mask &= available;
	if (mask & ~available)
		return perfctr_reject(pc, EINVAL,
				      "block %u:%u has no counters 0x%llx in section %u",
				      block->desc.type, block->desc.index, mask & ~available,
				      request->section);
	if (!mask)
		return 0;
	if (already_viewed(session, block, section))
		return perfctr_reject(pc, EEXIST, "block %u:%u section %u requested twice",
				      block->desc.type, block->desc.index, request->section);

	view->block = block;
	view->header.enable_mask = mask;
	view->header.section = section;
	view->header.set = set;
	view->header.format = block->desc.format;
	view->totals = block->totals + section * DRM_PERFCTR_SECTION_COUNTERS;
	if (block->running)
		view->running = block->running + section * DRM_PERFCTR_SECTION_COUNTERS;
	view->source = index_of_source(session, block->source);
	session->view_count++;
	return 0;
}

static bool request_matches(const struct drm_perfctr_block_request *request,
			    const struct drm_perfctr_block *block)
{
	if (block->desc.type != request->type)
		return false;
	if (request->index == DRM_PERFCTR_INDEX_ALL)
		return request->section < perfctr_block_sections(&block->desc);
	return block->desc.index == request->index;
}

static int view_source_blocks(struct drm_perfctr_session *session,
			      const struct drm_perfctr_block_request *request)
{
	struct drm_perfctr *pc = session->pc;
	bool found = false;
	unsigned int n;
	int ret;

	for (n = 0; n < pc->block_count; n++) {
		struct drm_perfctr_block *block = drm_perfctr_block_at(pc, n);

		if (!request_matches(request, block))
			continue;
		if (request->section >= perfctr_block_sections(&block->desc))
			return perfctr_reject(pc, ENXIO, "block %u:%u has no section %u",
					      request->type, request->index, request->section);
		found = true;
		ret = view_block(session, block, request);
		if (ret)
			return ret;
	}
	if (!found)
		return perfctr_reject(pc, ENXIO, "no block of type %u index %u section %u",
				      request->type, request->index, request->section);
	return 0;
}

/* upper bound of the number of views for the requests */
static unsigned int count_views(struct drm_perfctr *pc, unsigned int request_count,
				const struct drm_perfctr_block_request *requests)
{
	unsigned int i, n, count = 0;

	for (i = 0; i < request_count; i++) {
		if (requests[i].flags & DRM_PERFCTR_REQUEST_PMU) {
			count++;
			continue;
		}
		for (n = 0; n < pc->block_count; n++)
			count += request_matches(&requests[i], drm_perfctr_block_at(pc, n));
	}
	return count;
}

static int alloc_bases(struct drm_perfctr_session *session)
{
	unsigned int i, counters = 0;
	u64 *bases;

	for (i = 0; i < session->view_count; i++)
		counters += hweight64(session->views[i].header.enable_mask) *
			    (session->views[i].running ? 2 : 1);
	bases = kvcalloc(counters, sizeof(*bases), PERFCTR_GFP_USER);
	if (!bases)
		return -ENOMEM;
	session->bases = bases;
	for (i = 0; i < session->view_count; i++) {
		session->views[i].base = bases;
		bases += hweight64(session->views[i].header.enable_mask);
		if (!session->views[i].running)
			continue;
		session->views[i].base_running = bases;
		bases += hweight64(session->views[i].header.enable_mask);
	}
	return 0;
}

/* builds a new session's views and their bases; 0 or an errno of OPEN */
int drm_perfctr_build_views(struct drm_perfctr_session *session, unsigned int request_count,
			    const struct drm_perfctr_block_request *requests)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i, max_views;
	int ret;

	max_views = count_views(pc, request_count, requests);
	if (max_views > PERFCTR_MAX_BLOCKS)
		return perfctr_reject(pc, E2BIG, "requests: %u blocks", max_views);
	session->views = kvcalloc(max_views ?: 1, sizeof(*session->views), PERFCTR_GFP_USER);
	if (!session->views)
		return -ENOMEM;
	for (i = 0; i < request_count; i++) {
		if (requests[i].flags & DRM_PERFCTR_REQUEST_PMU)
			ret = drm_perfctr_pmu_view(session, &requests[i]);
		else
			ret = view_source_blocks(session, &requests[i]);
		if (ret)
			return ret;
	}
	if (!session->view_count)
		return perfctr_reject(pc, EINVAL, "requests: no counter of any block is left");
	return alloc_bases(session);
}
