/* SPDX-License-Identifier: MIT */
/*
 * At how many moments several sessions were sampled.
 */
#ifndef IGT_TIMES_H
#define IGT_TIMES_H

#include "igt_perfctr.h"

#define IGT_MAX_TIMES 65536

struct igt_times {
	unsigned int count;
	uint64_t at[IGT_MAX_TIMES]; /* CLOCK_MONOTONIC_RAW; in order after igt_times_distinct() */
};

/*
 * Add the ends of all unread PERIODIC samples of @count sessions and drain these;
 * returns how many such samples the one with the fewest has had.
 */
uint64_t igt_times_gather(struct igt_times *times, struct igt_perfctr_session *sessions,
			  unsigned int count);
unsigned int igt_times_distinct(struct igt_times *times);

#endif
