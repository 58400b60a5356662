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

/* target of the link of a session's descriptor in /proc */
#define SESSION_LINK "anon_inode:[perfctr]"

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

/* a session, by the fdinfo of its descriptor */
struct session {
	char device[NAME_BYTES];
	uint64_t number, kib;
	unsigned int active;
	int set;
};

static bool read_fdinfo(int folder, const char *process, const char *file, struct session *session)
{
	char path[PATH_MAX], line[LINE_BYTES];
	ssize_t length = readlinkat(folder, file, path, sizeof(path));
	FILE *f;

	if (length != (ssize_t)strlen(SESSION_LINK) || memcmp(path, SESSION_LINK, (size_t)length))
		return false;
	*session = (struct session){ .set = CLIENT_NO_SET };
	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", process, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		/* other lines match none of these */
		sscanf(line, "perfctr-device: %63s", session->device);
		sscanf(line, "perfctr-session: %" SCNu64, &session->number);
		sscanf(line, "perfctr-active: %u", &session->active);
		sscanf(line, "perfctr-memory: %" SCNu64, &session->kib);
		sscanf(line, "perfctr-set: %d", &session->set);
	}
	fclose(f);
	return true;
}

/* Return: 1 it is new; 0; -ENOMEM. */
static int add_number(uint64_t **numbers, size_t *count, uint64_t number)
{
	uint64_t *list;

	for (size_t n = 0; n < *count; n++)
		if ((*numbers)[n] == number)
			return 0;
	list = reallocarray(*numbers, *count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	*numbers = list;
	list[(*count)++] = number;
	return 1;
}

static int add_client(struct clients *clients, const struct client *client)
{
	struct client *list =
		reallocarray(clients->list, clients->count + 1, sizeof(*clients->list));

	if (!list)
		return -ENOMEM;
	clients->list = list;
	list[clients->count++] = *client;
	return 0;
}

/* Add the sessions of one process; a process that has exited has none. */
static int look_at(const char *process, const char *device, struct clients *clients)
{
	struct client client = { .pid = (pid_t)strtol(process, NULL, 10), .set = CLIENT_NO_SET };
	uint64_t *own = NULL; /* a session may have several descriptors */
	char path[PATH_MAX];
	struct dirent *file;
	size_t count = 0;
	struct stat owner;
	int result = 0;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%s/fd", process);
	files = opendir(path);
	if (!files) {
		clients->hidden |= errno == EACCES || errno == EPERM;
		return 0;
	}
	while (result >= 0 && (file = readdir(files))) {
		struct session s;

		if (!isdigit((unsigned char)*file->d_name) ||
		    !read_fdinfo(dirfd(files), process, file->d_name, &s) ||
		    strcmp(s.device, device))
			continue;
		result = add_number(&own, &count, s.number);
		if (result <= 0)
			continue;
		if (!client.sessions++)
			client.fd = (int)strtol(file->d_name, NULL, 10);
		client.active += s.active;
		client.kib += s.kib;
		client.set = s.set == CLIENT_NO_SET ? client.set : s.set;
		result = add_number(&clients->sessions, &clients->session_count, s.number);
	}
	free(own);
	client.uid = fstat(dirfd(files), &owner) ? 0 : owner.st_uid;
	closedir(files);
	if (result < 0 || !client.sessions)
		return result < 0 ? result : 0;
	read_command(process, &client);
	return add_client(clients, &client);
}

static void look_at_kernel_list(const struct stat *node, struct clients *clients)
{
	size_t all = 0, seen = clients->session_count;
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
	clients->unseen = all > seen ? (unsigned int)(all - seen) : 0;
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
			error = look_at(process->d_name, strrchr(device, '/') + 1, clients);
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
	free(clients->sessions);
	*clients = (struct clients){ 0 };
}
