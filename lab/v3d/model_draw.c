// SPDX-License-Identifier: GPL-2.0
/* Primitives of draw packets, whose fields are those of Mesa's description of the packets. */
#include <linux/kernel.h>
#include <linux/unaligned.h>

#include "v3d_model.h"

enum {
	INDEXED = 32,
	INDIRECT_INDEXED = 33,
	INDEXED_INSTANCED = 34,
	ARRAY = 36,
	INDIRECT_ARRAY = 37,
	ARRAY_INSTANCED = 38,
	ARRAY_ONE_INSTANCE = 39,
};

#define MODE_OF_INDEXED	0x3f	/* two bits of the index' type are above it */
#define LENGTH		0x7fffffff	/* of indexed ones: bit 31 is another field */
#define FEEDBACK	0x10	/* of a mode: the same with transform feedback */

static u64 primitives_of(u8 mode, u32 vertices)
{
	switch (mode & ~FEEDBACK) {
	case 0: /* points */
	case 2: /* a closed line */
		return vertices;
	case 1: /* lines */
		return vertices / 2;
	case 3: /* a line */
		return vertices ? vertices - 1 : 0;
	case 4: /* triangles */
		return vertices / 3;
	case 5: /* strip */
	case 6: /* fan */
		return vertices > 2 ? vertices - 2 : 0;
	}
	return 0;
}

/* the records start with the numbers of vertices and of instances */
static bool indirect(struct v3d_gpu *gpu, const u8 *packet, u8 mode, u64 *primitives)
{
	u32 records = get_unaligned_le32(packet + 2) & LENGTH;
	u32 address = get_unaligned_le32(packet + 6);
	u32 record[2];

	for (u32 i = 0; i < records; i++, address += 4 * packet[10]) {
		if (!v3d_mem_read_locked(gpu, V3D_CLIENT_CLE, address, record, sizeof(record)))
			return false;
		*primitives += primitives_of(mode, record[0]) * record[1];
	}
	return true;
}

bool v3d_draw_locked(struct v3d_gpu *gpu, const u8 *packet, u64 *primitives)
{
	u8 mode = packet[1] & MODE_OF_INDEXED;
	u32 length = get_unaligned_le32(packet + 2);

	*primitives = 0;
	switch (packet[0]) {
	case INDEXED:
		*primitives = primitives_of(mode, length & LENGTH);
		break;
	case INDEXED_INSTANCED:
		*primitives = primitives_of(mode, length & LENGTH) *
			      get_unaligned_le32(packet + 6);
		break;
	case ARRAY:
	case ARRAY_ONE_INSTANCE:
		*primitives = primitives_of(mode, length);
		break;
	case ARRAY_INSTANCED:
		*primitives = primitives_of(mode, length) * get_unaligned_le32(packet + 6);
		break;
	case INDIRECT_INDEXED:
	case INDIRECT_ARRAY:
		return indirect(gpu, packet, mode, primitives);
	}
	return true;
}
