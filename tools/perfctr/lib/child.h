/* SPDX-License-Identifier: MIT */
/* A command that is started only when counting has begun. */
#ifndef PERFCTR_CHILD_H
#define PERFCTR_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* a process that waits to become the command */
struct child {
	pid_t pid;
	int go_fd;
	int error_fd;
	/* wait status once it has ended */
	int status;
	bool ended;
};

/**
 * child_prepare() - make the process, do not let it run yet
 * @child: filled
 * @argv: command and arguments, NULL at the end
 * @stdout_fd: what its standard output shall be, or -1 to leave it
 *
 * Signals that the caller blocks are unblocked in it. A child that is never let
 * go ends with child_abandon().
 *
 * Return: 0 or a negative errno.
 */
int child_prepare(struct child *child, char **argv, int stdout_fd);

/**
 * child_go() - let it become the command
 * @child: prepared child
 *
 * Return: 0; -ENOENT, -EACCES or another negative errno if it cannot be executed.
 */
int child_go(struct child *child);

/**
 * child_poll() - has it ended?
 * @child: child that runs
 *
 * Return: true once it has; @child->status then holds the wait status.
 */
bool child_poll(struct child *child);

/* Wait until it has ended. */
void child_wait(struct child *child);

/* End a child that was prepared and not let go. */
void child_abandon(struct child *child);

/* Exit status as a shell would give it: 128 + signal if it was killed. */
int child_exit_status(const struct child *child);

#endif /* PERFCTR_CHILD_H */
