/* SPDX-License-Identifier: MIT */
/* Log lines of the broker: to stderr, where systemd's journal or a file takes them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* where lines go, and their rate limit */
struct serve_log {
	FILE *to; /* file */
	bool json; /* one JSON object per line */
	long second; /* second in which @lines were written */
	unsigned int lines; /* written in this second */
	unsigned long suppressed; /* lines over the limit */
};

/* credentials of the peer, from the kernel */
struct serve_peer {
	unsigned long number; /* number of the connection, from 1 on */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary groups */
	size_t group_count; /* number of them */
};

/*
 * Write a line, if the log has a file. At most SERVE_LOG_LINES_PER_S lines, so no client fills a
 * disk. The number left out is logged with the next one.
 * @event: a word for programs that read the log; @peer: client that it concerns, or NULL for the
 * broker itself; @format: the sentence.
 */
void serve_log_line(struct serve_log *log, const char *event, const struct serve_peer *peer,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
enum { SERVE_LOG_LINES_PER_S = 20 };
