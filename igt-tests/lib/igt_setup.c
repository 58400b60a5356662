// SPDX-License-Identifier: MIT
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"

struct igt_perfctr_session igt_setup_request(const struct igt_perfctr_device *dev)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, dev);
	s.setup.slots = 2;
	return s;
}

int igt_setup_send_sized(struct igt_perfctr_session *s, void *arg, uint64_t size)
{
	struct drm_perfctr_setup result;
	int ret;

	if (!s->keep_pointer)
		s->setup.requests = (uintptr_t)s->requests;
	ret = igt_perfctr_control(s->dev->fd, DRM_PERFCTR_CMD_SETUP, &s->handle, arg, size);
	if (ret || !arg || size < sizeof(result))
		return ret;
	memcpy(&result, arg, sizeof(result));
	if (!(result.flags & DRM_PERFCTR_SETUP_TEST_ONLY))
		igt_assert_eq(close(result.ring_fd), 0);
	return 0;
}

int igt_setup_send(struct igt_perfctr_session *s)
{
	return igt_setup_send_sized(s, &s->setup, sizeof(s->setup));
}
