/* SPDX-License-Identifier: MIT */
/* Which processes have sessions on a device, from the core's fdinfo and debugfs. */
#ifndef PERFCTR_CLIENTS_H
#define PERFCTR_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLIENT_COMMAND_BYTES = 32, CLIENT_PATH_BYTES = 64, CLIENT_NO_SET = -1 };

/* an open file with sessions */
struct client {
	/* who has it open; a file that was inherited or sent is listed for each process */
	pid_t pid;
	uid_t uid; /* of that process */
	int fd; /* its number there */
	uint64_t id; /* the same for all descriptors of a file, 0 on kernels without it (6.1) */
	char command[CLIENT_COMMAND_BYTES]; /* name of the process */
	unsigned int sessions; /* all, and of these @active between START and STOP */
	unsigned int active;
	uint64_t kib; /* KiB of the buffers that they hold */
	/* counter set that they keep from others, enum drm_perfctr_set, or CLIENT_NO_SET */
	int set;
};

/* those of a device */
struct clients {
	struct client *list; /* by process; owned */
	size_t count;
	bool hidden; /* this user may not look at all processes */
	/*
	 * further sessions that the kernel's own list has, whose files no process has a
	 * descriptor of: a mapping of the ring keeps one, too, and so does a socket that it was
	 * sent to. 0 without debugfs.
	 */
	unsigned int unseen;
	char kernel_list[CLIENT_PATH_BYTES]; /* the file of that list */
};

/**
 * clients_find() - look through /proc
 * @path: a node of the device, card or render node
 * @clients: filled; give it to clients_free()
 *
 * Return: 0; -ENOMEM; the error of opening /proc or of @path's stat().
 */
int clients_find(const char *path, struct clients *clients);
void clients_free(struct clients *clients);

#endif /* PERFCTR_CLIENTS_H */
