// SPDX-License-Identifier: MIT
/* The process beside one that counts a V3D: v3d_guard.h. */
#include "v3d_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "v3d_ioctls.h"

/* two looks without a beat end the monitor; later reads would not be trusted anyway */
enum { LOOK_MS = 250 };

/* All files but two. */
static void close_others(int a, int b)
{
	const unsigned int low = (unsigned int)(a < b ? a : b),
			   high = (unsigned int)(a < b ? b : a);

	if (low)
		syscall(SYS_close_range, 0, low - 1, 0);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0u, 0);
}

/*
 * In a copy of a process with threads: system calls only. Its own session keeps it from signals of
 * a terminal and of a group.
 */
static _Noreturn void stand_guard(struct v3d_guard_state *state, int pipe, int fd,
				  const struct perfctr_sys *sys)
{
	struct pollfd poll_pipe = { .fd = pipe };
	unsigned int seen = atomic_load(&state->beats);
	bool late = false;

	setsid();
	prctl(PR_SET_NAME, "perfctr-guard");
	close_others(pipe, fd);
	/* nothing is written: the other end is closed, or who had it has ended */
	while (!poll(&poll_pipe, 1, LOOK_MS)) {
		const unsigned int beats = atomic_load(&state->beats);
		struct v3d_perfmon_destroy destroy = { .id = atomic_load(&state->monitor) };

		if (beats == seen && late && destroy.id) {
			sys->ioctl(sys->data, fd, V3D_PERFMON_DESTROY, &destroy);
			atomic_compare_exchange_strong(&state->monitor, &destroy.id, 0);
		}
		late = beats == seen;
		seen = beats;
	}
	_exit(0);
}

/*
 * A fork without a signal at its end, which a debugger does not attach to and stop, too. Not
 * clone3, which containers and services with restricted namespaces do not have. Return: as fork().
 */
static pid_t fork_untraced(void)
{
#ifdef __s390__
	return (pid_t)syscall(SYS_clone, 0, CLONE_UNTRACED, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0);
#endif
}

/* The process was killed, or it is another's: this one came from a fork. */
static bool is_gone(const struct v3d_guard *guard)
{
	return getpid() != guard->owner || waitpid(guard->pid, NULL, WNOHANG | __WCLONE);
}

static void forget(struct v3d_guard *guard)
{
	close(guard->end);
	munmap(guard->state, sizeof(*guard->state));
	guard->state = NULL;
}

int v3d_guard_begin(struct v3d_guard *guard, const struct perfctr_sys *sys, int fd)
{
	struct v3d_guard_state *state;
	int ends[2], error;

	if (guard->state && !is_gone(guard))
		return 0;
	if (guard->state)
		forget(guard);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	guard->pid = state == MAP_FAILED ? -1 : fork_untraced();
	error = -errno;
	if (!guard->pid) {
		close(ends[1]);
		stand_guard(state, ends[0], fd, sys);
	}
	close(ends[0]);
	if (guard->pid < 0) {
		close(ends[1]);
		if (state != MAP_FAILED)
			munmap(state, sizeof(*state));
		return error;
	}
	guard->state = state;
	guard->end = ends[1];
	guard->owner = getpid();
	return 0;
}

void v3d_guard_end(struct v3d_guard *guard)
{
	if (!guard->state)
		return;
	if (!is_gone(guard)) {
		/* also if it was stopped */
		kill(guard->pid, SIGKILL);
		while (waitpid(guard->pid, NULL, __WCLONE) < 0 && errno == EINTR)
			;
	}
	forget(guard);
}
