// SPDX-License-Identifier: MIT
/* The socket of frames: connections, ends of frames, answers while counters change. */
#include "frames.h"
#include "software.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* messages of the protocol */
#define FRAME "frame"
#define GO "go"

static int failed(const struct frames *f, const char *call)
{
	app_error(f->app, "%s: %s", call, strerror(errno));
	return EXIT_FAILED;
}

/* The kernel assigns an unused abstract name, so no file is left behind. */
static int bind_name(const struct frames *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address.sun_family);
	char name[sizeof(address.sun_path) + 1] = { 0 };

	if (bind(f->socket_fd, (struct sockaddr *)&address, length))
		return failed(f, "bind");
	length = sizeof(address);
	if (getsockname(f->socket_fd, (struct sockaddr *)&address, &length))
		return failed(f, "getsockname");
	memcpy(name, address.sun_path, length - sizeof(address.sun_family));
	name[0] = '@';
	if (setenv(FRAMES_VARIABLE, name, 1))
		return failed(f, "setenv");
	return 0;
}

int frames_open(const struct app *app, struct frames *frames)
{
	int status;

	*frames = (struct frames){ .app = app, .counted_fd = -1 };
	frames->socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (frames->socket_fd < 0)
		return failed(frames, "socket");
	status = bind_name(frames);
	if (!status && listen(frames->socket_fd, FRAMES_MAX_REPORTERS))
		status = failed(frames, "listen");
	return status;
}

size_t frames_fds(const struct frames *frames, struct pollfd *fds)
{
	size_t count = 0;

	if (frames->socket_fd >= 0)
		fds[count++] = (struct pollfd){ .fd = frames->socket_fd, .events = POLLIN };
	for (size_t n = 0; n < frames->reporter_count; n++)
		fds[count++] = (struct pollfd){ .fd = frames->reporters[n].fd, .events = POLLIN };
	return count;
}

/* Abstract socket names have no owner, so check the peer. Root counts any user's program. */
static bool is_allowed(const struct ucred *peer)
{
	return !peer->uid || peer->uid == geteuid() || !geteuid();
}

static void accept_reporters(struct frames *f)
{
	int fd;

	while ((fd = accept4(f->socket_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct ucred peer = { 0 };
		socklen_t length = sizeof(peer);

		if (f->stopped)
			close(fd);
		else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) ||
			 !is_allowed(&peer)) {
			app_error(f->app,
				  "frames of process %d are not heard: it is another user's",
				  (int)peer.pid);
			close(fd);
		} else if (f->reporter_count == FRAMES_MAX_REPORTERS) {
			app_error(f->app, "frames of process %d are ignored: %d others report some",
				  (int)peer.pid, FRAMES_MAX_REPORTERS);
			close(fd);
		} else {
			f->reporters[f->reporter_count++] = (struct frame_reporter){ fd, peer.pid };
		}
	}
}

static void drop_reporter(struct frames *f, size_t n)
{
	if (f->reporters[n].fd == f->counted_fd)
		f->counted_fd = -1;
	close(f->reporters[n].fd);
	/* keep the order in which the processes connected */
	memmove(&f->reporters[n], &f->reporters[n + 1],
		(--f->reporter_count - n) * sizeof(f->reporters[0]));
}

static void answer(int fd)
{
	/* a closed connection is noticed by the next read */
	(void)!send(fd, GO, strlen(GO), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void note_other(struct frames *f, pid_t pid)
{
	if (f->said_other)
		return;
	f->said_other = true;
	app_error(f->app,
		  "process %d draws, too: its frames are not counted, but what it has the GPU do "
		  "is in those of the first one",
		  (int)pid);
}

/* Whether a counted frame of the process ended. @gone: out: the process reports no more */
static bool receive_end(struct frames *f, const struct frame_reporter *reporter, bool *gone)
{
	const size_t length = strlen(FRAME);
	char message[FRAMES_MESSAGE_BYTES];
	ssize_t bytes = recv(reporter->fd, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);

	*gone = !bytes || (bytes < 0 && errno != EAGAIN && errno != EINTR);
	if (bytes <= 0)
		return false;
	if (bytes < (ssize_t)sizeof(message))
		message[bytes] = '\0';
	if (bytes >= (ssize_t)sizeof(message) || strlen(message) != (size_t)bytes ||
	    strncmp(message, FRAME, length) || !perfkit_software_check(message + length)) {
		app_error(f->app,
			  "process %d: a message that is not '%s' and values: it is not heard "
			  "any more",
			  (int)reporter->pid, FRAME);
		*gone = true;
		return false;
	}
	if (f->counted_fd < 0)
		f->counted_fd = reporter->fd;
	if (f->counted_fd == reporter->fd) {
		strcpy(f->values, message + length);
		return true;
	}
	note_other(f, reporter->pid);
	answer(reporter->fd);
	return false;
}

bool frames_next(struct frames *frames)
{
	bool ended = false;

	if (frames->socket_fd >= 0)
		accept_reporters(frames);
	for (size_t n = 0; n < frames->reporter_count && !ended;) {
		bool gone;

		ended = receive_end(frames, &frames->reporters[n], &gone);
		if (gone)
			drop_reporter(frames, n);
		else
			n++;
	}
	return ended;
}

void frames_answer(struct frames *frames)
{
	answer(frames->counted_fd);
}

void frames_stop(struct frames *frames)
{
	frames->stopped = true;
	while (frames->reporter_count)
		drop_reporter(frames, 0);
}

void frames_close(struct frames *frames)
{
	frames_stop(frames);
	if (frames->socket_fd >= 0)
		close(frames->socket_fd);
	frames->socket_fd = -1;
}
