// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of the commands that start work, derived from the stream's registers. Shaders are not
 * executed, so counts that depend on them stay zero.
 */
#include <linux/bitfield.h>
#include <linux/minmax.h>

#include "mali_counters.h"
#include "mali_cs.h"
#include "mali_mcu.h"

/* stream registers that describe work */
#define COMPUTE_SIZE		37	/* workgroups: three words */
#define IDVS_INDICES		33
#define IDVS_INSTANCES		34
#define IDVS_FLAGS		56
#define FRAGMENT_MIN		42
#define FRAGMENT_MAX		43

#define FLAGS_DRAW_MODE		GENMASK(7, 0)
#define FLAGS_RESTART		BIT(19)
#define BOX_X			GENMASK(15, 0)
#define BOX_Y			GENMASK(31, 16)

/* side of a tile; vertices that one task of position shading has */
#define TILE_PIXELS		16
#define TASK_VERTICES		4

enum draw_mode {
	DRAW_POINTS = 1,
	DRAW_LINES = 2,
	DRAW_LINE_STRIP = 4,
	DRAW_LINE_LOOP = 6,
	DRAW_TRIANGLES = 8,
	DRAW_TRIANGLE_STRIP = 10,
	DRAW_TRIANGLE_FAN = 12,
};

static void start_work(struct mali_stream *stream, enum mali_job_counter job)
{
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	mali_cores_use(stream->group->mcu);
	mali_count(gpu, mali_block_csg(gpu, stream->group->number), MALI_CSG_JOBS, 1);
	mali_count_job(gpu, job, 1);
}

void mali_work_compute(struct mali_stream *stream)
{
	const u32 *size = &stream->cs.reg[COMPUTE_SIZE];
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	start_work(stream, MALI_JOB_COMPUTE);
	mali_count_cores(gpu, MALI_SHADER_COMPUTE_TASKS, (u64)size[0] * size[1] * size[2]);
}

/* number of primitives of @indices, and the counter for them */
static u32 primitives(u32 mode, u32 indices, u32 *counter)
{
	*counter = MALI_TILER_TRIANGLES;
	switch (mode) {
	case DRAW_POINTS:
		*counter = MALI_TILER_POINTS;
		return indices;
	case DRAW_LINES:
		*counter = MALI_TILER_LINES;
		return indices / 2;
	case DRAW_LINE_STRIP:
		*counter = MALI_TILER_LINES;
		return indices > 1 ? indices - 1 : 0;
	case DRAW_LINE_LOOP:
		*counter = MALI_TILER_LINES;
		return indices > 1 ? indices : 0;
	case DRAW_TRIANGLES:
		return indices / 3;
	case DRAW_TRIANGLE_STRIP:
	case DRAW_TRIANGLE_FAN:
		return indices > 2 ? indices - 2 : 0;
	}
	return 0;
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
	u32 counter;
	u64 count = primitives(FIELD_GET(FLAGS_DRAW_MODE, flags), reg[IDVS_INDICES], &counter);

	count *= reg[IDVS_INSTANCES];
	/* restart positions are in the index buffer, which is not read */
	if (flags & FLAGS_RESTART)
		count = 0;
	if (!take_heap(stream, count * READ_ONCE(gpu->tiler_bytes)))
		return false;
	start_work(stream, MALI_JOB_TILER);
	/* there is no cache of shaded positions: each index is a vertex */
	mali_count(gpu, MALI_BLOCK_TILER, MALI_TILER_POSITION_TASKS,
		   (u64)DIV_ROUND_UP(reg[IDVS_INDICES], TASK_VERTICES) * reg[IDVS_INSTANCES]);
	mali_count(gpu, MALI_BLOCK_TILER, counter, count);
	return true;
}

/* number of squares of side @pixels that the framebuffer's bounds touch */
static u64 squares(const struct mali_stream *stream, u32 pixels)
{
	const u32 low = stream->cs.reg[FRAGMENT_MIN];
	const u32 high = stream->cs.reg[FRAGMENT_MAX];
	const u32 x[] = { FIELD_GET(BOX_X, low), FIELD_GET(BOX_X, high) };
	const u32 y[] = { FIELD_GET(BOX_Y, low), FIELD_GET(BOX_Y, high) };

	if (x[1] < x[0] || y[1] < y[0])
		return 0;
	return (u64)(x[1] / pixels - x[0] / pixels + 1) * (y[1] / pixels - y[0] / pixels + 1);
}

void mali_work_fragment(struct mali_stream *stream)
{
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	start_work(stream, MALI_JOB_FRAGMENT);
	mali_count_job(gpu, MALI_JOB_FRAGMENT_TASKS,
		       squares(stream, mali_arch(gpu) < 12 ? 32 : 64));
	mali_count_cores(gpu, MALI_SHADER_FRAG_PTILES, squares(stream, TILE_PIXELS));
}
