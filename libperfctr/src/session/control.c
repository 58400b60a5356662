// SPDX-License-Identifier: MIT
/*
 * Commands of perfctr_drm.h for devices that are none of the kernel: version 3's structures become
 * operations of a link, by the kernel's rules of size.
 */
#include "link.h"

#include <string.h>

struct drm_perfctr_setup setup_of_session(const struct session_setup *s)
{
	return (struct drm_perfctr_setup){
		.flags = s->flags,
		.slots = s->slots,
		.period_ns = s->period_ns,
		.eventfd = -1,
		.watermark = s->watermark,
		.requests = (uintptr_t)s->requests,
		.request_count = s->request_count,
		.request_stride = sizeof(*s->requests),
		.ring_fd = -1,
	};
}

void session_take_setup(struct session_setup *s, const struct drm_perfctr_setup *setup)
{
	s->slots = setup->slots;
	s->eventfd = setup->eventfd;
	s->ring_fd = setup->ring_fd;
	s->slot_stride = setup->slot_stride;
	s->sample_size = setup->sample_size;
	s->block_count = setup->block_count;
	s->ring_offset = setup->ring_offset;
	s->ring_bytes = setup->ring_bytes;
}

static size_t size_of(uint32_t cmd)
{
	return cmd == DRM_PERFCTR_CMD_SETUP    ? sizeof(struct drm_perfctr_setup) :
	       cmd == DRM_PERFCTR_CMD_STATUS   ? sizeof(struct drm_perfctr_status) :
	       cmd == DRM_PERFCTR_CMD_TEARDOWN ? 0 :
						 sizeof(struct drm_perfctr_start);
}

static int open_session(struct perfctr_device *device, uint32_t *handle,
			struct drm_perfctr_setup *setup)
{
	struct session_setup s = {
		.flags = setup->flags,
		.slots = setup->slots,
		.period_ns = setup->period_ns,
		.watermark = setup->watermark,
		.requests = (const void *)(uintptr_t)setup->requests,
		.request_count = setup->request_count,
		.eventfd = -1,
		.ring_fd = -1,
	};
	int error;

	if (setup->reserved[0] || setup->reserved[1] ||
	    setup->request_stride != sizeof(*s.requests))
		return -EINVAL;
	error = device->link->open(device->link_data, &s, handle);
	if (error)
		return error;
	setup->slots = s.slots;
	setup->eventfd = s.eventfd;
	setup->ring_fd = s.ring_fd;
	setup->slot_stride = s.slot_stride;
	setup->sample_size = s.sample_size;
	setup->block_count = s.block_count;
	setup->ring_offset = s.ring_offset;
	setup->ring_bytes = s.ring_bytes;
	return 0;
}

static int run(struct perfctr_device *device, uint32_t cmd, uint32_t *handle, void *argument)
{
	const struct device_link *link = device->link;
	uint64_t user_data = 0;

	if (argument && cmd != DRM_PERFCTR_CMD_SETUP && cmd != DRM_PERFCTR_CMD_STATUS)
		memcpy(&user_data, argument, sizeof(user_data));
	switch (cmd) {
	case DRM_PERFCTR_CMD_SETUP:
		return open_session(device, handle, argument);
	case DRM_PERFCTR_CMD_TEARDOWN:
		return link->close(device->link_data, *handle);
	case DRM_PERFCTR_CMD_START:
		return link->start(device->link_data, *handle, user_data);
	case DRM_PERFCTR_CMD_STOP:
		return link->stop(device->link_data, *handle, user_data);
	case DRM_PERFCTR_CMD_SAMPLE:
		return link->sample(device->link_data, *handle, user_data);
	default:
		return link->status(device->link_data, *handle, argument);
	}
}

EXPORT int perfctr_device_control(struct perfctr_device *device, uint32_t cmd, uint32_t *handle,
				  void *argument, size_t bytes)
{
	const unsigned char *rest = argument;
	const size_t size = size_of(cmd);

	if (!device->link)
		return -EBADF;
	if (device->link->control)
		return device->link->control(device->link_data, cmd, handle, argument, bytes);
	if (cmd > DRM_PERFCTR_CMD_STATUS)
		return -EINVAL;
	/* as the kernel: without a structure only its size is returned */
	if (!argument && size)
		return 0;
	if (bytes < size)
		return -EINVAL;
	for (size_t n = size; n < bytes; n++)
		if (rest[n])
			return -E2BIG;
	return run(device, cmd, handle, argument);
}
