/* SPDX-License-Identifier: MIT */
/*
 * Our declarations of what panfrost_drm.h of Linux 5.3 and later has; tests/kernel-headers.py
 * compares them.
 */
#pragma once

#include <drm.h>
#include <stdint.h>

struct panfrost_get_param {
	uint32_t param, pad;
	uint64_t value;
};

struct panfrost_perfcnt_enable {
	uint32_t enable, counterset;
};

struct panfrost_perfcnt_dump {
	uint64_t buf_ptr;
};

enum panfrost_param {
	PANFROST_GPU_PROD_ID = 0,
	PANFROST_GPU_REVISION = 1,
	PANFROST_SHADER_PRESENT = 2,
	PANFROST_L2_PRESENT = 4,
	PANFROST_MEM_FEATURES = 11,
};

#define PANFROST_GET_PARAM DRM_IOWR(DRM_COMMAND_BASE + 4, struct panfrost_get_param)
#define PANFROST_PERFCNT_ENABLE DRM_IOW(DRM_COMMAND_BASE + 6, struct panfrost_perfcnt_enable)
#define PANFROST_PERFCNT_DUMP DRM_IOW(DRM_COMMAND_BASE + 7, struct panfrost_perfcnt_dump)
