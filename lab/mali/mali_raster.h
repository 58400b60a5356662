/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What drawing leaves in counters and memory, for both front ends.
 */
#ifndef _MALI_RASTER_H_
#define _MALI_RASTER_H_

#include "mali_counters.h"

/* side of a tile; vertices that one task of position shading has */
#define MALI_TILE_PIXELS	16
#define MALI_TASK_VERTICES	4

/* pixels, all bounds inclusive */
struct mali_box {
	u32 x0, y0, x1, y1;
};

u32 mali_primitives(u32 mode, u32 indices, enum mali_event *event);
u64 mali_squares(const struct mali_box *box, u32 pixels);
u32 mali_task_pixels(const struct mali_gpu *gpu);
int mali_clear(struct mali_gpu *gpu, u32 as, u64 buffer, const struct mali_box *box);

#endif /* _MALI_RASTER_H_ */
