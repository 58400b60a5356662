// SPDX-License-Identifier: MIT
/*
 * The command perfctr on the GPU of unit.h. A unit of its work is a cycle of the GPU and of the
 * renderer, a primitive, and three bytes that are read. With $V3D_LATE each read loses some cycles,
 * and as many as it says lose a part of the primitives. With $V3D_UNTOUCHED it aborts if it counts.
 */
#include "unit.h"
#include "live.h"

enum { RENDER_CYCLES = 29, READ_BYTES = 41 };

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

static void work(unsigned int units)
{
	driver.pending[CYCLES] += units;
	driver.pending[RENDER_CYCLES] += units;
	driver.pending[PRIMITIVES] += units;
	driver.pending[READ_BYTES] += 3 * (uint64_t)units;
	driver.awake_ms += units / 1000;
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	/* each process that forks has its own */
	static struct state state;
	static struct perfctr_sys *calls;
	const char *late = getenv("V3D_LATE");

	if (!calls) {
		shared = &state;
		calls = live_begin(make_driver(), work);
		driver.untouched = getenv("V3D_UNTOUCHED");
		if (late) {
			driver.late = 1;
			driver.bursts = (unsigned int)strtoul(late, NULL, 10);
		}
	}
	return perfctr_ctx_new_with(calls, ctx);
}
