/* SPDX-License-Identifier: MIT */
/*
 * Sessions as small as they can be, many of them, of a process that may have no right to more.
 */
#ifndef IGT_SMALL_H
#define IGT_SMALL_H

#include <stdint.h>
#include <sys/types.h>

#include "igt_perfctr.h"

/* a handle */
uint32_t igt_small_buffer(int fd, uint64_t bytes);
/* open @dev once more as @mine and become @user for good; a buffer for one ring with its control area */
uint32_t igt_small_become(struct igt_perfctr_device *mine, const struct igt_perfctr_device *dev,
			  uid_t user);
/* one slot and the control area behind it, in two pages of the ring's buffer; a handle or -errno */
int igt_small_setup(int fd, uint32_t ring, uint32_t control);
/* as many as there may be on that file; the errno that ended it in *@error */
unsigned int igt_small_fill(int fd, uint32_t bo, int *error);
/* START, SAMPLE or STOP without user data: 0 or -errno */
int igt_small_command(int fd, uint32_t cmd, uint32_t handle);
void igt_small_teardown(int fd, uint32_t handle);
/* SETUP, START and TEARDOWN until then, six times at least; how many times */
unsigned int igt_small_come_and_go(int fd, uint32_t bo, uint64_t end_ns);

#endif
