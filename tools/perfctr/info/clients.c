// SPDX-License-Identifier: MIT
/* Reads the sessions of processes from /proc/PID/fdinfo, and those of a device from debugfs. */
#include "clients.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { DRM_MAJOR = 226, ACCEL_MAJOR = 261, LINE_BYTES = 256, NAME_BYTES = 64 };

/* Path in sysfs that all nodes of a device share; NULL if @node is no DRM node, or is gone. */
static char *device_of(const struct stat *node)
{
	char path[NAME_BYTES];

	if (!S_ISCHR(node->st_mode) ||
	    (major(node->st_rdev) != DRM_MAJOR && major(node->st_rdev) != ACCEL_MAJOR))
		return NULL;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(node->st_rdev),
		 minor(node->st_rdev));
	return realpath(path, NULL);
}

static void read_command(const char *process, struct client *client)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(client->command, sizeof(client->command), "?");
	snprintf(path, sizeof(path), "/proc/%s/comm", process);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(client->command, sizeof(client->command), f))
		client->command[strcspn(client->command, "\n")] = '\0';
	fclose(f);
	/* a process chooses its own name, and terminals print it */
	for (char *c = client->command; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

/* Return: whether it has sessions. */
static bool read_fdinfo(const char *process, const char *file, struct client *client)
{
	char path[PATH_MAX], line[LINE_BYTES];
	FILE *f;

	*client = (struct client){ .set = CLIENT_NO_SET };
	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", process, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		/* other lines match none of these */
		sscanf(line, "drm-client-id: %" SCNu64, &client->id);
		sscanf(line, "perfctr-sessions: %u", &client->sessions);
		sscanf(line, "perfctr-active: %u", &client->active);
		sscanf(line, "perfctr-memory: %" SCNu64, &client->kib);
		sscanf(line, "perfctr-set: %d", &client->set);
	}
	fclose(f);
	client->pid = (pid_t)strtol(process, NULL, 10);
	client->fd = (int)strtol(file, NULL, 10);
	return client->sessions;
}

/* The same open file under another descriptor of the same process. */
static bool is_known(const struct clients *clients, const struct client *client)
{
	for (size_t i = clients->count; client->id && i-- > 0;) {
		if (clients->list[i].pid != client->pid)
			return false;
		if (clients->list[i].id == client->id)
			return true;
	}
	return false;
}

static int add(struct clients *clients, const struct client *client)
{
	struct client *list =
		reallocarray(clients->list, clients->count + 1, sizeof(*clients->list));

	if (!list)
		return -ENOMEM;
	clients->list = list;
	list[clients->count++] = *client;
	return 0;
}

/* Files of one process; a process that has exited has none. */
static int look_at(const char *process, const char *device, struct clients *clients)
{
	char path[PATH_MAX];
	struct dirent *file;
	int error = 0;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%s/fd", process);
	files = opendir(path);
	if (!files) {
		clients->hidden |= errno == EACCES || errno == EPERM;
		return 0;
	}
	while (!error && (file = readdir(files))) {
		struct client client;
		struct stat st, owner;
		char *other;

		if (!isdigit((unsigned char)*file->d_name) ||
		    fstatat(dirfd(files), file->d_name, &st, 0))
			continue;
		other = device_of(&st);
		if (other && !strcmp(other, device) &&
		    read_fdinfo(process, file->d_name, &client) && !is_known(clients, &client)) {
			read_command(process, &client);
			client.uid = fstat(dirfd(files), &owner) ? 0 : owner.st_uid;
			error = add(clients, &client);
		}
		free(other);
	}
	closedir(files);
	return error;
}

/* Count a file that several processes have open once, if the kernel identifies files. */
static unsigned int count_seen(const struct clients *clients)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < clients->count; i++) {
		size_t first = 0;

		while (first < i &&
		       (!clients->list[i].id || clients->list[first].id != clients->list[i].id))
			first++;
		if (first == i)
			seen += clients->list[i].sessions;
	}
	return seen;
}

static void look_at_kernel_list(const struct stat *node, struct clients *clients)
{
	unsigned int all = 0, seen = count_seen(clients);
	char line[LINE_BYTES];
	FILE *f;

	snprintf(clients->kernel_list, sizeof(clients->kernel_list),
		 "/sys/kernel/debug/dri/%u/perfctr_sessions", minor(node->st_rdev));
	f = fopen(clients->kernel_list, "re");
	if (!f)
		return;
	/* skip the heading */
	if (fgets(line, sizeof(line), f))
		while (fgets(line, sizeof(line), f))
			all++;
	fclose(f);
	clients->unseen = all > seen ? all - seen : 0;
}

int clients_find(const char *path, struct clients *clients)
{
	struct dirent *process;
	char *device = NULL;
	struct stat st;
	int error = 0;
	DIR *all;

	/* with hidepid= other users' processes are not in /proc */
	*clients = (struct clients){ .hidden = geteuid() != 0 };
	if (stat(path, &st))
		return -errno;
	device = device_of(&st);
	if (!device)
		return -ENODEV;
	all = opendir("/proc");
	if (!all)
		error = -errno;
	while (!error && (process = readdir(all)))
		if (isdigit((unsigned char)*process->d_name))
			error = look_at(process->d_name, device, clients);
	if (all)
		closedir(all);
	free(device);
	if (error)
		clients_free(clients);
	else
		look_at_kernel_list(&st, clients);
	return error;
}

void clients_free(struct clients *clients)
{
	free(clients->list);
	*clients = (struct clients){ 0 };
}
