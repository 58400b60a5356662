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

enum { PATH_BYTES = 4096 };

static int failed(const struct app *app, const char *path, int error)
{
	app_error(app, "%s: %s", path ? path : "standard output", app_reason(error));
	return EXIT_FAILED;
}

/* Open an unnamed file in the folder of path, which vanishes with the process. */
static int open_nameless(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_BYTES];

	if (!slash)
		snprintf(folder, sizeof(folder), ".");
	else if (slash == path)
		snprintf(folder, sizeof(folder), "/");
	else
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* Return: whether the name fits. */
static bool part_name(const struct output *output, char *part)
{
	return snprintf(part, PATH_BYTES, "%s.%ld.part", output->path, (long)getpid()) < PATH_BYTES;
}

int output_check_folder(const struct app *app, const char *path)
{
	const struct output output = { .path = path };
	char part[PATH_BYTES];
	int fd = open_nameless(path), error = errno;

	/* the file system has no unnamed files */
	if (fd < 0 && (error == EOPNOTSUPP || error == EISDIR) && part_name(&output, part)) {
		fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		error = errno;
		if (fd >= 0)
			unlink(part);
	}
	if (fd < 0)
		return failed(app, path, error);
	close(fd);
	return 0;
}

int output_open(const struct app *app, const char *path, struct output *output)
{
	struct stat info;
	char part[PATH_BYTES];
	int fd = -1;

	/* without a stream it is not open: output_close() has nothing to do */
	*output = (struct output){ .stream = path ? NULL : app->out, .path = path };
	if (!path)
		return 0;
	if (!stat(path, &info) && S_ISREG(info.st_mode) && capture_file_is(path))
		return app_usage(app, "-o %s: a capture is there", path);
	/* a symbolic link stays: write to its target */
	if (lstat(path, &info) || S_ISREG(info.st_mode)) {
		fd = open_nameless(path);
		output->is_nameless = fd >= 0;
		/* the file system has no unnamed files */
		if (fd < 0 && part_name(output, part))
			fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		output->is_beside = fd >= 0 && !output->is_nameless;
	}
	/* path is a device, a pipe, in no folder or in one that may not change */
	if (fd < 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(app, path, errno);
	output->stream = stream_new(fd, true);
	if (output->stream)
		return 0;
	close(fd);
	return failed(app, path, ENOMEM);
}

/* Give the file its name, replacing an existing file. Return: 0 or -errno. */
static int name_file(const struct output *output)
{
	char from[40], part[PATH_BYTES];
	int error;

	snprintf(from, sizeof(from), "/proc/self/fd/%d", stream_fd(output->stream));
	if (!part_name(output, part))
		return -ENAMETOOLONG;
	if (output->is_nameless && linkat(AT_FDCWD, from, AT_FDCWD, part, AT_SYMLINK_FOLLOW))
		return -errno;
	if (!rename(part, output->path))
		return 0;
	error = -errno;
	unlink(part);
	return error;
}

int output_close(const struct app *app, struct output *output, int status)
{
	int error;
	char part[PATH_BYTES];

	if (!output->stream)
		return status;
	error = app_flush(output->stream);

	if (output->is_nameless || output->is_beside) {
		/* the new name must not reach the disk before the contents */
		if (!error && !status && fsync(stream_fd(output->stream)))
			error = -errno;
		if (!error && !status)
			error = name_file(output);
		else if (output->is_beside && part_name(output, part))
			unlink(part);
	}
	if (output->path && fclose(output->stream) && !error)
		error = -errno;
	output->stream = NULL;
	return error ? failed(app, output->path, -error) : status;
}

int output_open_live(const struct app *app, const char *path, FILE *otherwise, FILE **stream)
{
	int fd;

	*stream = path ? NULL : otherwise;
	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
