/* SPDX-License-Identifier: MIT */
/*
 * Calls of the kernel's drivers i915 and xe for OA streams, in declarations of our own: the headers
 * of older systems lack parts. Numbers and layout are those of i915_drm.h and xe_drm.h.
 */
#pragma once

#include <drm.h>

/* --- i915 --------------------------------------------------------------------------- */

enum i915_param {
	I915_CHIPSET_ID = 4,
	I915_EU_TOTAL = 34,
	I915_PERF_REVISION = 54,
	I915_OA_TIMESTAMP_FREQUENCY = 57,
};

enum i915_property {
	I915_SAMPLE_OA = 2,
	I915_OA_METRICS_SET,
	I915_OA_FORMAT,
	I915_OA_EXPONENT,
	I915_POLL_OA_PERIOD = 8, /* from revision 5 on */
};

enum i915_perf_flag {
	I915_CLOEXEC = 1,
	I915_NONBLOCK = 2,
	I915_DISABLED = 4,
};

enum i915_record {
	I915_SAMPLE = 1,
	I915_REPORT_LOST,
	I915_BUFFER_LOST,
};

struct i915_getparam {
	__s32 param;
	int *value;
};

struct i915_perf_open_param {
	__u32 flags, num_properties;
	__u64 properties_ptr; /* pairs of number and value */
};

struct i915_perf_oa_config {
	char uuid[36];
	__u32 n_mux_regs, n_boolean_regs, n_flex_regs;
	__u64 mux_regs_ptr, boolean_regs_ptr, flex_regs_ptr;
};

struct i915_perf_record_header {
	__u32 type;
	__u16 pad, size;
};

#define I915_GETPARAM DRM_IOWR(DRM_COMMAND_BASE + 0x06, struct i915_getparam)
#define I915_PERF_OPEN DRM_IOW(DRM_COMMAND_BASE + 0x36, struct i915_perf_open_param)
#define I915_PERF_ADD_CONFIG DRM_IOW(DRM_COMMAND_BASE + 0x37, struct i915_perf_oa_config)

/* --- xe ----------------------------------------------------------------------------- */

enum xe_query {
	XE_QUERY_CONFIG = 2,
	XE_QUERY_GT_TOPOLOGY = 5,
	XE_QUERY_OA_UNITS = 8,
};

enum xe_topology {
	XE_TOPO_DSS_GEOMETRY = 1,
	XE_TOPO_DSS_COMPUTE,
	XE_TOPO_EU_PER_DSS = 4,
	XE_TOPO_SIMD16_EU_PER_DSS,
};

enum xe_observation {
	XE_OBSERVATION_TYPE_OA,
	XE_OBSERVATION_OPEN = 0,
	XE_OBSERVATION_ADD_CONFIG,
};

enum xe_property {
	XE_OA_UNIT_ID = 1,
	XE_SAMPLE_OA,
	XE_OA_METRIC_SET,
	XE_OA_FORMAT,
	XE_OA_PERIOD_EXPONENT,
	XE_OA_DISABLED,
	XE_PROPERTIES = 6,
};

enum xe_oa_status {
	XE_BUFFER_OVERFLOW = 2,
};

struct xe_device_query {
	__u64 extensions;
	__u32 query, size;
	__u64 data, reserved[2];
};

/* then the masks' bytes, and the next one */
struct xe_query_topology_mask {
	__u16 gt_id, type;
	__u32 num_bytes;
};

struct xe_query_oa_units {
	__u64 extensions;
	__u32 num_oa_units, pad;
};

/* then engines of 8 bytes, and the next unit */
struct xe_oa_unit {
	__u64 extensions;
	__u32 oa_unit_id, oa_unit_type; /* 0: of the whole GPU */
	__u64 capabilities, oa_timestamp_freq;
	__u16 gt_id, reserved1[3];
	__u64 reserved[3], num_engines;
};

struct xe_observation_param {
	__u64 extensions, observation_type, observation_op, param;
};

/* in a chain of extensions of type 0 */
struct xe_ext_set_property {
	__u64 next_extension;
	__u32 name, pad, property, pad2;
	__u64 value, reserved[2];
};

struct xe_oa_config {
	__u64 extensions;
	char uuid[36];
	__u32 n_regs;
	__u64 regs_ptr;
};

struct xe_oa_stream_status {
	__u64 extensions, oa_status, reserved[3];
};

#define XE_DEVICE_QUERY DRM_IOWR(DRM_COMMAND_BASE + 0x00, struct xe_device_query)
#define XE_OBSERVATION DRM_IOW(DRM_COMMAND_BASE + 0x0b, struct xe_observation_param)

/* --- streams of both ---------------------------------------------------------------- */

#define INTEL_STREAM_ENABLE _IO('i', 0)
#define XE_STREAM_STATUS _IO('i', 3)
