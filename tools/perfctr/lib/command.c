// SPDX-License-Identifier: MIT
/* Workload and watched process while counting: environment, signals, exit status. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"

/* The workload inherits a descriptor of the library. Return: 0 or a negative errno. */
static int share(const char *name, int fd)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	return fcntl(fd, F_SETFD, 0) || setenv(name, number, 1) ? -errno : 0;
}

int command_share(const struct app *app, struct command *command, struct perfctr_device *device,
		  const struct perfctr_session *session)
{
	const int fd = perfctr_session_fd(session);
	int error;

	if (fd < 0) {
		if (device_is_local(device)) {
			app_error(app, "only jobs of a DRM device carry samples, and this is the "
				       "local device");
			return EXIT_USAGE;
		}
		app_error(app, "samples in the command's jobs need the open device: through a "
			       "broker there is none");
		return EXIT_DENIED;
	}
	error = share("PERFCTR_FD", perfctr_device_fd(device));
	if (!error)
		error = share("PERFCTR_SESSION", fd);
	if (!error)
		return 0;
	app_error(app, "sharing the device: %s", strerror(-error));
	return EXIT_FAILED;
}

int command_prepare(const struct app *app, struct command *command, int stdout_fd)
{
	int error;

	if (!command->argv)
		return 0;
	error = child_prepare(&command->child, command->argv, stdout_fd);
	if (!error)
		return 0;
	app_error(app, "%s: %s", command->argv[0], strerror(-error));
	return EXIT_CANNOT_RUN;
}

/* The process of a thread; the number itself if it is a process, or there is none. */
static pid_t process_of(pid_t thread)
{
	char path[64], *line = NULL;
	pid_t process = thread;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		if (!strncmp(line, "Tgid:", strlen("Tgid:")))
			process = (pid_t)strtol(line + strlen("Tgid:"), NULL, 10);
	free(line);
	if (file)
		fclose(file);
	return process;
}

/* Wait for the next of the watched processes. */
static void watch_next(struct command *c)
{
	if (c->watched_fd >= 0)
		close(c->watched_fd);
	c->watched_fd = c->watched_count ? c->watched[--c->watched_count] : -1;
}

int command_watch(const struct app *app, struct command *command, const pid_t *pids, size_t count)
{
	command->watched = calloc(count, sizeof(*command->watched));
	if (!command->watched)
		return app_failed(app, -ENOMEM);
	for (size_t n = 0; n < count; n++) {
		const pid_t pid = process_of(pids[n]);
		const int fd = (int)syscall(SYS_pidfd_open, pid, 0);

		if (fd < 0) {
			app_error(app, "process %d: %s", (int)pid, strerror(errno));
			return EXIT_FAILED;
		}
		command->watched[command->watched_count++] = fd;
	}
	watch_next(command);
	return 0;
}

int command_go(const struct app *app, struct command *command)
{
	int error;

	if (!command->argv)
		return 0;
	error = child_go(&command->child);
	if (!error)
		return 0;
	app_error(app, "%s: %s", command->argv[0], strerror(-error));
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

void command_abandon(struct command *command)
{
	if (command->argv)
		child_abandon(&command->child);
}

bool command_has_ended(struct command *command)
{
	struct pollfd process = { .fd = command->watched_fd, .events = POLLIN };

	if (command->argv)
		return child_poll(&command->child);
	while (process.fd >= 0 && poll(&process, 1, 0) > 0) {
		if (!command->watched_count)
			return true;
		watch_next(command);
		process.fd = command->watched_fd;
	}
	return false;
}

void command_kill(const struct command *command, int number)
{
	if (command->argv && !command->child.ended)
		kill(command->child.pid, number);
}

int command_take_signals(const struct command *command, struct signals *signals)
{
	struct signalfd_siginfo info;
	int ends_by = 0;

	while (signals_next(signals, &info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		ends_by = (int)info.ssi_signo;
		if (info.ssi_code <= 0)
			command_kill(command, ends_by);
	}
	return ends_by;
}

int command_status(const struct command *command, int ended_by)
{
	if (!command->argv)
		return 0;
	if (command->child.ended)
		return child_exit_status(&command->child);
	return EXIT_SIGNAL_BASE + (ended_by ? ended_by : SIGTERM);
}

char *command_text(char *const *argv, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (char *const *word = argv; *word && used < size; word++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", word == argv ? "" : " ",
					 *word);
	return text;
}

void command_close(struct command *command)
{
	while (command->watched_fd >= 0 || command->watched_count)
		watch_next(command);
	free(command->watched);
	command->watched = NULL;
}
