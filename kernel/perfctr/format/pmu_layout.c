// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The bytes of a block of perf events. Free of kernel interfaces, so that it can be tested in user
 * space.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "perfctr_layout.h"
#include "pmu_block.h"

/* begins a new span of a block of perf events, discarding the old one */
void drm_perfctr_pmu_baseline(struct perfctr_view *view)
{
	struct perfctr_pmu_block *pmu = view->pmu;
	size_t size = pmu->count * sizeof(u64);

	memcpy(view->base, pmu->totals, size);
	memcpy(pmu->base_enabled, pmu->enabled, size);
	memcpy(pmu->base_running, pmu->running, size);
	pmu->base_ns = pmu->time_ns;
	pmu->states = 0;
}

/*
 * Writes a block of perf events, begins its next span, and returns the address after it. Adds to
 * the sample's @states; if counts of a CPU are lost, its lost time may be the whole span. Never
 * reads @dst.
 */
void *drm_perfctr_pmu_layout(void *dst, struct perfctr_view *view,
			     struct drm_perfctr_sample_header *sample, u32 *states)
{
	struct perfctr_pmu_block *pmu = view->pmu;
	struct {
		struct drm_perfctr_block_header block;
		struct drm_perfctr_running_times times;
		struct drm_perfctr_pmu_identity identity;
		struct drm_perfctr_block_span span;
	} header = {
		.block = view->header,
		.times = { .time_running = U64_MAX },
		.identity = pmu->identity,
		.span = { .start_ns = pmu->base_ns, .end_ns = pmu->time_ns },
	};
	u64 *counters = dst + sizeof(header);
	u64 mask = view->header.enable_mask;
	unsigned int i;

	header.block.states = pmu->states;
	header.block.capture_ns = drm_perfctr_layout_capture(pmu->time_ns - sample->end_ns);
	for (i = 0; i < pmu->count; i++, mask &= mask - 1) {
		u64 enabled = pmu->enabled[i] - pmu->base_enabled[i];
		u64 running = pmu->running[i] - pmu->base_running[i];
		u64 value = pmu->totals[i] - view->base[i];

		/* an event that was never scheduled is not measured, rather than zero */
		if (running || value)
			header.block.valid_mask |= mask & -mask;
		if (running < enabled)
			header.block.states |= DRM_PERFCTR_STATE_MULTIPLEXED;
		header.times.time_running = min(header.times.time_running, running);
		header.times.time_enabled = max(header.times.time_enabled, enabled);

		counters[i] = value;
		counters[pmu->count + i] = running;
		view->base[i] = pmu->totals[i];
		pmu->base_enabled[i] = pmu->enabled[i];
		pmu->base_running[i] = pmu->running[i];
	}

	memcpy(dst, &header, sizeof(header));
	pmu->base_ns = pmu->time_ns;
	if (pmu->states & DRM_PERFCTR_STATE_LOST)
		sample->lost_ns = sample->end_ns - sample->start_ns;
	pmu->states = 0;
	*states |= header.block.states;
	return dst + header.block.size;
}
