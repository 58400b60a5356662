// SPDX-License-Identifier: MIT
/* Writes a file without its name, or beside it, syncs it, and names it when it is complete. */
#include "output.h"
#include "capture_file.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct app *app, const char *path, int error)
{
	app_error(app, "%s: %s", path ? path : "standard output", app_reason(error));
	return EXIT_FAILED;
}

/* Open an unnamed file in the folder of path, which vanishes with the process. */
static int open_nameless(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[OUTPUT_PATH_BYTES];

	if (!slash)
		snprintf(folder, sizeof(folder), ".");
	else if (slash == path)
		snprintf(folder, sizeof(folder), "/");
	else
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

int output_check_folder(const struct app *app, const char *path)
{
	char part[OUTPUT_PATH_BYTES];
	int fd, error = output_is_writable(path);

	if (error)
		return failed(app, path, -error);
	fd = open_nameless(path);
	/* the file system has no unnamed files */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		fd = output_open_part(path, part);
		if (fd >= 0)
			unlink(part);
		else
			errno = -fd;
	}
	if (fd < 0)
		return failed(app, path, errno);
	close(fd);
	return 0;
}

/* Open the file that replaces path later. Return: -1: none can. */
static int open_new(struct output *output)
{
	int fd = open_nameless(output->path);

	output->is_nameless = fd >= 0;
	/* the file system has no unnamed files */
	if (fd < 0)
		fd = output_open_part(output->path, output->part);
	output->is_beside = fd >= 0 && !output->is_nameless;
	if (fd < 0 || !output_take_mode(fd, output->path))
		return fd < 0 ? -1 : fd;
	close(fd);
	if (output->is_beside)
		unlink(output->part);
	output->is_nameless = output->is_beside = false;
	return -1;
}

int output_open(const struct app *app, const char *path, struct output *output)
{
	struct stat info;
	int fd = -1, error;

	/* without a stream it is not open: output_close() has nothing to do */
	*output = (struct output){ .stream = path ? NULL : app->out, .path = path };
	if (!path)
		return 0;
	if (!stat(path, &info) && S_ISREG(info.st_mode) &&
	    (capture_file_is(path) || (info.st_size && capture_is_packed(path))))
		return app_usage(app, "-o %s: a capture is there", path);
	error = output_is_writable(path);
	if (error)
		return failed(app, path, -error);
	/* a symbolic link stays: write to its target */
	if (lstat(path, &info) || S_ISREG(info.st_mode))
		fd = open_new(output);
	/* path is a device, a pipe, in no folder or in one that may not change */
	if (fd < 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(app, path, errno);
	output->stream = stream_new(fd, true);
	if (output->stream)
		return 0;
	close(fd);
	if (output->is_beside)
		unlink(output->part);
	return failed(app, path, ENOMEM);
}

/* Name an unnamed file, beside its path. Return: 0 or -errno. */
static int link_part(struct output *output)
{
	char from[40];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", stream_fd(output->stream));
	for (unsigned int n = 0; n < OUTPUT_PARTS; n++) {
		if (!output_part_name(output->path, n, output->part))
			return -ENAMETOOLONG;
		if (!linkat(AT_FDCWD, from, AT_FDCWD, output->part, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Give the file its name, replacing an existing file. Return: 0 or -errno. */
static int name_file(struct output *output)
{
	int error = output->is_nameless ? link_part(output) : 0;

	if (error)
		return error;
	if (!rename(output->part, output->path))
		return 0;
	error = -errno;
	unlink(output->part);
	return error;
}

int output_close(const struct app *app, struct output *output, int status)
{
	int error;

	if (!output->stream)
		return status;
	error = app_flush(output->stream);

	if (output->is_nameless || output->is_beside) {
		/* the new name must not reach the disk before the contents */
		if (!error && !status && fsync(stream_fd(output->stream)))
			error = -errno;
		if (!error && !status)
			error = name_file(output);
		else if (output->is_beside)
			unlink(output->part);
	}
	if (output->path && fclose(output->stream) && !error)
		error = -errno;
	output->stream = NULL;
	return error ? failed(app, output->path, -error) : status;
}

int output_open_live(const struct app *app, const char *path, FILE *otherwise, bool append,
		     FILE **stream)
{
	int fd, error = path ? output_is_writable(path) : 0;

	*stream = path ? NULL : otherwise;
	if (!path)
		return 0;
	if (error)
		return failed(app, path, -error);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
	*stream = fd < 0 ? NULL : stream_new(fd, true);
	if (*stream)
		return 0;
	if (fd >= 0)
		close(fd);
	return failed(app, path, errno);
}

int output_close_live(const struct app *app, const char *path, FILE *stream, int status)
{
	int error;

	if (!stream)
		return status;
	error = app_flush(stream);
	if (path && fclose(stream) && !error)
		error = -errno;
	return error ? failed(app, path, -error) : status;
}
