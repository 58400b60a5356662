/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PERF_CONTROL: between its ioctl and its sink.
 */
#ifndef _PERFCTR_CONTROL_H_
#define _PERFCTR_CONTROL_H_

#include <linux/iosys-map.h>
#include <drm/drm_perfctr_control.h>

#include "../format/dense_layout.h"
#include "../perfctr_internal.h"
#include "../perfctr_sink.h"

struct drm_gem_object;

/* a buffer of the application, mapped for the life of a session; it is written, never read back */
struct perfctr_control_buffer {
	/* NULL: not mapped */
	struct drm_gem_object *obj;
	struct iosys_map map;
};

/* of each session */
struct perfctr_control_sink {
	struct perfctr_sink base;
	/* the session's number is valid for it; it is open as long as the session exists */
	struct drm_file *file;
	struct perfctr_control_buffer ring;
	struct perfctr_control_buffer control;
	/* within @control */
	u64 *indices;
	struct drm_perfctr_control_info info;
	/* all blocks of its samples, in their order */
	struct perfctr_dense_block *blocks;
	unsigned int block_count;
	/* total cycles of each clock at the end of the last sample */
	u64 base_cycles[DRM_PERFCTR_CONTROL_CLOCKS];
};

/* control_sink.c */
unsigned int drm_perfctr_control_type(struct drm_perfctr *pc, unsigned int block);
struct perfctr_control_sink *
drm_perfctr_control_sink_create(struct drm_perfctr *pc, struct drm_file *file,
				const struct drm_perfctr_control_setup *setup,
				const struct drm_perfctr_control_info *info);

#endif /* _PERFCTR_CONTROL_H_ */
