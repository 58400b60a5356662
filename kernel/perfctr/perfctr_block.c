// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Accumulated counts of a block of counters, and what a span of collections
 * has seen.
 */
#include <linux/bitops.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "perfctr_block.h"
#include "perfctr_mask.h"

/**
 * drm_perfctr_sticky_set() - record the conditions of a collection
 * @sticky: the status
 * @seq: number of the collection, one more than that of the last call, or than that
 *	of the last collection in which a call would have changed nothing
 * @bits: conditions that were set
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

/* drm_perfctr_sticky_since() for a span in which they changed */
u64 drm_perfctr_sticky_search(const struct perfctr_sticky *sticky, u64 base_seq)
{
	u64 seen = sticky->now;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		if (sticky->last[bit] > base_seq)
			seen |= BIT_ULL(bit);
	return seen;
}

/**
 * drm_perfctr_counters_rebase() - begin a new span without publishing the old one
 * @base: one value per stored counter
 * @totals: of the 64 counters of the section
 * @mask: stored counters
 */
void drm_perfctr_counters_rebase(u64 *base, const u64 *totals, u64 mask)
{
	while (mask) {
		unsigned int first, count = perfctr_mask_run(&mask, &first);

		memcpy(base, totals + first, count * sizeof(*base));
		base += count;
	}
}

static void emit_run(__le64 *__restrict dst, u64 *__restrict base, const u64 *__restrict totals,
		     unsigned int count)
{
	unsigned int i;

	/* the kernel has no vector registers: the loop itself would cost as much again */
#pragma GCC unroll 8
	for (i = 0; i < count; i++) {
		const u64 now = totals[i];

		dst[i] = cpu_to_le64(now - base[i]);
		base[i] = now;
	}
}

/* some of them were not measured */
static noinline __le64 *emit_valid(__le64 *dst, u64 *base, const u64 *totals, u64 mask, u64 valid)
{
	for (; mask; mask &= mask - 1, dst++, base++) {
		unsigned int i = __ffs64(mask);
		const u64 now = valid & BIT_ULL(i) ? totals[i] : *base;

		*dst = cpu_to_le64(now - *base);
		*base = now;
	}
	return dst;
}

/**
 * drm_perfctr_counters_emit() - store what was counted since the last sample
 * @dst: where the counters go; only written, user space may see it
 * @base: totals at the end of the last sample, brought up to date
 * @totals: of the 64 counters of the section
 * @mask: stored counters
 * @valid: counters that were measured
 *
 * A counter that was not measured is stored as zero and keeps its base, so
 * that nothing is lost should its total have moved all the same.
 *
 * Returns: address behind the counters.
 */
__le64 *drm_perfctr_counters_emit(__le64 *dst, u64 *base, const u64 *totals, u64 mask, u64 valid)
{
	if (mask & ~valid)
		return emit_valid(dst, base, totals, mask, valid);
	while (mask) {
		unsigned int first, count = perfctr_mask_run(&mask, &first);

		emit_run(dst, base, totals + first, count);
		dst += count;
		base += count;
	}
	return dst;
}

/**
 * drm_perfctr_view_size() - bytes that a block takes in each sample
 * @view: the block
 *
 * Returns: size of header, counters and running times.
 */
u32 drm_perfctr_view_size(const struct perfctr_view *view)
{
	u32 words = hweight64(view->mask);

	if (view->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES)
		words *= 2;
	return drm_perfctr_header_size(view->format) + words * sizeof(u64);
}
