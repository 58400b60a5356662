// SPDX-License-Identifier: MIT
/*
 * NVIDIA-style counters: exact while one pass is enough, honest about turns when it is not,
 * MP counters by context.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION("PCOUNTER and MP counters: passes, turns, contexts");

#define DRIVER "/sys/bus/platform/drivers/vsoc"
#define ID "11"
#define PLATFORM "vsoc.11"
#define TPCS 4
#define WARP 16
#define JOBS 40
#define TURNS 60
/* shortest turn of a pass */
#define SLICE_NS 2000000ull
#define MS 1000000ull

static struct igt_perfctr_device dev;
static struct igt_vsoc_truth before, after;

static int tell_driver(const char *file, const char *text)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), DRIVER "/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	igt_require_f(fd >= 0, "%s: %s\n", path, strerror(errno));
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
	close(fd);
	return ret;
}

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

static void session_without_requests(struct igt_perfctr_session *s, uint64_t period_ns)
{
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

#define POWER "/sys/bus/platform/devices/" PLATFORM "/power/"

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

static void exact_tests(void)
{
	struct igt_perfctr_session s;

	igt_describe("each counter alone counts exactly what happened, all the time");
	igt_subtest("single-exact")
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
	igt_subtest("together-exact")
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
	igt_subtest("suspend")
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
	igt_describe("after a reset the counters begin anew, and the samples say so");
	igt_subtest("reset")
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

static void turn_tests(void)
{
	/* each with another value in the same multiplexer: one counts at a time */
	static const char *const names[] = { "rop_busy", "rop_samples_in_count_1",
					     "shaded_pixel_count_0", "shaded_pixel_count_2" };
	enum { NAMES = sizeof(names) / sizeof(names[0]) };
	struct igt_perfctr_session s, t;

	igt_describe("counters that conflict take turns; times add up, turns are fair");
	igt_subtest("turns")
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
	igt_subtest("join-and-leave")
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
	igt_describe("PCOUNTER and MP counters that need the shared multiplexer take turns");
	igt_subtest("shared-multiplexer")
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
	igt_subtest("contexts")
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

igt_main
{
	igt_fixture
	{
		tell_driver("del_device", ID);
		igt_assert_eq(tell_driver("new_device", ID " product=nv50 shader_present=0x50005"),
			      0);
		igt_assert(igt_perfctr_open_device(&dev, PLATFORM));
		igt_assert_eq(dev.info.product, DRM_PERFCTR_PRODUCT_NV50);
	}
	exact_tests();
	turn_tests();
	context_tests();
	igt_fixture
	{
		igt_perfctr_close(&dev);
		tell_driver("del_device", ID);
	}
}
