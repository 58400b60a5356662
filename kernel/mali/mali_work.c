// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that start work: counts derived from the stream's registers, and cleared framebuffers.
 * Shaders are not executed, so counts that depend on them stay zero, and draws leave no pixels.
 */
#include <linux/bitfield.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "mali_counters.h"
#include "mali_cs.h"
#include "mali_mcu.h"

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

/* a framebuffer's descriptor; its render targets follow, after an extension if there is one */
#define BUFFER_FLAGS		GENMASK(5, 0)	/* of the pointer to it */
#define BUFFER_BYTES		128
#define BUFFER_EXTENSION_BYTES	64
#define BUFFER_PRE_FRAME	GENMASK(2, 0)	/* word 0: a shader loads the colours */
#define BUFFER_TARGETS		GENMASK(22, 19)	/* word 11: minus 1 */
#define BUFFER_EXTENSION	BIT(21)		/* word 12 */
#define TARGET_WORDS		16
#define TARGET_INTERNAL		GENMASK(31, 26)	/* word 0 */
#define TARGET_INTERNAL_RGBA8	1
#define TARGET_WRITE		BIT(0)		/* word 1 */
#define TARGET_FORMAT		GENMASK(7, 3)
#define TARGET_FORMAT_RGBA8	19
#define TARGET_LAYOUT		GENMASK(11, 8)
#define TARGET_LAYOUT_TILED	1
#define TARGET_LAYOUT_LINEAR	2
#define TARGET_SAMPLES		GENMASK(13, 12)
#define TARGET_BASE		8		/* words: two; bytes of a row of pixels or tiles */
#define TARGET_STRIDE		10
#define TARGET_CLEAR		12		/* as stored */

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

/* fills the bounds of a render target whose pixels have 32 bits and which is not compressed */
static void clear_target(struct mali_stream *stream, const u32 *target)
{
	const u32 low = stream->cs.reg[FRAGMENT_MIN], high = stream->cs.reg[FRAGMENT_MAX];
	const u32 layout = FIELD_GET(TARGET_LAYOUT, target[1]);
	const u32 side = layout == TARGET_LAYOUT_TILED ? TILE_PIXELS : 1;
	const u64 unit = side * side * sizeof(u32);
	const u64 first = FIELD_GET(BOX_X, low) / side * unit;
	const u64 end = (FIELD_GET(BOX_X, high) / side + 1) * unit;
	u64 line = (u64)target[TARGET_BASE + 1] << 32 | target[TARGET_BASE], x;
	u32 pixels[TILE_PIXELS], y = FIELD_GET(BOX_Y, low) / side;

	if (!(target[1] & TARGET_WRITE) || FIELD_GET(TARGET_SAMPLES, target[1]) ||
	    FIELD_GET(TARGET_INTERNAL, target[0]) != TARGET_INTERNAL_RGBA8 ||
	    FIELD_GET(TARGET_FORMAT, target[1]) != TARGET_FORMAT_RGBA8 ||
	    (layout != TARGET_LAYOUT_TILED && layout != TARGET_LAYOUT_LINEAR))
		return;
	memset32(pixels, target[TARGET_CLEAR], TILE_PIXELS);
	line += (u64)y * target[TARGET_STRIDE];
	for (; y <= FIELD_GET(BOX_Y, high) / side; y++, line += target[TARGET_STRIDE])
		for (x = first; x < end; x += sizeof(pixels))
			/* the address space reports faults */
			if (mali_mem_write(stream->group->mcu->gpu, stream->group->as, line + x,
					   pixels, min_t(u64, end - x, sizeof(pixels))))
				return;
}

/* the tiles begin with the colour of the last glClear(), unless a shader loads the old pixels */
static void clear(struct mali_stream *stream)
{
	const u64 buffer = ((u64)stream->cs.reg[FRAGMENT_BUFFER + 1] << 32 |
			    stream->cs.reg[FRAGMENT_BUFFER]) & ~(u64)BUFFER_FLAGS;
	struct mali_gpu *gpu = stream->group->mcu->gpu;
	u32 words[TARGET_WORDS], i, count;
	u64 target = buffer + BUFFER_BYTES;

	/* programs that only count have no framebuffer */
	if (!buffer || mali_mem_read(gpu, stream->group->as, buffer, words, sizeof(words)) ||
	    words[0] & BUFFER_PRE_FRAME)
		return;
	count = FIELD_GET(BUFFER_TARGETS, words[11]) + 1;
	target += words[12] & BUFFER_EXTENSION ? BUFFER_EXTENSION_BYTES : 0;
	for (i = 0; i < count; i++, target += sizeof(words)) {
		if (mali_mem_read(gpu, stream->group->as, target, words, sizeof(words)))
			return;
		clear_target(stream, words);
	}
}

void mali_work_fragment(struct mali_stream *stream)
{
	struct mali_gpu *gpu = stream->group->mcu->gpu;

	clear(stream);

	start_work(stream, MALI_JOB_FRAGMENT);
	mali_count_job(gpu, MALI_JOB_FRAGMENT_TASKS,
		       squares(stream, mali_arch(gpu) < 12 ? 32 : 64));
	mali_count_cores(gpu, MALI_SHADER_FRAG_PTILES, squares(stream, TILE_PIXELS));
}
