/* SPDX-License-Identifier: MIT */
/*
 * SETUP itself, for tests that send what it refuses.
 */
#ifndef IGT_SETUP_H
#define IGT_SETUP_H

#include "igt_perfctr.h"

#define IGT_SETUP_BO_BYTES (1u << 20)

/* handle of a buffer of IGT_SETUP_BO_BYTES; never fails */
uint32_t igt_setup_buffer(const struct igt_perfctr_device *dev);
/* a SETUP of two slots that succeeds, with control area and ring in that buffer */
struct igt_perfctr_session igt_setup_request(const struct igt_perfctr_device *dev, uint32_t bo);
/* SETUP as it is, the second with @size bytes at @arg; 0 or -errno, the session has its handle */
int igt_setup_send(struct igt_perfctr_session *s);
int igt_setup_send_sized(struct igt_perfctr_session *s, void *arg, uint64_t size);

#endif
