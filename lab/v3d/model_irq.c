// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts. A block's line is high while a cause is not masked; writing the mask can raise it,
 * too. 4.2 has one line for both blocks.
 */
#include <linux/compiler.h>
#include <linux/container_of.h>

#include "v3d_model.h"

static bool block_is_high(const struct v3d_gpu *gpu, enum v3d_block block)
{
	return READ_ONCE(gpu->cause[block]) & ~READ_ONCE(gpu->mask[block]);
}

static bool is_high(const struct model_lines *lines, unsigned int line)
{
	const struct v3d_gpu *gpu = container_of(lines, struct v3d_gpu, lines);

	if (lines->count == 1)
		return block_is_high(gpu, V3D_HUB) || block_is_high(gpu, V3D_CORE);
	return block_is_high(gpu, line);
}

static void update_line(struct v3d_gpu *gpu, enum v3d_block block, bool was_high)
{
	if (!was_high && block_is_high(gpu, block))
		model_line_rose(&gpu->lines, gpu->lines.count == 1 ? 0 : block);
}

void v3d_raise_locked(struct v3d_gpu *gpu, enum v3d_block block, u32 causes)
{
	bool was_high = block_is_high(gpu, block);

	gpu->cause[block] |= causes;
	update_line(gpu, block, was_high);
}

void v3d_mask_locked(struct v3d_gpu *gpu, enum v3d_block block, u32 mask)
{
	bool was_high = block_is_high(gpu, block);

	gpu->mask[block] = mask;
	update_line(gpu, block, was_high);
}

void v3d_done_locked(struct v3d_gpu *gpu, enum v3d_unit unit)
{
	gpu->work[unit].running = false;
	if (unit == V3D_TFU)
		v3d_raise_locked(gpu, V3D_HUB, V3D_HUB_INT_TFU_DONE);
	else
		v3d_raise_locked(gpu, V3D_CORE,
				 unit == V3D_BIN ? V3D_INT_BIN_DONE :
				 unit == V3D_RENDER ? V3D_INT_RENDER_DONE :
						      V3D_INT_CSD_DONE(gpu->version));
}

int v3d_irq_init(struct v3d_gpu *gpu)
{
	return model_lines_init(&gpu->lines, gpu->model, gpu->version < 71 ? 1 : V3D_BLOCKS,
				is_high);
}
