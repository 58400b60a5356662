/* SPDX-License-Identifier: MIT */
/* Which processes have sessions on a device, from the core's fdinfo and debugfs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLIENT_COMMAND_BYTES = 32, CLIENT_PATH_BYTES = 64, CLIENT_NO_SET = -1 };

/* a process with descriptors of sessions */
struct client {
	/* an inherited or sent descriptor is listed for each process */
	pid_t pid;
	uid_t uid;
	int fd; /* the first descriptor */
	char command[CLIENT_COMMAND_BYTES]; /* name of the process */
	unsigned int sessions; /* different ones; @active of them are between START and STOP */
	unsigned int active;
	uint64_t kib; /* KiB of their buffers */
	int set; /* counter set of the active sessions, enum drm_perfctr_set, or CLIENT_NO_SET */
};

/* the clients of a device */
struct clients {
	struct client *list; /* by process; owned */
	size_t count;
	uint64_t *sessions; /* different ones, by the kernel's number; owned */
	size_t session_count;
	bool hidden; /* this user may not inspect all processes */
	/*
	 * Further sessions in the kernel's own list, which no process has a descriptor of: those in
	 * the queue of a socket. 0 without debugfs.
	 */
	unsigned int unseen;
	char kernel_list[CLIENT_PATH_BYTES]; /* path of that list */
};

/*
 * Find the clients in /proc.
 * @path: a node of the device, card or render node; @clients: filled; give it to clients_free().
 * Return: 0; -ENOMEM; the error of opening /proc or of @path's stat().
 */
int clients_find(const char *path, struct clients *clients);
void clients_free(struct clients *clients);
