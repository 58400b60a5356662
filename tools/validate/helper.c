// SPDX-License-Identifier: MIT
/* Starts a helper, speaks to it, and ends it. */
#include "helper.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "document.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 64, MS = 1000, END_MS = 2000, NAP_MS = 10 };
enum { GLANCE_MS = 100 };
enum { WAIT_S = 60, MAX_WAIT_S = 86400 };

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * MS + (uint64_t)t.tv_nsec / 1000000;
}

/* Whether it has ended, after some time at most: a process in a driver may not even die. */
static bool has_ended(pid_t pid, int *status)
{
	for (int waited = 0; waited < END_MS;) {
		const pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid || (ended < 0 && errno != EINTR))
			return ended == pid;
		if (!nanosleep(&(struct timespec){ .tv_nsec = NAP_MS * 1000000L }, NULL))
			waited += NAP_MS;
	}
	return false;
}

/*
 * Wait for the socket. Time in which this process did not run, as after Ctrl-Z, is no time that the
 * helper took: it was stopped as well. Return: whether it is ready
 */
static bool is_ready(const struct helper *h, short events)
{
	struct pollfd poller = { .fd = h->fd, .events = events };
	uint64_t waited = 0;

	while (waited < (uint64_t)h->wait_s * MS) {
		const uint64_t begin = now_ms();
		const int ready = poll(&poller, 1, GLANCE_MS);
		const uint64_t took = now_ms() - begin;

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
		waited += took < GLANCE_MS ? took : GLANCE_MS;
	}
	return false;
}

void helper_end(struct helper *h)
{
	int status;

	if (h->fd < 0)
		return;
	close(h->fd);
	h->fd = -1;
	kill(h->pid, SIGKILL);
	has_ended(h->pid, &status);
}

/* It closed the socket: how did it end? */
static int report_end(struct helper *h)
{
	int status = 0;

	close(h->fd);
	h->fd = -1;
	if (!has_ended(h->pid, &status))
		kill(h->pid, SIGKILL);
	else if (WIFSIGNALED(status))
		return fail(h->failure, "%s was killed by signal %d, at: %s", h->name,
			    WTERMSIG(status), h->step);
	return fail(h->failure, "%s ended without an answer, at: %s", h->name, h->step);
}

int helper_lies(struct helper *h, const char *what)
{
	helper_end(h);
	return fail(h->failure, "%s gave a wrong answer: %s", h->name, what);
}

/* In the child: nothing but the socket and the standard descriptors is kept. */
static _Noreturn void execute(const char *path, int fd)
{
	/* it ends with this program, also if it hangs */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the numbers of GPUs do not depend on their speed */
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	if ((fd == CUDA_SOCKET ? !fcntl(fd, F_SETFD, 0) : dup2(fd, CUDA_SOCKET) >= 0) &&
	    !close_range(CUDA_SOCKET + 1, ~0U, 0))
		execl(path, path, (char *)NULL);
	_exit(127);
}

int helper_start(struct helper *h)
{
	const char *wait = getenv("PERFCTR_CUDA_WAIT_S");
	char path[PATH_BYTES];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - NAME_BYTES);
	uint64_t wait_s = WAIT_S;
	char *slash;
	int ends[2];

	h->fd = -1;
	snprintf(h->step, sizeof(h->step), "the start");
	if (wait && (parse_count(wait, &wait_s) || !wait_s || wait_s > MAX_WAIT_S))
		return fail(h->failure, "PERFCTR_CUDA_WAIT_S is '%s', not 1 to %d seconds", wait,
			    MAX_WAIT_S);
	h->wait_s = (unsigned int)wait_s;
	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, NAME_BYTES, "%s", h->name);
	if (access(path, X_OK))
		return fail(h->failure, "%s: %s; install perfctr again", path, strerror(errno));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return fail(h->failure, "socketpair: %s", strerror(errno));
	h->pid = fork();
	if (!h->pid)
		execute(path, ends[1]);
	close(ends[1]);
	if (h->pid < 0) {
		close(ends[0]);
		return fail(h->failure, "fork: %s", strerror(errno));
	}
	h->fd = ends[0];
	return 0;
}

int helper_send(struct helper *h, const void *data, size_t length)
{
	/* the socket's buffer is full while the helper hangs */
	if (!is_ready(h, POLLOUT)) {
		helper_end(h);
		return fail(h->failure, "%s takes no request for %u s, at: %s", h->name, h->wait_s,
			    h->step);
	}
	if (send(h->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length)
		return 0;
	/* a helper that gave up said why */
	if (errno == EPIPE || errno == ECONNRESET)
		return 0;
	return fail(h->failure, "%s: %s", h->name, strerror(errno));
}

/* A message. Return: its length, 0 at the end, -1 with a failure */
static ssize_t receive(struct helper *h)
{
	ssize_t got;

	if (!is_ready(h, POLLIN)) {
		helper_end(h);
		return fail(h->failure,
			    "%s does not answer for %u s, at: %s (PERFCTR_CUDA_WAIT_S=N waits "
			    "longer)",
			    h->name, h->wait_s, h->step);
	}
	got = recv(h->fd, h->answer, sizeof(h->answer), MSG_DONTWAIT);
	if (got == (ssize_t)sizeof(h->answer))
		return helper_lies(h, "it is too long");
	h->answer[got > 0 ? got : 0] = '\0';
	if (got > 0 && memchr(h->answer, 0, (size_t)got))
		return helper_lies(h, "it is no text");
	/* it may be shown on a terminal */
	for (char *at = h->answer; *at; at++)
		if (iscntrl((unsigned char)*at) && *at != '\n')
			*at = '?';
	return got > 0 ? got : 0;
}

/* "error KIND TEXT" */
static int report_error(struct helper *h)
{
	static const struct {
		const char *name;
		int error;
	} kinds[] = { { "absent ", -ENODEV },
		      { "other ", -ENXIO },
		      { "denied ", -EACCES },
		      { "failed ", -EIO } };
	const char *text = h->answer + strlen("error ");

	helper_end(h);
	h->answer[strcspn(h->answer, "\n")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strncmp(text, kinds[i].name, strlen(kinds[i].name)) != 0)
			continue;
		fail(h->failure, "%s", text + strlen(kinds[i].name));
		return kinds[i].error;
	}
	helper_lies(h, "an error of no kind");
	return -EIO;
}

int helper_wait(struct helper *h, unsigned int steps)
{
	for (;;) {
		const ssize_t got = receive(h);

		if (!got)
			report_end(h);
		if (got <= 0)
			return -EIO;
		if (!strncmp(h->answer, "at ", 3)) {
			if (!steps--) {
				helper_lies(h, "it never ends");
				return -EIO;
			}
			snprintf(h->step, sizeof(h->step), "%.*s",
				 (int)strcspn(h->answer + 3, "\n"), h->answer + 3);
			continue;
		}
		if (!strncmp(h->answer, "error ", strlen("error ")))
			return report_error(h);
		if (strncmp(h->answer, "ok", 2) != 0 || !strchr(" \n", h->answer[2])) {
			helper_lies(h, "neither ok nor an error");
			return -EIO;
		}
		h->rest = h->answer + 2 + (h->answer[2] == ' ');
		return 0;
	}
}

char *helper_line(struct helper *h)
{
	char *line = h->rest;

	if (!*line)
		return NULL;
	h->rest += strcspn(line, "\n");
	if (*h->rest)
		*h->rest++ = '\0';
	return line;
}
