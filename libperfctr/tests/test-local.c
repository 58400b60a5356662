// SPDX-License-Identifier: MIT
/*
 * The local device: this machine's perf events, and errors of perf injected through the system call
 * table.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perfctr/capture.h>

#include "host/sessions.h"
#include "fixture.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"
#define PMUS_PATH "/sys/bus/event_source/devices"
#define UNCORE PMUS_PATH "/uncore_x"
#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

enum { PAGES = 200, SLEEPS = 20, MAX_FILES = 64, FAKE_STEP = 10 };

/* the real system calls, except those that a test changes */
static struct seam {
	struct perfctr_sys sys;
	int error; /* error of perf_event_open(), 0: it succeeds */
	bool counts_itself; /* events that exclude the kernel succeed */
	bool wants_kernel; /* -EINVAL for events that exclude the kernel */
	/* if set, events are simulated: each read of one adds FAKE_STEP */
	const char *online;
	const char *mask; /* CPUs of the uncore PMU */
	const char *paranoid; /* NULL: 2 */
	bool old; /* Linux 6.1 */
	struct {
		int fd, leader, cpu;
		bool uncore;
		uint64_t count, opened_ns;
		uint64_t detached_ns; /* 0: it is not */
		bool enabled_again; /* after that; only its time goes on, as in Linux */
	} files[MAX_FILES];
	size_t file_count;
} seam;

static int seam_perf_event_open(void *data, const void *attr, pid_t pid, int cpu, int group_fd,
				unsigned long flags)
{
	if (seam.wants_kernel && ((const struct perf_event_attr *)attr)->exclude_kernel)
		return -EINVAL;
	if (seam.counts_itself && ((const struct perf_event_attr *)attr)->exclude_kernel)
		return seam.sys.memfd(data, "event", 0);
	if (seam.error)
		return seam.error;
	if (!seam.online)
		return perfctr_sys_real.perf_event_open(data, attr, pid, cpu, group_fd, flags);
	if (seam.file_count == MAX_FILES)
		return -EMFILE;
	seam.files[seam.file_count].fd = seam.sys.memfd(data, "event", 0);
	seam.files[seam.file_count].leader = group_fd;
	seam.files[seam.file_count].cpu = cpu;
	seam.files[seam.file_count].opened_ns = perfctr_time_raw_ns();
	seam.files[seam.file_count].detached_ns = 0;
	seam.files[seam.file_count].enabled_again = false;
	seam.files[seam.file_count].uncore = ((const struct perf_event_attr *)attr)->type == 77;
	seam.files[seam.file_count].count = 0;
	return seam.files[seam.file_count++].fd;
}

static int seam_open(void *data, const char *path, int flags)
{
	const char *text = !strcmp(path, ONLINE_PATH)	    ? seam.online :
			   !strcmp(path, PARANOID_PATH)	    ? seam.paranoid ? seam.paranoid : "2" :
			   !strcmp(path, UNCORE "/type")    ? "77" :
			   !strcmp(path, UNCORE "/cpumask") ? seam.mask :
			   !strcmp(path, UNCORE "/events/ev") ? "config=1" :
								NULL;
	int fd;

	if (!strcmp(path, "/proc/1/environ"))
		return -EACCES;
	if (!text)
		return perfctr_sys_real.open(data, path, flags);
	fd = memfd_create("text", 0);
	if (pwrite(fd, text, strlen(text), 0) < 0)
		abort();
	return fd;
}

static ssize_t seam_read(void *data, int fd, void *bytes, size_t size)
{
	uint64_t words[3 + 2 * MAX_FILES] = { 0 };

	for (size_t n = 0; seam.online && n < seam.file_count; n++) {
		bool detached = seam.files[n].detached_ns;

		if (seam.files[n].fd != fd && (detached || seam.files[n].leader != fd))
			continue;
		/* Linux 6.1 answers for the former leader */
		if (detached && seam.old && seam.files[n].leader >= 0)
			return seam_read(data, seam.files[n].leader, bytes, size);
		words[3 + 2 * words[0]] = seam.files[n].count += detached ? 0 : FAKE_STEP;
		words[4 + 2 * words[0]++] = (uint64_t)seam.files[n].fd;
		words[1] = (detached && !seam.files[n].enabled_again ? seam.files[n].detached_ns :
								       perfctr_time_raw_ns()) -
			   seam.files[n].opened_ns;
	}
	if (!words[0])
		return perfctr_sys_real.read(data, fd, bytes, size);
	words[2] = words[1];
	if (size > (3 + 2 * words[0]) * sizeof(*words))
		size = (3 + 2 * words[0]) * sizeof(*words);
	memcpy(bytes, words, size);
	return (ssize_t)size;
}

static int seam_ioctl(void *data, int fd, unsigned long request, void *arg)
{
	for (size_t n = 0; n < seam.file_count; n++)
		if (seam.files[n].fd == fd && request == PERF_EVENT_IOC_ENABLE)
			seam.files[n].enabled_again = seam.files[n].detached_ns;
	return 0;
}

static int seam_close(void *data, int fd)
{
	for (size_t n = 0; n < seam.file_count; n++)
		if (seam.files[n].fd == fd)
			seam.files[n] = seam.files[--seam.file_count];
	return perfctr_sys_real.close(data, fd);
}

/* A CPU goes offline: perf detaches its events for ever and dissolves their groups. */
static void detach(int cpu)
{
	for (size_t n = 0; n < seam.file_count; n++)
		if (seam.files[n].cpu == cpu && !seam.files[n].uncore) {
			seam.files[n].detached_ns = perfctr_time_raw_ns();
			seam.files[n].count += FAKE_STEP;
		}
}

static int no_memfd(void *data, const char *name, size_t size)
{
	return -EMFILE;
}

static int open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int list_pmus(void *data, const char *path, sys_list_fn fn, void *arg)
{
	if (!strcmp(path, UNCORE "/events"))
		return fn(arg, "ev");
	if (strcmp(path, PMUS_PATH))
		return perfctr_sys_real.list(data, path, fn, arg);
	return fn(arg, "software") ?: fn(arg, "uncore_x");
}

static void begin(const char *events)
{
	seam = (struct seam){ .sys = perfctr_sys_real, .mask = "0" };
	seam.sys.perf_event_open = seam_perf_event_open;
	seam.sys.open = seam_open;
	seam.sys.close = seam_close;
	seam.sys.list = list_pmus;
	EQUAL(perfctr_ctx_new_with(&seam.sys, &ctx), 0);
	open_device(PERFCTR_DEVICE_LOCAL);
	CHECK(perfctr_selection_add(selection, events) > 0);
}

static void new_session(uint64_t period_ns, uint32_t slots)
{
	const struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = period_ns,
		.slots = slots,
	};

	EQUAL(perfctr_session_new(selection, &opts, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
}

/* Sums of each block in the unread samples, and the kinds of samples. */
struct seen {
	uint64_t sums[4], merged;
	unsigned int periodic, final, samples;
	uint64_t end_ns;
	uint32_t states;
	uint64_t lost_ns;
};

static void read_samples(struct seen *seen)
{
	struct perfctr_sample sample;
	struct perfctr_block block;

	*seen = (struct seen){ 0 };
	while (perfctr_cursor_next(cursor, &sample) > 0) {
		CHECK(!seen->samples++ || sample.start_ns == seen->end_ns);
		seen->end_ns = sample.end_ns;
		seen->merged += sample.merged_periods;
		seen->lost_ns += sample.lost_ns;
		seen->periodic += !!(sample.flags & DRM_PERFCTR_SAMPLE_PERIODIC);
		seen->final += !!(sample.flags & DRM_PERFCTR_SAMPLE_FINAL);
		for (unsigned int n = 0; perfctr_decode_block(&sample, &block) > 0; n++) {
			seen->sums[n] += perfctr_block_value(&block, 0);
			seen->states |= block.states;
		}
		perfctr_cursor_advance(cursor, 1);
	}
}

/* --- a child that counts itself ---------------------------------------------------- */

static pid_t child;
static int to_child[2], from_child[2];
static const char *program; /* what the child executes at its end, NULL: nothing */

static void child_run(void)
{
	const struct timespec pause = { 0, 1000000 };
	char byte;

	if (read(to_child[0], &byte, 1) != 1)
		_exit(1);
	for (int n = 0; n < SLEEPS; n++) {
		char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < PAGES; i++)
			((volatile char *)pages)[i * 4096] = 1;
		munmap(pages, PAGES * 4096);
		nanosleep(&pause, NULL);
	}
	if (write(from_child[1], "", 1) != 1 || read(to_child[0], &byte, 1) != 1)
		_exit(1);
	if (program)
		execl(program, program, NULL);
	_exit(0);
}

/* Minor faults and context switches of the child, which waits meanwhile. */
static void child_counts(uint64_t counts[2])
{
	char path[64], line[512], state = 0;
	unsigned long value;

	counts[0] = counts[1] = 0;
	while (state != 'S') {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		file = fopen(path, "r");
		if (!file ||
		    fscanf(file, "%*d %*[^)]) %c %*d %*d %*d %*d %*d %*u %lu", &state, &value) != 2)
			abort();
		fclose(file);
		counts[0] = value;
	}
	snprintf(path, sizeof(path), "/proc/%d/status", child);
	for (FILE *file = fopen(path, "r"); file; file = NULL) {
		while (fgets(line, sizeof(line), file))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &value) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &value) == 1)
				counts[1] += value;
		fclose(file);
	}
}

/*
 * Let the child work while a session counts it; the truth is from /proc. Both run on one CPU: a
 * child in state S has left it, and the kernel has counted that switch.
 */
static void count_child(uint64_t truth[2])
{
	uint64_t before[2];
	cpu_set_t all, one;
	char byte;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_getaffinity(0, sizeof(all), &all) || sched_setaffinity(0, sizeof(one), &one) ||
	    pipe2(to_child, O_CLOEXEC) || pipe2(from_child, O_CLOEXEC))
		abort();
	child = fork();
	if (!child)
		child_run();
	EQUAL(perfctr_device_count_task(device, program ? -child : child), 0);
	new_session(1000000, 4);
	child_counts(before);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(write(to_child[1], "", 1), 1);
	EQUAL(read(from_child[0], &byte, 1), 1);
	child_counts(truth);
	truth[0] -= before[0];
	truth[1] -= before[1];
	if (!program)
		EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(write(to_child[1], "", 1), 1);
	waitpid(child, NULL, 0);
	if (program)
		EQUAL(perfctr_session_stop(session, 0), 0);
	sched_setaffinity(0, sizeof(all), &all);
	for (int n = 0; n < 2; n++) {
		close(to_child[n]);
		close(from_child[n]);
	}
}

TEST_WITH(test_need_perf, NULL,
	  "faults and switches of a child are counted exactly, though the ring is full")
{
	struct drm_perfctr_status status;
	struct seen seen;
	uint64_t truth[2];

	begin("software/minor-faults/,software/context-switches/");
	count_child(truth);
	EQUAL(perfctr_session_status(session, &status, sizeof(status)), 0);
	read_samples(&seen);
	CHECK(truth[0] >= PAGES * SLEEPS && truth[1] >= SLEEPS);
	EQUAL(seen.sums[0], truth[0]);
	EQUAL(seen.sums[1], truth[1]);
	/* three periods and STOP fill four slots; each other period is merged */
	EQUAL(seen.samples, 4);
	EQUAL(seen.periodic, 3);
	EQUAL(seen.final, 1);
	CHECK(seen.merged >= SLEEPS - 3);
	EQUAL(status.merged_periods, seen.merged);
	EQUAL(status.pending_merged, 0);
	EQUAL(status.published, 4);
	end();
}

TEST_WITH(test_need_perf, NULL, "a command counts from its exec on, and nothing without one")
{
	static const char *const programs[] = { "/bin/true", "/nonexistent/program" };
	struct seen seen;
	uint64_t before[2];

	for (size_t n = 0; n < ARRAY_SIZE(programs); n++) {
		begin("software/page-faults/");
		program = programs[n];
		count_child(before);
		read_samples(&seen);
		CHECK(n ? !seen.sums[0] : seen.sums[0] && seen.sums[0] < before[0]);
		end();
	}
	program = NULL;
}

TEST_WITH(test_need_perf, NULL, "a process that sleeps counts zero in no time, which is measured")
{
	uint64_t enabled_ns, running_ns;
	struct perfctr_sample sample;
	struct perfctr_block block;

	begin("software/task-clock/");
	if (pipe2(to_child, O_CLOEXEC))
		abort();
	child = fork();
	if (!child)
		_exit(read(to_child[0], &(char){ 0 }, 1) != 1);
	EQUAL(perfctr_device_count_task(device, child), 0);
	new_session(0, 4);
	usleep(50000);
	EQUAL(perfctr_session_start(session, 0), 0);
	usleep(20000);
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	EQUAL(perfctr_decode_block(&sample, &block), 1);
	EQUAL(block.valid_mask, 1);
	EQUAL(perfctr_block_value(&block, 0), 0);
	EQUAL(perfctr_block_read_times(&block, &enabled_ns, &running_ns), 1);
	EQUAL(enabled_ns, 0);
	EQUAL(running_ns, 0);
	perfctr_cursor_advance(cursor, 1);
	EQUAL(write(to_child[1], "", 1), 1);
	waitpid(child, NULL, 0);
	close(to_child[0]);
	close(to_child[1]);
	end();
}

TEST_WITH(test_need_perf, NULL, "each period is a sample or merged into one")
{
	const struct timespec pause = { 0, 50000000 };
	struct seen seen;

	begin("software/task-clock/,software/page-faults/,software/context-switches/");
	new_session(1000000, 256);
	EQUAL(perfctr_session_start(session, 0), 0);
	nanosleep(&pause, NULL);
	EQUAL(perfctr_session_stop(session, 0), 0);
	read_samples(&seen);
	CHECK(seen.periodic + seen.merged >= 50 && seen.periodic > 1);
	CHECK(seen.sums[0] >= 50000000);
	end();
}

TEST_WITH(test_need_perf, NULL, "commands follow the contract of the kernel's")
{
	const struct perfctr_session_opts periodic = { .size = sizeof(periodic),
						       .period_ns = 1000000 };
	struct perfctr_session *other;
	struct seen seen;
	uint64_t signals;

	begin("software/page-faults/");
	new_session(0, 2);
	EQUAL(perfctr_session_sample(session, 1), -ENOTCONN);
	EQUAL(perfctr_session_stop(session, 1), -EALREADY);
	EQUAL(perfctr_session_start(session, 1), 0);
	EQUAL(perfctr_session_start(session, 1), -EALREADY);
	EQUAL(perfctr_session_sample(session, 2), 0);
	EQUAL(perfctr_session_sample(session, 3), -ENOSPC);
	EQUAL(perfctr_session_stop(session, 4), 0);
	EQUAL(perfctr_session_start(session, 1), -ENOSPC);
	EQUAL(read(perfctr_session_eventfd(session), &signals, sizeof(signals)), 8);
	EQUAL(signals, 2);
	read_samples(&seen);
	EQUAL(seen.samples, 2);
	EQUAL(perfctr_session_start(session, 1), 0);
	/* freed while it is active */
	EQUAL(perfctr_session_new(selection, &periodic, &other), 0);
	EQUAL(perfctr_session_start(other, 1), 0);
	perfctr_session_unref(other);
	end();
}

TEST("whom perf keeps from the kernel counts own switches and migrations without it")
{
	begin("software/context-switches/,software/cpu-migrations/");
	EQUAL(perfctr_device_count_task(device, getpid()), 0);
	seam.error = -EACCES;
	seam.counts_itself = true;
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	end();
}

static pid_t busy_child(void)
{
	const pid_t pid = fork();

	while (!pid)
		;
	return pid;
}

/* CPU time of processes, each of which has one thread */
static uint64_t cpu_ns(const pid_t *pids, size_t count)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < count; n++) {
		struct timespec time;
		clockid_t clock;

		EQUAL(clock_getcpuclockid(pids[n], &clock), 0);
		EQUAL(clock_gettime(clock, &time), 0);
		sum += (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	}
	return sum;
}

/* The session's task clock is the CPU time of these, with a tolerance of a tenth. */
static void counts(const pid_t *pids, size_t count)
{
	uint64_t outer_ns, inner_ns;
	struct seen seen;

	new_session(0, 8);
	outer_ns = cpu_ns(pids, count);
	EQUAL(perfctr_session_start(session, 0), 0);
	inner_ns = cpu_ns(pids, count);
	usleep(100000);
	inner_ns = cpu_ns(pids, count) - inner_ns;
	EQUAL(perfctr_session_stop(session, 0), 0);
	outer_ns = cpu_ns(pids, count) - outer_ns;
	read_samples(&seen);
	cursor = perfctr_cursor_unref(cursor);
	session = perfctr_session_unref(session);
	CHECK(inner_ns > 0);
	CHECK(seen.sums[0] * 10 >= inner_ns * 9);
	CHECK(seen.sums[0] * 10 <= outer_ns * 11);
}

static void keep_message(void *data, int level, const char *message)
{
	snprintf(data, 256, "%d %s", level, message);
}

TEST("several processes or threads are counted as one, each once")
{
	pid_t pids[3] = { busy_child(), busy_child() };
	char messages[256];
	siginfo_t info;

	begin("software/task-clock/");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_device_count_processes(device, pids, 0), -EINVAL);
	EQUAL(perfctr_device_count_threads(device, pids, 0), -EINVAL);
	for (pids[2] = -1; pids[2] < 1; pids[2]++) {
		EQUAL(perfctr_device_count_processes(device, pids, 3), -EINVAL);
		EQUAL(perfctr_device_count_threads(device, pids, 3), -EINVAL);
	}
	pids[2] = INT32_MAX;
	EQUAL(perfctr_device_count_processes(device, pids, 3), -ESRCH);
	EQUAL(perfctr_device_count_threads(device, pids, 3), -ESRCH);
	HAS_TEXT(perfctr_ctx_error(ctx), "no process or thread 2147483647");
	pids[2] = pids[0];
	EQUAL(perfctr_device_count_processes(device, pids, 3), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "is there twice");
	EQUAL(perfctr_device_count_processes(device, pids, 2), 0);
	HAS_TEXT(perfctr_device_info(device)->name, "2 processes and their children");
	counts(pids, 2);
	EQUAL(perfctr_device_count_threads(device, pids, 2), 0);
	HAS_TEXT(perfctr_device_info(device)->name, "2 threads");
	counts(pids, 2);
	EQUAL(perfctr_device_count_processes(device, pids, 1), 0);
	counts(pids, 1);
	/* one that ends is no error beside another, also while it is a zombie; a thread is one */
	EQUAL(perfctr_device_count_processes(device, pids, 2), 0);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_WARNING);
	perfctr_ctx_set_log(ctx, keep_message, messages);
	kill(pids[0], SIGKILL);
	EQUAL(waitid(P_PID, (id_t)pids[0], &info, WEXITED | WNOWAIT), 0);
	for (int reaped = 0; reaped < 2; reaped++) {
		messages[0] = '\0';
		counts(pids + 1, 1);
		HAS_TEXT(messages, "has ended: the others are counted");
		if (!reaped) {
			EQUAL(perfctr_device_count_threads(device, pids, 2), 0);
			EQUAL(perfctr_session_new(selection, NULL, &session), -ESRCH);
			EQUAL(perfctr_device_count_processes(device, pids, 1), 0);
			EQUAL(perfctr_session_new(selection, NULL, &session), -ESRCH);
			EQUAL(perfctr_device_count_processes(device, pids, 2), 0);
			EQUAL(waitpid(pids[0], NULL, 0), pids[0]);
		}
	}
	perfctr_ctx_set_log(ctx, NULL, NULL);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_device_count_processes(device, pids, 2), -ESRCH);
	EQUAL(perfctr_device_count_task(device, pids[0]), 0);
	EQUAL(perfctr_session_new(selection, NULL, &session), -ESRCH);
	kill(pids[1], SIGKILL);
	EQUAL(waitpid(pids[1], NULL, 0), pids[1]);
	end();
}

TEST("each error of perf_event_open() comes with advice")
{
	const struct {
		pid_t task;
		int error;
		const char *text;
	} cases[] = {
		{ 0, -EACCES, "kernel.perf_event_paranoid" },
		{ getpid(), -EACCES, "not without the kernel" },
		{ 1, -EACCES, "process 1 belongs to another user" },
		{ 0, -EPERM, "setcap cap_perfmon+ep" },
		{ 0, -ENOENT, "no such event" },
		{ 0, -EMFILE, "ulimit -n" },
		{ 0, -EBUSY, "kernel.nmi_watchdog=0" },
		{ 0, -EOPNOTSUPP, "virtual machines have no hardware counters" },
		{ 0, -ENODEV, "CPU is offline" },
		{ 0, -EINVAL, "does not take these terms" },
		{ 0, -ENOSPC, "No space left" },
		{ 0, -E2BIG, "list too long" },
		{ 0, -ENOSYS, "kernel has no perf events" },
	};
	const struct perfctr_session_opts awake = { .size = sizeof(awake),
						    .flags = DRM_PERFCTR_OPEN_KEEP_AWAKE };
	const struct perfctr_session_opts too_short = { .size = sizeof(too_short),
							.period_ns = 99000,
							.watermark = 8 };

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		begin("software/page-faults/");
		EQUAL(perfctr_device_count_task(device, cases[n].task), 0);
		perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
		seam.error = cases[n].error;
		seam.wants_kernel = cases[n].task == getpid();
		EQUAL(perfctr_session_new(selection, NULL, &session), cases[n].error);
		HAS_TEXT(perfctr_ctx_error(ctx), "perf refuses software/page-faults/: ");
		HAS_TEXT(perfctr_ctx_error(ctx), cases[n].text);
		end();
	}
	begin("software/page-faults/");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	seam.error = -EACCES;
	seam.paranoid = "-1";
	EQUAL(perfctr_session_new(selection, NULL, &session), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "kernel.perf_event_paranoid = -1 allows it");
	end();
	/* 3 is Debian's and Ubuntu's level; to other kernels it is 2 */
	for (int patched = 0; patched < 2; patched++) {
		begin("software/page-faults/");
		perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
		seam.error = -EACCES;
		seam.paranoid = "3";
		seam.counts_itself = !patched;
		EQUAL(perfctr_session_new(selection, NULL, &session), -EACCES);
		HAS_TEXT(perfctr_ctx_error(ctx), patched ? "= 3 lets users count nothing" :
							   "= 3 lets users count their own");
		end();
	}
	begin("software/page-faults/");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_session_new(selection, &awake, &session), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "--keep-awake (KEEP_AWAKE) is of DRM devices");
	end();
	begin("software/page-faults/");
	EQUAL(perfctr_session_new(selection, &too_short, &session), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "the period of 99 us is not within 100 us..");
	end();
}

/* Take a sample in which each software event was counted in so many steps. */
static struct seen sample_of(unsigned int steps)
{
	struct seen seen;

	EQUAL(perfctr_session_sample(session, 0), 0);
	read_samples(&seen);
	EQUAL(seen.sums[0], FAKE_STEP);
	EQUAL(seen.sums[1], steps * FAKE_STEP);
	EQUAL(seen.sums[2], steps * FAKE_STEP);
	return seen;
}

TEST("CPUs that come and go lose no counts")
{
	const struct timespec longer_than_a_look = { 1, 100000000 }, pause = { 0, 30000000 };
	const struct timespec short_pause = { 0, 5000000 };
	uint64_t left_ns, before_ns;
	struct seen seen;

	begin("uncore_x/ev/,software/page-faults/,software/context-switches/");
	seam.sys.read = seam_read;
	seam.sys.ioctl = seam_ioctl;
	seam.online = "0-1";
	seam.mask = "1";
	new_session(0, 8);
	EQUAL(seam.file_count, 5);
	EQUAL(perfctr_session_start(session, 0), 0);
	sample_of(2);
	/* CPU 1 goes offline: the driver moves the uncore event, the others' last counts stay */
	seam.online = seam.mask = "0";
	detach(1);
	nanosleep(&longer_than_a_look, NULL);
	seen = sample_of(2);
	EQUAL(seam.file_count, 3);
	CHECK(seen.states & DRM_PERFCTR_STATE_MIGRATED);
	CHECK(!seen.lost_ns);
	seam.online = "0-1";
	nanosleep(&longer_than_a_look, NULL);
	/* until then nobody counted the new CPU */
	CHECK(sample_of(2).lost_ns);
	EQUAL(seam.file_count, 5);
	/* it comes back before the next sample */
	detach(1);
	nanosleep(&pause, NULL);
	seen = sample_of(2);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	CHECK(seen.lost_ns >= 30000000);
	EQUAL(sample_of(2).lost_ns, 0);
	EQUAL(seam.file_count, 5);
	/* several samples until it is noticed */
	detach(1);
	left_ns = perfctr_time_raw_ns();
	do {
		nanosleep(&short_pause, NULL);
		before_ns = perfctr_time_raw_ns();
		EQUAL(perfctr_session_sample(session, 0), 0);
		read_samples(&seen);
	} while (!seen.lost_ns);
	CHECK(seen.lost_ns >= before_ns - left_ns);
	/* shortly before STOP */
	detach(1);
	nanosleep(&short_pause, NULL);
	EQUAL(perfctr_session_stop(session, 0), 0);
	read_samples(&seen);
	CHECK(seen.lost_ns >= 5000000 && seen.states & DRM_PERFCTR_STATE_LOST);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(perfctr_session_stop(session, 0), 0);
	read_samples(&seen);
	CHECK(!seen.lost_ns);
	/* before the next START: nothing is lost */
	detach(1);
	nanosleep(&pause, NULL);
	EQUAL(perfctr_session_start(session, 0), 0);
	read_samples(&seen);
	EQUAL(sample_of(2).lost_ns, 0);
	nanosleep(&pause, NULL);
	seen = sample_of(2);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
	CHECK(!seen.lost_ns);
	seam.old = true;
	detach(1);
	EQUAL(perfctr_session_sample(session, 0), 0);
	read_samples(&seen);
	EQUAL(seen.sums[1], 2 * FAKE_STEP);
	EQUAL(seen.sums[2], FAKE_STEP);
	CHECK(seen.lost_ns && seen.states & DRM_PERFCTR_STATE_LOST);
	end();
	EQUAL(seam.file_count, 0);
}

/* as the kernel: a later version may give them a meaning */
TEST_WITH(test_need_perf, NULL, "unknown flags and reserved members of a raw session are refused")
{
	struct drm_perfctr_block_request request = {
		.type = DRM_PERFCTR_BLOCK_GENERIC_PMU,
		.flags = DRM_PERFCTR_REQUEST_PMU,
		.mask = 1,
		.cpu = DRM_PERFCTR_CPU_ANY,
		.pmu_type = 1, /* PERF_TYPE_SOFTWARE */
		.config = 2, /* page faults */
	};
	const struct drm_perfctr_open good = {
		.flags = DRM_PERFCTR_OPEN_CHECK,
		.slots = 4,
		.eventfd = -1,
		.requests = (uintptr_t)&request,
		.request_count = 1,
		.request_stride = sizeof(request),
	};
	struct perfctr_session *raw;
	struct drm_perfctr_layout layout;
	struct drm_perfctr_open open;
	struct perfctr_capture_writer *writer;
	struct perfctr_cursor *none;
	struct stat tasks;
	int files, reader;

	begin("software/page-faults/");
	open = good;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), 0);
	CHECK(!raw && layout.slots == 4 && layout.ring_offset && layout.sample_size);
	open.flags |= 1u << 31;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), -EINVAL);
	open = good;
	open.reserved[1] = 1;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), -EINVAL);
	open = good;
	open.layout_size = 8;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), -EINVAL);
	open = good;
	open.request_stride--;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), -EINVAL);
	open = good;
	request.flags |= 1u << 31;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), -EINVAL);
	request.flags = DRM_PERFCTR_REQUEST_PMU;
	open.flags = 0;
	open.period_ns = 1000000;
	seam.sys.memfd = no_memfd;
	files = open_files();
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), -EMFILE);
	EQUAL(open_files(), files);
	seam.sys.memfd = perfctr_sys_real.memfd;
	EQUAL(perfctr_session_new_raw(device, &open, &layout, &raw), 0);
	EQUAL(perfctr_cursor_new(raw, &none), -EINVAL);
	EQUAL(perfctr_capture_writer_new(ctx, -1, &writer), 0);
	EQUAL(perfctr_capture_write_session(writer, raw), -EINVAL);
	perfctr_capture_writer_unref(writer);
	EQUAL(perfctr_session_start(raw, 0), 0);
	reader = perfctr_session_reader(raw);
	CHECK(reader >= 0);
	perfctr_session_unref(raw);
	close(reader);
	EQUAL(open_files(), files);
	end();
	EQUAL(stat("/proc/self/task", &tasks), 0);
	EQUAL(tasks.st_nlink, 3);
}
