/* SPDX-License-Identifier: MIT */
/* The blocks of a session's samples: those of sources, and of perf events. */
#pragma once

#include "host.h"

#include "format/pmu_block.h"

/* a block of the samples; the counters of a PMU's are consecutive in the session's events */
struct host_block {
	struct perfctr_view view;
	struct perfctr_pmu_block pmu;
	size_t first;
	u64 asleep_mask; /* counters whose process slept since the last collection */
	u64 lost_ns; /* of the source's block alone, at the session's last sample */
	u64 *words; /* of the view's and the PMU's arrays */
};

/* a source of a session, and what it was at the session's last sample */
struct host_span {
	struct host_source *source;
	u64 seq, lost_ns;
	u64 resets; /* at START */
};

struct host_views {
	struct host_block *blocks;
	size_t count;
	struct host_span spans[HOST_MAX_SOURCES];
	unsigned int span_count;
	u8 set;
	bool keeps_awake;
	u64 period_ns; /* 0: none */
	struct host_views *next; /* that counts, see struct host */
	u64 unread_ns; /* of the final sample: time whose counts stayed in the hardware */
	u64 lost_ns; /* of the sample that is published: the most that one of its blocks lost */
};

/* More than a request has blocks. */
size_t host_views_room(const struct host *host, const struct drm_perfctr_block_request *r);
/* Add a request's blocks. Return: 0 or an errno of OPEN. */
int host_views_add(const struct host *host, struct host_views *views,
		   const struct drm_perfctr_block_request *r);
/* After all requests: running times for blocks of which more is wanted than counts at a time. */
void host_views_add_times(struct host_views *views);

/* The following with the host's lock held. */

/* Begin a span at what was just collected. */
void host_views_begin(struct host_views *views);
/* Write a block of a source; adds to the states of the sample. Return: the address after it. */
void *host_views_publish(struct host_views *views, struct host_block *b, void *at,
			 const struct drm_perfctr_sample_header *header, u32 *states);
/* Add what the sources say of the span to the header, and begin the next one. */
void host_views_finish(struct host_views *views, struct drm_perfctr_sample_header *header);
/* The latest time of a source's counts, 0: there is no source. */
u64 host_views_time_ns(const struct host_views *views);
