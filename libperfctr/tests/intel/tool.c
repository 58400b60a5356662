// SPDX-License-Identifier: MIT
/*
 * The command perfctr on the GPU of unit.h, of xe with $INTEL_XE, which works all the time: each
 * millisecond a raw counter grows by 1000 times its number and one.
 */
#include "unit.h"
#include "live.h"

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

static void *go_on(void *arg)
{
	const unsigned int *units = arg;

	live_block_signals();
	for (;;) {
		rest(1);
		do_units(*units);
	}
	return NULL;
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	static unsigned int units = 1000;
	static struct perfctr_sys *calls;
	pthread_t thread;

	if (!calls) {
		calls = make_machine(getenv("INTEL_XE"), getenv("INTEL_XE") ? 0x64a0 : 0x9a49);
		m.denied = getenv("INTEL_DENIED");
		m.room = REPORTS;
		if (live_take_jobs(do_units))
			units = 0;
		pthread_create(&thread, NULL, go_on, &units);
	}
	return perfctr_ctx_new_with(calls, ctx);
}
