// SPDX-License-Identifier: MIT
/* The connection to perfctr perfkit: reports each end of a frame and waits for the answer. */
#include "pctr_frames.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "PERFCTR_FRAMES"
/* messages of the protocol */
#define FRAME "frame"
#define GO "go"

enum {
	/* more than any answer */
	MESSAGE_BYTES = 64,
	NOT_ASKED = -2,
	NOBODY = -1,
};

/*
 * One per process. The thread that ends a frame waits with the lock held; other contexts skip
 * theirs.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = NOT_ASKED;
/* the context whose frames are reported; NULL: the next context that asks */
static const void *reporter;
/* the message about another context's frames was printed */
static bool said_other;

bool pctr_frames_wanted(void)
{
	const char *name = getenv(VARIABLE);

	return name && *name;
}

/* Return: length of the address; 0: @name is invalid. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (length < 2 || length >= sizeof(address->sun_path) || !strchr("@/", *name))
		return 0;
	memcpy(address->sun_path, name, length);
	/* an abstract name begins with 0 */
	if (*name == '@')
		address->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/*
 * Any process can listen on an abstract name after its owner has gone, and would then block this
 * program. Return: 0 or a negative errno.
 */
static int check_listener(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return -errno;
	return peer.uid && peer.uid != geteuid() ? -EPERM : 0;
}

/* Return: the connection or a negative errno; -EPERM: another user listens there. */
static int connect_to(const char *name)
{
	struct sockaddr_un address;
	socklen_t length = address_of(name, &address);
	int fd, error;

	if (!length)
		return -EINVAL;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do
		error = connect(fd, (const struct sockaddr *)&address, length) ? -errno : 0;
	while (error == -EINTR);
	if (!error)
		error = check_listener(fd);
	if (!error)
		return fd;
	close(fd);
	return error;
}

static void disconnect(void)
{
	if (connection >= 0)
		close(connection);
	connection = NOBODY;
}

/*
 * The driver is unloaded when its last display is closed; the driver of the next display connects
 * again. At the end of the process a thread may be waiting with the lock held, and the kernel
 * closes the socket.
 */
static __attribute__((destructor)) void unload(void)
{
	if (pthread_mutex_trylock(&lock))
		return;
	disconnect();
	pthread_mutex_unlock(&lock);
}

/* In a forked child, which has one thread. The parent keeps using the connection. */
static void forget(void)
{
	disconnect();
	connection = NOT_ASKED;
	reporter = NULL;
	said_other = false;
	pthread_mutex_init(&lock, NULL);
}

static void say_refused(pctr_frames_say_fn say, const char *name, int error)
{
	char text[256];

	if (error == -EPERM)
		snprintf(text, sizeof(text),
			 "%s='%s' is not of a perfctr of this user or of root: "
			 "frames are not reported",
			 VARIABLE, name);
	else if (error == -ECONNREFUSED)
		snprintf(text, sizeof(text),
			 "%s='%s': perfctr perfkit --frames has ended: frames are not reported",
			 VARIABLE, name);
	else
		snprintf(text, sizeof(text),
			 "%s='%s' is no socket of perfctr perfkit --frames: %s; "
			 "frames are not reported",
			 VARIABLE, name, strerror(-error));
	say(text);
}

static void ask(pctr_frames_say_fn say)
{
	static bool has_handler;
	const char *name = getenv(VARIABLE);
	int fd;

	connection = NOBODY;
	if (!name || !*name)
		return;
	if (!has_handler && pthread_atfork(NULL, NULL, forget)) {
		say(VARIABLE ": out of memory; frames are not reported");
		return;
	}
	has_handler = true;
	fd = connect_to(name);
	if (fd >= 0)
		connection = fd;
	else
		say_refused(say, name, fd);
}

/* Return: whether the tool expects the next frame too. */
static bool report_end(const char *values)
{
	char answer[MESSAGE_BYTES];
	struct iovec parts[] = {
		{ (void *)(uintptr_t)FRAME, strlen(FRAME) },
		{ (void *)(uintptr_t)values, strlen(values) },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t bytes;

	do
		bytes = sendmsg(connection, &message, MSG_NOSIGNAL);
	while (bytes < 0 && errno == EINTR);
	if (bytes < 0)
		return false;
	do
		bytes = recv(connection, answer, sizeof(answer), 0);
	while (bytes < 0 && errno == EINTR);
	return bytes == (ssize_t)strlen(GO) && !memcmp(answer, GO, strlen(GO));
}

bool pctr_frames_listens(const void *context, pctr_frames_say_fn say)
{
	bool listens;

	pthread_mutex_lock(&lock);
	if (connection == NOT_ASKED)
		ask(say);
	if (connection >= 0 && !reporter)
		reporter = context;
	listens = connection >= 0 && reporter == context;
	if (connection >= 0 && !listens && !said_other) {
		said_other = true;
		say("a second context draws frames, not reported to perfctr perfkit --frames: "
		    "those of the first one are, until it is destroyed");
	}
	pthread_mutex_unlock(&lock);
	return listens;
}

void pctr_frames_end(const void *context, const char *values)
{
	pthread_mutex_lock(&lock);
	if (connection >= 0 && reporter == context && !report_end(values))
		disconnect();
	pthread_mutex_unlock(&lock);
}

void pctr_frames_leave(const void *context)
{
	pthread_mutex_lock(&lock);
	if (reporter == context)
		reporter = NULL;
	pthread_mutex_unlock(&lock);
}
