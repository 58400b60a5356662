/* SPDX-License-Identifier: MIT */
/* --control: another program switches counting on and off, as perf stat's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/app.h"

/* what the other program wants */
enum control_command {
	CONTROL_NONE,
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_EVLIST,
	CONTROL_PING,
	/* of perf record: perf stat answers the second one, and does nothing for both */
	CONTROL_SNAPSHOT,
	CONTROL_STOP,
	CONTROL_UNKNOWN, /* printed; as perf, it is answered, so that nobody waits */
};

struct control {
	const char *text; /* of the command line; NULL: there is none */
	int fd, ack; /* commands come from @fd; "ack\n" and a zero byte go to @ack; -1: none */
	bool owns; /* the files were opened here */
	char line[64]; /* the first bytes of a command */
	size_t length;
};

/*
 * Open what the text names: "fd:N[,M]", open files of the caller, or "fifo:PATH[,PATH]".
 * Return: 0 or an exit status, the message was printed; without a text 0, and no files.
 */
int control_open(const struct app *app, struct control *control);

/* Read a command, if there is a whole one. */
enum control_command control_take(const struct app *app, struct control *control);

/* Say that a command was carried out, if there is a reader with room for it. */
void control_answer(const struct control *control);

void control_close(struct control *control);
