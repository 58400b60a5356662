// SPDX-License-Identifier: MIT
/*
 * NVIDIA-style counters: exact while one pass is enough, honest about turns when it is not,
 * MP counters by context.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_chance.h"
#include "igt_device.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION("PCOUNTER and MP counters: passes, turns, contexts");

#define ID "11"
#define TPCS 4
#define WARP 16
#define JOBS 40
#define TURNS 60
/* shortest turn of a pass */
#define SLICE_NS 2000000ull
#define MS 1000000ull
/* the fastest domain has 800 MHz: 2^32 clocks are 5.4 s; the shaders' has 500 MHz: 8.6 s */
#define SATURATION_NS 6000000000ull

static struct igt_perfctr_device dev;
static struct igt_vsoc_truth before, after;

/* a counter by its name in the truth; index is that of its first block */
struct counter {
	uint16_t type, index, position;
};

static struct counter named(const char *name)
{
	for (unsigned int i = 0; i < before.count; i++)
		if (!strcmp(before.at[i].name, name))
			return (struct counter){ before.at[i].type, before.at[i].index,
						 before.at[i].counter };
	igt_assert_f(false, "no counter %s\n", name);
	return (struct counter){ 0 };
}

static bool in_subtest;

static void bring_device(void)
{
	/* one that was left over */
	igt_vsoc_driver("del_device", ID);
	igt_vsoc_come(&dev, ID " product=nv50 shader_present=0x50005");
	igt_assert_eq(dev.info.product, DRM_PERFCTR_PRODUCT_NV50);
}

/* one that failed left time standing still and sessions that count: they go with their device */
static void begin_subtest(void)
{
	if (in_subtest) {
		igt_perfctr_close(&dev);
		bring_device();
	}
	in_subtest = true;
}

#define fresh_subtest(name) igt_subtest(name) for (begin_subtest(); in_subtest; in_subtest = false)

/*
 * Under KCSAN making the packets of a time takes the virtual GPU longer than that time: its jobs
 * never end.
 */
static void require_records_in_time(void)
{
	igt_require_f(access("/sys/kernel/debug/kcsan", F_OK),
		      "KCSAN makes the model of record mode slower than real time\n");
}

static void session_without_requests(struct igt_perfctr_session *s, uint64_t period_ns)
{
	if (period_ns)
		require_records_in_time();
	igt_perfctr_session_init(s, &dev);
	memset(s->requests, 0, sizeof(s->requests));
	s->setup.request_count = 0;
	s->setup.slots = 256;
	s->setup.period_ns = period_ns;
}

static void want(struct igt_perfctr_session *s, const char *name)
{
	const struct counter c = named(name);
	const uint16_t index = c.type == DRM_PERFCTR_BLOCK_MP ? DRM_PERFCTR_INDEX_ALL : c.index;
	struct drm_perfctr_block_request *r;

	for (unsigned int i = 0; i < s->setup.request_count; i++)
		if (s->requests[i].type == c.type && s->requests[i].index == index) {
			s->requests[i].mask |= 1ull << c.position;
			return;
		}
	r = &s->requests[s->setup.request_count++];
	r->type = c.type;
	r->index = index;
	r->mask = 1ull << c.position;
}

static const struct igt_perfctr_sum *sum_of(const struct igt_perfctr_session *s, const char *name)
{
	const struct counter c = named(name);

	for (unsigned int b = 0; b < s->setup.block_count; b++)
		if (s->sums[b].type == c.type && s->sums[b].index == c.index)
			return &s->sums[b];
	igt_assert_f(false, "no block of %s\n", name);
	return NULL;
}

static uint64_t value_of(const struct igt_perfctr_session *s, const char *name)
{
	return sum_of(s, name)->value[named(name).position];
}

static uint64_t ran(const struct igt_perfctr_session *s, const char *name)
{
	return sum_of(s, name)->running[named(name).position];
}

static uint64_t truth_of(const char *name)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < after.count; i++)
		if (!strcmp(after.at[i].name, name))
			sum += after.at[i].value - before.at[i].value;
	return sum;
}

/* odd amounts, so that nothing is a multiple of what a bus carries */
static void work(unsigned int n)
{
	struct drm_vsoc_command c[2] = { { .type = DRM_VSOC_CMD_DRAW },
					 { .type = DRM_VSOC_CMD_COMPUTE } };

	c[0].draw.vertices = 3001 + n;
	c[0].draw.primitives = 1003;
	c[0].draw.primitives_culled = 301;
	c[0].draw.fragments = 50021 + 2 * n;
	c[0].draw.texels = 70003;
	c[1].compute.threads = 5001;
	c[1].compute.instructions = 64;
	igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 2)).status, 0);
}

#define POWER "/sys/bus/platform/devices/vsoc." ID "/power/"

static void set_power(const char *text)
{
	int fd = open(POWER "control", O_WRONLY | O_CLOEXEC);

	igt_assert_lte(0, fd);
	igt_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static bool is_suspended(void)
{
	FILE *f = fopen(POWER "runtime_status", "re");
	char word[16] = "";

	igt_assert(f);
	igt_assert_eq(fscanf(f, "%15s", word), 1);
	fclose(f);
	return !strcmp(word, "suspended");
}

/* what cannot be known in advance: it goes on while nothing happens */
static bool is_idle(const char *name)
{
	return !strcmp(name, "gpu_idle");
}

/* a number of the debugfs file "pcounter" */
static uint64_t sampler(const char *name)
{
	char path[64], word[32], value[32];
	uint64_t n = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/pcounter", dev.minor);
	f = fopen(path, "re");
	igt_assert_f(f, "%s: %s\n", path, strerror(errno));
	while (!found && fscanf(f, "%31s %31s", word, value) == 2) {
		found = !strcmp(word, name);
		n = strtoull(value, NULL, 10);
	}
	fclose(f);
	igt_assert_f(found, "no %s in %s\n", name, path);
	return n;
}

static void sample_and_drain(struct igt_perfctr_session *s)
{
	igt_assert_eq(igt_perfctr_sample(s, 1), 0);
	igt_perfctr_drain(s);
}

/* let stepped time pass */
static void step(uint64_t ns)
{
	igt_vsoc_debugfs_u64(&dev, "step_ns", ns);
}

static void exact_tests(void)
{
	struct igt_perfctr_session s;

	igt_describe("each counter alone counts exactly what happened, all the time");
	fresh_subtest("single-exact")
	{
		unsigned int compared = 0;

		igt_vsoc_truth(&dev, &before);
		for (unsigned int i = 0; i < before.count; i++) {
			const char *name = before.at[i].name;

			if (is_idle(name) || before.at[i].index != named(name).index)
				continue;
			session_without_requests(&s, 0);
			want(&s, name);
			igt_perfctr_session_create(&s);
			igt_vsoc_truth(&dev, &before);
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			work(i);
			igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
			work(i + 1);
			igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
			igt_perfctr_drain(&s);
			igt_vsoc_truth(&dev, &after);
			igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
			igt_vsoc_assert_conserved(&s, &before, &after);
			igt_assert_eq_u64(ran(&s, name), sum_of(&s, name)->time_enabled);
			compared += truth_of(name) != 0;
			igt_perfctr_session_fini(&s);
		}
		/* all but points, lines, stream output, triggers, serialisation */
		igt_assert_lte(40, compared);
	}
	igt_describe("counters of all domains and of the TPCs count together if nothing conflicts");
	fresh_subtest("together-exact")
	{
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

		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			want(&s, names[i]);
		igt_perfctr_session_create(&s);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		for (unsigned int n = 0; n < 10; n++) {
			work(n);
			igt_assert_eq(igt_perfctr_sample(&s, n), 0);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("without power nothing counts and nothing is lost, and the samples say so");
	fresh_subtest("suspend")
	{
		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, "gpu_busy");
		want(&s, "setup_primitive_count");
		want(&s, "instructions");
		igt_perfctr_session_create(&s);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(0);
		set_power("auto");
		for (unsigned int n = 0; !is_suspended(); n++) {
			igt_assert_lt(n, 1000);
			usleep(10000);
		}
		igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
		igt_perfctr_drain(&s);
		igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
		set_power("on");
		work(1);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq_u64(s.lost_ns, 0);
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("counters of 32 bits that saturate say so: which block, and the time in which "
		     "counts may be lost");
	fresh_subtest("overflow")
	{
		uint64_t collections, since_ns, lost_ns;

		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, "gpu_idle");
		want(&s, "setup_primitive_count");
		want(&s, "shader_busy");
		igt_perfctr_session_create(&s);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(0);
		do {
			igt_vsoc_debugfs(&dev, "stepped", "1");
			/* virtual time is never ahead of real time */
			usleep(SATURATION_NS / 1000);
			sample_and_drain(&s);
			since_ns = igt_raw_ns();
			collections = sampler("collections");
			step(SATURATION_NS);
			lost_ns = igt_raw_ns() - since_ns;
			sample_and_drain(&s);
			igt_vsoc_debugfs(&dev, "stepped", "0");
			/* the sampler's own collection came between: it has the loss, and less time */
		} while (sampler("collections") != collections + 1);
		igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
		igt_assert_lte_u64(lost_ns, s.last.lost_ns);
		igt_assert_lte_u64(s.last.lost_ns, s.last.end_ns - s.last.start_ns);
		igt_assert(sum_of(&s, "gpu_idle")->states & DRM_PERFCTR_STATE_LOST);
		igt_assert(sum_of(&s, "gpu_idle")->states & DRM_PERFCTR_STATE_SATURATED);
		/* this domain's clock is slow enough */
		igt_assert_eq_u32(sum_of(&s, "shader_busy")->states &
					  (DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_SATURATED),
				  0);
		work(1);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq_u32(s.last.flags & DRM_PERFCTR_SAMPLE_OVERFLOW, 0);
		igt_assert_eq_u64(s.last.lost_ns, 0);
		igt_assert_lte_u64(value_of(&s, "gpu_idle") + 1, truth_of("gpu_idle"));
		/* what did not saturate has all of it */
		igt_assert_eq_u64(value_of(&s, "setup_primitive_count"),
				  truth_of("setup_primitive_count"));
		igt_assert_eq_u64(value_of(&s, "shader_busy"), truth_of("shader_busy"));
		igt_perfctr_session_fini(&s);
	}
	igt_describe("after a reset the counters begin anew, and the samples say so");
	fresh_subtest("reset")
	{
		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, "setup_primitive_count");
		want(&s, "instructions");
		igt_perfctr_session_create(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(0);
		igt_vsoc_debugfs(&dev, "reset", "1");
		igt_vsoc_truth(&dev, &before);
		work(1);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_RESET);
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_perfctr_session_fini(&s);
	}
}

/* --- scaled counts ------------------------------------------------------------------- */

/* turns of each pass, in stepped time: each as long as any other */
#define STEADY_TURNS 30
#define RANDOM_TURNS 100
/* of a job whose time is less than a turn */
#define RANDOM_FRAGMENTS 200000
/* what may arrive in a clock, and what is held back until there is as much */
#define EDGE_COUNTS 32

/* of all blocks that have the counter: they have their turns together */
static double scaled(const struct igt_perfctr_session *s, const char *name)
{
	const struct counter c = named(name);
	double value = 0;

	for (unsigned int b = 0; b < s->setup.block_count; b++)
		if (s->sums[b].type == c.type &&
		    (c.type == DRM_PERFCTR_BLOCK_MP || s->sums[b].index == c.index))
			value += s->sums[b].value[c.position];
	return value * sum_of(s, name)->time_enabled / ran(s, name);
}

static void begin_stepped(struct igt_perfctr_session *s, const char *const *names,
			  unsigned int count)
{
	igt_vsoc_truth(&dev, &before);
	session_without_requests(s, 0);
	for (unsigned int i = 0; i < count; i++)
		want(s, names[i]);
	/* it is never in the way */
	want(s, "gpu_busy");
	igt_perfctr_session_create(s);
	igt_vsoc_debugfs(&dev, "stepped", "1");
}

static uint64_t collections;

static void start_stepped(struct igt_perfctr_session *s)
{
	collections = sampler("collections");
	/* a job that is under way is beyond its own beginning; all clocks have the same time */
	step(SLICE_NS);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
	/* no time passes but in steps: the session begins and ends exactly here */
	igt_vsoc_truth(&dev, &before);
}

static void stop_stepped(struct igt_perfctr_session *s, const char *const *names,
			 unsigned int count, unsigned int turns)
{
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	igt_perfctr_drain(s);
	igt_assert(s->flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_assert_eq_u64(value_of(s, "gpu_busy"), truth_of("gpu_busy"));
	/* a collection while time stands still takes a nanosecond, whoever asked for it */
	collections = sampler("collections") - collections;
	for (unsigned int i = 0; i < count; i++) {
		igt_assert_lte_u64(turns * SLICE_NS, ran(s, names[i]));
		igt_assert_lte_u64(ran(s, names[i]), turns * SLICE_NS + collections);
	}
}

/* whatever the host does meanwhile: all that is compared is virtual time */
static void assert_steady_is_scaled(const char *const *names, unsigned int count,
				    const struct drm_vsoc_command *c)
{
	const double bound = (count * STEADY_TURNS + 1.0) * EDGE_COUNTS;
	struct igt_perfctr_session s;
	uint64_t job;

	begin_stepped(&s, names, count);
	job = igt_vsoc_submit(&dev, c, 1);
	start_stepped(&s);
	for (unsigned int n = 0; n < count * STEADY_TURNS; n++) {
		step(SLICE_NS);
		sample_and_drain(&s);
	}
	stop_stepped(&s, names, count, STEADY_TURNS);
	for (unsigned int i = 0; i < count; i++) {
		const double error = scaled(&s, names[i]) - truth_of(names[i]);

		igt_info("%s: truth %llu, scaled %.0f: %+.0f, at most %.0f\n", names[i],
			 (unsigned long long)truth_of(names[i]), scaled(&s, names[i]), error,
			 bound);
		igt_assert_f(error * error <= bound * bound, "%s is too far off\n", names[i]);
		/* else it would say nothing */
		igt_assert_f(10 * bound <= truth_of(names[i]), "%s: too little work\n", names[i]);
	}
	/* the work went on to the end */
	before = after;
	step(SLICE_NS);
	igt_vsoc_truth(&dev, &after);
	for (unsigned int i = 0; i < count; i++)
		igt_assert_lte_u64(1, truth_of(names[i]));
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
	igt_perfctr_session_fini(&s);
}

static void assert_random_is_scaled(const char *const *names, unsigned int count)
{
	/* S turns of N, rates evenly distributed: six standard errors */
	const double turns = RANDOM_TURNS, all = (double)count * RANDOM_TURNS;
	const double variance = (all - turns) / (3 * turns * all);
	struct igt_perfctr_session s;
	struct igt_chance chance = { .seed = 1 };
	uint64_t job = 0;

	begin_stepped(&s, names, count);
	start_stepped(&s);
	for (unsigned int n = 0; n < count * RANDOM_TURNS; n++) {
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };

		igt_chance_begin(&chance, n);
		c.draw.fragments = 1 + igt_chance_any(&chance, RANDOM_FRAGMENTS);
		job = igt_vsoc_submit(&dev, &c, 1);
		step(SLICE_NS);
		igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
		sample_and_drain(&s);
	}
	stop_stepped(&s, names, count, RANDOM_TURNS);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	for (unsigned int i = 0; i < count; i++) {
		const double error = scaled(&s, names[i]) / truth_of(names[i]) - 1;

		igt_info("%s: %+.2f %%\n", names[i], 100 * error);
		igt_assert_f(error * error <= 36 * variance, "%s is too far off\n", names[i]);
	}
	igt_perfctr_session_fini(&s);
}

/* with up to three passes, whoever has a tenth is not starved */
static bool has_share(const struct igt_perfctr_session *s, const char *name)
{
	const uint64_t ns = ran(s, name), enabled_ns = sum_of(s, name)->time_enabled;

	igt_info("%s: %llu of %llu us\n", name, (unsigned long long)(ns / 1000),
		 (unsigned long long)(enabled_ns / 1000));
	return enabled_ns && 10 * ns >= enabled_ns;
}

static void turn_tests(void)
{
	/* each with another value in the same multiplexer: one counts at a time */
	static const char *const names[] = { "rop_busy", "rop_samples_in_count_1",
					     "shaded_pixel_count_0", "shaded_pixel_count_2" };
	static const char *const shared[] = { "shader_busy", "sm_cta_launched" };
	/* the last one is what is left over at the end of a command */
	enum { NAMES = sizeof(names) / sizeof(names[0]), STEADY_NAMES = NAMES - 1 };
	struct drm_vsoc_command steady = { 0 };
	struct igt_perfctr_session s, t;

	igt_describe(
		"of steady work scaled counts are the truth, but for what the two ends of each "
		"turn cut");
	fresh_subtest("turns-steady")
	{
		steady.type = DRM_VSOC_CMD_DRAW;
		steady.draw.vertices = 24000000;
		steady.draw.primitives = 8000000;
		steady.draw.primitives_culled = 2400000;
		steady.draw.fragments = 400000000;
		steady.draw.texels = 560000000;
		assert_steady_is_scaled(names, STEADY_NAMES, &steady);
	}
	igt_describe("of work that has nothing to do with the turns they are near it");
	fresh_subtest("turns-random") assert_random_is_scaled(names, STEADY_NAMES);
	igt_describe("scaled counts of PCOUNTER and MP counters that take turns are the truth");
	fresh_subtest("shared-multiplexer-steady")
	{
		memset(&steady, 0, sizeof(steady));
		steady.type = DRM_VSOC_CMD_COMPUTE;
		steady.compute.threads = 120000000;
		steady.compute.instructions = 16;
		assert_steady_is_scaled(shared, 2, &steady);
	}

	igt_describe("counters that conflict take turns; times add up, turns are fair");
	fresh_subtest("turns")
	{
		uint64_t longest = 0, last = 0, sum = 0, enabled, least = ~0ull, most = 0;

		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		for (unsigned int i = 0; i < NAMES; i++)
			want(&s, names[i]);
		/* it is never in the way */
		want(&s, "gpu_busy");
		igt_perfctr_session_create(&s);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		/* by progress, not by time: so many turns for each */
		for (unsigned int n = 0; n < TURNS || least < 2 * SLICE_NS; n++) {
			work(n);
			igt_assert_eq(igt_perfctr_sample(&s, n), 0);
			igt_perfctr_drain(&s);
			if (last && s.last.end_ns - last > longest)
				longest = s.last.end_ns - last;
			last = s.last.end_ns;
			least = ~0ull;
			for (unsigned int i = 0; i < NAMES; i++)
				if (ran(&s, names[i]) < least)
					least = ran(&s, names[i]);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		if (s.last.end_ns - last > longest)
			longest = s.last.end_ns - last;

		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
		enabled = sum_of(&s, names[0])->time_enabled;
		least = ~0ull;
		for (unsigned int i = 0; i < NAMES; i++) {
			const uint64_t ns = ran(&s, names[i]);

			sum += ns;
			least = ns < least ? ns : least;
			most = ns > most ? ns : most;
			igt_assert_lte_u64(value_of(&s, names[i]), truth_of(names[i]));
			igt_assert_lte_u64(1, value_of(&s, names[i]));
		}
		/* at any time it was the turn of exactly one of them */
		igt_assert_eq_u64(sum, enabled);
		/* a turn ends with the first collection after its time; ours are such */
		igt_assert_lte_u64(most - least, 2 * (SLICE_NS + longest));
		igt_assert_eq_u64(ran(&s, "gpu_busy"), sum_of(&s, "gpu_busy")->time_enabled);
		igt_assert_eq_u64(value_of(&s, "gpu_busy"), truth_of("gpu_busy"));
		igt_perfctr_session_fini(&s);
	}
	igt_describe(
		"a session that joins makes another one share, and gives all back when it ends");
	fresh_subtest("join-and-leave")
	{
		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, "rop_busy");
		session_without_requests(&t, 0);
		want(&t, "rop_samples_in_count_1");
		igt_perfctr_session_create(&s);
		igt_perfctr_session_create(&t);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(1);
		igt_assert_eq(igt_perfctr_start(&t, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		/* all work was done before it had to share */
		igt_assert_eq_u64(value_of(&s, "rop_busy"), truth_of("rop_busy"));
		for (unsigned int n = 0; n < TURNS || !ran(&t, "rop_samples_in_count_1"); n++) {
			work(n);
			igt_assert_eq(igt_perfctr_sample(&t, n), 0);
			igt_perfctr_drain(&t);
		}
		igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
		igt_perfctr_drain(&s);
		igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
		igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 3), 0);
		igt_perfctr_drain(&s);

		/* alone again: exact from here on */
		igt_perfctr_session_fini(&t);
		{
			const uint64_t value = value_of(&s, "rop_busy");

			igt_vsoc_truth(&dev, &before);
			work(7);
			igt_assert_eq(igt_perfctr_stop(&s, 4), 0);
			igt_perfctr_drain(&s);
			igt_vsoc_truth(&dev, &after);
			igt_assert_eq_u32(s.last.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
			igt_assert_eq_u64(value_of(&s, "rop_busy") - value, truth_of("rop_busy"));
		}
		igt_perfctr_session_fini(&s);
	}
	igt_describe("not a clock is lost while the hardware is told what newcomers want");
	fresh_subtest("join-loses-nothing")
	{
		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, "gpu_idle");
		igt_perfctr_session_create(&s);
		session_without_requests(&t, 0);
		want(&t, "setup_primitive_count");
		igt_perfctr_session_create(&t);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_vsoc_truth(&dev, &before);
		for (unsigned int n = 0; n < 500; n++) {
			igt_assert_eq(igt_perfctr_start(&t, 0), 0);
			igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
			igt_perfctr_drain(&t);
		}
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		/* it goes on all the time, before and after as well */
		igt_assert_lte_u64(truth_of("gpu_idle"), value_of(&s, "gpu_idle"));
		igt_perfctr_session_fini(&t);
		igt_perfctr_session_fini(&s);
	}
	igt_describe(
		"whoever starts and stops sessions all the time keeps nobody from having turns");
	fresh_subtest("join-starves-nobody")
	{
		unsigned int rounds = 0;

		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, names[0]);
		want(&s, names[1]);
		igt_perfctr_session_create(&s);
		session_without_requests(&t, 0);
		want(&t, names[2]);
		igt_perfctr_session_create(&t);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		/* again if the machine stood still in somebody's turn; who starves has ever less */
		do {
			igt_assert_lt(rounds++, 20);
			/* three passes, then two, then three */
			for (unsigned int n = 0; n < 500; n++) {
				igt_assert_eq(igt_perfctr_start(&t, 0), 0);
				igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
				igt_perfctr_drain(&t);
			}
			sample_and_drain(&s);
		} while (!has_share(&s, names[0]) || !has_share(&s, names[1]) ||
			 !has_share(&t, names[2]));
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_assert_eq_u64(t.lost_ns, 0);
		igt_perfctr_session_fini(&t);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("PCOUNTER and MP counters that need the shared multiplexer take turns");
	fresh_subtest("shared-multiplexer")
	{
		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, 0);
		want(&s, "shader_busy");
		want(&s, "sm_cta_launched");
		igt_perfctr_session_create(&s);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		do {
			work(1);
			igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
			igt_perfctr_drain(&s);
		} while (!ran(&s, "shader_busy") || !ran(&s, "sm_cta_launched"));
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
		igt_assert_eq_u64(ran(&s, "shader_busy") + ran(&s, "sm_cta_launched"),
				  sum_of(&s, "shader_busy")->time_enabled);
		igt_assert_lte_u64(value_of(&s, "shader_busy"), truth_of("shader_busy"));
		igt_perfctr_session_fini(&s);
	}
}

/* samples with odd user_data: what their job did since the sample with the even one before */
static uint64_t inside(struct igt_perfctr_session *s, uint16_t position)
{
	uint64_t sum = 0;

	for (uint64_t i = s->extract; i != s->extract + igt_perfctr_unread(s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(s, i);

		if (!(h->flags & DRM_PERFCTR_SAMPLE_IN_STREAM) || !(h->user_data & 1))
			continue;
		for (unsigned int b = 0; b < dev.block_count; b++)
			if (dev.blocks[b].type == DRM_PERFCTR_BLOCK_MP)
				sum += igt_perfctr_value(h, DRM_PERFCTR_BLOCK_MP,
							 dev.blocks[b].index, position);
	}
	return sum;
}

static void context_tests(void)
{
	/* different shaders: threads and instructions of each */
	static const struct {
		uint32_t threads, instructions;
	} shaders[2] = { { 16000, 64 }, { 4800, 160 } };

	igt_describe(
		"two contexts with different shaders: MP counts are each one's, PCOUNTER has the sum");
	fresh_subtest("contexts")
	{
		struct igt_perfctr_session s[2], all;
		struct drm_vsoc_command c[2][3];
		uint64_t jobs[2] = { 0, 0 }, busy = 0, instructions = 0;
		uint32_t ctx[2] = { 0, 0 };

		igt_vsoc_truth(&dev, &before);
		session_without_requests(&all, 0);
		want(&all, "shader_busy");
		want(&all, "instructions");
		igt_perfctr_session_create(&all);
		for (unsigned int i = 0; i < 2; i++) {
			struct drm_vsoc_ctx_create create = { 0 };

			session_without_requests(&s[i], 0);
			want(&s[i], "instructions");
			want(&s[i], "branch");
			igt_perfctr_session_create(&s[i]);
			igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create),
				      0);
			ctx[i] = create.ctx_id;
			memset(c[i], 0, sizeof(c[i]));
			c[i][0].type = c[i][2].type = DRM_VSOC_CMD_SAMPLE;
			c[i][0].sample.handle = c[i][2].sample.handle = s[i].handle;
			c[i][0].sample.user_data = 2;
			c[i][2].sample.user_data = 3;
			c[i][1].type = DRM_VSOC_CMD_COMPUTE;
			c[i][1].compute.threads = shaders[i].threads;
			c[i][1].compute.instructions = shaders[i].instructions;
			igt_assert_eq(igt_perfctr_start(&s[i], 0), 0);
		}
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&all, 0), 0);
		for (unsigned int n = 0; n < JOBS; n++)
			for (unsigned int i = 0; i < 2; i++) {
				struct drm_vsoc_submit submit = {
					.ctx_id = ctx[i],
					.commands = (uintptr_t)c[i],
					.command_count = 3,
					.command_stride = sizeof(c[i][0]),
				};

				igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_SUBMIT,
								&submit),
					      0);
				jobs[i] = submit.job_id;
			}
		for (unsigned int i = 0; i < 2; i++)
			igt_assert_eq(igt_vsoc_wait(&dev, jobs[i]).status, 0);
		igt_assert_eq(igt_perfctr_stop(&all, 0), 0);
		igt_perfctr_drain(&all);
		igt_vsoc_truth(&dev, &after);

		for (unsigned int i = 0; i < 2; i++) {
			const uint64_t warps = shaders[i].threads / WARP;
			const uint64_t each = warps * shaders[i].instructions;

			igt_assert_eq_u64(inside(&s[i], named("instructions").position),
					  JOBS * each);
			/* one of sixteen instructions is a branch */
			igt_assert_eq_u64(inside(&s[i], named("branch").position),
					  JOBS * each / 16);
			instructions += JOBS * each;
			busy += JOBS * 4 * (warps / TPCS) * shaders[i].instructions;
			igt_assert_eq(igt_perfctr_stop(&s[i], 0), 0);
			igt_perfctr_drain(&s[i]);
			igt_perfctr_session_fini(&s[i]);
		}
		igt_vsoc_assert_conserved(&all, &before, &after);
		igt_assert_eq_u64(truth_of("instructions"), instructions);
		igt_assert_eq_u64(value_of(&all, "shader_busy"), busy);
		igt_perfctr_session_fini(&all);
	}
}

/* --- recording -------------------------------------------------------------------- */

#define US 1000ull
/* short enough to be recorded, and room in the ring for some batches of it */
#define RECORD_PERIOD_NS (100 * US)
#define RECORD_SLOTS 1024
#define RATE_SLOTS 16384
#define RATE_PERIODS 10000

static bool is_batched(struct igt_perfctr_session *s)
{
	return igt_perfctr_status(s).flags & DRM_PERFCTR_STATUS_BATCHED;
}

static void create_recorded(struct igt_perfctr_session *s, uint64_t period_ns,
			    const char *const *names, unsigned int count)
{
	igt_vsoc_truth(&dev, &before);
	session_without_requests(s, period_ns);
	s->setup.slots = RECORD_SLOTS;
	for (unsigned int i = 0; i < count; i++)
		want(s, names[i]);
	igt_perfctr_session_create(s);
}

/* three domains; an integer of six wires is counted in one of them */
static const char *const recorded[] = { "gpu_busy", "setup_primitive_count",
					"rop_samples_in_count_1", "shader_busy" };
#define RECORDED (sizeof(recorded) / sizeof(recorded[0]))
/*
 * Clocks in which no counter may be full. The hardware has a half of the memory, and there is a
 * packet at most each 2^14 clocks in each of these domains: the longest power of two in half a
 * period of the slowest one, of 500 MHz. Half of the room is left for packets that integers fill:
 * each of them takes 61,440 counts, and no test that records has so many.
 */
#define ROOM_PACKETS 8192
#define ROOM_CLOCKS (ROOM_PACKETS / 2 * 16384ull)

/* SAMPLE; on a slow machine periods may have filled the ring meanwhile */
static void sample_with_room(struct igt_perfctr_session *s)
{
	int ret;

	do {
		igt_perfctr_drain(s);
		ret = igt_perfctr_sample(s, 1);
	} while (ret == -ENOSPC);
	igt_assert_eq(ret, 0);
}

/* each period between START and STOP is a sample, or merged into one */
static void assert_periods(const struct igt_perfctr_session *s, uint64_t period_ns)
{
	const uint64_t periods = (s->last.end_ns - s->first.start_ns) / period_ns;

	igt_assert_lte_u64(periods, s->periodic + s->merged + 1);
	igt_assert_lte_u64(s->periodic + s->merged, periods + 1);
}

static void assert_exact(const struct igt_perfctr_session *s)
{
	igt_assert_eq_u32(s->flags & (DRM_PERFCTR_SAMPLE_MULTIPLEXED | DRM_PERFCTR_SAMPLE_OVERFLOW |
				      DRM_PERFCTR_SAMPLE_ERROR),
			  0);
	igt_assert_eq_u64(s->lost_ns, 0);
	igt_vsoc_assert_conserved(s, &before, &after);
}

/* blocks go up to their last packet before the end; returns how many lack less than a period */
static unsigned int check_captures(const struct igt_perfctr_session *s, unsigned int *blocks)
{
	unsigned int near = 0;

	for (uint64_t i = s->extract; i != s->extract + igt_perfctr_unread(s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(s, i);
		const char *at = (const char *)h + h->header_size;

		for (unsigned int n = 0; n < h->block_count; n++) {
			const struct drm_perfctr_block_header *b = (const void *)at;

			igt_assert_lte(b->capture_ns, 0);
			near += b->capture_ns > -(int32_t)RECORD_PERIOD_NS;
			++*blocks;
			at += b->size;
		}
	}
	return near;
}

/* @beside: a counter that is not recorded, or NULL; returns whether most periods got samples */
static bool report_rate(uint64_t period_ns, const char *beside)
{
	const char *const names[] = { "gpu_busy", beside };
	struct igt_perfctr_session s;
	uint64_t interrupts, span_ns;

	igt_vsoc_truth(&dev, &before);
	session_without_requests(&s, period_ns);
	s.setup.slots = RATE_SLOTS;
	for (unsigned int i = 0; i < 2 && names[i]; i++)
		want(&s, names[i]);
	igt_perfctr_session_create(&s);
	igt_vsoc_truth(&dev, &before);
	interrupts = sampler("timer_interrupts");
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(is_batched(&s), !beside);
	while (s.samples + s.merged < RATE_PERIODS) {
		igt_perfctr_wait_unread(&s, 1);
		igt_perfctr_drain(&s);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	interrupts = sampler("timer_interrupts") - interrupts;
	igt_perfctr_drain(&s);
	igt_vsoc_truth(&dev, &after);
	span_ns = s.last.end_ns - s.first.start_ns;
	igt_info("%llu us, %s: %.0f samples/s, %.0f periods/s merged, %.0f interrupts/s\n",
		 (long long)(period_ns / US), beside ? "timer" : "recorded",
		 s.samples * 1e9 / span_ns, s.merged * 1e9 / span_ns, interrupts * 1e9 / span_ns);
	if (!beside)
		igt_assert_lte_u64(8 * interrupts, s.samples + s.merged);
	assert_exact(&s);
	assert_periods(&s, period_ns);
	igt_perfctr_session_fini(&s);
	return s.samples > s.merged;
}

/*
 * The machine stood still for longer than packets and counters have room: the hardware lost counts,
 * and the samples must say so. By the hardware's clock: it may catch up with a job at once.
 */
static bool fell_behind(const struct igt_perfctr_session *s)
{
	unsigned int full = 0;

	if (!(s->flags & DRM_PERFCTR_SAMPLE_OVERFLOW))
		return false;
	igt_info("counters were full for %llu ns\n", (long long)s->lost_ns);
	igt_assert_lte_u64(1, s->lost_ns);
	for (unsigned int b = 0; b < s->setup.block_count; b++) {
		if (!(s->sums[b].states & DRM_PERFCTR_STATE_SATURATED))
			continue;
		igt_assert(s->sums[b].states & DRM_PERFCTR_STATE_LOST);
		igt_assert_lte_u64(ROOM_CLOCKS, s->sums[b].saturated_cycles);
		full++;
	}
	igt_assert_lte(1, full);
	return true;
}

/* returns whether the hardware could count all of it */
static bool record_exact(void)
{
	unsigned int near = 0, blocks = 0;
	struct drm_perfctr_status status;
	struct igt_perfctr_session s;
	uint64_t interrupts, batches;

	igt_vsoc_truth(&dev, &before);
	session_without_requests(&s, RECORD_PERIOD_NS);
	s.setup.slots = RECORD_SLOTS;
	s.setup.eventfd = eventfd(0, EFD_CLOEXEC);
	igt_assert_lte(0, s.setup.eventfd);
	for (unsigned int i = 0; i < RECORDED; i++)
		want(&s, recorded[i]);
	igt_perfctr_session_create(&s);
	igt_vsoc_truth(&dev, &before);
	interrupts = sampler("timer_interrupts");
	batches = sampler("batches");
	igt_assert_eq(igt_perfctr_start(&s, 7), 0);
	igt_assert(is_batched(&s));
	/* by progress: so many samples */
	for (unsigned int n = 0; s.periodic < 2000; n++) {
		work(n);
		near += check_captures(&s, &blocks);
		igt_perfctr_drain(&s);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 8), 0);
	interrupts = sampler("timer_interrupts") - interrupts;
	batches = sampler("batches") - batches;
	status = igt_perfctr_status(&s);
	igt_assert_eq_u32(status.flags, 0);
	igt_perfctr_drain(&s);
	igt_vsoc_truth(&dev, &after);
	if (fell_behind(&s)) {
		close(s.setup.eventfd);
		igt_perfctr_session_fini(&s);
		return false;
	}
	assert_exact(&s);
	assert_periods(&s, RECORD_PERIOD_NS);
	/* all, but where packets had no room */
	igt_assert_lte(blocks, 2 * near);
	for (unsigned int b = 0; b < s.setup.block_count; b++)
		igt_assert_lte_u64(1, s.sums[b].cycles);
	igt_info("%llu samples, %llu periods merged, %llu batches, %llu timer interrupts, "
		 "%llu signals\n",
		 (long long)s.samples, (long long)s.merged, (long long)batches,
		 (long long)interrupts, (long long)status.wakeups);
	/* START and STOP have batches of their own; a late one has more periods */
	igt_assert_lte_u64(8 * interrupts, s.samples + s.merged);
	igt_assert_lte_u64(4 * interrupts, s.samples);
	igt_assert_lte_u64(batches, interrupts + 3);
	igt_assert_lte_u64(1, status.wakeups);
	igt_assert_lte_u64(status.wakeups, batches + 1);
	close(s.setup.eventfd);
	igt_perfctr_session_fini(&s);
	return true;
}

static void record_tests(void)
{
	struct igt_perfctr_session s, t, m;

	igt_describe("with a period of 100 us the hardware records: exact, each period accounted "
		     "for, and far fewer interrupts than samples");
	fresh_subtest("record-exact")
	{
		unsigned int tries;

		for (tries = 1; !record_exact(); tries++)
			igt_assert_lt(tries, 10);
	}
	igt_describe("the eventfd gets +1 for each sample of a batch: who takes a sample for each "
		     "token finds them all");
	fresh_subtest("record-tokens")
	{
		uint64_t token, tokens = 0;

		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, RECORD_PERIOD_NS);
		s.setup.slots = RECORD_SLOTS;
		s.setup.eventfd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK);
		igt_assert_lte(0, s.setup.eventfd);
		want(&s, "gpu_busy");
		igt_perfctr_session_create(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert(is_batched(&s));
		igt_perfctr_wait_unread(&s, RECORD_SLOTS / 2);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		while (read(s.setup.eventfd, &token, sizeof(token)) == sizeof(token))
			tokens += token;
		igt_assert_eq(errno, EAGAIN);
		igt_assert_eq_u64(tokens, igt_perfctr_unread(&s));
		/* those of a batch are one of these */
		igt_assert_lte_u64(2 * igt_perfctr_status(&s).wakeups, tokens);
		igt_perfctr_drain(&s);
		close(s.setup.eventfd);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("eight times fewer interrupts than periods at each rate that this machine's "
		     "model follows, all exact; how many samples are published, is printed");
	fresh_subtest("record-rate")
	{
		static const unsigned int periods_us[] = { 100, 50, 20, 10 };
		bool fast = true;

		/* down to where the model of the hardware is too slow on this machine */
		for (unsigned int i = 0; fast && i < sizeof(periods_us) / sizeof(periods_us[0]);
		     i++)
			fast = report_rate(periods_us[i] * US, NULL);
		/* the timer for comparison: MP counters cannot be recorded */
		report_rate(100 * US, "instructions");
	}
	igt_describe("a reader that does not read stretches a recorded sample, and loses nothing");
	fresh_subtest("record-full-ring")
	{
		create_recorded(&s, RECORD_PERIOD_NS, recorded, RECORDED);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(1);
		igt_perfctr_wait_merged(&s);
		igt_assert(is_batched(&s));
		work(2);
		igt_assert_eq(igt_perfctr_sample(&s, 3), -ENOSPC);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq_u64(igt_perfctr_unread(&s), RECORD_SLOTS);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
		igt_assert_lte_u64(1, s.merged);
		assert_exact(&s);
		assert_periods(&s, RECORD_PERIOD_NS);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a small ring gets small batches: a reader that keeps up finds them all");
	fresh_subtest("record-small-ring")
	{
		igt_vsoc_truth(&dev, &before);
		session_without_requests(&s, RECORD_PERIOD_NS);
		s.setup.slots = 2;
		want(&s, "gpu_busy");
		igt_perfctr_session_create(&s);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		for (unsigned int n = 0; s.periodic < 20; n++) {
			work(n);
			igt_perfctr_drain(&s);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		assert_exact(&s);
		assert_periods(&s, RECORD_PERIOD_NS);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("sessions with other periods, other counters and none at all see the whole "
		     "truth beside a recorded one, whoever comes and goes");
	fresh_subtest("record-sessions")
	{
		static const char *const other[] = { "geom_primitive_in_count", "rop_busy" };
		static struct igt_vsoc_truth start;

		create_recorded(&s, RECORD_PERIOD_NS, recorded, 2);
		create_recorded(&t, 330 * US, recorded, RECORDED);
		igt_vsoc_truth(&dev, &start);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_start(&t, 0), 0);
		for (unsigned int n = 0; n < 8 || t.periodic < 40; n++) {
			/* work that goes on while they start and stop */
			struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
			uint64_t job;

			c.draw.vertices = 50001;
			c.draw.primitives = 20003 + n;
			c.draw.fragments = 300001;
			job = igt_vsoc_submit(&dev, &c, 1);
			create_recorded(&m, 0, other, 1 + (n & 1));
			igt_assert_eq(igt_perfctr_start(&m, 0), 0);
			/* the second one needs a multiplexer at another value: turns, no record */
			igt_assert_eq(is_batched(&s), !(n & 1));
			igt_assert_eq(igt_perfctr_sample(&m, 1), 0);
			igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
			igt_vsoc_truth(&dev, &before);
			work(n);
			igt_vsoc_truth(&dev, &after);
			igt_perfctr_drain(&m);
			{
				const uint64_t value = value_of(&m, "geom_primitive_in_count");

				igt_assert_eq(igt_perfctr_stop(&m, 2), 0);
				igt_perfctr_drain(&m);
				igt_assert_lte_u64(truth_of("geom_primitive_in_count"),
						   value_of(&m, "geom_primitive_in_count") - value);
			}
			igt_assert(is_batched(&s));
			igt_perfctr_session_fini(&m);
			igt_perfctr_drain(&s);
			igt_perfctr_drain(&t);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert(is_batched(&t));
		work(3);
		igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
		igt_perfctr_drain(&s);
		igt_perfctr_drain(&t);
		igt_vsoc_truth(&dev, &after);
		before = start;
		/* what was in nobody's way counted all the time, to the last unit */
		igt_assert_eq_u64(s.lost_ns, 0);
		igt_assert_eq_u64(t.lost_ns, 0);
		igt_assert_eq_u64(value_of(&t, "gpu_busy"), truth_of("gpu_busy"));
		igt_assert_eq_u64(value_of(&t, "setup_primitive_count"),
				  truth_of("setup_primitive_count"));
		igt_assert_eq_u64(value_of(&t, "shader_busy"), truth_of("shader_busy"));
		igt_assert_lte_u64(value_of(&t, "rop_samples_in_count_1"),
				   truth_of("rop_samples_in_count_1"));
		assert_periods(&s, RECORD_PERIOD_NS);
		assert_periods(&t, 330 * US);
		igt_perfctr_session_fini(&s);
		igt_perfctr_session_fini(&t);
	}
	igt_describe("SAMPLE and STOP have all that was counted before them, batch or not");
	fresh_subtest("record-stop")
	{
		for (unsigned int n = 0; n < 20; n++) {
			create_recorded(&s, RECORD_PERIOD_NS, recorded, RECORDED);
			igt_vsoc_truth(&dev, &before);
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			work(n);
			sample_with_room(&s);
			igt_perfctr_drain(&s);
			igt_vsoc_truth(&dev, &after);
			/* periods may have ended since; nobody worked in them */
			igt_assert_eq_u64(s.manual, 1);
			igt_vsoc_assert_conserved(&s, &before, &after);
			work(n + 1);
			igt_assert_eq(igt_perfctr_stop(&s, 2), 0);
			igt_perfctr_drain(&s);
			igt_vsoc_truth(&dev, &after);
			igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_FINAL);
			assert_exact(&s);
			igt_perfctr_session_fini(&s);
		}
	}
	igt_describe("packets that the hardware had no room for are merged: periods, not counts");
	fresh_subtest("record-back-pressure")
	{
		uint64_t refused, saturated = sampler("saturated");

		create_recorded(&s, RECORD_PERIOD_NS, recorded, RECORDED);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(1);
		/* all of it is in: nobody works from here on, so that nothing can saturate */
		sample_with_room(&s);
		refused = sampler("refused");
		/* more clocks at once than a half has packets for */
		igt_vsoc_debugfs(&dev, "stepped", "1");
		step(900 * MS);
		igt_vsoc_debugfs(&dev, "stepped", "0");
		while (sampler("refused") == refused)
			igt_perfctr_drain(&s);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq_u64(sampler("saturated"), saturated);
		igt_assert_lte_u64(1, s.merged);
		assert_exact(&s);
		assert_periods(&s, RECORD_PERIOD_NS);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a counter that saturates meanwhile is said to be lost, and the time of it");
	fresh_subtest("record-overflow")
	{
		const char *const idle[] = { "gpu_idle" };
		uint64_t saturated;

		create_recorded(&s, RECORD_PERIOD_NS, idle, 1);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_vsoc_truth(&dev, &after);
		saturated = sampler("saturated");
		igt_vsoc_debugfs(&dev, "stepped", "1");
		step(900 * MS);
		igt_vsoc_debugfs(&dev, "stepped", "0");
		while (sampler("saturated") == saturated)
			igt_perfctr_drain(&s);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_assert(fell_behind(&s));
		igt_assert(sum_of(&s, "gpu_idle")->states & DRM_PERFCTR_STATE_SATURATED);
		/* nobody worked: cycles, which do not saturate, say what it should have been */
		igt_assert_lte_u64(value_of(&s, "gpu_idle") + 1, sum_of(&s, "gpu_idle")->cycles);
		assert_periods(&s, RECORD_PERIOD_NS);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("what cannot be recorded is sampled by the timer, and STATUS tells it");
	fresh_subtest("record-fallback")
	{
		static const struct {
			uint64_t period_ns;
			const char *names[4];
			bool batched;
		} cases[] = {
			{ 500 * US, { "gpu_busy" }, true },
			/* a timer can do that */
			{ MS, { "gpu_busy" }, false },
			/* one of four counters makes the packets */
			{ RECORD_PERIOD_NS,
			  { "gpu_busy", "setup_primitive_count", "geom_primitive_in_count" },
			  true },
			{ RECORD_PERIOD_NS,
			  { "gpu_busy", "setup_primitive_count", "geom_primitive_in_count",
			    "input_assembler_busy" },
			  false },
			/* has no such mode */
			{ RECORD_PERIOD_NS, { "gpu_busy", "instructions" }, false },
		};

		for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			unsigned int count = 0;

			while (count < 4 && cases[i].names[count])
				count++;
			create_recorded(&s, cases[i].period_ns, cases[i].names, count);
			igt_vsoc_truth(&dev, &before);
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			igt_assert_eq(is_batched(&s), cases[i].batched);
			for (unsigned int n = 0; n < 2 || s.periodic < 10; n++) {
				work(n);
				igt_perfctr_drain(&s);
			}
			igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
			igt_perfctr_drain(&s);
			igt_vsoc_truth(&dev, &after);
			assert_exact(&s);
			assert_periods(&s, cases[i].period_ns);
			igt_perfctr_session_fini(&s);
		}
	}
	igt_describe("a reset in the middle of a recording is told; it goes on exactly after it");
	fresh_subtest("record-reset")
	{
		create_recorded(&s, RECORD_PERIOD_NS, recorded, RECORDED);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_perfctr_wait_unread(&s, 3);
		igt_vsoc_debugfs(&dev, "reset", "1");
		igt_assert(is_batched(&s));
		igt_vsoc_truth(&dev, &before);
		for (unsigned int n = 0; n < 3 || s.periodic < 100; n++) {
			work(n);
			igt_perfctr_drain(&s);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_RESET);
		igt_assert_lte_u64(1, s.lost_ns);
		igt_vsoc_assert_conserved(&s, &before, &after);
		assert_periods(&s, RECORD_PERIOD_NS);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("power goes and comes while it records: nothing is lost");
	fresh_subtest("record-suspend")
	{
		create_recorded(&s, RECORD_PERIOD_NS, recorded, RECORDED);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		work(0);
		set_power("auto");
		for (unsigned int n = 0; !is_suspended(); n++) {
			igt_assert_lt(n, 1000);
			usleep(10000);
			igt_perfctr_drain(&s);
		}
		igt_assert(!is_batched(&s));
		set_power("on");
		work(1);
		igt_assert(is_batched(&s));
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_drain(&s);
		igt_vsoc_truth(&dev, &after);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
		assert_exact(&s);
		assert_periods(&s, RECORD_PERIOD_NS);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a device that goes while it records leaves a last sample with all of it");
	fresh_subtest("record-unplug")
	{
		static const char *const clocks[] = { "gpu_busy", "gpu_idle" };

		create_recorded(&s, RECORD_PERIOD_NS, recorded, RECORDED);
		create_recorded(&t, 0, clocks, 2);
		create_recorded(&m, 0, clocks, 2);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_start(&t, 0), 0);
		igt_assert_eq(igt_perfctr_start(&m, 0), 0);
		work(0);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq(igt_vsoc_driver("del_device", ID), 0);
		igt_perfctr_drain(&t);
		igt_perfctr_drain(&m);
		/* the first session's end changed nothing for those after it */
		igt_assert_eq_u64(value_of(&t, "gpu_busy") + value_of(&t, "gpu_idle"),
				  sum_of(&t, "gpu_idle")->cycles);
		igt_assert_eq_u64(value_of(&m, "gpu_busy") + value_of(&m, "gpu_idle"),
				  sum_of(&m, "gpu_idle")->cycles);
		igt_perfctr_drain(&s);
		igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
		assert_exact(&s);
		/* even closing a handle is refused: the file takes all with it */
		igt_perfctr_close(&dev);
		bring_device();
	}
}

/* --- hardware that does not answer ------------------------------------------------- */

/* many times what a request may take */
#define PATIENCE_NS (10000 * MS)
#define TROUBLES                                                                             \
	(DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_RESET | \
	 DRM_PERFCTR_SAMPLE_MULTIPLEXED)
#define LACKS (DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_SATURATED)

static const struct {
	const char *test, *fault;
	/* each of the eight domains is asked in QUAD mode, all at once while it records */
	unsigned int times;
	uint64_t period_ns;
	uint32_t must;
	/* counts are destroyed; else all of them come later */
	bool loses;
} faults[] = {
	{ "fault-lost", "pcounter_lost", 8, 0, DRM_PERFCTR_SAMPLE_ERROR, false },
	{ "fault-late", "pcounter_late", 8, 0, DRM_PERFCTR_SAMPLE_ERROR, false },
	{ "fault-twice", "pcounter_twice", 8, 0, DRM_PERFCTR_SAMPLE_OVERFLOW, true },
	{ "fault-record-lost", "pcounter_lost", 1, RECORD_PERIOD_NS, DRM_PERFCTR_SAMPLE_ERROR,
	  false },
	{ "fault-record-late", "pcounter_late", 1, RECORD_PERIOD_NS, DRM_PERFCTR_SAMPLE_ERROR,
	  false },
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static uint32_t states_of(const struct igt_perfctr_session *s)
{
	uint32_t states = 0;

	for (unsigned int b = 0; b < s->setup.block_count; b++)
		states |= s->sums[b].states;
	return states;
}

static void assert_clean(struct igt_perfctr_session *s)
{
	sample_with_room(s);
	/* what was told by the sample before is over */
	sample_with_room(s);
	igt_perfctr_drain(s);
	igt_assert_eq_u32(s->last.flags & TROUBLES, 0);
	igt_assert_eq_u64(s->last.lost_ns, 0);
}

static void fault(unsigned int i)
{
	static const char *const names[] = { "gpu_busy", "setup_primitive_count", "shader_busy" };
	static const char *const other[] = { "gpu_busy", "rop_busy" };
	const uint64_t t0 = igt_raw_ns();
	struct igt_perfctr_session s, t;

	create_recorded(&s, faults[i].period_ns, names, 3);
	create_recorded(&t, 0, other, 2);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	igt_assert_eq(is_batched(&s), faults[i].period_ns != 0);
	work(1);
	assert_clean(&s);
	assert_clean(&t);
	work(2);
	igt_fault_arm(&dev, faults[i].fault, faults[i].times);
	do {
		sample_and_drain(&t);
		igt_perfctr_drain(&s);
	} while (igt_fault_hits(&dev, faults[i].fault) < faults[i].times);
	igt_assert_eq(igt_fault_disarm(&dev, faults[i].fault), faults[i].times);
	work(3);
	assert_clean(&s);
	assert_clean(&t);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, PATIENCE_NS);
	igt_perfctr_drain(&s);
	igt_perfctr_drain(&t);
	igt_vsoc_truth(&dev, &after);

	igt_assert_eq_u32(s.flags & TROUBLES, faults[i].must);
	igt_assert_eq_u32(t.flags & TROUBLES, faults[i].must);
	igt_assert_eq(s.lost_ns != 0, faults[i].loses);
	igt_assert_eq(t.lost_ns != 0, faults[i].loses);
	igt_assert_eq_u32(states_of(&s) & LACKS, faults[i].loses ? DRM_PERFCTR_STATE_LOST : 0);
	if (faults[i].loses) {
		for (unsigned int n = 0; n < 3; n++)
			igt_assert_lte_u64(value_of(&s, names[n]), truth_of(names[n]));
		/* the work before the fault is what it destroyed */
		igt_assert_lte_u64(value_of(&t, "rop_busy") + 1, truth_of("rop_busy"));
	} else {
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_vsoc_assert_conserved(&t, &before, &after);
	}
	igt_perfctr_session_fini(&s);
	igt_perfctr_session_fini(&t);
}

/* @newcomer: a counter; @touched: its domain is one of those that count already */
static void start_unanswered(uint64_t period_ns, const char *newcomer, bool touched)
{
	static const char *const names[] = { "gpu_busy", "shader_busy" };
	struct igt_perfctr_session s, t;
	uint64_t t0;

	create_recorded(&s, period_ns, names, 2);
	create_recorded(&t, 0, &newcomer, 1);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	work(1);
	igt_fault_arm(&dev, "pcounter_late", UINT32_MAX);
	t0 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_start(&t, 0), -EIO);
	igt_assert_lte_u64(igt_raw_ns() - t0, PATIENCE_NS);
	igt_assert_lt(0, igt_fault_disarm(&dev, "pcounter_late"));
	work(2);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	igt_assert_eq(is_batched(&s), period_ns != 0);
	assert_clean(&s);
	work(3);
	igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
	igt_perfctr_drain(&t);
	igt_assert_eq_u32(t.flags & TROUBLES, 0);
	igt_assert_lte_u64(1, value_of(&t, newcomer));
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_drain(&s);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u32(s.flags & TROUBLES & ~DRM_PERFCTR_SAMPLE_OVERFLOW,
			  DRM_PERFCTR_SAMPLE_ERROR);
	/* a domain that is the same as before goes on, and is read when it answers */
	igt_assert_eq_u32(sum_of(&s, "shader_busy")->states & LACKS, 0);
	igt_assert_eq_u64(value_of(&s, "shader_busy"), truth_of("shader_busy"));
	if (touched) {
		igt_assert(sum_of(&s, "gpu_busy")->states & DRM_PERFCTR_STATE_LOST);
		igt_assert_lte_u64(1, s.lost_ns);
		igt_assert_lte_u64(value_of(&s, "gpu_busy"), truth_of("gpu_busy"));
	} else {
		igt_assert_eq_u32(states_of(&s) & LACKS, 0);
		igt_vsoc_assert_conserved(&s, &before, &after);
	}
	igt_perfctr_session_fini(&s);
	igt_perfctr_session_fini(&t);
}

static void fault_tests(void)
{
	for (unsigned int i = 0; i < FAULTS; i++) {
		igt_describe_f("%s: two sessions tell it, %s, and all is well afterwards",
			       faults[i].fault,
			       faults[i].loses ? "and no more than the truth" :
						 "get all counts when it answers again");
		fresh_subtest(faults[i].test) fault(i);
	}
	igt_describe(
		"START of hardware that does not answer is -EIO in bounded time; a session that "
		"counts has all counts of the domains that the newcomer did not touch");
	fresh_subtest("fault-start-beside")
	{
		start_unanswered(0, "rop_busy", false);
		start_unanswered(0, "setup_primitive_count", true);
	}
	igt_describe("the same while it records");
	fresh_subtest("fault-start-beside-record")
	{
		start_unanswered(RECORD_PERIOD_NS, "rop_busy", false);
		start_unanswered(RECORD_PERIOD_NS, "setup_primitive_count", true);
	}
}

igt_main
{
	igt_fixture
	{
		igt_require_f(!access(IGT_VSOC_DRIVER, F_OK), "no virtual SoC\n");
		bring_device();
	}
	exact_tests();
	turn_tests();
	context_tests();
	record_tests();
	fault_tests();
	igt_fixture
	{
		igt_perfctr_close(&dev);
		igt_vsoc_driver("del_device", ID);
	}
}
