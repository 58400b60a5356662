// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes of a sample.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "perfctr_layout.h"

/*
 * The headers are declared in the CPU's byte order and specified as
 * little-endian; no DRM device with performance counters sits in a
 * big-endian machine.
 */
#ifdef __BIG_ENDIAN
#error "samples are little-endian"
#endif

static_assert(sizeof(struct drm_perfctr_sample_header) == 64);
static_assert(sizeof(struct drm_perfctr_block_header) == 48);
static_assert(sizeof(struct drm_perfctr_mux_block_header) == 64);
static_assert(sizeof(struct drm_perfctr_pmu_block_header) == 128);
static_assert(sizeof(struct drm_perfctr_ring_control) == 128);

/**
 * perfctr_layout_header() - write a sample's header
 * @dst: the slot; only written
 * @values: the header in kernel memory
 */
void perfctr_layout_header(void *dst, const struct drm_perfctr_sample_header *values)
{
	memcpy(dst, values, sizeof(*values));
}

static s32 clamp_capture(s64 ns)
{
	return clamp_t(s64, ns, S32_MIN, S32_MAX);
}

/* counters that take turns: each with the time that it ran */
static void *mux_block(void *dst, struct perfctr_view *view, struct perfctr_span *span,
		       const struct drm_perfctr_block_header *block)
{
	struct drm_perfctr_mux_block_header header = {
		.block = *block,
		.time_enabled = view->block->enabled - view->base_enabled,
		.time_running = view->block->enabled - view->base_enabled,
	};
	__le64 *counters = dst + sizeof(header);
	__le64 *times = counters + hweight64(view->mask);
	u64 mask = view->mask;
	unsigned int i;

	header.block.header_size = sizeof(header);
	for (i = 0; mask; i++, mask &= mask - 1) {
		const u64 now = view->running[__ffs64(mask)];
		const u64 running = now - view->base_running[i];

		if (running < header.time_enabled)
			span->states |= DRM_PERFCTR_STATE_MULTIPLEXED;
		header.time_running = min(header.time_running, running);
		times[i] = cpu_to_le64(running);
		view->base_running[i] = now;
	}
	header.block.states = span->states;
	memcpy(dst, &header, sizeof(header));
	perfctr_counters_emit(counters, view->base, view->totals, view->mask, span->valid);
	view->base_enabled = view->block->enabled;
	return dst + header.block.size;
}

/**
 * perfctr_layout_block() - write a block and begin its next span
 * @dst: where in the slot; only written
 * @view: the block
 * @span: what happened to it; MULTIPLEXED is added to its states
 *
 * Returns: address behind the block.
 */
void *perfctr_layout_block(void *dst, struct perfctr_view *view, struct perfctr_span *span)
{
	const struct drm_perfctr_block_desc *desc = &view->block->desc;
	struct drm_perfctr_block_header header = {
		.size = perfctr_view_size(view),
		.type = desc->type,
		.index = desc->index,
		.section = view->section,
		.set = view->set,
		.clock = desc->clock,
		.states = span->states,
		.clock_cycles = span->clock_cycles,
		.enable_mask = view->mask,
		.valid_mask = view->mask & span->valid,
		.capture_ns = clamp_capture(span->capture_ns),
		.header_size = sizeof(header),
		.product = desc->product,
	};

	if (view->running)
		return mux_block(dst, view, span, &header);
	memcpy(dst, &header, sizeof(header));
	perfctr_counters_emit(dst + sizeof(header), view->base, view->totals,
			      view->mask, span->valid);
	return dst + header.size;
}

/**
 * perfctr_layout_pmu_block() - write a block of perf events and begin its next span
 * @dst: where in the slot; only written
 * @view: the block, view->pmu not NULL
 * @end_ns: the sample's end
 * @states: enum drm_perfctr_block_states, those of the block are added
 *
 * Returns: address behind the block.
 */
void *perfctr_layout_pmu_block(void *dst, struct perfctr_view *view, u64 end_ns, u32 *states)
{
	struct perfctr_pmu_block *pmu = view->pmu;
	struct drm_perfctr_pmu_block_header header = {
		.block = {
			.size = perfctr_view_size(view),
			.type = pmu->type,
			.index = pmu->index,
			.section = view->section,
			.clock = DRM_PERFCTR_CLOCK_NONE,
			.states = pmu->states,
			.enable_mask = view->mask,
			.capture_ns = clamp_capture((s64)(pmu->time_ns - end_ns)),
			.header_size = sizeof(header),
			.product = pmu->product,
		},
		.config = pmu->config,
		.config1 = pmu->config1,
		.config2 = pmu->config2,
		.pmu_type = pmu->pmu_type,
		.cpu = pmu->cpu,
	};
	u64 *counters = dst + sizeof(header);
	u64 *times = counters + pmu->count;
	u64 mask = view->mask;
	unsigned int i;

	memcpy(header.pmu_name, pmu->name, sizeof(header.pmu_name));

	for (i = 0; i < pmu->count; i++, mask &= mask - 1) {
		u64 enabled = pmu->enabled[i] - pmu->base_enabled[i];
		u64 running = pmu->running[i] - pmu->base_running[i];
		u64 value = pmu->totals[i] - view->base[i];

		/* a part of the CPUs is not the count */
		if (pmu->incomplete & BIT_ULL(i))
			value = 0;
		/* never scheduled: not zero, but not measured */
		else if (running || value)
			header.block.valid_mask |= mask & -mask;
		if (running < enabled)
			header.block.states |= DRM_PERFCTR_STATE_MULTIPLEXED;
		if (!i || running < header.time_running)
			header.time_running = running;
		header.time_enabled = max(header.time_enabled, enabled);

		counters[i] = value;
		times[i] = running;
		view->base[i] = pmu->totals[i];
		pmu->base_enabled[i] = pmu->enabled[i];
		pmu->base_running[i] = pmu->running[i];
	}

	memcpy(dst, &header, sizeof(header));
	pmu->states = 0;
	pmu->incomplete = 0;
	*states |= header.block.states;
	return dst + header.block.size;
}
