/* SPDX-License-Identifier: MIT */
/*
 * Our declarations of what src/panfrost/lib/kmod and src/panfrost/perf of Mesa 26.2 have for
 * counter sessions (read in public copies, commits 934cfc02 and c81802cf of sailfishos-mirror/mesa
 * and later ones), for a test of mesa/upstream/panthor without that tree. Only what it uses. The
 * rest, util/ and drm-uapi/, is that of the Mesa that is built here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xf86drm.h>

#include "util/bitset.h"
#include "util/macros.h"

/* --- perf/mali_perf.h --- */

#define MALI_PERF_MAX_COUNTERS_PER_BLOCK 128

enum mali_perf_block_type {
	MALI_PERF_BLOCK_NONE = -1,
	MALI_PERF_BLOCK_GPU_FRONT_END,
	MALI_PERF_BLOCK_MEMSYS,
	MALI_PERF_BLOCK_SHADER_CORE,
	MALI_PERF_BLOCK_TILER,
	MALI_PERF_BLOCK_TYPE_COUNT,
};

struct mali_perf_dump_info {
	struct {
		uint64_t start_ns, end_ns;
	} time_span;
};

struct mali_perf_hw_counter_id {
	struct {
		int8_t type;
		uint8_t index;
	} block;
	uint16_t index;
};

struct mali_perf_backend {
	int64_t (*get_hw_counter_value)(struct mali_perf_backend *backend,
					struct mali_perf_hw_counter_id id);
};

/* --- lib/kmod/pan_kmod.h --- */

struct pan_kmod_dev;

struct pan_kmod_bo {
	uint64_t size;
	uint32_t handle;
	struct pan_kmod_dev *dev;
};

struct pan_kmod_perf_config {
	uint64_t sampling_period_ns; /* 0: pan_kmod_perf_dump() samples */
	uint8_t counter_set;
	struct {
		BITSET_DECLARE(counters, MALI_PERF_MAX_COUNTERS_PER_BLOCK);
	} blocks[MALI_PERF_BLOCK_TYPE_COUNT];
};

struct pan_kmod_perf_caps {
	uint64_t min_sampling_period_ns;
};

struct pan_kmod_perf_session {
	struct pan_kmod_dev *dev;
	struct pan_kmod_perf_config config;
	struct mali_perf_backend mali_perf_backend;
	struct pan_kmod_perf_caps caps;
};

struct pan_kmod_dev {
	int fd;
	double timestamp_cycles_to_ns_factor; /* in Mesa a member of props */
};

#define pan_kmod_ioctl(fd, op, arg) drmIoctl(fd, op, arg)

/* NULL; below MAP_FAILED: errno says why. A buffer has one reference, which put drops. */
struct pan_kmod_bo *pan_kmod_bo_alloc(struct pan_kmod_dev *dev, void *exclusive_vm, uint64_t size,
				      uint32_t flags);
void *pan_kmod_bo_mmap(struct pan_kmod_bo *bo, int prot, int flags, void *host_addr);
void pan_kmod_bo_put(struct pan_kmod_bo *bo);
/* 0: unknown */
uint64_t pan_kmod_query_timestamp(const struct pan_kmod_dev *dev);

static inline uint32_t pan_kmod_bo_handle(struct pan_kmod_bo *bo)
{
	return bo->handle;
}

static inline uint64_t pan_kmod_timestamp_cycles_to_ns(const struct pan_kmod_dev *dev,
						       uint64_t cycles)
{
	return (uint64_t)(dev->timestamp_cycles_to_ns_factor * (double)cycles);
}

/* --- lib/kmod/pan_kmod_backend.h --- */

void *pan_kmod_dev_alloc(struct pan_kmod_dev *dev, size_t size); /* zeroed; NULL */
void pan_kmod_dev_free(const struct pan_kmod_dev *dev, void *data);

static inline void pan_kmod_perf_session_init(struct pan_kmod_perf_session *session,
					      struct pan_kmod_dev *dev,
					      struct pan_kmod_perf_caps caps,
					      struct mali_perf_backend backend)
{
	session->dev = dev;
	session->caps = caps;
	session->mali_perf_backend = backend;
}
