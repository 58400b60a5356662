/* SPDX-License-Identifier: MIT */
/* Intel's GPUs by the number of their PCI device. */
#pragma once

#include <stdint.h>

enum intel_platform {
	INTEL_UNKNOWN,
	INTEL_TIGER_LAKE,
	INTEL_ROCKET_LAKE,
	INTEL_ALDER_LAKE,
	INTEL_RAPTOR_LAKE,
	INTEL_DG1,
	INTEL_METEOR_LAKE,
	INTEL_ARROW_LAKE,
	INTEL_LUNAR_LAKE,
	INTEL_BATTLEMAGE,
	INTEL_PLATFORMS,
};

enum intel_platform intel_platform_of(uint16_t device);
/* NULL: unknown. Also of platforms that are not counted. */
const char *intel_name_of(uint16_t device);
