/* SPDX-License-Identifier: MIT */
/* The ioctl itself, for igt_session.c and tests of its commands. */
#ifndef IGT_RAW_H
#define IGT_RAW_H

#include "igt_perfctr.h"

/* 0 or -errno; @handle, if not NULL, is set on success */
int igt_raw_control(int fd, uint32_t cmd, uint32_t *handle, void *arg, uint64_t size);
/* what SETUP is called with for @s; valid while @s is, which has the requests */
struct drm_perfctr_setup igt_raw_setup(const struct igt_perfctr_session *s);
/* SETUP returned @setup and @handle: the session is open */
void igt_raw_opened(struct igt_perfctr_session *s, const struct drm_perfctr_setup *setup,
		    uint32_t handle);

#endif
