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

/*
 * Writes the running times of a block's counters, and their summary, and begins their next span.
 * Returns whether a counter did not count all the time. Never reads @dst, where the block begins.
 */
bool drm_perfctr_layout_times(void *dst, struct perfctr_view *view)
{
	const struct drm_perfctr_block_header *header = &view->header;
	struct drm_perfctr_running_times *summary = dst + sizeof(*header);
	__le64 *times = dst + (header->header_size + header->size) / 2;
	const u64 enabled = view->block->enabled - view->base_enabled;
	u64 *base = view->base_running;
	u64 mask, least = enabled;

	for (mask = header->enable_mask; mask; mask &= mask - 1) {
		const u64 now = view->running[__ffs64(mask)];

		least = min(least, now - *base);
		*times++ = cpu_to_le64(now - *base);
		*base++ = now;
	}
	view->base_enabled = view->block->enabled;
	summary->time_enabled = enabled;
	summary->time_running = least;
	return least < enabled;
}
