// SPDX-License-Identifier: MIT
/*
 * What one user may take of what all share, and what it sees of others.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_rights.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION(
	"A user without rights cannot take what is others', nor see it, nor make a noise");

#define MS 1000000ull
#define SECOND (1000 * MS)
#define PAGE 4096
/* defaults of the sysctls */
#define USER_SESSIONS 128
#define USER_RING_KB "266240"
/* collections of an unprivileged user per shortest period */
#define TICKS 4

/* a host that is busy with other things spoils one measurement, a defect all of them */
#define ATTEMPTS 5
#define ATTACKERS 6

static struct igt_perfctr_device dev;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* --- small sessions, many of them ----------------------------------------- */

static uint32_t buffer(int fd, uint64_t bytes)
{
	struct drm_perfctr_bo_create bo = { .size = bytes };

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_PERFCTR_BO_CREATE, &bo), 0);
	return bo.handle;
}

/* one slot and the control area behind it, in two pages of the ring's buffer; a handle or -errno */
static int small(int fd, uint32_t ring, uint32_t control)
{
	struct drm_perfctr_block_request request = {
		.type = DRM_PERFCTR_BLOCK_CSHW,
		.index = DRM_PERFCTR_INDEX_ALL,
		.flags = DRM_PERFCTR_REQUEST_AVAILABLE,
		.mask = ~0ull,
	};
	struct drm_perfctr_setup setup = {
		.slots = 1,
		.ring_handle = ring,
		.control_handle = control,
		.control_offset = ring == control ? PAGE : 0,
		.eventfd = -1,
		.requests = (uintptr_t)&request,
		.request_count = 1,
		.request_stride = sizeof(request),
	};
	uint32_t handle = 0;
	int ret = igt_perfctr_control(fd, DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup));

	return ret ? ret : (int)handle;
}

/* as many as there may be on that file; the errno that ended it in *@error */
static unsigned int fill(int fd, uint32_t bo, int *error)
{
	unsigned int count = 0;

	while ((*error = small(fd, bo, bo)) > 0)
		count++;
	return count;
}

static int command(int fd, uint32_t cmd, uint32_t handle)
{
	uint64_t user_data = 0;

	return igt_perfctr_control(fd, cmd, &handle, &user_data, sizeof(user_data));
}

static void teardown(int fd, uint32_t handle)
{
	igt_assert_eq(igt_perfctr_control(fd, DRM_PERFCTR_CMD_TEARDOWN, &handle, NULL, 0), 0);
}

/* --- sessions and memory --------------------------------------------------- */

static void default_limits(void)
{
	igt_perfctr_sysctl("max_sample_rate_hz", "1000");
	igt_perfctr_sysctl("max_user_sessions", "128");
	igt_perfctr_sysctl("max_user_ring_kb", USER_RING_KB);
}

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
		bo_a = buffer(a.fd, 2 * PAGE);
		bo_b = buffer(b.fd, 2 * PAGE);
		igt_drop_to(IGT_NOBODY - child, 0);
		if (child)
			igt_assert_eq(read(taken[0], &byte, 1), 1);
		handle = small(a.fd, bo_a, bo_a);
		igt_assert_lt(0, handle);
		igt_assert_eq(fill(a.fd, bo_a, &error), 19);
		igt_assert_eq(error, -EDQUOT);
		/* on another file, too */
		igt_assert_eq(small(b.fd, bo_b, bo_b), -EDQUOT);
		teardown(a.fd, handle);
		igt_assert_lt(0, small(b.fd, bo_b, bo_b));
		igt_assert_eq(small(a.fd, bo_a, bo_a), -EDQUOT);
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
		bo = buffer(mine.fd, 2 * PAGE);
		igt_assert_eq_u32(fill(mine.fd, bo, &error), mine.info.max_sessions_per_file);
		igt_assert_eq(error, -EMFILE);
		igt_perfctr_close(&mine);
	}
	default_limits();
}

static void device_is_left(void)
{
	int ready[2], done[2];
	char byte = 0;

	default_limits();
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
			bo[i] = buffer(files[i].fd, 2 * PAGE);
		}
		igt_drop_to(IGT_NOBODY, 0);
		for (unsigned int i = 0; i < 10; i++)
			count += fill(files[i].fd, bo[i], &error);
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
		uint32_t large, larger, tiny;
		int handle;

		igt_perfctr_reopen(&mine, &dev);
		large = buffer(mine.fd, 600 << 10);
		larger = buffer(mine.fd, 1025 << 10);
		tiny = buffer(mine.fd, PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(small(mine.fd, larger, larger), -EDQUOT);
		/* whole buffers count, not the part that is used */
		handle = small(mine.fd, large, large);
		igt_assert_lt(0, handle);
		igt_assert_eq(small(mine.fd, large, tiny), -EDQUOT);
		teardown(mine.fd, handle);
		igt_assert_lt(0, small(mine.fd, large, tiny));
	}
	igt_waitchildren();
	default_limits();
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
		requests[i].type = DRM_PERFCTR_BLOCK_UCF;
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
		bo_a = buffer(a.fd, 32 * PAGE);
		bo_b = buffer(b.fd, 32 * PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		first = soc_session(a.fd, bo_a, type, 16);
		igt_assert_lt(0, first);
		igt_assert_lt(0, soc_session(b.fd, bo_b, type, 16));
		igt_assert_eq(soc_session(b.fd, bo_b, type, 1), -EDQUOT);
		/* the events of a call that creates nothing count as long as it takes */
		igt_assert_eq(soc_session(b.fd, 0, type, 1), -EDQUOT);
		teardown(a.fd, first);
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
		ring = buffer(mine.fd, bytes);
		handle = small(mine.fd, ring, ring);
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

/* --- rate ------------------------------------------------------------------- */

#define MIN_DEMANDS 6

/* SAMPLE, and START where it must be, as fast as it goes; counts what demanded a collection */
static unsigned int hammer(int fd, uint32_t handle, uint64_t end_ns)
{
	unsigned int count = 0;

	/* a busy machine takes longer for what tells a limit from a refusal */
	while (now_ns() < end_ns || count < MIN_DEMANDS) {
		/* a ring of one slot has no room but for STOP */
		if (!command(fd, DRM_PERFCTR_CMD_START, handle))
			count++;
		if (command(fd, DRM_PERFCTR_CMD_SAMPLE, handle) == -ENOSPC)
			count++;
	}
	return count;
}

struct hammer {
	int fd;
	uint32_t handle;
	uint64_t end_ns;
	unsigned int count;
};

static void *hammer_thread(void *data)
{
	struct hammer *h = data;

	h->count = hammer(h->fd, h->handle, h->end_ns);
	return NULL;
}

static void user_rate(void)
{
	const int children = 2, threads = 2;
	const uint64_t span_ns = 500 * MS;
	unsigned int *total =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t start_ns = now_ns(), most;

	igt_assert(total != MAP_FAILED);
	/* slow enough to be noticed on any machine */
	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, children)
	{
		struct hammer h[threads];
		pthread_t id[threads];

		for (int i = 0; i < threads; i++) {
			struct igt_perfctr_device mine;
			uint32_t bo;

			igt_perfctr_reopen(&mine, &dev);
			bo = buffer(mine.fd, 2 * PAGE);
			h[i] = (struct hammer){ mine.fd, bo, 0, 0 };
		}
		igt_drop_to(IGT_NOBODY, 0);
		for (int i = 0; i < threads; i++) {
			int handle = small(h[i].fd, h[i].handle, h[i].handle);

			igt_assert_lt(0, handle);
			h[i].handle = handle;
			h[i].end_ns = now_ns() + span_ns;
			igt_assert_eq(pthread_create(&id[i], NULL, hammer_thread, &h[i]), 0);
		}
		for (int i = 0; i < threads; i++) {
			pthread_join(id[i], NULL);
			__atomic_fetch_add(total, h[i].count, __ATOMIC_RELAXED);
		}
	}
	igt_waitchildren();
	most = (now_ns() - start_ns) * 50 * TICKS / SECOND + children * threads;
	default_limits();
	igt_info("%u collections demanded in %llu ms, at most %llu may be\n", *total,
		 (unsigned long long)(now_ns() - start_ns) / MS, (unsigned long long)most);
	igt_assert_lte_u64(*total, most);
	/* it is a limit, not a refusal */
	igt_assert_lte(children * threads * MIN_DEMANDS, (int)*total);
	munmap(total, PAGE);
}

/* what a session that does not last leaves of the limit: its process's turn, on a file of its own */
static unsigned int come_and_go(int fd, uint32_t bo, uint64_t end_ns)
{
	unsigned int count = 0;

	while (now_ns() < end_ns || count < MIN_DEMANDS) {
		int handle = small(fd, bo, bo);

		igt_assert_lt(0, handle);
		if (!command(fd, DRM_PERFCTR_CMD_START, handle))
			count++;
		/* TEARDOWN ends active sessions, too */
		if (count % 2)
			igt_assert_eq(command(fd, DRM_PERFCTR_CMD_STOP, handle), 0);
		teardown(fd, handle);
	}
	return count;
}

/* a session, a sample and nothing left, then the same in a process that is born later */
static void user_rate_teardown(void)
{
	const unsigned int processes = 4;
	uint64_t start_ns = now_ns(), least_ns;

	/* longer than a process needs on any machine that is not busy */
	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	for (unsigned int i = 0; i < processes; i++) {
		igt_fork(child, 1)
		{
			struct igt_perfctr_device mine;
			uint32_t bo;
			int handle;

			igt_perfctr_reopen(&mine, &dev);
			bo = buffer(mine.fd, 2 * PAGE);
			igt_drop_to(IGT_NOBODY, 0);
			handle = small(mine.fd, bo, bo);
			igt_assert_lt(0, handle);
			igt_assert_eq(command(mine.fd, DRM_PERFCTR_CMD_START, handle), 0);
		}
		igt_waitchildren();
	}
	least_ns = (processes - 1) * SECOND / TICKS;
	igt_info("%u processes, one START each: %llu ms, at least %llu\n", processes,
		 (unsigned long long)(now_ns() - start_ns) / MS, (unsigned long long)least_ns / MS);
	igt_assert_lte_u64(least_ns, now_ns() - start_ns);

	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;
		unsigned int count;
		uint64_t most;
		uint32_t bo;

		igt_perfctr_reopen(&mine, &dev);
		bo = buffer(mine.fd, 2 * PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		start_ns = now_ns();
		count = come_and_go(mine.fd, bo, start_ns + 500 * MS);
		most = (now_ns() - start_ns) * 50 * TICKS / SECOND + 1;
		igt_info("%u sessions started in %llu ms, at most %llu may be\n", count,
			 (unsigned long long)(now_ns() - start_ns) / MS, (unsigned long long)most);
		igt_assert_lte_u64(count, most);
	}
	igt_waitchildren();
	default_limits();
}

/* a SAMPLE in a job is a demand like any other: its turn comes before the job is queued */
static void user_rate_jobs(void)
{
	const unsigned int samples = 8, jobs = 3;

	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, 1)
	{
		struct drm_vsoc_command commands[8] = { 0 };
		struct igt_perfctr_device mine;
		uint64_t start_ns, least_ns;
		uint32_t bo;
		int handle;

		igt_perfctr_reopen(&mine, &dev);
		bo = buffer(mine.fd, 2 * PAGE);
		handle = small(mine.fd, bo, bo);
		igt_assert_lt(0, handle);
		for (unsigned int i = 0; i < samples; i++) {
			commands[i].type = DRM_VSOC_CMD_SAMPLE;
			commands[i].sample.handle = handle;
		}
		/* root's session may */
		igt_vsoc_wait(&mine, igt_vsoc_submit(&mine, commands, samples));
		teardown(mine.fd, handle);

		igt_drop_to(IGT_NOBODY, 0);
		handle = small(mine.fd, bo, bo);
		igt_assert_lt(0, handle);
		for (unsigned int i = 0; i < samples; i++)
			commands[i].sample.handle = handle;
		start_ns = now_ns();
		for (unsigned int i = 0; i < jobs; i++)
			igt_vsoc_submit(&mine, commands, samples);
		/* the first turn is at once */
		least_ns = (jobs * samples - 1) * SECOND / (50 * TICKS);
		igt_info("%u samples in jobs submitted in %llu ms, at least %llu\n", jobs * samples,
			 (unsigned long long)(now_ns() - start_ns) / MS,
			 (unsigned long long)least_ns / MS);
		igt_assert_lte_u64(least_ns, now_ns() - start_ns);
	}
	igt_waitchildren();
	default_limits();
}

static void on_alarm(int signo)
{
}

static void rate_interrupted(void)
{
	/* a quarter of a second between two samples */
	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	igt_fork(child, 1)
	{
		const struct itimerval soon = { .it_interval.tv_usec = 30000,
						.it_value.tv_usec = 30000 };
		const struct itimerval never = { 0 };
		struct sigaction action = { .sa_handler = on_alarm };
		uint64_t start_ns, stop_ns = UINT64_MAX;
		struct igt_perfctr_device mine;
		bool interrupted = false;
		uint32_t bo;
		int handle;

		igt_perfctr_reopen(&mine, &dev);
		bo = buffer(mine.fd, 2 * PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		handle = small(mine.fd, bo, bo);
		sigaction(SIGALRM, &action, NULL);
		/* on a machine that stands still in between it is the next one's turn at once */
		for (unsigned int i = 0; i < ATTEMPTS && !interrupted; i++) {
			int ret;

			igt_assert_eq(command(mine.fd, DRM_PERFCTR_CMD_START, handle), 0);
			start_ns = now_ns();
			igt_assert_eq(command(mine.fd, DRM_PERFCTR_CMD_STOP, handle), 0);
			if (now_ns() - start_ns < stop_ns)
				stop_ns = now_ns() - start_ns;
			setitimer(ITIMER_REAL, &soon, NULL);
			ret = command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle);
			setitimer(ITIMER_REAL, &never, NULL);
			igt_assert(ret == -EINTR || ret == -ENOTCONN);
			interrupted = ret == -EINTR;
			/* one slot, and STOP's sample is in it */
			teardown(mine.fd, handle);
			handle = small(mine.fd, bo, bo);
		}
		igt_assert(interrupted);
		/* STOP does not wait */
		igt_assert_lt(stop_ns / MS, 200);
		/* the turn was not lost */
		start_ns = now_ns();
		igt_assert_eq(command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle), -ENOTCONN);
		igt_assert_lt((now_ns() - start_ns) / MS, 5000);
	}
	igt_waitchildren();
	default_limits();
}

/* a job waits for the turns of its samples before it is queued, and a signal ends that */
static void submit_interrupted(void)
{
	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	igt_fork(child, 1)
	{
		const struct itimerval often = { .it_interval.tv_usec = 30000,
						 .it_value.tv_usec = 30000 };
		const struct itimerval never = { 0 };
		struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
		struct drm_vsoc_command commands[64] = { 0 };
		struct drm_vsoc_command draw[3];
		struct igt_perfctr_device mine;
		uint64_t job;
		uint32_t bo;
		int handle;

		igt_perfctr_reopen(&mine, &dev);
		bo = buffer(mine.fd, 2 * PAGE);
		igt_drop_to(IGT_NOBODY, 0);
		handle = small(mine.fd, bo, bo);
		igt_assert_lt(0, handle);
		for (unsigned int i = 0; i < 64; i++) {
			commands[i].type = DRM_VSOC_CMD_SAMPLE;
			commands[i].sample.handle = handle;
		}
		igt_vsoc_mixed(draw, 1);
		job = igt_vsoc_submit(&mine, draw, 3);
		sigaction(SIGALRM, &action, NULL);
		/* 16 s without a signal */
		setitimer(ITIMER_REAL, &often, NULL);
		igt_assert_eq(igt_vsoc_submit_to(mine.fd, DRM_VSOC_CTX_DEFAULT, commands, 64, NULL,
						 NULL),
			      -EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		/* nothing was queued, and nothing holds the session */
		igt_assert_eq_u64(igt_vsoc_submit(&mine, draw, 3), job + 1);
		igt_vsoc_wait(&mine, job + 1);
		teardown(mine.fd, handle);
	}
	igt_waitchildren();
	default_limits();
}

/* --- user namespaces -------------------------------------------------------- */

/* of the owners of namespaces: nobody has these subordinate uids, root those */
#define UIDS_OF_NOBODY 100000
#define UIDS_OF_ROOT 200000

/* in a new user namespace, with uids from @first on, as the one that is @uid there */
static void enter_namespace(unsigned int first, unsigned int uid)
{
	int ready[2], mapped[2];
	char byte = 0, path[40], map[40];
	pid_t self = getpid(), helper;

	igt_assert_eq(pipe(ready), 0);
	igt_assert_eq(pipe(mapped), 0);
	/* what newuidmap is for: it keeps the rights that we shall lose */
	helper = fork();
	igt_assert_lte(0, helper);
	if (!helper) {
		snprintf(path, sizeof(path), "/proc/%d/uid_map", self);
		snprintf(map, sizeof(map), "0 %u 1000", first);
		_exit(read(ready[0], &byte, 1) != 1 || igt_write(path, map) ||
		      write(mapped[1], &byte, 1) != 1);
	}
	close(mapped[1]);
	igt_drop_to(first < UIDS_OF_ROOT ? IGT_NOBODY : 0, 0);
	igt_assert_eq(unshare(CLONE_NEWUSER), 0);
	igt_assert_eq(write(ready[1], &byte, 1), 1);
	igt_assert_eq(read(mapped[0], &byte, 1), 1);
	igt_assert_eq(waitpid(helper, NULL, 0), helper);
	igt_assert_eq(setresuid(uid, uid, uid), 0);
}

/* the first of three processes takes all sessions that there are for the three */
static void namespaces_of(unsigned int first)
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
		bo = buffer(mine.fd, 2 * PAGE);
		if (child)
			igt_assert_eq(read(taken[0], &byte, 1), 1);
		enter_namespace(uids, 7 + child);
		igt_assert_eq(fill(mine.fd, bo, &error), child ? 0 : 20);
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

static void namespace_one_user(void)
{
	igt_require_f(!access("/proc/self/ns/user", F_OK), "no user namespaces\n");
	igt_perfctr_sysctl("max_user_sessions", "20");
	namespaces_of(UIDS_OF_NOBODY);
	namespaces_of(UIDS_OF_ROOT);
	default_limits();
}

/* --- others ----------------------------------------------------------------- */

/* everything that a user can do to keep the device busy, until killed */
static void be_malicious(unsigned int seed)
{
	struct igt_perfctr_device mine;
	struct drm_vsoc_command commands[3];
	struct drm_vsoc_submit submit = {
		.commands = (uintptr_t)commands,
		.command_count = 3,
		.command_stride = sizeof(commands[0]),
	};
	uint32_t bo;
	int handle;

	igt_perfctr_reopen(&mine, &dev);
	bo = buffer(mine.fd, 2 * PAGE);
	igt_drop_to(IGT_NOBODY - seed % 2, 0);
	igt_vsoc_mixed(commands, seed);
	for (;;) {
		struct drm_perfctr_status status;
		uint32_t h;

		handle = small(mine.fd, bo, bo);
		h = handle;
		command(mine.fd, DRM_PERFCTR_CMD_START, handle);
		for (unsigned int i = 0; i < 20; i++) {
			command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle);
			igt_perfctr_control(mine.fd, DRM_PERFCTR_CMD_STATUS, &h, &status,
					    sizeof(status));
			igt_perfctr_ioctl(mine.fd, DRM_IOCTL_VSOC_SUBMIT, &submit);
		}
		command(mine.fd, DRM_PERFCTR_CMD_STOP, handle);
		teardown(mine.fd, handle);
	}
}

/* the same with sessions that do not last, and a user for each attacker, until killed */
static void come_and_go_for_ever(unsigned int seed)
{
	struct igt_perfctr_device mine;
	uint32_t bo;

	igt_perfctr_reopen(&mine, &dev);
	bo = buffer(mine.fd, 2 * PAGE);
	igt_drop_to(IGT_NOBODY - seed, 0);
	come_and_go(mine.fd, bo, UINT64_MAX);
}

/* kernels with checkers are many times slower, and attackers run with them, too */
static bool sanitized(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK) ||
	       !access("/sys/kernel/debug/kcsan", F_OK);
}

/* how a session of root fares beside so many attackers */
struct fared {
	uint64_t periodic, due, worst_ns;
};

static struct fared fare(unsigned int attackers, void (*attack)(unsigned int seed))
{
	const uint64_t span_ns = 1500 * MS, period_ns = 10 * MS;
	struct igt_perfctr_session s;
	struct drm_perfctr_status status;
	struct fared fared = { 0 };
	uint64_t end_ns;
	pid_t pids[ATTACKERS];

	for (unsigned int i = 0; i < attackers; i++) {
		pids[i] = fork();
		igt_assert(pids[i] >= 0);
		if (!pids[i])
			attack(i);
	}
	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = 1024;
	s.setup.period_ns = period_ns;
	igt_perfctr_session_create(&s);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	end_ns = now_ns() + span_ns;
	while (now_ns() < end_ns) {
		uint64_t before_ns = now_ns(), took_ns;

		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		took_ns = now_ns() - before_ns;
		if (took_ns > fared.worst_ns)
			fared.worst_ns = took_ns;
		igt_perfctr_drain(&s);
		usleep(20000);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	for (unsigned int i = 0; i < attackers; i++) {
		kill(pids[i], SIGKILL);
		igt_assert_eq(waitpid(pids[i], NULL, 0), pids[i]);
	}
	igt_perfctr_drain(&s);
	status = igt_perfctr_status(&s);
	fared.periodic = s.periodic;
	fared.due = (s.last.end_ns - s.first.start_ns) / period_ns;
	igt_info("%u attackers: %llu of %llu periods on time, slowest SAMPLE took %llu us\n",
		 attackers, (unsigned long long)s.periodic, (unsigned long long)fared.due,
		 (unsigned long long)fared.worst_ns / 1000);
	/* late or not, each period is accounted for */
	igt_assert_lte_u64(fared.due, s.periodic + status.merged_periods + 2);
	igt_assert_lte_u64(status.errors, 0);
	igt_perfctr_session_fini(&s);
	return fared;
}

/*
 * Half of the periods that the machine manages without attackers, at least: they share its few
 * CPUs with the hardware model, and it may be busy with other things for one of the attempts.
 * Nine tenths are usual on two emulated CPUs, three tenths if nobody held the attackers back.
 */
static void nobody_starves(void (*attack)(unsigned int seed))
{
	for (unsigned int i = 0;; i++) {
		struct fared alone = fare(0, NULL), beside = fare(ATTACKERS, attack);

		if (alone.periodic * beside.due <=
			    (sanitized() ? 20 : 2) * beside.periodic * alone.due &&
		    beside.worst_ns <= (sanitized() ? 5 : 1) * SECOND + 10 * alone.worst_ns)
			return;
		igt_assert_lt(i, ATTEMPTS);
	}
}

/*
 * Root's limit holds whatever the sessions' lives are: so slow that attackers who keep it leave
 * the CPUs alone. At the default limit this loop of six users takes from a session on two emulated
 * CPUs what six users that only compute take, docs/security.md.
 */
static void nobody_starves_teardown(void)
{
	igt_perfctr_sysctl("max_sample_rate_hz", "5");
	nobody_starves(come_and_go_for_ever);
	default_limits();
}

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

			igt_assert_eq(command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle), -ENOENT);
			igt_assert_eq(igt_perfctr_control(mine.fd, DRM_PERFCTR_CMD_STATUS, &h,
							  &status, sizeof(status)),
				      -ENOENT);
			igt_assert_eq(small(mine.fd, handle, handle), -ENOENT);
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

int igt_main()
{
	igt_fixture()
	{
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_perfctr_sysctl("paranoid", "0");
		default_limits();
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
	igt_describe("START and SAMPLE of all of a user's processes keep their distance");
	igt_subtest("user-rate") user_rate();
	igt_describe("samples in jobs keep the same distance, before the job is queued");
	igt_subtest("user-rate-jobs") user_rate_jobs();
	igt_describe("and so do those of sessions, files and processes that do not last");
	igt_subtest("user-rate-teardown") user_rate_teardown();
	igt_describe("who waits for its turn can be interrupted, and STOP never waits for it");
	igt_subtest("rate-interrupted") rate_interrupted();
	igt_describe("a job that waits for the turns of its samples can be interrupted: -EINTR");
	igt_subtest("submit-interrupted") submit_interrupted();
	igt_describe("whoever owns user namespaces is one user, and so is a container of root's");
	igt_subtest("namespace-one-user") namespace_one_user();
	igt_describe("six attackers of two users take neither time nor periods from a session");
	igt_subtest("nobody-starves") nobody_starves(be_malicious);
	igt_describe("nor do six users whose sessions last for one START, at a rate that root set");
	igt_subtest("nobody-starves-teardown") nobody_starves_teardown();
	igt_describe("sessions and buffers of another file can neither be used nor mapped");
	igt_subtest("others-private") others_are_private();
	igt_describe("twenty thousand wrong calls put no line into the kernel's log");
	igt_subtest("log-silent") log_is_silent();
	igt_fixture()
	{
		igt_perfctr_sysctl("paranoid", "1");
		default_limits();
		igt_perfctr_close(&dev);
	}
}
