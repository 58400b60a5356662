/* SPDX-License-Identifier: MIT */
/*
 * Our declarations of what v3d_drm.h has, from Linux 6.12 on; SET_GLOBAL and V3D_RESETS came later.
 */
#pragma once

#include <drm.h>
#include <stdint.h>

enum {
	V3D_MAX_SLOTS = 32,
	V3D_NAME_BYTES = 64,
	V3D_CLEAR_GLOBAL = 1,
};

struct v3d_get_param {
	uint32_t param, pad;
	uint64_t value;
};

struct v3d_perfmon_create {
	uint32_t id, ncounters;
	uint8_t counters[V3D_MAX_SLOTS];
};

struct v3d_perfmon_destroy {
	uint32_t id;
};

struct v3d_perfmon_get_values {
	uint32_t id, pad;
	uint64_t values_ptr;
};

struct v3d_perfmon_get_counter {
	uint8_t counter;
	uint8_t name[V3D_NAME_BYTES], category[32], description[256];
	uint8_t reserved[7];
};

struct v3d_perfmon_set_global {
	uint32_t flags, id;
};

enum v3d_param {
	V3D_IDENT1 = 1, /* reading it wakes the GPU */
	V3D_MAX_COUNTERS = 13,
	V3D_RESETS = 15,
};

#define V3D_GET_PARAM DRM_IOWR(DRM_COMMAND_BASE + 4, struct v3d_get_param)
#define V3D_PERFMON_CREATE DRM_IOWR(DRM_COMMAND_BASE + 8, struct v3d_perfmon_create)
#define V3D_PERFMON_DESTROY DRM_IOWR(DRM_COMMAND_BASE + 9, struct v3d_perfmon_destroy)
#define V3D_PERFMON_GET_VALUES DRM_IOWR(DRM_COMMAND_BASE + 0xa, struct v3d_perfmon_get_values)
#define V3D_PERFMON_GET_COUNTER DRM_IOWR(DRM_COMMAND_BASE + 0xc, struct v3d_perfmon_get_counter)
#define V3D_PERFMON_SET_GLOBAL DRM_IOW(DRM_COMMAND_BASE + 0xd, struct v3d_perfmon_set_global)
