/* SPDX-License-Identifier: MIT */
/*
 * Ends of frames that a command reports: the tool's side of the protocol in docs/perfkit.md.
 *
 * Each process of the command that draws connects to a socket whose name is in its environment. The
 * frames of one of them are counted, and wait for an answer while the counters are changed.
 */
#ifndef PERFCTR_FRAMES_H
#define PERFCTR_FRAMES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/app.h"

/* Environment variable with the name of the socket. */
#define FRAMES_VARIABLE "PERFCTR_FRAMES"

enum {
	/* processes that report frames at the same time; further ones are ignored */
	FRAMES_MAX_TELLERS = 64,
	FRAMES_MAX_FDS = FRAMES_MAX_TELLERS + 1,
};

/* processes that report ends of frames */
struct frames {
	const struct app *app; /* for messages */
	int socket_fd; /* where they connect, -1: closed */
	/* processes that are connected */
	struct frame_teller {
		int fd;
		pid_t pid;
	} tellers[FRAMES_MAX_TELLERS];
	size_t teller_count; /* of them */
	int counted_fd; /* whose frames are counted, -1: of the next one that reports any */
	bool said_other; /* the note about frames of another process was printed */
	bool stopped; /* no more frames are wanted */
};

/**
 * frames_open() - let commands that are started from now on report frames
 * @app: for messages
 * @frames: filled
 *
 * Return: 0 or EXIT_FAILED, the message was printed. frames_close() is due in both cases.
 */
int frames_open(const struct app *app, struct frames *frames);

/**
 * frames_fds() - what to wait for
 * @frames: open
 * @fds: filled with up to FRAMES_MAX_FDS elements
 *
 * Return: the number of elements.
 */
size_t frames_fds(const struct frames *frames, struct pollfd *fds);

/**
 * frames_next() - whether a frame has ended
 * @frames: open
 *
 * Does not block. Accepts connections, and answers those whose frames are not counted.
 *
 * Return: whether a frame ended that is counted: frames_answer() is due.
 */
bool frames_next(struct frames *frames);

/* Let the command draw the next frame. */
void frames_answer(struct frames *frames);

/*
 * Stop: drop the connected processes, which draw on and report no frames. The socket stays: its
 * name is in the command's environment, and nobody else shall listen there.
 */
void frames_stop(struct frames *frames);

/* The command has ended: stop, and close the socket. */
void frames_close(struct frames *frames);

#endif /* PERFCTR_FRAMES_H */
