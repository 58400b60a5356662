// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"

int igt_small_setup(int fd)
{
	struct drm_perfctr_block_request request = {
		.type = DRM_PERFCTR_MALI_BLOCK_TILER,
		.index = DRM_PERFCTR_INDEX_ALL,
		.flags = DRM_PERFCTR_REQUEST_AVAILABLE,
		.mask = ~0ull,
	};
	struct drm_perfctr_setup setup = {
		.slots = 1,
		.eventfd = -1,
		.requests = (uintptr_t)&request,
		.request_count = 1,
		.request_stride = sizeof(request),
	};
	uint32_t handle = 0;
	int ret = igt_perfctr_control(fd, DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup));

	if (ret)
		return ret;
	close(setup.ring_fd);
	return handle;
}

unsigned int igt_small_fill(int fd, int *error)
{
	unsigned int count = 0;

	while ((*error = igt_small_setup(fd)) > 0)
		count++;
	return count;
}

void igt_small_teardown(int fd, uint32_t handle)
{
	igt_assert_eq(igt_perfctr_control(fd, DRM_PERFCTR_CMD_TEARDOWN, &handle, NULL, 0), 0);
}
