// SPDX-License-Identifier: MIT
/* Files that zstd compressed, or gzip, which unpacks them itself. */
#include "common/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

enum packer { PLAIN, GZIP, ZSTD };

/* What compressed a file, by its first bytes. */
static enum packer packer_of(int fd)
{
	unsigned char bytes[4] = { 0 };

	if (pread(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return PLAIN;
	if (!memcmp(bytes, "\x28\xb5\x2f\xfd", 4))
		return ZSTD;
	return memcmp(bytes, "\x1f\x8b", 2) ? PLAIN : GZIP;
}

/* --- gzip ------------------------------------------------------------------------------ */

/* Start it. @errors: whether it prints its own. Return: 0 or an errno. */
static int start_gzip(int from, int to, bool errors, pid_t *pid)
{
	char *const argv[] = { (char *)"gzip", (char *)"-dcq", NULL };
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	lseek(from, 0, SEEK_SET);
	error = posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (!error && !errors)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
							 O_WRONLY, 0);
	if (!error)
		error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Return: the wait status. */
static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

__attribute__((format(printf, 3, 4))) static int fail(struct unpacked *u, int error,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(u->error, sizeof(u->error), format, arguments);
	va_end(arguments);
	return -error;
}

static int unpack_gzip(struct unpacked *u, int from, int to)
{
	pid_t pid;
	const int error = start_gzip(from, to, !u->is_quiet, &pid);

	if (error == ENOENT)
		return fail(u, error, "it is compressed: install gzip, which unpacks it");
	if (error)
		return fail(u, error, "unpacking it with gzip: %s", strerror(error));
	return wait_for(pid) ? fail(u, EBADMSG, "gzip cannot unpack it") : 0;
}

/* The first bytes of what gzip compressed. Return: how many. */
static size_t peek_gzip(int fd, char *bytes, size_t size)
{
	size_t length = 0;
	ssize_t got = 1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return 0;
	if (!start_gzip(fd, ends[1], false, &pid)) {
		close(ends[1]);
		while (got > 0 && length < size) {
			got = read(ends[0], bytes + length, size - length);
			length += got > 0 ? (size_t)got : 0;
		}
		/* it may have more to say than the pipe holds */
		kill(pid, SIGKILL);
		wait_for(pid);
	} else {
		close(ends[1]);
	}
	close(ends[0]);
	return length;
}

/* --- zstd ------------------------------------------------------------------------------ */

/* a file that is being unpacked */
struct stream {
	ZSTD_DStream *zstd;
	size_t hint; /* of ZSTD_decompressStream(): 0 behind a frame; or its error */
	/* bytes read and written; the same at the end of the last whole frame */
	uint64_t read, written, read_whole, written_whole;
	char in[1 << 17], out[1 << 17];
};

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno != EINTR)
			return -errno;
		bytes += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* Unpack bytes. Return: 0, also if they are damaged, or a negative errno of writing. */
static int unpack_bytes(struct stream *s, size_t size, int to)
{
	ZSTD_inBuffer in = { s->in, size, 0 };
	ZSTD_outBuffer out;
	int error;

	do {
		out = (ZSTD_outBuffer){ s->out, sizeof(s->out), 0 };
		s->hint = ZSTD_decompressStream(s->zstd, &out, &in);
		if (ZSTD_isError(s->hint))
			return 0;
		error = write_all(to, s->out, out.pos);
		if (error)
			return error;
		s->written += out.pos;
		if (!s->hint) {
			s->read_whole = s->read + in.pos;
			s->written_whole = s->written;
		}
		/* it may keep what the buffer had no room for */
	} while (in.pos < in.size || out.pos == out.size);
	s->read += size;
	return 0;
}

static int unpack_zstd(struct unpacked *u, int from, int to)
{
	struct stream *s = calloc(1, sizeof(*s));
	ssize_t got = 1;
	int error = 0;

	if (s)
		s->zstd = ZSTD_createDStream();
	if (!s || !s->zstd)
		error = -ENOMEM;
	while (!error && !ZSTD_isError(s->hint) &&
	       (got = pread(from, s->in, sizeof(s->in), (off_t)s->read)) > 0)
		error = unpack_bytes(s, (size_t)got, to);
	if (got < 0)
		error = -errno;
	if (!error && ZSTD_isError(s->hint))
		u->damage = ZSTD_getErrorName(s->hint);
	/* of frames after the first, nothing that no checksum has confirmed */
	else if (!error && s->written_whole)
		u->cut_bytes = s->read - s->read_whole;
	if (!error && s->written_whole && ftruncate(to, (off_t)s->written_whole))
		error = -errno;
	if (error)
		fail(u, -error, "unpacking it: %s (%s)", strerror(-error), strerrorname_np(-error));
	else if (!s->written)
		error = fail(u, EBADMSG, "zstd cannot unpack it: %s",
			     u->damage ? u->damage : "it is cut off");
	if (s)
		ZSTD_freeDStream(s->zstd);
	free(s);
	return error;
}

/* The first bytes of what zstd compressed. Return: how many. */
static size_t peek_zstd(int fd, char *bytes, size_t size)
{
	ZSTD_DStream *zstd = ZSTD_createDStream();
	ZSTD_outBuffer out = { bytes, size, 0 };
	char buffer[4096];
	off_t offset = 0;
	ssize_t got;

	while (zstd && out.pos < size && (got = pread(fd, buffer, sizeof(buffer), offset)) > 0) {
		ZSTD_inBuffer in = { buffer, (size_t)got, 0 };

		if (ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in)))
			break;
		offset += got;
	}
	ZSTD_freeDStream(zstd);
	return out.pos;
}

/* --- either ---------------------------------------------------------------------------- */

int unpack(int *fd, struct unpacked *u)
{
	const enum packer packer = packer_of(*fd);
	FILE *temporary = packer == PLAIN ? NULL : tmpfile();
	int to = -1, error;

	if (packer == PLAIN)
		return 0;
	if (temporary) {
		to = fcntl(fileno(temporary), F_DUPFD_CLOEXEC, 3);
		fclose(temporary);
	}
	if (to < 0)
		return fail(u, errno, "a temporary file: %s", strerror(errno));
	error = packer == GZIP ? unpack_gzip(u, *fd, to) : unpack_zstd(u, *fd, to);
	if (!error && lseek(to, 0, SEEK_SET))
		error = fail(u, errno, "unpacking it: %s", strerror(errno));
	if (error) {
		close(to);
		return error;
	}
	close(*fd);
	*fd = to;
	return 0;
}

ssize_t unpack_peek(int fd, char *bytes, size_t size)
{
	switch (packer_of(fd)) {
	case GZIP:
		return (ssize_t)peek_gzip(fd, bytes, size);
	case ZSTD:
		return (ssize_t)peek_zstd(fd, bytes, size);
	default:
		return -1;
	}
}
