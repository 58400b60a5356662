/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counter registers of the hardware (32 bits, they wrap), and the truth (64 bits, never wraps).
 */
#ifndef _MALI_COUNTERS_H_
#define _MALI_COUNTERS_H_

#include <linux/bitops.h>

#include "mali.h"

/* the first four words of a block are its header */
#define MALI_COUNTER_HEADER	4

/*
 * blocks by number: these, then the slices of the L2 cache, then the cores that are present, then
 * the group slots. A job manager's GPU has no firmware and no group slots.
 */
enum mali_block {
	MALI_BLOCK_FW,
	MALI_BLOCK_FRONT,	/* command stream hardware or job manager */
	MALI_BLOCK_TILER,
	MALI_BLOCK_MEMSYS,
};

/* what the model counts */
enum mali_event {
	/* in the front end */
	MALI_GPU_ACTIVE,
	MALI_MCU_ACTIVE,
	MALI_IRQ_ACTIVE,
	MALI_IRQ_COUNT,
	MALI_MMU_FLUSHES,
	MALI_CACHE_FLUSHES,
	MALI_JOBS_TILER,
	MALI_JOBS_COMPUTE,
	MALI_JOBS_FRAGMENT,
	MALI_TASKS_FRAGMENT,
	MALI_TASKS_OTHER,
	/* in the tiler */
	MALI_TRIANGLES,
	MALI_LINES,
	MALI_POINTS,
	MALI_POSITION_TASKS,
	/* in the first slice, as the model has one MMU */
	MALI_MMU_REQUESTS,
	MALI_TABLE_READS_L2,
	MALI_TABLE_READS_L3,
	/* in shader cores, round-robin */
	MALI_FRAGMENT_TILES,
	MALI_COMPUTE_TASKS,
	MALI_EVENTS,
};

/* the interface names no counters of these blocks: the model counts at places of its own */
enum mali_csg_counter {
	MALI_CSG_INSTRUCTIONS = 4,
	MALI_CSG_JOBS = 5,		/* RUN_* */
	MALI_CSG_SYNC_WRITES = 6,
	MALI_CSG_HEAP_REQUESTS = 7,	/* the tiler's heap was full */
};

/* under mali_gpu.lock */
struct mali_counters {
	u32 blocks;	/* number of blocks of the product */
	u32 words;	/* words of a block, header included */
	u32 *reg;	/* what firmware reads */
	u64 *truth;	/* totals since the device exists */
	u32 next_core;	/* index of the core that gets the next piece of work */
};

static inline u32 mali_block_shader(u32 n)
{
	return MALI_BLOCK_MEMSYS + MALI_L2_SLICES + n;
}

static inline u32 mali_block_csg(const struct mali_gpu *gpu, u32 group)
{
	return mali_block_shader(hweight64(gpu->product->shader_present)) + group;
}

int mali_counters_init(struct mali_gpu *gpu);
void mali_event_locked(struct mali_gpu *gpu, enum mali_event event, u64 amount);
void mali_event(struct mali_gpu *gpu, enum mali_event event, u64 amount);
void mali_count(struct mali_gpu *gpu, u32 block, u32 counter, u64 amount);
u64 mali_counters_modelled(const struct mali_gpu *gpu, u32 block);
void mali_count_walk_locked(struct mali_gpu *gpu, unsigned int level);

#endif /* _MALI_COUNTERS_H_ */
