/* SPDX-License-Identifier: MIT */
/* The ioctls themselves, for igt_session.c and tests of their arguments. */
#ifndef IGT_RAW_H
#define IGT_RAW_H

#include "igt_perfctr.h"

/* drm.h has DRM_IOCTL_PERFCTR_*, with fixed numbers; these take that of fdinfo. */
#ifndef DRM_PERFCTR_IOCTL_QUERY
#define DRM_PERFCTR_IOCTL_QUERY(nr) _IOWR(DRM_IOCTL_BASE, (nr), struct drm_perfctr_query)
#define DRM_PERFCTR_IOCTL_OPEN(nr) _IOW(DRM_IOCTL_BASE, (nr) + 1, struct drm_perfctr_open)
#endif

/* largest size of a structure */
#define IGT_RAW_STRUCT_BYTES_MAX 4096u

/* the number of an ioctl with a structure of another size */
unsigned long igt_raw_sized(unsigned long request, uint32_t bytes);
/* OPEN with a structure of that size; a descriptor, 0 with CHECK, or -errno */
int igt_raw_open(const struct igt_perfctr_device *dev, void *open, uint32_t bytes);
/* what OPEN is called with for @s, without layout; valid while @s is, which has the requests */
struct drm_perfctr_open igt_raw_params(const struct igt_perfctr_session *s);
/* OPEN returned @fd: the session is open */
void igt_raw_opened(struct igt_perfctr_session *s, int fd);

#endif
