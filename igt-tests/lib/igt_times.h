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

/* ends of the unread PERIODIC samples, which remain unread */
void igt_times_add(struct igt_times *times, const struct igt_perfctr_session *s);
unsigned int igt_times_distinct(struct igt_times *times);

#endif
