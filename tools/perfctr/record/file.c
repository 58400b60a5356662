// SPDX-License-Identifier: MIT
/* The files of perfctr record. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record.h"

enum { PATH_BYTES = 4096 };

/* a file of the flight recorder while it is written */
#define PART_FORMAT "%.4080s.part"

static int file_failed(struct record *r, const char *path, int error)
{
	app_error(r->app, "%s: %s", path, strerror(-error));
	return EXIT_FAILED;
}

/* Write what a reader needs besides the session. */
static int write_texts(struct record *r, struct perfctr_capture_writer *writer)
{
	struct utsname machine;
	char text[4096];
	int error;

	error = perfctr_capture_write_text(writer, "tool", "perfctr " PERFCTR_VERSION);
	if (!error && r->command.argv)
		error = perfctr_capture_write_text(
			writer, "command", command_text(r->command.argv, text, sizeof(text)));
	if (!error && counting_excludes(&r->options.counting))
		error = perfctr_capture_write_text(writer, "excludes",
						   counting_excludes(&r->options.counting));
	if (!error && !uname(&machine)) {
		snprintf(text, sizeof(text), "%s %s", machine.sysname, machine.release);
		error = perfctr_capture_write_text(writer, "kernel", text);
		if (!error)
			error = perfctr_capture_write_text(writer, "machine", machine.machine);
		if (!error)
			error = perfctr_capture_write_text(writer, "host", machine.nodename);
	}
	if (!error && r->options.flight_ns) {
		snprintf(text, sizeof(text), "%" PRIu64, r->options.flight_ns);
		error = perfctr_capture_write_text(writer, "flight_ns", text);
	}
	return error;
}

int record_begin_file(struct record *r, int fd, struct perfctr_capture_writer **writer)
{
	int error;

	/* not "-", which may be appended to; devices and FIFOs have no length */
	if (strcmp(r->options.counting.output, "-") && ftruncate(fd, 0) && errno != EINVAL)
		return -errno;
	error = perfctr_capture_writer_new(r->app->ctx, fd, writer);
	if (error)
		return error;
	error = perfctr_capture_write_session(*writer, r->session);
	if (!error)
		error = write_texts(r, *writer);
	if (!error)
		error = perfctr_capture_write_anchor(*writer);
	return error;
}

/* A device that is gone has no totals. */
int record_end_file(struct record *r, struct perfctr_capture_writer *writer)
{
	const char *trouble = record_marks_trouble(r);
	int error = perfctr_capture_write_anchor(writer);

	if (!error && trouble)
		error = perfctr_capture_write_text(writer, "marks_damaged", trouble);
	if (!error) {
		error = perfctr_capture_write_status(writer, r->session);
		if (error == -ENODEV)
			error = 0;
	}
	return error ? error : perfctr_capture_flush(writer);
}

/*
 * Write what the flight recorder keeps into a new file. The file gets its name when it is complete,
 * so a process that waits for it never sees a part of it.
 */
int record_dump(struct record *r, const char *path)
{
	struct perfctr_capture_writer *writer = NULL;
	char hidden[PATH_BYTES];
	size_t size;
	int fd, error;

	snprintf(hidden, sizeof(hidden), PART_FORMAT, path);
	fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return file_failed(r, hidden, -errno);
	error = record_begin_file(r, fd, &writer);
	for (size_t n = 0; !error && n < r->flight.count; n++) {
		const void *sample = flight_get(&r->flight, n, &size);

		error = perfctr_capture_write_sample(writer, sample, size);
	}
	if (!error)
		error = record_write_marks(r, writer);
	if (!error)
		error = record_end_file(r, writer);
	if (!error) {
		r->bytes = perfctr_capture_bytes(writer);
		r->samples = r->flight.count;
	}
	perfctr_capture_writer_unref(writer);
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(hidden, path))
		error = -errno;
	if (error) {
		unlink(hidden);
		return file_failed(r, path, error);
	}
	return 0;
}

int record_dump_numbered(struct record *r)
{
	char path[PATH_BYTES];
	int status;

	snprintf(path, sizeof(path), "%.4060s.%u", r->options.counting.output, ++r->dumps);
	status = record_dump(r, path);
	if (!status && !r->options.quiet)
		app_error(r->app, "%s: the last %.3f s, %zu samples", path,
			  (double)r->options.flight_ns * 1e-9, r->flight.count);
	return status;
}

int record_open_output(struct record *r)
{
	const char *path = r->options.counting.output;
	char hidden[PATH_BYTES];

	if (!strcmp(path, "-")) {
		r->file_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (r->options.flight_ns) {
		/* check now, not at the first dump, that the file can be written */
		snprintf(hidden, sizeof(hidden), PART_FORMAT, path);
		r->file_fd = open(hidden, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (r->file_fd >= 0)
			unlink(hidden);
	} else {
		/* it keeps its old contents until the command was executed */
		r->file_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		r->file_is_new = r->file_fd >= 0;
		if (r->file_fd < 0)
			r->file_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	}
	return r->file_fd < 0 ? file_failed(r, path, -errno) : 0;
}

void record_discard_output(const struct record *r)
{
	if (r->file_is_new)
		unlink(r->options.counting.output);
}
