/* SPDX-License-Identifier: MIT */
/* A workload that starts only after counting has begun. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* a process that waits to execute the workload */
struct child {
	pid_t pid;
	int go_fd;
	int error_fd;
	/* wait status, once the child has ended */
	int status;
	bool ended;
};

/*
 * Fork a process that waits to execute the workload. Signals that the caller blocks are unblocked
 * in it. End a child that is never started with child_abandon().
 * @argv: workload and arguments, NULL at the end; @stdout_fd: its standard output, or -1 to inherit
 * it.
 * Return: 0 or a negative errno.
 */
int child_prepare(struct child *child, char **argv, int stdout_fd);

/*
 * Execute the workload.
 * Return: 0; -ENOENT, -EACCES or another negative errno if it cannot be executed.
 */
int child_go(struct child *child);

/*
 * Whether the child has ended.
 * Return: true once it has; @child->status then holds the wait status.
 */
bool child_poll(struct child *child);

/* Wait until it has ended. */
void child_wait(struct child *child);

/* End a child that was prepared but not started. */
void child_abandon(struct child *child);

/* Exit status as a shell would give it: 128 + signal if it was killed. */
int child_exit_status(const struct child *child);
