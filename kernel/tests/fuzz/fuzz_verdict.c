// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl fuzzer's verdict: no session, memory or line in the kernel log is left by the
 * processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

/* users must not cause KERN_WARNING or worse */
#define WARNING_LEVEL	4
/* died, warned, soft lockup */
#define TAINT_SPLAT	0x4280ul
#define PARANOID	"/proc/sys/dev/perfctr/paranoid"
/* this many users with all their sessions fill a device */
#define USERS		8
#define SESSIONS_OF_USER 4
#define FIRST_UID	20000
#define CORE_REFERENCES	"/sys/module/drm_perfctr/refcnt"
#define RUNTIME_STATUS	"/sys/bus/platform/devices/vsoc.0/power/runtime_status"
#define RUNTIME_CONTROL	"/sys/bus/platform/devices/vsoc.0/power/control"
/* share of ioctls that succeed in a run that is long enough: half of what it is */
#define LEAST_OK_PERMILLE 100
#define LEAST_OPS	5000

static unsigned int passed, failed;

static void result(bool good, const char *what)
{
	if (good)
		passed++;
	else
		failed++;
	printf("%sok %u - %s\n", good ? "" : "not ", passed + failed, what);
	fflush(stdout);
}

static unsigned long read_number(const char *path, const char *key)
{
	unsigned long value = 0;
	char line[256];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!key || !strncmp(line, key, strlen(key))) {
			value = strtoul(line + (key ? strlen(key) : 0), NULL, 10);
			break;
		}
	if (f)
		fclose(f);
	return value;
}

void kernel_before(struct kernel_state *k)
{
	k->taint = read_number("/proc/sys/kernel/tainted", NULL);
	k->rings = read_number(CORE_REFERENCES, NULL);
	k->kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (k->kmsg >= 0)
		lseek(k->kmsg, 0, SEEK_END);
}

/* counts splats and warnings of our modules; *lines counts all their lines at any level */
static unsigned int complaints(struct kernel_state *k, unsigned int *lines)
{
	static const char *const ours[] = {
		"perfctr", "vsoc", "csf", "tegra410", "WARNING", "BUG", "KASAN", "UBSAN", "KCSAN",
		"KFENCE", "Call Trace", "refcount", "blocked for more", "stall", "rcu", "Oops",
	};
	unsigned int found = 0;
	char record[8192];

	*lines = 0;
	for (;;) {
		ssize_t n = read(k->kmsg, record, sizeof(record) - 1);
		unsigned int i;
		char *text;

		if (n < 0 && errno == EPIPE) {
			printf("# the kernel's log overflowed\n");
			found++;
			continue;
		}
		if (n <= 0)
			break;
		record[n] = '\0';
		text = strchr(record, ';');
		for (i = 0; text && i < ARRAY_SIZE(ours); i++) {
			if (!strstr(text, ours[i]))
				continue;
			++*lines;
			if ((strtoul(record, NULL, 10) & 7) <= WARNING_LEVEL) {
				printf("# kernel: %.200s", text + 1);
				found++;
			}
			break;
		}
	}
	return found;
}

/* the descriptor of a session, or -errno */
static int small_session(int fd, __u8 set)
{
	struct drm_perfctr_block_request request = {
		.type = DRM_PERFCTR_MALI_BLOCK_CSHW,
		.index = DRM_PERFCTR_INDEX_ALL,
		.set = set,
		.flags = DRM_PERFCTR_REQUEST_AVAILABLE,
		.mask = ~0ull,
	};
	struct drm_perfctr_open open = {
		.slots = 1,
		.eventfd = -1,
		.requests = (uintptr_t)&request,
		.request_count = 1,
		.request_stride = sizeof(request),
	};
	int session = ioctl(fd, DRM_PERFCTR_IOCTL_OPEN(query_nr(fd)), &open);

	return session < 0 ? -errno : session;
}

/* sessions that USERS users can create on a device, in a child of root */
static unsigned int fill_device(void)
{
	const struct rlimit files = { 2 * USERS * SESSIONS_OF_USER, 2 * USERS * SESSIONS_OF_USER };
	unsigned int n, count = 0;
	int ret = 0;

	if (setrlimit(RLIMIT_NOFILE, &files))
		return 0;
	for (n = 0; n <= USERS; n++) {
		int fd;

		if (setresuid(-1, 0, -1))
			return 0;
		fd = open_any_node();
		if (fd < 0 || setresuid(FIRST_UID + n, FIRST_UID + n, 0))
			return 0;
		while ((ret = small_session(fd, 0)) > 0)
			count++;
	}
	printf("# %u sessions fit, then %d\n", count, ret);
	return ret == -ENFILE ? count : 0;
}

/*
 * Unprivileged users together have a limited number of sessions on a device. If exactly that many
 * still fit, no session of the run is left.
 */
static void check_sessions(void)
{
	int status = -1;
	pid_t pid;

	write_text(PARANOID, "0");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		bool good = fill_device() == USERS * SESSIONS_OF_USER;

		fflush(stdout);
		_exit(!good);
	}
	waitpid(pid, &status, 0);
	result(!status, "no session is left");
}

static void check_sets(void)
{
	struct drm_perfctr_command start = { };
	int fd = open_any_node();
	int session = fd < 0 ? -1 : small_session(fd, 1);

	result(!ioctl(session, DRM_PERFCTR_IOCTL_START, &start), "no counter set is in use");
	if (session >= 0)
		close(session);
	if (fd >= 0)
		close(fd);
}

static void check_asleep(void)
{
	char status[32] = "";
	int tries = 40;

	if (write_text(RUNTIME_CONTROL, "auto"))
		return;
	while (tries-- && strncmp(status, "suspended", 9)) {
		int fd = open(RUNTIME_STATUS, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, status, sizeof(status) - 1) < 0)
			break;
		close(fd);
		usleep(100000);
	}
	result(!strncmp(status, "suspended", 9), "the device suspends");
	write_text(RUNTIME_CONTROL, "on");
}

static void check_memory(const struct kernel_state *k)
{
	unsigned long rings = 0;
	int tries = 20;

	/* files are released a little after the end of their processes */
	while (tries--) {
		rings = read_number(CORE_REFERENCES, NULL);
		if (rings <= k->rings)
			break;
		usleep(100000);
	}
	printf("# references of the core: %lu before, %lu after\n", k->rings, rings);
	result(rings <= k->rings, "no ring is left");
}

int kernel_after(struct kernel_state *k, double seconds)
{
	unsigned long taint = read_number("/proc/sys/kernel/tainted", NULL);
	unsigned int lines, worse;

	result((taint & TAINT_SPLAT) == (k->taint & TAINT_SPLAT), "the kernel is not tainted");
	worse = complaints(k, &lines);
	printf("# %u lines of ours in the kernel's log in %.1f s\n", lines, seconds);
	result(k->kmsg >= 0 && !worse, "no warning in the kernel's log");
	/* adding or removing a device logs a line */
	result(lines < 100 + 20 * seconds, "the kernel's log is not flooded");
	printf("# %llu operations, %llu ioctls succeeded, %llu failed, %llu sessions of PCOUNTER\n",
	       (unsigned long long)tally->ops, (unsigned long long)tally->ok,
	       (unsigned long long)tally->failed, (unsigned long long)tally->nv50_sessions);
	if (tally->ops >= LEAST_OPS)
		result(tally->ok * 1000 > LEAST_OK_PERMILLE * (tally->ok + tally->failed),
		       "enough of it was valid to get anywhere");
	if (tally->ops >= LEAST_OPS && k->has_nv50)
		result(tally->nv50_sessions, "both kinds of GPU had sessions");
	check_memory(k);
	check_sessions();
	check_sets();
	check_asleep();
	printf("1..%u\n%u passed, %u failed, 0 skipped\n", passed + failed, passed, failed);
	return failed;
}
