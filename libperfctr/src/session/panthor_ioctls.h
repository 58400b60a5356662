/* SPDX-License-Identifier: MIT */
/*
 * Our declarations of what panthor_drm.h of Linux 6.10 and later has; tests/kernel-headers.py
 * compares them.
 */
#pragma once

#include <drm.h>
#include <stdint.h>

struct panthor_dev_query {
	uint32_t type, size;
	uint64_t pointer;
};

/* panthor refuses less than its first version had */
struct panthor_gpu_info {
	uint32_t gpu_id, gpu_rev, csf_id, l2_features, tiler_features, mem_features;
	uint32_t others[12];
	uint64_t shader_present, l2_present, tiler_present;
	uint64_t later[24];
};

struct panthor_bo_create {
	uint64_t size;
	uint32_t flags, exclusive_vm_id, handle, pad;
};

struct panthor_bo_mmap_offset {
	uint32_t handle, pad;
	uint64_t offset;
};

enum {
	PANTHOR_DEV_QUERY_GPU_INFO = 0,
	/* of Arm's PERF_CONTROL: no version of panthor_drm.h has it */
	PANTHOR_DEV_QUERY_PERF_CONTROL = (1 << 30) - 2,
};

#define PANTHOR_DEV_QUERY DRM_IOWR(DRM_COMMAND_BASE + 0, struct panthor_dev_query)
#define PANTHOR_BO_CREATE DRM_IOWR(DRM_COMMAND_BASE + 5, struct panthor_bo_create)
#define PANTHOR_BO_MMAP_OFFSET DRM_IOWR(DRM_COMMAND_BASE + 6, struct panthor_bo_mmap_offset)
