/* SPDX-License-Identifier: MIT */
/* Sessions of a local device, equivalent to the kernel core's sessions of a DRM device. */
#pragma once

#include "session/link.h"

struct local_session;

enum {
	LOCAL_MAX_SLOTS = 65536,
	LOCAL_MAX_REQUESTS = 32768, /* dozens of events on each CPU of a large machine */
	LOCAL_MIN_PERIOD_NS = 100000,
};

#define LOCAL_MAX_PERIOD_NS (3600ull * NS_PER_S)
#define LOCAL_MAX_RING_BYTES (64ull << 20)

/*
 * Open a session; @task: as of perfctr_device_count_task(); @cgroup: its folder, or -1; @session
 * stays NULL with TEST_ONLY; @explained: set to whether the context has the reason of a failure.
 * All but free return 0 or the command's errno.
 */
int local_setup(struct perfctr_ctx *ctx, pid_t task, int cgroup, struct session_setup *setup,
		struct local_session **session, bool *explained);
int local_session_start(struct local_session *s, uint64_t user_data);
int local_session_sample(struct local_session *s, uint64_t user_data);
int local_session_stop(struct local_session *s, uint64_t user_data);
void local_session_status(struct local_session *s, struct drm_perfctr_status *status);
void local_session_free(struct local_session *s);
