// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Accumulated counts of a block of counters, and sticky status over a span of collections.
 */
#include <linux/bitops.h>
#include <linux/string.h>

#include "perfctr_block.h"

/*
 * Records the conditions of collection number @seq. Collections that were skipped had those of the
 * last call.
 */
void drm_perfctr_sticky_set(struct perfctr_sticky *sticky, u64 seq, u64 bits)
{
	u64 gone = sticky->now & ~bits;

	if (bits == sticky->now)
		return;

	while (gone) {
		sticky->last[__ffs64(gone)] = seq - 1;
		gone &= gone - 1;
	}
	sticky->now = bits;
	sticky->changed = seq;
}

/* drm_perfctr_sticky_since() for a span in which the conditions changed */
u64 drm_perfctr_sticky_search(const struct perfctr_sticky *sticky, u64 base_seq)
{
	u64 seen = sticky->now;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		if (sticky->last[bit] > base_seq)
			seen |= BIT_ULL(bit);
	return seen;
}

/* begins a new span of the stored counters, discarding the old one */
void drm_perfctr_counters_rebase(u64 *base, const u64 *totals, u64 mask)
{
	while (mask) {
		unsigned int first, count = perfctr_mask_run(&mask, &first);

		memcpy(base, totals + first, count * sizeof(*base));
		base += count;
	}
}

/* drm_perfctr_counters_emit() where some counters were not measured */
void drm_perfctr_counters_emit_valid(__le64 *dst, u64 *base, const u64 *totals, u64 mask,
				     u64 valid)
{
	for (; mask; mask &= mask - 1, dst++, base++) {
		unsigned int i = __ffs64(mask);
		const u64 now = valid & BIT_ULL(i) ? totals[i] : *base;

		*dst = cpu_to_le64(now - *base);
		*base = now;
	}
}

/*
 * Completes the header of a view whose section, set, format, counters and block are known; without
 * a block, as of perf events, its members are, too. Returns the bytes in each sample.
 */
u32 drm_perfctr_view_complete(struct perfctr_view *view)
{
	struct drm_perfctr_block_header *header = &view->header;
	u32 words = hweight64(header->enable_mask);

	if (view->block) {
		header->type = view->block->desc.type;
		header->index = view->block->desc.index;
		header->clock = view->block->desc.clock;
		header->product = view->block->desc.product;
	}
	if (header->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES)
		words *= 2;
	header->header_size = drm_perfctr_header_size(header->format);
	header->size = header->header_size + words * sizeof(u64);
	return header->size;
}
