/* SPDX-License-Identifier: MIT */
/*
 * A /proc in memory in which clients of a GPU come and go, behind the library's table of system
 * calls, which counts what it is asked.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "local/clients.h"
#include "host/open.h"

enum { MOST_CLIENTS = 512 };

static struct {
	/* a process has one client */
	struct {
		long pid;
		unsigned int id;
		uint64_t busy_ns;
	} clients[MOST_CLIENTS];
	size_t count;
	bool hidden; /* its clients cannot be seen for now */
	char text[256]; /* of the open file */
	size_t at;
	/* calls of any kind, walks of all processes, bytes that were read */
	uint64_t calls, searches, bytes;
} proc;

static int proc_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	int result = 0;

	proc.calls++;
	if (!strncmp(path, "/proc/", 6))
		return fn(arg, "3");
	if (strcmp(path, "/proc") != 0)
		return -ENOENT;
	proc.searches++;
	for (size_t n = 0; !proc.hidden && !result && n < proc.count; n++) {
		char name[24];

		snprintf(name, sizeof(name), "%ld", proc.clients[n].pid);
		result = fn(arg, name);
	}
	return result;
}

static int proc_readlink(void *data, const char *path, char *text, size_t size)
{
	proc.calls++;
	return snprintf(text, size, "/dev/dri/renderD128");
}

static int proc_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	proc.calls++;
	return -ENOENT;
}

static int proc_open(void *data, const char *path, int flags)
{
	const long pid = strncmp(path, "/proc/", 6) ? 0 : strtol(path + 6, NULL, 10);

	proc.calls++;
	for (size_t n = 0; !proc.hidden && n < proc.count; n++) {
		if (proc.clients[n].pid != pid)
			continue;
		proc.at = 0;
		if (strstr(path, "/comm"))
			snprintf(proc.text, sizeof(proc.text), "app%u\n", proc.clients[n].id);
		else if (strstr(path, "/cgroup"))
			snprintf(proc.text, sizeof(proc.text), "0::/unit%u\n", proc.clients[n].id);
		else
			snprintf(proc.text, sizeof(proc.text),
				 "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t%u\n"
				 "drm-engine-render:\t%llu ns\n",
				 proc.clients[n].id, (unsigned long long)proc.clients[n].busy_ns);
		return 3;
	}
	return -ENOENT;
}

static ssize_t proc_read(void *data, int fd, void *bytes, size_t size)
{
	const size_t left = strlen(proc.text) - proc.at;

	proc.calls++;
	size = left < size ? left : size;
	memcpy(bytes, proc.text + proc.at, size);
	proc.at += size;
	proc.bytes += size;
	return (ssize_t)size;
}

static int proc_close(void *data, int fd)
{
	proc.calls++;
	return 0;
}

static const struct perfctr_sys proc_sys = {
	.list = proc_list,
	.readlink = proc_readlink,
	.node_number = proc_node_number,
	.open = proc_open,
	.read = proc_read,
	.close = proc_close,
};

static void proc_add(long pid, unsigned int id, uint64_t busy_ns)
{
	if (proc.count == MOST_CLIENTS)
		abort();
	proc.clients[proc.count].pid = pid;
	proc.clients[proc.count].id = id;
	proc.clients[proc.count++].busy_ns = busy_ns;
}

enum { GENERATION = 10 }; /* clients that live at a time */

/*
 * A generation of clients comes, works 7 ns in all and ends: three readings, the first of which is
 * when a search is due.
 * @first: id of its first client.
 */
static inline void proc_live_and_end(struct drm_clients *clients, unsigned int first)
{
	const uint64_t now_ns = clients->next_look_ns;

	for (unsigned int n = 0; n < GENERATION; n++)
		proc_add(1000 + n, first + n, 3);
	drm_clients_read(clients, now_ns);
	for (size_t n = 0; n < proc.count; n++)
		proc.clients[n].busy_ns += 4;
	drm_clients_read(clients, now_ns + 1);
	proc.count = 0;
	drm_clients_read(clients, now_ns + 2);
}

#define ENGINE_TIME perfctr_hash("i915@0000:00:02.0:engine-render")
