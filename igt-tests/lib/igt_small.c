// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"
#include "igt_sys.h"

int igt_small_open(int file, struct igt_small *small)
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
	int ret = igt_raw_control(file, DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup));

	if (!ret)
		*small = (struct igt_small){ .file = file, .fd = setup.ring_fd, .handle = handle };
	return ret;
}

unsigned int igt_small_fill(int file, struct igt_small *smalls, unsigned int most, int *error)
{
	unsigned int count = 0;

	while (count < most && !(*error = igt_small_open(file, &smalls[count])))
		count++;
	igt_assert_f(*error, "%u sessions, and no limit\n", count);
	return count;
}

void igt_small_close(struct igt_small *small)
{
	igt_assert_eq(
		igt_raw_control(small->file, DRM_PERFCTR_CMD_TEARDOWN, &small->handle, NULL, 0), 0);
	close(small->fd);
}
