// SPDX-License-Identifier: MIT
/*
 * Ends of frames: which context reports them, and processes whose tool is gone or never existed.
 * Built by mesa/tests/groups.
 */
#include "pctr_frames.c"
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

enum { ANSWER_MS = 10000 };

static int messages;
static int server = -1;
static char last_message[256];

static void say(const char *text)
{
	messages++;
	snprintf(last_message, sizeof(last_message), "%s", text);
}

/* --- a tool ----------------------------------------------------------------- */

/* Open the socket that PERFCTR_FRAMES names. */
static int open_server(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address.sun_family);
	char name[sizeof(address.sun_path) + 1] = { 0 };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	bind(fd, (struct sockaddr *)&address, length);
	listen(fd, 4);
	length = sizeof(address);
	getsockname(fd, (struct sockaddr *)&address, &length);
	memcpy(name, address.sun_path, length - sizeof(address.sun_family));
	name[0] = '@';
	setenv(VARIABLE, name, 1);
	return fd;
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, ANSWER_MS) == 1;
}

/* The tool's answer to the next frame. */
static const char *answer;
static int client = -1, heard;

/* Receive one frame; without an answer close the connection. */
static void *serve(void *unused)
{
	char message[MESSAGE_BYTES];
	ssize_t bytes;

	if (client < 0 && is_readable(server))
		client = accept(server, NULL, NULL);
	if (!is_readable(client))
		return NULL;
	bytes = recv(client, message, sizeof(message), 0);
	heard += bytes == 5 && !memcmp(message, "frame", 5);
	if (answer) {
		send(client, answer, strlen(answer), MSG_NOSIGNAL);
		return NULL;
	}
	close(client);
	client = -1;
	return NULL;
}

/* End a frame of the context; the tool gives this answer. Returns whether it was reported. */
static bool end_frame(const void *context, const char *with)
{
	int before = heard;
	pthread_t thread;

	answer = with;
	if (!pctr_frames_listens(context, say))
		return false;
	pthread_create(&thread, NULL, serve, NULL);
	pctr_frames_end(context, "");
	pthread_join(thread, NULL);
	return heard == before + 1;
}

/* Reset to the state of a new process. */
static void restart(int type)
{
	forget();
	if (client >= 0)
		close(client);
	if (server >= 0)
		close(server);
	client = -1;
	server = open_server(type);
	messages = 0;
}

/* --- tests ------------------------------------------------------------------ */

static int contexts[2];

static bool refuses(const char *name)
{
	bool ok;

	forget();
	messages = 0;
	setenv(VARIABLE, name, 1);
	ok = !pctr_frames_listens(&contexts[0], say) && !pctr_frames_listens(&contexts[0], say);
	return ok && messages == 1 && strstr(last_message, VARIABLE) &&
	       strstr(last_message, "frames are not reported");
}

static void test_names(void)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 2];

	unsetenv(VARIABLE);
	check(!pctr_frames_wanted() && !pctr_frames_listens(&contexts[0], say) && !messages,
	      "without the variable nothing listens, and no message is printed");
	memset(name, 'x', sizeof(name));
	name[0] = '@';
	name[sizeof(name) - 1] = 0;
	check(refuses("3") && refuses("@") && refuses(name) && refuses("/nowhere/at/all") &&
		      refuses("@nobody of this name"),
	      "a name of no socket is reported once");
	restart(SOCK_STREAM);
	strcpy(name, getenv(VARIABLE));
	check(refuses(name), "a socket of another type is reported once");
	restart(SOCK_SEQPACKET);
	strcpy(name, getenv(VARIABLE));
	close(server);
	server = -1;
	check(refuses(name) && strstr(last_message, "has ended"),
	      "a tool that has ended is reported once");
}

/* Root only: listen as one user, then ask as another. Returns whether a frame is reported. */
static bool hears_listener(uid_t listener, uid_t user)
{
	bool listens;

	forget();
	close(server);
	messages = 0;
	/* the kernel records the user that called listen() */
	if (seteuid(listener))
		return false;
	server = open_server(SOCK_SEQPACKET);
	if (seteuid(0) || seteuid(user))
		return false;
	listens = pctr_frames_listens(&contexts[0], say);
	return !seteuid(0) && listens;
}

static void test_users(void)
{
	static const char name[] = "frames are reported to a tool of the same user or of root only";

	if (geteuid()) {
		printf("ok %d - %s # SKIP needs root\n", ++number, name);
		return;
	}
	restart(SOCK_SEQPACKET);
	check(hears_listener(1, 1) && hears_listener(0, 1) && hears_listener(0, 0) && !messages &&
		      !hears_listener(1, 2) && messages == 1 &&
		      strstr(last_message, "of this user") && !hears_listener(1, 0) &&
		      messages == 1 && strstr(last_message, "frames are not reported"),
	      name);
}

static bool hung_up(int fd)
{
	char byte;

	return is_readable(fd) && !recv(fd, &byte, 1, 0);
}

/* The library is unloaded with its last display. */
static void test_unload(void)
{
	restart(SOCK_SEQPACKET);
	end_frame(&contexts[0], "go");
	check(fcntl(connection, F_GETFD) & FD_CLOEXEC,
	      "programs that are started do not have the connection");
	unload();
	check(hung_up(client), "when the driver is unloaded the connection is closed");
}

static void test_frames(void)
{
	restart(SOCK_SEQPACKET);
	check(pctr_frames_wanted() && end_frame(&contexts[0], "go") &&
		      end_frame(&contexts[0], "go"),
	      "a frame is reported, and drawing continues after the answer");
	check(!end_frame(&contexts[1], "go") && !end_frame(&contexts[1], "go") && messages == 1 &&
		      strstr(last_message, "second context"),
	      "frames of a second context are not reported, with one message");
	messages = 0;
	pctr_frames_leave(&contexts[1]);
	check(!end_frame(&contexts[1], "go"), "nor if it was destroyed");
	pctr_frames_leave(&contexts[0]);
	check(end_frame(&contexts[1], "go") && !end_frame(&contexts[0], "go"),
	      "when the first one is destroyed those of the next one are");
	check(end_frame(&contexts[1], NULL) && !end_frame(&contexts[1], "go") && !messages,
	      "a tool that closes gets no more frames");
	restart(SOCK_SEQPACKET);
	check(end_frame(&contexts[0], "gone") && !end_frame(&contexts[0], "go"),
	      "nor is one that answers anything else");
	restart(SOCK_SEQPACKET);
	end_frame(&contexts[0], "go");
	close(client);
	client = -1;
	close(server);
	server = -1;
	pctr_frames_end(&contexts[0], "");
	check(!pctr_frames_listens(&contexts[0], say), "nor one that is gone");
}

/* Each process has a separate connection. */
static void test_fork(void)
{
	int status = -1, parents;
	pid_t pid;

	restart(SOCK_SEQPACKET);
	end_frame(&contexts[0], "go");
	parents = client;
	pid = fork();
	if (!pid) {
		bool ok = pctr_frames_listens(&contexts[1], say);

		pctr_frames_end(&contexts[1], "");
		_exit(ok && pctr_frames_listens(&contexts[1], say) ? 0 : 1);
	}
	client = -1;
	answer = "go";
	serve(NULL);
	waitpid(pid, &status, 0);
	close(client);
	client = parents;
	check(!status && end_frame(&contexts[0], "go"),
	      "a forked child reports its own frames, and so does its parent");
}

int main(void)
{
	signal(SIGALRM, SIG_DFL);
	alarm(60);
	puts("1..15");
	test_names();
	test_users();
	test_frames();
	test_fork();
	test_unload();
	close(client);
	close(server);
	return failed != 0;
}
