/* SPDX-License-Identifier: MIT */
/* Sessions that this process counts, equivalent to the kernel core's sessions of a DRM device. */
#pragma once

#include "host.h"

enum {
	HOST_MAX_SLOTS = 65536,
	HOST_MAX_REQUESTS = 32768, /* dozens of events on each CPU of a large machine */
	HOST_MIN_PERIOD_NS = 100000,
};

#define HOST_MAX_PERIOD_NS (3600ull * NS_PER_S)
#define HOST_MAX_RING_BYTES (64ull << 20)

/*
 * Open a session; @session stays as it is with CHECK. All but free return 0 or the command's errno;
 * host->explained is set to whether the context has the reason for that of open.
 */
int host_session_open(struct host *host, struct session_setup *setup,
		      struct host_session **session);
int host_session_start(struct host_session *s, uint64_t user_data);
int host_session_sample(struct host_session *s, uint64_t user_data);
int host_session_stop(struct host_session *s, uint64_t user_data);
void host_session_status(struct host_session *s, struct drm_perfctr_status *status);
void host_session_free(struct host_session *s);
