// SPDX-License-Identifier: MIT
#include "guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <drm/vsoc_drm.h>

enum { TIMEOUT_MS = 500, CPU_PERIOD_US = 100000, DRM_MAJOR = 226 };

static const char *const action_names[] = { "default", "report", "freeze", "cpu.max", "hold" };

const char *target_action_name(enum target_action action)
{
	return action_names[action];
}

int target_parse_action(const char *text, struct target *target)
{
	unsigned int percent;
	int end = 0;

	for (unsigned int n = TARGET_REPORT; n <= TARGET_HOLD; n++) {
		if (n == TARGET_CPU_MAX || strcmp(text, action_names[n]))
			continue;
		target->action = (enum target_action)n;
		return 0;
	}
	if (sscanf(text, "cpu.max:%6u%%%n", &percent, &end) != 1 || text[end] || !percent ||
	    percent > 100000)
		return -EINVAL;
	target->action = TARGET_CPU_MAX;
	target->cpu_percent = percent;
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

/* Tasks stop on their way out of the kernel, so writing the file is only the beginning. */
static int freeze(const struct target *t, bool hold)
{
	const char *wanted = hold ? "frozen 1" : "frozen 0";
	struct pollfd events = { .fd = open_in(t, "cgroup.events", O_RDONLY), .events = POLLPRI };
	const uint64_t end_ns = perfctr_time_raw_ns() + TIMEOUT_MS * NS_PER_MS;
	char text[256];
	int error;

	if (events.fd < 0)
		return events.fd;
	error = write_in(t, "cgroup.freeze", hold ? "1" : "0");
	while (!error) {
		ssize_t length = pread(events.fd, text, sizeof(text) - 1, 0);
		uint64_t now_ns = perfctr_time_raw_ns();

		text[length > 0 ? length : 0] = '\0';
		if (strstr(text, wanted))
			break;
		if (now_ns >= end_ns)
			error = -ETIMEDOUT;
		else
			poll(&events, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
	}
	close(events.fd);
	return error;
}

/*
 * The former cpu.max is an attribute of the cgroup while it is limited: the next guard restores it,
 * too. Only privileged processes can change trusted attributes.
 */
static int limit_cpu(const struct target *t, bool hold)
{
	static const char former[] = "trusted.perfctr_cpu_max";
	char text[64] = "";
	int error = 0;

	if (hold) {
		int fd = open_in(t, "cpu.max", O_RDONLY);
		ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

		if (fd >= 0)
			close(fd);
		if (length <= 0)
			return fd < 0 ? fd : -EIO;
		if (setxattr(t->cgroup, former, text, (size_t)length, XATTR_CREATE) &&
		    errno != EEXIST)
			return -errno;
		snprintf(text, sizeof(text), "%u %d", t->cpu_percent * (CPU_PERIOD_US / 100),
			 CPU_PERIOD_US);
		return write_in(t, "cpu.max", text);
	}
	if (getxattr(t->cgroup, former, text, sizeof(text) - 1) > 0)
		error = write_in(t, "cpu.max", text);
	if (!error && removexattr(t->cgroup, former) && errno != ENODATA)
		error = -errno;
	return error;
}

bool target_was_replaced(struct target *t)
{
	const uint64_t before = t->inode;
	struct stat folder;

	if (!t->cgroup || stat(t->cgroup, &folder))
		return false;
	t->inode = folder.st_ino;
	return t->inode != before;
}

/* --- contexts ------------------------------------------------------------------------ */

/* The last part of a link's text, "" if there is none. */
static const char *link_name(const char *path, char *text, size_t size)
{
	ssize_t length = readlink(path, text, size - 1);

	text[length > 0 ? length : 0] = '\0';
	return strrchr(text, '/') ? strrchr(text, '/') + 1 : "";
}

/* A file of our own for the calls, kept open: the node of the last one, -1: none. */
static int own_fd = -1;

/* Return: our file of that DRM node, -1: it is not a virtual GPU's. The target names no path. */
static int own_file(unsigned int node)
{
	static unsigned int opened;
	char path[64], text[512];

	if (own_fd >= 0 && opened == node)
		return own_fd;
	snprintf(path, sizeof(path), "/sys/dev/char/%d:%u/device/driver", DRM_MAJOR, node);
	if (strcmp(link_name(path, text, sizeof(text)), "vsoc"))
		return -1;
	snprintf(path, sizeof(path), "/sys/dev/char/%d:%u", DRM_MAJOR, node);
	snprintf(path, sizeof(path), "/dev/dri/%.40s", link_name(path, text, sizeof(text)));
	if (own_fd >= 0)
		close(own_fd);
	opened = node;
	own_fd = open(path, O_RDWR | O_CLOEXEC);
	return own_fd;
}

/* Hold contexts of one of the process's open files. Only those of the virtual GPU are touched. */
static int hold_file(const struct target *t, int folder, const char *name, bool hold)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = t->context, .hold = hold };
	struct statx file;
	int error = 0;

	/* a file system of the target is not asked: it might never answer */
	if (statx(folder, name, AT_STATX_DONT_SYNC, STATX_TYPE, &file) || !S_ISCHR(file.stx_mode) ||
	    file.stx_rdev_major != DRM_MAJOR || own_file(file.stx_rdev_minor) < 0)
		return -ENXIO;
	args.fd = (int)syscall(SYS_pidfd_getfd, t->pidfd, (int)strtol(name, NULL, 10), 0);
	if (args.fd < 0)
		return errno == EBADF ? -ENXIO : -errno;
	if (ioctl(own_fd, DRM_IOCTL_VSOC_CTX_HOLD, &args)) {
		/* no such context, or a device that is gone */
		error = errno == EACCES || errno == EPERM ? -errno : -ENXIO;
		close(own_fd);
		own_fd = -1;
	}
	close(args.fd);
	return error;
}

static int hold_contexts(const struct target *t, bool hold)
{
	const uint64_t end_ns = perfctr_time_raw_ns() + TIMEOUT_MS * NS_PER_MS;
	struct pollfd process = { .fd = t->pidfd, .events = POLLIN };
	int error = -ENXIO;
	struct dirent *entry;
	char path[32];
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%d/fd", t->pid);
	files = opendir(path);
	if (!files)
		return -errno;
	/* another process may have its number now */
	if (poll(&process, 1, 0))
		error = -ESRCH;
	while (error != -ESRCH && error != -ETIMEDOUT && (entry = readdir(files))) {
		int result = hold_file(t, dirfd(files), entry->d_name, hold);

		/* any that is held is a success; a refusal is worth a message */
		if (!result || (result != -ENXIO && error))
			error = result;
		if (perfctr_time_raw_ns() >= end_ns)
			error = -ETIMEDOUT;
	}
	closedir(files);
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
		error = hold_contexts(target, hold);
		break;
	}
	return error == -ENOENT || error == -ENODEV ? -ESRCH : error;
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

bool target_overlaps(const struct target *a, const struct target *b)
{
	if (a->action != b->action || a->action == TARGET_REPORT)
		return false;
	if (a->cgroup)
		return a->inode == b->inode;
	return a->pid == b->pid && (a->context == b->context || a->context == DRM_VSOC_CTX_ALL ||
				    b->context == DRM_VSOC_CTX_ALL);
}

int target_open(struct target *t, char *error, size_t size)
{
	const char *file = t->action == TARGET_CPU_MAX ? "cpu.max" : "cgroup.freeze";
	int fd, result = 0;

	target_was_replaced(t);
	if (t->action == TARGET_REPORT)
		return 0;
	if (t->cgroup) {
		fd = open_in(t, file, O_RDWR);
		if (fd < 0) {
			snprintf(error, size, "%s/%s: %s%s", t->cgroup, file, strerror(-fd),
				 fd != -ENOENT		     ? "" :
				 t->action == TARGET_CPU_MAX ? "; its parent does not enable cpu" :
							       "; it is no cgroup of version 2");
			return fd;
		}
		close(fd);
		if (is_inside(t)) {
			snprintf(error, size, "%s: this guard is in it, and would hold itself",
				 t->cgroup);
			return -EINVAL;
		}
	} else if (t->pid) {
		target_set_process(t, t->pid);
		if (t->pidfd < 0)
			result = -errno;
	}
	/* what an earlier guard left; the command begins later */
	if (!result && (t->cgroup || t->pid))
		result = target_set(t, false);
	if (!result || (t->action == TARGET_HOLD && result == -ENXIO))
		return 0;
	snprintf(error, size, "%s cannot be released: %s", t->cgroup ? t->cgroup : "the process",
		 strerror(-result));
	return result;
}
