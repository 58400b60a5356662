/* SPDX-License-Identifier: MIT */
/* Two GPUs in memory: their system calls, their work, and what happens to them. */
#pragma once

#include "base/sys.h"

struct gpu {
	struct perfctr_sys *(*make)(void);
	void (*work)(unsigned int units);
	void (*unplug)(void);
	void (*take)(void); /* another program has its counters */
};

/* Of the driver i915 at /dev/dri/renderD128: raw counter n grows by n + 1 a unit. */
extern const struct gpu intel_gpu;

/* Of kbase at /dev/mali0: a cycle, a triangle, and three cycles of one shader core a unit. */
extern const struct gpu mali_gpu;
