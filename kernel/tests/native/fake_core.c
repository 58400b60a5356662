// SPDX-License-Identifier: GPL-2.0
/*
 * A fake core for the CSF source.
 */
#include "fake_core.h"

struct fake_core core;
struct drm_perfctr_collection got;

int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	if (core.add_errno)
		return -(int)core.add_errno;
	core.source = source;
	return 0;
}

u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	assert(source == core.source && block < source->block_count);
	return core.totals[block];
}

void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block,
			      u32 states, const u64 *valid)
{
	assert(source == core.source && block < source->block_count);
	core.states[block] = states;
	core.reports[block]++;
	memcpy(core.valid[block], valid, sizeof(core.valid[block]));
}

void drm_perfctr_source_event(struct drm_perfctr_source *source)
{
	assert(!fw.lock.held);
	core.events++;
}

void drm_perfctr_source_transition(struct drm_perfctr_source *source)
{
	assert(!fw.lock.held);
	core.transitions++;
}

void core_reset(void)
{
	memset(&core, 0, sizeof(core));
}

int core_collect(void)
{
	int ret;

	memset(&got, 0, sizeof(got));
	memset(core.reports, 0, sizeof(core.reports));
	ret = core.source->ops->collect(core.source, &got);
	assert(!fw.lock.held);
	return ret;
}

int core_block(u16 type, u16 index)
{
	unsigned int i;

	for (i = 0; i < core.source->block_count; i++)
		if (core.source->descs[i].type == type && core.source->descs[i].index == index)
			return i;
	return -1;
}
