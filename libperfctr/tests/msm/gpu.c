// SPDX-License-Identifier: MIT
/* The machine around the kernel's msm_perfcntr.c: a thread is its timer, the ring and the files. */
#include "gpu.h"

#include <drm.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"
#include "msm_perfcntr.h"

#include "drm/msm_drm.h"
#include "test.h"

#define DEVICE "/sys/bus/platform/drivers/adreno"
#define POWER DEVICE "/3d00000.gpu/power/"
#define DEVFREQ DEVICE "/3d00000.gpu/devfreq/3d00000.gpu/"

enum { MAX_FILES = 256, MAX_REGISTERS = 1024, MAX_TRUTHS = 64, HZ = 19200000 };

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	bool ends;
	struct gpu_options options;
	struct perfctr_sys sys;

	struct drm_device drm;
	struct msm_drm_private private;
	struct platform_device pdev;
	struct msm_gpu gpu;
	struct msm_ringbuffer ring;
	struct msm_rbmemptrs memptrs;
	struct adreno_gpu adreno;
	struct drm_file ours, other;
	struct msm_context our_context, other_context;

	/* what a number of a file is: of the node, or of a stream */
	struct {
		unsigned int node;
		struct file *stream;
	} files[MAX_FILES];
	unsigned int open_nodes;
	struct file *other_stream;
	const char *next_group; /* that the other reserves when a stream ends, or NULL */
	unsigned int next_counters;
	struct hrtimer *timer;
	uint64_t period_ns;
	struct work_struct *work;
	bool blocked, denied, gone;
	unsigned int sysprof;
	uint64_t suspends, suspended_at_ns, suspended_ns;

	/* by number of the register: what it counts, and the count */
	struct {
		uint32_t reg;
		unsigned int group, countable;
		uint64_t value;
	} registers[MAX_REGISTERS];
	unsigned int register_count;
	struct {
		unsigned int group, countable;
		uint64_t sum;
	} truths[MAX_TRUTHS];
	struct gpu_state state;
	size_t partial;
} g;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void lock(void)
{
	pthread_mutex_lock(&g.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&g.lock);
}

/* --- what the kernel's code calls, under the lock ------------------------------------- */

void gpu_note(const char *format, ...)
{
	va_list args;

	if (!getenv("GPU_NOTES"))
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

bool perfmon_capable(void)
{
	return !g.denied;
}

struct adreno_gpu *to_adreno_gpu(struct msm_gpu *gpu)
{
	return &g.adreno;
}

static uint64_t get_timestamp(struct msm_gpu *gpu)
{
	const uint64_t ns = now_ns();

	return UINT64_C(7) * HZ + ns / 1000000000 * HZ + ns % 1000000000 * HZ / 1000000000;
}

static unsigned int register_at(uint32_t reg)
{
	for (unsigned int n = 0; n < g.register_count; n++)
		if (g.registers[n].reg == reg)
			return n;
	abort();
}

uint64_t gpu_read64(struct msm_gpu *gpu, uint32_t reg)
{
	assert(g.pdev.dev.active);
	return g.registers[register_at(reg)].value;
}

/* The registers keep their values when they are set to count something else. */
static void configure(struct msm_gpu *gpu, struct msm_ringbuffer *ring,
		      const struct msm_perfcntr_stream *stream)
{
	for (unsigned int i = 0; i < stream->nr_groups; i++) {
		const unsigned int n = msm_perfcntr_group_idx(stream, i);
		const unsigned int base = msm_perfcntr_counter_base(stream, n);
		const struct msm_perfcntr_group_state *state = gpu->perfcntrs->groups[n];

		assert(state->allocated_counters);
		for (unsigned int j = 0; j < state->allocated_counters; j++) {
			const uint32_t reg =
				gpu->perfcntr_groups[n].counters[base + j].counter_reg_lo;

			g.registers[register_at(reg)].countable = state->countables[j];
		}
	}
	ring->memptrs->perfcntr_fence = stream->sel_fence;
}

void gpu_queue_work(struct work_struct *work)
{
	work->pending = true;
	g.work = work;
}

void gpu_cancel_work(struct work_struct *work)
{
	work->pending = false;
	if (g.work == work)
		g.work = NULL;
}

void gpu_start_timer(struct hrtimer *timer, uint64_t period_ns)
{
	timer->active = true;
	g.timer = timer;
	g.period_ns = period_ns;
	if (!g.state.shortest_ns || period_ns < g.state.shortest_ns)
		g.state.shortest_ns = period_ns;
}

static int number_of(const struct file *file)
{
	for (int fd = 0; fd < MAX_FILES; fd++)
		if (g.files[fd].stream == file)
			return fd;
	return -1;
}

void gpu_wake(void)
{
	const uint64_t one = 1;
	struct msm_perfcntr_stream *stream = g.gpu.perfcntrs->stream;

	g.state.records++;
	for (int fd = 0; fd < MAX_FILES; fd++)
		if (g.files[fd].stream && g.files[fd].stream->private_data == stream &&
		    write(fd, &one, sizeof(one)) < 0)
			abort();
}

struct prepared gpu_prepare_file(const struct file_operations *ops, void *data)
{
	struct file *file = calloc(1, sizeof(*file));

	file->ops = ops;
	file->private_data = data;
	return (struct prepared){ .file = file };
}

void gpu_drop_file(struct prepared *prepared)
{
	free(prepared->file);
}

/* An eventfd is readable while the stream has bytes. */
int gpu_publish_file(struct prepared *prepared)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	assert(fd >= 0 && fd < MAX_FILES);
	g.files[fd].stream = prepared->file;
	prepared->file = NULL;
	return fd;
}

/* --- the machine's thread --------------------------------------------------------------- */

static void run_period(void)
{
	if (g.timer && g.timer->active)
		g.timer->function(g.timer);
	if (g.work && g.work->pending && !g.blocked) {
		g.work->pending = false;
		g.work->function(g.work);
	}
}

static void *run(void *arg)
{
	lock();
	while (!g.ends) {
		const uint64_t ns = g.timer && g.timer->active ? g.period_ns : 1000000;
		const struct timespec pause = { .tv_nsec = (long)ns };

		unlock();
		nanosleep(&pause, NULL);
		lock();
		run_period();
	}
	unlock();
	return NULL;
}

/* --- system calls ------------------------------------------------------------------------ */

static int param(struct drm_msm_param *args, bool set)
{
	if (args->pipe != MSM_PIPE_3D0 || args->pad)
		return -EINVAL;
	if (set && args->param == MSM_PARAM_SYSPROF) {
		g.sysprof = (unsigned int)args->value;
		return g.denied ? -EPERM : 0;
	}
	args->value = args->param == MSM_PARAM_CHIP_ID	? g.options.chip :
		      args->param == MSM_PARAM_MAX_FREQ ? 1000000000 :
							  g.suspends;
	return set || (args->param != MSM_PARAM_CHIP_ID && args->param != MSM_PARAM_MAX_FREQ &&
		       args->param != MSM_PARAM_SUSPENDS) ?
		       -EINVAL :
		       0;
}

static int do_ioctl(unsigned long request, void *argument)
{
	struct drm_version *version = argument;

	if (g.gone)
		return -ENODEV;
	switch (request) {
	case DRM_IOCTL_VERSION:
		memcpy(version->name, "msm", 3);
		version->name_len = 3;
		return 0;
	case DRM_IOCTL_MSM_GET_PARAM:
		return param(argument, false);
	case DRM_IOCTL_MSM_SET_PARAM:
		return param(argument, true);
	case DRM_IOCTL_MSM_PERFCNTR_CONFIG:
		return g.options.old ? -EINVAL :
				       msm_ioctl_perfcntr_config(&g.drm, argument, &g.ours);
	default:
		return -EINVAL;
	}
}

static int gpu_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	int result;

	if (fd < 0 || fd >= MAX_FILES || !g.files[fd].node)
		return perfctr_sys_real.ioctl(data, fd, request, argument);
	lock();
	result = do_ioctl(request, argument);
	unlock();
	return result;
}

static ssize_t gpu_read(void *data, int fd, void *bytes, size_t size)
{
	struct msm_perfcntr_stream *stream;
	uint64_t signals;
	loff_t at = 0;
	ssize_t got;

	if (fd < 0 || fd >= MAX_FILES || !g.files[fd].stream)
		return perfctr_sys_real.read(data, fd, bytes, size);
	lock();
	stream = g.files[fd].stream->private_data;
	got = g.files[fd].stream->ops->read(g.files[fd].stream, bytes, size, &at);
	if (got > 0) {
		g.state.splits += (g.partial + (size_t)got) % stream->period_size != 0;
		g.partial = (g.partial + (size_t)got) % stream->period_size;
	}
	if (!g.files[fd].stream->ops->poll(g.files[fd].stream, NULL) &&
	    read(fd, &signals, sizeof(signals)) < 0)
		abort();
	unlock();
	return got;
}

static void close_node(void)
{
	if (--g.open_nodes)
		return;
	free(g.our_context.perfctx);
	g.our_context.perfctx = NULL;
	g.sysprof = 0;
}

static int configure_other(const char *group, unsigned int counters, unsigned int flags)
{
	uint32_t countables[32] = { 0 };
	struct drm_msm_perfcntr_group request = { .nr_countables = counters };
	struct drm_msm_perfcntr_config config = {
		.flags = flags,
		.nr_groups = 1,
		.groups = (uintptr_t)&request,
		.group_stride = sizeof(request),
	};

	strcpy(request.group_name, group);
	if (flags & MSM_PERFCNTR_STREAM) {
		request.countables = (uintptr_t)countables;
		config.period = 1000000;
		config.bufsz_shift = 12;
	}
	return msm_ioctl_perfcntr_config(&g.drm, &config, &g.other);
}

static void end_stream(struct file *file)
{
	file->ops->release(NULL, file);
	if (g.next_group && configure_other(g.next_group, g.next_counters, 0))
		abort();
	g.next_group = NULL;
}

static void close_file(int fd)
{
	if (g.files[fd].stream) {
		end_stream(g.files[fd].stream);
		if (g.timer && !g.gpu.perfcntrs->stream)
			g.timer = NULL;
		free(g.files[fd].stream);
		g.partial = 0;
	} else if (g.files[fd].node) {
		close_node();
	}
	memset(&g.files[fd], 0, sizeof(g.files[fd]));
}

static int gpu_close(void *data, int fd)
{
	lock();
	if (fd >= 0 && fd < MAX_FILES)
		close_file(fd);
	unlock();
	return perfctr_sys_real.close(data, fd);
}

static int gpu_dup(void *data, int fd)
{
	int copy = perfctr_sys_real.dup(data, fd);

	lock();
	if (copy >= 0 && copy < MAX_FILES && g.files[fd].node) {
		g.files[copy].node = 1;
		g.open_nodes++;
	}
	unlock();
	return copy;
}

static int text_file(const char *text)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (pwrite(fd, text, strlen(text), 0) < 0)
		abort();
	return fd;
}

static int gpu_open(void *data, const char *path, int flags)
{
	char text[32];
	uint64_t ns;
	int fd;

	if (!strcmp(path, GPU_NODE)) {
		fd = text_file("");
		lock();
		g.files[fd].node = 1;
		g.open_nodes++;
		unlock();
		return fd;
	}
	if (strncmp(path, DEVICE, strlen(DEVICE)) != 0)
		return perfctr_sys_real.open(data, path, flags);
	lock();
	ns = g.suspended_ns + (g.pdev.dev.active ? 0 : now_ns() - g.suspended_at_ns);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(ns / 1000000));
	if (!strcmp(path, POWER "runtime_status"))
		strcpy(text, g.pdev.dev.active ? "active\n" : "suspended\n");
	else if (!strcmp(path, DEVFREQ "cur_freq"))
		strcpy(text, "300000000\n");
	else if (!strcmp(path, DEVFREQ "available_frequencies"))
		strcpy(text, "300000000 900000000\n");
	else if (strcmp(path, POWER "runtime_suspended_time") != 0)
		*text = '\0';
	unlock();
	return *text ? text_file(text) : -ENOENT;
}

static int gpu_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	int error;

	if (!strcmp(path, "/dev/dri"))
		return fn(arg, strrchr(GPU_NODE, '/') + 1);
	if (!strcmp(path, DEVICE "/3d00000.gpu/devfreq") && !g.options.no_sysfs)
		return fn(arg, "3d00000.gpu");
	if (strcmp(path, DEVICE) != 0)
		return perfctr_sys_real.list(data, path, fn, arg);
	if (g.options.no_sysfs)
		return -ENOENT;
	error = fn(arg, "3d00000.gpu");
	return error ? error : fn(arg, "bind");
}

static int gpu_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	*major = 226;
	*minor = 128;
	return 0;
}

/* --- the tests' side ------------------------------------------------------------------------- */

static const struct msm_gpu_funcs funcs = { .perfcntr_configure = configure };
static const struct adreno_gpu_funcs adreno_funcs = { .get_timestamp = get_timestamp };

static void power_up_registers(void)
{
	g.register_count = 0;
	for (unsigned int n = 0; n < g.gpu.num_perfcntr_groups; n++)
		for (unsigned int i = 0; i < g.gpu.perfcntr_groups[n].num_counters; i++) {
			assert(g.register_count < MAX_REGISTERS);
			g.registers[g.register_count].reg =
				g.gpu.perfcntr_groups[n].counters[i].counter_reg_lo;
			g.registers[g.register_count].group = n;
			g.registers[g.register_count].countable = UINT32_MAX;
			g.registers[g.register_count++].value = 0;
		}
}

struct perfctr_sys *gpu_begin(const struct gpu_options *options)
{
	memset(&g, 0, sizeof(g));
	pthread_mutex_init(&g.lock, NULL);
	g.options = *options;
	g.private.gpu = &g.gpu;
	g.drm.dev_private = &g.private;
	g.drm.filelist.next = &g.ours.lhead;
	g.ours.lhead.next = &g.other.lhead;
	g.other.lhead.next = &g.drm.filelist;
	g.ours.driver_priv = &g.our_context;
	g.other.driver_priv = &g.other_context;
	g.ring.memptrs = &g.memptrs;
	g.adreno.funcs = &adreno_funcs;
	g.pdev.dev.active = true;
	g.gpu.pdev = &g.pdev;
	g.gpu.dev = &g.drm;
	g.gpu.rb[0] = &g.ring;
	g.gpu.funcs = &funcs;
	if (options->generation >= 6) {
		g.gpu.perfcntr_groups = options->generation == 6 ? a6xx_perfcntr_groups :
					options->generation == 7 ? a7xx_perfcntr_groups :
								   a8xx_perfcntr_groups;
		g.gpu.num_perfcntr_groups = options->generation == 6 ? a6xx_num_perfcntr_groups :
					    options->generation == 7 ? a7xx_num_perfcntr_groups :
								       a8xx_num_perfcntr_groups;
	}
	g.gpu.perfcntrs = msm_perfcntr_init(&g.gpu);
	power_up_registers();
	g.sys = perfctr_sys_real;
	g.sys.ioctl = gpu_ioctl;
	g.sys.read = gpu_read;
	g.sys.close = gpu_close;
	g.sys.dup = gpu_dup;
	g.sys.open = gpu_open;
	g.sys.list = gpu_list;
	g.sys.node_number = gpu_node_number;
	pthread_create(&g.thread, NULL, run, NULL);
	return &g.sys;
}

static void go_on(void)
{
	unlock();
	pthread_create(&g.thread, NULL, run, NULL);
}

void gpu_follow_forks(void)
{
	pthread_atfork(lock, unlock, go_on);
}

void gpu_end(void)
{
	lock();
	g.ends = true;
	unlock();
	pthread_join(g.thread, NULL);
	EQUAL(gpu_state().files, 0);
	EQUAL(gpu_state().allocated, 0);
	EQUAL(gpu_state().sysprof, 0);
	free(g.other_context.perfctx);
	msm_perfcntr_cleanup(&g.gpu);
}

static unsigned int group_of(const char *name)
{
	unsigned int n = 0;

	while (strcmp(g.gpu.perfcntr_groups[n].name, name) != 0)
		n++;
	return n;
}

static uint64_t *truth_of(const char *name, unsigned int countable)
{
	const unsigned int group = group_of(name);
	unsigned int n = 0;

	while (g.truths[n].sum &&
	       (g.truths[n].group != group || g.truths[n].countable != countable))
		n++;
	assert(n < MAX_TRUTHS);
	g.truths[n].group = group;
	g.truths[n].countable = countable;
	return &g.truths[n].sum;
}

static void do_work(const char *name, unsigned int countable, uint64_t count)
{
	const unsigned int group = group_of(name);

	assert(g.pdev.dev.active);
	for (unsigned int n = 0; n < g.register_count; n++)
		if (g.registers[n].group == group && g.registers[n].countable == countable)
			g.registers[n].value += count;
	*truth_of(name, countable) += count;
}

void gpu_work(const char *group, unsigned int countable, uint64_t count)
{
	lock();
	do_work(group, countable, count);
	unlock();
}

uint64_t gpu_truth(const char *group, unsigned int countable)
{
	uint64_t sum;

	lock();
	sum = *truth_of(group, countable);
	unlock();
	return sum;
}

static void suspend(void)
{
	msm_perfcntr_suspend(&g.gpu);
	g.suspends++;
	g.suspended_at_ns = now_ns();
	g.pdev.dev.active = false;
}

static void resume(void)
{
	power_up_registers();
	g.suspended_ns += now_ns() - g.suspended_at_ns;
	g.pdev.dev.active = true;
	msm_perfcntr_resume(&g.gpu);
}

void gpu_suspend(void)
{
	lock();
	suspend();
	unlock();
}

void gpu_resume(void)
{
	lock();
	resume();
	unlock();
}

void gpu_run(bool recovers, unsigned int periods, const char *group, unsigned int countable,
	     uint64_t count)
{
	lock();
	if (recovers) {
		suspend();
		resume();
	}
	while (periods--) {
		do_work(group, countable, count);
		run_period();
	}
	unlock();
}

void gpu_block_ring(bool blocked)
{
	lock();
	g.blocked = blocked;
	unlock();
}

void gpu_deny(bool denied)
{
	lock();
	g.denied = denied;
	unlock();
}

void gpu_unplug(void)
{
	lock();
	g.gone = true;
	unlock();
}

int gpu_reserve(const char *group, unsigned int counters)
{
	int error;

	lock();
	error = configure_other(group, counters, 0);
	unlock();
	return error;
}

void gpu_reserve_next(const char *group, unsigned int counters)
{
	lock();
	g.next_group = group;
	g.next_counters = counters;
	unlock();
}

int gpu_other_stream(const char *group, bool opens)
{
	int result = 0;

	lock();
	if (opens) {
		result = configure_other(group, 1, MSM_PERFCNTR_STREAM);
		if (result >= 0)
			g.other_stream = g.files[result].stream;
	} else {
		result = number_of(g.other_stream);
		close_file(result);
		close(result);
	}
	unlock();
	return result < 0 ? result : 0;
}

void gpu_kill(void)
{
	lock();
	for (int fd = 0; fd < MAX_FILES; fd++)
		if (g.files[fd].node || g.files[fd].stream)
			close_file(fd);
	unlock();
}

struct gpu_state gpu_state(void)
{
	struct gpu_state state;

	lock();
	state = g.state;
	state.has_stream = g.gpu.perfcntrs->stream;
	state.sysprof = g.sysprof;
	for (unsigned int n = 0; n < g.gpu.num_perfcntr_groups; n++) {
		const unsigned int allocated = g.gpu.perfcntrs->groups[n]->allocated_counters;

		/* the kernel has that for groups that were not asked for */
		state.allocated += allocated == UINT32_MAX ? 0 : allocated;
	}
	for (int fd = 0; fd < MAX_FILES; fd++)
		state.files += g.files[fd].node || g.files[fd].stream;
	unlock();
	return state;
}
