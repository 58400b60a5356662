/* SPDX-License-Identifier: MIT */
/* What an open session that nobody asks for samples does to a driver: calls in a time. */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include "base/ctx.h"
#include "fixture.h"

static struct {
	struct perfctr_sys sys;
	const struct perfctr_sys *below;
	atomic_uint calls;
} idle;

static inline int idle_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	idle.calls++;
	return idle.below->ioctl(data, fd, request, argument);
}

static inline ssize_t idle_read(void *data, int fd, void *bytes, size_t size)
{
	idle.calls++;
	return idle.below->read(data, fd, bytes, size);
}

static inline int idle_open(void *data, const char *path, int flags)
{
	idle.calls++;
	return idle.below->open(data, path, flags);
}

/* Call it before the device is opened. */
static inline void idle_watch(void)
{
	idle.below = ctx->sys;
	idle.sys = *ctx->sys;
	idle.sys.ioctl = idle_ioctl;
	idle.sys.read = idle_read;
	idle.sys.open = idle_open;
	ctx->sys = &idle.sys;
}

/* Return: ioctls, reads and opened files in @ms. */
static inline unsigned int idle_calls(unsigned int ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };
	unsigned int before = idle.calls;

	nanosleep(&pause, NULL);
	return idle.calls - before;
}
