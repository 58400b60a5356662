/* SPDX-License-Identifier: MIT */
/*
 * Ends of frames that a workload reports: the tool's side of the protocol in perfctr-perfkit(1).
 *
 * Each process of the workload that draws connects to a socket whose name is in its environment.
 * The frames of one process are counted; after each it waits for an answer while the counters
 * change.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/app.h"

/* Environment variable with the name of the socket. */
#define FRAMES_VARIABLE "PERFCTR_FRAMES"

enum {
	/* processes that report frames at the same time; further ones are ignored */
	FRAMES_MAX_REPORTERS = 64,
	FRAMES_MAX_FDS = FRAMES_MAX_REPORTERS + 1,
	FRAMES_MESSAGE_BYTES = 4096,
};

/* processes that report ends of frames */
struct frames {
	const struct app *app; /* for messages */
	int socket_fd; /* listening socket, -1: closed */
	/* connected processes */
	struct frame_reporter {
		int fd;
		pid_t pid;
	} reporters[FRAMES_MAX_REPORTERS];
	size_t reporter_count; /* number of connected processes */
	/* descriptor whose frames are counted, -1: the next one that reports a frame */
	int counted_fd;
	/* values of the counted frame that ended, see perfkit_software_add() */
	char values[FRAMES_MESSAGE_BYTES];
	bool said_other; /* the note about frames of another process was printed */
	bool stopped; /* no more frames are wanted */
};

/*
 * Let processes started from now on report frames.
 * Return: 0 or EXIT_FAILED, the message was printed. call frames_close() in both cases.
 */
int frames_open(const struct app *app, struct frames *frames);

/*
 * Descriptors to poll.
 * @frames: open; @fds: filled with up to FRAMES_MAX_FDS elements.
 * Return: the number of elements.
 */
size_t frames_fds(const struct frames *frames, struct pollfd *fds);

/*
 * Whether a frame has ended. Does not block. Accepts connections, and answers those whose frames
 * are not counted.
 * @frames: open.
 * Return: whether a counted frame ended; then call frames_answer().
 */
bool frames_next(struct frames *frames);

/* Let the workload draw the next frame. */
void frames_answer(struct frames *frames);

/*
 * Stop: disconnect the processes, which then draw without reporting frames. The socket stays open,
 * so that no other process can bind the name that is in the workload's environment.
 */
void frames_stop(struct frames *frames);

/* The workload has ended: stop, and close the socket. */
void frames_close(struct frames *frames);
