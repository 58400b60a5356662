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
 * the group slots
 */
enum mali_block {
	MALI_BLOCK_FW,
	MALI_BLOCK_CSHW,
	MALI_BLOCK_TILER,
	MALI_BLOCK_MEMSYS,
};

/* positions that the model counts, as in the hardware */
enum mali_cshw_counter {
	MALI_CSHW_GPU_ACTIVE = 4,
	MALI_CSHW_MCU_ACTIVE = 5,
	MALI_CSHW_MMU_FLUSH_COUNT = 7,
	MALI_CSHW_GPU_IRQ_ACTIVE = 10,
	MALI_CSHW_GPU_IRQ_COUNT = 11,
	MALI_CSHW_CACHE_FLUSH = 13,
};

/* the front end's job counters, whose positions depend on the product */
enum mali_job_counter {
	MALI_JOB_TILER,
	MALI_JOB_COMPUTE,
	MALI_JOB_FRAGMENT,
	MALI_JOB_FRAGMENT_TASKS,
};

enum mali_tiler_counter {
	MALI_TILER_TRIANGLES = 6,
	MALI_TILER_LINES = 7,
	MALI_TILER_POINTS = 8,
	MALI_TILER_POSITION_TASKS = 21,
};

enum mali_memsys_counter {
	MALI_MEMSYS_MMU_REQUESTS = 4,
	MALI_MEMSYS_TABLE_READS_L3 = 5,
	MALI_MEMSYS_TABLE_READS_L2 = 6,
};

enum mali_shader_counter {
	MALI_SHADER_FRAG_PTILES = 18,
	MALI_SHADER_COMPUTE_TASKS = 23,
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
void mali_count_locked(struct mali_gpu *gpu, u32 block, u32 counter, u64 amount);
void mali_count(struct mali_gpu *gpu, u32 block, u32 counter, u64 amount);
void mali_count_cores(struct mali_gpu *gpu, u32 counter, u64 amount);
void mali_count_job(struct mali_gpu *gpu, enum mali_job_counter job, u64 amount);
u64 mali_counters_modelled(const struct mali_gpu *gpu, u32 block);
void mali_count_cycles_locked(struct mali_gpu *gpu, u64 cycles);
void mali_count_walk_locked(struct mali_gpu *gpu, unsigned int level);

#endif /* _MALI_COUNTERS_H_ */
