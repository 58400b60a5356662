// SPDX-License-Identifier: MIT
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *debugfs_file(struct arena *arena, const struct perfctr_device *device, const char *file)
{
	const char *path = perfctr_device_path(device);

	return arena_printf(arena, "/sys/kernel/debug/dri/%s/vsoc/%s",
			    path + strcspn(path, "0123456789"), file);
}

/* Step time until the other process closes its end of the pipe, then let it pass. */
static void step_until_closed(int pipe, int stepped, int step)
{
	/* of virtual time: a short part of a job's */
	static const char ns[] = "20000";
	const struct timespec pause = { .tv_nsec = 100000 };
	struct pollfd other = { .fd = pipe, .events = POLLIN };

	/* Ctrl-C is for the other process */
	setsid();
	/* the readers of PMUs get time, too */
	while (!ppoll(&other, 1, &pause, NULL))
		if (write(step, ns, strlen(ns)) < 0)
			break;
	_exit(write(stepped, "0", 1) != 1);
}

static int time_file;

/* The process that steps time ended: jobs would never. */
static void let_time_pass(int number)
{
	const int before = errno;
	/* an error means that time passes already */
	const ssize_t ignored = write(time_file, "0", 1);

	(void)number;
	(void)ignored;
	errno = before;
}

int steps_begin(struct steps *s, struct arena *arena, const struct perfctr_device *device,
		struct failure *failure)
{
	const char *path = debugfs_file(arena, device, "stepped");
	int step, ends[2] = { -1, -1 };

	s->stepped = open(path, O_WRONLY | O_CLOEXEC);
	if (s->stepped < 0)
		return 0;
	if (write(s->stepped, "1", 1) != 1) {
		fail(failure, "%s: %s: somebody steps time; 0 lets it pass", path, strerror(errno));
		close(s->stepped);
		s->stepped = -1;
		return -1;
	}
	step = open(debugfs_file(arena, device, "step_ns"), O_WRONLY | O_CLOEXEC);
	time_file = s->stepped;
	signal(SIGCHLD, let_time_pass);
	fflush(NULL);
	s->process = pipe2(ends, O_CLOEXEC) ? -1 : fork();
	if (!s->process) {
		close(ends[1]);
		step_until_closed(ends[0], s->stepped, step);
	}
	close(ends[0]);
	close(step);
	s->pipe = ends[1];
	if (s->process > 0)
		return 0;
	fail(failure, "stepping time: %s", strerror(errno));
	let_time_pass(0);
	return -1;
}

int steps_end(struct steps *s)
{
	int error = 0;

	/* it ends after the pipe does */
	if (s->process > 0 && waitpid(s->process, NULL, WNOHANG))
		error = -ECHILD;
	signal(SIGCHLD, SIG_DFL);
	close(s->pipe);
	if (s->process > 0 && !error)
		waitpid(s->process, NULL, 0);
	close(s->stepped);
	*s = STEPS_NONE;
	return error;
}
