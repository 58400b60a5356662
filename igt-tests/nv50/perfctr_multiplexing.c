// SPDX-License-Identifier: MIT
/**
 * TEST: Multiplexed PCOUNTER and MP counters
 * Description: Scaled counts of more NVIDIA-style counters than fit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_random.h"
#include "igt_nv50.h"

#define TURNS 60

/* slots of each pass in stepped time, all of the same length */
#define STEADY_TURNS 30
#define RANDOM_SLOTS 100
/* fragments of a job that is shorter than a slot */
#define RANDOM_FRAGMENTS 200000
/* random counters after the fixed ones: requests, and slices of each */
#define REQUESTS 4
#define REQUEST_SLICES 200
/* counters of the database, and the passes for all of them */
#define ALL_COUNTERS 53
#define ALL_PASSES 10
/* counts that may be missing at an end of a slot: those of one clock, or held back */
#define EDGE_COUNTS 32

/* the counter's sum over all blocks that have it, which share a slot */
static uint64_t counted(const struct igt_perfctr_session *s, const char *name)
{
	const struct igt_nv50_counter c = igt_nv50_counter(name);
	uint64_t value = 0;

	for (unsigned int b = 0; b < s->layout.block_count; b++)
		if (s->sums[b].type == c.type &&
		    (c.type == DRM_PERFCTR_NV50_BLOCK_MP || s->sums[b].index == c.index))
			value += s->sums[b].value[c.position];
	return value;
}

static double scaled(const struct igt_perfctr_session *s, const char *name)
{
	const double count = counted(s, name);

	return count * igt_nv50_sum(s, name)->time_enabled / igt_nv50_ran(s, name);
}

static void begin_stepped(struct igt_perfctr_session *s, const char *const *names,
			  unsigned int count)
{
	igt_nv50_session_init(s, 0);
	for (unsigned int i = 0; i < count; i++)
		igt_nv50_want(s, names[i]);
	/* a counter that never waits for a slot */
	igt_nv50_want(s, "gpu_busy");
	igt_perfctr_session_open(s);
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "1");
}

static uint64_t collections;

static void start_stepped(struct igt_perfctr_session *s)
{
	collections = igt_nv50_sampler("collections");
	/* the job is past its beginning; all clocks have the same time */
	igt_nv50_step(IGT_NV50_SLICE_NS);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
	/* time moves in steps only: the session starts and stops exactly here */
	igt_nv50_read_before();
}

static void stop_stepped(struct igt_perfctr_session *s, const char *const *names,
			 unsigned int count, unsigned int turns)
{
	igt_nv50_read_after();
	igt_perfctr_finish(s);
	igt_assert(s->flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_assert_eq_u64(igt_nv50_value(s, "gpu_busy"), igt_nv50_truth("gpu_busy"));
	/* a collection takes a nanosecond of stopped time */
	collections = igt_nv50_sampler("collections") - collections;
	for (unsigned int i = 0; i < count; i++) {
		igt_assert_lte_u64(turns * IGT_NV50_SLICE_NS, igt_nv50_ran(s, names[i]));
		igt_assert_lte_u64(igt_nv50_ran(s, names[i]),
				   turns * IGT_NV50_SLICE_NS + collections);
	}
}

/* compares virtual time only, which does not depend on the host */
static void assert_steady_is_scaled(const char *const *names, unsigned int count,
				    const struct drm_vsoc_command *c)
{
	const double bound = (count * STEADY_TURNS + 1.0) * EDGE_COUNTS;
	struct igt_perfctr_session s;
	uint64_t job;

	begin_stepped(&s, names, count);
	job = igt_vsoc_submit(&igt_nv50.dev, c, 1);
	start_stepped(&s);
	for (unsigned int n = 0; n < count * STEADY_TURNS; n++) {
		igt_nv50_step(IGT_NV50_SLICE_NS);
		igt_perfctr_sample_and_drain(&s);
	}
	stop_stepped(&s, names, count, STEADY_TURNS);
	for (unsigned int i = 0; i < count; i++) {
		const double error = scaled(&s, names[i]) - igt_nv50_truth(names[i]);

		igt_info("%s: truth %llu, scaled %.0f: %+.0f, at most %.0f\n", names[i],
			 (unsigned long long)igt_nv50_truth(names[i]), scaled(&s, names[i]), error,
			 bound);
		igt_assert_f(error * error <= bound * bound, "%s is too far off\n", names[i]);
		/* with less work any value would be within the bound */
		igt_assert_f(10 * bound <= igt_nv50_truth(names[i]), "%s: too little work\n",
			     names[i]);
	}
	/* the job ran until the end */
	igt_nv50.before = igt_nv50.after;
	igt_nv50_step(IGT_NV50_SLICE_NS);
	igt_nv50_read_after();
	for (unsigned int i = 0; i < count; i++)
		igt_assert_lte_u64(1, igt_nv50_truth(names[i]));
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "0");
	igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, job).status, 0);
	igt_perfctr_session_close(&s);
}

static void assert_random_is_scaled(const char *const *names, unsigned int count)
{
	/* S slots of N, rates evenly distributed: six standard errors */
	const double turns = RANDOM_SLOTS, all = (double)count * RANDOM_SLOTS;
	const double variance = (all - turns) / (3 * turns * all);
	struct igt_perfctr_session s;
	struct igt_chance chance = { .seed = 1 };
	uint64_t job = 0;

	begin_stepped(&s, names, count);
	start_stepped(&s);
	for (unsigned int n = 0; n < count * RANDOM_SLOTS; n++) {
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };

		igt_chance_begin(&chance, n);
		c.draw.fragments = 1 + igt_chance_any(&chance, RANDOM_FRAGMENTS);
		job = igt_vsoc_submit(&igt_nv50.dev, &c, 1);
		igt_nv50_step(IGT_NV50_SLICE_NS);
		igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, job).status, 0);
		igt_perfctr_sample_and_drain(&s);
	}
	stop_stepped(&s, names, count, RANDOM_SLOTS);
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "0");
	for (unsigned int i = 0; i < count; i++) {
		const double error = scaled(&s, names[i]) / igt_nv50_truth(names[i]) - 1;

		igt_info("%s: %+.2f %%\n", names[i], 100 * error);
		igt_assert_f(error * error <= 36 * variance, "%s is too far off\n", names[i]);
	}
	igt_perfctr_session_close(&s);
}

/* seed of the requests, to repeat a failure */
static uint64_t request_seed(void)
{
	const char *text = getenv("PERFCTR_SEED");

	return text && *text ? strtoull(text, NULL, 0) : 1;
}

/* names of all counters, each once */
static unsigned int all_names(const char *names[ALL_COUNTERS])
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < igt_nv50.before.count; i++) {
		const struct igt_true_counter *c = &igt_nv50.before.at[i];
		unsigned int k = 0;

		if (c->type != DRM_PERFCTR_NV50_BLOCK_PCOUNTER &&
		    c->type != DRM_PERFCTR_NV50_BLOCK_MP)
			continue;
		while (k < count && strcmp(names[k], c->name))
			k++;
		if (k < count)
			continue;
		igt_assert_lt(count, ALL_COUNTERS);
		names[count++] = c->name;
	}
	return count;
}

/* a draw and a compute of random size, which end within the slice */
static void submit_any(struct igt_chance *chance)
{
	struct drm_vsoc_command c[2] = { { .type = DRM_VSOC_CMD_DRAW },
					 { .type = DRM_VSOC_CMD_COMPUTE } };
	uint64_t job;

	c[0].draw.vertices = 1 + igt_chance_any(chance, 40000);
	c[0].draw.primitives = 1 + igt_chance_any(chance, 20000);
	c[0].draw.primitives_culled = igt_chance_any(chance, c[0].draw.primitives + 1);
	c[0].draw.fragments = 1 + igt_chance_any(chance, RANDOM_FRAGMENTS);
	c[0].draw.texels = igt_chance_any(chance, RANDOM_FRAGMENTS);
	c[1].compute.threads = 1 + igt_chance_any(chance, 40000);
	c[1].compute.instructions = 1 + igt_chance_any(chance, 64);
	job = igt_vsoc_submit(&igt_nv50.dev, c, 2);
	igt_nv50_step(IGT_NV50_SLICE_NS);
	igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, job).status, 0);
}

struct slices {
	const char *name;
	double sum, squares; /* counts of each slice */
	uint64_t own; /* counts of the slices in which the counter ran */
	uint64_t ran_ns;
};

/*
 * A counter with S of N slices: N times the standard error of the mean of a sample without
 * replacement, from the known counts of each slice.
 */
static double standard_error(const struct slices *c, double ran)
{
	const double n = REQUEST_SLICES, mean = c->sum / n;
	const double variance = (c->squares - n * mean * mean) / (n - 1);

	return n * sqrt(fmax(variance, 0) / ran * (1 - ran / n));
}

static void assert_one_is_scaled(const struct igt_perfctr_session *s, const struct slices *c)
{
	const uint64_t ran_ns = igt_nv50_ran(s, c->name);
	const double ran = round((double)ran_ns / IGT_NV50_SLICE_NS);
	double error, bound;

	igt_assert_f(ran >= REQUEST_SLICES / ALL_PASSES, "%s had %.0f of %u slices\n", c->name, ran,
		     REQUEST_SLICES);
	igt_assert_f(counted(s, c->name) == c->own, "%s: %llu in its own slots, not %llu\n",
		     c->name, (unsigned long long)counted(s, c->name), (unsigned long long)c->own);
	if (igt_nv50_ran(s, c->name) == igt_nv50_sum(s, c->name)->time_enabled)
		igt_assert_f(c->own == c->sum, "%s is not exact\n", c->name);
	error = scaled(s, c->name) - c->sum;
	/* a collection takes a nanosecond */
	bound = 6 * standard_error(c, ran) + c->sum * 1e-5;
	igt_assert_f(fabs(error) <= bound,
		     "%s: truth %.0f, scaled %.0f with %.0f of %u slices: off by %.0f, not %.0f\n",
		     c->name, c->sum, scaled(s, c->name), ran, REQUEST_SLICES, error, bound);
}

/* counts @wanted random counters; returns how many were multiplexed */
static unsigned int assert_any_are_scaled(struct igt_chance *chance, unsigned int wanted)
{
	const char *names[ALL_COUNTERS];
	struct slices slices[ALL_COUNTERS] = { 0 };
	unsigned int turns = 0;
	struct igt_perfctr_session s;

	igt_assert_eq(all_names(names), ALL_COUNTERS);
	igt_nv50_session_init(&s, 0);
	for (unsigned int i = 0; i < wanted; i++) {
		const unsigned int k = i + igt_chance_any(chance, ALL_COUNTERS - i);

		slices[i].name = names[k];
		names[k] = names[i];
		igt_nv50_want(&s, slices[i].name);
	}
	igt_perfctr_session_open(&s);
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "1");
	start_stepped(&s);
	for (unsigned int n = 0; n < REQUEST_SLICES; n++) {
		submit_any(chance);
		igt_nv50_read_after();
		igt_perfctr_sample_and_drain(&s);
		for (unsigned int i = 0; i < wanted; i++) {
			const double count = igt_nv50_truth(slices[i].name);
			const uint64_t ran_ns = igt_nv50_ran(&s, slices[i].name);

			slices[i].sum += count;
			slices[i].squares += count * count;
			if (ran_ns - slices[i].ran_ns > IGT_NV50_SLICE_NS / 2)
				slices[i].own += count;
			slices[i].ran_ns = ran_ns;
		}
		igt_nv50.before = igt_nv50.after;
	}
	igt_perfctr_finish(&s);
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "0");
	for (unsigned int i = 0; i < wanted; i++) {
		assert_one_is_scaled(&s, &slices[i]);
		turns += igt_nv50_ran(&s, slices[i].name) <
			 igt_nv50_sum(&s, slices[i].name)->time_enabled;
	}
	igt_assert_eq(!!(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED), turns > 0);
	igt_perfctr_session_close(&s);
	igt_info("%u counters, %u multiplexed\n", wanted, turns);
	return turns;
}

/* with up to three passes, a share of a tenth is not starvation */
static bool has_share(const struct igt_perfctr_session *s, const char *name)
{
	const uint64_t ns = igt_nv50_ran(s, name), enabled_ns = igt_nv50_sum(s, name)->time_enabled;

	igt_info("%s: %llu of %llu us\n", name, (unsigned long long)(ns / 1000),
		 (unsigned long long)(enabled_ns / 1000));
	return enabled_ns && 10 * ns >= enabled_ns;
}

/* each needs another value of one multiplexer: one counts at a time */
static const char *const names[] = { "rop_busy", "rop_samples_in_count_1", "shaded_pixel_count_0",
				     "shaded_pixel_count_2" };
static const char *const shared[] = { "shader_busy", "sm_cta_launched" };
/* the last one is the remainder at the end of a command */
enum { NAMES = ARRAY_SIZE(names), STEADY_NAMES = NAMES - 1 };

static void multiplexed_steady(void)
{
	struct drm_vsoc_command steady = { 0 };

	steady.type = DRM_VSOC_CMD_DRAW;
	steady.draw.vertices = 24000000;
	steady.draw.primitives = 8000000;
	steady.draw.primitives_culled = 2400000;
	steady.draw.fragments = 400000000;
	steady.draw.texels = 560000000;
	assert_steady_is_scaled(names, STEADY_NAMES, &steady);
}

static void multiplexed_random_requests(void)
{
	struct igt_chance chance = { .seed = request_seed() };

	igt_info("repeat with PERFCTR_SEED=%llu\n", (unsigned long long)chance.seed);
	igt_chance_begin(&chance, 0);
	igt_assert_lt(20, assert_any_are_scaled(&chance, ALL_COUNTERS));
	for (unsigned int n = 1; n < REQUESTS; n++) {
		igt_chance_begin(&chance, n);
		assert_any_are_scaled(&chance, 2 + igt_chance_any(&chance, ALL_COUNTERS - 1));
	}
}

static void shared_multiplexer_steady(void)
{
	struct drm_vsoc_command steady = { 0 };

	memset(&steady, 0, sizeof(steady));
	steady.type = DRM_VSOC_CMD_COMPUTE;
	steady.compute.threads = 120000000;
	steady.compute.instructions = 16;
	assert_steady_is_scaled(shared, 2, &steady);
}

static void multiplexed(void)
{
	struct igt_perfctr_session s;
	uint64_t longest = 0, last = 0, sum = 0, enabled, least = ~0ull, most = 0;

	igt_nv50_session_init(&s, 0);
	for (unsigned int i = 0; i < NAMES; i++)
		igt_nv50_want(&s, names[i]);
	/* a counter that never waits for a slot */
	igt_nv50_want(&s, "gpu_busy");
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	/* until each has had enough slots, however long it takes */
	for (unsigned int n = 0; n < TURNS || least < 2 * IGT_NV50_SLICE_NS; n++) {
		igt_nv50_work(n);
		igt_assert_eq(igt_perfctr_sample(&s, n), 0);
		igt_perfctr_drain(&s);
		if (last && s.last.end_ns - last > longest)
			longest = s.last.end_ns - last;
		last = s.last.end_ns;
		least = ~0ull;
		for (unsigned int i = 0; i < NAMES; i++)
			if (igt_nv50_ran(&s, names[i]) < least)
				least = igt_nv50_ran(&s, names[i]);
	}
	igt_nv50_finish(&s);
	if (s.last.end_ns - last > longest)
		longest = s.last.end_ns - last;

	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	enabled = igt_nv50_sum(&s, names[0])->time_enabled;
	least = ~0ull;
	for (unsigned int i = 0; i < NAMES; i++) {
		const uint64_t ns = igt_nv50_ran(&s, names[i]);

		sum += ns;
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		igt_assert_lte_u64(igt_nv50_value(&s, names[i]), igt_nv50_truth(names[i]));
		igt_assert_lte_u64(1, igt_nv50_value(&s, names[i]));
	}
	/* exactly one of them had the slot at any time */
	igt_assert_eq_u64(sum, enabled);
	/* a slot ends with the first collection after its time */
	igt_assert_lte_u64(most - least, 2 * (IGT_NV50_SLICE_NS + longest));
	igt_assert_eq_u64(igt_nv50_ran(&s, "gpu_busy"), igt_nv50_sum(&s, "gpu_busy")->time_enabled);
	igt_assert_eq_u64(igt_nv50_value(&s, "gpu_busy"), igt_nv50_truth("gpu_busy"));
	igt_perfctr_session_close(&s);
}

static void join_and_leave(void)
{
	struct igt_perfctr_session s, t;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, "rop_busy");
	igt_nv50_session_init(&t, 0);
	igt_nv50_want(&t, "rop_samples_in_count_1");
	igt_perfctr_session_open(&s);
	igt_perfctr_session_open(&t);
	igt_nv50_start(&s);
	igt_nv50_work(1);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
	igt_perfctr_drain(&s);
	igt_nv50_read_after();
	/* all work ended before the counter had to share */
	igt_assert_eq_u64(igt_nv50_value(&s, "rop_busy"), igt_nv50_truth("rop_busy"));
	for (unsigned int n = 0; n < TURNS || !igt_nv50_ran(&t, "rop_samples_in_count_1"); n++) {
		igt_nv50_work(n);
		igt_assert_eq(igt_perfctr_sample(&t, n), 0);
		igt_perfctr_drain(&t);
	}
	igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
	igt_perfctr_drain(&s);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_perfctr_session_close(&t);
	/* alone once the worker has run: then a span of several turns is exact */
	for (unsigned int n = 0; s.last.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED; n++) {
		igt_assert_lt(n, 100);
		usleep(50000);
		igt_perfctr_sample_and_drain(&s);
	}
	{
		const uint64_t value = igt_nv50_value(&s, "rop_busy");

		igt_nv50_read_before();
		igt_nv50_work(7);
		igt_assert_eq(igt_perfctr_stop(&s, 4), 0);
		igt_perfctr_drain(&s);
		igt_nv50_read_after();
		igt_assert_eq_u32(s.last.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
		igt_assert_eq_u64(igt_nv50_value(&s, "rop_busy") - value,
				  igt_nv50_truth("rop_busy"));
	}
	igt_perfctr_session_close(&s);
}

static void join_loses_nothing(void)
{
	struct igt_perfctr_session s, t;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, "gpu_idle");
	igt_perfctr_session_open(&s);
	igt_nv50_session_init(&t, 0);
	igt_nv50_want(&t, "setup_primitive_count");
	igt_perfctr_session_open(&t);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_nv50_read_before();
	for (unsigned int n = 0; n < 500; n++) {
		igt_assert_eq(igt_perfctr_start(&t, 0), 0);
		igt_perfctr_finish(&t);
	}
	igt_nv50_read_after();
	igt_perfctr_finish(&s);
	/* gpu_idle also counts before and after the reads of the truth */
	igt_assert_lte_u64(igt_nv50_truth("gpu_idle"), igt_nv50_value(&s, "gpu_idle"));
	igt_perfctr_session_close(&t);
	igt_perfctr_session_close(&s);
}

static void join_starves_nobody(void)
{
	struct igt_perfctr_session s, t;
	unsigned int rounds = 0;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, names[0]);
	igt_nv50_want(&s, names[1]);
	igt_perfctr_session_open(&s);
	igt_nv50_session_init(&t, 0);
	igt_nv50_want(&t, names[2]);
	igt_perfctr_session_open(&t);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	/* repeat if the machine stalled in one slot; a starved counter gets less each time */
	do {
		igt_assert_lt(rounds++, 20);
		/* three passes, then two, then three */
		for (unsigned int n = 0; n < 500; n++) {
			igt_assert_eq(igt_perfctr_start(&t, 0), 0);
			igt_perfctr_finish(&t);
		}
		igt_perfctr_sample_and_drain(&s);
	} while (!has_share(&s, names[0]) || !has_share(&s, names[1]) || !has_share(&t, names[2]));
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(t.lost_ns, 0);
	igt_perfctr_session_close(&t);
	igt_perfctr_session_close(&s);
}

static void shared_multiplexer(void)
{
	struct igt_perfctr_session s;

	igt_nv50_session_init(&s, 0);
	igt_nv50_want(&s, "shader_busy");
	igt_nv50_want(&s, "sm_cta_launched");
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	do {
		igt_nv50_work(1);
		igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
		igt_perfctr_drain(&s);
	} while (!igt_nv50_ran(&s, "shader_busy") || !igt_nv50_ran(&s, "sm_cta_launched"));
	igt_nv50_finish(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_assert_eq_u64(igt_nv50_ran(&s, "shader_busy") + igt_nv50_ran(&s, "sm_cta_launched"),
			  igt_nv50_sum(&s, "shader_busy")->time_enabled);
	igt_assert_lte_u64(igt_nv50_value(&s, "shader_busy"), igt_nv50_truth("shader_busy"));
	igt_perfctr_session_close(&s);
}

static void slot_tests(void)
{
	igt_describe("scaled counts of steady work are the truth, except for what the ends of "
		     "slots cut off");
	igt_nv50_subtest("multiplexed-steady") multiplexed_steady();
	igt_describe("scaled counts of work that is independent of the slots are near the truth");
	igt_nv50_subtest("multiplexed-random")
	{
		assert_random_is_scaled(names, STEADY_NAMES);
	}
	igt_describe("the same for random requests of PCOUNTER and MP counters");
	igt_nv50_subtest("multiplexed-random-requests") multiplexed_random_requests();
	igt_describe("scaled counts of multiplexed PCOUNTER and MP counters are the truth");
	igt_nv50_subtest("shared-multiplexer-steady") shared_multiplexer_steady();

	/* Covers: DRM_PERFCTR_FORMAT_RUNNING_TIMES, drm_perfctr_running_times */
	igt_describe("conflicting counters are multiplexed; running times add up and shares are "
		     "fair");
	igt_nv50_subtest("multiplexed") multiplexed();
	igt_describe("a session that joins shares the hardware with another one, and releases it "
		     "at its end");
	igt_nv50_subtest("join-and-leave") join_and_leave();
	igt_describe("no clock is lost while new counters are programmed");
	igt_nv50_subtest("join-loses-nothing") join_loses_nothing();
	igt_describe("sessions that start and stop continuously do not starve others");
	igt_nv50_subtest("join-without-starvation") join_starves_nobody();
	igt_describe("PCOUNTER and MP counters that need the shared multiplexer alternate");
	igt_nv50_subtest("shared-multiplexer") shared_multiplexer();
}

int igt_main()
{
	igt_fixture() {
		igt_nv50_add();
	}
	slot_tests();
	igt_fixture() {
		igt_nv50_remove();
	}
}
