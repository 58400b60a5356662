// SPDX-License-Identifier: MIT
/* Devices of the kernel: the operations of a link as the ioctls of perfctr_drm.h, version 4. */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 4 };

struct kernel {
	struct perfctr_ctx *ctx;
	int fd;
	/* what fdinfo says: number of QUERY, 0: no counters; version of the interface */
	unsigned int nr, version;
	bool explained;
};

static int fail_old(struct kernel *k)
{
	k->explained = true;
	return perfctr_fail(k->ctx, -EPROTONOSUPPORT,
			    "the kernel modules are too old: this library needs interface "
			    "version %d; update perfctr-dkms",
			    LEAST_VERSION);
}

static int kernel_query(void *data, struct drm_perfctr_query *query)
{
	struct kernel *k = data;

	k->explained = false;
	if (k->version && k->version < LEAST_VERSION)
		return fail_old(k);
	if (!k->nr)
		return -ENOTTY;
	return k->ctx->sys->ioctl(k->ctx->sys->data, k->fd, DRM_PERFCTR_IOCTL_QUERY(k->nr), query);
}

static int kernel_open(void *data, struct session_setup *s, int *session)
{
	struct kernel *k = data;
	const struct perfctr_sys *sys = k->ctx->sys;
	struct drm_perfctr_open open = {
		.flags = s->flags,
		.slots = s->slots,
		.period_ns = s->period_ns,
		.eventfd = -1,
		.watermark = s->watermark,
		.requests = (uintptr_t)s->requests,
		.request_count = s->request_count,
		.request_stride = sizeof(*s->requests),
		.layout = (uintptr_t)&s->layout,
		.layout_size = sizeof(s->layout),
	};
	int result;

	k->explained = false;
	if (!(s->flags & DRM_PERFCTR_OPEN_CHECK)) {
		open.eventfd = sys->eventfd(sys->data);
		if (open.eventfd < 0) {
			k->explained = true;
			return perfctr_fail(k->ctx, open.eventfd, "cannot create an eventfd: %s",
					    strerror(-open.eventfd));
		}
	}
	result = sys->ioctl(sys->data, k->fd, DRM_PERFCTR_IOCTL_OPEN(k->nr), &open);
	if (result < 0) {
		if (open.eventfd >= 0)
			sys->close(sys->data, open.eventfd);
		return result;
	}
	s->eventfd = open.eventfd;
	*session = s->flags & DRM_PERFCTR_OPEN_CHECK ? -1 : result;
	return 0;
}

static int run_command(struct kernel *k, int session, unsigned long request, uint64_t user_data)
{
	struct drm_perfctr_command command = { .user_data = user_data };

	k->explained = false;
	return k->ctx->sys->ioctl(k->ctx->sys->data, session, request, &command);
}

static int kernel_start(void *data, int session, uint64_t user_data)
{
	return run_command(data, session, DRM_PERFCTR_IOCTL_START, user_data);
}

static int kernel_sample(void *data, int session, uint64_t user_data)
{
	return run_command(data, session, DRM_PERFCTR_IOCTL_SAMPLE, user_data);
}

static int kernel_stop(void *data, int session, uint64_t user_data)
{
	return run_command(data, session, DRM_PERFCTR_IOCTL_STOP, user_data);
}

static int kernel_status(void *data, int session, struct drm_perfctr_status *status)
{
	struct kernel *k = data;

	k->explained = false;
	return k->ctx->sys->ioctl(k->ctx->sys->data, session, DRM_PERFCTR_IOCTL_STATUS, status);
}

static int kernel_map(void *data, int session, const struct session_setup *setup,
		      struct mapping *control, struct mapping *ring)
{
	struct kernel *k = data;

	return session_map_ring(k->ctx, session, setup, control, ring);
}

static int kernel_reader(void *data, int session)
{
	struct kernel *k = data;

	k->explained = false;
	return k->ctx->sys->ioctl(k->ctx->sys->data, session, DRM_PERFCTR_IOCTL_READER, NULL);
}

static void kernel_close(void *data, int session)
{
	struct kernel *k = data;

	k->ctx->sys->close(k->ctx->sys->data, session);
}

static bool kernel_explained(const void *data)
{
	const struct kernel *k = data;

	return k->explained;
}

static void kernel_free(void *data)
{
	struct kernel *k = data;

	k->ctx->sys->close(k->ctx->sys->data, k->fd);
	free(k);
}

static const struct device_link kernel_link = {
	.kind = LINK_KERNEL,
	.query = kernel_query,
	.open = kernel_open,
	.start = kernel_start,
	.sample = kernel_sample,
	.stop = kernel_stop,
	.status = kernel_status,
	.map = kernel_map,
	.reader = kernel_reader,
	.close = kernel_close,
	.explained = kernel_explained,
	.free = kernel_free,
};

/* fdinfo has the numbers of the driver's ioctls. Modules of version 3 have other lines. */
static int read_numbers(struct kernel *k)
{
	char path[64], *text;
	const char *line;
	int length;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", k->fd);
	length = perfctr_sys_read_all(k->ctx->sys, path, &text);
	if (length < 0)
		return perfctr_fail(k->ctx, length,
				    "%s, which has the numbers of the device's ioctls: %s", path,
				    strerror(-length));
	line = strstr(text, "drm-perfctr:");
	if (!line || sscanf(line, "drm-perfctr: %u ioctls %x", &k->version, &k->nr) != 2)
		k->version = strstr(text, "perfctr-sessions:") ? LEAST_VERSION - 1 : 0;
	free(text);
	return 0;
}

int session_kernel_link(struct perfctr_ctx *ctx, int fd, const struct device_link **link,
			void **data)
{
	struct kernel *k = calloc(1, sizeof(*k));
	int error;

	if (!k)
		return perfctr_no_memory(ctx);
	k->ctx = ctx;
	k->fd = fd;
	error = read_numbers(k);
	if (error) {
		free(k);
		return error;
	}
	*link = &kernel_link;
	*data = k;
	return 0;
}
