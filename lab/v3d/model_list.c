// SPDX-License-Identifier: GPL-2.0
/*
 * Control lists. Packets have the numbers, lengths and fields of Mesa's description of them; state
 * that nothing here depends on is skipped. Shaders are not executed and pixels not written: a store
 * looks its buffer up. The binner writes no lists of tiles, so branches to these do nothing.
 */
#include <linux/bitfield.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/unaligned.h>

#include "v3d_model.h"

enum {
	FLUSH = 4,
	END_OF_RENDERING = 13,
	BRANCH_AUTOCHAINED = 15,
	BRANCH = 16,
	BRANCH_SUB = 17,
	RETURN = 18,
	TILE_LIST = 20,
	SUPERTILE = 23,
	CLEAR = 25,
	STORE = 29,
	FRAME = 121,
	SUPERTILES = 122,
	MAX_BYTES = 14,
};

/* bytes of each packet, its number included; 0: there is no such packet */
static const u8 packet_bytes[] = {
	[0 ... 1] = 1,		/* halt, no operation */
	[FLUSH ... END_OF_RENDERING] = 1,
	[14] = 2,
	[BRANCH_AUTOCHAINED ... BRANCH_SUB] = 5,
	[RETURN ... 19] = 1,
	[TILE_LIST] = 9,
	[21] = 2,
	[22] = 8,
	[SUPERTILE] = 3,
	[CLEAR] = 2,		/* 7.1: 1 */
	[26 ... 27] = 1,
	[STORE ... 30] = 13,
	[31] = 1,
	[32] = 10, [33] = 11, [34] = 14,
	[36] = 10, [37] = 11, [38 ... 39] = 14,
	[43 ... 44] = 9,
	[54 ... 55] = 5,
	[56] = 2,
	[57] = 5,
	[64 ... 67] = 5,	/* shader state */
	[71] = 2,
	[72] = 5,
	[73] = 9,
	[74] = 2,
	[75] = 1,
	[76] = 3, [77] = 10,	/* caches */
	[80] = 6,
	[83] = 2,
	[84] = 5,
	[86] = 9,
	[87] = 5,
	[88] = 1,
	[89] = 5,
	[91 ... 92] = 5,
	[93] = 9,
	[96] = 4,
	[97] = 1,
	[98] = 5,
	[99] = 1,
	[100] = 5,
	[104 ... 105] = 5,
	[106 ... 112] = 9,
	[119] = 2,
	[120 ... SUPERTILES] = 9,
	[123] = 5,
	[124] = 4,
	[125] = 1,
	[126] = 2,
};

static unsigned int length_of(const struct v3d_gpu *gpu, u8 packet)
{
	if (packet == CLEAR && gpu->version >= 71)
		return 1;
	return packet < ARRAY_SIZE(packet_bytes) ? packet_bytes[packet] : 0;
}

static u32 word(const u8 *packet, unsigned int at)
{
	return get_unaligned_le32(packet + 1 + at);
}

void v3d_list_start_locked(struct v3d_gpu *gpu, enum v3d_unit unit)
{
	gpu->list[unit] = (struct v3d_list){
		.place = gpu->core[V3D_CT_QUEUE_START(unit) / 4],
		.end = gpu->core[V3D_CT_QUEUE_END(unit) / 4],
		.memory = unit == V3D_BIN ? gpu->core[V3D_CT0QMS / 4] : 0,
	};
}

/* --- tiles of a frame ------------------------------------------------------ */

/* 4.2: the more bytes a pixel has in the tile buffer, the smaller are tiles */
static void set_tile_size42(struct v3d_list *list, u64 fields)
{
	static const u8 sizes[][2] = {
		{ 64, 64 }, { 64, 32 }, { 32, 32 }, { 32, 16 }, { 16, 16 }, { 16, 8 }, { 8, 8 },
	};
	unsigned int targets = FIELD_GET(GENMASK_ULL(7, 4), fields) + 1;
	unsigned int index = (targets > 2 ? 2 : targets - 1) +
			     FIELD_GET(GENMASK_ULL(41, 40), fields) +	/* bytes of a pixel */
			     2 * FIELD_GET(BIT_ULL(42), fields) +	/* four samples */
			     FIELD_GET(BIT_ULL(43), fields);		/* two buffers */

	index = min_t(unsigned int, index, ARRAY_SIZE(sizes) - 1);
	list->tile_width = sizes[index][0];
	list->tile_height = sizes[index][1];
}

static void set_tile_size(struct v3d_gpu *gpu, struct v3d_list *list, const u8 *packet)
{
	u64 fields = get_unaligned_le64(packet + 1);

	/* other kinds of this packet are clear values and render targets */
	if (fields & (gpu->version < 71 ? 0xf : 0x7))
		return;
	if (gpu->version < 71) {
		set_tile_size42(list, fields);
	} else {
		list->tile_width = 8 << FIELD_GET(GENMASK_ULL(54, 52), fields);
		list->tile_height = 8 << FIELD_GET(GENMASK_ULL(57, 55), fields);
	}
}

static void set_supertiles(struct v3d_list *list, const u8 *packet)
{
	u64 fields = get_unaligned_le64(packet + 1);

	list->supertile_width = FIELD_GET(GENMASK_ULL(7, 0), fields) + 1;
	list->supertile_height = FIELD_GET(GENMASK_ULL(15, 8), fields) + 1;
	list->frame_width = FIELD_GET(GENMASK_ULL(43, 32), fields);
	list->frame_height = FIELD_GET(GENMASK_ULL(55, 44), fields);
}

/* @after: the packet behind the supertile's */
static void begin_supertile(struct v3d_list *list, const u8 *packet, u32 after)
{
	list->left = packet[1] * list->supertile_width;
	list->y = packet[2] * list->supertile_height;
	list->right = min(list->left + list->supertile_width, list->frame_width);
	list->bottom = min(list->y + list->supertile_height, list->frame_height);
	list->x = list->left;
	list->after = after;
	list->in_tile = list->x < list->right && list->y < list->bottom;
	list->place = list->in_tile ? list->tile_list : after;
}

static void next_tile(struct v3d_list *list)
{
	if (++list->x >= list->right) {
		list->x = list->left;
		list->y++;
	}
	list->in_tile = list->y < list->bottom;
	list->place = list->in_tile ? list->tile_list : list->after;
}

static bool store(struct v3d_gpu *gpu, const struct v3d_list *list, const u8 *packet)
{
	u32 pixels = list->tile_width * list->tile_height;

	/* the other buffers are none, depth and stencil */
	if (FIELD_GET(GENMASK(3, 0), packet[1]) >= 8)
		return true;
	if (!v3d_mem_check_locked(gpu, V3D_CLIENT_TLB, word(packet, 8), true))
		return false;
	v3d_count_locked(gpu, V3D_QUADS, pixels / 4);
	v3d_count_locked(gpu, V3D_WRITES, pixels / 16);
	v3d_count_locked(gpu, V3D_WRITE_BYTES, 4 * pixels);
	v3d_count_locked(gpu, V3D_MAX_WRITES, pixels / 16);
	return true;
}

/* --- steps ----------------------------------------------------------------- */

static bool call(struct v3d_list *list, u32 address, u32 after)
{
	if (list->depth == V3D_RETURNS)
		return false;
	list->returns[list->depth++] = after;
	list->place = address;
	return true;
}

static bool come_back(struct v3d_list *list)
{
	if (list->depth)
		list->place = list->returns[--list->depth];
	else if (list->in_tile)
		next_tile(list);
	else
		return false;
	return true;
}

/* false: there is no memory for them yet */
static bool bin(struct v3d_gpu *gpu, struct v3d_list *list, u64 primitives)
{
	u64 bytes = primitives * gpu->tile_bytes;

	if (bytes > list->memory) {
		list->starved = true;
		v3d_raise_locked(gpu, V3D_CORE, V3D_INT_OUT_OF_MEMORY);
		return false;
	}
	list->memory -= bytes;
	v3d_count_locked(gpu, V3D_PRIMITIVES, primitives);
	return true;
}

/* false: the list cannot go on */
static bool execute(struct v3d_gpu *gpu, enum v3d_unit unit, const u8 *packet, u32 after)
{
	struct v3d_list *list = &gpu->list[unit];
	u64 primitives;

	switch (packet[0]) {
	case FLUSH:
		list->place = after;
		if (unit == V3D_BIN)
			v3d_done_locked(gpu, unit);
		return true;
	case END_OF_RENDERING:
		list->place = after;
		if (unit == V3D_RENDER)
			v3d_done_locked(gpu, unit);
		return true;
	case BRANCH_AUTOCHAINED:
	case BRANCH_SUB:
		return call(list, word(packet, 0), after);
	case BRANCH:
		list->place = word(packet, 0);
		return true;
	case RETURN:
		return come_back(list);
	case SUPERTILE:
		begin_supertile(list, packet, after);
		return true;
	case TILE_LIST:
		list->tile_list = word(packet, 0);
		list->tile_list_end = word(packet, 4);
		break;
	case FRAME:
		if (unit == V3D_RENDER)
			set_tile_size(gpu, list, packet);
		break;
	case SUPERTILES:
		set_supertiles(list, packet);
		break;
	case STORE:
		if (!store(gpu, list, packet))
			return false;
		break;
	}
	if (!v3d_draw_locked(gpu, packet, &primitives))
		return false;
	if (!primitives || bin(gpu, list, primitives))
		list->place = after;
	return true;
}

/* fetches the packet at the list's place; 0: there is none */
static unsigned int fetch(struct v3d_gpu *gpu, const struct v3d_list *list, u8 *packet)
{
	unsigned int bytes;

	if (!list->depth && !list->in_tile && list->place >= list->end)
		return 0;
	if (!v3d_mem_read_locked(gpu, V3D_CLIENT_CLE, list->place, packet, 1))
		return 0;
	bytes = length_of(gpu, packet[0]);
	if (!bytes) {
		pr_debug("v3d_model: no packet %u at %#x\n", packet[0], list->place);
		return 0;
	}
	if (bytes > 1 && !v3d_mem_read_locked(gpu, V3D_CLIENT_CLE, list->place + 1, packet + 1,
					      bytes - 1))
		return 0;
	return bytes;
}

void v3d_list_step_locked(struct v3d_gpu *gpu, enum v3d_unit unit)
{
	struct v3d_list *list = &gpu->list[unit];
	u8 packet[MAX_BYTES];
	unsigned int bytes;

	/* a tile's list ends by a return or at its end */
	if (list->in_tile && !list->depth && list->place == list->tile_list_end) {
		next_tile(list);
		return;
	}
	v3d_count_locked(gpu, unit == V3D_BIN ? V3D_BIN_ACTIVE : V3D_RENDER_ACTIVE,
			 V3D_STEP_CYCLES);
	bytes = fetch(gpu, list, packet);
	if (!bytes || !execute(gpu, unit, packet, list->place + bytes))
		gpu->work[unit].hung = true;
}
