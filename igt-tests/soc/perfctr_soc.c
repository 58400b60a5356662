// SPDX-License-Identifier: MIT
/**
 * TEST: SoC blocks count what their PMU counts during CPU hotplug
 * Description: Blocks that perf PMUs count, alone and together with the GPU's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define GLOBAL DRM_PERFCTR_CPU_ANY

static struct igt_perfctr_device dev;
static struct igt_truth before;
/* an event that only this test causes: a system call, or hits of the test PMU */
static struct {
	uint32_t type;
	uint64_t config;
	const char *pmu;
	int hit_fd;
} exact = { .hit_fd = -1 };

/* long enough for perf's and the core's times to agree to 10 % on a busy host */
#define SPAN_MS 250

#define TEST_PMU "/sys/module/perfctr_test_pmu/parameters/"

static uint32_t test_type;

static void test_pmu_load(void)
{
	test_type = igt_test_pmu();
}

/* the tracepoint of a system call, else the test PMU */
static void choose_exact(void)
{
	const int id = igt_read_int("/sys/kernel/tracing/events/syscalls/"
				    "sys_enter_sched_get_priority_max/id");

	exact.type = PERF_TYPE_TRACEPOINT;
	exact.config = id;
	exact.pmu = "tracepoint";
	if (id > 0)
		return;
	test_pmu_load();
	exact.type = test_type;
	exact.config = 1;
	exact.pmu = "perfctr_test";
	exact.hit_fd = open(TEST_PMU "hit", O_WRONLY | O_CLOEXEC);
	igt_assert(exact.hit_fd >= 0);
}

static void calls(unsigned int n)
{
	while (n--) {
		if (exact.hit_fd >= 0)
			igt_assert_eq(pwrite(exact.hit_fd, "1", 1, 0), 1);
		else
			syscall(SYS_sched_get_priority_max, SCHED_RR);
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= 0) {
		CPU_SET(cpu, &set);
	} else {
		for (int i = 0; i < CPU_SETSIZE; i++)
			CPU_SET(i, &set);
	}
	igt_assert_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void cpu_online(int cpu, bool online)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	igt_require_f(fd >= 0, "CPU %d cannot be taken offline\n", cpu);
	igt_assert_eq(write(fd, online ? "1" : "0", 1), 1);
	close(fd);
	/* the core reacts in its own thread */
	igt_sleep_ms(100);
}

static void trace_session(struct igt_perfctr_session *s, int cpu)
{
	igt_perfctr_session_init_empty(s, &dev);
	igt_perfctr_add_pmu(s, 7, exact.type, exact.config, cpu);
	igt_perfctr_session_open(s);
}

static const struct drm_perfctr_block_header *
first_pmu_block(const struct drm_perfctr_sample_header *h)
{
	return (const void *)((const char *)h + h->header_size);
}

static uint64_t counted(const struct igt_perfctr_session *s, uint16_t index)
{
	return igt_perfctr_sum(s, DRM_PERFCTR_BLOCK_GENERIC_PMU, index, 0);
}

static int try_pmu(uint32_t type, uint64_t config, int cpu)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init_empty(&s, &dev);
	igt_perfctr_add_pmu(&s, 0, type, config, cpu);
	return igt_perfctr_session_probe(&s);
}

static void tracepoint_exact(void)
{
	struct igt_perfctr_session s;

	trace_session(&s, GLOBAL);
	calls(17);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	calls(1000);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_assert_eq_u64(counted(&s, 7), 1000);
	calls(234);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	calls(55);
	igt_perfctr_drain(&s);
	igt_assert_eq_u64(counted(&s, 7), 1234);
	/* a second START does not count the events in between */
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	calls(10);
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(counted(&s, 7), 1244);
	igt_perfctr_session_close(&s);
}

static void tracepoint_periodic(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init_empty(&s, &dev);
	s.params.slots = 4;
	s.params.period_ns = MS;
	igt_perfctr_add_pmu(&s, 7, exact.type, exact.config, GLOBAL);
	igt_perfctr_begin(&s);
	for (unsigned int i = 0; i < 20; i++) {
		calls(50);
		igt_sleep_ms(1);
	}
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(counted(&s, 7), 1000);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
	igt_perfctr_session_close(&s);
}

static void per_cpu(void)
{
	const struct drm_perfctr_block_header *b;
	struct igt_perfctr_session s;

	igt_perfctr_session_init_empty(&s, &dev);
	igt_perfctr_add_pmu(&s, 0, exact.type, exact.config, 0);
	igt_perfctr_add_pmu(&s, 1, exact.type, exact.config, 1);
	igt_perfctr_begin(&s);
	pin(0);
	calls(30);
	pin(1);
	calls(400);
	pin(-1);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	b = first_pmu_block(igt_perfctr_slot(&s, 0));
	igt_assert_eq(igt_perfctr_identity(b)->cpu, 0);
	b = (const void *)((const char *)b + b->size);
	igt_assert_eq(igt_perfctr_identity(b)->cpu, 1);
	igt_assert_eq_u32(igt_perfctr_identity(b)->pmu_type, exact.type);
	igt_assert_eq_u64(igt_perfctr_identity(b)->config, exact.config);
	igt_assert(!strcmp(igt_perfctr_identity(b)->pmu_name, exact.pmu));
	igt_perfctr_drain(&s);
	igt_assert_eq_u64(counted(&s, 0), 30);
	igt_assert_eq_u64(counted(&s, 1), 400);
	igt_perfctr_session_close(&s);
}

static void times(void)
{
	struct igt_perfctr_session s;
	uint64_t least, most;

	igt_perfctr_session_init_empty(&s, &dev);
	igt_perfctr_add_pmu(&s, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0);
	/* START and STOP themselves may take long on a busy machine */
	most = igt_raw_ns();
	igt_perfctr_begin(&s);
	least = igt_raw_ns();
	igt_sleep_ms(SPAN_MS);
	least = igt_raw_ns() - least;
	igt_perfctr_finish(&s);
	most = igt_raw_ns() - most;
	igt_assert_eq_u64(s.sums[0].time_enabled, s.sums[0].time_running);
	igt_assert_lte_u64(least * 9 / 10, s.sums[0].time_enabled);
	igt_assert_lte_u64(s.sums[0].time_enabled, most * 11 / 10);
	igt_assert_lte_u64(least * 9 / 10, counted(&s, 0));
	igt_assert(!(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED));
	igt_perfctr_session_close(&s);
}

static void measured_zero(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init_empty(&s, &dev);
	igt_perfctr_add_pmu(&s, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, GLOBAL);
	igt_perfctr_begin(&s);
	igt_sleep_ms(5);
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(counted(&s, 0), 0);
	igt_assert_eq_u64(s.sums[0].valid, 1);
	igt_perfctr_session_close(&s);
}

static void gpu_and_pmu(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_add_pmu(&s, 7, exact.type, exact.config, GLOBAL);
	igt_perfctr_session_open(&s);
	igt_vsoc_start(&s, &before);
	for (unsigned int i = 0; i < 4; i++) {
		igt_vsoc_work(&dev, i);
		calls(25);
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	}
	igt_vsoc_stop_conserved(&s, &before);
	igt_assert_eq_u64(counted(&s, 7), 100);
	igt_perfctr_session_close(&s);
}

static void slow_start(void)
{
	const struct drm_perfctr_sample_header *h;
	const struct drm_perfctr_block_header *b;
	struct igt_perfctr_session s;
	uint64_t captured_ns;

	igt_perfctr_session_init(&s, &dev);
	s.params.request_count = 1;
	igt_perfctr_add_pmu(&s, 0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0);
	igt_perfctr_session_open(&s);
	igt_vsoc_debugfs(&dev, "fail_delay_ms", "40");
	igt_vsoc_debugfs(&dev, "fail_late_ack", "1000");
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_vsoc_debugfs(&dev, "fail_late_ack", "0");
	igt_vsoc_debugfs(&dev, "fail_delay_ms", "150");
	igt_vsoc_settle(&dev);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	h = igt_perfctr_slot(&s, 0);
	b = first_pmu_block(h);
	for (unsigned int i = 1; i < h->block_count; i++)
		b = (const void *)((const char *)b + b->size);
	captured_ns = h->end_ns + b->capture_ns - h->start_ns;
	igt_perfctr_drain(&s);
	igt_info("CPU clock %llu us, span %llu us\n", (unsigned long long)counted(&s, 0) / 1000,
		 (unsigned long long)captured_ns / 1000);
	igt_assert_lte_u64(1, counted(&s, 0));
	/* the clocks may differ by a percent */
	igt_assert_lte_u64(counted(&s, 0), captured_ns + captured_ns / 100);
	igt_assert_lte_u64(s.sums[h->block_count - 1].time_enabled,
			   captured_ns + captured_ns / 100);
	igt_perfctr_session_close(&s);
}

static void automatic(void)
{
	struct igt_perfctr_session s;
	uint64_t called_ns;

	igt_perfctr_session_init(&s, &dev);
	s.params.slots = 64;
	s.params.flags = DRM_PERFCTR_OPEN_AUTOMATIC;
	igt_perfctr_add_pmu(&s, 7, exact.type, exact.config, GLOBAL);
	igt_perfctr_begin(&s);
	calls(25);
	called_ns = igt_raw_ns();
	igt_vsoc_debugfs(&dev, "cores_on", "0x0");
	do {
		igt_perfctr_wait_unread(&s, 1);
		igt_perfctr_drain(&s);
	} while (s.last.end_ns < called_ns);
	igt_assert_eq_u64(s.automatic, s.samples);
	igt_assert_eq_u64(counted(&s, 7), 25);
	igt_vsoc_debugfs(&dev, "cores_on", "0x50005");
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_session_close(&s);
}

static void two_sessions(void)
{
	struct igt_perfctr_session a, b;

	trace_session(&a, GLOBAL);
	trace_session(&b, GLOBAL);
	igt_assert_eq(igt_perfctr_start(&a, 0), 0);
	calls(10);
	igt_assert_eq(igt_perfctr_start(&b, 0), 0);
	calls(100);
	igt_assert_eq(igt_perfctr_stop(&a, 0), 0);
	calls(1000);
	igt_assert_eq(igt_perfctr_stop(&b, 0), 0);
	igt_perfctr_drain(&a);
	igt_perfctr_drain(&b);
	igt_assert_eq_u64(counted(&a, 7), 110);
	igt_assert_eq_u64(counted(&b, 7), 1100);
	igt_perfctr_session_close(&a);
	igt_perfctr_session_close(&b);
}

static void counting_tests(void)
{
	igt_describe("a tracepoint is counted exactly");
	igt_subtest("tracepoint-exact") tracepoint_exact();
	igt_describe("periodic and stretched samples of a PMU add up exactly");
	igt_subtest("tracepoint-periodic") tracepoint_periodic();
	/* Covers: DRM_PERFCTR_FORMAT_PMU_IDENTITY, drm_perfctr_pmu_identity */
	igt_describe("a request for a CPU counts that CPU only, and the block has its number");
	igt_subtest("per-cpu") per_cpu();
	/* Covers: DRM_PERFCTR_FORMAT_RUNNING_TIMES, drm_perfctr_running_times */
	igt_describe("enabled and running times are those of the span");
	igt_subtest("times") times();
	igt_describe("a counter that counted nothing while it ran is a measured zero");
	igt_subtest("measured-zero") measured_zero();
	/* Covers: DRM_PERFCTR_BLOCK_GENERIC_PMU */
	igt_describe("one sample carries GPU blocks and PMU blocks, both exact");
	igt_subtest("gpu-and-pmu") gpu_and_pmu();
	igt_describe("PMU blocks have no counts from before the first span, however long START "
		     "waits");
	igt_subtest("slow-start") slow_start();
	igt_describe("an AUTOMATIC sample has the counts of PMU blocks at the transition");
	igt_subtest("automatic") automatic();
	igt_describe("two sessions count the same tracepoint independently");
	igt_subtest("two-sessions") two_sessions();
}

static void probe_refused(void)
{
	static const char *const pmus[] = { "breakpoint", "kprobe", "uprobe" };

	for (unsigned int i = 0; i < 3; i++) {
		struct igt_perfctr_session s;
		char path[64];
		int type;

		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmus[i]);
		type = igt_read_int(path);
		if (type <= 0)
			continue;
		igt_perfctr_session_init_empty(&s, &dev);
		igt_perfctr_add_pmu(&s, 0, type, 0, GLOBAL);
		/* a kprobe that perf accepts */
		s.requests[0].config1 = (uintptr_t) "schedule_timeout";
		if (i == 1)
			igt_assert_eq(igt_perfctr_session_try_open(&s), -EOPNOTSUPP);
		else
			igt_assert_lt(igt_perfctr_session_try_open(&s), 0);
	}
}

static void refusal_tests(void)
{
	/* Covers: open -ENOENT */
	igt_describe("an unknown PMU type is -ENOENT");
	igt_subtest("no-such-pmu") igt_assert_eq(try_pmu(0x7fff0000, 0, GLOBAL), -ENOENT);
	/* Covers: open -EINVAL */
	igt_describe("a CPU that is offline is -EINVAL");
	igt_subtest("offline-cpu")
	{
		cpu_online(1, false);
		igt_assert_eq(try_pmu(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1), -EINVAL);
		cpu_online(1, true);
		igt_assert_eq(try_pmu(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1), 0);
	}
	/* Covers: open -EOPNOTSUPP */
	igt_describe("breakpoints, kprobes and uprobes are refused by the PMU's name");
	igt_subtest("probe-refused") probe_refused();
	igt_describe("an unknown event returns the PMU's error");
	igt_subtest("no-such-event")
		igt_assert_eq(try_pmu(PERF_TYPE_SOFTWARE, 12345, GLOBAL), -ENOENT);
	/* Covers: DRM_PERFCTR_BLOCK_GENERIC_PMU */
	igt_describe("generic blocks with different numbers may count the same event");
	igt_subtest("same-event-twice")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init_empty(&s, &dev);
		igt_perfctr_add_pmu(&s, 0, exact.type, exact.config, GLOBAL);
		igt_perfctr_add_pmu(&s, 0xfffe, exact.type, exact.config, GLOBAL);
		igt_perfctr_begin(&s);
		calls(42);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(counted(&s, 0), 42);
		igt_assert_eq_u64(counted(&s, 0xfffe), 42);
		igt_perfctr_session_close(&s);
	}
}

/*
 * 100 calls on CPU 1, 20 on CPU 0 while CPU 1 is offline, 3 on CPU 1 when it is back. @gone: counts
 * before it is back; @back: counts at the end.
 */
static void calls_around_hotplug(struct igt_perfctr_session *s, uint64_t gone, uint64_t back)
{
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
	pin(1);
	calls(100);
	pin(0);
	cpu_online(1, false);
	calls(20);
	igt_perfctr_sample_and_drain(s);
	igt_assert_eq_u64(counted(s, 7), gone);
	cpu_online(1, true);
	pin(1);
	calls(3);
	pin(-1);
	igt_perfctr_finish(s);
	igt_assert_eq_u64(counted(s, 7), back);
}

static void hotplug_tests(void)
{
	/* Covers: DRM_PERFCTR_STATE_MIGRATED */
	igt_describe("CPU hotplug during counting loses no count");
	igt_subtest("hotplug-active")
	{
		struct igt_perfctr_session s;

		trace_session(&s, GLOBAL);
		calls_around_hotplug(&s, 120, 123);
		igt_assert(s.sums[0].states & DRM_PERFCTR_STATE_MIGRATED);
		igt_perfctr_session_close(&s);
	}
	igt_describe("after CPU hotplug while stopped, the next START counts that CPU");
	igt_subtest("hotplug-stopped")
	{
		struct igt_perfctr_session s;

		trace_session(&s, GLOBAL);
		cpu_online(1, false);
		cpu_online(1, true);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		pin(1);
		calls(100);
		pin(0);
		calls(20);
		pin(-1);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(counted(&s, 7), 120);
		igt_perfctr_session_close(&s);
	}
	igt_describe("a block of one CPU keeps its counts when that CPU goes offline");
	igt_subtest("hotplug-own-cpu")
	{
		struct igt_perfctr_session s;

		trace_session(&s, 1);
		calls_around_hotplug(&s, 100, 103);
		igt_perfctr_session_close(&s);
	}
	igt_describe("CPU hotplug during periodic sampling does not affect GPU blocks");
	igt_subtest("hotplug-gpu")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init(&s, &dev);
		s.params.period_ns = 2 * MS;
		s.params.slots = 256;
		igt_perfctr_add_pmu(&s, 7, exact.type, exact.config, GLOBAL);
		igt_perfctr_session_open(&s);
		igt_vsoc_start(&s, &before);
		cpu_online(1, false);
		igt_vsoc_work(&dev, 0);
		cpu_online(1, true);
		igt_vsoc_work(&dev, 1);
		igt_vsoc_stop_conserved(&s, &before);
		igt_perfctr_session_close(&s);
	}
}

/* a job with nothing but a SAMPLE, and a fence */
static void sample_in_job(const struct igt_perfctr_session *s, uint64_t user_data)
{
	struct drm_vsoc_command c = igt_vsoc_sample(s, user_data);
	uint64_t job = 0;
	int fence = -1;

	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, &job, &fence), 0);
	igt_assert_eq(igt_vsoc_wait(&dev, job).sample_errors, 0);
	close(fence);
}

/* perf allocates the file under the mutex that reading an event of the CPU takes */
static void perf_user(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

	igt_assert(fd >= 0);
	close(fd);
}

static void fence_tests(void)
{
	/*
	 * Covers: DRM_PERFCTR_SAMPLE_IN_STREAM, DRM_PERFCTR_FORMAT_SPAN, drm_perfctr_block_span
	 */
	igt_describe("jobs sample SoC blocks without waiting for perf; sums stay exact");
	igt_subtest("in-stream")
	{
		const struct drm_perfctr_sample_header *h;
		const struct drm_perfctr_block_header *b;
		const struct drm_perfctr_block_span *span;
		uint64_t called_ns;
		struct igt_perfctr_session s;

		trace_session(&s, GLOBAL);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		calls(10);
		sample_in_job(&s, 1);
		/* nothing was read since START: not valid */
		b = first_pmu_block(igt_perfctr_slot(&s, 0));
		igt_assert_eq_u64(b->valid_mask, 0);
		igt_assert(b->capture_ns <= 0);
		span = igt_perfctr_span(b);
		igt_assert_eq_u64(span->start_ns, span->end_ns);
		igt_sleep_ms(100);
		called_ns = igt_raw_ns();
		calls(200);
		sample_in_job(&s, 2);
		h = igt_perfctr_slot(&s, 1);
		b = first_pmu_block(h);
		igt_assert_eq_u64(b->valid_mask, 1);
		/* the span of these counts, which ended before the calls */
		igt_assert_eq_u64(igt_perfctr_span(b)->start_ns, span->end_ns);
		igt_assert_lte_u64(h->start_ns, igt_perfctr_span(b)->end_ns);
		igt_assert_lte_u64(igt_perfctr_span(b)->end_ns, called_ns);
		igt_assert_eq_u64(*(const uint64_t *)((const char *)b + b->header_size), 10);
		calls(3000);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 3);
		igt_assert_eq_u64(s.in_stream, 2);
		igt_assert_eq_u64(counted(&s, 7), 3210);
		igt_perfctr_session_close(&s);
	}
	igt_describe("jobs and resets do not wait for perf; for lockdep");
	igt_subtest("reset-and-perf")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init(&s, &dev);
		s.params.period_ns = 2 * MS;
		s.params.slots = 256;
		igt_perfctr_add_pmu(&s, 7, exact.type, exact.config, GLOBAL);
		igt_perfctr_begin(&s);
		calls(1);
		perf_user(0);
		cpu_online(1, false);
		cpu_online(1, true);
		perf_user(1);
		calls(20);
		/* half a second fills the ring; a sample of a job finds no slot then */
		igt_perfctr_drain(&s);
		sample_in_job(&s, 1);
		igt_vsoc_debugfs(&dev, "reset", "1");
		calls(300);
		igt_perfctr_drain(&s);
		sample_in_job(&s, 2);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(counted(&s, 7), 321);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_RESET);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_IN_STREAM);
		igt_perfctr_session_close(&s);
	}
}

/* errno of new events on CPU 0 and CPU 1; 0: accepted */
static void refuse(int cpu0, int cpu1)
{
	int fd = open(TEST_PMU "refuse", O_WRONLY);

	igt_assert(fd >= 0);
	igt_assert(dprintf(fd, "%d,%d\n", cpu0, cpu1) > 0);
	close(fd);
}

/* the test PMU counts @n on this CPU */
static void hit(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	igt_assert_eq(igt_write(TEST_PMU "hit", text), 0);
}

static void test_pmu_session(struct igt_perfctr_session *s)
{
	igt_perfctr_session_init_empty(s, &dev);
	igt_perfctr_add_pmu(s, 7, test_type, 0, GLOBAL);
	igt_perfctr_session_open(s);
}

static void unprivileged_start(struct igt_perfctr_session *s)
{
	igt_fork(child, 1) {
		igt_assert_eq(setgid(65534), 0);
		igt_assert_eq(setuid(65534), 0);
		igt_assert_eq(igt_perfctr_start(s, 0), 0);
	}
	igt_waitchildren();
	s->restarted = true;
}

static void hybrid_cpus(void)
{
	struct igt_perfctr_session s;

	test_pmu_load();
	for (int other = 0; other < 2; other++) {
		refuse(other == 0 ? ENOENT : 0, other == 1 ? ENOENT : 0);
		test_pmu_session(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_sleep_ms(5);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_identity(first_pmu_block(igt_perfctr_slot(&s, 0)))->cpu,
			      !other);
		igt_perfctr_drain(&s);
		igt_assert_lte_u64(1, counted(&s, 7));
		igt_assert_eq_u64(s.sums[0].valid, 1);
		igt_perfctr_session_close(&s);
	}
	refuse(0, 0);
}

static void refused_setup(void)
{
	static const int errors[] = { EBUSY, ENOMEM, ENOSPC, EACCES, EPERM, EOPNOTSUPP };

	test_pmu_load();
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		refuse(0, errors[i]);
		igt_assert_eq(try_pmu(test_type, 0, GLOBAL), -errors[i]);
		/* the error of another CPU does not hide it */
		refuse(errors[i], EINVAL);
		igt_assert_eq(try_pmu(test_type, 0, GLOBAL), -errors[i]);
		igt_assert_eq(try_pmu(test_type, 0, 0), -errors[i]);
	}
	refuse(EINVAL, ENOENT);
	igt_assert_eq(try_pmu(test_type, 0, GLOBAL), -ENOENT);
	refuse(EINVAL, EINVAL);
	igt_assert_eq(try_pmu(test_type, 0, GLOBAL), -EINVAL);
	refuse(0, 0);
	igt_assert_eq(try_pmu(test_type, 0, GLOBAL), 0);
}

static void refused_start(void)
{
	struct igt_perfctr_session s;
	uint64_t span;

	test_pmu_load();
	cpu_online(1, false);
	test_pmu_session(&s);
	cpu_online(1, true);
	refuse(0, EBUSY);
	igt_assert_eq(igt_perfctr_start(&s, 0), -EBUSY);
	igt_assert_eq(igt_perfctr_stop(&s, 0), -EALREADY);
	refuse(0, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_sleep_ms(SPAN_MS);
	igt_perfctr_finish(&s);
	span = s.last.end_ns - s.first.start_ns;
	igt_assert_lte_u64(span * 18 / 10, counted(&s, 7));
	igt_assert_eq_u64(s.sums[0].valid, 1);
	igt_perfctr_session_close(&s);
}

/* CPU 1 comes back, but must not be counted; CPU 0 counts 20 in each of two samples */
static void refused_active(void)
{
	const struct drm_perfctr_block_header *b;
	struct igt_perfctr_session s;

	test_pmu_load();
	igt_perfctr_session_init_empty(&s, &dev);
	igt_perfctr_add_pmu(&s, 7, test_type, 1, GLOBAL);
	igt_perfctr_begin(&s);
	cpu_online(1, false);
	refuse(0, ENOSPC);
	cpu_online(1, true);
	pin(0);
	for (unsigned int i = 0; i < 2; i++) {
		hit(20);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		b = first_pmu_block(igt_perfctr_slot(&s, i));
		igt_assert(b->states & DRM_PERFCTR_STATE_ERROR);
		igt_assert(b->states & DRM_PERFCTR_STATE_LOST);
		igt_assert_lte_u64(1, igt_perfctr_slot(&s, i)->lost_ns);
	}
	igt_assert_eq_u64(b->valid_mask, 0);
	refuse(0, 0);
	cpu_online(1, false);
	cpu_online(1, true);
	hit(3);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	/* CPU 1 was not counted until it came online again */
	igt_assert(first_pmu_block(igt_perfctr_slot(&s, 2))->states & DRM_PERFCTR_STATE_LOST);
	igt_assert_lte_u64(1, igt_perfctr_slot(&s, 2)->lost_ns);
	igt_perfctr_drain(&s);
	/* the counts of CPU 0 are not lost */
	igt_assert_eq_u64(counted(&s, 7), 43);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	b = first_pmu_block(igt_perfctr_slot(&s, 3));
	igt_assert_eq_u64(b->valid_mask, 1);
	igt_assert(!(b->states & DRM_PERFCTR_STATE_ERROR));
	pin(-1);
	igt_perfctr_drain(&s);
	igt_perfctr_session_close(&s);
}

static void hotplug_unprivileged_start(void)
{
	struct igt_perfctr_session s;
	uint64_t span;

	igt_perfctr_session_init_empty(&s, &dev);
	igt_perfctr_add_pmu(&s, 7, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, GLOBAL);
	cpu_online(1, false);
	igt_perfctr_session_open(&s);
	cpu_online(1, true);
	unprivileged_start(&s);
	igt_sleep_ms(SPAN_MS);
	igt_perfctr_finish(&s);
	span = s.last.end_ns - s.first.start_ns;
	igt_assert_lte_u64(span * 18 / 10, counted(&s, 7));
	igt_assert_lte_u64(span * 18 / 10, s.sums[0].time_enabled);
	igt_assert_eq_u64(s.sums[0].valid, 1);
	igt_perfctr_session_close(&s);
}

static void refused_cpu_tests(void)
{
	/* Covers: open -ENODEV, DRM_PERFCTR_CPU_ANY */
	igt_describe("CPUs that the PMU lacks are left out, as on big.LITTLE");
	igt_subtest("hybrid-cpus") hybrid_cpus();
	igt_describe("OPEN fails if a CPU refuses the event for another reason");
	igt_subtest("refused-setup") refused_setup();
	igt_describe("START fails if a new CPU refuses the event, and can be repeated");
	igt_subtest("refused-start") refused_start();
	igt_describe("a CPU that refuses the event while counting makes the counter invalid, and "
		     "a later sample has the counts of the other CPUs");
	igt_subtest("refused-active") refused_active();
	igt_describe("a session counts with the permissions of OPEN, not those of START");
	igt_subtest("hotplug-unprivileged-start") hotplug_unprivileged_start();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_require_f(dev.info.features & DRM_PERFCTR_FEATURE_PMU, "no perf events\n");
		choose_exact();
	}
	counting_tests();
	refusal_tests();
	hotplug_tests();
	fence_tests();
	refused_cpu_tests();
}
