// SPDX-License-Identifier: MIT
/*
 * The command perfctr on the GPU of unit.h. A unit of its work is a cycle of the GPU and of the
 * tiler, a triangle, and three cycles of one shader core; two cycles pass.
 */
#include "unit.h"
#include "live.h"

enum { GPU_ACTIVE = 4, TILER_ACTIVE = 4, TRIANGLES = 6, SHADER = 4 };

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

static void work(unsigned int units)
{
	driver.counts[0][GPU_ACTIVE] += units;
	driver.counts[1][TILER_ACTIVE] += units;
	driver.counts[1][TRIANGLES] += units;
	driver.counts[4][SHADER] += 3 * (uint64_t)units;
	driver.cycles[0] += 2 * (uint64_t)units;
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	static struct perfctr_sys *calls;

	if (!calls)
		calls = live_begin(make_driver(), work);
	return perfctr_ctx_new_with(calls, ctx);
}
