// SPDX-License-Identifier: MIT
#include "guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <drm/vsoc_drm.h>

#include "common/number.h"

enum { FREEZE_TIMEOUT_MS = 1000, CPU_PERIOD_US = 10000, MAX_PROCESSES = 4096 };

static const char *const action_names[] = {
	"default", "report", "freeze", "cpu.max", "hold", "stop"
};

const char *target_action_name(enum target_action action)
{
	return action_names[action];
}

int target_parse_action(const char *text, struct target *target)
{
	static const char cpu_max[] = "cpu.max:";
	uint64_t percent;
	char number[16];

	for (unsigned int n = TARGET_REPORT; n <= TARGET_STOP; n++) {
		if (n == TARGET_CPU_MAX || strcmp(text, action_names[n]))
			continue;
		target->action = (enum target_action)n;
		return 0;
	}
	if (strncmp(text, cpu_max, strlen(cpu_max)))
		return -EINVAL;
	text += strlen(cpu_max);
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "%"), text);
	if (strcmp(text + strlen(number), "%") || number_parse_count(number, &percent) ||
	    !percent || percent > 100000)
		return -EINVAL;
	target->action = TARGET_CPU_MAX;
	target->cpu_percent = (unsigned int)percent;
	return 0;
}

/* --- cgroups ------------------------------------------------------------------------- */

static int open_in(const struct target *t, const char *file, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->cgroup, file);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_in(const struct target *t, const char *file, const char *text)
{
	int fd = open_in(t, file, O_WRONLY), error = 0;

	if (fd < 0)
		return fd;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int)(t.tv_sec % 100000 * 1000 + t.tv_nsec / 1000000);
}

/* Tasks stop on their way out of the kernel, so writing the file is only the beginning. */
static int freeze(const struct target *t, bool hold)
{
	const char *wanted = hold ? "frozen 1" : "frozen 0";
	struct pollfd events = { .fd = open_in(t, "cgroup.events", O_RDONLY), .events = POLLPRI };
	const int end_ms = now_ms() + FREEZE_TIMEOUT_MS;
	char text[256];
	int error;

	if (events.fd < 0)
		return events.fd == -ENOENT ? -ESRCH : events.fd;
	error = write_in(t, "cgroup.freeze", hold ? "1" : "0");
	while (!error) {
		ssize_t length = pread(events.fd, text, sizeof(text) - 1, 0);
		int left_ms = end_ms - now_ms();

		text[length > 0 ? length : 0] = '\0';
		if (strstr(text, wanted))
			break;
		if (left_ms <= 0)
			error = -ETIMEDOUT;
		else
			poll(&events, 1, left_ms);
	}
	close(events.fd);
	return error;
}

static char *cpu_limit(const struct target *t, char *text, size_t size)
{
	snprintf(text, size, "%u %d", t->cpu_percent * CPU_PERIOD_US / 100, CPU_PERIOD_US);
	return text;
}

static int limit_cpu(const struct target *t, bool hold)
{
	char text[64];

	return write_in(t, "cpu.max", hold ? cpu_limit(t, text, sizeof(text)) : t->cpu_max);
}

/* --- processes ----------------------------------------------------------------------- */

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
	while (count-- > 0)
		if (pids[count] == pid)
			return true;
	return false;
}

/* Add the children of a process, which its threads list, to the list. */
static void add_children(pid_t pid, pid_t *pids, size_t *count)
{
	struct dirent *thread;
	char path[300];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads))) {
		FILE *file;
		int child;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, thread->d_name);
		file = *thread->d_name == '.' ? NULL : fopen(path, "re");
		while (file && fscanf(file, "%d", &child) == 1)
			if (!has(pids, *count, child) && *count < MAX_PROCESSES)
				pids[(*count)++] = child;
		if (file)
			fclose(file);
	}
	if (threads)
		closedir(threads);
}

/* Call @fn for the process and all its descendants, also for those that begin meanwhile. */
static int for_each_process(const struct target *t, bool hold,
			    int (*fn)(const struct target *t, pid_t pid, bool hold))
{
	struct pollfd process = { .fd = t->pidfd, .events = POLLIN };
	pid_t pids[MAX_PROCESSES] = { t->pid };
	size_t count = 1, done = 0, before;
	int error = -ESRCH;

	/* another process may have its number now */
	if (poll(&process, 1, 0))
		return -ESRCH;
	do {
		for (; done < count; done++) {
			int result = fn(t, pids[done], hold);

			/* any that is held is a success; a refusal is worth a message */
			if (!result || (result != -ESRCH && error))
				error = result;
			add_children(pids[done], pids, &count);
		}
		before = count;
		for (size_t n = 0; n < before; n++)
			add_children(pids[n], pids, &count);
	} while (count > before);
	return error;
}

static int stop(const struct target *t, pid_t pid, bool hold)
{
	/* a guard that the target started */
	if (pid == getpid() || pid == getppid())
		return 0;
	return kill(pid, hold ? SIGSTOP : SIGCONT) ? -errno : 0;
}

/* --- contexts ------------------------------------------------------------------------ */

/* A file of our own for the calls, kept open: the device of the last one, -1: none. */
static int own_fd = -1;

static int own_file(const char *path)
{
	static char opened[64];

	if (own_fd >= 0 && !strcmp(opened, path))
		return own_fd;
	if (own_fd >= 0)
		close(own_fd);
	snprintf(opened, sizeof(opened), "%s", path);
	own_fd = open(path, O_RDWR | O_CLOEXEC);
	return own_fd;
}

/* Hold contexts of one of the process's open files. Only the file of a DRM device is duplicated. */
static int hold_file(const struct target *t, int process, int folder, const char *name, bool hold)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = t->context, .hold = hold };
	char link[64];
	ssize_t length = readlinkat(folder, name, link, sizeof(link) - 1);
	int error = 0;

	link[length > 0 ? length : 0] = '\0';
	if (strncmp(link, "/dev/dri/", 9))
		return -ESRCH;
	args.fd = (int)syscall(SYS_pidfd_getfd, process, (int)strtol(name, NULL, 10), 0);
	if (args.fd < 0)
		return errno == EBADF ? -ESRCH : -errno;
	if (ioctl(own_file(link), DRM_IOCTL_VSOC_CTX_HOLD, &args)) {
		/* other drivers, other files, or a device that is gone */
		error = errno == EACCES || errno == EPERM ? -errno : -ESRCH;
		if (own_fd >= 0 && (errno == ENODEV || errno == EBADF))
			close(own_fd);
		own_fd = errno == ENODEV || errno == EBADF ? -1 : own_fd;
	}
	close(args.fd);
	return error;
}

static int hold_contexts(const struct target *t, pid_t pid, bool hold)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), error = -ESRCH;
	struct dirent *entry;
	char path[32];
	DIR *files;

	if (process < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	files = opendir(path);
	if (!files)
		error = errno == ENOENT ? -ESRCH : -errno;
	while (files && (entry = readdir(files))) {
		int result = hold_file(t, process, dirfd(files), entry->d_name, hold);

		if (!result || (result != -ESRCH && error))
			error = result;
	}
	if (files)
		closedir(files);
	close(process);
	return error;
}

/* --- all ----------------------------------------------------------------------------- */

int target_set(const struct target *target, bool hold)
{
	int error = 0;

	switch (target->action) {
	case TARGET_DEFAULT:
	case TARGET_REPORT:
		break;
	case TARGET_FREEZE:
		error = freeze(target, hold);
		break;
	case TARGET_CPU_MAX:
		error = limit_cpu(target, hold);
		break;
	case TARGET_HOLD:
		error = for_each_process(target, hold, hold_contexts);
		break;
	case TARGET_STOP:
		error = for_each_process(target, hold, stop);
		break;
	}
	return error == -ENOENT ? -ESRCH : error;
}

void target_set_process(struct target *t, pid_t pid)
{
	t->pid = pid;
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Whether this process is in the cgroup or below it: it would freeze itself. */
static bool is_inside(const struct target *t)
{
	char line[4096] = "", ours[4200], *wanted = realpath(t->cgroup, NULL);
	FILE *file = fopen("/proc/self/cgroup", "re");
	size_t length = wanted ? strlen(wanted) : 0;
	bool inside = false;

	/* the line of version 2 */
	while (length && file && fgets(line, sizeof(line), file)) {
		snprintf(ours, sizeof(ours), "/sys/fs/cgroup%.*s/", (int)strcspn(line + 3, "\n"),
			 line + 3);
		inside |= !strncmp(line, "0::", 3) && !strncmp(ours, wanted, length) &&
			  ours[length] == '/';
	}
	if (file)
		fclose(file);
	free(wanted);
	return inside;
}

int target_open(struct target *t, char *error, size_t size)
{
	const char *file = t->action == TARGET_CPU_MAX ? "cpu.max" : "cgroup.freeze";
	ssize_t length = 0;
	char text[64];
	int fd = -1, result = 0;

	if (t->action == TARGET_FREEZE || t->action == TARGET_CPU_MAX) {
		fd = open_in(t, file, O_RDWR);
		result = fd < 0 ? fd : 0;
		if (result)
			snprintf(error, size, "%s/%s: %s%s", t->cgroup, file, strerror(-result),
				 result != -ENOENT	     ? "" :
				 t->action == TARGET_CPU_MAX ? "; its parent does not enable cpu" :
							       "; it is no cgroup of version 2");
	}
	if (!result && t->action == TARGET_CPU_MAX) {
		length = read(fd, t->cpu_max, sizeof(t->cpu_max) - 1);
		t->cpu_max[length > 0 ? length - 1 : 0] = '\0';
		/* what an earlier guard left */
		if (!strcmp(t->cpu_max, cpu_limit(t, text, sizeof(text))))
			strcpy(t->cpu_max, "max");
	}
	if (fd >= 0)
		close(fd);
	if ((t->action == TARGET_STOP || t->action == TARGET_HOLD) &&
	    access("/proc/thread-self/children", R_OK)) {
		result = -errno;
		snprintf(error, size,
			 "this kernel does not list the children of processes "
			 "(CONFIG_PROC_CHILDREN): give a cgroup");
	}
	if (!result && t->cgroup && t->action != TARGET_REPORT && is_inside(t)) {
		result = -EINVAL;
		snprintf(error, size, "%s: this guard is in it, and would hold itself", t->cgroup);
	}
	if (!result && t->pid && t->action != TARGET_REPORT) {
		target_set_process(t, t->pid);
		result = t->pidfd < 0 ? -errno : 0;
		if (result)
			snprintf(error, size, "process %d: %s", t->pid, strerror(-result));
	}
	if (!result && t->action == TARGET_FREEZE) {
		result = target_set(t, false);
		if (result)
			snprintf(error, size, "%s: %s", t->cgroup, strerror(-result));
	}
	return result;
}
