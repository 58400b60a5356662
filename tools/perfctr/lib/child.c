// SPDX-License-Identifier: MIT
/* A process that waits on a pipe until counting has begun, then executes the workload. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* the caller's limit; rlim_max 0: child_raise_files() did not change it */
static struct rlimit callers_files;

void child_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	callers_files = limit;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		callers_files = (struct rlimit){ 0 };
}

void child_restore_files(void)
{
	if (callers_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &callers_files);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child: wait for child_go(), then execute the workload. */
static void become(char **argv, int stdout_fd, int go_fd, int error_fd)
{
	sigset_t none;
	char byte;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGXFSZ, SIG_DFL);
	if (stdout_fd >= 0 && dup2(stdout_fd, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILURE);
	/* no byte: the parent gave up or died */
	if (read(go_fd, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	child_restore_files();
	execvp(argv[0], argv);
	error = errno;
	if (write(error_fd, &error, sizeof(error)) != sizeof(error))
		_exit(EXIT_FAILURE);
	_exit(127);
}

int child_prepare(struct child *child, char **argv, int stdout_fd)
{
	int go[2], report[2], error;

	*child = (struct child){ .pid = -1, .go_fd = -1, .error_fd = -1 };
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(report, O_CLOEXEC)) {
		error = errno;
		close(go[0]);
		close(go[1]);
		return -error;
	}

	child->pid = fork();
	if (!child->pid) {
		close(go[1]);
		close(report[0]);
		become(argv, stdout_fd, go[0], report[1]);
	}
	error = child->pid < 0 ? errno : 0;
	close(go[0]);
	close(report[1]);
	child->go_fd = go[1];
	child->error_fd = report[0];
	if (error) {
		close_fd(&child->go_fd);
		close_fd(&child->error_fd);
	}
	return -error;
}

int child_go(struct child *child)
{
	ssize_t bytes;
	int error = 0;

	if (write(child->go_fd, "", 1) != 1)
		error = errno;
	close_fd(&child->go_fd);
	/* closed by exec: end of file means success */
	bytes = TEMP_FAILURE_RETRY(read(child->error_fd, &error, sizeof(error)));
	close_fd(&child->error_fd);
	if (bytes == 0)
		return 0;
	child_wait(child);
	return error ? -error : -EIO;
}

bool child_poll(struct child *child)
{
	if (!child->ended && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
		child->ended = true;
	return child->ended;
}

void child_wait(struct child *child)
{
	while (!child->ended) {
		if (waitpid(child->pid, &child->status, 0) == child->pid || errno != EINTR)
			child->ended = true;
	}
}

void child_abandon(struct child *child)
{
	close_fd(&child->go_fd);
	close_fd(&child->error_fd);
	if (child->pid > 0)
		child_wait(child);
}

int child_exit_status(const struct child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}
