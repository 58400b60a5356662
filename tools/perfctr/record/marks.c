// SPDX-License-Identifier: MIT
/* Marks of the command and its children, see perfctr_mark(). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/marks.h"
#include "record.h"

enum {
	PIPE_BYTES = 1 << 20, /* of a period without a reader, all that a user may have */
	FLIGHT_BYTES = 16 << 20,
	MAX_MARK_BYTES = sizeof(struct perfctr_capture_mark) + PERFCTR_MARK_NAME_MAX + 1,
};

int record_open_marks(struct record *r)
{
	struct record_marks *m = &r->marks;
	struct stat stat;
	char text[64];

	if (!r->command.argv)
		return 0;
	if (pipe2(m->fds, O_CLOEXEC | O_NONBLOCK) || fstat(m->fds[0], &stat)) {
		app_error(r->app, "a pipe for marks: %s", strerror(errno));
		return EXIT_FAILED;
	}
	fcntl(m->fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	snprintf(text, sizeof(text), "%u/%u/%llu", (unsigned int)getpid(), (unsigned int)m->fds[0],
		 (unsigned long long)stat.st_ino);
	setenv(PERFCTR_MARKS_VARIABLE, text, 1);
	m->flight = (struct flight){
		.keep_ns = r->options.flight_ns,
		.stride = MAX_MARK_BYTES,
		.limit_bytes = FLIGHT_BYTES,
	};
	return 0;
}

/* Take whole marks from the buffer. Return: 0 or a negative errno. */
static int take(struct record *r, uint64_t now_ns)
{
	struct record_marks *m = &r->marks;
	struct perfctr_capture_mark mark;
	const char *name;
	size_t at = 0;
	int error = 0;

	for (; !error && m->used - at >= sizeof(mark); at += mark.bytes) {
		memcpy(&mark, m->bytes + at, sizeof(mark));
		if (mark.bytes > m->used - at && mark.bytes <= MAX_MARK_BYTES)
			break;
		/* the bytes of the workload are not trusted */
		if (perfctr_capture_mark(&(struct perfctr_capture_record){ .content = m->bytes + at,
									   .size = m->used - at },
					 &mark, &name))
			m->trouble = "later marks are left out: something else was in their pipe";
		else if (m->count == MARKS_MOST && !r->options.flight_ns)
			m->trouble = "later marks are left out: too many";
		if (m->trouble) {
			/* what follows has no known beginning; nobody marks in vain from now on */
			record_close_marks(r);
			return 0;
		}
		error = r->options.flight_ns ?
				flight_add(&m->flight, 0, m->bytes + at, mark.bytes, now_ns) :
				perfctr_capture_write_mark(r->writer, m->bytes + at, mark.bytes);
		r->write_failed |= error && !r->options.flight_ns;
		m->count++;
		m->lost += mark.lost;
	}
	m->used -= at;
	memmove(m->bytes, m->bytes + at, m->used);
	return error;
}

int record_take_marks(struct record *r, uint64_t now_ns)
{
	struct record_marks *m = &r->marks;
	ssize_t bytes;
	int error = 0;

	/* a program that marks in a loop keeps the pipe filled */
	for (size_t all = 0; !error && all < PIPE_BYTES && m->fds[0] >= 0; all += (size_t)bytes) {
		bytes = read(m->fds[0], m->bytes + m->used, sizeof(m->bytes) - m->used);
		if (bytes <= 0)
			break;
		m->used += (size_t)bytes;
		error = take(r, now_ns);
	}
	return error;
}

int record_write_marks(struct record *r, struct perfctr_capture_writer *writer)
{
	int error = 0;
	size_t size;

	r->marks.count = r->marks.flight.count;
	for (size_t n = 0; !error && n < r->marks.flight.count; n++) {
		const void *mark = flight_get(&r->marks.flight, n, NULL, &size);

		error = perfctr_capture_write_mark(writer, mark, size);
	}
	return error;
}

const char *record_marks_trouble(const struct record *r)
{
	return r->marks.trouble		 ? r->marks.trouble :
	       r->marks.flight.cut_short ? "earlier marks are left out: too little memory" :
					   NULL;
}

void record_close_marks(struct record *r)
{
	close(r->marks.fds[0]);
	close(r->marks.fds[1]);
	r->marks.fds[0] = r->marks.fds[1] = -1;
}
