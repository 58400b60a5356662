/* SPDX-License-Identifier: MIT */
/*
 * A program that does what must not be done in this process, and answers over a socket
 * (tools/cuda/protocol.h). It may die, hang or lie: each is a failure that says so.
 */
#pragma once

#include <sys/types.h>

#include "base.h"
#include "cuda/protocol.h"

struct helper {
	pid_t pid;
	int fd; /* -1: it does not run */
	const char *name;
	unsigned int wait_s; /* for each message */
	char step[256]; /* what it does, by its own words */
	char answer[CUDA_MESSAGE + 1];
	char *rest; /* of the answer, behind the word "ok" */
	struct failure *failure;
};

/*
 * Start a program beside this one.
 * @helper: name and failure are set. Return: 0 or -1 with a failure.
 */
int helper_start(struct helper *helper);

/* Send a request, or a part of one. Return: 0 or -1 with a failure. */
int helper_send(struct helper *helper, const void *data, size_t length);

/*
 * Wait for the answer to a request.
 * @steps: that the helper may report at most. Return: 0 with @rest; a negative errno with a
 * failure: -ENODEV, -ENXIO another GPU, -EACCES, -EIO.
 */
int helper_wait(struct helper *helper, unsigned int steps);

/* The next line of the answer, or NULL. */
char *helper_line(struct helper *helper);

/* The program gave an answer that cannot be right. Return: -1 with a failure */
int helper_lies(struct helper *helper, const char *what);

/* End it. */
void helper_end(struct helper *helper);
