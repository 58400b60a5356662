// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of streams that start work: counts derived from the stream's registers, and cleared
 * framebuffers. Shaders are not executed, so counts that depend on them stay zero.
 */
#include <linux/bitfield.h>
#include <linux/minmax.h>

#include "mali_counters.h"
#include "mali_cs.h"
#include "mali_mcu.h"
#include "mali_raster.h"

/* stream registers that describe work */
#define COMPUTE_SIZE		37	/* workgroups: three words */
#define IDVS_INDICES		33
#define IDVS_INSTANCES		34
#define IDVS_FLAGS		56
#define FRAGMENT_BUFFER		40	/* two words */
#define FRAGMENT_MIN		42
#define FRAGMENT_MAX		43

#define FLAGS_DRAW_MODE		GENMASK(7, 0)
#define FLAGS_RESTART		BIT(19)
#define BOX_X			GENMASK(15, 0)
#define BOX_Y			GENMASK(31, 16)

static void start_work(struct mali_stream *stream, enum mali_event job)
{
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	mali_cores_use(stream->group->mcu);
	mali_count(gpu, mali_block_csg(gpu, stream->group->number), MALI_CSG_JOBS, 1);
	mali_event(gpu, job, 1);
}

void mali_work_compute(struct mali_stream *stream)
{
	const u32 *size = &stream->cs.reg[COMPUTE_SIZE];
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	start_work(stream, MALI_JOBS_COMPUTE);
	mali_event(gpu, MALI_COMPUTE_TASKS, (u64)size[0] * size[1] * size[2]);
}

/* returns false if the tiler's heap has no room; the instruction then continues later */
static bool take_heap(struct mali_stream *stream, u64 bytes)
{
	struct mali_cs *cs = &stream->cs;
	u64 some = min(bytes - min(bytes, cs->tiled_bytes), cs->heap_room);

	if (!cs->heap_va)
		return true;
	cs->heap_room -= some;
	cs->tiled_bytes += some;
	if (cs->tiled_bytes < bytes) {
		stream->state = MALI_STREAM_HEAP_FULL;
		return false;
	}
	cs->tiled_bytes = 0;
	return true;
}

/* returns false if the instruction blocks and must be executed again */
bool mali_work_idvs(struct mali_stream *stream, u64 instruction)
{
	const u32 *reg = stream->cs.reg;
	struct mali_gpu *gpu = stream->group->mcu->gpu;
	u32 flags = reg[IDVS_FLAGS] | FIELD_GET(MALI_CS_IMMEDIATE32, instruction);
	enum mali_event event;
	u64 count = mali_primitives(FIELD_GET(FLAGS_DRAW_MODE, flags), reg[IDVS_INDICES], &event);

	count *= reg[IDVS_INSTANCES];
	/* restart positions are in the index buffer, which is not read */
	if (flags & FLAGS_RESTART)
		count = 0;
	if (!take_heap(stream, count * READ_ONCE(gpu->tiler_bytes)))
		return false;
	start_work(stream, MALI_JOBS_TILER);
	/* there is no cache of shaded positions: each index is a vertex */
	mali_event(gpu, MALI_POSITION_TASKS,
		   (u64)DIV_ROUND_UP(reg[IDVS_INDICES], MALI_TASK_VERTICES) * reg[IDVS_INSTANCES]);
	mali_event(gpu, event, count);
	return true;
}

void mali_work_fragment(struct mali_stream *stream)
{
	const u32 *reg = stream->cs.reg;
	const struct mali_box box = {
		.x0 = FIELD_GET(BOX_X, reg[FRAGMENT_MIN]),
		.y0 = FIELD_GET(BOX_Y, reg[FRAGMENT_MIN]),
		.x1 = FIELD_GET(BOX_X, reg[FRAGMENT_MAX]),
		.y1 = FIELD_GET(BOX_Y, reg[FRAGMENT_MAX]),
	};
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	/* the address space reports faults */
	mali_clear(gpu, stream->group->as,
		   (u64)reg[FRAGMENT_BUFFER + 1] << 32 | reg[FRAGMENT_BUFFER], &box);

	start_work(stream, MALI_JOBS_FRAGMENT);
	mali_event(gpu, MALI_TASKS_FRAGMENT, mali_squares(&box, mali_task_pixels(gpu)));
	mali_event(gpu, MALI_FRAGMENT_TILES, mali_squares(&box, MALI_TILE_PIXELS));
}
