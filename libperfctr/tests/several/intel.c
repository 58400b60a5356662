// SPDX-License-Identifier: MIT
#include "../intel/unit.h"
#include "gpus.h"

static struct perfctr_sys *make(void)
{
	struct perfctr_sys *calls = make_machine(false, 0x9a49);

	m.room = REPORTS;
	return calls;
}

static void do_job(unsigned int units)
{
	do_units(units);
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

const struct gpu intel_gpu = { make, do_job, unplug, take };
