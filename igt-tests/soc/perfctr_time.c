// SPDX-License-Identifier: MIT
/**
 * TEST: Work takes time of the clocks that drive it, and the watchdog limits a job
 * Description: Device time: stepped time, clock domains, GPU timestamps, and the job watchdog.
 *
 * SUBTEST: %s
 * Description: %arg[1]
 *
 * arg[1]:
 * @cycles-consistent-stepped: in stepped time no block is busy for more cycles than its clock has,
 *   also when clocks change during jobs
 * @cycles-consistent-real: the same in real time
 * @slower-clock: at half of any clock a job takes twice the time and has the same counts
 * @job-timeout-wait: a job that waits for years is cut short, and other contexts continue
 * @job-timeout-compute: the same for a job with too many threads
 * @watchdog-too-late: the watchdog does not reset the next job after a hung job has ended
 * @job-timeout-errors: a timeout of zero or of more than an hour is refused
 * @time-bound: in stepped time, GPU time converted to CLOCK_MONOTONIC_RAW stays within its bound
 * @time-bound-real: the same in real time
 * @stepped-time-exact: stepped time moves only by the requested step
 * @step-errors: steps out of range and steps in real time are refused
 * @stepped-repeats: the same seed gives the same ring, timestamps included
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_random.h"
#include "igt_vsoc_device.h"
#include "igt_account.h"
#include "igt_sys.h"

#define TIMEOUT_MS 300
#define DEFAULT_TIMEOUT_MS "10000"
#define TIME_LIMIT_NS (20000 * MS)
/* delay of the watchdog; duration of the next job, which is longer */
#define WATCHDOG_LATE_MS 100
#define AFTER_HANG_MS 400
#define DEFAULT_DELAY_MS "150"
#define CONTEXTS 4
/* durations of kernel/vsoc/README.md, "Rules" */
#define JOB_START_NS 400
#define JOB_END_NS 200
#define COMMAND_NS 200
/* of the GPU's timestamp: 24 MHz */
#define TICK_NS 42ull

static struct igt_perfctr_device dev;
static struct igt_vsoc_totals totals;
static struct igt_vsoc_truth before, after;

static const struct {
	const char *file;
	uint64_t nominal_hz;
} clocks[] = {
	{ "top_hz", 1000000000 },
	{ "coregroup_hz", 800000000 },
	{ "shader_hz", 500000000 },
};
#define CLOCKS ARRAY_SIZE(clocks)
#define SHADER_CLOCK (CLOCKS - 1)

/* the counter of cycles in which a block was busy, and its clock */
static const struct {
	uint16_t type;
	const char *name;
} busy[] = {
	{ DRM_PERFCTR_MALI_BLOCK_CSHW, "GPU_ACTIVE" },
	{ DRM_PERFCTR_MALI_BLOCK_TILER, "TILER_ACTIVE" },
	{ DRM_PERFCTR_MALI_BLOCK_MEMSYS, "L2_ACTIVE" },
	{ DRM_PERFCTR_MALI_BLOCK_SHADER, "CORE_ACTIVE" },
};

static void set_hz(unsigned int clock, unsigned int divisor)
{
	igt_vsoc_debugfs_u64(&dev, clocks[clock].file, clocks[clock].nominal_hz / divisor);
}

static uint16_t counter_of(unsigned int i)
{
	return igt_vsoc_counter(&totals.truth, busy[i].type, busy[i].name);
}

/* no block of the sample is busy for longer than its clock ran; returns how many were busy */
static unsigned int assert_consistent(const struct igt_perfctr_session *s,
				      const struct drm_perfctr_sample_header *h)
{
	const char *at = (const char *)h + h->header_size;
	unsigned int worked = 0;

	for (unsigned int n = 0; n < h->block_count; n++) {
		const struct drm_perfctr_block_header *b = (const void *)at;

		for (unsigned int i = 0; i < ARRAY_SIZE(busy); i++) {
			uint64_t cycles;

			if (b->type != busy[i].type || b->section)
				continue;
			cycles = igt_perfctr_value(h, b->type, b->index, counter_of(i));
			/* the ends of the span may cut a cycle */
			igt_assert_f(cycles <= b->clock_cycles + 1,
				     "%s of %u: %llu cycles of %llu\n", busy[i].name, b->index,
				     (unsigned long long)cycles,
				     (unsigned long long)b->clock_cycles);
			worked += cycles != 0;
		}
		at += b->size;
	}
	return worked;
}

static void begin_clocks(struct igt_perfctr_session *s)
{
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_perfctr_session_init(s, &dev);
	s->setup.slots = 64;
	igt_perfctr_begin(s);
}

static void end_clocks(struct igt_perfctr_session *s)
{
	for (unsigned int i = 0; i < CLOCKS; i++)
		set_hz(i, 1);
	igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	igt_perfctr_session_fini(s);
}

/* in the middle of jobs, at any clock and while clocks change */
static void consistent_stepped(void)
{
	struct drm_vsoc_command commands[3];
	struct igt_perfctr_session s;
	unsigned int worked = 0;
	uint64_t job = 0;

	igt_vsoc_debugfs(&dev, "stepped", "1");
	begin_clocks(&s);
	for (unsigned int n = 0; n < 40; n++) {
		igt_vsoc_mixed(commands, n);
		job = igt_vsoc_submit(&dev, commands, 3);
	}
	for (unsigned int n = 0; n < 60; n++) {
		set_hz(n % CLOCKS, 1 + n * 7 % 11);
		igt_vsoc_debugfs_u64(&dev, "step_ns", 1 + n * 12345 % 99991);
		igt_assert_eq(igt_perfctr_sample(&s, n), 0);
		worked += assert_consistent(&s, igt_perfctr_slot(&s, s.extract));
		igt_perfctr_drain(&s);
	}
	igt_assert_lt(60, worked);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	end_clocks(&s);
	igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
}

/* jobs from beginning to end, and commands between two SAMPLEs */
static void consistent_real(void)
{
	struct drm_vsoc_command commands[9];
	struct igt_perfctr_session s;
	unsigned int worked = 0;

	begin_clocks(&s);
	for (unsigned int n = 0; n < 12; n++) {
		memset(commands, 0, sizeof(commands));
		for (unsigned int i = 0; i < 9; i += 4) {
			commands[i].type = DRM_VSOC_CMD_SAMPLE;
			commands[i].sample.handle = s.handle;
		}
		igt_vsoc_mixed(&commands[1], n);
		igt_vsoc_mixed(&commands[5], 0);
		set_hz(n % CLOCKS, 1 << n % 5);
		igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, commands, 9)).status, 0);
		igt_assert_eq(igt_perfctr_sample(&s, n), 0);
		while (igt_perfctr_unread(&s)) {
			worked += assert_consistent(&s, igt_perfctr_slot(&s, s.extract));
			__atomic_store_n(&s.control->extract_idx, ++s.extract, __ATOMIC_RELEASE);
		}
	}
	igt_assert_lt(48, worked);
	end_clocks(&s);
}

/* half of any clock is twice the time; counts stay the same */
static void slower(void)
{
	uint64_t fast_ns = 0;

	for (unsigned int i = 0; i <= CLOCKS; i++) {
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
		uint64_t begin_ns, job, took_ns;
		uint16_t counter;

		c.wait.duration_ns = 100000;
		if (i)
			set_hz(i - 1, 2);
		igt_vsoc_debugfs(&dev, "stepped", "1");
		igt_vsoc_truth(&dev, &before);
		begin_ns = igt_vsoc_device_ns(&dev);
		job = igt_vsoc_submit(&dev, &c, 1);
		do {
			struct drm_vsoc_wait w;

			igt_vsoc_debugfs_u64(&dev, "step_ns", 400);
			if (!igt_vsoc_wait_for(dev.fd, job, 0, &w))
				break;
		} while (igt_vsoc_device_ns(&dev) - begin_ns < MS);
		took_ns = igt_vsoc_device_ns(&dev) - begin_ns;
		igt_vsoc_debugfs(&dev, "stepped", "0");
		igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
		igt_vsoc_truth(&dev, &after);
		if (i)
			set_hz(i - 1, 1);
		counter = igt_vsoc_counter(&after, DRM_PERFCTR_MALI_BLOCK_CSHW, "GPU_ACTIVE");
		for (unsigned int k = 0; k < after.count; k++)
			if (after.at[k].type == DRM_PERFCTR_MALI_BLOCK_CSHW &&
			    after.at[k].counter == counter)
				igt_assert_eq_u64(after.at[k].value - before.at[k].value,
						  100000 + COMMAND_NS + JOB_START_NS + JOB_END_NS);
		if (!i)
			fast_ns = took_ns;
		igt_info("%s: %llu ns\n", i ? clocks[i - 1].file : "nominal",
			 (unsigned long long)took_ns);
		/* time moved in steps */
		if (i)
			igt_assert(took_ns >= 2 * fast_ns - 800 && took_ns <= 2 * fast_ns + 800);
	}
}

/* GPU timestamps convert to CLOCK_MONOTONIC_RAW within a tick at any clock */
static void time_bound(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_session s;
	uint64_t worst_ns = 0, apart;

	igt_perfctr_session_setup(&s, &dev, 4, 0);
	igt_vsoc_debugfs(&dev, "stepped", "1");
	c.wait.duration_ns = 200 * MS;
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	for (unsigned int i = 0; i < 60; i++) {
		set_hz(i % CLOCKS, 1 << i * 7 % 5);
		igt_vsoc_debugfs_u64(&dev, "step_ns", 1 + i * 12345 % 999983);
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 1);
		apart = s.last.end_ns > igt_vsoc_device_ns(&dev) ?
				s.last.end_ns - igt_vsoc_device_ns(&dev) :
				igt_vsoc_device_ns(&dev) - s.last.end_ns;
		worst_ns = apart > worst_ns ? apart : worst_ns;
	}
	for (unsigned int i = 0; i < CLOCKS; i++)
		set_hz(i, 1);
	igt_info("largest error: %llu ns\n", (unsigned long long)worst_ns);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_fini(&s);
	igt_assert_lte_u64(worst_ns, TICK_NS);
}

/* in real time a sample is taken between two reads of the clock */
static void time_bound_real(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_begin(&s);
	for (unsigned int i = 0; i < 40; i++) {
		uint64_t from_ns, to_ns;

		set_hz(SHADER_CLOCK, 1 << i % 4);
		igt_vsoc_work(&dev, i % 3);
		from_ns = igt_raw_ns();
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		to_ns = igt_raw_ns();
		igt_perfctr_drain(&s);
		igt_assert_lte_u64(from_ns, s.last.end_ns + TICK_NS);
		igt_assert_lte_u64(s.last.end_ns, to_ns + TICK_NS);
	}
	set_hz(SHADER_CLOCK, 1);
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_fini(&s);
}

static void stepped_time_exact(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
	const uint64_t V = 8000000;
	struct drm_vsoc_wait w;
	uint64_t job, t, D;

	c.draw.vertices = V;
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c, 1)).status, 0);
	igt_vsoc_truth(&dev, &after);
	/* a cycle for each ns, without those of the job's start and end */
	D = igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_CSHW, "GPU_ACTIVE") -
	    JOB_START_NS - JOB_END_NS;
	igt_vsoc_debugfs(&dev, "stepped", "1");
	t = igt_vsoc_device_ns(&dev);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, &job, NULL), 0);
	igt_sleep_ms(20);
	igt_assert_eq_u64(igt_vsoc_device_ns(&dev), t);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(
		igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_CSHW, "GPU_ACTIVE"), 0);
	igt_vsoc_debugfs_u64(&dev, "step_ns", JOB_START_NS);
	t += JOB_START_NS;
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_CSHW,
					 "GPU_ACTIVE"),
			  JOB_START_NS);
	igt_assert_eq_u64(igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_TILER, "VERTICES"),
			  0);
	for (uint64_t done = 0, ns = 1; done + ns < D; ns = ns * 3 + 7) {
		igt_vsoc_debugfs_u64(&dev, "step_ns", ns);
		done += ns;
		igt_assert_eq_u64(igt_vsoc_device_ns(&dev), t + done);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq_u64(igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_TILER,
						 "VERTICES"),
				  (uint64_t)((unsigned __int128)V * done / D));
		igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), -ETIME);
	}
	/* at a quarter of the clock it takes four times as long */
	set_hz(SHADER_CLOCK, 4);
	igt_vsoc_debugfs_u64(&dev, "step_ns", 4 * (D + JOB_END_NS));
	set_hz(SHADER_CLOCK, 1);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 1000 * MS, &w), 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_TILER, "VERTICES"),
			  V);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_vsoc_work(&dev, 1);
}

static void step_errors(void)
{
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "step_ns", "1"), -EINVAL);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "stepped", "0"), -EALREADY);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "stepped", "2"), -EINVAL);
	igt_vsoc_debugfs(&dev, "stepped", "1");
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "stepped", "1"), -EALREADY);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "step_ns", "3600000000000"), -ERANGE);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "profile", "nonsense"), -EINVAL);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "miscount", "nonsense"), -EINVAL);
}

/* binds the device again; @parameter: "Y" starts it with stepped time */
static void rebind(const char *parameter)
{
	igt_perfctr_close(&dev);
	igt_require_write("/sys/module/vsoc/parameters/stepped", parameter);
	igt_require_write("/sys/bus/platform/drivers/vsoc/unbind", "vsoc.0");
	igt_require_write("/sys/bus/platform/drivers/vsoc/bind", "vsoc.0");
	igt_assert(igt_perfctr_open_device(&dev, "vsoc.0"));
}

#define MAX_STEP_NS (1 << 17)

/* the whole ring after a run from the seed */
static size_t seeded_run(uint64_t seed, uint8_t **ring)
{
	struct igt_perfctr_session s;
	uint32_t ctx[CONTEXTS];
	struct igt_chance chance = { .seed = seed };
	uint64_t bytes;

	rebind("Y");
	igt_perfctr_session_setup(&s, &dev, 64, 0);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = igt_vsoc_ctx_create(dev.fd);
	igt_vsoc_debugfs_u64(&dev, "step_ns", 1000 + seed);
	igt_assert_eq(igt_perfctr_start(&s, seed), 0);
	for (unsigned int i = 0; i < 40; i++) {
		struct drm_vsoc_command c[4];

		igt_chance_begin(&chance, i);
		igt_vsoc_mixed(c, igt_chance_any(&chance, 16));
		memset(&c[3], 0, sizeof(c[3]));
		c[3].type = DRM_VSOC_CMD_SAMPLE;
		c[3].sample.handle = s.handle;
		c[3].sample.user_data = i;
		igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx[igt_chance_any(&chance, CONTEXTS)], c,
						 i % 4 ? 3 : 4, NULL, NULL),
			      0);
		igt_vsoc_debugfs_u64(&dev, "step_ns", igt_chance_any(&chance, MAX_STEP_NS));
		if (i % 3 == 0)
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	}
	igt_vsoc_debugfs_u64(&dev, "step_ns", 20 * MS);
	igt_assert_eq(igt_perfctr_stop(&s, 1), 0);
	bytes = (uint64_t)s.setup.slots * s.setup.slot_stride;
	*ring = malloc(bytes);
	igt_assert(*ring);
	memcpy(*ring, s.ring, bytes);
	igt_assert_lt(20, igt_perfctr_unread(&s));
	igt_perfctr_session_fini(&s);
	return bytes;
}

static void repeats(void)
{
	uint8_t *first, *second, *other;
	size_t bytes = seeded_run(7, &first);

	igt_assert_eq(seeded_run(7, &second), bytes);
	igt_assert_eq(seeded_run(8, &other), bytes);
	for (size_t i = 0; i < bytes; i++)
		igt_assert_f(first[i] == second[i], "byte %zu of %zu: %#x, %#x\n", i, bytes,
			     first[i], second[i]);
	igt_assert(memcmp(first, other, bytes));
	free(first);
	free(second);
	free(other);
}

/* a job needs the GPU for years; jobs of other contexts run, or report a reset */
static void job_timeout(const struct drm_vsoc_command *hostile)
{
	const uint64_t t0 = igt_raw_ns();
	struct drm_vsoc_command commands[3];
	struct igt_perfctr_session s;
	struct igt_account account;
	uint64_t job, victim;
	uint32_t ctx;

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_session_create(&s);
	igt_account_open(&account, &s, DRM_PERFCTR_SET_PRIMARY);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	ctx = igt_vsoc_ctx_create(dev.fd);
	igt_vsoc_debugfs_u64(&dev, "job_timeout_ms", TIMEOUT_MS);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, hostile, 1, &job, NULL), 0);
	igt_vsoc_mixed(commands, 1);
	victim = igt_vsoc_submit(&dev, commands, 3);
	igt_assert_eq(igt_vsoc_wait(&dev, job).status, -ECANCELED);
	igt_assert_eq(igt_vsoc_wait(&dev, victim).status, 0);
	igt_assert_lte_u64(TIMEOUT_MS * MS, igt_raw_ns() - t0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_vsoc_debugfs(&dev, "job_timeout_ms", DEFAULT_TIMEOUT_MS);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_perfctr_drain(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_RESET);
	igt_account_settle(&account, &totals);
	igt_perfctr_session_fini(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
}

/*
 * The context of a hung job is destroyed between the watchdog's decision and its reset, which must
 * not hit the next job. Returns false if this process was too late.
 */
static bool cancelled_before_reset(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW },
				next = { .type = DRM_VSOC_CMD_WAIT };
	const uint64_t resets = igt_vsoc_firmware(&dev, "resets");
	uint64_t hung, job;
	uint32_t ctx;
	bool in_time;

	c.draw.fragments = 1000;
	next.wait.duration_ns = AFTER_HANG_MS * MS;
	ctx = igt_vsoc_ctx_create(dev.fd);
	igt_fault_arm(&dev, "watchdog_late", 1);
	igt_fault_arm(&dev, "job_hang", 1);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, &c, 1, &hung, NULL), 0);
	job = igt_vsoc_submit(&dev, &next, 1);
	while (!igt_fault_hits(&dev, "watchdog_late"))
		usleep(1000);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	in_time = igt_vsoc_firmware(&dev, "resets") == resets;
	igt_assert_eq(igt_vsoc_wait(&dev, hung).status, -ECANCELED);
	igt_assert(!igt_vsoc_wait(&dev, job).status || !in_time);
	igt_assert(igt_vsoc_firmware(&dev, "resets") == resets || !in_time);
	igt_assert_eq(igt_fault_disarm(&dev, "job_hang"), 1);
	igt_assert_eq(igt_fault_disarm(&dev, "watchdog_late"), 1);
	return in_time;
}

static void watchdog_too_late(void)
{
	igt_vsoc_debugfs_u64(&dev, "fail_delay_ms", WATCHDOG_LATE_MS);
	for (unsigned int tries = 0; !cancelled_before_reset(); tries++)
		igt_assert_lt(tries, 20);
	igt_vsoc_debugfs(&dev, "fail_delay_ms", DEFAULT_DELAY_MS);
}

static void timeout_refused(void)
{
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "job_timeout_ms", "0"), -ERANGE);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "job_timeout_ms", "3600001"), -ERANGE);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "job_timeout_ms", "3600000"), 0);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "job_timeout_ms", DEFAULT_TIMEOUT_MS), 0);
}

int igt_main()
{
	static const uint64_t most = 1ull << 40;

	igt_fixture() {
		igt_require_f(igt_perfctr_open_device(&dev, "vsoc.0"), "no virtual SoC\n");
	}
	igt_subtest("cycles-consistent-stepped") consistent_stepped();
	igt_subtest("cycles-consistent-real") consistent_real();
	igt_subtest("slower-clock") slower();
	igt_subtest("job-timeout-wait")
	{
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };

		c.wait.duration_ns = most;
		job_timeout(&c);
	}
	igt_subtest("job-timeout-compute")
	{
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_COMPUTE };

		c.compute.threads = most;
		c.compute.instructions = 1000;
		job_timeout(&c);
	}
	igt_subtest("watchdog-too-late") watchdog_too_late();
	igt_subtest("job-timeout-errors") timeout_refused();
	igt_subtest("time-bound") time_bound();
	igt_subtest("time-bound-real") time_bound_real();
	igt_subtest("stepped-time-exact") stepped_time_exact();
	igt_subtest("step-errors") step_errors();
	igt_subtest("stepped-repeats") repeats();
	igt_fixture() {
		rebind("N");
		igt_perfctr_close(&dev);
	}
}
