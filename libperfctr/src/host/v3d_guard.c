// SPDX-License-Identifier: MIT
/* The process beside one that counts a V3D: v3d_guard.h. */
#include "v3d_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "v3d_ioctls.h"

enum {
	/* two looks without a beat end the monitor; later reads would not be trusted anyway */
	LOOK_MS = 250,
	/* for the end of one that this process may not kill any more */
	END_MS = 1000,
};

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
 * In a copy of a process with threads: system calls only, and no signal, whose handler would be the
 * program's. Its own session keeps it from SIGKILL of a group, the root folder no file system busy.
 */
static _Noreturn void stand_guard(struct v3d_guard_state *state, int pipe, int fd,
				  const struct perfctr_sys *sys)
{
	struct pollfd poll_pipe = { .fd = pipe };
	unsigned int seen = atomic_load(&state->beats);
	bool late = false;

	setsid();
	syscall(SYS_chdir, "/");
	close_others(pipe, fd);
	prctl(PR_SET_NAME, "perfctr-guard");
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
 * clone3, which containers and services with restricted namespaces do not have. All signals are
 * blocked in it. *process: its pidfd. Return: as fork(), or an errno.
 */
static pid_t fork_untraced(int *process)
{
	const unsigned long flags = CLONE_UNTRACED | CLONE_PIDFD;
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
#ifdef __s390__
	pid = (pid_t)syscall(SYS_clone, 0, flags, process, 0, 0);
#else
	pid = (pid_t)syscall(SYS_clone, flags, 0, process, 0, 0);
#endif
	if (pid < 0)
		pid = -errno;
	if (pid)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static bool has_ended(const struct v3d_guard *guard, int wait_ms)
{
	struct pollfd process = { .fd = guard->process, .events = POLLIN };
	int ended;

	do {
		ended = poll(&process, 1, wait_ms);
	} while (ended < 0 && errno == EINTR);
	return ended > 0;
}

void v3d_guard_end(struct v3d_guard *guard)
{
	if (!guard->state)
		return;
	/* that ends it, unless it is stopped */
	close(guard->end);
	/* of another process: this one came from a fork */
	if (getpid() == guard->owner) {
		const bool killed = !syscall(SYS_pidfd_send_signal, guard->process, SIGKILL, 0, 0);

		/* not if this process has another user now */
		has_ended(guard, killed ? -1 : END_MS);
		waitid(P_PIDFD, (id_t)guard->process, NULL, WEXITED | WNOHANG | __WCLONE);
	}
	close(guard->process);
	munmap(guard->state, sizeof(*guard->state));
	guard->state = NULL;
}

int v3d_guard_begin(struct v3d_guard *guard, const struct perfctr_sys *sys, int fd)
{
	struct v3d_guard_state *state;
	int ends[2];
	pid_t pid;

	if (guard->state && getpid() == guard->owner && !has_ended(guard, 0))
		return 0;
	v3d_guard_end(guard);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	pid = state == MAP_FAILED ? -ENOMEM : fork_untraced(&guard->process);
	if (!pid) {
		close(ends[1]);
		stand_guard(state, ends[0], fd, sys);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		if (state != MAP_FAILED)
			munmap(state, sizeof(*state));
		return pid;
	}
	guard->state = state;
	guard->end = ends[1];
	guard->owner = getpid();
	return 0;
}
