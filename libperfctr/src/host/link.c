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
#include "open.h"
#include "sessions.h"
#include "kernel.h"

#include "format/pmu_block.h"

enum { MAX_SESSIONS = 64 };

struct host {
	struct perfctr_ctx *ctx;
	pid_t task;
	int cgroup; /* folder of the counted one, -1: none */
	struct host_session *sessions[MAX_SESSIONS];
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
	.max_slots = HOST_MAX_SLOTS,
	.max_sessions_per_file = MAX_SESSIONS,
	.max_requests = HOST_MAX_REQUESTS,
	.product = DRM_PERFCTR_PRODUCT_UNKNOWN,
	.min_period_ns = HOST_MIN_PERIOD_NS,
	.unprivileged_min_period_ns = HOST_MIN_PERIOD_NS,
	.max_period_ns = HOST_MAX_PERIOD_NS,
	.max_ring_bytes = HOST_MAX_RING_BYTES,
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

static int host_query(void *data, struct drm_perfctr_query *q)
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

static struct host_session *session_at(struct host *host, int session)
{
	host->explained = false;
	return session >= 0 && session < MAX_SESSIONS ? host->sessions[session] : NULL;
}

static int host_open(void *data, struct session_setup *setup, int *session)
{
	struct host *host = data;
	int n = 0, error;

	host->explained = false;
	while (n < MAX_SESSIONS && host->sessions[n])
		n++;
	if (n == MAX_SESSIONS) {
		host->explained = true;
		return perfctr_fail(host->ctx, -ENOSPC,
				    "this machine: %d sessions are the most that it may have",
				    MAX_SESSIONS);
	}
	error = host_session_open(host->ctx, host->task, host->cgroup, setup, &host->sessions[n],
				  &host->explained);
	*session = error || !host->sessions[n] ? -1 : n;
	return error;
}

static int host_start(void *data, int session, uint64_t user_data)
{
	struct host_session *s = session_at(data, session);

	return s ? host_session_start(s, user_data) : -ENOENT;
}

static int host_sample(void *data, int session, uint64_t user_data)
{
	struct host_session *s = session_at(data, session);

	return s ? host_session_sample(s, user_data) : -ENOENT;
}

static int host_stop(void *data, int session, uint64_t user_data)
{
	struct host_session *s = session_at(data, session);

	return s ? host_session_stop(s, user_data) : -ENOENT;
}

static int host_status(void *data, int session, struct drm_perfctr_status *status)
{
	struct host_session *s = session_at(data, session);

	if (!s)
		return -ENOENT;
	host_session_status(s, status);
	return 0;
}

static int host_map(void *data, int session, const struct session_setup *setup,
		    struct mapping *control, struct mapping *ring)
{
	struct host *host = data;

	return session_map_ring(host->ctx, setup->ring_fd, setup, control, ring);
}

static void host_close(void *data, int session)
{
	struct host *host = data;

	host_session_free(session_at(host, session));
	host->sessions[session] = NULL;
}

static bool host_explained(const void *data)
{
	const struct host *host = data;

	return host->explained;
}

/* Each session holds a reference to the device, so there is none. */
static void host_free(void *data)
{
	struct host *host = data;

	if (host->cgroup >= 0)
		host->ctx->sys->close(host->ctx->sys->data, host->cgroup);
	free(host);
}

static const struct device_link host_link = {
	.kind = LINK_HOST,
	.query = host_query,
	.open = host_open,
	.start = host_start,
	.sample = host_sample,
	.stop = host_stop,
	.status = host_status,
	.map = host_map,
	.close = host_close,
	.explained = host_explained,
	.free = host_free,
};

/* --- life ------------------------------------------------------------------------- */

int host_link_new(struct perfctr_ctx *ctx, const struct device_link **link, void **data)
{
	struct pmu_list pmus;
	struct host *host;
	int error = pmu_list_load(ctx, &pmus);
	size_t count = error ? 0 : pmus.count;

	pmu_list_free(&pmus);
	if (error)
		return error;
	if (!count)
		return perfctr_fail(ctx, -ENODEV,
				    "this kernel has no perf PMUs: it was built without "
				    "CONFIG_PERF_EVENTS, or /sys is not mounted");
	host = calloc(1, sizeof(*host));
	if (!host)
		return perfctr_no_memory(ctx);
	host->ctx = ctx;
	host->cgroup = -1;
	*link = &host_link;
	*data = host;
	return 0;
}

/* Return: 0, with the former choice dropped; -EOPNOTSUPP. */
static int choose(struct perfctr_device *device, const char *name)
{
	struct host *host = device->link_data;

	if (!device_is(device, LINK_HOST))
		return perfctr_fail(device->ctx, -EOPNOTSUPP,
				    "%s counts what all processes do; the device \"local\" counts "
				    "one of them",
				    device->info.name);
	if (host->cgroup >= 0)
		device->ctx->sys->close(device->ctx->sys->data, host->cgroup);
	host->cgroup = -1;
	host->task = 0;
	device->task = 0;
	snprintf(device->info.name, sizeof(device->info.name), "%s", name);
	return 0;
}

EXPORT int perfctr_device_count_task(struct perfctr_device *device, pid_t task)
{
	int error = choose(device, task ? "a process and its children" : device_info.name);

	if (error)
		return error;
	((struct host *)device->link_data)->task = task;
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
	((struct host *)device->link_data)->cgroup = fd;
	return 0;
}
