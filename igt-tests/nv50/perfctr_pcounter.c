// SPDX-License-Identifier: MIT
/**
 * TEST: PCOUNTER and MP counters: exact counts, contexts, hardware that does not answer
 * Description: NVIDIA-style counters that fit in one pass.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_vsoc.h"
#include "igt_nv50.h"
#include "igt_sys.h"

#define TPCS 4
#define WARP 16
#define JOBS 40
/* the fastest domain has 800 MHz: 2^32 clocks are 5.4 s; the shaders' has 500 MHz: 8.6 s */
#define SATURATION_NS 6000000000ull

/* not predictable: gpu_idle also counts while nothing runs */
static bool is_idle(const char *name)
{
	return !strcmp(name, "gpu_idle");
}

static void single_exact(void)
{
	struct igt_perfctr_session s;
	unsigned int compared = 0;

	igt_nv50_read_before();
	for (unsigned int i = 0; i < igt_nv50.before.count; i++) {
		const char *name = igt_nv50.before.at[i].name;

		if (is_idle(name) || igt_nv50.before.at[i].index != igt_nv50_counter(name).index)
			continue;
		igt_nv50_session_init(&s, 0);
		igt_nv50_want(&s, name);
		igt_perfctr_session_open(&s);
		igt_nv50_start(&s);
		igt_nv50_work(i);
		igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
		igt_nv50_work(i + 1);
		igt_nv50_finish(&s);
		igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
		igt_nv50_assert_conserved(&s);
		igt_assert_eq_u64(igt_nv50_ran(&s, name), igt_nv50_sum(&s, name)->time_enabled);
		compared += igt_nv50_truth(name) != 0;
		igt_perfctr_session_close(&s);
	}
	/* no work for points, lines, stream output, triggers, serialisation */
	igt_assert_lte(40, compared);
}

static void together_exact(void)
{
	struct igt_perfctr_session s;
	static const char *const names[] = {
		"gpu_busy",
		"setup_primitive_count",
		"geom_primitive_in_count",
		"input_assembler_busy",
		"rop_busy",
		"rop_waits_for_shader",
		"shader_busy",
		"branch",
		"divergent_branch",
		"instructions",
		"warp_serialize",
	};

	igt_nv50_session_init(&s, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		igt_nv50_want(&s, names[i]);
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	for (unsigned int n = 0; n < 10; n++) {
		igt_nv50_work(n);
		igt_assert_eq(igt_perfctr_sample(&s, n), 0);
	}
	igt_nv50_finish(&s);
	igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
	igt_nv50_assert_conserved(&s);
	igt_perfctr_session_close(&s);
}

static void suspend(void)
{
	struct igt_perfctr_session s;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, "gpu_busy");
	igt_nv50_want(&s, "setup_primitive_count");
	igt_nv50_want(&s, "instructions");
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	igt_nv50_work(0);
	igt_suspend(&igt_nv50.dev);
	igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
	igt_perfctr_drain(&s);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	igt_power(&igt_nv50.dev, "on");
	igt_nv50_work(1);
	igt_nv50_finish(&s);
	igt_assert_eq_u64(s.lost_ns, 0);
	igt_nv50_assert_conserved(&s);
	igt_perfctr_session_close(&s);
}

static void overflow(void)
{
	struct igt_perfctr_session s;
	uint64_t collections, since_ns, lost_ns;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, "gpu_idle");
	igt_nv50_want(&s, "setup_primitive_count");
	igt_nv50_want(&s, "shader_busy");
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	igt_nv50_work(0);
	do {
		igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "1");
		/* virtual time is never ahead of real time */
		usleep(SATURATION_NS / 1000);
		igt_perfctr_sample_and_drain(&s);
		since_ns = igt_raw_ns();
		collections = igt_nv50_sampler("collections");
		igt_nv50_step(SATURATION_NS);
		lost_ns = igt_raw_ns() - since_ns;
		igt_perfctr_sample_and_drain(&s);
		igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "0");
		/* a collection of the sampler in between has the loss: repeat */
	} while (igt_nv50_sampler("collections") != collections + 1);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	igt_assert_lte_u64(lost_ns, s.last.lost_ns);
	igt_assert_lte_u64(s.last.lost_ns, s.last.end_ns - s.last.start_ns);
	igt_assert(igt_nv50_sum(&s, "gpu_idle")->states & DRM_PERFCTR_STATE_LOST);
	igt_assert(igt_nv50_sum(&s, "gpu_idle")->states & DRM_PERFCTR_STATE_SATURATED);
	/* the clock of this domain is slow enough */
	igt_assert_eq_u32(igt_nv50_sum(&s, "shader_busy")->states &
				  (DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_SATURATED),
			  0);
	igt_nv50_work(1);
	igt_nv50_finish(&s);
	igt_assert_eq_u32(s.last.flags & DRM_PERFCTR_SAMPLE_OVERFLOW, 0);
	igt_assert_eq_u64(s.last.lost_ns, 0);
	igt_assert_lte_u64(igt_nv50_value(&s, "gpu_idle") + 1, igt_nv50_truth("gpu_idle"));
	/* counters that did not saturate have all counts */
	igt_assert_eq_u64(igt_nv50_value(&s, "setup_primitive_count"),
			  igt_nv50_truth("setup_primitive_count"));
	igt_assert_eq_u64(igt_nv50_value(&s, "shader_busy"), igt_nv50_truth("shader_busy"));
	igt_perfctr_session_close(&s);
}

static void reset(void)
{
	struct igt_perfctr_session s;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, "setup_primitive_count");
	igt_nv50_want(&s, "instructions");
	igt_perfctr_begin(&s);
	igt_nv50_work(0);
	igt_vsoc_debugfs(&igt_nv50.dev, "reset", "1");
	igt_nv50_read_before();
	igt_nv50_work(1);
	igt_nv50_finish(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_RESET);
	igt_nv50_assert_conserved(&s);
	igt_perfctr_session_close(&s);
}

static void exact_tests(void)
{
	igt_describe("each counter alone counts exactly, all the time");
	igt_nv50_subtest("single-exact") single_exact();
	igt_describe("counters of all domains and of the TPCs count together if nothing conflicts");
	igt_nv50_subtest("together-exact") together_exact();
	igt_describe("nothing counts and nothing is lost during suspend, and samples have "
		     "SUSPENDED");
	igt_nv50_subtest("suspend") suspend();
	igt_describe("saturated 32-bit counters are reported with their block and the time of "
		     "possible loss");
	igt_nv50_subtest("overflow") overflow();
	igt_describe("after a reset the counters start again from zero, and the samples report it");
	igt_nv50_subtest("reset") reset();
}

/* counts of samples with odd user_data, each since the sample with even user_data before it */
static uint64_t inside(struct igt_perfctr_session *s, uint16_t position)
{
	uint64_t sum = 0;

	for (uint64_t i = s->extract; i != s->extract + igt_perfctr_unread(s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(s, i);

		if (!(h->flags & DRM_PERFCTR_SAMPLE_IN_STREAM) || !(h->user_data & 1))
			continue;
		for (unsigned int b = 0; b < igt_nv50.dev.block_count; b++)
			if (igt_nv50.dev.blocks[b].type == DRM_PERFCTR_NV50_BLOCK_MP)
				sum += igt_perfctr_value(h, DRM_PERFCTR_NV50_BLOCK_MP,
							 igt_nv50.dev.blocks[b].index, position);
	}
	return sum;
}

static void context_tests(void)
{
	/* different shaders: threads and instructions of each */
	static const struct {
		uint32_t threads, instructions;
	} shaders[2] = { { 16000, 64 }, { 4800, 160 } };

	igt_describe("two contexts with different shaders: MP counts are per context, PCOUNTER "
		     "has the sum");
	igt_nv50_subtest("contexts")
	{
		struct igt_perfctr_session s[2], all;
		struct drm_vsoc_command c[2][3];
		uint64_t jobs[2] = { 0, 0 }, busy = 0, instructions = 0;
		uint32_t ctx[2] = { 0, 0 };

		igt_nv50_session_init(&all, 0);
		igt_nv50_want(&all, "shader_busy");
		igt_nv50_want(&all, "instructions");
		igt_perfctr_session_open(&all);
		for (unsigned int i = 0; i < 2; i++) {
			igt_nv50_session_init(&s[i], 0);
			igt_nv50_want(&s[i], "instructions");
			igt_nv50_want(&s[i], "branch");
			igt_perfctr_session_open(&s[i]);
			ctx[i] = igt_vsoc_ctx_create(igt_nv50.dev.fd);
			memset(c[i], 0, sizeof(c[i]));
			c[i][0] = igt_vsoc_sample(&s[i], 2);
			c[i][2] = igt_vsoc_sample(&s[i], 3);
			c[i][1].type = DRM_VSOC_CMD_COMPUTE;
			c[i][1].compute.threads = shaders[i].threads;
			c[i][1].compute.instructions = shaders[i].instructions;
			igt_assert_eq(igt_perfctr_start(&s[i], 0), 0);
		}
		igt_nv50_start(&all);
		for (unsigned int n = 0; n < JOBS; n++)
			for (unsigned int i = 0; i < 2; i++)
				igt_assert_eq(igt_vsoc_submit_to(igt_nv50.dev.fd, ctx[i], c[i], 3,
								 &jobs[i], NULL),
					      0);
		for (unsigned int i = 0; i < 2; i++)
			igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, jobs[i]).status, 0);
		igt_nv50_finish(&all);

		for (unsigned int i = 0; i < 2; i++) {
			const uint64_t warps = shaders[i].threads / WARP;
			const uint64_t each = warps * shaders[i].instructions;

			igt_assert_eq_u64(inside(&s[i], igt_nv50_counter("instructions").position),
					  JOBS * each);
			/* one of sixteen instructions is a branch */
			igt_assert_eq_u64(inside(&s[i], igt_nv50_counter("branch").position),
					  JOBS * each / 16);
			instructions += JOBS * each;
			busy += JOBS * 4 * (warps / TPCS) * shaders[i].instructions;
			igt_perfctr_finish(&s[i]);
			igt_perfctr_session_close(&s[i]);
		}
		igt_nv50_assert_conserved(&all);
		igt_assert_eq_u64(igt_nv50_truth("instructions"), instructions);
		igt_assert_eq_u64(igt_nv50_value(&all, "shader_busy"), busy);
		igt_perfctr_session_close(&all);
	}
}

/* many times the time-out of a request */
#define TIME_LIMIT_NS (60000 * MS)
#define FAULT_FLAGS                                                                          \
	(DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_RESET | \
	 DRM_PERFCTR_SAMPLE_MULTIPLEXED)
#define LACKS (DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_SATURATED)

static const struct {
	const char *test, *text, *fault;
	/* each of the eight domains is requested in QUAD mode, all at once while it records */
	unsigned int times;
	uint64_t period_ns;
	uint32_t must;
	/* counts are destroyed rather than late */
	bool loses;
} faults[] = {
	{ "fault-lost", "PCOUNTER delivers no packet: both sessions report it and lose no count",
	  "pcounter_lost", 8, 0, DRM_PERFCTR_SAMPLE_ERROR, false },
	{ "fault-late", "PCOUNTER delivers packets late: both sessions report it and lose no count",
	  "pcounter_late", 8, 0, DRM_PERFCTR_SAMPLE_ERROR, false },
	{ "fault-twice",
	  "PCOUNTER delivers a packet twice: both sessions report it and exceed no true "
	  "count",
	  "pcounter_twice", 8, 0, DRM_PERFCTR_SAMPLE_OVERFLOW, true },
	{ "fault-record-lost", "the same as fault-lost while PCOUNTER records", "pcounter_lost", 1,
	  IGT_NV50_RECORD_PERIOD_NS, DRM_PERFCTR_SAMPLE_ERROR, false },
	{ "fault-record-late", "the same as fault-late while PCOUNTER records", "pcounter_late", 1,
	  IGT_NV50_RECORD_PERIOD_NS, DRM_PERFCTR_SAMPLE_ERROR, false },
};
#define FAULTS ARRAY_SIZE(faults)

static uint32_t states_of(const struct igt_perfctr_session *s)
{
	uint32_t states = 0;

	for (unsigned int b = 0; b < s->layout.block_count; b++)
		states |= s->sums[b].states;
	return states;
}

static void assert_clean(struct igt_perfctr_session *s)
{
	igt_perfctr_sample_with_room(s);
	/* ends the lost time that an earlier sample reported */
	igt_perfctr_sample_with_room(s);
	igt_perfctr_drain(s);
	igt_assert_eq_u32(s->last.flags & FAULT_FLAGS, 0);
	igt_assert_eq_u64(s->last.lost_ns, 0);
}

static void fault(unsigned int i)
{
	static const char *const names[] = { "gpu_busy", "setup_primitive_count", "shader_busy" };
	static const char *const other[] = { "gpu_busy", "rop_busy" };
	const uint64_t t0 = igt_raw_ns();
	struct igt_perfctr_session s, t;

	igt_nv50_session_create(&s, faults[i].period_ns, names, 3);
	igt_nv50_session_create(&t, 0, other, 2);
	igt_nv50_start(&s);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	igt_assert_eq(igt_perfctr_is_batched(&s), faults[i].period_ns != 0);
	igt_nv50_work(1);
	assert_clean(&s);
	assert_clean(&t);
	igt_nv50_work(2);
	igt_fault_arm(&igt_nv50.dev, faults[i].fault, faults[i].times);
	do {
		igt_perfctr_sample_and_drain(&t);
		igt_perfctr_drain(&s);
	} while (igt_fault_hits(&igt_nv50.dev, faults[i].fault) < faults[i].times);
	igt_assert_eq(igt_fault_disarm(&igt_nv50.dev, faults[i].fault), faults[i].times);
	igt_nv50_work(3);
	assert_clean(&s);
	assert_clean(&t);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_perfctr_drain(&s);
	igt_perfctr_drain(&t);
	igt_nv50_read_after();

	/* a machine that stood still for too long lost recorded counts, as the samples report */
	if (faults[i].period_ns && s.flags & ~faults[i].must & DRM_PERFCTR_SAMPLE_OVERFLOW) {
		igt_assert_lte_u64(1, s.lost_ns);
		igt_perfctr_session_close(&t);
		igt_perfctr_session_close(&s);
		return;
	}
	igt_assert_eq_u32(s.flags & FAULT_FLAGS, faults[i].must);
	igt_assert_eq_u32(t.flags & FAULT_FLAGS, faults[i].must);
	igt_assert_eq(s.lost_ns != 0, faults[i].loses);
	igt_assert_eq(t.lost_ns != 0, faults[i].loses);
	igt_assert_eq_u32(states_of(&s) & LACKS, faults[i].loses ? DRM_PERFCTR_STATE_LOST : 0);
	if (faults[i].loses) {
		for (unsigned int n = 0; n < 3; n++)
			igt_assert_lte_u64(igt_nv50_value(&s, names[n]), igt_nv50_truth(names[n]));
		/* the fault destroyed the work before it */
		igt_assert_lte_u64(igt_nv50_value(&t, "rop_busy") + 1, igt_nv50_truth("rop_busy"));
	} else {
		igt_nv50_assert_conserved(&s);
		igt_nv50_assert_conserved(&t);
	}
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&t);
}

/* @newcomer: a counter; @touched: its domain already counts */
static void start_unanswered(uint64_t period_ns, const char *newcomer, bool touched)
{
	static const char *const names[] = { "gpu_busy", "shader_busy" };
	struct igt_perfctr_session s, t;
	uint64_t t0;

	igt_nv50_session_create(&s, period_ns, names, 2);
	igt_nv50_session_create(&t, 0, &newcomer, 1);
	igt_nv50_start(&s);
	igt_nv50_work(1);
	igt_fault_arm(&igt_nv50.dev, "pcounter_late", UINT32_MAX);
	t0 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_start(&t, 0), -EIO);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_assert_lt(0, igt_fault_disarm(&igt_nv50.dev, "pcounter_late"));
	igt_nv50_work(2);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	igt_assert_eq(igt_perfctr_is_batched(&s), period_ns != 0);
	assert_clean(&s);
	igt_nv50_work(3);
	igt_perfctr_finish(&t);
	igt_assert_eq_u32(t.flags & FAULT_FLAGS, 0);
	igt_assert_lte_u64(1, igt_nv50_value(&t, newcomer));
	igt_nv50_finish(&s);
	igt_assert_eq_u32(s.flags & FAULT_FLAGS & ~DRM_PERFCTR_SAMPLE_OVERFLOW,
			  DRM_PERFCTR_SAMPLE_ERROR);
	/* an unchanged domain continues, and is read when it answers */
	igt_assert_eq_u32(igt_nv50_sum(&s, "shader_busy")->states & LACKS, 0);
	igt_assert_eq_u64(igt_nv50_value(&s, "shader_busy"), igt_nv50_truth("shader_busy"));
	if (touched) {
		igt_assert(igt_nv50_sum(&s, "gpu_busy")->states & DRM_PERFCTR_STATE_LOST);
		igt_assert_lte_u64(1, s.lost_ns);
		igt_assert_lte_u64(igt_nv50_value(&s, "gpu_busy"), igt_nv50_truth("gpu_busy"));
	} else {
		igt_assert_eq_u32(states_of(&s) & LACKS, 0);
		igt_nv50_assert_conserved(&s);
	}
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&t);
}

static void fault_tests(void)
{
	for (unsigned int i = 0; i < FAULTS; i++) {
		igt_describe(faults[i].text);
		igt_nv50_subtest(faults[i].test)
		{
			fault(i);
		}
	}
	igt_describe("START of hardware that does not answer is -EIO in bounded time; an active "
		     "session has all counts of unaffected domains");
	igt_nv50_subtest("fault-start-beside")
	{
		start_unanswered(0, "rop_busy", false);
		start_unanswered(0, "setup_primitive_count", true);
	}
	igt_describe("the same while PCOUNTER records");
	igt_nv50_subtest("fault-start-beside-record")
	{
		start_unanswered(IGT_NV50_RECORD_PERIOD_NS, "rop_busy", false);
		start_unanswered(IGT_NV50_RECORD_PERIOD_NS, "setup_primitive_count", true);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_nv50_add();
	}
	exact_tests();
	context_tests();
	fault_tests();
	igt_fixture() {
		igt_nv50_remove();
	}
}
