// SPDX-License-Identifier: GPL-2.0
/*
 * The core that copies. Both caches are write-back and allocate; streams of loads pass the L2
 * without a place in it, as otherwise half of it would be lines of the source.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "memsim_core.h"

/* addresses: the array that is read, the one that is written, the variables of the loop */
#define SOURCE		0x40000000ULL
#define DESTINATION	0x80000040ULL
#define STACK		0xc0000080ULL
#define ELEMENT_BYTES	4
#define BEFORE_INSTRUCTIONS	6	/* outside the loop, with the store that begins it */
#define TEST_INSTRUCTIONS	2	/* the test that ends it, with its load */

void memsim_core_init(struct memsim_core *core)
{
	memset(core->l1_tags, 0, sizeof(core->l1_tags));
	memset(core->l2_tags, 0, sizeof(core->l2_tags));
	core->l1 = (struct memsim_cache){
		.tags = core->l1_tags, .sets = MEMSIM_L1_SETS, .ways = MEMSIM_L1_WAYS,
	};
	core->l2 = (struct memsim_cache){
		.tags = core->l2_tags, .sets = MEMSIM_L2_SETS, .ways = MEMSIM_L2_WAYS,
	};
}

/* what the L2 replaced goes over the bus if it is dirty */
static void write_back(struct memsim_core *core, const struct memsim_lookup *l2)
{
	core->evictions += l2->writebacks;
	core->events[MEMSIM_BUS_ACCESS] += MEMSIM_LINE_BEATS * l2->writebacks;
}

/* the L1 does not have a line */
static void refill(struct memsim_core *core, u64 line, bool store)
{
	struct memsim_lookup l2 = { 0 };

	core->events[MEMSIM_L1D_CACHE_REFILL]++;
	core->events[MEMSIM_L2D_CACHE] += core->counting == MEMSIM_L2_SPECULATIVE ? 2 : 1;
	/* a line that is in the L2 anyway is used there, else it passes */
	if (store || memsim_has(&core->l2, line))
		memsim_access(&core->l2, line, 1, MEMSIM_READ, 0, &l2);
	if (l2.hits)
		return;
	core->events[MEMSIM_L2D_CACHE_REFILL]++;
	core->events[MEMSIM_BUS_ACCESS] += MEMSIM_LINE_BEATS;
	write_back(core, &l2);
}

static void access(struct memsim_core *core, u64 address, bool store)
{
	const u64 line = address / MEMSIM_LINE_BYTES;
	struct memsim_lookup l1 = { 0 }, l2 = { 0 };

	core->events[store ? MEMSIM_ST_RETIRED : MEMSIM_LD_RETIRED]++;
	core->events[MEMSIM_MEM_ACCESSES]++;
	core->events[MEMSIM_L1D_CACHE]++;
	memsim_access(&core->l1, line, 1, store ? MEMSIM_WRITE : MEMSIM_READ, 0, &l1);
	if (l1.fills)
		refill(core, line, store);
	if (!l1.writebacks)
		return;
	core->events[MEMSIM_L2D_CACHE] += core->counting == MEMSIM_L2_EVICTIONS;
	memsim_access(&core->l2, l1.victim, 1, MEMSIM_WRITE, 0, &l2);
	write_back(core, &l2);
}

void memsim_core_copy(struct memsim_core *core, u64 first, u64 count, bool last)
{
	if (!first) {
		core->events[MEMSIM_INST_RETIRED] += BEFORE_INSTRUCTIONS;
		access(core, STACK, true);
	}
	for (u64 i = first; i < first + count; i++) {
		/* the counter, for the test and twice as an index, and an array's address */
		for (u32 load = 1; load < MEMSIM_COPY_LOADS; load++)
			access(core, STACK + 4 * load, false);
		access(core, SOURCE + i * ELEMENT_BYTES, false);
		access(core, DESTINATION + i * ELEMENT_BYTES, true);
		access(core, STACK, true);
	}
	core->events[MEMSIM_INST_RETIRED] += MEMSIM_COPY_INSTRUCTIONS * count;
	if (last) {
		core->events[MEMSIM_INST_RETIRED] += TEST_INSTRUCTIONS;
		access(core, STACK, false);
	}
}
