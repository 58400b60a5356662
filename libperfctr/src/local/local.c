// SPDX-License-Identifier: MIT
/*
 * The local device: the perf PMUs of this machine, without a kernel module.
 *
 * It is a link like that to a driver, so sessions, cursors and all other code are the same as with
 * a DRM device.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/pmu.h"
#include "local.h"
#include "sessions.h"
#include "kernel.h"

#include "format/pmu_block.h"

enum { MAX_SESSIONS = 64 };

struct local {
	struct perfctr_ctx *ctx;
	pid_t task;
	int cgroup; /* folder of the counted one, -1: none */
	struct local_session *sessions[MAX_SESSIONS];
	bool explained; /* the context has the reason of the last failure */
};

/* --- QUERY ------------------------------------------------------------------------ */

static const struct drm_perfctr_device_info device_info = {
	.features = DRM_PERFCTR_FEATURE_PERIODIC | DRM_PERFCTR_FEATURE_PMU,
	.sample_header_size = sizeof(struct drm_perfctr_sample_header),
	.block_header_size = sizeof(struct drm_perfctr_block_header),
	.ring_control_size = sizeof(struct drm_perfctr_ring_control),
	.block_count = 1,
	.sets = 1,
	.max_slots = LOCAL_MAX_SLOTS,
	.max_sessions_per_file = MAX_SESSIONS,
	.max_requests = LOCAL_MAX_REQUESTS,
	.product = DRM_PERFCTR_PRODUCT_UNKNOWN,
	.min_period_ns = LOCAL_MIN_PERIOD_NS,
	.unprivileged_min_period_ns = LOCAL_MIN_PERIOD_NS,
	.max_period_ns = LOCAL_MAX_PERIOD_NS,
	.max_ring_bytes = LOCAL_MAX_RING_BYTES,
	.name = "this machine",
};

static const struct drm_perfctr_block_info pmu_block = {
	.type = DRM_PERFCTR_BLOCK_GENERIC_PMU,
	.index = DRM_PERFCTR_INDEX_ALL,
	.counters = 1,
	.product = DRM_PERFCTR_PRODUCT_PERF_PMU,
	.sets = 1,
	.clock = DRM_PERFCTR_CLOCK_NONE,
	.format = PERFCTR_PMU_FORMAT,
	.available = { 1 },
};

static int local_query(void *data, struct drm_perfctr_query *q)
{
	static const struct {
		const void *element;
		uint32_t bytes, count;
	} answers[] = {
		[DRM_PERFCTR_QUERY_DEVICE] = { &device_info, sizeof(device_info), 1 },
		[DRM_PERFCTR_QUERY_BLOCKS] = { &pmu_block, sizeof(pmu_block), 1 },
		[DRM_PERFCTR_QUERY_CLOCKS] = { NULL, sizeof(struct drm_perfctr_clock_info), 0 },
	};
	uint32_t bytes;

	if (q->type >= ARRAY_SIZE(answers))
		return -EINVAL;
	bytes = answers[q->type].bytes;
	if (q->pointer && q->count && answers[q->type].count) {
		memset((void *)(uintptr_t)q->pointer, 0, q->stride);
		memcpy((void *)(uintptr_t)q->pointer, answers[q->type].element,
		       bytes < q->stride ? bytes : q->stride);
	}
	q->count = answers[q->type].count;
	q->stride = bytes;
	return 0;
}

/* --- sessions --------------------------------------------------------------------- */

static struct local_session *session_at(struct local *local, int session)
{
	local->explained = false;
	return session >= 0 && session < MAX_SESSIONS ? local->sessions[session] : NULL;
}

static int local_open(void *data, struct session_setup *setup, int *session)
{
	struct local *local = data;
	int n = 0, error;

	local->explained = false;
	while (n < MAX_SESSIONS && local->sessions[n])
		n++;
	if (n == MAX_SESSIONS) {
		local->explained = true;
		return perfctr_fail(local->ctx, -ENOSPC,
				    "this machine: %d sessions are the most that it may have",
				    MAX_SESSIONS);
	}
	error = local_setup(local->ctx, local->task, local->cgroup, setup, &local->sessions[n],
			    &local->explained);
	*session = error || !local->sessions[n] ? -1 : n;
	return error;
}

static int local_start(void *data, int session, uint64_t user_data)
{
	struct local_session *s = session_at(data, session);

	return s ? local_session_start(s, user_data) : -ENOENT;
}

static int local_sample(void *data, int session, uint64_t user_data)
{
	struct local_session *s = session_at(data, session);

	return s ? local_session_sample(s, user_data) : -ENOENT;
}

static int local_stop(void *data, int session, uint64_t user_data)
{
	struct local_session *s = session_at(data, session);

	return s ? local_session_stop(s, user_data) : -ENOENT;
}

static int local_status(void *data, int session, struct drm_perfctr_status *status)
{
	struct local_session *s = session_at(data, session);

	if (!s)
		return -ENOENT;
	local_session_status(s, status);
	return 0;
}

static int local_map(void *data, int session, const struct session_setup *setup,
		     struct mapping *control, struct mapping *ring)
{
	struct local *local = data;

	return session_map_ring(local->ctx, setup->ring_fd, setup, control, ring);
}

static void local_close(void *data, int session)
{
	struct local *local = data;

	local_session_free(session_at(local, session));
	local->sessions[session] = NULL;
}

static bool local_explained(const void *data)
{
	const struct local *local = data;

	return local->explained;
}

/* Each session holds a reference to the device, so there is none. */
static void local_free(void *data)
{
	struct local *local = data;

	if (local->cgroup >= 0)
		local->ctx->sys->close(local->ctx->sys->data, local->cgroup);
	free(local);
}

static const struct device_link local_link = {
	.kind = LINK_LOCAL,
	.query = local_query,
	.open = local_open,
	.start = local_start,
	.sample = local_sample,
	.stop = local_stop,
	.status = local_status,
	.map = local_map,
	.close = local_close,
	.explained = local_explained,
	.free = local_free,
};

/* --- life ------------------------------------------------------------------------- */

int perfctr_local_link(struct perfctr_ctx *ctx, const struct device_link **link, void **data)
{
	struct pmu_list pmus;
	struct local *local;
	int error = pmu_list_load(ctx, &pmus);
	size_t count = error ? 0 : pmus.count;

	pmu_list_free(&pmus);
	if (error)
		return error;
	if (!count)
		return perfctr_fail(ctx, -ENODEV,
				    "this kernel has no perf PMUs: it was built without "
				    "CONFIG_PERF_EVENTS, or /sys is not mounted");
	local = calloc(1, sizeof(*local));
	if (!local)
		return perfctr_no_memory(ctx);
	local->ctx = ctx;
	local->cgroup = -1;
	*link = &local_link;
	*data = local;
	return 0;
}

/* Return: 0, with the former choice dropped; -EOPNOTSUPP. */
static int choose(struct perfctr_device *device, const char *name)
{
	struct local *local = device->link_data;

	if (!device_is(device, LINK_LOCAL))
		return perfctr_fail(device->ctx, -EOPNOTSUPP,
				    "%s counts what all processes do; the device \"local\" counts "
				    "one of them",
				    device->info.name);
	if (local->cgroup >= 0)
		device->ctx->sys->close(device->ctx->sys->data, local->cgroup);
	local->cgroup = -1;
	local->task = 0;
	device->task = 0;
	snprintf(device->info.name, sizeof(device->info.name), "%s", name);
	return 0;
}

EXPORT int perfctr_device_count_task(struct perfctr_device *device, pid_t task)
{
	int error = choose(device, task ? "a process and its children" : device_info.name);

	if (error)
		return error;
	((struct local *)device->link_data)->task = task;
	device->task = task < 0 ? -task : task;
	return 0;
}

EXPORT int perfctr_device_count_cgroup(struct perfctr_device *device, const char *path)
{
	int fd, error = choose(device, "a cgroup");

	if (error)
		return error;
	fd = device->ctx->sys->open(device->ctx->sys->data, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return perfctr_fail(device->ctx, fd, "cgroup %s: %s", path, strerror(-fd));
	((struct local *)device->link_data)->cgroup = fd;
	return 0;
}
