// SPDX-License-Identifier: MIT
/* Marks: from the program that is recorded, through a pipe of the recorder, into the capture. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"

_Static_assert(sizeof(struct perfctr_capture_mark) == 24, "wire format");
_Static_assert(sizeof(struct perfctr_capture_mark) + PERFCTR_MARK_NAME_MAX + 1 <= 512,
	       "POSIX's least PIPE_BUF: marks of several threads do not mix");

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* the recorder's pipe; -1: nothing records, below: a negative errno */
static atomic_int recorder = -1;
static struct stat recorder_pipe;
static char recorder_path[64];
static atomic_uint lost;

static bool is_pipe(const struct stat *stat)
{
	return S_ISFIFO(stat->st_mode) && stat->st_ino == recorder_pipe.st_ino &&
	       stat->st_dev == recorder_pipe.st_dev;
}

static void forget_lost(void)
{
	atomic_store(&lost, 0);
}

/*
 * The recorder's process, descriptor and inode; of a number that is used again, neither may be
 * opened. Opened for reading too: then a recorder that has ended is no SIGPIPE.
 */
static void find_recorder(void)
{
	const char *text = secure_getenv(PERFCTR_MARKS_VARIABLE);
	unsigned long long inode;
	unsigned int pid, fd;
	struct stat opened;

	if (!text || sscanf(text, "%u/%u/%llu", &pid, &fd, &inode) != 3)
		return;
	snprintf(recorder_path, sizeof(recorder_path), "/proc/%u/fd/%u", pid, fd);
	if (stat(recorder_path, &recorder_pipe)) {
		/* it has ended */
		recorder = errno == ENOENT ? -1 : -errno - 1;
		return;
	}
	if (recorder_pipe.st_ino != inode || !is_pipe(&recorder_pipe))
		return;
	recorder = open(recorder_path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (recorder < 0) {
		recorder = -errno - 1;
	} else if (fstat(recorder, &opened) || !is_pipe(&opened)) {
		close(recorder);
		recorder = -1;
	}
	/* the parent reports its own */
	pthread_atfork(NULL, NULL, forget_lost);
}

EXPORT int perfctr_mark(enum perfctr_mark_kind kind, const char *name)
{
	struct {
		struct perfctr_capture_mark mark;
		char name[PERFCTR_MARK_NAME_MAX + 1];
	} message = { .mark = { .kind = (uint8_t)kind } };
	const size_t length = name ? strnlen(name, sizeof(message.name)) : 0;
	size_t size = sizeof(message.mark) + length + 1;
	struct stat now;
	int fd;

	if (kind > PERFCTR_MARK_END || !length)
		return -EINVAL;
	if (length > PERFCTR_MARK_NAME_MAX)
		return -ENAMETOOLONG;
	pthread_once(&once, find_recorder);
	fd = recorder;
	if (fd < 0)
		return fd + 1;
	/* the program may have closed it, and opened a file of its own */
	if (fstat(fd, &now) || !is_pipe(&now)) {
		recorder = -1;
		return 0;
	}
	memcpy(message.name, name, length);
	message.mark.time_ns = perfctr_time_raw_ns();
	message.mark.pid = (uint32_t)getpid();
	message.mark.tid = (uint32_t)gettid();
	message.mark.bytes = (uint16_t)size;
	message.mark.lost = atomic_exchange(&lost, 0);
	if (write(fd, &message, size) == (ssize_t)size)
		return 1;
	/* nobody reads any more */
	if (stat(recorder_path, &now) ? errno == ENOENT : !is_pipe(&now))
		return 0;
	atomic_fetch_add(&lost, message.mark.lost + 1);
	return -EAGAIN;
}

int capture_mark_check(const void *bytes, size_t size, struct perfctr_capture_mark *mark)
{
	const char *name = (const char *)bytes + sizeof(*mark);

	if (size < sizeof(*mark))
		return -EBADMSG;
	memcpy(mark, bytes, sizeof(*mark));
	if (mark->bytes > size || mark->bytes < sizeof(*mark) + 2 ||
	    mark->bytes > sizeof(*mark) + PERFCTR_MARK_NAME_MAX + 1 ||
	    mark->kind > PERFCTR_MARK_END)
		return -EBADMSG;
	return strnlen(name, mark->bytes - sizeof(*mark)) + 1 == mark->bytes - sizeof(*mark) ?
		       0 :
		       -EBADMSG;
}

EXPORT int perfctr_capture_mark(const struct perfctr_capture_record *record,
				struct perfctr_capture_mark *mark, const char **name)
{
	*name = (const char *)record->content + sizeof(*mark);
	return capture_mark_check(record->content, record->size, mark);
}
