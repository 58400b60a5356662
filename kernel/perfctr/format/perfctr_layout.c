// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The bytes of a sample.
 *
 * Headers are declared in the CPU's byte order and specified as little-endian: Kconfig restricts
 * the core to little-endian machines.
 */
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>

#include "perfctr_layout.h"

static_assert(sizeof(struct drm_perfctr_sample_header) == 72);
static_assert(sizeof(struct drm_perfctr_block_header) == 48);
static_assert(sizeof(struct drm_perfctr_running_times) == 16);
static_assert(sizeof(struct drm_perfctr_pmu_identity) == 64);
static_assert(sizeof(struct drm_perfctr_block_span) == 16);
static_assert(sizeof(struct drm_perfctr_ring_control) == 128);

/* a time relative to the sample's end, clamped to the range of the block header */
s32 drm_perfctr_layout_capture(s64 ns)
{
	return clamp_t(s64, ns, S32_MIN, S32_MAX);
}

/*
 * Writes the running times of the counters to @times, and their summary to the header. Returns the
 * address after them. Not inlined: most blocks have none.
 */
static noinline __le64 *emit_times(struct drm_perfctr_running_times *summary, __le64 *times,
				   struct perfctr_view *view, struct perfctr_block_status *span)
{
	const u64 enabled = view->block->enabled - view->base_enabled;
	u64 *base = view->base_running;
	u64 mask, least = enabled;

	for (mask = view->mask; mask; mask &= mask - 1) {
		const u64 now = view->running[__ffs64(mask)];
		const u64 running = now - *base;

		if (running < enabled)
			span->states |= DRM_PERFCTR_STATE_MULTIPLEXED;
		least = min(least, running);
		*times++ = cpu_to_le64(running);
		*base++ = now;
	}
	view->base_enabled = view->block->enabled;
	summary->time_enabled = enabled;
	summary->time_running = least;
	return times;
}

/*
 * Writes a block of a source, begins its next span, and returns the address after it. Adds
 * MULTIPLEXED to the span's states. Never reads @dst.
 */
void *drm_perfctr_layout_block(void *dst, struct perfctr_view *view,
			       struct perfctr_block_status *span)
{
	const struct drm_perfctr_block_desc *desc = &view->block->desc;
	const u32 header_size = drm_perfctr_header_size(view->format);
	struct drm_perfctr_block_header *header = dst;
	__le64 *end = drm_perfctr_counters_emit(dst + header_size, view->base, view->totals,
						view->mask, span->valid);

	if (view->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES)
		end = emit_times(dst + sizeof(*header), end, view, span);
	/* written in place: copying a structure right after writing its members would stall */
	header->size = (void *)end - dst;
	header->type = desc->type;
	header->index = desc->index;
	header->section = view->section;
	header->format = view->format;
	header->set = view->set;
	header->clock = desc->clock;
	header->states = span->states;
	header->clock_cycles = span->clock_cycles;
	header->enable_mask = view->mask;
	header->valid_mask = view->mask & span->valid;
	header->capture_ns = drm_perfctr_layout_capture(span->capture_ns);
	header->header_size = header_size;
	header->product = desc->product;
	return end;
}
