// SPDX-License-Identifier: MIT
/* The virtual SoC's scheduler holds contexts for perfctr guard. */
#include "perfctr/guard/holder.h"

#include <errno.h>
#include <sys/ioctl.h>

#include <drm/vsoc_drm.h>

_Static_assert(HOLDER_ALL_CONTEXTS == DRM_VSOC_CTX_ALL, "one number for all contexts");

static int set(int fd, pid_t tree, uint32_t context, bool hold)
{
	const struct drm_vsoc_ctx_hold args = { .ctx_id = context, .hold = hold, .pid = tree };

	return ioctl(fd, DRM_IOCTL_VSOC_CTX_HOLD, &args) ? -errno : 0;
}

static struct context_holder holder = { .driver = "vsoc", .set = set };

static void __attribute__((constructor)) add(void)
{
	holder_add(&holder);
}
