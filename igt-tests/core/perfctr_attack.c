// SPDX-License-Identifier: MIT
/**
 * TEST: Jobs get their fences and root its periods while users try to delay them
 * Description: The worst delays beside each attack, printed, and bounds of a busy machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_attack.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define SPAN_NS (1500 * MS)
/* a busy host spoils some attempts, a defect all of them */
#define ATTEMPTS 4
/* of a group: time that it has of each second */
#define GROUP "/sys/fs/cgroup/perfctr-attack/"
#define GROUP_QUOTA "20000 1000000"
/* a task that holds a lock while its group waits for its next second delays by most of it */
#define FENCE_MAX_NS (500 * MS)
/* one that holds a mutex of perf delays readers of perf by its second: perf lends no priority */
#define EVENTS_MAX_NS (1500 * MS)
#define SESSIONS 120
/* epoll items: sets of copies of a descriptor */
#define SETS 40
#define COPIES 50

static struct igt_perfctr_device dev;

/* --- attacks --------------------------------------------------------------- */

static void set_nice(void)
{
	if (setpriority(PRIO_PROCESS, 0, 19))
		_exit(1);
}

static void query_all(const struct igt_perfctr_device *mine)
{
	static char elements[64 * sizeof(struct drm_perfctr_block_info)];

	for (uint32_t type = 0; type <= DRM_PERFCTR_QUERY_CLOCKS; type++) {
		struct drm_perfctr_query q = {
			.type = type,
			.count = 64,
			.stride = sizeof(struct drm_perfctr_block_info),
			.pointer = (uintptr_t)elements,
		};

		igt_perfctr_query(mine, &q);
	}
}

/* every ioctl in a loop, until killed */
static void call_until_killed(const struct igt_perfctr_device *mine, uint64_t period_ns)
{
	struct igt_perfctr_session s;

	for (;;) {
		igt_perfctr_session_open_with(&s, mine, 4, period_ns);
		for (unsigned int i = 0; i < 8; i++) {
			igt_perfctr_start(&s, 0);
			igt_perfctr_sample(&s, 0);
			igt_perfctr_status(&s);
			query_all(mine);
			igt_perfctr_stop(&s, 0);
			igt_perfctr_free_slots(&s, igt_perfctr_published(&s));
		}
		igt_perfctr_session_close(&s);
	}
}

static void call_niced(unsigned int number)
{
	struct igt_perfctr_device mine;

	igt_attack_drop(&mine, &dev, number % 2);
	set_nice();
	igt_attack_ready();
	call_until_killed(&mine, number % 3 ? 0 : 10 * MS);
}

/* in a group that may run for 2 % of the time */
static void call_throttled(unsigned int number)
{
	struct igt_perfctr_device mine;

	igt_assert_eq(igt_write(GROUP "cgroup.procs", "0"), 0);
	igt_attack_drop(&mine, &dev, number % 2);
	igt_attack_ready();
	call_until_killed(&mine, 0);
}

/* the same with 256 perf events: SAMPLEs of a periodic session */
static void read_events_throttled(unsigned int number)
{
	struct igt_perfctr_device mine;
	struct igt_perfctr_session s;
	const int group = open(GROUP "cgroup.procs", O_WRONLY | O_CLOEXEC);

	igt_attack_drop(&mine, &dev, number);
	igt_perfctr_session_init_empty(&s, &mine);
	igt_perfctr_add_ucf_counters(&s, 256);
	s.params.period_ns = 10 * MS;
	igt_perfctr_begin(&s);
	/* only now: opening events takes more time than the group has */
	igt_assert_eq(write(group, "0", 1), 1);
	igt_attack_ready();
	for (;; igt_perfctr_sample(&s, 0))
		igt_perfctr_free_slots(&s, igt_perfctr_published(&s));
}

/* as many sessions as a user gets, of as many different periods */
static void have_sessions(unsigned int number)
{
	struct igt_perfctr_session s[SESSIONS / 8];
	struct igt_perfctr_device mine;
	unsigned int count = 0;

	igt_attack_drop(&mine, &dev, number);
	for (unsigned int i = 0; i < SESSIONS / 8; i++) {
		igt_perfctr_session_init(&s[count], &mine);
		s[count].params.period_ns = 10 * MS + (number * SESSIONS / 8 + i) * 100000;
		if (!igt_perfctr_session_try_open(&s[count]) && !igt_perfctr_start(&s[count], 0))
			count++;
	}
	igt_attack_ready();
	for (;; igt_sleep_ms(5))
		for (unsigned int i = 0; i < count; i++)
			igt_perfctr_free_slots(&s[i], igt_perfctr_published(&s[i]));
}

/* a session whose every sample wakes thousands */
static void have_waiters(unsigned int number)
{
	struct igt_perfctr_device mine;
	struct igt_perfctr_session s;
	int copies[COPIES];

	igt_attack_drop(&mine, &dev, number);
	igt_perfctr_session_init(&s, &mine);
	s.params.period_ns = 10 * MS;
	s.params.eventfd = number % 2 ? eventfd(0, EFD_CLOEXEC) : -1;
	igt_perfctr_session_open(&s);
	for (unsigned int i = 0; i < COPIES; i++)
		copies[i] = dup(number % 2 ? s.params.eventfd : s.fd);
	for (unsigned int n = 0; n < SETS; n++) {
		struct epoll_event item = { .events = EPOLLIN | EPOLLET };
		int set = epoll_create1(EPOLL_CLOEXEC);

		for (unsigned int i = 0; i < COPIES; i++)
			igt_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, copies[i], &item), 0);
	}
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_attack_ready();
	for (;; igt_perfctr_sample(&s, 0))
		igt_perfctr_free_slots(&s, igt_perfctr_published(&s));
}

/* the same number of tasks, which compute */
static void compute(unsigned int number)
{
	struct igt_perfctr_device mine;

	igt_attack_drop(&mine, &dev, number % 2);
	set_nice();
	igt_attack_ready();
	for (;;)
		getppid();
}

/* --- delays ---------------------------------------------------------------- */

/* the worst of a span: a job with four samples, and a period of root's 1 kHz session */
struct delays {
	uint64_t fence_ns, period_ns;
	uint64_t jobs, periods;
};

/* jobs, beside no other session of root whose worker could help */
static void measure_fences(struct delays *d)
{
	const uint64_t end_ns = igt_raw_ns() + SPAN_NS;
	struct igt_perfctr_session s;

	igt_perfctr_begin_with(&s, &dev, 64, 0);
	while (igt_raw_ns() < end_ns) {
		struct drm_vsoc_command c[8] = { 0 };
		uint64_t ns = igt_raw_ns(), job;

		for (unsigned int i = 0; i < 8; i++) {
			c[i].type = DRM_VSOC_CMD_WAIT;
			c[i].wait.duration_ns = MS / 4;
			if (i % 2)
				c[i] = igt_vsoc_sample(&s, 0);
		}
		job = igt_vsoc_submit(&dev, c, 8);
		igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
		ns = igt_raw_ns() - ns;
		d->fence_ns = ns > d->fence_ns ? ns : d->fence_ns;
		d->jobs++;
		igt_perfctr_free_slots(&s, igt_perfctr_published(&s));
	}
	igt_perfctr_session_close(&s);
}

/* of 1 kHz; or of 100 Hz with a perf event, which has its samples from the second worker */
static void measure_periods(struct delays *d, bool with_events)
{
	struct igt_perfctr_session s;
	struct timespec mono;
	uint64_t offset_ns;

	igt_perfctr_session_init(&s, &dev);
	s.params.slots = 4096;
	s.params.period_ns = MS;
	s.params.request_count = 1;
	if (with_events) {
		s.params.period_ns = 10 * MS;
		igt_perfctr_add_pmu(&s, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
				    DRM_PERFCTR_CPU_ANY);
	}
	igt_perfctr_begin(&s);
	usleep(SPAN_NS / 1000);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	/* periods are multiples on CLOCK_MONOTONIC */
	clock_gettime(CLOCK_MONOTONIC, &mono);
	offset_ns = mono.tv_sec * 1000 * MS + mono.tv_nsec - igt_raw_ns();
	for (uint64_t i = 0; i < igt_perfctr_unread(&s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, s.extract + i);
		const uint64_t into_ns = (h->start_ns + offset_ns) % s.params.period_ns;
		uint64_t late_ns = h->end_ns - h->start_ns + into_ns;

		if (!(h->flags & DRM_PERFCTR_SAMPLE_PERIODIC) || late_ns < s.params.period_ns)
			continue;
		late_ns -= s.params.period_ns;
		d->period_ns = late_ns > d->period_ns ? late_ns : d->period_ns;
		d->periods++;
	}
	igt_perfctr_drain(&s);
	/* late or not, each period is accounted for */
	igt_assert_lte_u64((s.last.end_ns - s.first.start_ns) / s.params.period_ns,
			   s.periodic + s.merged + 2);
	igt_perfctr_session_close(&s);
}

static struct delays measure(const char *name, unsigned int attackers,
			     void (*attack)(unsigned int number), bool with_events)
{
	struct delays d = { 0 };

	igt_attack_begin(attackers, attack);
	measure_fences(&d);
	measure_periods(&d, with_events);
	igt_attack_end();
	igt_info("%s: worst of %llu fences %llu us, of %llu periods %llu us late\n", name,
		 (unsigned long long)d.jobs, (unsigned long long)d.fence_ns / 1000,
		 (unsigned long long)d.periods, (unsigned long long)d.period_ns / 1000);
	return d;
}

/* the best of some attempts is bounded, and root has its periods */
static void withstands_with(unsigned int attackers, void (*attack)(unsigned int number),
			    bool with_events)
{
	igt_vsoc_require(&dev);
	for (unsigned int i = 0; i < ATTEMPTS; i++) {
		const struct delays without =
			measure("as many that compute", attackers, compute, with_events);
		const struct delays beside =
			measure("beside the attack", attackers, attack, with_events);

		if (beside.fence_ns > without.fence_ns + FENCE_MAX_NS)
			continue;
		if (with_events && beside.periods &&
		    beside.period_ns <= without.period_ns + EVENTS_MAX_NS)
			return;
		if (beside.period_ns <= without.period_ns + FENCE_MAX_NS &&
		    beside.periods * 2 >= without.periods)
			return;
	}
	igt_assert_f(false, "delayed in all of %u attempts\n", ATTEMPTS);
}

static void withstands(unsigned int attackers, void (*attack)(unsigned int number))
{
	withstands_with(attackers, attack, false);
}

static void make_group(const char *controller)
{
	igt_write("/sys/fs/cgroup/cgroup.subtree_control", controller);
	igt_require(!mkdir(GROUP, 0755) || errno == EEXIST);
}

static void withstands_throttled(void (*attack)(unsigned int number), bool with_events)
{
	make_group("+cpu");
	igt_require_f(!igt_write(GROUP "cpu.max", GROUP_QUOTA), "no CPU controller\n");
	withstands_with(3, attack, with_events);
	rmdir(GROUP);
}

static void withstands_throttled_events(void)
{
	const int paranoid = igt_read_int(IGT_PERF_PARANOID);

	igt_require_f(igt_read_int(IGT_UCF_TYPE) > 0, "no PMU nvidia_ucf_pmu_0\n");
	igt_write_int(IGT_PERF_PARANOID, 0);
	withstands_throttled(read_events_throttled, true);
	igt_write_int(IGT_PERF_PARANOID, paranoid);
}

/* --- isolated CPUs --------------------------------------------------------- */

/* the last CPU is the group's; its tasks START and STOP with a period in which a timer is seen */
static void start_on_isolated(unsigned int number)
{
	struct igt_perfctr_session s;

	igt_assert_eq(igt_write(GROUP "cgroup.procs", "0"), 0);
	igt_attack_ready();
	for (;;) {
		igt_perfctr_begin_with(&s, &dev, 64, 50 * MS);
		igt_sleep_ms(30);
		igt_perfctr_finish(&s);
		igt_perfctr_session_close(&s);
	}
}

/* the CPU that a thread used last */
static int cpu_of(int pid)
{
	char path[64];
	int cpu = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	igt_assert(f);
	/* its name has no blank */
	igt_assert_eq(fscanf(f,
			     "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			     "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			     "%*s %*s %*s %*s %*s %d",
			     &cpu),
		      1);
	fclose(f);
	return cpu;
}

/* number of the core's timers that are set on @cpu, and on all */
static void count_timers(int cpu, unsigned int *there, unsigned int *all)
{
	FILE *f = fopen("/proc/timer_list", "re");
	char line[256];
	int on = -1;

	igt_require_f(f, "no /proc/timer_list\n");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "cpu: %d", &on);
		if (!strstr(line, "timer_fired [drm_perfctr]"))
			continue;
		*all += 1;
		*there += on == cpu;
	}
	if (f)
		fclose(f);
}

/* neither the workers nor their timers use an isolated CPU, though START and STOP run on it */
static void spares_isolated(void)
{
	const int last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	unsigned int there = 0, all = 0, worker = 0, readings = 0;
	char text[16];

	igt_require_f(last > 0, "one CPU only\n");
	make_group("+cpuset");
	snprintf(text, sizeof(text), "%d", last);
	igt_require_f(!igt_write(GROUP "cpuset.cpus", text) &&
			      !igt_write(GROUP "cpuset.cpus.partition", "isolated"),
		      "no cpusets\n");
	igt_attack_begin(1, start_on_isolated);
	for (const uint64_t end_ns = igt_raw_ns() + SPAN_NS; igt_raw_ns() < end_ns; readings++) {
		count_timers(last, &there, &all);
		/* a worker that did not run since keeps the CPU that it used before */
		worker += all && cpu_of(igt_worker(&dev, false)) == last;
	}
	igt_attack_end();
	igt_write(GROUP "cpuset.cpus.partition", "member");
	rmdir(GROUP);
	igt_info("%u readings: a timer was set in %u, on the isolated CPU in %u; a worker in %u\n",
		 readings, all, there, worker);
	igt_assert_lt(0, all);
	igt_assert_eq(there, 0);
	igt_assert_eq(worker, 0);
}

static unsigned int collections(void)
{
	uint64_t count = 0;

	igt_assert(igt_debugfs_number(&dev, "perfctr_sampler", "collections", &count));
	return count;
}

/*
 * What the SCHED_FIFO worker does for all the sessions that users may have, of all blocks: 2 % of a
 * CPU of 3e9 instructions/s are 60 ms a second if a guest counts 1 ns each.
 */
static void users_share(void)
{
	uint64_t start_ns, worker_ns, times;
	unsigned int count;

	/* skips without schedstat, before the attack begins */
	igt_sampler_ns(&dev, &times);
	igt_attack_begin(8, have_sessions);
	count = collections();
	start_ns = igt_raw_ns();
	worker_ns = igt_sampler_ns(&dev, &times);
	usleep(2000000);
	worker_ns = igt_sampler_ns(&dev, &times) - worker_ns;
	start_ns = igt_raw_ns() - start_ns;
	count = collections() - count;
	igt_attack_end();
	igt_info("%u collections, for which the worker ran %llu of %llu us\n", count,
		 (unsigned long long)worker_ns / 1000, (unsigned long long)start_ns / 1000);
	/* emulated CPUs are slow */
	igt_assert_lte_u64(worker_ns * 100, start_ns * 40);
}

/* --- firmware that does not answer ------------------------------------------ */

/*
 * A reset while users call: it waits for one access to the hardware, though each takes a timeout.
 * The rest are accesses between two readings of the number, which are fast as soon as the driver
 * knows that firmware is dead.
 */
static void silent_reset(void)
{
	unsigned int best = -1;

	igt_vsoc_require(&dev);
	for (unsigned int i = 0; i < ATTEMPTS; i++) {
		struct igt_perfctr_session s;
		unsigned int waits;
		uint64_t ns;

		igt_attack_begin(4, call_niced);
		igt_perfctr_begin_with(&s, &dev, 64, 0);
		igt_vsoc_debugfs(&dev, "fail_no_ack", "1000");
		igt_sleep_ms(100);
		waits = collections();
		ns = igt_raw_ns();
		igt_vsoc_debugfs(&dev, "fail_no_ack", "0");
		igt_vsoc_debugfs(&dev, "reset", "1");
		ns = igt_raw_ns() - ns;
		waits = collections() - waits;
		igt_info("a reset took %llu us and %u collections\n", (unsigned long long)ns / 1000,
			 waits);
		best = waits < best ? waits : best;
		igt_attack_end();
		igt_perfctr_session_close(&s);
	}
	igt_assert_lte(best, 4);
}

/* START returns, and others OPEN meanwhile */
static void silent_start(void)
{
	struct igt_perfctr_session s, other;
	uint64_t ns;

	igt_vsoc_require(&dev);
	igt_attack_begin(4, call_niced);
	igt_vsoc_debugfs(&dev, "fail_no_ack", "1000");
	igt_sleep_ms(300);
	ns = igt_raw_ns();
	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_perfctr_session_open_with(&other, &dev, 4, 0);
	igt_perfctr_start(&s, 0);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&other);
	ns = igt_raw_ns() - ns;
	igt_info("OPEN, START and close took %llu us\n", (unsigned long long)ns / 1000);
	igt_attack_end();
	igt_vsoc_debugfs(&dev, "fail_no_ack", "0");
	igt_assert_lte_u64(ns, 5000 * MS);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		igt_perfctr_sysctl("paranoid", "0");
		igt_perfctr_default_limits();
	}
	igt_describe("loops of every ioctl at nice 19");
	igt_subtest("niced") withstands(6, call_niced);
	igt_describe("the same in a group that may run for 2 % of the time: a task that holds the "
		     "sampler lock when the group's time is used up goes on");
	igt_subtest("throttled") withstands_throttled(call_throttled, false);
	igt_describe(
		"the same with 256 perf events: fences do not wait for perf, and root's session "
		"with an event waits for one second of the group");
	igt_subtest("throttled-events") withstands_throttled_events();
	igt_describe("START and STOP in a loop on an isolated CPU: workers and timers do not go "
		     "there");
	igt_subtest("isolated") spares_isolated();
	igt_describe("eight users who want 120 sessions of different periods");
	igt_subtest("sessions") withstands(8, have_sessions);
	igt_describe("all the sessions that users may have take a small part of the worker's CPU");
	igt_subtest("users-share") users_share();
	igt_describe("sessions of which every sample wakes 2000 epoll items");
	igt_subtest("waiters") withstands(2, have_waiters);
	igt_describe("firmware that does not answer, and a reset beside loops of every ioctl: it "
		     "waits for one access to the hardware");
	igt_subtest("silent-reset") silent_reset();
	igt_describe("firmware that does not answer at START, beside the same");
	igt_subtest("silent-start") silent_start();
	igt_fixture() {
		igt_attack_end();
		if (dev.known)
			igt_vsoc_debugfs(&dev, "fail_no_ack", "0");
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
