// SPDX-License-Identifier: MIT
/* Captures that gzip or zstd compressed: these programs unpack them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_file.h"

/* The program that compressed a file, by its first bytes; NULL: none. */
static const char *packer_of(int fd)
{
	static const struct {
		const char *name, *magic;
	} packers[] = { { "gzip", "\x1f\x8b" }, { "zstd", "\x28\xb5\x2f\xfd" } };
	char bytes[4] = "";

	if (pread(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return NULL;
	for (size_t n = 0; n < sizeof(packers) / sizeof(packers[0]); n++)
		if (!memcmp(bytes, packers[n].magic, strlen(packers[n].magic)))
			return packers[n].name;
	return NULL;
}

/* Start it. @errors: whether it prints its own. Return: 0 or an errno. */
static int start(const char *program, int from, int to, bool errors, pid_t *pid)
{
	char *const argv[] = { (char *)(uintptr_t)program, (char *)"-dcq", NULL };
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
		error = posix_spawnp(pid, program, &actions, NULL, argv, environ);
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

static bool is_capture(const char *bytes, ssize_t length)
{
	return length == 8 && !memcmp(bytes, "perfctr\n", 8);
}

int capture_unpack(const struct app *app, int fd, const char *path, int *status)
{
	const char *program = packer_of(fd);
	FILE *file = program ? tmpfile() : NULL;
	int to = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1, error = to < 0 ? errno : 0;
	pid_t pid;

	*status = 0;
	if (!program)
		return -1;
	if (file)
		fclose(file);
	error = error ? error : start(program, fd, to, true, &pid);
	if (error == ENOENT)
		app_error(app, "%s is compressed: install %s, which unpacks it", path, program);
	else if (error)
		app_error(app, "%s: unpacking it with %s: %s", path, program, strerror(error));
	else if (wait_for(pid))
		app_error(app, "%s: %s cannot unpack it", path, program);
	else if (!lseek(to, 0, SEEK_SET))
		return to;
	if (to >= 0)
		close(to);
	*status = EXIT_FAILED;
	return -1;
}

bool capture_is_packed(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *program = fd < 0 ? NULL : packer_of(fd);
	ssize_t length = 0, got = 1;
	int ends[2] = { -1, -1 };
	char bytes[8];
	pid_t pid;

	if (program && !pipe2(ends, O_CLOEXEC) && !start(program, fd, ends[1], false, &pid)) {
		close(ends[1]);
		for (; got > 0 && length<8; length += got> 0 ? got : 0)
			got = read(ends[0], bytes + length, sizeof(bytes) - (size_t)length);
		/* it may have more to say than the pipe holds */
		kill(pid, SIGKILL);
		wait_for(pid);
		ends[1] = -1;
	}
	for (int n = 0; n < 2; n++)
		if (ends[n] >= 0)
			close(ends[n]);
	if (fd >= 0)
		close(fd);
	/* what is too short to tell is named when it is read */
	return program && (length < 8 || is_capture(bytes, length));
}

bool capture_file_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[8];
	bool is;

	if (fd < 0)
		return false;
	is = is_capture(bytes, read(fd, bytes, sizeof(bytes)));
	close(fd);
	return is;
}
