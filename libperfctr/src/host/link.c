// SPDX-License-Identifier: MIT
/*
 * The link to a host: what this process counts itself. So sessions, cursors and all other code are
 * the same as with a driver that has the ioctls of perfctr_drm.h.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/pmu.h"
#include "open.h"
#include "sessions.h"
#include "kernel.h"

#include "format/pmu_block.h"

#define THIS_MACHINE "this machine"

/* --- QUERY ------------------------------------------------------------------------ */

static void query_device(const struct host *host, unsigned int n, void *element)
{
	const struct drm_perfctr_config *config = &host->config;
	struct drm_perfctr_device_info *info = element;

	*info = (struct drm_perfctr_device_info){
		.gpu_id = config->gpu_id,
		.features = DRM_PERFCTR_FEATURE_PERIODIC | config->features |
			    (host->has_pmus ? DRM_PERFCTR_FEATURE_PMU : 0) |
			    (config->timestamp_hz ? DRM_PERFCTR_FEATURE_GPU_TIMESTAMP : 0),
		.sample_header_size = sizeof(struct drm_perfctr_sample_header),
		.block_header_size = sizeof(struct drm_perfctr_block_header),
		.ring_control_size = sizeof(struct drm_perfctr_ring_control),
		.block_count = host->block_count + host->has_pmus,
		.clock_count = config->clock_count + !!config->timestamp_hz,
		.sets = config->sets | 1,
		.max_slots = HOST_MAX_SLOTS,
		.max_sessions_per_file = HOST_MAX_SESSIONS,
		.max_requests = HOST_MAX_REQUESTS,
		.product = config->product,
		.min_period_ns = HOST_MIN_PERIOD_NS,
		.unprivileged_min_period_ns = HOST_MIN_PERIOD_NS,
		.max_period_ns = HOST_MAX_PERIOD_NS,
		.max_ring_bytes = HOST_MAX_RING_BYTES,
	};
	snprintf(info->name, sizeof(info->name), "%s", config->name);
}

static void query_block(const struct host *host, unsigned int n, void *element)
{
	if (n == host->block_count)
		perfctr_pmu_block_info(element);
	else
		perfctr_block_info(&host_block(host, n)->desc, element);
}

static void query_clock(const struct host *host, unsigned int n, void *element)
{
	const struct drm_perfctr_config *config = &host->config;
	struct drm_perfctr_clock_info *info = element;

	if (n < config->clock_count) {
		info->clock = config->clocks[n].clock;
		info->max_frequency_hz = config->clocks[n].max_frequency_hz;
		if (host->driver->frequency_hz)
			info->frequency_hz = host->driver->frequency_hz(host, info->clock);
		snprintf(info->name, sizeof(info->name), "%s", config->clocks[n].name);
		return;
	}
	info->clock = DRM_PERFCTR_CLOCK_TIMESTAMP;
	info->valid_bits = config->timestamp_bits;
	info->frequency_hz = info->max_frequency_hz = config->timestamp_hz;
	snprintf(info->name, sizeof(info->name), "timestamp");
	if (!host->gpu_raw_ns)
		return;
	info->gpu_timestamp = host->gpu_timestamp;
	info->raw_ns = host->gpu_raw_ns;
	info->age_ns = perfctr_time_raw_ns() - host->gpu_raw_ns;
	info->epoch = host->pair_epoch;
}

static int host_query(void *data, struct drm_perfctr_query *q)
{
	struct host *host = data;
	const struct {
		void (*element)(const struct host *host, unsigned int n, void *element);
		uint32_t bytes, count;
	} answers[] = {
		[DRM_PERFCTR_QUERY_DEVICE] = { query_device, sizeof(struct drm_perfctr_device_info),
					       1 },
		[DRM_PERFCTR_QUERY_BLOCKS] = { query_block, sizeof(struct drm_perfctr_block_info),
					       host->block_count + host->has_pmus },
		[DRM_PERFCTR_QUERY_CLOCKS] = { query_clock, sizeof(struct drm_perfctr_clock_info),
					       host->config.clock_count +
						       !!host->config.timestamp_hz },
	};
	union {
		struct drm_perfctr_device_info device;
		struct drm_perfctr_block_info block;
		struct drm_perfctr_clock_info clock;
	} element;
	char *to = (char *)(uintptr_t)q->pointer;
	uint32_t bytes;

	host->explained = false;
	if (q->type >= ARRAY_SIZE(answers))
		return -EINVAL;
	bytes = answers[q->type].bytes;
	pthread_mutex_lock(&host->lock);
	for (uint32_t n = 0; to && n < q->count && n < answers[q->type].count; n++) {
		memset(&element, 0, sizeof(element));
		answers[q->type].element(host, n, &element);
		memset(to, 0, q->stride);
		memcpy(to, &element, bytes < q->stride ? bytes : q->stride);
		to += q->stride;
	}
	pthread_mutex_unlock(&host->lock);
	q->count = answers[q->type].count;
	q->stride = bytes;
	return 0;
}

/* --- sessions --------------------------------------------------------------------- */

static struct host_session *session_at(struct host *host, int session)
{
	host->explained = false;
	return session >= 0 && session < HOST_MAX_SESSIONS ? host->sessions[session] : NULL;
}

static int host_open(void *data, struct session_setup *setup, int *session)
{
	struct host_session *s = NULL;
	struct host *host = data;
	int n = 0, error;

	host->explained = false;
	*session = -1;
	while (n < HOST_MAX_SESSIONS && host->sessions[n])
		n++;
	if (n == HOST_MAX_SESSIONS) {
		host->explained = true;
		return perfctr_fail(host->ctx, -ENOSPC,
				    "%s: %d sessions are the most that it may have",
				    host->config.name, HOST_MAX_SESSIONS);
	}
	error = host_session_open(host, setup, &s);
	if (error || !s)
		return error;
	host->sessions[n] = s;
	*session = n;
	return 0;
}

static int host_start(void *data, int session, uint64_t user_data)
{
	struct host_session *s = session_at(data, session);
	struct host *host = data;
	int error;

	if (!s)
		return -ENOENT;
	host->refusing = NULL;
	error = host_session_start(s, user_data);
	host->explained = error && host->refusing;
	return error;
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
	struct host_session *s = session_at(host, session);

	host->sessions[session] = NULL;
	host_session_free(s);
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

	host_free_sources(host);
	if (host->driver)
		host->driver->remove(host);
	if (host->cgroup >= 0)
		host->ctx->sys->close(host->ctx->sys->data, host->cgroup);
	if (host->fd >= 0)
		host->ctx->sys->close(host->ctx->sys->data, host->fd);
	if (host->attribute >= 0)
		host->ctx->sys->close(host->ctx->sys->data, host->attribute);
	pthread_mutex_destroy(&host->lock);
	free(host->tasks);
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

/* ends with NULL */
static const struct host_driver *const drivers[] = { &host_i915,     &host_kbase,   &host_msm,
						     &host_panfrost, &host_panthor, &host_v3d,
						     &host_xe,	     NULL };

const struct host_driver *host_driver_of(const char *name)
{
	const struct host_driver *const *d = drivers;

	while (*d && strcmp((*d)->name, name) != 0)
		d++;
	return *d;
}

static int find_pmus(struct perfctr_ctx *ctx, bool *found)
{
	const int any = pmu_any(ctx);

	*found = any > 0;
	return any < 0 ? any : 0;
}

static struct host *host_new(struct perfctr_ctx *ctx)
{
	struct host *host = calloc(1, sizeof(*host));

	if (!host)
		return NULL;
	host->ctx = ctx;
	host->fd = host->attribute = host->cgroup = -1;
	host->gpu_epoch = 1;
	host->config.name = THIS_MACHINE;
	pthread_mutex_init(&host->lock, NULL);
	return host;
}

int host_link_local(struct perfctr_ctx *ctx, const struct device_link **link, void **data)
{
	struct host *host;
	bool has_pmus;
	int error = find_pmus(ctx, &has_pmus);

	if (error)
		return error;
	if (!has_pmus)
		return perfctr_fail(ctx, -ENODEV,
				    "this kernel has no perf PMUs: it was built without "
				    "CONFIG_PERF_EVENTS, or /sys is not mounted");
	host = host_new(ctx);
	if (!host)
		return perfctr_no_memory(ctx);
	host->has_pmus = true;
	*link = &host_link;
	*data = host;
	return 0;
}

/* The node's own name, by which other programs' files are known: @path may be a link, or empty. */
static void name_node(struct host *host, const char *path)
{
	const struct perfctr_sys *sys = host->ctx->sys;
	char file[32];

	snprintf(file, sizeof(file), "/proc/self/fd/%d", host->fd);
	if (sys->readlink(sys->data, file, host->path, sizeof(host->path)) <= 0 ||
	    strncmp(host->path, "/dev/", 5) != 0)
		snprintf(host->path, sizeof(host->path), "%s", path);
}

int host_link_gpu(struct perfctr_ctx *ctx, int fd, const char *path,
		  const struct host_driver *driver, const struct device_link **link, void **data)
{
	struct host *host = host_new(ctx);
	int error;

	if (!host)
		return perfctr_no_memory(ctx);
	host->fd = ctx->sys->dup(ctx->sys->data, fd);
	name_node(host, path);
	host->driver = driver;
	error = host->fd < 0 ? perfctr_fail(ctx, host->fd, "%s: %s", path, strerror(-host->fd)) :
			       find_pmus(ctx, &host->has_pmus);
	if (!error)
		error = driver->probe(host);
	if (error) {
		host_free(host);
		return error;
	}
	*link = &host_link;
	*data = host;
	return 0;
}

/* Return: 0; -EOPNOTSUPP: the device has no choice. */
static int check_kind(struct perfctr_device *device)
{
	const struct host *host = device->link_data;

	return device_is(device, LINK_HOST) && !host->source_count ?
		       0 :
		       perfctr_fail(device->ctx, -EOPNOTSUPP,
				    "%s counts what all processes do; the device \"local\" counts "
				    "one of them",
				    device->info.name);
}

/*
 * @what, @which: the device's new name, of two words.
 * Return: 0, with the former choice dropped; -EOPNOTSUPP.
 */
static int choose(struct perfctr_device *device, const char *what, const char *which)
{
	struct host *host = device->link_data;
	const int error = check_kind(device);

	if (error)
		return error;
	if (host->cgroup >= 0)
		device->ctx->sys->close(device->ctx->sys->data, host->cgroup);
	host->cgroup = -1;
	free(host->tasks);
	host->tasks = NULL;
	host->task_count = 0;
	host->are_threads = host->from_exec = false;
	host->cpus = NULL;
	device->task = 0;
	cpu_list_free(&device->cpus);
	snprintf(device->info.name, sizeof(device->info.name), "%s%s%s", what, *which ? " " : "",
		 which);
	return 0;
}

/* Refuse what does not exist: it would be missing in the sum of others. */
static int check_tasks(struct perfctr_device *device, const pid_t *tasks, size_t count)
{
	int error = check_kind(device);

	if (error)
		return error;
	for (size_t n = 0; n < count; n++) {
		if (tasks[n] < 1)
			return perfctr_fail(device->ctx, -EINVAL, "task %d: give numbers from 1",
					    tasks[n]);
		if (kill(tasks[n], 0) && errno == ESRCH)
			return perfctr_fail(device->ctx, -ESRCH, "there is no process or thread %d",
					    tasks[n]);
	}
	return 0;
}

/* @what: of one; @whats: of several. Return: 0 or a negative errno. */
static int choose_tasks(struct perfctr_device *device, const char *what, const char *whats,
			const pid_t *tasks, size_t count)
{
	struct host *host = device->link_data;
	char number[32];
	int error;

	for (size_t n = 0; n < count; n++)
		for (size_t i = 0; i < n; i++)
			if (tasks[i] == tasks[n])
				return perfctr_fail(device->ctx, -EINVAL,
						    "task %d is there twice: it would be counted "
						    "twice",
						    tasks[n]);
	snprintf(number, sizeof(number), "%zu", count);
	error = count > 1 ? choose(device, number, whats) : choose(device, what, "");
	if (error)
		return error;
	host->tasks = calloc(count, sizeof(*tasks));
	if (!host->tasks)
		return perfctr_no_memory(device->ctx);
	memcpy(host->tasks, tasks, count * sizeof(*tasks));
	host->task_count = count;
	device->task = tasks[0];
	return 0;
}

static int choose_processes(struct perfctr_device *device, const pid_t *processes, size_t count)
{
	return choose_tasks(device, "a process and its children", "processes and their children",
			    processes, count);
}

EXPORT int perfctr_device_count_processes(struct perfctr_device *device, const pid_t *processes,
					  size_t count)
{
	int error;

	if (!count)
		return perfctr_fail(device->ctx, -EINVAL, "no process is given");
	error = check_tasks(device, processes, count);
	return error ? error : choose_processes(device, processes, count);
}

EXPORT int perfctr_device_count_threads(struct perfctr_device *device, const pid_t *threads,
					size_t count)
{
	int error;

	if (!count)
		return perfctr_fail(device->ctx, -EINVAL, "no thread is given");
	error = check_tasks(device, threads, count);
	if (!error)
		error = choose_tasks(device, "a thread", "threads", threads, count);
	if (!error)
		((struct host *)device->link_data)->are_threads = true;
	return error;
}

EXPORT int perfctr_device_count_task(struct perfctr_device *device, pid_t task)
{
	const pid_t process = task < 0 ? -task : task;
	int error;

	if (!task)
		return choose(device, THIS_MACHINE, "");
	error = choose_processes(device, &process, 1);
	if (!error)
		((struct host *)device->link_data)->from_exec = task < 0;
	return error;
}

EXPORT int perfctr_device_count_cpus(struct perfctr_device *device, const char *list)
{
	struct perfctr_ctx *ctx = device->ctx;
	struct cpu_list online = { 0 };
	int error = choose(device, "CPUs", list);

	if (error)
		return error;
	error = cpu_list_parse(list, &device->cpus);
	if (error || !device->cpus.count)
		return perfctr_fail(ctx, -EINVAL, "CPUs '%s': use a list such as 0-3,8", list);
	error = cpu_list_online(ctx->sys, &online);
	for (size_t n = 0; !error && n < device->cpus.count; n++)
		if (!cpu_list_has(&online, device->cpus.cpus[n]))
			error = perfctr_fail(ctx, -EINVAL, "CPU %d is not online; %s has the list",
					     device->cpus.cpus[n], CPUS_ONLINE_PATH);
	cpu_list_free(&online);
	if (error)
		cpu_list_free(&device->cpus);
	else
		((struct host *)device->link_data)->cpus = &device->cpus;
	return error;
}

/* Version 2 has no cgroups of perf where all controllers are off. */
static bool perf_counts_in(const struct perfctr_sys *sys, int cgroup)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int fd = sys->perf_event_open(sys->data, &attr, cgroup, 0, -1, PERF_FLAG_PID_CGROUP);

	if (fd >= 0)
		sys->close(sys->data, fd);
	return fd != -ENOENT;
}

EXPORT int perfctr_device_count_cgroup(struct perfctr_device *device, const char *path)
{
	const char *slash = strrchr(path, '/');
	/* the root ends with a slash */
	int fd, error = choose(device, "cgroup", !slash ? path : slash[1] ? slash + 1 : slash);

	if (error)
		return error;
	fd = device->ctx->sys->open(device->ctx->sys->data, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return perfctr_fail(device->ctx, fd, "cgroup %s: %s", path, strerror(-fd));
	if (!perf_counts_in(device->ctx->sys, fd)) {
		device->ctx->sys->close(device->ctx->sys->data, fd);
		return perfctr_fail(
			device->ctx, -ENOENT,
			"perf does not count in cgroup %s: its parent has no "
			"controller on; write +cpu to the parent's cgroup.subtree_control",
			path);
	}
	((struct host *)device->link_data)->cgroup = fd;
	return 0;
}
