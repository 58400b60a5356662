// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes of a sample of PERF_CONTROL.
 */
#include "kernel.h"
#include "test.h"
#include <drm/perfctr_mali.h>
#include "format/dense_layout.h"

#define SECTION	DRM_PERFCTR_SECTION_COUNTERS

static u64 totals[2 * SECTION];

static struct drm_perfctr_block block = {
	.desc = {
		.type = DRM_PERFCTR_MALI_BLOCK_SHADER, .index = 18, .counters = 2 * SECTION,
		.clock = DRM_PERFCTR_MALI_CLOCK_SHADER,
	},
};

/* what readers see: little-endian, as is the machine */
struct bytes {
	u8 type, index, states, clock, pad[4];
	u64 enable[2];
	u64 counters[2 * SECTION];
	u64 behind;
};

static u64 counts_since(u64 base, unsigned int i)
{
	return totals[i] - base;
}

TEST(dense_blocks_have_all_positions)
{
	struct random_state random = { test_seed() };
	unsigned long round, rounds = test_rounds(2000);

	for (round = 0; round < rounds; round++) {
		/* all, none, and any: each run of bits */
		const u64 masks[] = { U64_MAX, 0, random_u64(&random) & random_u64(&random),
				      random_u64(&random), BIT_ULL(63) | 1 };
		static u64 base[2][SECTION], began[2 * SECTION];
		struct perfctr_view views[2];
		struct perfctr_dense_block dense = { .block = &block, .type = 5, .index = 3 };
		struct perfctr_dense_status status = {
			.states = DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_LOST,
		};
		static struct bytes out;
		unsigned int s, i, sections = 1 + round % 2;

		for (i = 0; i < 2 * SECTION; i++)
			totals[i] = random_u64(&random);
		memcpy(began, totals, sizeof(began));
		for (s = 0; s < sections; s++) {
			const u64 mask = masks[random_below(&random, ARRAY_SIZE(masks))];

			views[s] = (struct perfctr_view) {
				.header = { .enable_mask = mask, .section = s },
				.totals = totals + s * SECTION, .base = base[s], .block = &block,
			};
			if (random_below(&random, 8))
				dense.views[s] = &views[s];
			status.valid[s] = random_below(&random, 2) ? U64_MAX : random_u64(&random);
			drm_perfctr_counters_rebase(base[s], views[s].totals,
						    views[s].header.enable_mask);
		}
		for (i = 0; i < 2 * SECTION; i++)
			totals[i] += random_below(&random, 1000);
		/* whatever was in the slot is overwritten */
		memset(&out, 0xa5, sizeof(out));
		check(drm_perfctr_dense_block(&out, &dense, &status, sections) ==
		      out.counters + sections * SECTION);
		check_eq(out.type, 5);
		check_eq(out.index, 3);
		check_eq(out.states, DRM_PERFCTR_STATE_ON);
		check_eq(out.clock, DRM_PERFCTR_MALI_CLOCK_SHADER);
		check_eq(sections == 2 ? out.behind : out.counters[SECTION], 0xa5a5a5a5a5a5a5a5);
		for (i = 0; i < sizeof(out.pad); i++)
			check_eq(out.pad[i], 0);
		for (s = 0; s < 2; s++)
			check_eq(out.enable[s],
				 dense.views[s] ? views[s].header.enable_mask & status.valid[s] :
						  0);
		for (i = 0; i < sections * SECTION; i++) {
			const u64 bit = BIT_ULL(i % SECTION);
			bool measured = dense.views[i / SECTION] &&
					views[i / SECTION].header.enable_mask & bit &&
					status.valid[i / SECTION] & bit;

			check_eq(out.counters[i], measured ? counts_since(began[i], i) : 0);
		}
		/* what was not measured is in the next sample */
		status.valid[0] = U64_MAX;
		status.valid[1] = U64_MAX;
		drm_perfctr_dense_block(&out, &dense, &status, sections);
		for (i = 0; i < sections * SECTION; i++)
			if (out.counters[i])
				check_eq(out.counters[i], counts_since(began[i], i));
	}
}

/* a clock that samples have no place for */
TEST(dense_block_without_a_clock)
{
	static struct drm_perfctr_block none = { .desc.clock = DRM_PERFCTR_CLOCK_NONE };
	const struct perfctr_dense_block dense = { .block = &none, .type = 6 };
	const struct perfctr_dense_status status = { };
	static struct bytes out;

	drm_perfctr_dense_block(&out, &dense, &status, 2);
	check_eq(out.type, 6);
	check_eq(out.clock, 0);
}
