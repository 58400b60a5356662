// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"
#include "igt_sys.h"

int igt_small_open(const struct igt_perfctr_device *dev)
{
	struct drm_perfctr_block_request request = {
		.type = dev->blocks[0].type,
		.index = dev->blocks[0].index,
		.flags = DRM_PERFCTR_REQUEST_AVAILABLE,
		.mask = ~0ull,
	};
	struct drm_perfctr_open open = {
		.slots = 1,
		.eventfd = -1,
		.requests = (uintptr_t)&request,
		.request_count = 1,
		.request_stride = sizeof(request),
	};

	return igt_raw_open(dev, &open, sizeof(open));
}

unsigned int igt_small_fill(const struct igt_perfctr_device *dev, int *fds, unsigned int most,
			    int *error)
{
	unsigned int count = 0;

	for (*error = 0; count < most; count++) {
		fds[count] = igt_small_open(dev);
		if (fds[count] < 0) {
			*error = fds[count];
			break;
		}
	}
	return count;
}
