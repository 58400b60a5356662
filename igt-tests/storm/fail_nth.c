// SPDX-License-Identifier: MIT
/**
 * TEST: Out of memory at every allocation: -ENOMEM or success, and no leak
 * Description: Each allocation (and user copy) of each call fails once. Needs fault injection
 *   (lab/vm/run --kernel uml-debug or debug); not named perfctr_*, so that other suites skip it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"
#include "igt_nv50.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

/* more allocations than any call makes */
#define MOST 2000

static struct igt_perfctr_device dev;

/* the n-th allocation or user copy of this thread from now on fails */
static void arm(int fd, unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	igt_assert_eq(pwrite(fd, text, length, 0), length);
}

/*
 * Returns whether the failure happened. Reading the file is a user copy and may be the one that
 * fails.
 */
static bool disarm(int fd)
{
	char text[16] = "";
	bool failed = pread(fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	if (pwrite(fd, "0", 1, 0) != 1)
		igt_assert_eq(pwrite(fd, "0", 1, 0), 1);
	return failed;
}

static void let_fail(const char *attribute, const char *file, const char *value)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", attribute, file);
	fd = open(path, O_WRONLY);
	igt_require_f(fd >= 0, "%s: %s\n", path, strerror(errno));
	igt_assert_eq(write(fd, value, strlen(value)), (int)strlen(value));
	close(fd);
}

static int call_open(struct igt_perfctr_session *s)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", dev.minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int call_query(struct igt_perfctr_session *s)
{
	static struct drm_perfctr_block_info blocks[IGT_PERFCTR_MAX_BLOCKS];
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_BLOCKS,
		.count = IGT_PERFCTR_MAX_BLOCKS,
		.stride = sizeof(blocks[0]),
		.pointer = (uintptr_t)blocks,
	};

	return igt_perfctr_query(&dev, &query);
}

static int call_setup(struct igt_perfctr_session *s)
{
	static struct igt_perfctr_session another;
	int ret;

	igt_perfctr_session_init_empty(&another, s->dev);
	another.params = s->params;
	memcpy(another.requests, s->requests, sizeof(s->requests));
	ret = igt_perfctr_session_try_bare(&another);
	return ret ? ret : igt_perfctr_session_end(&another);
}

/* an error has had no effect */
static int stop(struct igt_perfctr_session *s, int ret)
{
	int stopped = igt_perfctr_stop(s, 0);

	if (stopped) {
		igt_assert_eq_u32(s->control->state, DRM_PERFCTR_RING_ACTIVE);
		igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	}
	igt_assert_eq_u32(s->control->state, 0);
	return ret ? ret : stopped;
}

static int call_start(struct igt_perfctr_session *s)
{
	int ret = igt_perfctr_start(s, 0);

	if (!ret)
		return stop(s, 0);
	igt_assert_eq_u32(s->control->state, 0);
	return ret;
}

static int call_sample(struct igt_perfctr_session *s)
{
	uint64_t published;
	int ret = igt_perfctr_start(s, 0);

	if (ret)
		return ret;
	published = igt_perfctr_published(s);
	ret = igt_perfctr_sample(s, 0);
	if (!s->params.period_ns)
		igt_assert_eq_u64(igt_perfctr_published(s), published + !ret);
	return stop(s, ret);
}

/* of PERF_CONTROL; TEARDOWN never fails */
static struct igt_control control;

static int call_control(struct igt_perfctr_session *s)
{
	int ret = igt_control_setup(&control);

	return ret < 0 ? ret : igt_control_teardown(&control);
}

/*
 * Rounds over all allocations. The kernel's caches grow at different calls, so one round may skip
 * an allocation: seen in four of seven.
 */
#define ROUNDS 10

/* one round: the number of allocations, and of failures with -ENOMEM */
static unsigned int sweep_once(int (*call)(struct igt_perfctr_session *s),
			       struct igt_perfctr_session *s, int fd, unsigned int *failed)
{
	unsigned int n;

	for (n = 1; n < MOST; n++) {
		bool happened;
		int ret;

		arm(fd, n);
		ret = call(s);
		happened = disarm(fd);
		igt_assert_f(!ret || (happened && (ret == -ENOMEM || ret == -EFAULT)),
			     "allocation %u: %d\n", n, ret);
		*failed += ret == -ENOMEM;
		igt_perfctr_drain(s);
		if (!happened)
			break;
	}
	igt_assert_lt(n, MOST);
	return n - 1;
}

static int open_fail_nth(void)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	igt_require_f(fd >= 0, "the kernel has no fault injection\n");
	return fd;
}

/* Returns how many of the call's allocations failed with -ENOMEM. Calls with a fallback succeed. */
static unsigned int sweep_with(int fd, int (*call)(struct igt_perfctr_session *s),
			       struct igt_perfctr_session *s)
{
	unsigned int places = 0, failed = 0;

	for (unsigned int round = 0; round < ROUNDS; round++)
		places += sweep_once(call, s, fd, &failed);
	close(fd);
	igt_info("%u allocations, %u -ENOMEM, %u rounds\n", places, failed, ROUNDS);
	/* the call works afterwards, and counts correctly */
	igt_assert_eq(call(s), 0);
	return failed;
}

static unsigned int sweep(int (*call)(struct igt_perfctr_session *s), struct igt_perfctr_session *s)
{
	return sweep_with(open_fail_nth(), call, s);
}

/* each OPEN creates the uid account anew, as no session is left */
static void sweep_setup_of_user(void)
{
	igt_perfctr_sysctl("paranoid", "0");
	igt_fork(child, 1) {
		/* a thread's fail-nth file belongs to root, whatever its uid */
		int fd = open_fail_nth();
		struct igt_perfctr_device mine;
		struct igt_perfctr_session s;

		igt_perfctr_reopen(&mine, &dev);
		dev = mine;
		igt_drop_to(IGT_NOBODY, 0);
		igt_perfctr_session_init(&s, &dev);
		s.params.eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		igt_perfctr_session_open(&s);
		igt_assert_eq(igt_perfctr_session_end(&s), 0);
		igt_assert_lt(0, sweep_with(fd, call_setup, &s));
	}
	igt_waitchildren();
	igt_perfctr_sysctl("paranoid", "1");
}

/* software events on each CPU, a PMU of the fabric, an eventfd, and the GPU's blocks */
static void soc_session(struct igt_perfctr_session *s)
{
	/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK */
	static const uint32_t software = 1, cpu_clock = 0;

	/* User-mode Linux has no perf events */
	igt_require_f(!access(IGT_UCF_TYPE, R_OK), "no PMU nvidia_ucf_pmu_0\n");
	igt_perfctr_session_init(s, &dev);
	igt_perfctr_add_pmu(s, 0, software, cpu_clock, DRM_PERFCTR_CPU_ANY);
	igt_assert(igt_perfctr_add_ucf(s));
	s->params.eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	igt_assert_lte(0, s->params.eventfd);
	s->params.watermark = 1;
	igt_perfctr_session_open(s);
}

static void soc_session_end(struct igt_perfctr_session *s)
{
	const int fd = s->params.eventfd;

	igt_perfctr_session_close(s);
	close(fd);
}

#define CPU1 "/sys/devices/system/cpu/cpu1/online"
#define WORKER "perfctr-pmu/vsoc.0"
/* CPU 1 comes back within milliseconds unless the host is busy */
#define COME_BACK_S 60

/* an event on each CPU, and a PMU that migrates its event */
static void hotplug_session(struct igt_perfctr_session *s)
{
	/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK */
	static const uint32_t software = 1, cpu_clock = 0;

	igt_require_f(!access(CPU1, W_OK), "CPU 1 cannot be taken offline\n");
	igt_perfctr_session_init_empty(s, &dev);
	igt_perfctr_add_pmu(s, 0, software, cpu_clock, DRM_PERFCTR_CPU_ANY);
	igt_require_f(igt_perfctr_add_ucf(s), "no PMU nvidia_ucf_pmu_0\n");
	igt_perfctr_session_open(s);
}

/* SAMPLE; returns the states of the software events, valid unless they have ERROR */
static uint32_t sample_states(struct igt_perfctr_session *s)
{
	const struct drm_perfctr_sample_header *h;
	const struct drm_perfctr_block_header *b;
	uint32_t states;

	igt_assert_eq(igt_perfctr_sample(s, 0), 0);
	h = igt_perfctr_slot(s, s->extract);
	b = (const void *)((const char *)h + h->header_size);
	states = b->states;
	/* with ERROR, counts up to the failure may be valid */
	igt_assert(b->valid_mask || states & DRM_PERFCTR_STATE_ERROR);
	igt_perfctr_drain(s);
	return states;
}

/* START reopens the events of a CPU that was offline */
static unsigned int sweep_start_after_hotplug(struct igt_perfctr_session *s)
{
	int fd = open_fail_nth();
	unsigned int n, failed = 0;
	bool happened = true;

	for (n = 1; n < MOST && happened; n++) {
		int ret;

		igt_assert_eq(igt_write(CPU1, "0"), 0);
		igt_assert_eq(igt_write(CPU1, "1"), 0);
		arm(fd, n);
		ret = igt_perfctr_start(s, 0);
		happened = disarm(fd);
		igt_assert_f(!ret || (happened && (ret == -ENOMEM || ret == -EFAULT)),
			     "allocation %u: %d\n", n, ret);
		failed += ret == -ENOMEM;
		igt_assert_eq(!!s->control->state, !ret);
		if (ret)
			igt_assert_eq(igt_perfctr_start(s, 0), 0);
		igt_assert(!(sample_states(s) & DRM_PERFCTR_STATE_ERROR));
		stop(s, ret);
		igt_perfctr_drain(s);
	}
	close(fd);
	igt_assert_lt(n, MOST);
	igt_info("%u allocations, %u times -ENOMEM\n", n - 2, failed);
	return failed;
}

/* /proc/.../fail-nth of the device's worker */
static int worker_fail_nth(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fail-nth", igt_find_process(WORKER "\n"));
	fd = open(path, O_RDWR | O_CLOEXEC);
	igt_require_f(fd >= 0, "no fail-nth of " WORKER "\n");
	return fd;
}

/* CPU 1 comes back while a session counts: the worker opens the events and returns no error. */
static unsigned int sweep_worker(struct igt_perfctr_session *s)
{
	const uint32_t followed = DRM_PERFCTR_STATE_MIGRATED | DRM_PERFCTR_STATE_ERROR;
	int fd = worker_fail_nth();
	unsigned int n, failed = 0;
	bool happened = true;

	igt_assert_eq(igt_perfctr_start(s, 0), 0);
	for (n = 1; n < MOST && happened; n++) {
		uint64_t latest_ns = igt_raw_ns() + COME_BACK_S * 1000000000ull;
		uint32_t states;

		igt_assert_eq(igt_write(CPU1, "0"), 0);
		/* a sample after the CPU went offline */
		igt_assert(!(sample_states(s) & DRM_PERFCTR_STATE_ERROR));
		arm(fd, n);
		igt_assert_eq(igt_write(CPU1, "1"), 0);
		do {
			igt_assert_f(igt_raw_ns() < latest_ns, "allocation %u: no reaction\n", n);
			igt_sleep_ms(1);
			states = sample_states(s);
		} while (!(states & followed));
		happened = disarm(fd);
		if (!(states & DRM_PERFCTR_STATE_ERROR))
			continue;
		igt_assert_f(happened, "allocation %u: ERROR without a failure\n", n);
		failed++;
		/* the block keeps this state until the next START */
		igt_assert(sample_states(s) & DRM_PERFCTR_STATE_ERROR);
		stop(s, 0);
		igt_perfctr_drain(s);
		igt_assert_eq(igt_perfctr_start(s, 0), 0);
		igt_assert(!(sample_states(s) & DRM_PERFCTR_STATE_ERROR));
	}
	close(fd);
	stop(s, 0);
	igt_perfctr_drain(s);
	igt_assert_lt(n, MOST);
	igt_info("%u allocations, %u times not valid\n", n - 2, failed);
	return failed;
}

#define DRIVER "/sys/bus/platform/drivers/vsoc/"
/* most stack frames that the filter of fault injection checks */
#define FILTER_DEPTH "32"

static int write_driver_file(const char *file, const char *text)
{
	char path[80];
	int fd, ret;

	snprintf(path, sizeof(path), DRIVER "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	igt_assert_f(fd >= 0, "%s: %s\n", path, strerror(errno));
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/*
 * Address range of a module's functions, or, with its name after a colon, of one function of the
 * kernel. The range ends at the next symbol of others.
 */
static void text_of(const char *what, uint64_t *start, uint64_t *end)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[512], module[80];
	uint64_t last = 0;

	snprintf(module, sizeof(module), "[%s]", what);
	igt_assert(symbols);
	*start = UINT64_MAX;
	*end = UINT64_MAX;
	for (unsigned int pass = 0; symbols && pass < 2; pass++) {
		rewind(symbols);
		while (fgets(line, sizeof(line), symbols)) {
			char name[300], of[80] = "", type;
			unsigned long long at;
			bool ours;

			if (sscanf(line, "%llx %c %299s %79s", &at, &type, name, of) < 3 ||
			    !strchr("tT", type))
				continue;
			ours = *what == ':' ? !strcmp(name, what + 1) : !strcmp(of, module);
			if (!pass && ours) {
				*start = at < *start ? at : *start;
				last = at > last ? at : last;
			} else if (pass && at > last && at < *end) {
				*end = at;
			}
		}
	}
	if (symbols)
		fclose(symbols);
	igt_assert_f(*start < *end && *end != UINT64_MAX, "%s: no symbols\n", what);
}

static void filter(const char *range, uint64_t start, uint64_t end)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

	for (unsigned int i = 0; i < 3; i++) {
		char file[32], value[32];

		snprintf(file, sizeof(file), "%s-start", range);
		snprintf(value, sizeof(value), "%#llx", (unsigned long long)start);
		let_fail(kinds[i], file, value);
		snprintf(file, sizeof(file), "%s-end", range);
		snprintf(value, sizeof(value), "%#llx", (unsigned long long)end);
		let_fail(kinds[i], file, value);
		let_fail(kinds[i], "stacktrace-depth", FILTER_DEPTH);
	}
}

/*
 * Fails each allocation of @module, or of a function (see text_of()), while the driver probes
 * @device, a line for new_device. Excludes drm_sysfs_minor_alloc(): if it fails, drm_minor_alloc()
 * of 6.12 leaves an error pointer in minor->kdev, which its release action passes to put_device().
 */
static void sweep_probe(const char *device, const char *module)
{
	unsigned int n, failed = 0, survived = 0;
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	bool happened = true;
	uint64_t start, end;

	/* only what the driver core and debugfs report of the injected failure */
	igt_emit_ignore_dmesg_regex(
		"^(vsoc vsoc\\.1: probe with driver vsoc failed with error -12|"
		"debugfs: out of free dentries, can not create file '[a-z_]+')$");
	igt_require_f(fd >= 0, "the kernel has no fault injection\n");
	igt_require_f(!access("/sys/kernel/debug/failslab/require-start", W_OK),
		      "fault injection has no filter\n");
	text_of(":drm_sysfs_minor_alloc", &start, &end);
	filter("reject", start, end);
	text_of(module, &start, &end);
	filter("require", start, end);
	/* a second device has no PMUs, whose registration takes seconds */
	igt_assert_eq(write_driver_file("new_device", device), 0);
	for (n = 1; n < MOST && happened; n++) {
		int ret;

		igt_assert_eq(write_driver_file("unbind", "vsoc.1"), 0);
		arm(fd, n);
		ret = write_driver_file("bind", "vsoc.1");
		happened = disarm(fd);
		igt_assert_f(!ret || (happened && ret == -ENOMEM), "allocation %u: %d\n", n, ret);
		failed += !!ret;
		survived += !ret && happened;
		if (ret)
			igt_assert_eq(write_driver_file("bind", "vsoc.1"), 0);
	}
	filter("require", 0, UINT64_MAX);
	filter("reject", 0, 0);
	close(fd);
	igt_assert_lt(n, MOST);
	igt_info("%u allocations, %u -ENOMEM, %u failures handled\n", n - 2, failed, survived);
	igt_assert_lt(0, failed);
	igt_assert_eq(write_driver_file("del_device", "1"), 0);
}

static void pcounter(void)
{
	static const uint64_t periods_ns[] = { 0, 100000 };

	igt_nv50_add();
	for (unsigned int i = 0; i < 2; i++) {
		static const char *const names[] = { "gpu_busy", "setup_primitive_count" };
		const struct igt_perfctr_device csf = dev;
		struct igt_perfctr_session t;

		dev = igt_nv50.dev;
		igt_nv50_session_create(&t, periods_ns[i], names, 2);
		igt_assert_lt(0, sweep(call_setup, &t));
		sweep(call_start, &t);
		sweep(call_sample, &t);
		igt_perfctr_session_close(&t);

		igt_nv50_session_create(&t, periods_ns[i], names, 2);
		igt_nv50_start(&t);
		igt_nv50_work(1);
		igt_nv50_finish(&t);
		igt_nv50_assert_conserved(&t);
		igt_perfctr_session_close(&t);
		dev = csf;
	}
	igt_nv50_remove();
}

static void soc_setup(void)
{
	struct igt_perfctr_session t;

	soc_session(&t);
	igt_assert_lt(0, sweep(call_setup, &t));
	soc_session_end(&t);
}

static void soc_start(void)
{
	struct igt_perfctr_session t;

	soc_session(&t);
	sweep(call_start, &t);
	soc_session_end(&t);
}

static void soc_start_hotplug(void)
{
	struct igt_perfctr_session t;

	hotplug_session(&t);
	igt_assert_lt(0, sweep_start_after_hotplug(&t));
	igt_perfctr_session_close(&t);
}

static void soc_active_hotplug(void)
{
	struct igt_perfctr_session t;

	hotplug_session(&t);
	igt_assert_lt(0, sweep_worker(&t));
	igt_perfctr_session_close(&t);
}

static void conserve(void)
{
	static struct igt_truth before;
	struct igt_perfctr_session t;

	igt_perfctr_session_init(&t, &dev);
	igt_perfctr_session_open(&t);
	igt_vsoc_start(&t, &before);
	igt_vsoc_work(&dev, 1);
	igt_vsoc_stop_conserved(&t, &before);
	igt_perfctr_session_close(&t);
}

int igt_main()
{
	struct igt_perfctr_session s;

	igt_fixture() {
		static const char *const kinds[] = { "failslab", "fail_page_alloc",
						     "fail_usercopy" };

		igt_require(igt_perfctr_open(&dev, "vsoc"));
		for (unsigned int i = 0; i < 2; i++)
			let_fail(kinds[i], "ignore-gfp-wait", "N");
		/* print no call trace at each failure */
		for (unsigned int i = 0; i < 3; i++)
			let_fail(kinds[i], "verbose", "0");
		let_fail("fail_page_alloc", "min-order", "0");
		igt_perfctr_session_init(&s, &dev);
		igt_perfctr_session_open(&s);
	}

	igt_describe("opening the node is -ENOMEM or works, without a leak");
	igt_subtest("open") igt_assert_lt(0, sweep(call_open, &s));
	igt_describe("the same for QUERY");
	igt_subtest("query") sweep(call_query, &s);
	igt_describe("the same for OPEN");
	igt_subtest("setup") igt_assert_lt(0, sweep(call_setup, &s));
	igt_describe("the same for OPEN by an unprivileged user, with an eventfd");
	igt_subtest("setup-user") sweep_setup_of_user();
	igt_describe("the same for START and STOP");
	igt_subtest("start") sweep(call_start, &s);
	igt_describe("the same for SAMPLE");
	igt_subtest("sample") sweep(call_sample, &s);

	igt_describe("the same for SETUP of PERF_CONTROL, and no session is left");
	igt_subtest("control")
	{
		igt_control_init(&control, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_lt(0, sweep(call_control, &s));
		igt_control_close(&control);
	}

	igt_describe("the same for PCOUNTER, manual and recorded, with exact counts");
	igt_subtest("pcounter") pcounter();

	igt_describe("the same for OPEN with SoC blocks, whose allocations include those of perf");
	igt_subtest("soc-setup") soc_setup();
	igt_describe("the same for START and STOP of SoC blocks");
	igt_subtest("soc-start") soc_start();

	igt_describe("the same for START after CPU hotplug; the next START has all CPUs");
	igt_subtest("soc-start-hotplug") soc_start_hotplug();
	igt_describe("if the worker fails when a CPU comes back, the counter has ERROR until the "
		     "next START");
	igt_subtest("soc-active-hotplug") soc_active_hotplug();

	igt_describe("probe is -ENOMEM if an allocation of the core fails, and the next probe "
		     "works");
	igt_subtest("probe-core") sweep_probe("1", "drm_perfctr");
	igt_describe("the same for the driver of the firmware interface");
	igt_subtest("probe-csf") sweep_probe("1", "perfctr_csf");
	igt_describe("the same for PCOUNTER's driver, its source and its packet memory");
	igt_subtest("probe-pcounter")
	{
		sweep_probe("1 product=nv50", ":vsoc_nv50_init");
		sweep_probe("1 product=nv50", ":vsoc_nv50_counters_init");
	}

	igt_describe("counts are exact after all failures");
	igt_subtest("conserve") conserve();

	igt_fixture() {
		igt_perfctr_session_close(&s);
		igt_perfctr_close(&dev);
	}
}
