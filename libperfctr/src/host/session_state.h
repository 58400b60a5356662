/* SPDX-License-Identifier: MIT */
/* A session that this process counts: what OPEN makes, and what the commands use. */
#pragma once

#include "local/perf_events.h"
#include "block_views.h"

#include "format/perfctr_ring.h"

struct host_session {
	struct host *host;
	const struct perfctr_sys *sys;
	/* serialises the caller's commands and the thread */
	pthread_mutex_t lock;
	pthread_t thread;
	struct perf_events events;
	struct host_views views;
	u32 sample_bytes, watermark;
	struct perfctr_ring ring;
	void *memory;
	size_t memory_bytes;
	/* eventfd of the program, and the eventfd that wakes the thread */
	int eventfd, wake;
	u64 period_ns, user_data;
	/* START, the end of the last sample and of the last periodic one */
	u64 start_ns, end_ns, tick_ns;
	u64 periods, lost_ns; /* since START */
	/* how many of its sources are prepared; count for it, under the host's lock */
	unsigned int prepared, attached;
	bool has_thread, keeps_awake; /* the latter as sources count for it */
	struct drm_perfctr_status status;
};

/* session_setup.c: free a session that does not count. */
void host_session_discard(struct host_session *s);
