// SPDX-License-Identifier: GPL-2.0
/*
 * Cost of a sample in the kernel: the ratio of the medians of producing and of memcpy(), which
 * alternate. The limit is far above the goal, so that the test passes on a busy host.
 */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../../perfctr/perfctr_block.c"
#include "../../perfctr/perfctr_layout.c"
#include "../../perfctr/perfctr_ring.c"
#include "../../perfctr/pmu/pmu_layout.c"

#define ROUNDS			31
#define ITERATIONS		4096
#define SLOTS			256
#define COUNTERS		64
/* hundredths */
#define GOAL_PRODUCE		250
#define LIMIT_FACTOR		5
/* User-mode Linux runs at the host's speed; others are emulated. KASAN distorts ratios. */
#define FULL_SPEED		(IS_ENABLED(CONFIG_UML) && !IS_ENABLED(CONFIG_KASAN))

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median(u64 *values)
{
	sort(values, ROUNDS, sizeof(*values), by_value, NULL);
	return values[ROUNDS / 2];
}

/* a session whose reader reads each sample at once */
struct bench_session {
	struct perfctr_ring ring;
	struct drm_perfctr_ring_control control;
	struct perfctr_view *views;
	struct drm_perfctr_block *blocks;
	u64 *bases;
	unsigned int count;
	u32 size;
	void *memory;
};

static void bench_session_init(struct kunit *test, struct bench_session *s, unsigned int count,
			       u64 *totals, u64 mask)
{
	unsigned int i;

	s->count = count;
	s->views = kunit_kcalloc(test, count, sizeof(*s->views), GFP_KERNEL);
	s->blocks = kunit_kcalloc(test, count, sizeof(*s->blocks), GFP_KERNEL);
	s->bases = kunit_kcalloc(test, count * COUNTERS, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, s->views && s->blocks && s->bases);
	s->size = sizeof(struct drm_perfctr_sample_header);
	for (i = 0; i < count; i++) {
		s->blocks[i].desc.counters = COUNTERS;
		s->views[i].block = &s->blocks[i];
		s->views[i].mask = mask;
		s->views[i].totals = totals + i * COUNTERS;
		s->views[i].base = s->bases + i * COUNTERS;
		s->size += drm_perfctr_view_size(&s->views[i]);
	}
	s->memory = kunit_kzalloc(test, SLOTS * ALIGN(s->size, DRM_PERFCTR_SLOT_ALIGN), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s->memory);
	drm_perfctr_ring_init(&s->ring, s->memory, &s->control, SLOTS,
			      ALIGN(s->size, DRM_PERFCTR_SLOT_ALIGN));
}

static void bench_publish(struct bench_session *s, u64 end_ns)
{
	struct drm_perfctr_sample_header header = {
		.size = s->size, .header_size = sizeof(header), .block_count = s->count,
		.seq = s->ring.insert, .end_ns = end_ns,
	};
	struct perfctr_span span = { .valid = U64_MAX };
	void *slot, *at;
	unsigned int i;

	if (drm_perfctr_ring_free(&s->ring) < 2)
		return;
	slot = drm_perfctr_ring_slot(&s->ring);
	at = slot + sizeof(header);
	for (i = 0; i < s->count; i++)
		at = drm_perfctr_layout_block(at, &s->views[i], &span);
	drm_perfctr_layout_header(slot, &header);
	drm_perfctr_ring_publish(&s->ring);
	WRITE_ONCE(s->control.extract_idx, s->control.insert_idx);
}

static void produce_against_memcpy(struct kunit *test)
{
	struct bench_session *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u64 *totals = kunit_kcalloc(test, COUNTERS, sizeof(u64), GFP_KERNEL);
	u64 produce[ROUNDS], copy[ROUNDS], begin, ratio;
	unsigned int round, i;
	void *source, *peer;

	KUNIT_ASSERT_TRUE(test, s && totals);
	bench_session_init(test, s, 1, totals, U64_MAX);
	source = kunit_kzalloc(test, s->size, GFP_KERNEL);
	peer = kunit_kzalloc(test, SLOTS * s->ring.stride, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, source && peer);

	for (round = 0; round < ROUNDS; round++) {
		begin = ktime_get_raw_ns();
		for (i = 0; i < ITERATIONS; i++)
			bench_publish(s, i);
		produce[round] = ktime_get_raw_ns() - begin;
		begin = ktime_get_raw_ns();
		for (i = 0; i < ITERATIONS; i++) {
			memcpy(peer + (i & (SLOTS - 1)) * s->ring.stride, source, s->size);
			barrier();
		}
		copy[round] = ktime_get_raw_ns() - begin;
	}
	ratio = median(produce) * 100 / max(median(copy), 1ULL);
	kunit_info(test, "produce %llu ns, memcpy %llu ns: %llu.%02llux (goal <= %d.%02dx)\n",
		   median(produce) / ITERATIONS, median(copy) / ITERATIONS,
		   ratio / 100, ratio % 100, GOAL_PRODUCE / 100, GOAL_PRODUCE % 100);
	KUNIT_EXPECT_EQ(test, s->ring.insert, (u64)ROUNDS * ITERATIONS);
	KUNIT_EXPECT_LE(test, ratio, GOAL_PRODUCE * LIMIT_FACTOR);
}

static int bench_init(struct kunit *test)
{
	if (!FULL_SPEED)
		kunit_skip(test, "the kernel is emulated or has KASAN");
	return 0;
}

static struct kunit_case bench_cases[] = {
	KUNIT_CASE(produce_against_memcpy),
	{ }
};

static struct kunit_suite bench_suite = {
	.name = "perfctr_bench",
	.init = bench_init,
	.test_cases = bench_cases,
};

kunit_test_suite(bench_suite);

MODULE_DESCRIPTION("Tests of the counter core and the Tegra410 PMUs");
MODULE_LICENSE("GPL");
