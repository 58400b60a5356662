// SPDX-License-Identifier: GPL-2.0
/*
 * Totals, bases, and the bytes of a sample.
 */
#include "kernel.h"
#include "test.h"
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>
#include <drm/perfctr_tegra410.h>
#include <drm/vsoc_drm.h>
#include "format/perfctr_layout.h"
#include "format/perfctr_mask.h"
#include "format/pmu_block.h"

static void emit_into(u64 *sums, u64 *base, const u64 *totals, u64 mask)
{
	u64 stored[64];
	unsigned int at = 0;

	drm_perfctr_counters_emit(stored, base, totals, mask, U64_MAX);
	for (; mask; mask &= mask - 1)
		sums[__ffs64(mask)] += stored[at++];
}

TEST(two_sessions_get_their_own_counts)
{
	struct random_state random = { test_seed() };
	const u64 masks[2] = { 0x00000000fffffff0ull, 0x5555555500000030ull };
	/* too large for a kernel stack */
	static u64 totals[64], base[2][64], sums[2][64], began[2][64];
	unsigned long round, rounds = test_rounds(5000);
	unsigned int s, i;

	for (i = 0; i < 64; i++)
		totals[i] = random_u64(&random);
	for (s = 0; s < 2; s++) {
		drm_perfctr_counters_rebase(base[s], totals, masks[s]);
		memcpy(began[s], totals, sizeof(totals));
	}
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 64; i++)
			totals[i] += random_u64(&random) >> random_below(&random, 64);
		s = random_below(&random, 3);
		if (s < 2)
			emit_into(sums[s], base[s], totals, masks[s]);
	}
	for (s = 0; s < 2; s++)
		emit_into(sums[s], base[s], totals, masks[s]);
	for (s = 0; s < 2; s++)
		for (i = 0; i < 64; i++)
			check_eq(sums[s][i], masks[s] & BIT_ULL(i) ? totals[i] - began[s][i] : 0);
}

TEST(unmeasured_counter_keeps_its_base)
{
	u64 totals[64] = { 0 }, base[3], stored[3];
	const u64 mask = 0x111;

	totals[0] = 10;
	totals[4] = 20;
	totals[8] = 30;
	drm_perfctr_counters_rebase(base, totals, mask);
	totals[0] += 1;
	totals[4] += 2;
	totals[8] += 3;
	drm_perfctr_counters_emit(stored, base, totals, mask, 0x101);
	check_eq(stored[0], 1);
	check_eq(stored[1], 0);
	check_eq(stored[2], 3);
	totals[4] += 5;
	drm_perfctr_counters_emit(stored, base, totals, mask, U64_MAX);
	check_eq(stored[0], 0);
	check_eq(stored[1], 7);
	check_eq(stored[2], 0);
}

/* a full mask has its own path; totals wrap at 2^64 */
TEST(full_mask_gives_the_same_counts)
{
	struct random_state random = { test_seed() };
	static u64 totals[64], base[64], before[64], stored[64];
	unsigned int i;

	for (i = 0; i < 64; i++)
		totals[i] = U64_MAX - random_below(&random, 100);
	memcpy(before, totals, sizeof(before));
	drm_perfctr_counters_rebase(base, totals, U64_MAX);
	for (i = 0; i < 64; i++)
		totals[i] += random_below(&random, 1000);
	drm_perfctr_counters_emit(stored, base, totals, U64_MAX, U64_MAX);
	for (i = 0; i < 64; i++) {
		check_eq(stored[i], totals[i] - before[i]);
		check_eq(base[i], totals[i]);
	}
}

TEST(block_bytes_are_as_documented)
{
	u64 totals[128] = { 0 }, base[2] = { 0 };
	static struct drm_perfctr_block block = {
		.desc = {
			.type = DRM_PERFCTR_MALI_BLOCK_SHADER, .index = 18, .counters = 128,
			.product = DRM_VSOC_PRODUCT_CSF,
			.clock = DRM_PERFCTR_MALI_CLOCK_SHADER,
		},
	};
	struct perfctr_view view = {
		.header = {
			.enable_mask = BIT_ULL(3) | BIT_ULL(63), .section = 1,
			.set = DRM_PERFCTR_SET_SECONDARY,
		},
		.totals = totals + 64, .base = base, .block = &block,
	};
	struct perfctr_block_status span = {
		.states = DRM_PERFCTR_STATE_ON, .valid = BIT_ULL(63) | BIT_ULL(5),
		.clock_cycles = 77, .capture_ns = -5000000000ll,
	};
	struct {
		struct drm_perfctr_block_header header;
		u64 counters[2];
		u64 behind;
	} out = { .behind = 0x1234 };

	totals[64 + 3] = 9;
	totals[64 + 63] = 11;
	check_eq(drm_perfctr_view_complete(&view), 48 + 16);
	check(drm_perfctr_layout_block(&out, &view, &span) == &out.behind);
	check_eq(out.behind, 0x1234);
	check_eq(out.header.size, 64);
	check_eq(out.header.header_size, 48);
	check_eq(out.header.type, DRM_PERFCTR_MALI_BLOCK_SHADER);
	check_eq(out.header.index, 18);
	check_eq(out.header.section, 1);
	check_eq(out.header.format, 0);
	check_eq(out.header.set, DRM_PERFCTR_SET_SECONDARY);
	check_eq(out.header.clock, DRM_PERFCTR_MALI_CLOCK_SHADER);
	check_eq(out.header.product, DRM_VSOC_PRODUCT_CSF);
	check_eq(out.header.states, DRM_PERFCTR_STATE_ON);
	check_eq(out.header.clock_cycles, 77);
	check_eq(out.header.enable_mask, view.header.enable_mask);
	/* only enabled counters are valid */
	check_eq(out.header.valid_mask, BIT_ULL(63));
	check_eq((u32)out.header.capture_ns, (u32)S32_MIN);
	check_eq(out.counters[0], 0);
	check_eq(out.counters[1], 11);
}

TEST(multiplexed_counters_come_with_their_times)
{
	u64 totals[64] = { 0 }, running[64] = { 0 }, base[2] = { 0 }, base_running[2] = { 0 };
	static struct drm_perfctr_block block = {
		.desc = {
			.type = DRM_PERFCTR_NV50_BLOCK_PCOUNTER, .index = 2, .counters = 64,
			.product = DRM_PERFCTR_NV50_PRODUCT, .clock = 2,
		},
		.enabled = 5000,
	};
	struct perfctr_view view = {
		.header = {
			.enable_mask = BIT_ULL(4) | BIT_ULL(9),
			.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES,
		},
		.totals = totals, .base = base, .block = &block,
		.running = running, .base_running = base_running, .base_enabled = 4000,
	};
	struct perfctr_block_status span = { .states = DRM_PERFCTR_STATE_ON, .valid = BIT_ULL(4) };
	struct {
		struct drm_perfctr_block_header header;
		struct drm_perfctr_running_times span;
		u64 counters[2], times[2], behind;
	} out = { .behind = 0x1234 };

	totals[4] = 7;
	running[4] = 1000;
	check_eq(drm_perfctr_view_complete(&view), 64 + 32);
	check(drm_perfctr_layout_block(&out, &view, &span) == &out.behind);
	check_eq(out.behind, 0x1234);
	check_eq(out.header.header_size, 64);
	check_eq(out.header.size, 96);
	check_eq(out.header.format, DRM_PERFCTR_FORMAT_RUNNING_TIMES);
	check_eq(out.header.valid_mask, BIT_ULL(4));
	check_eq(out.span.time_enabled, 1000);
	check_eq(out.span.time_running, 0);
	check_eq(out.header.states, DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_MULTIPLEXED);
	check_eq(span.states, out.header.states);
	check_eq(out.counters[0], 7);
	check_eq(out.counters[1], 0);
	check_eq(out.times[0], 1000);
	check_eq(out.times[1], 0);

	/* the next span begins at these values; no counter was pending */
	block.enabled += 300;
	running[4] += 300;
	running[9] += 300;
	totals[9] = 3;
	span = (struct perfctr_block_status){
		.states = DRM_PERFCTR_STATE_ON, .valid = view.header.enable_mask,
	};
	drm_perfctr_layout_block(&out, &view, &span);
	check_eq(out.span.time_enabled, 300);
	check_eq(out.span.time_running, 300);
	check_eq(out.header.states, DRM_PERFCTR_STATE_ON);
	check_eq(out.counters[0], 0);
	check_eq(out.counters[1], 3);
	check_eq(out.times[1], 300);
}

/* Covers: DRM_PERFCTR_PMU_NAME_BYTES */
TEST(pmu_block_reports_multiplexing)
{
	u64 totals[3] = { 100, 0, 50 }, enabled[3] = { 1000, 1000, 1000 };
	u64 running[3] = { 1000, 0, 400 }, base[3] = { 0 };
	u64 base_enabled[3] = { 0 }, base_running[3] = { 0 };
	struct perfctr_pmu_block pmu = {
		.identity = {
			.config = 0xc0, .config1 = 0xc1, .config2 = 0xc2, .pmu_type = 42,
			.cpu = -1, .pmu_name = "nvidia_ucf_pmu_1",
		},
		.base_ns = 300, .time_ns = 900,
		.count = 3, .totals = totals, .enabled = enabled,
		.running = running, .base_enabled = base_enabled, .base_running = base_running,
	};
	struct perfctr_view view = {
		.header = {
			.type = DRM_PERFCTR_TEGRA410_BLOCK_UCF, .index = 1,
			.product = DRM_PERFCTR_TEGRA410_PRODUCT, .format = PERFCTR_PMU_FORMAT,
			.clock = DRM_PERFCTR_CLOCK_NONE, .enable_mask = 0x7,
		},
		.totals = totals, .base = base, .pmu = &pmu,
	};
	struct {
		struct drm_perfctr_block_header header;
		struct drm_perfctr_running_times span;
		struct drm_perfctr_pmu_identity identity;
		struct drm_perfctr_block_span own;
		u64 counters[3];
		u64 times[3];
	} out;
	struct drm_perfctr_sample_header sample = { .start_ns = 400, .end_ns = 1000 };
	u32 states = 0;

	check_eq(drm_perfctr_view_complete(&view), sizeof(out));
	check(drm_perfctr_pmu_layout(&out, &view, &sample, &states) == &out + 1);
	check_eq(out.header.size, sizeof(out));
	check_eq(out.header.header_size, 144);
	check_eq(out.header.format, 7);
	check_eq(out.header.valid_mask, 0x5);
	check_eq(out.header.enable_mask, 0x7);
	check_eq(out.identity.pmu_type, 42);
	check_eq(out.span.time_enabled, 1000);
	check_eq(out.span.time_running, 0);
	check(states & DRM_PERFCTR_STATE_MULTIPLEXED);
	check_eq((u32)out.header.capture_ns, (u32)-100);
	check(!strcmp(out.identity.pmu_name, "nvidia_ucf_pmu_1"));
	check_eq(out.counters[0], 100);
	check_eq(out.counters[1], 0);
	check_eq(out.counters[2], 50);
	check_eq(out.times[2], 400);
	check_eq(out.own.start_ns, 300);
	check_eq(out.own.end_ns, 900);

	/* the next span begins at these values, and ends before the sample if no read follows */
	totals[1] = 8;
	enabled[1] += 100;
	running[1] += 100;
	states = 0;
	drm_perfctr_pmu_layout(&out, &view, &sample, &states);
	check_eq(out.counters[0], 0);
	check_eq(out.counters[1], 8);
	check_eq(out.header.valid_mask, 0x2);
	check(!(states & DRM_PERFCTR_STATE_MULTIPLEXED));
	check_eq(out.span.time_enabled, 100);
	check_eq(out.own.start_ns, 900);
	check_eq(out.own.end_ns, 900);

	/* counts of a CPU are lost at an unknown time in the span */
	check_eq(sample.lost_ns, 0);
	pmu.states = DRM_PERFCTR_STATE_LOST;
	drm_perfctr_pmu_layout(&out, &view, &sample, &states);
	check_eq(sample.lost_ns, 600);
}

/* additions to a header are in the order of the bits */
TEST(header_size_follows_the_format)
{
	check_eq(drm_perfctr_header_size(0), 48);
	check_eq(drm_perfctr_header_size(DRM_PERFCTR_FORMAT_RUNNING_TIMES), 48 + 16);
	check_eq(drm_perfctr_header_size(DRM_PERFCTR_FORMAT_PMU_IDENTITY), 48 + 64);
	check_eq(drm_perfctr_header_size(DRM_PERFCTR_FORMAT_RUNNING_TIMES |
					 DRM_PERFCTR_FORMAT_PMU_IDENTITY), 128);
	check_eq(drm_perfctr_header_size(DRM_PERFCTR_FORMAT_SPAN), 48 + 16);
}

TEST(mask_is_split_into_runs)
{
	static const u64 edges[] = {
		1, BIT_ULL(63), U64_MAX, U64_MAX - 1, U64_MAX >> 1, 0xf0f0, ~0xfull
	};
	struct random_state random = { test_seed() };
	unsigned long round, rounds = test_rounds(3000);

	for (round = 0; round < rounds; round++) {
		u64 whole = random_u64(&random), mask, seen = 0;

		whole &= random_u64(&random) >> random_below(&random, 64);
		if (round < ARRAY_SIZE(edges))
			whole = edges[round];
		else if (round & 1)
			whole = ~whole;
		mask = whole;
		while (mask) {
			unsigned int first, count = perfctr_mask_run(&mask, &first);
			unsigned int bit;

			check(count && first + count <= 64);
			check(!first || !(whole & BIT_ULL(first - 1)));
			check(first + count == 64 || !(whole & BIT_ULL(first + count)));
			/* in order, each bit once */
			check(seen < BIT_ULL(first));
			for (bit = first; bit < first + count; bit++)
				seen |= BIT_ULL(bit);
		}
		check_eq(seen, whole);
	}
}
