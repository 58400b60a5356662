// SPDX-License-Identifier: MIT
/* One process that has a device whose counters are exclusive, for the processes of all clients. */
#include "hub.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

enum { MAX_DEVICES = 64 };

struct serve_hub {
	struct app *app;
	struct serve_log log; /* without a file: the clients' processes log */
	struct pollfd *files; /* the first is the control socket */
	struct client **clients; /* of files[1], ... */
	size_t count, room;
	struct perfctr_device *devices[MAX_DEVICES];
};

/* a broker's clients were checked by their own processes */
static char any[] = "*";
static char *words[] = { any };
static const struct serve_rule everything = {
	.name = any,
	.devices = { words, 1 },
	.blocks = { words, 1 },
	.pmus = { words, 1 },
	.ring_bytes = UINT64_MAX,
	.sessions = UINT32_MAX,
	.counters = UINT32_MAX,
	.keep_awake = true,
};

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void fill_message(struct msghdr *message, struct iovec *io, union control *control)
{
	static char byte;

	*io = (struct iovec){ .iov_base = &byte, .iov_len = 1 };
	*message = (struct msghdr){
		.msg_iov = io,
		.msg_iovlen = 1,
		.msg_control = control->bytes,
		.msg_controllen = sizeof(control->bytes),
	};
}

int serve_hub_pass(int control, int fd)
{
	union control words_of_control = { 0 };
	struct msghdr message;
	struct cmsghdr *c;
	struct iovec io;
	ssize_t done;

	fill_message(&message, &io, &words_of_control);
	c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	done = TEMP_FAILURE_RETRY(sendmsg(control, &message, MSG_NOSIGNAL));
	close(fd);
	return done < 0 ? -errno : 0;
}

/* Return: a connection; -1: the broker has ended. */
static int receive_connection(int control)
{
	union control words_of_control = { 0 };
	struct msghdr message;
	struct cmsghdr *c;
	struct iovec io;
	int fd = -1;

	fill_message(&message, &io, &words_of_control);
	if (TEMP_FAILURE_RETRY(recvmsg(control, &message, MSG_CMSG_CLOEXEC)) <= 0)
		return -1;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* --- devices ---------------------------------------------------------------------- */

/* The device at a node, open once for all clients. */
static int open_once(void *data, const char *path, struct perfctr_device **device)
{
	struct serve_hub *hub = data;
	size_t n = 0;
	int error;

	for (; n < MAX_DEVICES && hub->devices[n]; n++) {
		if (strcmp(perfctr_device_path(hub->devices[n]), path))
			continue;
		*device = perfctr_device_ref(hub->devices[n]);
		return 0;
	}
	if (n == MAX_DEVICES)
		return -ENOSPC;
	error = perfctr_device_open(hub->app->ctx, path, device);
	if (!error)
		hub->devices[n] = perfctr_device_ref(*device);
	return error;
}

/* A device that nobody uses is closed: its driver then gives the counters to others. */
static void close_unused(struct serve_hub *hub)
{
	size_t kept = 0;

	for (size_t n = 0; n < MAX_DEVICES && hub->devices[n]; n++) {
		struct perfctr_device *device = hub->devices[n];
		bool used = false;

		for (size_t i = 0; i < hub->count; i++)
			used |= serve_client_device(hub->clients[i]) == device;
		hub->devices[n] = NULL;
		if (used)
			hub->devices[kept++] = device;
		else
			perfctr_device_unref(device);
	}
}

/* --- clients ---------------------------------------------------------------------- */

static void add_client(struct serve_hub *hub, int fd)
{
	static const struct serve_peer peer;
	struct client *client;

	if (hub->count == hub->room) {
		const size_t room = hub->room ? 2 * hub->room : 16;
		struct client **clients = realloc(hub->clients, room * sizeof(struct client *));
		struct pollfd *files;

		if (clients)
			hub->clients = clients;
		files = clients ? realloc(hub->files, (room + 1) * sizeof(*files)) : NULL;
		if (files) {
			hub->files = files;
			hub->room = room;
		}
	}
	client = hub->count < hub->room ?
			 serve_client_new(hub->app, &hub->log, &everything, &peer, NULL, fd) :
			 NULL;
	if (!client) {
		serve_client_refuse(fd, -ENOMEM, "the broker is out of memory");
		return;
	}
	serve_client_set_open(client, open_once, hub);
	hub->clients[hub->count++] = client;
	hub->files[hub->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void end_client(struct serve_hub *hub, size_t n)
{
	serve_client_end(hub->clients[n]);
	hub->count--;
	hub->clients[n] = hub->clients[hub->count];
	hub->files[n + 1] = hub->files[hub->count + 1];
	close_unused(hub);
}

void serve_hub_run(struct app *app, int control)
{
	struct serve_hub hub = { .app = app };
	bool ends = false;

	hub.files = malloc(sizeof(*hub.files));
	if (!hub.files)
		return;
	hub.files[0] = (struct pollfd){ .fd = control, .events = POLLIN };
	while (!ends) {
		if (poll(hub.files, hub.count + 1, -1) < 0 && errno != EINTR)
			break;
		/* from the end, as one that ends is replaced by the last */
		for (size_t n = hub.count; n--;)
			if (hub.files[n + 1].revents && !serve_client_take(hub.clients[n]))
				end_client(&hub, n);
		if (hub.files[0].revents) {
			int fd = receive_connection(control);

			if (fd >= 0)
				add_client(&hub, fd);
			else
				ends = true;
		}
	}
	while (hub.count)
		end_client(&hub, hub.count - 1);
	free(hub.clients);
	free(hub.files);
}
