// SPDX-License-Identifier: MIT
/* perfctr stat --control: commands of another program, and answers to it. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/stream.h"

static bool read_fd(const char *text, int *fd)
{
	char *end;
	long number = strtol(text, &end, 10);

	*fd = (int)number;
	return end != text && !*end && number >= 0 && number <= 1 << 20 && fcntl(*fd, F_GETFD) >= 0;
}

/* For both directions: neither waits for the other program, nor ends with it. */
static bool open_fifo(const char *path, int *fd)
{
	*fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return *fd >= 0;
}

int control_open(const struct app *app, struct control *c)
{
	static const char usage[] = "use fd:N[,M] or fifo:PATH[,PATH]";
	bool (*take)(const char *text, int *fd);
	char *names, *rest, *name;
	int status = 0;

	c->fd = c->ack = -1;
	if (!c->text)
		return 0;
	c->owns = !strncmp(c->text, "fifo:", strlen("fifo:"));
	if (!c->owns && strncmp(c->text, "fd:", strlen("fd:")) != 0)
		return app_usage(app, "--control '%s': %s", c->text, usage);
	take = c->owns ? open_fifo : read_fd;
	rest = names = strdup(strchr(c->text, ':') + 1);
	if (!names)
		return app_failed(app, -ENOMEM);
	for (int n = 0; !status && (name = strsep(&rest, ",")); n++) {
		if (n > 1)
			status = app_usage(app, "--control '%s': %s", c->text, usage);
		else if (!take(name, n ? &c->ack : &c->fd))
			status = app_usage(app, "--control '%s': %s: %s", c->text, name,
					   c->owns ? strerror(errno) :
						     "no open file; see bash's "
						     "exec {fd}<>FILE");
	}
	free(names);
	return status;
}

void control_answer(const struct control *c)
{
	/* with its zero byte, as perf's */
	static const char answer[] = "ack\n";
	struct pollfd file = { .fd = c->ack, .events = POLLOUT };

	/* a program that does not read it, or is gone, waits for nothing */
	if (c->ack >= 0 && poll(&file, 1, 0) > 0)
		stream_write_quietly(c->ack, answer, sizeof(answer));
}

/* Return: CONTROL_NONE: it is none. */
static enum control_command command_of(const char *name)
{
	static const struct {
		const char *name;
		enum control_command command;
	} commands[] = {
		{ "enable", CONTROL_ENABLE },	  { "disable", CONTROL_DISABLE },
		{ "evlist", CONTROL_EVLIST },	  { "ping", CONTROL_PING },
		{ "snapshot", CONTROL_SNAPSHOT }, { "stop", CONTROL_STOP },
	};

	for (size_t n = 0; n < sizeof(commands) / sizeof(commands[0]); n++)
		if (!strcmp(name, commands[n].name))
			return commands[n].command;
	/* of perf's -v, -F and -g, the numbers of -v are in stat -v */
	return strncmp(name, "evlist ", strlen("evlist ")) ? CONTROL_NONE : CONTROL_EVLIST;
}

/* Nobody is left who could write. */
static void end_commands(struct control *c)
{
	if (c->owns)
		close(c->fd);
	c->fd = -1;
}

/*
 * A line feed or a zero byte ends a command, as does the end of the file; one that is whole needs
 * no end if nothing follows. So clients of perf write them. Byte by byte: what follows a command
 * belongs to the next one, or to another reader.
 */
enum control_command control_take(const struct app *app, struct control *c)
{
	enum control_command command;
	size_t left = sizeof(c->line);
	bool has_ended;

	do {
		char byte = '\0';
		const ssize_t got = read(c->fd, &byte, 1);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return CONTROL_NONE;
		if (got != 1)
			end_commands(c);
		has_ended = got != 1 || byte == '\n' || !byte;
		if (!has_ended && c->length < sizeof(c->line) - 1)
			c->line[c->length++] = byte;
	} while (!has_ended && --left &&
		 poll(&(struct pollfd){ .fd = c->fd, .events = POLLIN }, 1, 0) > 0);
	c->line[c->length] = '\0';
	command = command_of(c->line);
	if (command == CONTROL_NONE && !has_ended)
		return CONTROL_NONE;
	if (command == CONTROL_NONE && c->length) {
		app_error(app,
			  "--control: '%s' is no command: enable, disable, evlist, ping, stop, "
			  "snapshot, each alone",
			  c->line);
		command = CONTROL_UNKNOWN;
	}
	c->length = 0;
	return command;
}

void control_close(struct control *c)
{
	if (c->owns && c->fd >= 0)
		close(c->fd);
	if (c->owns && c->ack >= 0)
		close(c->ack);
}
