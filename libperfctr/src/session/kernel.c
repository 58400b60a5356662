// SPDX-License-Identifier: MIT
/* Devices of the kernel: the operations of a link as the ioctls of interface version 3. */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* version of the interface in perfctr_drm.h, and its predecessor */
	LEAST_VERSION = 3,
	OLD_SAMPLE_HEADER_SIZE = 64,
};

struct kernel {
	struct perfctr_ctx *ctx;
	int fd;
	char path[PATH_BYTES]; /* empty if unknown */
	bool explained;
};

/* Errors of drivers without the ioctl. */
static bool is_unknown_ioctl(int error)
{
	return error == -ENOTTY || error == -EINVAL || error == -ENOSYS || error == -EOPNOTSUPP ||
	       error == -EACCES || error == -EPROTO;
}

/* Return: 0; -ENOTTY it is another driver's answer; -EPROTONOSUPPORT the kernel is too old. */
static int check_info(struct kernel *k, const struct drm_perfctr_device_info *info)
{
	if (info->version >= LEAST_VERSION &&
	    info->sample_header_size >= sizeof(struct drm_perfctr_sample_header))
		return 0;
	if (!info->version || info->version >= LEAST_VERSION ||
	    info->sample_header_size != OLD_SAMPLE_HEADER_SIZE)
		return -ENOTTY;
	k->explained = true;
	return perfctr_fail(k->ctx, -EPROTONOSUPPORT,
			    "%s: the kernel modules are too old: this library needs interface "
			    "version %d",
			    k->path[0] ? k->path : "this DRM file", LEAST_VERSION);
}

static int kernel_query(void *data, struct drm_perfctr_query *query)
{
	struct kernel *k = data;
	const bool has_room = query->pointer && query->count &&
			      query->stride >= sizeof(struct drm_perfctr_device_info);
	int error = k->ctx->sys->ioctl(k->ctx->sys->data, k->fd, DRM_IOCTL_PERFCTR_QUERY, query);

	k->explained = false;
	if (query->type != DRM_PERFCTR_QUERY_DEVICE)
		return error;
	if (is_unknown_ioctl(error) || (!error && query->count != 1))
		return -ENOTTY;
	if (error || !has_room)
		return error;
	return check_info(k, (const void *)(uintptr_t)query->pointer);
}

static int kernel_control(void *data, uint32_t cmd, uint32_t *handle, void *argument, size_t bytes)
{
	struct kernel *k = data;
	struct drm_perfctr_control c = {
		.cmd = cmd,
		.handle = *handle,
		.size = bytes,
		.pointer = (uintptr_t)argument,
	};
	int error = k->ctx->sys->ioctl(k->ctx->sys->data, k->fd, DRM_IOCTL_PERFCTR_CONTROL, &c);

	k->explained = false;
	if (!error)
		*handle = c.handle;
	return error;
}

static int kernel_open(void *data, struct session_setup *s, uint32_t *session)
{
	struct kernel *k = data;
	const struct perfctr_sys *sys = k->ctx->sys;
	const bool is_test = s->flags & DRM_PERFCTR_SETUP_TEST_ONLY;
	struct drm_perfctr_setup setup = setup_of_session(s);
	int error;

	k->explained = false;
	if (!is_test) {
		setup.eventfd = sys->eventfd(sys->data);
		if (setup.eventfd < 0) {
			k->explained = true;
			return perfctr_fail(k->ctx, setup.eventfd, "cannot create an eventfd: %s",
					    strerror(-setup.eventfd));
		}
	}
	error = kernel_control(k, DRM_PERFCTR_CMD_SETUP, session, &setup, sizeof(setup));
	if (!error)
		session_take_setup(s, &setup);
	else if (!is_test)
		sys->close(sys->data, setup.eventfd);
	return error;
}

static int kernel_start(void *data, uint32_t session, uint64_t user_data)
{
	struct drm_perfctr_start start = { .user_data = user_data };

	return kernel_control(data, DRM_PERFCTR_CMD_START, &session, &start, sizeof(start));
}

static int kernel_sample(void *data, uint32_t session, uint64_t user_data)
{
	struct drm_perfctr_sample sample = { .user_data = user_data };

	return kernel_control(data, DRM_PERFCTR_CMD_SAMPLE, &session, &sample, sizeof(sample));
}

static int kernel_stop(void *data, uint32_t session, uint64_t user_data)
{
	struct drm_perfctr_stop stop = { .user_data = user_data };

	return kernel_control(data, DRM_PERFCTR_CMD_STOP, &session, &stop, sizeof(stop));
}

static int kernel_status(void *data, uint32_t session, struct drm_perfctr_status *status)
{
	return kernel_control(data, DRM_PERFCTR_CMD_STATUS, &session, status, sizeof(*status));
}

static int kernel_map(void *data, const struct session_setup *setup, struct mapping *control,
		      struct mapping *ring)
{
	struct kernel *k = data;

	return session_map_ring(k->ctx, setup, control, ring);
}

static int kernel_close(void *data, uint32_t session)
{
	return kernel_control(data, DRM_PERFCTR_CMD_TEARDOWN, &session, NULL, 0);
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
	.close = kernel_close,
	.control = kernel_control,
	.explained = kernel_explained,
	.free = kernel_free,
};

int session_kernel_link(struct perfctr_ctx *ctx, int fd, const char *path,
			const struct device_link **link, void **data)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return perfctr_no_memory(ctx);
	k->ctx = ctx;
	k->fd = fd;
	snprintf(k->path, sizeof(k->path), "%s", path);
	*link = &kernel_link;
	*data = k;
	return 0;
}
