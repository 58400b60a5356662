/* SPDX-License-Identifier: MIT */
/* Which processes have sessions on a device, from the core's fdinfo and debugfs. */
#ifndef PERFCTR_CLIENTS_H
#define PERFCTR_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLIENT_COMMAND_BYTES = 32, CLIENT_PATH_BYTES = 64, CLIENT_NO_SET = -1 };

/**
 * struct client - an open file with sessions
 */
struct client {
	/** @pid: who has it open; a file that was inherited or sent is listed for each process. */
	pid_t pid;
	/** @uid: of that process. */
	uid_t uid;
	/** @fd: its number there. */
	int fd;
	/** @id: the same for all descriptors of a file, 0 on kernels without it (6.1). */
	uint64_t id;
	/** @command: name of the process. */
	char command[CLIENT_COMMAND_BYTES];
	/** @sessions: all, and of these @active between START and STOP. */
	unsigned int sessions;
	unsigned int active;
	/** @kib: KiB of the buffers that they hold. */
	uint64_t kib;
	/** @set: counter set that they keep from others, enum drm_perfctr_set, or CLIENT_NO_SET. */
	int set;
};

/**
 * struct clients - those of a device
 */
struct clients {
	/** @list: by process; owned. */
	struct client *list;
	size_t count;
	/** @hidden: this user may not look at all processes. */
	bool hidden;
	/**
	 * @unseen: further sessions that the kernel's own list has, whose files no process has a
	 * descriptor of: a mapping of the ring keeps one, too, and so does a socket that it was
	 * sent to. 0 without debugfs.
	 */
	unsigned int unseen;
	/** @kernel_list: the file of that list. */
	char kernel_list[CLIENT_PATH_BYTES];
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
