/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conversion of GPU timestamps to CLOCK_MONOTONIC_RAW. It can be tested in user space.
 */
#ifndef _CSF_TIME_H_
#define _CSF_TIME_H_

#include <linux/types.h>
#include "csf_perfctr.h"

/* the last two readings of both clocks */
struct csf_time {
	u64 hz;				/* nominal frequency of the GPU timestamp, 0 if unknown */
	struct csf_perfctr_anchor prev;	/* the reading before @cur */
	struct csf_perfctr_anchor cur;	/* the latest reading */
	unsigned int anchors;		/* number of valid readings, 0..2 */
};

void csf_time_init(struct csf_time *time, u64 hz);
bool csf_time_add_anchor(struct csf_time *time, const struct csf_perfctr_anchor *anchor);
u64 csf_time_to_ns(const struct csf_time *time, u64 ticks);
bool csf_time_to_raw(const struct csf_time *time, u64 ticks, u64 *raw_ns);
u64 csf_time_error_ns(const struct csf_time *time);

#endif /* _CSF_TIME_H_ */
