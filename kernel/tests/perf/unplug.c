// SPDX-License-Identifier: MIT
/*
 * The virtual SoC is removed while events of its PMUs are open, and added again. usage: unplug
 * MODULE: path of vsoc.ko
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "soc.h"

#define UCF "nvidia_ucf_pmu_0"
#define TGT "nvidia_pcie_tgt_pmu_0_rc_0"
#define UNUSED "nvidia_ucf_pmu_1"
#define COPY "copy bytes=64Ki read initiator=cpu home=cmem socket=0"
#define BYTES 65536

static bool module_command(const char *command, const char *module)
{
	char line[512];

	snprintf(line, sizeof(line), "%s %s 2>/dev/null", command, module);
	fflush(stdout);
	return system(line) == 0;
}

static bool pmu_exists(const char *pmu)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", pmu);
	return access(path, F_OK) == 0;
}

/* off and on again, as after any failure to count */
static bool restart(int fd)
{
	return !ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr;
	struct soc_count before, after;
	int ucf, tgt, cpu, got;

	if (argc != 2) {
		fprintf(stderr, "usage: unplug MODULE\n");
		return 2;
	}
	cpu = soc_pmu_cpu(UCF);
	ucf = soc_event(UCF, 0x113, 0, 0, -1);
	tgt = soc_event(TGT, 1 << 11, 0x100000, 0xfff00000, -1);
	soc_job(COPY);
	tap(ucf >= 0 && tgt >= 0 && soc_read(ucf).value == BYTES, "events count");
	tap(!module_command("rmmod", "tegra410_pmu"), "the PMU module is in use");

	tap(module_command("rmmod", "vsoc"), "the device is removed with open events");
	before = soc_read(ucf);
	usleep(100000);
	after = soc_read(ucf);
	tap(before.value == BYTES && after.value == BYTES, "counts stay readable: %lu",
	    (unsigned long)after.value);
	tap(soc_pmu_cpu(UCF) == -1, "cpumask is empty");
	attr = soc_attr(UCF, 0x113, 0, 0);
	got = soc_open(&attr, -1, cpu, -1, 0);
	tap(got == -ENODEV, "opening: %s", got < 0 ? strerror(-got) : "accepted");
	tap(!pmu_exists(UNUSED), "a PMU without events is gone");

	tap(module_command("insmod", argv[1]), "the device is added");
	soc_job(COPY);
	got = soc_event(UCF, 0x113, 0, 0, -1);
	soc_job(COPY);
	tap(got >= 0 && soc_read(got).value == BYTES, "new events count");
	close(got);
	/* the old event does not resume, as its missed counts are unknown */
	tap(restart(ucf), "the old event can be switched off and on");
	soc_job(COPY);
	tap(soc_read(ucf).value == BYTES, "the old event does not count without its hardware: %lu",
	    (unsigned long)soc_read(ucf).value);
	close(ucf);
	close(tgt);
	tap(module_command("rmmod", "vsoc") && module_command("rmmod", "tegra410_pmu"),
	    "without events both modules unload");
	tap(!pmu_exists(UCF), "the PMUs are gone");
	tap(module_command("insmod", argv[1]), "the device is added again");
	return tap_done();
}
