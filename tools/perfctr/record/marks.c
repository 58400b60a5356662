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
	OPEN_MOST = 1024, /* as many as readers match */
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
	if (r->options.switching.bytes || r->options.switching.ns)
		m->open = calloc(OPEN_MOST, MAX_MARK_BYTES);
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

static struct perfctr_capture_mark *open_mark(const struct record_marks *m, size_t n)
{
	return (void *)(m->open + n * MAX_MARK_BYTES);
}

static void forget_open(struct record_marks *m, size_t n)
{
	m->open_count--;
	memmove(open_mark(m, n), open_mark(m, n + 1), (m->open_count - n) * MAX_MARK_BYTES);
}

/* Note a phase that begins, or a frame, for the next file, or that it has ended. */
static void note_open(struct record_marks *m, const struct perfctr_capture_mark *mark,
		      const void *bytes, const char *name)
{
	const bool is_frame = mark->kind == PERFCTR_MARK_FRAME;
	size_t found = m->open_count, frame = m->open_count;
	int best = 0, best_frame = 0;

	if (mark->kind == PERFCTR_MARK_POINT)
		return;
	/* the latest of the same thread, else of the process, else of any, as readers match them */
	for (size_t n = m->open_count; mark->kind != PERFCTR_MARK_BEGIN && n--;) {
		const struct perfctr_capture_mark *o = open_mark(m, n);
		const int likeness = o->pid != mark->pid ? 1 : o->tid != mark->tid ? 2 : 3;

		if (likeness > best && (o->kind == PERFCTR_MARK_FRAME) == is_frame &&
		    !strcmp((const char *)(o + 1), name)) {
			best = likeness;
			found = n;
		}
		if (likeness > best_frame && o->kind == PERFCTR_MARK_FRAME && !is_frame &&
		    !strcmp((const char *)(o + 1), name)) {
			best_frame = likeness;
			frame = n;
		}
	}
	if (found == m->open_count && frame < m->open_count)
		forget_open(m, frame);
	/* threads of a process have frames of their own, commands of a shell have not */
	if (found < m->open_count && !(is_frame && best == 2))
		forget_open(m, found);
	if (mark->kind == PERFCTR_MARK_END)
		return;
	if (m->open_count == OPEN_MOST)
		forget_open(m, 0);
	memcpy(open_mark(m, m->open_count), bytes, mark->bytes);
	/* they are counted where they came */
	open_mark(m, m->open_count++)->lost = 0;
}

int record_carry_marks(struct record *r)
{
	struct record_marks *m = &r->marks;
	int error = 0;

	m->carried = m->open_count;
	for (size_t n = 0; !error && n < m->open_count; n++)
		error = perfctr_capture_write_mark(r->writer, open_mark(m, n), MAX_MARK_BYTES);
	return error;
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
		if (m->open)
			note_open(m, &mark, m->bytes + at, name);
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
	free(r->marks.open);
	r->marks.open = NULL;
	r->marks.open_count = 0;
	close(r->marks.fds[0]);
	close(r->marks.fds[1]);
	r->marks.fds[0] = r->marks.fds[1] = -1;
}
