/* SPDX-License-Identifier: MIT */
/* Which processes have sessions on a device, from the core's fdinfo and debugfs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLIENT_COMMAND_BYTES = 32, CLIENT_PATH_BYTES = 64, CLIENT_NO_SET = -1 };

/* an open file with sessions */
struct client {
	/* process that has it open; an inherited or sent file is listed for each process */
	pid_t pid;
	uid_t uid; /* of the process */
	int fd; /* its descriptor in the process */
	uint64_t id; /* the same for all descriptors of a file, 0 on kernels without it (6.1) */
	char command[CLIENT_COMMAND_BYTES]; /* name of the process */
	unsigned int sessions; /* all; @active of them are between START and STOP */
	unsigned int active;
	uint64_t kib; /* KiB of their buffers */
	int set; /* counter set of the active sessions, enum drm_perfctr_set, or CLIENT_NO_SET */
};

/* the clients of a device */
struct clients {
	struct client *list; /* by process; owned */
	size_t count;
	bool hidden; /* this user may not inspect all processes */
	/*
	 * Further sessions in the kernel's own list, of files that no process has a descriptor of.
	 * A mapping of the ring or a socket that the file was sent to keeps such a session alive. 0
	 * without debugfs.
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
