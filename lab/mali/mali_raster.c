// SPDX-License-Identifier: GPL-2.0
/*
 * Primitives, tiles and cleared framebuffers. Draws leave no pixels, as shaders are not executed.
 */
#include <linux/bitfield.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "mali_raster.h"

/* a framebuffer's descriptor; its render targets follow, after an extension if there is one */
#define BUFFER_FLAGS		GENMASK(5, 0)	/* of the pointer to it */
#define BUFFER_BYTES		128
#define BUFFER_EXTENSION_BYTES	64
#define BUFFER_PRE_FRAME	GENMASK(2, 0)	/* word 0: a shader loads the colours */
#define BUFFER_WIDTH		GENMASK(15, 0)	/* word 8: minus 1 */
#define BUFFER_HEIGHT		GENMASK(31, 16)
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
#define TARGET_LAYOUT_V5	GENMASK(11, 10)
#define TARGET_SAMPLES		GENMASK(13, 12)
#define TARGET_BASE		8		/* words: two; bytes of a row of pixels or tiles */
#define TARGET_STRIDE		10
#define TARGET_CLEAR		12		/* as stored */

enum draw_mode {
	DRAW_POINTS = 1,
	DRAW_LINES = 2,
	DRAW_LINE_STRIP = 4,
	DRAW_LINE_LOOP = 6,
	DRAW_TRIANGLES = 8,
	DRAW_TRIANGLE_STRIP = 10,
	DRAW_TRIANGLE_FAN = 12,
};

/* number of primitives of @indices, and what they count as */
u32 mali_primitives(u32 mode, u32 indices, enum mali_event *event)
{
	*event = MALI_TRIANGLES;
	switch (mode) {
	case DRAW_POINTS:
		*event = MALI_POINTS;
		return indices;
	case DRAW_LINES:
		*event = MALI_LINES;
		return indices / 2;
	case DRAW_LINE_STRIP:
		*event = MALI_LINES;
		return indices > 1 ? indices - 1 : 0;
	case DRAW_LINE_LOOP:
		*event = MALI_LINES;
		return indices > 1 ? indices : 0;
	case DRAW_TRIANGLES:
		return indices / 3;
	case DRAW_TRIANGLE_STRIP:
	case DRAW_TRIANGLE_FAN:
		return indices > 2 ? indices - 2 : 0;
	}
	return 0;
}

/* number of squares of side @pixels that the box touches */
u64 mali_squares(const struct mali_box *box, u32 pixels)
{
	if (box->x1 < box->x0 || box->y1 < box->y0)
		return 0;
	return (u64)(box->x1 / pixels - box->x0 / pixels + 1) *
	       (box->y1 / pixels - box->y0 / pixels + 1);
}

/* side of a fragment task */
u32 mali_task_pixels(const struct mali_gpu *gpu)
{
	if (mali_arch(gpu) >= 12)
		return 64;
	return gpu->product->layout == MALI_LAYOUT_V4 || gpu->product->layout == MALI_LAYOUT_V5 ?
	       16 : 32;
}

/* Midgard's layouts have other numbers */
static u32 target_layout(const struct mali_gpu *gpu, u32 word)
{
	static const u8 midgard[] = { TARGET_LAYOUT_TILED, 0, TARGET_LAYOUT_LINEAR, 0 };

	if (gpu->product->layout != MALI_LAYOUT_V5)
		return FIELD_GET(TARGET_LAYOUT, word);
	return midgard[FIELD_GET(TARGET_LAYOUT_V5, word)];
}

/* fills the box in a render target whose pixels have 32 bits and which is not compressed */
static int clear_target(struct mali_gpu *gpu, u32 as, const u32 *target, const struct mali_box *box)
{
	const u32 layout = target_layout(gpu, target[1]);
	const u32 side = layout == TARGET_LAYOUT_TILED ? MALI_TILE_PIXELS : 1;
	const u64 unit = side * side * sizeof(u32);
	const u64 first = box->x0 / side * unit, end = (box->x1 / side + 1) * unit;
	u64 line = (u64)target[TARGET_BASE + 1] << 32 | target[TARGET_BASE], x;
	u32 pixels[MALI_TILE_PIXELS], y = box->y0 / side;
	int err = 0;

	if (!(target[1] & TARGET_WRITE) || FIELD_GET(TARGET_SAMPLES, target[1]) ||
	    FIELD_GET(TARGET_INTERNAL, target[0]) != TARGET_INTERNAL_RGBA8 ||
	    FIELD_GET(TARGET_FORMAT, target[1]) != TARGET_FORMAT_RGBA8 ||
	    (layout != TARGET_LAYOUT_TILED && layout != TARGET_LAYOUT_LINEAR))
		return 0;
	memset32(pixels, target[TARGET_CLEAR], MALI_TILE_PIXELS);
	line += (u64)y * target[TARGET_STRIDE];
	for (; !err && y <= box->y1 / side; y++, line += target[TARGET_STRIDE])
		for (x = first; !err && x < end; x += sizeof(pixels))
			err = mali_mem_write(gpu, as, line + x, pixels,
					     min_t(u64, end - x, sizeof(pixels)));
	return err;
}

/*
 * The tiles begin with the colour of the last glClear(), unless a shader loads the old pixels.
 * @buffer: pointer to the framebuffer's descriptor; programs that only count have none. An error
 * is a fault, which the address space has reported.
 */
int mali_clear(struct mali_gpu *gpu, u32 as, u64 buffer, const struct mali_box *box)
{
	struct mali_box clipped = *box;
	u32 words[TARGET_WORDS], i, count;
	u64 target;
	int err;

	buffer &= ~(u64)BUFFER_FLAGS;
	/* the descriptor of this one has another form */
	if (!buffer || gpu->product->layout == MALI_LAYOUT_V4)
		return 0;
	err = mali_mem_read(gpu, as, buffer, words, sizeof(words));
	if (err || (gpu->product->layout != MALI_LAYOUT_V5 && words[0] & BUFFER_PRE_FRAME))
		return err;
	clipped.x1 = min_t(u32, clipped.x1, FIELD_GET(BUFFER_WIDTH, words[8]));
	clipped.y1 = min_t(u32, clipped.y1, FIELD_GET(BUFFER_HEIGHT, words[8]));
	count = FIELD_GET(BUFFER_TARGETS, words[11]) + 1;
	target = buffer + BUFFER_BYTES;
	target += words[12] & BUFFER_EXTENSION ? BUFFER_EXTENSION_BYTES : 0;
	for (i = 0; !err && i < count; i++, target += sizeof(words)) {
		err = mali_mem_read(gpu, as, target, words, sizeof(words));
		if (!err)
			err = clear_target(gpu, as, words, &clipped);
	}
	return err;
}
