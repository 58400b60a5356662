// SPDX-License-Identifier: MIT
/*
 * The command perfctr on the GPU of unit.h, of xe with $INTEL_XE, which works all the time: each
 * millisecond a raw counter grows by 1000 times its number and one.
 */
#include "unit.h"

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

bool test_equal(long long a, long long b, const char *file, int line, const char *text)
{
	if (a != b)
		abort();
	return true;
}

bool test_check(bool good, const char *file, int line, const char *text)
{
	if (!good)
		abort();
	return true;
}

static void *go_on(void *arg)
{
	for (;;) {
		rest(1);
		pthread_mutex_lock(&m.lock);
		run();
		for (unsigned int n = 0; n < RAWS; n++)
			m.now.raws[n] += 1000 * (n + 1);
		pthread_mutex_unlock(&m.lock);
	}
	return NULL;
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	static struct perfctr_sys *calls;
	pthread_t thread;

	if (!calls) {
		calls = make_machine(getenv("INTEL_XE"), getenv("INTEL_XE") ? 0x64a0 : 0x9a49);
		m.denied = getenv("INTEL_DENIED");
		pthread_create(&thread, NULL, go_on, NULL);
	}
	return perfctr_ctx_new_with(calls, ctx);
}
