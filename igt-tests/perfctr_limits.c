// SPDX-License-Identifier: MIT
/*
 * What one user may take of what all share, and what it sees of others.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_rights.h"
#include "igt_small.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION(
	"A user without rights cannot take what is others', nor see it, nor make a noise");

#define PAGE 4096
/* default of the sysctl */
#define USER_SESSIONS 128

static struct igt_perfctr_device dev;

/* --- sessions and memory --------------------------------------------------- */

/* the first user takes all that it can have, then the second one does */
static void user_sessions(void)
{
	int taken[2], tried[2];
	char byte = 0;

	igt_assert_eq(pipe(taken), 0);
	igt_assert_eq(pipe(tried), 0);
	igt_perfctr_sysctl("max_user_sessions", "20");
	igt_fork(child, 2)
	{
		struct igt_perfctr_device a, b;
		uint32_t bo_a, bo_b;
		int handle, error;

		igt_perfctr_reopen(&a, &dev);
		igt_perfctr_reopen(&b, &dev);
		bo_a = igt_small_buffer(a.fd, 2 * PAGE);
		bo_b = igt_small_buffer(b.fd, 2 * PAGE);
		igt_drop_to(IGT_NOBODY - child, 0);
		if (child)
			igt_assert_eq(read(taken[0], &byte, 1), 1);
		handle = igt_small_setup(a.fd, bo_a, bo_a);
		igt_assert_lt(0, handle);
		igt_assert_eq(igt_small_fill(a.fd, bo_a, &error), 19);
		igt_assert_eq(error, -EDQUOT);
		/* on another file, too */
		igt_assert_eq(igt_small_setup(b.fd, bo_b, bo_b), -EDQUOT);
		igt_small_teardown(a.fd, handle);
		igt_assert_lt(0, igt_small_setup(b.fd, bo_b, bo_b));
		igt_assert_eq(igt_small_setup(a.fd, bo_a, bo_a), -EDQUOT);
		/* keeps its sessions until the other one has had its turn */
		igt_assert_eq(write(child ? tried[1] : taken[1], &byte, 1), 1);
		if (!child)
			igt_assert_eq(read(tried[0], &byte, 1), 1);
	}
	igt_waitchildren();
	for (unsigned int i = 0; i < 2; i++) {
		close(taken[i]);
		close(tried[i]);
	}
	/* root is not counted, and those of the children are gone */
	{
		struct igt_perfctr_device mine;
		uint32_t bo;
		int error;

		igt_perfctr_reopen(&mine, &dev);
		bo = igt_small_buffer(mine.fd, 2 * PAGE);
		igt_assert_eq_u32(igt_small_fill(mine.fd, bo, &error),
				  mine.info.max_sessions_per_file);
		igt_assert_eq(error, -EMFILE);
		igt_perfctr_close(&mine);
	}
	igt_perfctr_default_limits();
}

static void device_is_left(void)
{
	int ready[2], done[2];
	char byte = 0;

	igt_perfctr_default_limits();
	igt_assert_eq(pipe(ready), 0);
	igt_assert_eq(pipe(done), 0);
	igt_fork(child, 1)
	{
		struct igt_perfctr_device files[10];
		unsigned int count = 0;
		uint32_t bo[10];
		int error = 0;

		for (unsigned int i = 0; i < 10; i++) {
			igt_perfctr_reopen(&files[i], &dev);
			bo[i] = igt_small_buffer(files[i].fd, 2 * PAGE);
		}
		igt_drop_to(IGT_NOBODY, 0);
		for (unsigned int i = 0; i < 10; i++)
			count += igt_small_fill(files[i].fd, bo[i], &error);
		igt_assert_eq(count, USER_SESSIONS);
		igt_assert_eq(error, -EDQUOT);
		igt_assert_eq(write(ready[1], &byte, 1), 1);
		igt_assert_eq(read(done[0], &byte, 1), 1);
	}
	/* while the child has all that it can have */
	igt_assert_eq(read(ready[0], &byte, 1), 1);
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init(&s, &dev);
		igt_perfctr_session_create(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_vsoc_work(&dev, 1);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 1);
		igt_perfctr_session_fini(&s);
	}
	igt_assert_eq(write(done[1], &byte, 1), 1);
	igt_waitchildren();
	for (unsigned int i = 0; i < 2; i++) {
		close(ready[i]);
		close(done[i]);
	}
}

static void user_memory(void)
{
	igt_perfctr_sysctl("max_user_ring_kb", "1024");
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;
		uint32_t large, larger, most, tiny, small;
		int handle;

		igt_perfctr_reopen(&mine, &dev);
		large = igt_small_buffer(mine.fd, 600 << 10);
		larger = igt_small_buffer(mine.fd, 1025 << 10);
		most = igt_small_buffer(mine.fd, (1024 << 10) - PAGE);
		tiny = igt_small_buffer(mine.fd, PAGE);
		small = igt_small_buffer(mine.fd, 2 * PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(igt_small_setup(mine.fd, larger, larger), -EDQUOT);
		/* so does the control area's, to the last page */
		igt_assert_eq(igt_small_setup(mine.fd, most, small), -EDQUOT);
		handle = igt_small_setup(mine.fd, most, tiny);
		igt_assert_lt(0, handle);
		igt_small_teardown(mine.fd, handle);
		/* whole buffers count, not the part that is used */
		handle = igt_small_setup(mine.fd, large, large);
		igt_assert_lt(0, handle);
		igt_assert_eq(igt_small_setup(mine.fd, large, tiny), -EDQUOT);
		igt_small_teardown(mine.fd, handle);
		igt_assert_lt(0, igt_small_setup(mine.fd, large, tiny));
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

/*
 * A session of 16 counters of each of @blocks SoC blocks: a handle or -errno. TEST_ONLY
 * without a buffer.
 */
static int soc_session(int fd, uint32_t bo, int type, unsigned int blocks)
{
	struct drm_perfctr_block_request requests[16] = { 0 };
	struct drm_perfctr_setup setup = {
		.flags = bo ? 0 : DRM_PERFCTR_SETUP_TEST_ONLY,
		.slots = 1,
		.ring_handle = bo,
		.control_handle = bo,
		.control_offset = bo ? 31 * PAGE : 0,
		.eventfd = -1,
		.requests = (uintptr_t)requests,
		.request_count = blocks,
		.request_stride = sizeof(requests[0]),
	};
	uint32_t handle = 0;
	int ret;

	for (unsigned int i = 0; i < blocks; i++) {
		requests[i].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
		requests[i].cpu = DRM_PERFCTR_CPU_ANY;
		requests[i].mask = 0xffff;
		requests[i].pmu_type = type;
		/* a filter for each */
		requests[i].config1 = ((i + 1) & 7) | ((i + 1) & ~7u) << 5;
	}
	ret = igt_perfctr_control(fd, DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup));
	return ret ? ret : (int)handle;
}

static void user_soc_counters(void)
{
	int paranoid = igt_read_int(IGT_PERF_PARANOID);
	int type = igt_read_int(IGT_UCF_TYPE);

	igt_require_f(type > 0, "no PMU nvidia_ucf_pmu_0\n");
	igt_write_int(IGT_PERF_PARANOID, 0);
	igt_fork(child, 1)
	{
		struct igt_perfctr_device a, b;
		uint32_t bo_a, bo_b;
		int first;

		igt_perfctr_reopen(&a, &dev);
		igt_perfctr_reopen(&b, &dev);
		bo_a = igt_small_buffer(a.fd, 32 * PAGE);
		bo_b = igt_small_buffer(b.fd, 32 * PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		first = soc_session(a.fd, bo_a, type, 16);
		igt_assert_lt(0, first);
		igt_assert_lt(0, soc_session(b.fd, bo_b, type, 16));
		igt_assert_eq(soc_session(b.fd, bo_b, type, 1), -EDQUOT);
		/* the events of a call that creates nothing count as long as it takes */
		igt_assert_eq(soc_session(b.fd, 0, type, 1), -EDQUOT);
		igt_small_teardown(a.fd, first);
		igt_assert_eq(soc_session(b.fd, 0, type, 1), 0);
		igt_assert_lt(0, soc_session(b.fd, bo_b, type, 1));
	}
	igt_waitchildren();
	igt_write_int(IGT_PERF_PARANOID, paranoid);
}

static uint64_t cgroup_bytes(const char *group, const char *file, const char *key)
{
	char path[128], word[40];
	unsigned long long value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	f = fopen(path, "r");
	igt_require_f(f, "%s: %s\n", path, strerror(errno));
	if (!key)
		igt_assert_eq(fscanf(f, "%llu", &value), 1);
	else
		while (fscanf(f, "%39s %llu", word, &value) == 2 && strcmp(word, key))
			value = 0;
	fclose(f);
	return value;
}

static bool write_file(const char *directory, const char *file, const char *text)
{
	char path[128];
	int fd;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY);
	good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return good;
}

static void charged_to_caller(void)
{
	const char *group = "/sys/fs/cgroup/perfctr-limits";
	const uint64_t bytes = 8 << 20;

	write_file("/sys/fs/cgroup", "cgroup.subtree_control", "+memory");
	igt_require(!mkdir(group, 0755) || errno == EEXIST);
	igt_require_f(cgroup_bytes(group, "memory.current", NULL) < bytes / 2,
		      "no memory controller\n");
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;
		uint64_t before, between, after;
		uint32_t ring, handle;

		igt_assert(write_file(group, "cgroup.procs", "0"));
		igt_perfctr_reopen(&mine, &dev);
		before = cgroup_bytes(group, "memory.stat", "shmem");
		ring = igt_small_buffer(mine.fd, bytes);
		handle = igt_small_setup(mine.fd, ring, ring);
		igt_assert_lt(0, (int)handle);
		between = cgroup_bytes(group, "memory.current", NULL);
		/* SETUP pins the whole buffer */
		igt_assert_lte_u64(before + bytes, cgroup_bytes(group, "memory.stat", "shmem"));
		igt_assert_lte_u64(bytes, between);
		igt_perfctr_close(&mine);
		after = cgroup_bytes(group, "memory.stat", "shmem");
		igt_assert_lte_u64(after, before + bytes / 2);
	}
	igt_waitchildren();
	rmdir(group);
}

/* --- user namespaces -------------------------------------------------------- */

/* of the owners of namespaces: nobody has these subordinate uids, root those */
#define UIDS_OF_NOBODY 100000
#define UIDS_OF_ROOT 200000

/*
 * In a new user namespace, with uids from @first on, as the one that is @uid there. Its group has a
 * number, too, as the owner of a further namespace needs one.
 */
static void enter_namespace(unsigned int first, unsigned int uid)
{
	int ready[2], mapped[2];
	const unsigned int owner = first < UIDS_OF_ROOT ? IGT_NOBODY : 0;
	char byte = 0, path[40], map[40], group_path[40], group[40];
	pid_t self = getpid(), helper;

	igt_assert_eq(pipe(ready), 0);
	igt_assert_eq(pipe(mapped), 0);
	/* what newuidmap is for: it keeps the rights that we shall lose */
	helper = fork();
	igt_assert_lte(0, helper);
	if (!helper) {
		snprintf(path, sizeof(path), "/proc/%d/uid_map", self);
		snprintf(map, sizeof(map), "0 %u 1000", first);
		snprintf(group_path, sizeof(group_path), "/proc/%d/gid_map", self);
		snprintf(group, sizeof(group), "0 %u 1", owner);
		_exit(read(ready[0], &byte, 1) != 1 || igt_write(path, map) ||
		      igt_write(group_path, group) || write(mapped[1], &byte, 1) != 1);
	}
	close(mapped[1]);
	igt_drop_to(owner, 0);
	igt_assert_eq(unshare(CLONE_NEWUSER), 0);
	igt_assert_eq(write(ready[1], &byte, 1), 1);
	igt_assert_eq(read(mapped[0], &byte, 1), 1);
	igt_assert_eq(waitpid(helper, NULL, 0), helper);
	igt_assert_eq(setresuid(uid, uid, uid), 0);
}

/*
 * The first of three processes takes all sessions that there are for the three; @nested: each of
 * them in a namespace of its own besides, which a subordinate uid has made.
 */
static void namespaces_of(unsigned int first, bool nested)
{
	int taken[2], done[2];
	char byte = 0;

	igt_assert_eq(pipe(taken), 0);
	igt_assert_eq(pipe(done), 0);
	igt_fork(child, 3)
	{
		/* two namespaces of the same owner, or two users of one container */
		unsigned int uids = first < UIDS_OF_ROOT ? first + 1000 * child : first;
		struct igt_perfctr_device mine;
		int error;
		uint32_t bo;

		igt_perfctr_reopen(&mine, &dev);
		bo = igt_small_buffer(mine.fd, 2 * PAGE);
		if (child)
			igt_assert_eq(read(taken[0], &byte, 1), 1);
		enter_namespace(uids, 7 + child);
		if (nested)
			igt_assert_eq(unshare(CLONE_NEWUSER), 0);
		igt_assert_eq(igt_small_fill(mine.fd, bo, &error), child ? 0 : 20);
		igt_assert_eq(error, -EDQUOT);
		if (child) {
			igt_assert_eq(write(done[1], &byte, 1), 1);
		} else {
			igt_assert_eq(write(taken[1], &byte, 1), 1);
			igt_assert_eq(write(taken[1], &byte, 1), 1);
			igt_assert_eq(read(done[0], &byte, 1), 1);
			igt_assert_eq(read(done[0], &byte, 1), 1);
		}
	}
	igt_waitchildren();
	for (unsigned int i = 0; i < 2; i++) {
		close(taken[i]);
		close(done[i]);
	}
}

static void namespace_one_user(bool nested)
{
	igt_require_f(!access("/proc/self/ns/user", F_OK), "no user namespaces\n");
	igt_perfctr_sysctl("max_user_sessions", "20");
	namespaces_of(UIDS_OF_NOBODY, nested);
	namespaces_of(UIDS_OF_ROOT, nested);
	igt_perfctr_default_limits();
}

/* --- others ----------------------------------------------------------------- */
/* the counters and the memory of somebody else, with every handle there is */
static void others_are_private(void)
{
	struct drm_perfctr_bo_create bo = { .size = 4 * PAGE };
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_session_create(&s);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_PERFCTR_BO_CREATE, &bo), 0);
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;

		igt_perfctr_reopen(&mine, &dev);
		igt_drop_to(IGT_NOBODY, 0);
		for (uint32_t handle = 0; handle < 300; handle++) {
			struct drm_perfctr_status status;
			uint32_t h = handle;

			igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle),
				      -ENOENT);
			igt_assert_eq(igt_perfctr_control(mine.fd, DRM_PERFCTR_CMD_STATUS, &h,
							  &status, sizeof(status)),
				      -ENOENT);
			igt_assert_eq(igt_small_setup(mine.fd, handle, handle), -ENOENT);
		}
		/* the offset is known, the file is not the owner's */
		igt_assert(mmap(NULL, bo.size, PROT_READ, MAP_SHARED, mine.fd, bo.mmap_offset) ==
			   MAP_FAILED);
	}
	igt_waitchildren();
	igt_perfctr_gem_close(dev.fd, bo.handle);
	igt_perfctr_session_fini(&s);
}

/* --- noise ------------------------------------------------------------------ */

/* records since the last call that concern us, at any level */
static unsigned int kernel_log(int kmsg)
{
	char record[8192];
	unsigned int n = 0;
	ssize_t bytes;

	while ((bytes = read(kmsg, record, sizeof(record) - 1)) > 0 || errno == EPIPE) {
		record[bytes > 0 ? bytes : 0] = '\0';
		n += !!strstr(record, "perfctr:") || !!strstr(record, "vsoc") ||
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
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;
		uint64_t words[12];

		igt_perfctr_reopen(&mine, &dev);
		igt_drop_to(IGT_NOBODY, 0);
		for (unsigned int i = 0; i < 20000; i++) {
			struct drm_perfctr_control control = {
				.cmd = i % 7,
				.handle = i,
				.size = 8 * (i % 14),
				.pointer = (uintptr_t)words,
			};
			struct drm_perfctr_query query = { .type = i % 5,
							   .stride = i % 99,
							   .pointer = (uintptr_t)words };

			for (unsigned int w = 0; w < 12; w++)
				words[w] = (i * 2654435761u) >> (w + i % 20);
			igt_perfctr_ioctl(mine.fd, DRM_IOCTL_PERFCTR_CONTROL, &control);
			query.count = i % 2;
			igt_perfctr_ioctl(mine.fd, DRM_IOCTL_PERFCTR_QUERY, &query);
			igt_perfctr_ioctl(mine.fd, DRM_IOCTL_VSOC_SUBMIT, words);
		}
	}
	igt_waitchildren();
	igt_assert_eq(kernel_log(kmsg), 0);
	close(kmsg);
}

/* --- whose it is ------------------------------------------------------------- */

/* what is missing is -1 */
struct fdinfo {
	long long sessions, active, memory_kib, set;
};

static long long find_key(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static struct fdinfo read_fdinfo(int fd)
{
	char path[64], text[1024] = "";
	ssize_t bytes;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY);
	igt_assert_lte(0, info);
	bytes = read(info, text, sizeof(text) - 1);
	close(info);
	igt_assert_lt(0, bytes);
	igt_assert_eq(strstr(text, "perfctr-memory:\t0 KiB\n") != NULL,
		      find_key(text, "perfctr-memory:\t") == 0);
	return (struct fdinfo){
		.sessions = find_key(text, "perfctr-sessions:\t"),
		.active = find_key(text, "perfctr-active:\t"),
		.memory_kib = find_key(text, "perfctr-memory:\t"),
		.set = find_key(text, "perfctr-set:\t"),
	};
}

static void assert_fdinfo(int fd, struct fdinfo expected)
{
	struct fdinfo info = read_fdinfo(fd);

	igt_assert_eq_u64(info.sessions, expected.sessions);
	igt_assert_eq_u64(info.active, expected.active);
	igt_assert_eq_u64(info.memory_kib, expected.memory_kib);
	igt_assert_eq_u64(info.set, expected.set);
}

/* whether root's list has a line of this process with that set, or "-", and "yes" if it is active */
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

static void fdinfo_tells(void)
{
	struct igt_perfctr_device other;
	struct igt_perfctr_session s, busy;
	long long kib;

	igt_perfctr_reopen(&other, &dev);
	assert_fdinfo(dev.fd, (struct fdinfo){ 0, 0, 0, -1 });
	if (dev.info.features & DRM_PERFCTR_FEATURE_PMU) {
		igt_perfctr_session_init_empty(&s, &dev);
		igt_perfctr_add_pmu(&s, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				    DRM_PERFCTR_CPU_ANY);
		igt_perfctr_session_create(&s);
		kib = (s.ring_map + s.control_map) / 1024;
		/* whatever the GPU counts */
		assert_fdinfo(dev.fd, (struct fdinfo){ 1, 0, kib, -1 });
		igt_assert(is_listed("-", "no"));
		igt_perfctr_session_fini(&s);
	}
	igt_perfctr_session_init_set(&s, &dev, DRM_PERFCTR_SET_SECONDARY);
	igt_perfctr_session_create(&s);
	kib = (s.ring_map + s.control_map) / 1024;
	igt_assert_lt(0, kib);
	assert_fdinfo(dev.fd, (struct fdinfo){ 1, 0, kib, DRM_PERFCTR_SET_SECONDARY });
	/* in the way of that file, which has none itself */
	igt_perfctr_session_init(&busy, &other);
	igt_assert_eq(igt_perfctr_session_try(&busy), -EBUSY);
	assert_fdinfo(other.fd, (struct fdinfo){ 0, 0, 0, -1 });
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	assert_fdinfo(dev.fd, (struct fdinfo){ 1, 1, kib, DRM_PERFCTR_SET_SECONDARY });
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	assert_fdinfo(dev.fd, (struct fdinfo){ 1, 0, kib, DRM_PERFCTR_SET_SECONDARY });
	igt_fork(child, 1)
	{
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", getppid(), dev.fd);
		igt_assert_eq(access(path, R_OK), 0);
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(open(path, O_RDONLY), -1);
		igt_assert_eq(errno, EACCES);
	}
	igt_waitchildren();
	igt_perfctr_session_fini(&s);
	assert_fdinfo(dev.fd, (struct fdinfo){ 0, 0, 0, -1 });
	igt_perfctr_close(&other);
}

/* its ring is mapped, and no process has a descriptor of its file */
static void hidden_is_listed(void)
{
	struct igt_perfctr_device mine;
	struct igt_perfctr_session s, busy;

	igt_perfctr_reopen(&mine, &dev);
	igt_perfctr_session_init_set(&s, &mine, DRM_PERFCTR_SET_TERTIARY);
	igt_perfctr_session_create(&s);
	igt_assert(is_listed("2", "no"));
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_perfctr_close(&mine);
	igt_perfctr_session_init(&busy, &dev);
	igt_assert_eq(igt_perfctr_session_try(&busy), -EBUSY);
	igt_assert(is_listed("2", "yes"));
	igt_perfctr_session_unmap(&s);
	igt_assert(!is_listed("2", "yes"));
	igt_perfctr_session_init(&busy, &dev);
	igt_perfctr_session_create(&busy);
	igt_perfctr_session_fini(&busy);
}

int igt_main()
{
	igt_fixture()
	{
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_perfctr_sysctl("paranoid", "0");
		igt_perfctr_default_limits();
	}
	igt_describe(
		"a user has so many sessions on all files together, then -EDQUOT; others have theirs");
	igt_subtest("user-sessions") user_sessions();
	igt_describe("one user cannot take all sessions of a device from everybody else");
	igt_subtest("device-is-left") device_is_left();
	igt_describe("a user pins so much memory by all rings together, then -EDQUOT");
	igt_subtest("user-memory") user_memory();
	igt_describe("a user has so many SoC counters in all sessions together, then -EDQUOT");
	igt_subtest("user-soc-counters") user_soc_counters();
	igt_describe("memory of a ring is charged to the memory cgroup of whoever set it up");
	igt_subtest("charged-to-caller") charged_to_caller();
	igt_describe("whoever owns user namespaces is one user, and so is a container of root's");
	igt_subtest("namespace-one-user") namespace_one_user(false);
	igt_describe("and so are those who make further namespaces in theirs");
	igt_subtest("namespace-nested") namespace_one_user(true);
	igt_describe("sessions and buffers of another file can neither be used nor mapped");
	igt_subtest("others-private") others_are_private();
	igt_describe("fdinfo tells whose sessions are in the way, to who may look at the process");
	igt_subtest("fdinfo") fdinfo_tells();
	igt_describe("a session that only a mapping of its ring keeps is in root's list, too");
	igt_subtest("hidden-session") hidden_is_listed();
	igt_describe("twenty thousand wrong calls put no line into the kernel's log");
	igt_subtest("log-silent") log_is_silent();
	igt_fixture()
	{
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
