/* SPDX-License-Identifier: MIT */
/* The workload that runs while counting: start, environment, exit status. */
#pragma once

#include "app.h"
#include "signals.h"
#include <stdbool.h>
#include <sys/types.h>

/* --- A workload that starts only after counting has begun --- */

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
 * Raise this process's soft limit of open files to the hard one. Children that are executed get
 * the caller's limit.
 */
void child_raise_files(void);
/* Set the caller's limit again, before another program is executed. */
void child_restore_files(void);

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

/* time for the workload to end after a signal, before counting ends */
enum { COMMAND_GRACE_MS = 3000 };

/* a workload, if there is one, and its process */
struct command {
	char **argv; /* NULL: no workload, and all functions do nothing */
	struct child child;
	/*
	 * without a workload: pidfds of the processes that are counted and did not end, the first
	 * of them to wait for, -1: none
	 */
	int watched_fd;
	int *watched;
	size_t watched_count;
};

/*
 * Let the workload's jobs sample a session in-stream. The workload finds PERFCTR_FD, the open
 * device, and PERFCTR_SESSION, the session's descriptor, in its environment.
 * @command: before command_prepare().
 * Return: 0 or an exit status, the message was printed.
 */
int command_share(const struct app *app, struct command *command, struct perfctr_device *device,
		  const struct perfctr_session *session);

/*
 * Fork a process that waits to execute the workload.
 * @stdout_fd: its standard output, -1 to inherit it.
 * Return: 0 or EXIT_CANNOT_RUN, the message was printed.
 */
int command_prepare(const struct app *app, struct command *command, int stdout_fd);

/*
 * Without a workload: counting ends when all processes have ended, those of threads.
 * @pids: of the caller. Return: as above.
 */
int command_watch(const struct app *app, struct command *command, const pid_t *pids, size_t count);

/*
 * Start the workload after counting has begun. Return: 0 or an exit status, the message was
 * printed.
 */
int command_go(const struct app *app, struct command *command);

/* End a process that was prepared but not started. */
void command_abandon(struct command *command);

/* Whether there is a workload or a watched process, and all have ended. */
bool command_has_ended(struct command *command);

/* Forward a signal to the workload. */
void command_kill(const struct command *command, int number);

/*
 * Take pending signals; those of kill(1) are forwarded to the workload, which a terminal signals
 * itself. Return: the one that shall end counting, 0 if none came.
 */
int command_take_signals(const struct command *command, struct signals *signals);

/*
 * Exit status as a shell would give it. A workload that outlives COMMAND_GRACE_MS keeps running: it
 * never gets SIGKILL.
 * @ended_by: signal that ended counting, 0 if none.
 * Return: 128 + signal for one that was killed or still runs; 0 without a command.
 */
int command_status(const struct command *command, int ended_by);

/* Words with blanks between them. Return: @text. */
char *command_text(char *const *argv, char *text, size_t size);

void command_close(struct command *command);
