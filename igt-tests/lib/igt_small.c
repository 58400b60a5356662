// SPDX-License-Identifier: MIT
/*
 * Sessions of one slot, see the header.
 */
#include "minigt.h"
#include "igt_rights.h"
#include "igt_small.h"
#include "igt_sys.h"

#define SMALL_PAGE_BYTES 4096

uint32_t igt_small_buffer(int fd, uint64_t bytes)
{
	struct drm_perfctr_bo_create bo = { .size = bytes };

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_PERFCTR_BO_CREATE, &bo), 0);
	return bo.handle;
}

uint32_t igt_small_become(struct igt_perfctr_device *mine, const struct igt_perfctr_device *dev,
			  uid_t user)
{
	uint32_t bo;

	igt_perfctr_reopen(mine, dev);
	bo = igt_small_buffer(mine->fd, 2 * SMALL_PAGE_BYTES);
	igt_drop_to(user, 0);
	return bo;
}

int igt_small_setup(int fd, uint32_t ring, uint32_t control)
{
	struct drm_perfctr_block_request request = {
		.type = DRM_PERFCTR_MALI_BLOCK_CSHW,
		.index = DRM_PERFCTR_INDEX_ALL,
		.flags = DRM_PERFCTR_REQUEST_AVAILABLE,
		.mask = ~0ull,
	};
	struct drm_perfctr_setup setup = {
		.slots = 1,
		.ring_handle = ring,
		.control_handle = control,
		.control_offset = ring == control ? SMALL_PAGE_BYTES : 0,
		.eventfd = -1,
		.requests = (uintptr_t)&request,
		.request_count = 1,
		.request_stride = sizeof(request),
	};
	uint32_t handle = 0;
	int ret = igt_perfctr_control(fd, DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup));

	return ret ? ret : (int)handle;
}

unsigned int igt_small_fill(int fd, uint32_t bo, int *error)
{
	unsigned int count = 0;

	while ((*error = igt_small_setup(fd, bo, bo)) > 0)
		count++;
	return count;
}

int igt_small_command(int fd, uint32_t cmd, uint32_t handle)
{
	uint64_t user_data = 0;

	return igt_perfctr_control(fd, cmd, &handle, &user_data, sizeof(user_data));
}

void igt_small_teardown(int fd, uint32_t handle)
{
	igt_assert_eq(igt_perfctr_control(fd, DRM_PERFCTR_CMD_TEARDOWN, &handle, NULL, 0), 0);
}

unsigned int igt_small_come_and_go(int fd, uint32_t bo, uint64_t end_ns)
{
	/* a busy machine takes longer for what tells a limit from a refusal */
	const unsigned int least = 6;
	unsigned int count = 0;

	while (igt_raw_ns() < end_ns || count < least) {
		int handle = igt_small_setup(fd, bo, bo);

		igt_assert_lt(0, handle);
		if (!igt_small_command(fd, DRM_PERFCTR_CMD_START, handle))
			count++;
		/* TEARDOWN ends active sessions, too */
		if (count % 2)
			igt_assert_eq(igt_small_command(fd, DRM_PERFCTR_CMD_STOP, handle), 0);
		igt_small_teardown(fd, handle);
	}
	return count;
}
