/* SPDX-License-Identifier: MIT */
/* The command that runs while counting: start, environment, exit status. */
#ifndef PERFCTR_COMMAND_H
#define PERFCTR_COMMAND_H

#include "app.h"
#include "child.h"

/* how long a command may take to end after a signal, before counting ends */
enum { COMMAND_GRACE_MS = 3000 };

/* a command line, perhaps empty, and its process */
struct command {
	char **argv; /* NULL: there is no command, and all functions do nothing */
	struct child child;
	int shared_fd; /* the device's file as the command inherits it, -1: it does not */
};

/**
 * command_share() - let the command's jobs carry samples of a session
 * @app: for messages
 * @command: before command_prepare()
 * @device: device
 * @session: session
 *
 * The command finds PERFCTR_FD, the open device, and PERFCTR_SESSION, the session's handle, in
 * its environment.
 *
 * Return: 0 or an exit status, the message was printed.
 */
int command_share(const struct app *app, struct command *command, struct perfctr_device *device,
		  const struct perfctr_session *session);

/**
 * command_prepare() - make the process, do not let it run yet
 * @app: for messages
 * @command: command
 * @stdout_fd: what its standard output shall be, -1 to leave it
 *
 * Return: 0 or EXIT_CANNOT_RUN, the message was printed.
 */
int command_prepare(const struct app *app, struct command *command, int stdout_fd);

/* Let it go once counting has begun. Return: 0 or an exit status, the message was printed. */
int command_go(const struct app *app, struct command *command);

/* End a process that was prepared and not let go. */
void command_abandon(struct command *command);

/* Whether there is a command and it has ended. */
bool command_has_ended(struct command *command);

/* Pass a signal on. */
void command_kill(const struct command *command, int number);

/**
 * command_status() - exit status as a shell would give it
 * @command: command
 * @ended_by: signal that ended counting, 0 if none
 *
 * One that outlived its grace is left to run: it is not ours to kill hard.
 *
 * Return: 128 + signal for one that was killed or still runs; 0 without a command.
 */
int command_status(const struct command *command, int ended_by);

/* Words with blanks between them. Return: @text. */
char *command_text(char *const *argv, char *text, size_t size);

void command_close(struct command *command);

#endif /* PERFCTR_COMMAND_H */
