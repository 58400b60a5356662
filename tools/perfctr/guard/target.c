// SPDX-License-Identifier: MIT
/* What a budget holds, a cgroup or contexts, and how it is frozen, slowed and released. */
#include "guard.h"
#include "holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { TIMEOUT_MS = 500, CPU_PERIOD_US = 100000 };

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
	    percent >= 100 * (unsigned long)sysconf(_SC_NPROCESSORS_ONLN))
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

/*
 * Tasks stop on their way out of the kernel, so writing the file is only the beginning. A release
 * is not waited for: below a cgroup that is frozen as well, it has no effect yet.
 */
static int freeze_unified(struct target *t, bool hold)
{
	struct pollfd events = { .fd = open_in(t, "cgroup.events", O_RDONLY), .events = POLLPRI };
	const uint64_t timeout_ns = t->is_slow ? 0 : TIMEOUT_MS * NS_PER_MS;
	const uint64_t end_ns = perfctr_time_raw_ns() + timeout_ns;
	char text[256];
	int error;

	if (events.fd < 0)
		return events.fd;
	error = write_in(t, "cgroup.freeze", hold ? "1" : "0");
	while (!error && hold) {
		/* before the reading: one that came late, because others ran, counts */
		uint64_t now_ns = perfctr_time_raw_ns();
		ssize_t length = pread(events.fd, text, sizeof(text) - 1, 0);

		text[length > 0 ? length : 0] = '\0';
		if (strstr(text, "frozen 1"))
			break;
		if (now_ns >= end_ns)
			error = -ETIMEDOUT;
		else
			poll(&events, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
	}
	/* other targets do not wait for this one twice */
	t->is_slow = error == -ETIMEDOUT;
	close(events.fd);
	return error;
}

/* Version 1's freezer wakes nobody when all are frozen. */
static int freeze_v1(struct target *t, bool hold)
{
	const uint64_t timeout_ns = t->is_slow ? 0 : TIMEOUT_MS * NS_PER_MS;
	const uint64_t end_ns = perfctr_time_raw_ns() + timeout_ns;
	int fd = open_in(t, "freezer.state", O_RDWR), error = 0;
	const char *state = hold ? "FROZEN" : "THAWED";
	char text[16];

	if (fd < 0)
		return fd;
	if (write(fd, state, strlen(state)) < 0)
		error = -errno;
	while (!error && hold) {
		uint64_t now_ns = perfctr_time_raw_ns();
		ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

		text[length > 0 ? length : 0] = '\0';
		if (!strncmp(text, state, strlen(state)))
			break;
		if (now_ns >= end_ns)
			error = -ETIMEDOUT;
		else
			poll(NULL, 0, 1);
	}
	t->is_slow = error == -ETIMEDOUT;
	close(fd);
	return error;
}

static int freeze(struct target *t, bool hold)
{
	if (hold && t->is_inside)
		return -EDEADLK;
	return t->version_1 ? freeze_v1(t, hold) : freeze_unified(t, hold);
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

static bool is_new(const char *path, uint64_t *inode)
{
	const uint64_t before = *inode;
	struct stat folder;

	if (!path || stat(path, &folder))
		return false;
	*inode = folder.st_ino;
	return *inode != before;
}

bool target_was_replaced(struct target *t)
{
	const bool held = is_new(t->cgroup, &t->inode);

	return is_new(t->counted_in, &t->counted_inode) || held;
}

/* --- contexts ------------------------------------------------------------------------ */

static struct context_holder *holders;

void holder_add(struct context_holder *holder)
{
	holder->next = holders;
	holders = holder;
}

const struct context_holder *holder_of(const char *driver)
{
	const struct context_holder *holder = holders;

	while (holder && strcmp(holder->driver, driver) != 0)
		holder = holder->next;
	return holder;
}

/* The file for the calls is open while something is held. */
static int hold_contexts(struct target *t, bool hold)
{
	int error;

	if (t->node_fd < 0)
		t->node_fd = open(t->node, O_RDWR | O_CLOEXEC);
	if (t->node_fd < 0)
		return errno == ENOENT || errno == ENODEV || errno == ENXIO ? -ESRCH : -errno;
	error = t->holder->set(t->node_fd, t->tree, t->context, hold);
	if (error || !hold) {
		close(t->node_fd);
		t->node_fd = -1;
	}
	return error;
}

/* --- all ----------------------------------------------------------------------------- */

int target_set(struct target *target, bool hold)
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
	if (target->action == TARGET_HOLD)
		return error == -ENODEV ? -ESRCH : error;
	return error == -ENOENT || error == -ENODEV ? -ESRCH : error;
}

const char *target_text(const struct target *t, char *text, size_t size)
{
	if (t->cgroup)
		snprintf(text, size, "cgroup %s", t->cgroup);
	else if (t->has_context && t->context != HOLDER_ALL_CONTEXTS)
		snprintf(text, size, "context %u of process %d", t->context, (int)t->tree);
	else
		snprintf(text, size, "%sprocess %d", t->has_context ? "all contexts of " : "",
			 (int)t->tree);
	return text;
}

/* Whether this process is in the cgroup or below it: it would freeze itself. */
static bool is_inside(const struct target *t)
{
	struct members members;
	bool inside;

	members_read(&members, t->cgroup);
	inside = members_have(&members, getpid());
	members_free(&members);
	return inside;
}

bool target_overlaps(const struct target *a, const struct target *b)
{
	if (a->action != b->action || a->action == TARGET_REPORT)
		return false;
	if (a->cgroup)
		return a->inode == b->inode;
	return a->pid == b->pid && !strcmp(a->node, b->node) &&
	       (a->context == b->context || a->context == HOLDER_ALL_CONTEXTS ||
		b->context == HOLDER_ALL_CONTEXTS);
}

int target_open(struct target *t, char *error, size_t size)
{
	const char *file = t->action == TARGET_CPU_MAX ? "cpu.max" :
			   t->version_1		       ? "freezer.state" :
							 "cgroup.freeze";
	int result = 0, fd;

	target_was_replaced(t);
	if (t->action == TARGET_REPORT)
		return 0;
	if (t->cgroup && t->version_1 && t->action == TARGET_CPU_MAX) {
		snprintf(error, size,
			 "%s is a cgroup of version 1, and cpu.max is of version 2: use "
			 "action=freeze",
			 t->cgroup);
		return -EOPNOTSUPP;
	}
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
		/* also what a guard with another action left */
		if (t->action == TARGET_FREEZE && !t->version_1)
			limit_cpu(t, false);
		else if (t->action != TARGET_FREEZE)
			freeze(t, false);
	}
	/* what an earlier guard left; the command begins later */
	if (!result && (t->cgroup || t->pid))
		result = target_set(t, false);
	if (t->pid && kill(t->pid, 0)) {
		snprintf(error, size, "process %d: %s%s", (int)t->pid, strerror(errno),
			 result ? "" : "; what it left held is released");
		return -errno;
	}
	if (!result || (t->action == TARGET_HOLD && (result == -ENOENT || result == -ESRCH)))
		return 0;
	snprintf(error, size, "%s cannot be released: %s", t->cgroup ? t->cgroup : "the process",
		 strerror(-result));
	return result;
}
