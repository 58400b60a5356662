// SPDX-License-Identifier: MIT
/*
 * SETUP itself, for tests that send what it refuses.
 */
#include <sys/mman.h>

#include "minigt.h"
#include "igt_setup.h"

#define RING_OFFSET 4096

uint32_t igt_setup_buffer(const struct igt_perfctr_device *dev)
{
	uint64_t mapped;
	uint32_t bo;
	void *map = igt_perfctr_buffer(dev->fd, IGT_SETUP_BO_BYTES, &bo, &mapped);

	munmap(map, mapped);
	return bo;
}

struct igt_perfctr_session igt_setup_request(const struct igt_perfctr_device *dev, uint32_t bo)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, dev);
	s.setup.slots = 2;
	s.setup.ring_handle = bo;
	s.setup.control_handle = bo;
	s.setup.ring_offset = RING_OFFSET;
	return s;
}

int igt_setup_send_sized(struct igt_perfctr_session *s, void *arg, uint64_t size)
{
	if (!s->keep_pointer)
		s->setup.requests = (uintptr_t)s->requests;
	return igt_perfctr_control(s->dev->fd, DRM_PERFCTR_CMD_SETUP, &s->handle, arg, size);
}

int igt_setup_send(struct igt_perfctr_session *s)
{
	return igt_setup_send_sized(s, &s->setup, sizeof(s->setup));
}
