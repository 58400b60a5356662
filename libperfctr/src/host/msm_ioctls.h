/* SPDX-License-Identifier: MIT */
/* Our declarations of what msm_drm.h has; PERFCNTR_CONFIG came with Linux 7.3. */
#pragma once

#include <drm.h>
#include <stdint.h>

enum {
	MSM_GROUP_NAME_BYTES = 16,
	MSM_PIPE_GPU = 0x10,
	/* of struct msm_perfcntr_config */
	MSM_STREAM = 1,
	MSM_UPDATE = 2,
	MSM_MOST_BUFFER_SHIFT = 27,
};

enum msm_param {
	MSM_CHIP_ID = 3,
	MSM_MAX_FREQ = 4,
	MSM_SUSPENDS = 0xa,
	MSM_SYSPROF = 0xb,
};

/* values of MSM_SYSPROF */
enum {
	MSM_SYSPROF_OFF = 0,
	MSM_SYSPROF_AWAKE = 2,
};

struct msm_param_args {
	uint32_t pipe, param;
	uint64_t value;
	uint32_t len, pad;
};

struct msm_perfcntr_group {
	char group_name[MSM_GROUP_NAME_BYTES];
	uint32_t nr_countables, pad;
	uint64_t countables;
};

struct msm_perfcntr_config {
	uint32_t flags, nr_groups;
	uint64_t groups, period;
	uint32_t bufsz_shift, group_stride;
};

/* a record of a stream; 64 bits for each countable follow, in the order of the request */
struct msm_record {
	uint64_t timestamp;
	uint32_t seqno, zero;
	uint64_t values[];
};

#define MSM_GET_PARAM DRM_IOWR(DRM_COMMAND_BASE + 0, struct msm_param_args)
#define MSM_SET_PARAM DRM_IOW(DRM_COMMAND_BASE + 1, struct msm_param_args)
#define MSM_PERFCNTR_CONFIG DRM_IOW(DRM_COMMAND_BASE + 0xe, struct msm_perfcntr_config)
