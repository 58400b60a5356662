/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Masks of counters, one run of neighbours at a time.
 */
#ifndef _PERFCTR_MASK_H_
#define _PERFCTR_MASK_H_

#include <linux/bitops.h>
#include <linux/types.h>

/**
 * perfctr_mask_run() - take the lowest run of set bits out of a mask
 * @mask: not zero
 * @first: the run's lowest bit
 *
 * Counters are mostly enabled in long runs, and a loop over a run costs a third
 * of the instructions of one that looks for the next bit each time.
 *
 * Returns: number of bits in the run, 1..64.
 */
static inline unsigned int perfctr_mask_run(u64 *mask, unsigned int *first)
{
	u64 above;
	unsigned int end;

	*first = __ffs64(*mask);
	/* the carry runs through the run and stops above it */
	above = *mask + BIT_ULL(*first);
	end = above ? __ffs64(above) : 64;
	*mask &= above;
	return end - *first;
}

#endif /* _PERFCTR_MASK_H_ */
