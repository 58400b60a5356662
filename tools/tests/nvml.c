// SPDX-License-Identifier: MIT
/*
 * libnvidia-ml.so.1 of a made-up machine, see machine.py: a GPU that takes 70.5 W and moves 3 GB a
 * second over PCIe from the start of the process, and has one process of compute and graphics.
 */
#include <time.h>

#include "tests/nvml_stub.h"

enum { POWER_MW = 70500, PCIE_PER_US = 3000, SM_CYCLES_PER_US = 1980 };

static unsigned long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static void advance(void)
{
	static unsigned long long begin_us;
	unsigned long long us;

	if (!begin_us)
		begin_us = now_us();
	us = now_us() - begin_us;
	nvml_stub.energy_mj = 5000000 + us * POWER_MW / 1000000;
	nvml_stub.fields[NVML_FIELD_PCIE_RX].value = us * PCIE_PER_US;
	nvml_stub.gpm[0] = (double)us * SM_CYCLES_PER_US;
	nvml_stub.gpm[1] = (double)us * SM_CYCLES_PER_US / 4;
}

static __attribute__((constructor)) void begin(void)
{
	nvml_stub = (struct nvml_stub){
		.at_call = advance,
		.power_mw = POWER_MW,
		.temperature = 43,
		.clocks_mhz = { 1980, 1979, 2619, 1545 },
		.memory = { 80ull << 30, 79ull << 30, 1ull << 30 },
		.utilization = { 37, 12 },
		.processes = { { .pid = 70, .used = 512 << 20 } },
		.process_count = 1,
		.has_gpm = true,
	};
	nvml_stub.fields[NVML_FIELD_PCIE_RX].type = NVML_U64;
}
