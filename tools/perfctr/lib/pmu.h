/* SPDX-License-Identifier: MIT */
/* perf PMUs of this machine, as sysfs has them. */
#pragma once

#include <stdbool.h>

/*
 * Whether a perf PMU, or a kind of readings, counts the whole machine whatever the local device is
 * to count: perf's have a cpumask then. @pmu: its name in sysfs.
 */
bool pmu_counts_machine(const char *pmu);
