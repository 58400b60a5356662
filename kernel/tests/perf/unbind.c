// SPDX-License-Identifier: MIT
/*
 * The virtual GPU is removed while events of its SoC's PMUs are open, and added again. The SoC and
 * its PMUs stay, as their drivers cannot be unbound; modules that events use cannot be unloaded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soc.h"

#define DRIVER "/sys/bus/platform/drivers/vsoc"
#define UCF "nvidia_ucf_pmu_0"
#define CMEM "nvidia_cmem_latency_pmu_0"
#define COPY "copy bytes=64Ki read initiator=cpu home=cmem socket=0"
#define BYTES 65536
/* in the order in which they can be removed */
static const char *const modules[] = {
	"nvidia_cspmu", "arm_cspmu_module", "nvidia_t410_c2c_pmu", "nvidia_t410_cmem_latency_pmu",
	"vsoc",
};

#define MODULES ARRAY_SIZE(modules)

static bool command(const char *text)
{
	fflush(stdout);
	return system(text) == 0;
}

static bool removed(const char *module)
{
	char line[128];

	snprintf(line, sizeof(line), "rmmod %s 2>/dev/null", module);
	return command(line);
}

static bool inserted(const char *module)
{
	char line[128];

	snprintf(line, sizeof(line), "insmod $PERFCTR_KMOD/%s.ko", module);
	return command(line);
}

static bool driver(const char *file)
{
	char line[128];

	snprintf(line, sizeof(line), "echo vsoc.0 >" DRIVER "/%s", file);
	return command(line);
}

static bool pmu_exists(const char *pmu)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", pmu);
	return access(path, F_OK) == 0;
}

static bool reloaded(void)
{
	bool done = true;

	for (size_t i = 0; i < MODULES; i++)
		done &= removed(modules[i]);
	tap(done, "without events the modules unload");
	tap(!pmu_exists(UCF) && !pmu_exists(CMEM), "the PMUs are gone");
	done = inserted("vsoc") && inserted("arm_cspmu_module");
	for (size_t i = 0; i < MODULES - 1; i++)
		done &= !strcmp(modules[i], "arm_cspmu_module") || inserted(modules[i]);
	return done;
}

int main(void)
{
	int ucf, cmem, other;

	ucf = soc_event(UCF, 0x113, 0, 0, -1);
	cmem = soc_event(CMEM, 1, 0, 0, -1);
	soc_job(COPY);
	tap(ucf >= 0 && cmem >= 0 && soc_read(ucf).value == BYTES, "events count");
	tap(!removed("nvidia_cspmu"), "the module of an open event is in use");

	tap(driver("unbind"), "the GPU is removed with open events");
	usleep(100000);
	tap(soc_read(ucf).value == BYTES, "counts stay readable: %lu",
	    (unsigned long)soc_read(ucf).value);
	other = soc_event(UCF, 0x113, 0, 0, -1);
	tap(soc_pmu_cpu(UCF) >= 0 && other >= 0, "the SoC's PMU stays, and takes events");

	tap(driver("bind"), "the GPU is added");
	soc_job(COPY);
	tap(soc_read(other).value > 0 && soc_read(other).value == soc_read(ucf).value - BYTES,
	    "all events count what it does");
	close(ucf);
	close(cmem);
	close(other);

	tap(reloaded(), "the modules are loaded again");
	ucf = soc_event(UCF, 0x113, 0, 0, -1);
	soc_job(COPY);
	tap(ucf >= 0 && soc_read(ucf).value == BYTES, "events count again");
	return tap_done();
}
