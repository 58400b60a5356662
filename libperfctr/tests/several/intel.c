// SPDX-License-Identifier: MIT
#include "../intel/unit.h"
#include "gpus.h"

static struct perfctr_sys *make(void)
{
	struct perfctr_sys *calls = make_machine(false, 0x9a49);

	m.room = REPORTS;
	return calls;
}

static void do_units(unsigned int units)
{
	pthread_mutex_lock(&m.lock);
	run();
	for (unsigned int n = 0; n < RAWS; n++)
		m.now.raws[n] += (uint64_t)units * (n + 1);
	pthread_mutex_unlock(&m.lock);
	/* reports have it before the job is done */
	rest(20);
}

static void unplug(void)
{
	m.gone = true;
}

static void take(void)
{
	m.busy = true;
}

const struct gpu intel_gpu = { make, do_units, unplug, take };
