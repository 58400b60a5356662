// SPDX-License-Identifier: MIT
/* Captures that zstd compressed, or gzip, which unpacks them itself. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "capture_file.h"
#include "json.h"

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

static int unpack_gzip(const struct app *app, const struct capture_file *file, int to)
{
	pid_t pid;
	const int error = start_gzip(file->fd, to, true, &pid);

	if (error == ENOENT)
		app_error(app, "%s is compressed: install gzip, which unpacks it", file->path);
	else if (error)
		app_error(app, "%s: unpacking it with gzip: %s", file->path, strerror(error));
	else if (wait_for(pid))
		app_error(app, "%s: gzip cannot unpack it", file->path);
	else
		return 0;
	return EXIT_FAILED;
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

/* a file that is unpacked */
struct unpacked {
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
static int unpack_bytes(struct unpacked *u, size_t size, int to)
{
	ZSTD_inBuffer in = { u->in, size, 0 };
	ZSTD_outBuffer out;
	int error;

	do {
		out = (ZSTD_outBuffer){ u->out, sizeof(u->out), 0 };
		u->hint = ZSTD_decompressStream(u->zstd, &out, &in);
		if (ZSTD_isError(u->hint))
			return 0;
		error = write_all(to, u->out, out.pos);
		if (error)
			return error;
		u->written += out.pos;
		if (!u->hint) {
			u->read_whole = u->read + in.pos;
			u->written_whole = u->written;
		}
		/* it may keep what the buffer had no room for */
	} while (in.pos < in.size || out.pos == out.size);
	u->read += size;
	return 0;
}

static int unpack_zstd(const struct app *app, struct capture_file *file, int to)
{
	struct unpacked *u = calloc(1, sizeof(*u));
	ssize_t got = 1;
	int error = 0;

	if (u)
		u->zstd = ZSTD_createDStream();
	if (!u || !u->zstd)
		error = -ENOMEM;
	while (!error && !ZSTD_isError(u->hint) &&
	       (got = pread(file->fd, u->in, sizeof(u->in), (off_t)u->read)) > 0)
		error = unpack_bytes(u, (size_t)got, to);
	if (got < 0)
		error = -errno;
	if (!error && ZSTD_isError(u->hint))
		file->damage = json_clean_line(ZSTD_getErrorName(u->hint));
	/* of frames after the first, nothing that no checksum has confirmed */
	else if (!error && u->written_whole)
		file->cut_bytes = u->read - u->read_whole;
	file->cut_is_packed = file->cut_bytes;
	if (!error && u->written_whole && ftruncate(to, (off_t)u->written_whole))
		error = -errno;
	if (error)
		app_error(app, "%s: unpacking it: %s", file->path, app_reason(-error));
	else if (!u->written)
		app_error(app, "%s: zstd cannot unpack it: %s", file->path,
			  file->damage ? file->damage : "it is cut off");
	error = error || !u->written ? EXIT_FAILED : 0;
	if (u)
		ZSTD_freeDStream(u->zstd);
	free(u);
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

static bool is_capture(const char *bytes, size_t length)
{
	return length == 8 && !memcmp(bytes, "perfctr\n", 8);
}

int capture_unpack(const struct app *app, struct capture_file *file)
{
	const enum packer packer = packer_of(file->fd);
	FILE *temporary = packer == PLAIN ? NULL : tmpfile();
	int to = -1, status;

	if (packer == PLAIN)
		return 0;
	if (temporary) {
		to = fcntl(fileno(temporary), F_DUPFD_CLOEXEC, 3);
		fclose(temporary);
	}
	if (to < 0) {
		app_error(app, "a temporary file: %s", strerror(errno));
		return EXIT_FAILED;
	}
	status = packer == GZIP ? unpack_gzip(app, file, to) : unpack_zstd(app, file, to);
	if (status || lseek(to, 0, SEEK_SET)) {
		close(to);
		return EXIT_FAILED;
	}
	close(file->fd);
	file->fd = to;
	return 0;
}

bool capture_is_packed(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const enum packer packer = fd < 0 ? PLAIN : packer_of(fd);
	size_t length = 0;
	char bytes[8];

	if (packer != PLAIN)
		length = packer == GZIP ? peek_gzip(fd, bytes, sizeof(bytes)) :
					  peek_zstd(fd, bytes, sizeof(bytes));
	if (fd >= 0)
		close(fd);
	/* what is too short to tell is named when it is read */
	return packer != PLAIN && (length < sizeof(bytes) || is_capture(bytes, length));
}

bool capture_file_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[8];
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, bytes, sizeof(bytes));
	close(fd);
	return length > 0 && is_capture(bytes, (size_t)length);
}
