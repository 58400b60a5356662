/* SPDX-License-Identifier: MIT */
/*
 * Sessions of one slot, for tests that create many of them.
 */
#ifndef IGT_SMALL_H
#define IGT_SMALL_H

#include <stdint.h>
#include <sys/types.h>

#include "igt_perfctr.h"

/* a session of one slot, its ring closed; a handle or -errno */
int igt_small_setup(int fd);
/* as many as that file may have; *@error is the errno of the one that failed */
unsigned int igt_small_fill(int fd, int *error);
void igt_small_teardown(int fd, uint32_t handle);

#endif
