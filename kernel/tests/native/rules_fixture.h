/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands on virtual SoCs of several shapes, and what they count.
 */
#ifndef NATIVE_RULES_FIXTURE_H
#define NATIVE_RULES_FIXTURE_H

#include "kernel.h"
#include "vsoc_csf_counters.h"
#include "vsoc_rules.h"
#include "test.h"

/* of all counter sets */
#define MAX_BLOCKS	(VSOC_SETS * (VSOC_BLOCK_MEMSYS + VSOC_MAX_L2_SLICES + VSOC_MAX_CORES))
#define MAX_COUNTERS	128

static struct vsoc_shape shape;
static struct vsoc_counting counting;
static struct vsoc_work work;
static struct vsoc_work_item items[MAX_BLOCKS * 64];
static u128 have[MAX_BLOCKS][MAX_COUNTERS];

static inline void use_shape(u64 present, u32 slices, u32 counters)
{
	vsoc_shape_init(&shape, present, slices, counters);
	memset(&counting, 0, sizeof(counting));
	work = (struct vsoc_work){ .shape = &shape, .counting = &counting, .items = items,
				   .capacity = vsoc_work_capacity(&shape) };
	check(work.capacity <= ARRAY_SIZE(items));
}

static const struct {
	u64 present;
	u32 slices, counters;
} shapes[] = {
	{ 0x50005, 2, 64 }, { 0x1, 1, 64 }, { 0x1110055, 3, 128 }, { 0xffff, 4, 64 },
	{ ~0ull, 16, 128 }, { 0x80000001, 5, 128 },
};

static inline void use_some_shape(unsigned int i)
{
	i %= ARRAY_SIZE(shapes);
	use_shape(shapes[i].present, shapes[i].slices, shapes[i].counters);
}

static inline void run(const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread)
{
	u32 i;

	vsoc_rules_command(&work, cmd, thread);
	/* anything that does not fit is left out */
	check(work.count < work.capacity);
	memset(have, 0, sizeof(have));
	for (i = 0; i < work.count; i++) {
		check(items[i].block < VSOC_SETS * shape.blocks);
		check(items[i].counter < shape.counters_per_block);
		check(items[i].total && !items[i].done);
		have[items[i].block][items[i].counter] += items[i].total;
	}
}

static inline void check_rates(void)
{
	u32 i;

	for (i = 0; i < work.count; i++) {
		bool slow = (u128)items[i].total * NSEC_PER_SEC <=
			    (u128)work.duration_ns * VSOC_MAX_COUNT_HZ;

		if (!slow)
			printf("# block %u counter %u: %llu in %llu ns\n", items[i].block,
			       items[i].counter, items[i].total, work.duration_ns);
		check(slow);
	}
}

#endif /* NATIVE_RULES_FIXTURE_H */
