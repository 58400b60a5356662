// SPDX-License-Identifier: MIT
/* Devices of the kernel: the operations of a link as the ioctls of interface version 3. */
#include "link.h"

#include <stdlib.h>
#include <string.h>

struct kernel {
	struct perfctr_ctx *ctx;
	int fd;
	bool explained;
};

static int kernel_query(void *data, struct drm_perfctr_query *query)
{
	struct kernel *k = data;

	return k->ctx->sys->ioctl(k->ctx->sys->data, k->fd, DRM_IOCTL_PERFCTR_QUERY, query);
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

int session_kernel_link(struct perfctr_ctx *ctx, int fd, const struct device_link **link,
			void **data)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return perfctr_no_memory(ctx);
	k->ctx = ctx;
	k->fd = fd;
	*link = &kernel_link;
	*data = k;
	return 0;
}
