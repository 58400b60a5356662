// SPDX-License-Identifier: MIT
/**
 * TEST: An unprivileged user has limited resources, and fills no log
 * Description: Limits of one user on shared resources, and the privacy of sessions.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_known.h"
#include "igt_raw.h"
#include "igt_sys.h"

#define PAGE ((unsigned int)getpagesize())
#define MOST 256
/* sessions of an unprivileged user, of all of them on a device */
#define USER_SESSIONS 4
#define UNPRIVILEGED_SESSIONS 32

static struct igt_perfctr_device dev;
static int smalls[MOST];

struct gate {
	int pipe[2];
};

static struct gate gate_create(void)
{
	struct gate g;

	igt_assert_eq(pipe(g.pipe), 0);
	return g;
}

static void gate_pass(const struct gate *g, unsigned int count)
{
	char byte;

	while (count--)
		igt_assert_eq(read(g->pipe[0], &byte, 1), 1);
}

static void gate_open(const struct gate *g, unsigned int count)
{
	while (count--)
		igt_assert_eq(write(g->pipe[1], "", 1), 1);
}

static void gate_close(const struct gate *g)
{
	close(g->pipe[0]);
	close(g->pipe[1]);
}

/* the first user creates as many sessions as its limit allows, then the second user does */
static void user_sessions(void)
{
	const struct gate taken = gate_create(), tried = gate_create();
	unsigned int count;
	int error;

	igt_fork(child, 2) {
		struct igt_perfctr_device a, b;
		int first;

		igt_perfctr_reopen(&a, &dev);
		igt_perfctr_reopen(&b, &dev);
		igt_drop_to(IGT_NOBODY - child, 0);
		if (child)
			gate_pass(&taken, 1);
		first = igt_small_open(&a);
		igt_assert_lte(0, first);
		igt_assert_eq(igt_small_fill(&a, smalls, MOST, &error), USER_SESSIONS - 1);
		igt_assert_eq(error, -EDQUOT);
		/* on another file, too */
		igt_assert_eq(igt_small_open(&b), -EDQUOT);
		close(first);
		igt_assert_lte(0, igt_small_open(&b));
		igt_assert_eq(igt_small_open(&a), -EDQUOT);
		/* keep the sessions until the second user has tried */
		gate_open(child ? &tried : &taken, 1);
		if (!child)
			gate_pass(&tried, 1);
	}
	igt_waitchildren();
	gate_close(&taken);
	gate_close(&tried);
	/* root has no limit of users, and the children's sessions have ended */
	count = igt_small_fill(&dev, smalls, MOST, &error);
	igt_assert_eq_u32(count, MOST);
	while (count--)
		close(smalls[count]);
}

/* a session of root with the largest ring */
static void root_counts(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.params.slots = 8192;
	s.params.request_count = 1;
	igt_perfctr_begin(&s);
	igt_known_work(&dev, 1);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_perfctr_session_close(&s);
}

/* Users create as many sessions as their limit allows and keep them until signalled. */
static void device_not_exhausted(void)
{
	enum { USERS = 9, FILES = 2 };
	const struct gate ready = gate_create(), done = gate_create();
	unsigned int *total =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	igt_assert(total != MAP_FAILED);
	igt_fork(child, USERS) {
		struct igt_perfctr_device files[FILES];
		unsigned int count = 0;
		int error = 0;

		for (unsigned int i = 0; i < FILES; i++)
			igt_perfctr_reopen(&files[i], &dev);
		igt_drop_to(IGT_NOBODY - child, 0);
		for (unsigned int i = 0; i < FILES; i++)
			count += igt_small_fill(&files[i], smalls + count, MOST - count, &error);
		igt_assert(error == -EDQUOT || error == -ENFILE);
		/* other users have filled the device: -ENFILE even for a first session */
		if (!count)
			igt_assert_eq(igt_small_open(&files[0]), -ENFILE);
		__atomic_fetch_add(total, count, __ATOMIC_SEQ_CST);
		gate_open(&ready, 1);
		gate_pass(&done, 1);
	}
	gate_pass(&ready, USERS);
	igt_info("%u users have %u sessions\n", USERS, *total);
	igt_assert_eq(*total, UNPRIVILEGED_SESSIONS);
	root_counts();
	gate_open(&done, USERS);
	igt_waitchildren();
	gate_close(&ready);
	gate_close(&done);
	munmap(total, PAGE);
	root_counts();
}

/* what CHECK says about a session of one block; 0 or -errno */
static int ring_check(const struct igt_perfctr_device *file, uint32_t slots)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, file);
	s.params.slots = slots;
	s.params.request_count = 1;
	return igt_perfctr_session_check(&s);
}

/* a session of one block, not mapped; 0 or -errno */
static int ring_session(struct igt_perfctr_session *s, const struct igt_perfctr_device *file,
			uint32_t slots)
{
	igt_perfctr_session_init(s, file);
	s->params.slots = slots;
	s->params.request_count = 1;
	return igt_perfctr_session_try_bare(s);
}

static void user_memory(void)
{
	struct igt_perfctr_session probe;
	uint32_t stride;

	igt_perfctr_session_init(&probe, &dev);
	probe.params.request_count = 1;
	igt_assert_eq(igt_perfctr_session_check(&probe), 0);
	stride = probe.layout.slot_stride;
	igt_fork(child, 1) {
		const uint32_t slots = 1024;
		struct igt_perfctr_session s, other, refused;
		struct igt_perfctr_device mine;
		char kib[16];

		/* a page less than two rings with their control areas */
		snprintf(kib, sizeof(kib), "%u",
			 2 * (slots * stride / 1024 + PAGE / 1024) - PAGE / 1024);
		igt_perfctr_sysctl("max_user_ring_kb", kib);
		igt_perfctr_reopen(&mine, &dev);
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(ring_session(&refused, &mine, 4 * slots), -EDQUOT);
		igt_assert_eq(ring_check(&mine, 4 * slots), -EDQUOT);
		igt_assert_eq(ring_session(&s, &mine, slots), 0);
		igt_assert_eq(ring_session(&refused, &mine, slots), -EDQUOT);
		igt_assert_eq(ring_check(&mine, slots), -EDQUOT);
		/* a check leaves nothing charged */
		igt_assert_eq(ring_check(&mine, slots / 2), 0);
		igt_assert_eq(ring_session(&other, &mine, slots / 2), 0);
		igt_perfctr_session_close(&s);
		igt_assert_eq(ring_session(&s, &mine, slots), 0);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

/* a ring that only a reader or a mapping keeps is still charged to its user */
static void user_memory_kept(void)
{
	struct igt_perfctr_session s, kept;
	char kib[24];

	igt_perfctr_session_init(&s, &dev);
	igt_assert_eq(igt_perfctr_session_check(&s), 0);
	/* memory for one and a half rings */
	snprintf(kib, sizeof(kib), "%llu",
		 ((unsigned long long)s.layout.slots * s.layout.slot_stride + 2 * PAGE) * 3 / 2 /
			 1024);
	igt_perfctr_sysctl("max_user_ring_kb", kib);
	igt_fork(child, 1) {
		struct igt_perfctr_device mine;
		int fd;

		igt_perfctr_reopen(&mine, &dev);
		igt_drop_to(IGT_NOBODY, 0);
		igt_perfctr_session_init(&s, &mine);
		igt_perfctr_session_open(&s);
		fd = igt_perfctr_session_reader(&s);
		igt_perfctr_session_close(&s);
		igt_assert_eq(igt_perfctr_session_try_open(&s), -EDQUOT);
		close(fd);
		igt_perfctr_session_open(&s);
		igt_perfctr_session_close(&s);

		igt_perfctr_session_init(&kept, &mine);
		igt_perfctr_session_open(&kept);
		igt_assert_eq(igt_perfctr_session_end(&kept), 0);
		igt_assert_eq(igt_perfctr_session_try_open(&s), -EDQUOT);
		igt_perfctr_session_unmap(&kept);
		igt_perfctr_session_open(&s);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

#define GROUP "/sys/fs/cgroup/perfctr-limits/"
#define GROUP_BYTES igt_read_int(GROUP "memory.current")

static void charged_to_caller(void)
{
	const int bytes = 8 << 20;

	igt_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	igt_require(!mkdir(GROUP, 0755) || errno == EEXIST);
	igt_require_f(GROUP_BYTES >= 0 && GROUP_BYTES < bytes / 2, "no memory controller\n");
	igt_fork(child, 1) {
		struct igt_perfctr_device mine;
		struct igt_perfctr_session s;
		int before;

		igt_assert_eq(igt_write(GROUP "cgroup.procs", "0"), 0);
		igt_perfctr_reopen(&mine, &dev);
		igt_perfctr_session_init(&s, &mine);
		do {
			s.params.slots *= 2;
			igt_assert_eq(igt_perfctr_session_check(&s), 0);
		} while (s.layout.map_bytes - s.layout.ring_offset < (unsigned int)bytes);
		before = GROUP_BYTES;
		igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
		igt_assert_lte(before + bytes, GROUP_BYTES);
		igt_perfctr_session_close(&s);
		igt_assert_lte(GROUP_BYTES, before + bytes / 2);
	}
	igt_waitchildren();
	rmdir(GROUP);
}

/* log records about perfctr since the last call, at any level */
static unsigned int kernel_log(int kmsg)
{
	char record[8192];
	unsigned int n = 0;
	ssize_t bytes;

	while ((bytes = read(kmsg, record, sizeof(record) - 1)) > 0 || errno == EPIPE) {
		record[bytes > 0 ? bytes : 0] = '\0';
		n += !!strstr(record, "perfctr:") || !!strstr(record, dev.driver) ||
		     !!strstr(record, "csf:") || bytes < 0;
		errno = 0;
	}
	return n;
}

static void log_is_silent(void)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	igt_require(kmsg >= 0);
	lseek(kmsg, 0, SEEK_END);
	kernel_log(kmsg);
	igt_fork(child, 1) {
		struct igt_perfctr_device mine;
		const unsigned long query = DRM_PERFCTR_IOCTL_QUERY(dev.ioctl_nr);
		const unsigned long requests[] = {
			query,
			DRM_PERFCTR_IOCTL_OPEN(dev.ioctl_nr),
			DRM_PERFCTR_IOCTL_START,
			DRM_PERFCTR_IOCTL_SAMPLE,
			DRM_PERFCTR_IOCTL_STOP,
			DRM_PERFCTR_IOCTL_STATUS,
			DRM_PERFCTR_IOCTL_LAYOUT,
			DRM_PERFCTR_IOCTL_READER,
			dev.known ? dev.known->submit : query,
		};
		uint64_t words[16];
		int session;

		igt_perfctr_reopen(&mine, &dev);
		igt_drop_to(IGT_NOBODY, 0);
		session = igt_small_open(&mine);
		igt_assert_lte(0, session);
		for (unsigned int i = 0; i < 20000; i++) {
			const unsigned int n = i % ARRAY_SIZE(requests);
			const bool of_device = n < 2 || n == ARRAY_SIZE(requests) - 1;
			struct drm_perfctr_query q = { .type = i % 5,
						       .count = i % 2,
						       .stride = i % 99,
						       .pointer = (uintptr_t)words };
			int ret;

			for (unsigned int w = 0; w < ARRAY_SIZE(words); w++)
				words[w] = (i * 2654435761u) >> (w + i % 20);
			ret = igt_perfctr_ioctl(
				of_device ? mine.fd : session,
				i % 2 || n == 7 ? requests[n] : igt_raw_sized(requests[n], i % 128),
				requests[n] == query ? (void *)&q : words);
			/* OPEN or READER, by chance */
			if (ret > 0)
				close(ret);
		}
	}
	igt_waitchildren();
	igt_assert_eq(kernel_log(kmsg), 0);
	close(kmsg);
}

/* -1 for a field that is missing */
struct fdinfo {
	long long active, memory_kib, set;
};

static long long find_key(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static struct fdinfo read_fdinfo(int fd)
{
	char text[IGT_FDINFO_BYTES];

	igt_read_fdinfo(fd, text);
	return (struct fdinfo){
		.active = find_key(text, "perfctr-active:\t"),
		.memory_kib = find_key(text, "perfctr-memory:\t"),
		.set = find_key(text, "perfctr-set:\t"),
	};
}

static void assert_fdinfo(int fd, struct fdinfo expected)
{
	struct fdinfo info = read_fdinfo(fd);

	igt_assert_eq_u64(info.active, expected.active);
	igt_assert_eq_u64(info.memory_kib, expected.memory_kib);
	igt_assert_eq_u64(info.set, expected.set);
}

/* whether debugfs lists a session of this process with @set ("-": none) and @active */
static bool is_listed(const char *set, const char *active)
{
	char path[64], line[256], found_set[8], found_active[8];
	bool found = false;
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/perfctr_sessions", dev.minor);
	f = fopen(path, "r");
	igt_require_f(f, "no %s\n", path);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%d %*u %7s %7s", &pid, found_active, found_set) == 3 &&
		    pid == getpid())
			found |= !strcmp(found_set, set) && !strcmp(found_active, active);
	if (f)
		fclose(f);
	return found;
}

static unsigned int set_or_primary(unsigned int set)
{
	return dev.info.sets >> set & 1 ? set : DRM_PERFCTR_SET_PRIMARY;
}

static void fdinfo_shows(void)
{
	struct igt_perfctr_session s, busy;
	const unsigned int set = set_or_primary(DRM_PERFCTR_SET_SECONDARY);
	char text[IGT_FDINFO_BYTES], name[80];
	long long kib;

	if (dev.info.features & DRM_PERFCTR_FEATURE_PMU) {
		igt_perfctr_session_init_empty(&s, &dev);
		igt_perfctr_add_pmu(&s, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				    DRM_PERFCTR_CPU_ANY);
		igt_perfctr_session_open(&s);
		kib = s.layout.map_bytes / 1024;
		/* a session of PMU blocks has no set */
		assert_fdinfo(s.fd, (struct fdinfo){ 0, kib, -1 });
		igt_assert(is_listed("-", "no"));
		igt_perfctr_session_close(&s);
	}
	igt_perfctr_session_init_set(&s, &dev, set);
	igt_perfctr_session_open(&s);
	kib = s.layout.map_bytes / 1024;
	igt_assert_lt(0, kib);
	assert_fdinfo(s.fd, (struct fdinfo){ 0, kib, -1 });
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	assert_fdinfo(s.fd, (struct fdinfo){ 1, kib, set });
	igt_read_fdinfo(s.fd, text);
	igt_assert_lt(0, find_key(text, "perfctr-session:\t"));
	snprintf(name, sizeof(name), "perfctr-device:\t%s\n", igt_device_name(&dev));
	igt_assert(strstr(text, name));
	/* another set cannot be used */
	igt_perfctr_session_open_with(&busy, &dev, 1, 0);
	igt_assert_eq(igt_perfctr_start(&busy, 0), set ? -EBUSY : 0);
	igt_perfctr_session_close(&busy);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	assert_fdinfo(s.fd, (struct fdinfo){ 0, kib, -1 });
	igt_fork(child, 1) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", getppid(), s.fd);
		igt_assert_eq(access(path, R_OK), 0);
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(open(path, O_RDONLY), -1);
		igt_assert_eq(errno, EACCES);
	}
	igt_waitchildren();
	/* the device's file shows no session */
	igt_read_fdinfo(dev.fd, text);
	igt_assert(!strstr(text, "perfctr-session"));
	igt_assert(!strstr(text, "perfctr-active"));
	igt_perfctr_session_close(&s);
}

/* the session is in a socket's queue; no process has a descriptor of it */
static void hidden_is_listed(void)
{
	struct igt_perfctr_session s, busy;
	const unsigned int set = set_or_primary(DRM_PERFCTR_SET_TERTIARY);
	const char *const text = set ? "2" : "0";
	int sockets[2];

	igt_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	igt_perfctr_session_init_set(&s, &dev, set);
	igt_perfctr_session_open(&s);
	igt_assert(is_listed("-", "no"));
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_send_fd(sockets[0], s.fd);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_open_with(&busy, &dev, 1, 0);
	igt_assert(is_listed(text, "yes"));
	if (set)
		igt_assert_eq(igt_perfctr_start(&busy, 0), -EBUSY);
	close(sockets[0]);
	close(sockets[1]);
	/* a kworker closes it */
	for (unsigned int i = 0; i < 1000 && is_listed(text, "yes"); i++)
		igt_sleep_ms(10);
	igt_assert(!is_listed(text, "yes"));
	igt_assert_eq(igt_perfctr_start(&busy, 0), 0);
	igt_perfctr_session_close(&busy);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		igt_perfctr_sysctl("paranoid", "0");
		igt_perfctr_default_limits();
	}
	/* Covers: open -EDQUOT */
	igt_describe("sessions of a user over all files are limited: -EDQUOT; each user has an "
		     "own limit");
	igt_subtest("user-sessions") user_sessions();
	/* Covers: open -ENFILE */
	igt_describe("root can count while nine users have as many sessions as their limits allow");
	igt_subtest("device-not-exhausted") device_not_exhausted();
	/* Covers: open -EDQUOT */
	igt_describe("ring memory of a user is limited: -EDQUOT");
	igt_subtest("user-memory") user_memory();
	/* Covers: open -EDQUOT */
	igt_describe("a ring counts for its user until its last descriptor and mapping are closed");
	igt_subtest("user-memory-kept") user_memory_kept();
	igt_describe("memory of a ring is charged to the memory cgroup of OPEN's caller");
	igt_subtest("charged-to-caller") charged_to_caller();
	/* Covers: command -EBUSY */
	igt_describe("fdinfo of a session describes it to those who may inspect the process");
	igt_subtest("fdinfo") fdinfo_shows();
	igt_describe("debugfs lists a session whose descriptor no process holds");
	igt_subtest("hidden-session") hidden_is_listed();
	igt_describe("20,000 rejected calls write no line to the kernel log");
	igt_subtest("log-silent") log_is_silent();
	igt_fixture() {
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
