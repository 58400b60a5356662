/* SPDX-License-Identifier: MIT */
/*
 * SETUP with any contents, for tests of what it refuses.
 */
#ifndef IGT_SETUP_H
#define IGT_SETUP_H

#include "igt_perfctr.h"

/* a SETUP of two slots that succeeds */
struct igt_perfctr_session igt_setup_request(const struct igt_perfctr_device *dev);
/*
 * Send SETUP, the second with @size bytes at @arg; 0 or -errno. The ring is closed, the handle
 * kept.
 */
int igt_setup_send(struct igt_perfctr_session *s);
int igt_setup_send_sized(struct igt_perfctr_session *s, void *arg, uint64_t size);

#endif
