// SPDX-License-Identifier: MIT
/* The files of perfctr record. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/capture_file.h"
#include "lib/json.h"
#include "lib/output.h"
#include "record.h"

enum { PATH_BYTES = OUTPUT_PATH_BYTES };

int record_file_failed(const struct record *r, const char *path, int error)
{
	app_error(r->app, "%s: %s", strcmp(path, "-") ? path : "standard output",
		  app_reason(-error));
	return EXIT_FAILED;
}

/* Pipes and devices have no disk to reach. */
static int reach_disk(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? -errno : 0;
}

/* Write what a reader needs besides the session. */
static int write_texts(struct record *r, struct perfctr_capture_writer *writer)
{
	const struct counting *c = &r->options.counting;
	struct utsname machine;
	char text[4096];
	int error;

	error = perfctr_capture_write_text(writer, "tool", "perfctr " PERFCTR_VERSION);
	if (!error && r->command.argv) {
		/* arguments are any bytes, and may be cut */
		json_clean_field(command_text(r->command.argv, text, sizeof(text)));
		error = perfctr_capture_write_text(writer, "command", text);
	}
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
		error = perfctr_capture_write_text(writer, PERFCTR_CAPTURE_KEY_FLIGHT, text);
	}
	if (!error && r->switching.part[0]) {
		snprintf(text, sizeof(text), "%" PRIu64, r->switching.files + 1);
		error = perfctr_capture_write_text(writer, PERFCTR_CAPTURE_KEY_PART, text);
	}
	for (size_t n = 0; !error && n < c->count; n++) {
		if (!c->counted[n].is_cgroup)
			continue;
		snprintf(text, sizeof(text), CAPTURE_KEY_CGROUP "%zu", n);
		error = perfctr_capture_write_text(writer, text, c->counted[n].name);
	}
	return error;
}

/* Whether an older file can be kept: links stay what they are, nothing is kept of an empty one. */
static bool can_keep(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_size &&
	       strlen(path) < PATH_BYTES - sizeof(".old");
}

/* Give a file that was written beside @path its name; an older one becomes FILE.old. */
static int take_name(const char *part, const char *path)
{
	char old[PATH_BYTES];

	snprintf(old, sizeof(old), "%.4090s.old", path);
	if (can_keep(path) && rename(path, old))
		return -errno;
	return rename(part, path) ? -errno : 0;
}

int record_begin_file(struct record *r, int fd, struct perfctr_capture_writer **writer)
{
	int error = r->part[0] ? take_name(r->part, r->options.counting.output) : 0;

	if (error)
		return error;
	r->file_is_new |= r->part[0];
	r->part[0] = '\0';
	/* not "-", which may be appended to; devices and FIFOs have no length */
	if (strcmp(r->options.counting.output, "-") && ftruncate(fd, 0) && errno != EINVAL)
		return -errno;
	error = r->options.level ? pack_new(fd, r->options.level, &r->pack) : 0;
	if (!error)
		error = r->pack ? perfctr_capture_writer_new_to(r->app->ctx, pack_write, r->pack,
								writer) :
				  perfctr_capture_writer_new(r->app->ctx, fd, writer);
	if (error)
		return error;
	for (unsigned int n = 0; !error && n < r->options.counting.count; n++) {
		error = perfctr_capture_writer_select(*writer, n);
		if (!error)
			error = perfctr_capture_write_session(
				*writer, r->options.counting.counted[n].session);
	}
	if (!error)
		error = write_texts(r, *writer);
	if (!error)
		error = perfctr_capture_write_anchor(*writer);
	/* a frame of its own: one of samples that is cut is then never the first */
	if (!error && r->pack)
		error = perfctr_capture_flush(*writer);
	return error;
}

/* A device that goes has no totals; in files after that it has no samples. */
int record_end_file(struct record *r, struct perfctr_capture_writer *writer, bool goes_on)
{
	struct counting *c = &r->options.counting;
	const char *trouble = record_marks_trouble(r);
	int error = perfctr_capture_write_anchor(writer);

	if (!error && trouble)
		error = perfctr_capture_write_text(writer, "marks_damaged", trouble);
	counting_status(c);
	for (unsigned int n = 0; !error && n < c->count; n++) {
		const bool was_gone = r->switching.origins[n].was_gone;
		struct drm_perfctr_status status = { 0 };

		if (c->counted[n].has_status && !was_gone)
			status = record_part_status(r, n, goes_on);
		else if (!was_gone)
			continue;
		error = perfctr_capture_writer_select(writer, n);
		if (!error)
			error = perfctr_capture_write_totals(writer, &status);
	}
	return error ? error : perfctr_capture_flush(writer);
}

void record_end_writer(struct record *r, struct perfctr_capture_writer *writer)
{
	struct perfctr_capture_written file = { 0 };

	if (writer)
		perfctr_capture_written(writer, &file, sizeof(file));
	if (r->pack)
		file.bytes = pack_bytes(r->pack);
	/* those of earlier files count there */
	file.marks -= file.marks < r->marks.carried ? file.marks : r->marks.carried;
	r->written = (struct perfctr_capture_written){
		.bytes = r->before.bytes + file.bytes,
		.samples = r->before.samples + file.samples,
		.marks = r->before.marks + file.marks,
	};
	perfctr_capture_writer_unref(writer);
	pack_free(r->pack);
	r->pack = NULL;
}

/*
 * Write what the flight recorder keeps into a new file. The file gets its name when it is complete,
 * so a process that waits for it never sees a part of it.
 */
int record_dump(struct record *r, const char *path)
{
	struct perfctr_capture_writer *writer = NULL;
	char hidden[PATH_BYTES];
	unsigned int session;
	size_t size;
	int fd, error;

	error = output_is_writable(path);
	fd = error ? error : output_open_part(path, hidden);
	if (fd < 0)
		return record_file_failed(r, path, fd);
	error = output_take_mode(fd, path);
	if (!error)
		error = record_begin_file(r, fd, &writer);
	for (size_t n = 0; !error && n < r->flight.count; n++) {
		const void *sample = flight_get(&r->flight, n, &session, &size);

		error = perfctr_capture_writer_select(writer, session);
		if (!error)
			error = perfctr_capture_write_sample(writer, sample, size);
	}
	if (!error)
		error = record_write_marks(r, writer);
	if (!error)
		error = record_end_file(r, writer, false);
	record_end_writer(r, writer);
	/* the name must not reach the disk before the contents */
	if (!error)
		error = reach_disk(fd);
	if (close(fd) && !error)
		error = -errno;
	if (!error)
		error = take_name(hidden, path);
	if (!error)
		return 0;
	r->written = (struct perfctr_capture_written){ 0 };
	unlink(hidden);
	return record_file_failed(r, path, error);
}

int record_dump_numbered(struct record *r)
{
	char path[PATH_BYTES];
	int status;

	snprintf(path, sizeof(path), "%.4060s.%u", r->options.counting.output, r->dumps + 1);
	status = record_dump(r, path);
	if (status)
		r->failed_dumps++;
	else
		r->dumps++;
	if (!status && !r->app->quiet)
		app_error(r->app, "%s: the last %.3f s, %" PRIu64 " samples", path,
			  (double)r->options.flight_ns * 1e-9, r->written.samples);
	return status;
}

static int open_existing(struct record *r, const char *path)
{
	int fd = can_keep(path) ? output_open_part(path, r->part) : -EMLINK;
	int error = fd < 0 ? fd : output_take_mode(fd, path);

	if (!error)
		return fd;
	/* in a folder that may not change, too */
	if (fd >= 0) {
		close(fd);
		unlink(r->part);
	}
	r->part[0] = '\0';
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
}

int record_open_output(struct record *r)
{
	const struct record_switch_options *switching = &r->options.switching;
	const char *path = r->options.counting.output;
	char hidden[PATH_BYTES];
	int error = strcmp(path, "-") ? output_is_writable(path) : 0;

	if (switching->bytes || switching->ns) {
		r->file_fd = record_open_part(r);
		return r->file_fd < 0 ? record_file_failed(r, r->switching.name, r->file_fd) : 0;
	}
	if (error)
		return record_file_failed(r, path, error);
	if (!strcmp(path, "-")) {
		r->file_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (r->options.flight_ns) {
		/* check now, not at the first dump, that the file can be written */
		r->file_fd = output_open_part(path, hidden);
		if (r->file_fd >= 0)
			unlink(hidden);
		else
			errno = -r->file_fd;
	} else {
		/* it keeps its old contents until the command was executed */
		r->file_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		r->file_is_new = r->file_fd >= 0;
		if (r->file_fd < 0)
			r->file_fd = open_existing(r, path);
	}
	return r->file_fd < 0 ? record_file_failed(r, path, -errno) : 0;
}

int record_close_output(struct record *r)
{
	int error = reach_disk(r->file_fd);

	/* NFS and quotas report a lack of room here */
	if (close(r->file_fd) && !error)
		error = -errno;
	r->file_fd = -1;
	return error;
}

void record_discard_output(const struct record *r)
{
	if (r->switching.part[0])
		unlink(r->switching.part);
	else if (r->part[0])
		unlink(r->part);
	else if (r->file_is_new)
		unlink(r->options.counting.output);
}
