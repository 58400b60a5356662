/* SPDX-License-Identifier: MIT */
/*
 * A process that ends v3d's global monitor if the one that counts stands still, by a SIGSTOP or in
 * a debugger: nobody would see then that another program hangs because of it (v3d_watch.h). It has
 * no signal of its end, so that a program's wait() does not see it.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sys.h"

/* what both processes see */
struct v3d_guard_state {
	atomic_uint monitor; /* the global one, 0: none */
	atomic_uint beats; /* of who counts */
};

struct v3d_guard {
	struct v3d_guard_state *state; /* NULL: there is no process */
	int process, end; /* its pidfd; of a pipe: it ends when this is closed */
	pid_t owner; /* the process that began it */
};

/*
 * Begin to guard @fd, unless a process does that still lives.
 * Return: 0; -EAGAIN: there are as many processes as this user, or its cgroup, may have; an errno.
 */
int v3d_guard_begin(struct v3d_guard *guard, const struct perfctr_sys *sys, int fd);
void v3d_guard_end(struct v3d_guard *guard);

/* The monitor that is set now, 0: none; between begin and end at least each 200 ms. */
static inline void v3d_guard_beat(struct v3d_guard *guard, uint32_t monitor)
{
	if (!guard->state)
		return;
	atomic_store(&guard->state->monitor, monitor);
	atomic_fetch_add(&guard->state->beats, 1);
}
