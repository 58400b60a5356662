// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The bytes of a sample of PERF_CONTROL.
 */
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dense_layout.h"

static_assert(sizeof(struct perfctr_dense_sample) == 64);
static_assert(sizeof(struct perfctr_dense_header) == 24);
static_assert(sizeof(struct drm_perfctr_control) == 24);
static_assert(sizeof(struct drm_perfctr_control_setup) == 136);
static_assert(sizeof(struct drm_perfctr_control_area) == 16);
static_assert(sizeof(struct drm_perfctr_control_info) == 48);
static_assert((PERFCTR_DENSE_STATES &
	       (DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF | DRM_PERFCTR_STATE_AVAILABLE |
		DRM_PERFCTR_STATE_UNAVAILABLE | DRM_PERFCTR_STATE_NORMAL |
		DRM_PERFCTR_STATE_PROTECTED)) == PERFCTR_DENSE_STATES);

/* all counters of a section at their positions: zero where not enabled, or not measured */
static void emit_section(__le64 *dst, const struct perfctr_view *view, u64 valid)
{
	u64 *base = view->base;
	u64 mask = view->header.enable_mask;
	unsigned int next = 0;

	while (mask) {
		const u64 before = mask;
		unsigned int first, count = perfctr_mask_run(&mask, &first);

		memset(dst + next, 0, (first - next) * sizeof(*dst));
		drm_perfctr_counters_emit(dst + first, base, view->totals, before & ~mask, valid);
		base += count;
		next = first + count;
	}
	memset(dst + next, 0, (DRM_PERFCTR_SECTION_COUNTERS - next) * sizeof(*dst));
}

/*
 * Writes a block, begins its next span, and returns the address after it. @sections: of each block
 * of the device's samples. Never reads @dst.
 */
void *drm_perfctr_dense_block(void *dst, const struct perfctr_dense_block *block,
			      const struct perfctr_dense_status *status, unsigned int sections)
{
	const u8 clock = block->block->desc.clock;
	struct perfctr_dense_header header = {
		.type = block->type,
		.index = block->index,
		.states = status->states & PERFCTR_DENSE_STATES,
		.clock = clock < DRM_PERFCTR_CONTROL_CLOCKS ? clock : 0,
	};
	__le64 *counters = dst + sizeof(header);
	unsigned int i;

	for (i = 0; i < sections; i++, counters += DRM_PERFCTR_SECTION_COUNTERS) {
		struct perfctr_view *view = block->views[i];

		if (!view) {
			memset(counters, 0, DRM_PERFCTR_SECTION_COUNTERS * sizeof(*counters));
			continue;
		}
		emit_section(counters, view, status->valid[i]);
		header.enable_mask[i] = view->header.enable_mask & status->valid[i];
	}
	*(struct perfctr_dense_header *)dst = header;
	return counters;
}
