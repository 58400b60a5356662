// SPDX-License-Identifier: MIT
/* Devices of fabric PMUs by the names that the kernel gives them: fabric.h. */
#include "fabric.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/app.h"

#define DEVICES "/sys/bus/platform/devices/"

/* kinds of devices, by the tables of Linux 7.3's drivers */
static const struct kind {
	const char *names[3]; /* of devices, before their number */
	const char *what, *option, *module;
} kinds[] = {
	/* from the table APMT */
	{ { "arm-cs-arch-pmu." },
	  "CoreSight PMUs of the SoC",
	  "ARM_CORESIGHT_PMU_ARCH_SYSTEM_PMU and that of the vendor, as "
	  "NVIDIA_CORESIGHT_PMU_ARCH_SYSTEM_PMU",
	  "sudo modprobe -a arm_cspmu_module nvidia_cspmu" },
	{ { "NVDA2021:" },
	  "CMEM latency PMUs",
	  "NVIDIA_TEGRA410_CMEM_LATENCY_PMU",
	  "sudo modprobe nvidia_t410_cmem_latency_pmu" },
	{ { "NVDA2020:", "NVDA2022:", "NVDA2023:" },
	  "C2C link PMUs",
	  "NVIDIA_TEGRA410_C2C_PMU",
	  "sudo modprobe nvidia_t410_c2c_pmu" },
};

static bool is_of(const struct kind *kind, const char *name)
{
	for (size_t n = 0; n < ARRAY_SIZE(kind->names) && kind->names[n]; n++)
		if (!strncmp(name, kind->names[n], strlen(kind->names[n])))
			return true;
	return false;
}

static bool is_bound(const char *name)
{
	char path[sizeof(DEVICES) + 256 + sizeof("/driver")];

	snprintf(path, sizeof(path), DEVICES "%.256s/driver", name);
	return !access(path, F_OK);
}

void fabric_walk(fabric_fn fn, void *arg)
{
	unsigned int count[ARRAY_SIZE(kinds)][2] = { 0 };
	struct dirent *entry;
	DIR *folder = opendir(DEVICES);

	if (!folder)
		return;
	while ((entry = readdir(folder)))
		for (size_t n = 0; n < ARRAY_SIZE(kinds); n++)
			if (is_of(&kinds[n], entry->d_name))
				count[n][is_bound(entry->d_name)]++;
	closedir(folder);
	for (size_t n = 0; n < ARRAY_SIZE(kinds); n++)
		for (int bound = 1; bound >= 0; bound--)
			if (count[n][bound])
				fn(arg, bound, count[n][bound], kinds[n].what, kinds[n].option,
				   bound ? NULL : kinds[n].module);
}
