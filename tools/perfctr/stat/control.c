// SPDX-License-Identifier: MIT
/* perfctr stat --control: commands of another program, and answers to it. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	static const char answer[] = "ack\n";
	ssize_t ignored;

	/* a program that does not read it waits for nothing */
	if (c->ack >= 0)
		ignored = write(c->ack, answer, strlen(answer));
	(void)ignored;
}

static enum control_command parse(const struct app *app, const struct control *c)
{
	static const struct {
		const char *name;
		enum control_command command;
	} commands[] = {
		{ "enable", CONTROL_ENABLE },
		{ "disable", CONTROL_DISABLE },
		{ "ping", CONTROL_PING },
		{ "stop", CONTROL_STOP },
	};

	for (size_t n = 0; n < sizeof(commands) / sizeof(commands[0]); n++)
		if (!strcmp(c->line, commands[n].name))
			return commands[n].command;
	app_error(app, "--control: '%s' is no command: enable, disable, ping, stop", c->line);
	return CONTROL_NONE;
}

/* Byte by byte: what follows a command belongs to the next one, or to another reader. */
enum control_command control_take(const struct app *app, struct control *c)
{
	char byte;
	ssize_t got = read(c->fd, &byte, 1);

	if (got != 1) {
		/* nobody is left who could write */
		if (!got || (errno != EAGAIN && errno != EINTR))
			c->fd = -1;
		return CONTROL_NONE;
	}
	if (byte != '\n') {
		if (c->length < sizeof(c->line) - 1)
			c->line[c->length++] = byte;
		return CONTROL_NONE;
	}
	c->line[c->length] = '\0';
	c->length = 0;
	return parse(app, c);
}

void control_close(struct control *c)
{
	if (c->owns && c->fd >= 0)
		close(c->fd);
	if (c->owns && c->ack >= 0)
		close(c->ack);
}
