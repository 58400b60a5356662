// SPDX-License-Identifier: MIT
/*
 * At how many moments several sessions were sampled.
 */
#include <stdlib.h>

#include "minigt.h"
#include "igt_times.h"

static void add(struct igt_times *times, const struct igt_perfctr_session *s)
{
	uint64_t unread = igt_perfctr_unread(s);

	for (uint64_t i = 0; i < unread; i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(s, s->extract + i);

		if (!(h->flags & DRM_PERFCTR_SAMPLE_PERIODIC))
			continue;
		igt_assert_lt(times->count, IGT_MAX_TIMES);
		times->at[times->count++] = h->end_ns;
	}
}

uint64_t igt_times_gather(struct igt_times *times, struct igt_perfctr_session *sessions,
			  unsigned int count)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int k = 0; k < count; k++) {
		add(times, &sessions[k]);
		igt_perfctr_drain(&sessions[k]);
		if (sessions[k].periodic < least)
			least = sessions[k].periodic;
	}
	return least;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

unsigned int igt_times_distinct(struct igt_times *times)
{
	unsigned int count = 0;

	qsort(times->at, times->count, sizeof(times->at[0]), compare);
	for (unsigned int i = 0; i < times->count; i++)
		count += !i || times->at[i] != times->at[i - 1];
	return count;
}
