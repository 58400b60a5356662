// SPDX-License-Identifier: MIT
/* What perf PMUs count, by their files in sysfs. */
#include "pmu.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool pmu_counts_machine(const char *pmu)
{
	char path[128];
	size_t length;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", pmu);
	length = strlen(path);
	if (length + sizeof("/cpumask") > sizeof(path) || access(path, F_OK))
		return true;
	strcpy(path + length, "/cpumask");
	return !access(path, F_OK);
}
