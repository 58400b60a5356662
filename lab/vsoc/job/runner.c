// SPDX-License-Identifier: MIT
#include "runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <drm/perfctr_drm.h>

enum {
	NS_PER_MS = 1000000,
	WAIT_STEP_NS = 250 * NS_PER_MS, /* limits the delay if a signal arrives just before WAIT */
};

static const char drm_folder[] = "/dev/dri";

uint64_t runner_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool stopped(const struct runner *runner)
{
	return runner->stop && *runner->stop;
}

static int fail(struct runner *runner, int error, const char *what, const char *help)
{
	snprintf(runner->error, sizeof(runner->error), "%s: %s%s%s", what, strerror(-error),
		 *help ? "; " : "", help);
	return error;
}

static int driver_of(int fd, char *name, size_t size)
{
	struct drm_version version = { .name = name, .name_len = size - 1 };

	memset(name, 0, size);
	if (ioctl(fd, DRM_IOCTL_VERSION, &version))
		return -errno;
	return 0;
}

static bool is_vsoc(int fd)
{
	char name[32];

	return !driver_of(fd, name, sizeof(name)) && !strcmp(name, "vsoc");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* the virtual SoC whose render node has the lowest number */
static int find_vsoc(struct runner *runner)
{
	struct dirent *entry;
	char **names = NULL;
	size_t count = 0;
	int fd = -1, denied = 0;
	DIR *dir = opendir(drm_folder);

	if (dir) {
		while ((entry = readdir(dir))) {
			char **more;

			if (strncmp(entry->d_name, "renderD", 7))
				continue;
			more = realloc(names, (count + 1) * sizeof(*names));
			if (!more)
				break;
			names = more;
			names[count] = strdup(entry->d_name);
			if (names[count])
				count++;
		}
		closedir(dir);
	}
	if (count)
		qsort(names, count, sizeof(*names), by_name);

	for (size_t i = 0; i < count; i++) {
		char path[300];

		snprintf(path, sizeof(path), "%s/%s", drm_folder, names[i]);
		if (fd < 0) {
			fd = open(path, O_RDWR | O_CLOEXEC);
			if (fd < 0 && errno == EACCES)
				denied = 1;
			if (fd >= 0 && !is_vsoc(fd)) {
				close(fd);
				fd = -1;
			}
		}
		free(names[i]);
	}
	free(names);

	if (fd >= 0)
		return fd;
	if (denied)
		return fail(runner, -EACCES, drm_folder,
			    "join the group render: usermod -aG render USER");
	return fail(runner, -ENODEV, "no virtual SoC among the render nodes",
		    "load its module: modprobe vsoc");
}

static int open_path(struct runner *runner, const char *which)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", strchr(which, '/') ? "" : drm_folder,
		 strchr(which, '/') ? "" : "/", which);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(runner, -errno, path, "");
	if (!is_vsoc(fd)) {
		close(fd);
		return fail(runner, -ENODEV, path, "it is no virtual SoC (driver vsoc)");
	}
	return fd;
}

/* --- stores --------------------------------------------------------------- */

static uint64_t store_bytes(const struct runner *runner)
{
	const unsigned int tpcs =
		runner->info.shader_present ?
			64 - (unsigned int)__builtin_clzll(runner->info.shader_present) :
			0;
	const uint64_t bytes = tpcs * sizeof(struct drm_vsoc_mp_record);

	return (bytes + DRM_VSOC_MP_STORE_ALIGN - 1) / DRM_VSOC_MP_STORE_ALIGN *
	       DRM_VSOC_MP_STORE_ALIGN;
}

const struct drm_vsoc_mp_record *runner_record(const struct runner *runner, const char *stores,
					       uint32_t store, unsigned int tpc)
{
	const void *records = stores + store * store_bytes(runner);

	return (const struct drm_vsoc_mp_record *)records + tpc;
}

static void free_stores(struct runner *runner, struct runner_job *job)
{
	struct drm_gem_close gem_close = { .handle = job->stores_handle };

	if (!job->stores)
		return;
	munmap(job->stores, job->store_count * store_bytes(runner));
	ioctl(runner->fd, DRM_IOCTL_GEM_CLOSE, &gem_close);
	job->stores = NULL;
}

/* allocates a buffer for the store commands of @job, if any, and copies the job with its address */
static int give_stores(struct runner *runner, const struct job **job, struct runner_job *queued)
{
	struct drm_vsoc_bo_create create = { 0 };
	uint32_t store = 0;
	void *map;
	int error = 0;

	for (size_t i = 0; i < (*job)->count; i++)
		queued->store_count += (*job)->commands[i].type == DRM_VSOC_CMD_MP_STORE;
	if (!queued->store_count)
		return 0;
	create.size = queued->store_count * store_bytes(runner);
	if (ioctl(runner->fd, DRM_IOCTL_VSOC_BO_CREATE, &create))
		return fail(runner, -errno, "a buffer to store to", "");
	queued->stores_handle = create.handle;
	map = mmap(NULL, queued->store_count * store_bytes(runner), PROT_READ | PROT_WRITE,
		   MAP_SHARED, runner->fd, (off_t)create.mmap_offset);
	if (map == MAP_FAILED) {
		struct drm_gem_close gem_close = { .handle = create.handle };

		error = fail(runner, -errno, "mapping a buffer to store to", "");
		ioctl(runner->fd, DRM_IOCTL_GEM_CLOSE, &gem_close);
		return error;
	}
	queued->stores = map;

	job_clear(&runner->stored);
	for (size_t i = 0; !error && i < (*job)->count; i++) {
		struct drm_vsoc_command command = (*job)->commands[i];

		if (command.type == DRM_VSOC_CMD_MP_STORE) {
			command.mp_store.handle = create.handle;
			command.mp_store.offset = store++ * store_bytes(runner);
		}
		error = job_add(&runner->stored, &command);
	}
	*job = &runner->stored;
	return error ? fail(runner, error, "stores of a job", "") : 0;
}

static int create_contexts(struct runner *runner, uint32_t count, bool concurrent)
{
	uint32_t *context;

	runner->contexts = calloc(count, sizeof(*runner->contexts));
	if (!runner->contexts)
		return fail(runner, -ENOMEM, "contexts", "");

	for (; runner->context_count < count; runner->context_count++) {
		struct drm_vsoc_ctx_create create = {
			.flags = concurrent ? DRM_VSOC_CTX_CONCURRENT : 0,
		};

		context = &runner->contexts[runner->context_count];
		*context = DRM_VSOC_CTX_DEFAULT;
		if (!concurrent && !runner->context_count)
			continue;

		if (ioctl(runner->fd, DRM_IOCTL_VSOC_CTX_CREATE, &create)) {
			char help[64];

			snprintf(help, sizeof(help), "the device has %u for each file",
				 runner->info.max_contexts);
			return fail(runner, -errno, "creating contexts", help);
		}
		*context = create.ctx_id;
	}
	return 0;
}

int runner_open(struct runner *runner, const char *which, int fd, uint32_t contexts,
		bool concurrent)
{
	struct drm_vsoc_get_info get = {
		.pointer = (uintptr_t)&runner->info,
		.size = sizeof(runner->info),
	};

	runner->owns_fd = fd < 0;
	if (fd < 0)
		fd = which ? open_path(runner, which) : find_vsoc(runner);
	runner->fd = fd;
	if (fd < 0)
		return fd;

	if (ioctl(fd, DRM_IOCTL_VSOC_GET_INFO, &get))
		return fail(runner, -errno, "asking the device for its shape",
			    runner->owns_fd ? "" : "is --fd a file of a virtual SoC?");
	return create_contexts(runner, contexts, concurrent);
}

void runner_close(struct runner *runner)
{
	for (size_t i = 0; i < runner->queue_count; i++)
		free_stores(runner, &runner->queue[i]);
	for (uint32_t i = 0; i < runner->context_count; i++) {
		struct drm_vsoc_ctx_destroy destroy = { .ctx_id = runner->contexts[i] };

		if (destroy.ctx_id != DRM_VSOC_CTX_DEFAULT)
			ioctl(runner->fd, DRM_IOCTL_VSOC_CTX_DESTROY, &destroy);
	}
	if (runner->owns_fd && runner->fd >= 0)
		close(runner->fd);
	job_free(&runner->sampled);
	job_free(&runner->stored);
	free(runner->contexts);
	free(runner->queue);
	runner->contexts = NULL;
	runner->queue = NULL;
	runner->context_count = 0;
	runner->queue_count = 0;
	runner->fd = -1;
}

static void finish_job(struct runner *runner, size_t at, const struct runner_result *result)
{
	struct runner_job job = runner->queue[at];

	runner->queue_count--;
	memmove(&runner->queue[at], &runner->queue[at + 1],
		(runner->queue_count - at) * sizeof(*runner->queue));

	if (result->status == -ETIME)
		runner->timed_out++;
	else if (result->status)
		runner->cancelled++;
	else
		runner->done++;
	runner->sample_errors += result->sample_errors;
	if (runner->on_result)
		runner->on_result(runner->on_result_data, result);
	free_stores(runner, &job);
}

static int wait_job(struct runner *runner, size_t at)
{
	const struct runner_job job = runner->queue[at];
	struct runner_result result = {
		.id = job.id,
		.ctx_id = job.ctx_id,
		.commands = job.commands,
		.stores = job.stores,
		.store_count = job.store_count,
	};
	uint64_t end_ns = runner_now_ns() + runner->timeout_ns;

	for (;;) {
		struct drm_vsoc_wait wait = { .job_id = job.id };
		uint64_t now_ns = runner_now_ns();
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;

		if (stopped(runner))
			return -EINTR;
		wait.timeout_ns = (int64_t)(left_ns < WAIT_STEP_NS ? left_ns : WAIT_STEP_NS);
		if (!ioctl(runner->fd, DRM_IOCTL_VSOC_WAIT, &wait)) {
			result.status = wait.status;
			result.sample_errors = wait.sample_errors;
			result.sample_errno = wait.sample_errno;
			finish_job(runner, at, &result);
			return 0;
		}
		if (errno == EINTR || (errno == ETIME && left_ns))
			continue;
		if (errno != ETIME)
			return fail(runner, -errno, "waiting for a job", "");
		result.status = -ETIME;
		finish_job(runner, at, &result);
		return 0;
	}
}

int runner_wait(struct runner *runner, size_t left)
{
	while (runner->queue_count > left) {
		int ret = wait_job(runner, 0);

		if (ret)
			return ret;
	}
	return 0;
}

static int wait_oldest_of(struct runner *runner, uint32_t ctx_id)
{
	for (size_t i = 0; i < runner->queue_count; i++)
		if (runner->queue[i].ctx_id == ctx_id)
			return wait_job(runner, i);
	return fail(runner, -EAGAIN, "submitting a job",
		    "the context is full of jobs of another process");
}

static const char *submit_help(const struct runner *runner, int error, const struct job *job)
{
	if (error == E2BIG && job->count > runner->info.max_commands)
		return "too many commands in one job, see vsoc-job --info";
	if (error == EINVAL)
		return "a field is out of range; vsoc-job --info shows the limits, "
		       "echo 2 > /sys/module/drm/parameters/debug and dmesg the field";
	if (error == ENOENT)
		return "a sample command names no session of this device";
	if (error == EOPNOTSUPP)
		return "methods and store are for devices with product=nv50";
	return "";
}

static int add_sample(struct runner *runner, uint64_t user_data)
{
	const struct drm_vsoc_command command = {
		.type = DRM_VSOC_CMD_SAMPLE,
		.sample.session = runner->sample_session,
		.sample.user_data = user_data,
	};

	return job_add(&runner->sampled, &command);
}

/* Adds samples before and after the job: the last one has the job's counts. */
static int put_samples_around(struct runner *runner, const struct job *job, uint32_t ctx_id)
{
	int error;

	job_clear(&runner->sampled);
	error = add_sample(runner, 0);
	for (size_t i = 0; !error && i < job->count; i++)
		error = job_add(&runner->sampled, &job->commands[i]);
	if (!error)
		error = add_sample(runner, UINT64_C(1) + ctx_id);
	return error ? fail(runner, error, "samples around a job", "") : 0;
}

static int submit(struct runner *runner, const struct job *job)
{
	const uint32_t ctx_id = runner->contexts[runner->next_context];
	struct runner_job queued = { .ctx_id = ctx_id };
	struct drm_vsoc_submit submit;
	int ret;

	if (runner->sample_session && !runner->fenced) {
		ret = put_samples_around(runner, job, ctx_id);
		if (ret)
			return ret;
		job = &runner->sampled;
	}

	if (runner->queue_count == runner->queue_capacity) {
		size_t capacity = runner->queue_capacity ? runner->queue_capacity * 2 : 64;
		void *queue = realloc(runner->queue, capacity * sizeof(*runner->queue));

		if (!queue)
			return fail(runner, -ENOMEM, "queue of jobs", "");
		runner->queue = queue;
		runner->queue_capacity = capacity;
	}
	ret = give_stores(runner, &job, &queued);
	if (ret) {
		free_stores(runner, &queued);
		return ret;
	}

	for (;;) {
		submit = (struct drm_vsoc_submit){
			.ctx_id = ctx_id,
			.commands = (uintptr_t)job->commands,
			.command_count = (uint32_t)job->count,
			.command_stride = sizeof(*job->commands),
		};
		ret = 0;
		if (stopped(runner)) {
			ret = -EINTR;
			break;
		}
		if (!ioctl(runner->fd, DRM_IOCTL_VSOC_SUBMIT, &submit))
			break;
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			ret = wait_oldest_of(runner, ctx_id);
		else
			ret = fail(runner, -errno, "submitting a job",
				   submit_help(runner, errno, job));
		if (ret)
			break;
	}
	if (ret) {
		free_stores(runner, &queued);
		return ret;
	}

	runner->next_context = (runner->next_context + 1) % runner->context_count;
	queued.id = submit.job_id;
	queued.commands = (uint32_t)job->count;
	runner->queue[runner->queue_count++] = queued;
	runner->submitted++;
	for (size_t i = 0; i < job->count; i++)
		command_amounts_add(runner->amounts, &job->commands[i]);
	return 0;
}

/* a sample between jobs, in which all blocks end at the same time */
static void sample_now(struct runner *runner, uint64_t user_data)
{
	struct drm_perfctr_command command = { .user_data = user_data };

	runner->sample_errors +=
		!!ioctl(runner->sample_session, DRM_PERFCTR_IOCTL_SAMPLE, &command);
}

int runner_submit(struct runner *runner, const struct job *job)
{
	const uint32_t ctx_id = runner->contexts[runner->next_context];
	int ret;

	if (!runner->fenced)
		return submit(runner, job);
	sample_now(runner, 0);
	ret = submit(runner, job);
	if (!ret)
		ret = runner_wait(runner, 0);
	sample_now(runner, UINT64_C(1) + ctx_id);
	return ret;
}
