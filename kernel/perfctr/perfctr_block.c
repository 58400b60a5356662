// SPDX-License-Identifier: GPL-2.0
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
 * perfctr_trace_set() - record the conditions of a collection
 * @trace: the trace
 * @seq: number of the collection, one more than that of the last call
 * @bits: conditions that were set
 */
void perfctr_trace_set(struct perfctr_trace *trace, u64 seq, u64 bits)
{
	u64 gone = trace->now & ~bits;

	if (bits == trace->now)
		return;

	while (gone) {
		trace->last[__ffs64(gone)] = seq - 1;
		gone &= gone - 1;
	}
	trace->now = bits;
	trace->changed = seq;
}

/**
 * perfctr_trace_since() - conditions seen in a span of collections
 * @trace: the trace
 * @base_seq: the span begins after this collection
 *
 * Returns: the conditions that were set in at least one collection of the span.
 */
u64 perfctr_trace_since(const struct perfctr_trace *trace, u64 base_seq)
{
	u64 seen = trace->now;
	unsigned int bit;

	if (trace->changed <= base_seq + 1)
		return seen;

	for (bit = 0; bit < 64; bit++)
		if (trace->last[bit] > base_seq)
			seen |= BIT_ULL(bit);
	return seen;
}

/**
 * perfctr_counters_rebase() - begin a new span without publishing the old one
 * @base: one value per stored counter
 * @totals: of the 64 counters of the section
 * @mask: stored counters
 */
void perfctr_counters_rebase(u64 *base, const u64 *totals, u64 mask)
{
	while (mask) {
		unsigned int first, count = perfctr_mask_run(&mask, &first);

		memcpy(base, totals + first, count * sizeof(*base));
		base += count;
	}
}

/* two passes, as copying the bases at once is cheaper than one by one */
static void emit_run(__le64 *__restrict dst, u64 *__restrict base, const u64 *__restrict totals,
		     unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		dst[i] = cpu_to_le64(totals[i] - base[i]);
	memcpy(base, totals, count * sizeof(*base));
}

/**
 * perfctr_counters_emit() - store what was counted since the last sample
 * @dst: where the counters go; only written, user space may see and change it
 * @base: totals at the end of the last sample, brought up to date
 * @totals: of the 64 counters of the section
 * @mask: stored counters
 * @valid: counters that were measured
 *
 * A counter that was not measured is stored as zero and keeps its base, so
 * that nothing is lost should its total have moved all the same.
 */
void perfctr_counters_emit(__le64 *dst, u64 *base, const u64 *totals, u64 mask, u64 valid)
{
	while (mask) {
		unsigned int first, count = perfctr_mask_run(&mask, &first);
		u64 run = GENMASK_ULL(first + count - 1, first);

		if (!(run & ~valid)) {
			emit_run(dst, base, totals + first, count);
			dst += count;
			base += count;
			continue;
		}
		for (; count; count--, first++, dst++, base++) {
			u64 now = totals[first];

			if (!(valid & BIT_ULL(first))) {
				*dst = 0;
				continue;
			}
			*dst = cpu_to_le64(now - *base);
			*base = now;
		}
	}
}

/**
 * perfctr_view_size() - bytes that a block takes in each sample
 * @view: the block
 *
 * Returns: size of header and counters.
 */
u32 perfctr_view_size(const struct perfctr_view *view)
{
	u32 counters = hweight64(view->mask);

	if (view->pmu)
		return sizeof(struct drm_perfctr_pmu_block_header) +
		       2 * counters * sizeof(u64);
	if (view->running)
		return sizeof(struct drm_perfctr_mux_block_header) +
		       2 * counters * sizeof(u64);
	return sizeof(struct drm_perfctr_block_header) + counters * sizeof(u64);
}
