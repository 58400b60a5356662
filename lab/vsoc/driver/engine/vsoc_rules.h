/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a command adds to each counter: exact integer rules, independent of time and state. The
 * table in README.md describes them.
 */
#ifndef _VSOC_RULES_H_
#define _VSOC_RULES_H_

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <drm/vsoc_drm.h>
#include "vsoc_listing.h"
#include "vsoc_traffic.h"

#define VSOC_MAX_L2_SLICES	16
#define VSOC_MAX_CORES		64
#define VSOC_SETS		3	/* enum drm_perfctr_set */
#define VSOC_MAX_UNITS		BIT_ULL(40)
#define VSOC_MAX_INSTRUCTIONS	65535
#define VSOC_MAX_ELEMENTS	BIT_ULL(24)	/* that a core copies */
#define VSOC_DRAW_INSTRUCTIONS	16	/* of each vertex and each fragment thread */
#define VSOC_MIN_RATE		1000000	/* bytes per second that a COPY or PCIE offers */

/* nominal clocks; durations of commands are nanoseconds at these */
#define VSOC_TOP_HZ		1000000000ULL
#define VSOC_COREGROUP_HZ	800000000ULL
#define VSOC_SHADER_HZ		500000000ULL

/*
 * Rate of the fastest counter: EXT_READ_OUTSTANDING, with VSOC_GPU_WINDOW reads in flight in each
 * of 800 million cycles per second.
 */
#define VSOC_MAX_COUNT_HZ	6400000000ULL

/* blocks of a shape, in the order of the firmware's sample */
enum vsoc_block {
	VSOC_BLOCK_FW,
	VSOC_BLOCK_CSHW,
	VSOC_BLOCK_TILER,
	VSOC_BLOCK_MEMSYS, /* followed by the other slices, then the present cores */
};

/* what a GPU consists of; constant for a device, except for its partition */
struct vsoc_shape {
	u64 shader_present;	/* bit n: core n exists */
	u32 cores;		/* set bits of @shader_present, 1..VSOC_MAX_CORES */
	u32 l2_slices;		/* 1..VSOC_MAX_L2_SLICES */
	u32 counters_per_block;	/* 64 or 128 */
	bool shader_dense;	/* the firmware's samples have no gaps for absent cores */
	u32 blocks;	/* of each counter set: VSOC_BLOCK_MEMSYS + @l2_slices + @cores */
	/* cores of this system, not 0; the others of @shader_present work for other systems */
	u64 assigned;
	u32 assigned_cores;	/* set bits of @assigned */
};

/* what a piece of work adds to one counter */
struct vsoc_work_item {
	u64 total;	/* when the work is finished */
	u64 done;	/* added already */
	u16 block;	/* number of the block, enum vsoc_block, plus set times vsoc_shape.blocks */
	u16 counter;	/* position in the block */
	u16 stream;	/* 1 + index of the stream with one line for each count; 0: none */
};

/* memory traffic of a piece of work */
struct vsoc_work_stream {
	struct vsoc_traffic traffic;	/* fields common to all parts */
	u64 lines;			/* of DRM_VSOC_LINE_BYTES, when the work is finished */
	u64 done;			/* lines reported already */
	bool by_counters;		/* the counters that name this stream determine @done */
};

/* how the shader cores count thread instructions */
enum vsoc_profile {
	VSOC_PROFILE_XAVIER,		/* as measured on the product */
	VSOC_PROFILE_DOCUMENTED,	/* as its documentation describes */
	VSOC_PROFILES,
};

/*
 * Injected counting errors, to test validation tools
 *
 * They affect THREAD_INST_INTEGER of COMPUTE commands unless stated otherwise.
 */
enum vsoc_miscount {
	VSOC_MISCOUNT_NONE,	/* correct */
	VSOC_MISCOUNT_DOUBLE,	/* counts twice */
	VSOC_MISCOUNT_SWAP,	/* integer and single precision are exchanged */
	VSOC_MISCOUNT_DEAD,	/* all classes also count unreached instructions behind EXIT */
	VSOC_MISCOUNT_SATURATE,	/* a core stops at 65535 in each kernel */
	VSOC_MISCOUNT_WRAP,	/* a core counts modulo 65536 in each kernel */
	VSOC_MISCOUNT_STALE,	/* a core reports the previous kernel: a lost buffer swap */
	VSOC_MISCOUNT_OFF_BY_ONE,	/* one too many for each kernel in each core */
	VSOC_MISCOUNT_MUX,	/* the multiplexer still selects single precision */
	VSOC_MISCOUNTS,
};

/* counter logic of the shader cores */
struct vsoc_counting {
	/* enum vsoc_profile; may change any time, read once for each kernel and core */
	u32 profile;
	u32 miscount;	/* enum vsoc_miscount, read in the same way */
	u32 l2_counting;	/* enum memsim_l2_counting, read at each command */
	/* integer thread instructions of the last kernel, by present core */
	u64 last_integer[VSOC_MAX_CORES];
};

/* counters of thread instructions */
enum vsoc_thread_counter {
	VSOC_THREAD_INTEGER,
	VSOC_THREAD_FP32,
	VSOC_THREAD_LD_ST,
	VSOC_THREAD_CONTROL,
	VSOC_THREAD_CONVERT,
	VSOC_THREAD_MISC,
	VSOC_THREAD_TOTAL,
	VSOC_THREAD_COUNTERS,
};

/* a command during its execution */
struct vsoc_work {
	const struct vsoc_shape *shape;
	struct vsoc_counting *counting;	/* counter logic of the shader cores */
	u32 lane;		/* 0: the GPU's; the others run beside it and count nothing */
	/* address of what the context's shaders read; they write VSOC_HEAP_BYTES above it */
	u64 heap;
	u64 duration_ns;		/* at nominal clocks */
	u64 done_ns;			/* of @duration_ns, executed already */
	struct vsoc_work_item *items;	/* affected counters */
	u32 count;			/* elements of @items in use */
	u32 capacity;			/* elements of @items, vsoc_work_capacity() */
	struct vsoc_work_stream streams[VSOC_MAX_STREAMS];	/* memory traffic */
	u32 stream_count;		/* elements of @streams in use */
	u64 elements, elements_done;	/* of an array that a core copies */
	u32 number;			/* changes with each command */
};

void vsoc_shape_init(struct vsoc_shape *shape, u64 shader_present, u32 l2_slices,
		     u32 counters_per_block);
void vsoc_shape_assign(struct vsoc_shape *shape, u64 assigned);
u32 vsoc_work_capacity(const struct vsoc_shape *shape);

/* a thread of @total instructions without a listing */
struct vsoc_thread vsoc_rules_mix(u64 total);

/* what the registers count for one thread; @count_dead: VSOC_MISCOUNT_DEAD */
void vsoc_rules_count_thread(const struct vsoc_thread *thread, enum vsoc_profile profile,
			     bool count_dead, u64 counts[VSOC_THREAD_COUNTERS]);

/* size of the parts of the heap that are read, and written */
#define VSOC_HEAP_BYTES		BIT_ULL(36)

/* Fills @work in. @cmd has been checked (vsoc_command.c). @thread: of its listing; NULL: none. */
void vsoc_rules_command(struct vsoc_work *work, const struct drm_vsoc_command *cmd,
			const struct vsoc_thread *thread);
void vsoc_rules_job_start(struct vsoc_work *work, bool context_switch);
void vsoc_rules_job_end(struct vsoc_work *work, bool faulted);

/* share number @k of @n of @total; the shares add up to @total */
u64 vsoc_share(u64 total, u32 n, u32 k);

#endif /* _VSOC_RULES_H_ */
