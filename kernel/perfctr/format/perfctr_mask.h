/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Masks of counters, processed in runs of adjacent bits.
 */
#ifndef _PERFCTR_MASK_H_
#define _PERFCTR_MASK_H_

#include <linux/bitops.h>
#include <linux/types.h>

/**
 * perfctr_mask_run() - remove the lowest run of set bits from a mask
 * @mask: not zero
 * @first: the run's lowest bit
 *
 * Counters are usually enabled in long runs. A loop over a run takes a third of the instructions of
 * a search for each next bit.
 *
 * Returns: number of bits in the run, 1..64.
 */
static inline unsigned int perfctr_mask_run(u64 *mask, unsigned int *first)
{
	u64 above;
	unsigned int end;

	*first = __ffs64(*mask);
	/* the carry propagates through the run and stops above it */
	above = *mask + BIT_ULL(*first);
	end = above ? __ffs64(above) : 64;
	*mask &= above;
	return end - *first;
}

#endif /* _PERFCTR_MASK_H_ */
