// SPDX-License-Identifier: MIT
/*
 * The command perfctr on a machine with an Intel GPU and a Mali. Both work all the time, or on
 * $GPU_JOBS; a job of no units unplugs those that $GPU_UNPLUG names, "intel mali". Another program
 * has the counters of those that $GPU_TAKEN names, and after a job of one unit those of
 * $GPU_TAKEN_LATER.
 */
#include <string.h>

#include "host/open.h"
#include "live.h"
#include "gpus.h"

enum {
	FILES = 1024,
	KBASE_SETUP = 0xc0108039, /* returns a file */
};

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

static const struct perfctr_sys *intel, *mali;
static bool is_mali[FILES];

static bool is_named(const char *variable, const char *gpu)
{
	const char *names = getenv(variable);

	return names && strstr(names, gpu);
}

static const struct perfctr_sys *of_file(int fd)
{
	return fd >= 0 && fd < FILES && is_mali[fd] ? mali : intel;
}

static const struct perfctr_sys *of_path(const char *path)
{
	return !strcmp(path, "/dev") || !strncmp(path, "/dev/mali", 9) ||
			       !strncmp(path, "/sys/dev/char/10:", 17) ?
		       mali :
		       intel;
}

/* A file that was opened by a GPU's driver is the driver's. */
static int note(const struct perfctr_sys *driver, int fd)
{
	if (fd >= 0 && fd < FILES)
		is_mali[fd] = driver == mali;
	return fd;
}

static int do_open(void *data, const char *path, int flags)
{
	return note(of_path(path), of_path(path)->open(data, path, flags));
}

static int do_close(void *data, int fd)
{
	const struct perfctr_sys *driver = of_file(fd);

	note(intel, fd);
	return driver->close(data, fd);
}

static int do_dup(void *data, int fd)
{
	return note(of_file(fd), of_file(fd)->dup(data, fd));
}

static int do_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	const struct perfctr_sys *driver = of_file(fd);
	int result = driver->ioctl(data, fd, request, argument);

	return driver == mali && (unsigned int)request == KBASE_SETUP ? note(mali, result) : result;
}

static int do_mmap(void *data, int fd, uint64_t offset, size_t size, bool writable, void **address)
{
	return of_file(fd)->mmap(data, fd, offset, size, writable, address);
}

static int do_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	return of_path(path)->list(data, path, fn, arg);
}

static int do_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	return of_path(path)->node_number(data, path, major, minor);
}

static void work(unsigned int units)
{
	if (!units && is_named("GPU_UNPLUG", "intel"))
		intel_gpu.unplug();
	if (!units && is_named("GPU_UNPLUG", "mali"))
		mali_gpu.unplug();
	if (units == 1 && is_named("GPU_TAKEN_LATER", "mali"))
		mali_gpu.take();
	mali_gpu.work(units);
	intel_gpu.work(units);
}

static void *go_on(void *arg)
{
	for (;;)
		work(1000);
	return NULL;
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	static struct perfctr_sys sys;
	pthread_t thread;

	if (intel)
		return perfctr_ctx_new_with(&sys, ctx);
	intel = intel_gpu.make();
	mali = mali_gpu.make();
	sys = *intel;
	sys.open = do_open;
	sys.close = do_close;
	sys.dup = do_dup;
	sys.ioctl = do_ioctl;
	sys.mmap = do_mmap;
	sys.munmap = mali->munmap;
	sys.list = do_list;
	sys.node_number = do_node_number;
	if (is_named("GPU_TAKEN", "intel"))
		intel_gpu.take();
	if (is_named("GPU_TAKEN", "mali"))
		mali_gpu.take();
	if (!live_take_jobs(work))
		pthread_create(&thread, NULL, go_on, NULL);
	return perfctr_ctx_new_with(&sys, ctx);
}
