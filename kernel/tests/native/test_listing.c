// SPDX-License-Identifier: GPL-2.0
/*
 * Listings of the virtual SoC: random programs whose counts are known, limits, refusals.
 */
#include "rules_fixture.h"

static struct vsoc_step steps[VSOC_MAX_LISTING];

static int follow(const struct drm_vsoc_instruction *listing, u32 count, u32 breath,
		  struct vsoc_thread *thread)
{
	struct vsoc_run r = { .steps = steps, .count = count };
	int ret = -EAGAIN;
	u32 i;

	memset(steps, 0, count * sizeof(*steps));
	memset(thread, 0, sizeof(*thread));
	for (i = 0; i < count; i++) {
		check(!vsoc_listing_check(&listing[i], count));
		steps[i].insn = listing[i];
	}
	while (ret == -EAGAIN && r.taken < VSOC_MAX_STEPS)
		ret = vsoc_listing_run(&r, breath, thread);
	return ret;
}

/*
 * Random programs of straight code and nested loops, whose counts are known by multiplication,
 * without following any branch.
 */
struct program {
	struct random_state *random;
	struct drm_vsoc_instruction code[VSOC_MAX_LISTING];
	u32 count;
	struct vsoc_thread known;
};

static const u16 straight[] = {
	DRM_VSOC_OP_IMAD, DRM_VSOC_OP_VABSDIFF4, DRM_VSOC_OP_BMSK, DRM_VSOC_OP_FADD,
	DRM_VSOC_OP_FSETP, DRM_VSOC_OP_LDG, DRM_VSOC_OP_STG, DRM_VSOC_OP_LDS, DRM_VSOC_OP_STS,
	DRM_VSOC_OP_I2F, DRM_VSOC_OP_S2R, DRM_VSOC_OP_NOP, DRM_VSOC_OP_BAR, DRM_VSOC_OP_MOV,
	DRM_VSOC_OP_SHFL,
};

static void emit(struct program *p, u16 opcode, u8 guard, u32 times, u32 target, u64 on, u64 off)
{
	p->code[p->count++] = (struct drm_vsoc_instruction){
		.opcode = opcode, .guard = guard, .guard_times = times, .target = target };
	p->known.on[opcode >> 8] += on;
	p->known.off[opcode >> 8] += off;
	if (opcode == DRM_VSOC_OP_SHFL)
		p->known.shuffles += on;
	if (opcode == DRM_VSOC_OP_LDG)
		p->known.loads += on;
	if (opcode == DRM_VSOC_OP_STG)
		p->known.stores += on;
}

/* code that runs @times times */
static void generate(struct program *p, u64 times, unsigned int depth)
{
	unsigned int length = 1 + random_below(p->random, 5);

	while (length-- && p->count < VSOC_MAX_LISTING - 40) {
		u16 opcode = straight[random_below(p->random, ARRAY_SIZE(straight))];
		u32 start = p->count, n;

		switch (depth ? random_below(p->random, 6) : random_below(p->random, 3)) {
		case 0:
			emit(p, opcode, DRM_VSOC_GUARD_TRUE, 0, 0, times, 0);
			break;
		case 1:
			emit(p, opcode, DRM_VSOC_GUARD_FALSE, 0, 0, 0, times);
			break;
		case 2:
			/* true in n of n + 1 times */
			n = random_below(p->random, 4);
			emit(p, opcode, DRM_VSOC_GUARD_TIMES, n, 0, times - times / (n + 1),
			     times / (n + 1));
			break;
		case 3:
			/* a branch over skipped code */
			emit(p, DRM_VSOC_OP_BRA, DRM_VSOC_GUARD_TRUE, 0, 0, times, 0);
			generate(p, 0, depth - 1);
			p->code[start].target = p->count;
			/* the target */
			emit(p, DRM_VSOC_OP_NOP, DRM_VSOC_GUARD_TRUE, 0, 0, times, 0);
			break;
		case 4:
			/* an EXIT that never happens */
			emit(p, DRM_VSOC_OP_EXIT, DRM_VSOC_GUARD_FALSE, 0, 0, 0, times);
			break;
		case 5:
			n = 1 + random_below(p->random, 5);
			generate(p, times * n, depth - 1);
			emit(p, DRM_VSOC_OP_BRA, DRM_VSOC_GUARD_TIMES, n - 1, start,
			     times * (n - 1), times);
			break;
		}
	}
}

TEST(random_programs_count_what_they_execute)
{
	static struct program p;
	struct random_state random = { test_seed() + 3 };
	unsigned long i, rounds = test_rounds(3000);
	unsigned int dead, k;
	struct vsoc_thread thread;

	for (i = 0; i < rounds; i++) {
		memset(&p, 0, sizeof(p));
		p.random = &random;
		generate(&p, 1, 4);
		emit(&p, DRM_VSOC_OP_EXIT, DRM_VSOC_GUARD_TRUE, 0, 0, 1, 0);
		dead = random_below(&random, 4);
		for (k = 0; k < dead; k++)
			emit(&p, DRM_VSOC_OP_NOP, DRM_VSOC_GUARD_TRUE, 0, 0, 0, 0);
		p.known.dead[VSOC_CLASS_MISC] = dead;

		check_eq(follow(p.code, p.count, 1 + random_below(&random, 100), &thread), 0);
		check(!memcmp(&thread, &p.known, sizeof(thread)));
	}
}

/* code behind the EXIT in memory that runs before it */
TEST(code_behind_exit_counts_if_reached)
{
	static const struct drm_vsoc_instruction code[] = {
		{ .opcode = DRM_VSOC_OP_BRA, .target = 2 }, { .opcode = DRM_VSOC_OP_EXIT },
		{ .opcode = DRM_VSOC_OP_NOP }, { .opcode = DRM_VSOC_OP_BRA, .target = 1 },
		{ .opcode = DRM_VSOC_OP_NOP },
	};
	struct vsoc_thread thread;

	check_eq(follow(code, ARRAY_SIZE(code), 100, &thread), 0);
	check_eq(thread.on[VSOC_CLASS_CONTROL], 3);
	check_eq(thread.on[VSOC_CLASS_MISC], 1);
	check_eq(thread.dead[VSOC_CLASS_MISC], 1);
	check_eq(thread.dead[VSOC_CLASS_CONTROL], 0);
}

TEST(largest_listings_stay_within_rates)
{
	static const u16 one[] = { DRM_VSOC_OP_IMAD, DRM_VSOC_OP_LDG, DRM_VSOC_OP_STG,
				   DRM_VSOC_OP_MOV, DRM_VSOC_OP_FADD, DRM_VSOC_OP_SHFL };
	struct drm_vsoc_command cmd = { .type = DRM_VSOC_CMD_COMPUTE };
	struct vsoc_thread thread;
	unsigned int i, o, miscount, profile, threads;

	for (o = 0; o < ARRAY_SIZE(one); o++) {
		memset(&thread, 0, sizeof(thread));
		thread.on[one[o] >> 8] = VSOC_MAX_STEPS;
		thread.dead[one[o] >> 8] = VSOC_MAX_LISTING;
		thread.loads = one[o] == DRM_VSOC_OP_LDG ? VSOC_MAX_STEPS : 0;
		thread.stores = one[o] == DRM_VSOC_OP_STG ? VSOC_MAX_STEPS : 0;
		thread.shuffles = one[o] == DRM_VSOC_OP_SHFL ? VSOC_MAX_STEPS : 0;
		for (i = 0; i < ARRAY_SIZE(shapes); i++) {
			for (profile = 0; profile < VSOC_PROFILES * VSOC_MISCOUNTS * 2; profile++) {
				u128 total, lines = 0, rest = 0;
				u32 k;

				use_some_shape(i);
				miscount = profile / VSOC_PROFILES % VSOC_MISCOUNTS;
				threads = profile / VSOC_PROFILES / VSOC_MISCOUNTS;
				counting.profile = profile % VSOC_PROFILES;
				counting.miscount = miscount;
				cmd.compute.threads = threads ? VSOC_MAX_UNITS : 16;
				run(&cmd, &thread);
				check_rates();
				for (k = 0; k < work.stream_count; k++)
					lines += work.streams[k].lines;
				/* written lines merge by eights, a quarter of the reads hits */
				check(lines <= (u128)cmd.compute.threads / 16 * VSOC_MAX_STEPS);
				check(work.duration_ns < 1ull << 63);
				total = (u128)cmd.compute.threads * VSOC_MAX_STEPS;
				for (k = 0; k < shape.cores; k++)
					rest += have[VSOC_BLOCK_MEMSYS + shape.l2_slices + k]
						    [VSOC_SHADER_THREAD_INST_TOTAL];
				if (counting.profile == VSOC_PROFILE_XAVIER &&
				    miscount != VSOC_MISCOUNT_DEAD)
					check(rest == (thread.shuffles ? 0 : total));
			}
		}
	}
}

TEST(invalid_listings_are_refused)
{
	static const struct {
		struct drm_vsoc_instruction insn;
		const char *says;
	} bad[] = {
		{ { .opcode = 0 }, "opcode" },
		{ { .opcode = 0xff }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_VABSDIFF4 + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_FSETP + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_STS + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_EXIT + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_I2F + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_BAR + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_SHFL + 1 }, "opcode" },
		{ { .opcode = 0x800 }, "opcode" },
		{ { .opcode = 0xffff }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_NOP, .guard = 3 }, "guard is" },
		{ { .opcode = DRM_VSOC_OP_NOP, .guard_times = 1 }, "guard_times" },
		{ { .opcode = DRM_VSOC_OP_NOP, .guard = 1, .guard_times = 1 }, "guard_times" },
		{ { .opcode = DRM_VSOC_OP_NOP, .target = 1 }, "target" },
		{ { .opcode = DRM_VSOC_OP_BRA, .target = 4 }, "outside" },
		{ { .opcode = DRM_VSOC_OP_BRA, .target = ~0u }, "outside" },
		{ { .opcode = DRM_VSOC_OP_NOP, .pad = 1 }, "pad" },
		{ { .opcode = DRM_VSOC_OP_NOP, .reserved = 1 }, "reserved" },
	};
	static const struct drm_vsoc_instruction no_exit[] = { { .opcode = DRM_VSOC_OP_NOP } };
	static const struct drm_vsoc_instruction forever[] = {
		{ .opcode = DRM_VSOC_OP_NOP }, { .opcode = DRM_VSOC_OP_BRA },
		{ .opcode = DRM_VSOC_OP_EXIT },
	};
	static const struct drm_vsoc_instruction exit_off[] = {
		{ .opcode = DRM_VSOC_OP_EXIT, .guard = DRM_VSOC_GUARD_FALSE } };
	struct vsoc_thread thread;
	const char *says;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		says = vsoc_listing_check(&bad[i].insn, 4);
		if (!says || !strstr(says, bad[i].says))
			printf("# case %u: %s\n", i, says ? says : "accepted");
		check(says && strstr(says, bad[i].says));
	}
	check_eq(follow(no_exit, 1, 10, &thread), -EINVAL);
	check_eq(follow(exit_off, 1, 10, &thread), -EINVAL);
	check_eq(follow(forever, 3, 1000, &thread), -EAGAIN);
}
