/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of a V3D GPU: the device, and the interfaces between its parts.
 *
 * One lock, a spinlock that is taken with interrupts off, protects everything: every register, the
 * work, the counters. A thread works (model_engine.c), another calls the driver's interrupt
 * handlers without the lock (lab/model).
 */
#ifndef _V3D_MODEL_H_
#define _V3D_MODEL_H_

#include <linux/clk-provider.h>
#include <linux/ioport.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "model/model.h"
#include "model_regs.h"

struct dentry;
struct device;
struct fwnode_handle;

enum v3d_block {
	V3D_HUB,
	V3D_CORE,
	V3D_BLOCKS,
};

/* free in the guest's resource tree: above its memory and its bus */
#define V3D_WINDOW_START	0x1002000000
/* places of the windows of registers, in the one that the model has */
#define V3D_HUB_BYTES		0x4000
#define V3D_CORE_OFFSET		0x8000
#define V3D_CORE_BYTES		0x6000
#define V3D_BRIDGE_OFFSET	0x10000
#define V3D_BRIDGE_BYTES	0x100
#define V3D_SMS_OFFSET		0x18000
#define V3D_SMS_BYTES		0x700
#define V3D_WINDOW_BYTES	0x20000

enum v3d_unit {
	V3D_BIN,
	V3D_RENDER,
	V3D_TFU,
	V3D_CSD,
	V3D_UNITS,
};

/* what the model counts; other events of the GPU stay 0 */
enum v3d_event {
	V3D_CYCLES,
	V3D_CORE_ACTIVE,
	V3D_BIN_ACTIVE,
	V3D_RENDER_ACTIVE,
	V3D_COMPUTE_ACTIVE,
	V3D_PRIMITIVES,
	V3D_QUADS,
	V3D_READS,
	V3D_READ_BYTES,
	V3D_WRITES,
	V3D_WRITE_BYTES,
	V3D_MAX_READS,	/* these two: a maximum since the counter was cleared */
	V3D_MAX_WRITES,
	V3D_EVENTS,
};

/* GPU cycles of a step of a unit */
#define V3D_STEP_CYCLES		100

/* a unit that works step by step until it has nothing left */
struct v3d_work {
	bool running;
	bool hung;	/* it makes no step until a reset */
	u32 left;	/* steps of TFU and CSD */
};

/* a control list, of bin or render */
#define V3D_RETURNS	4
struct v3d_list {
	u32 place, end;	/* addresses of packets */
	u32 returns[V3D_RETURNS];	/* where sub-lists return to */
	unsigned int depth;
	bool starved;	/* waits for memory; bin only */
	u32 memory;	/* bytes left for lists of tiles; bin only */

	/* render only: the frame, sizes in pixels or in tiles */
	u32 tile_width, tile_height;
	u32 supertile_width, supertile_height;
	u32 frame_width, frame_height;
	/* the list that is executed for each tile, and the tiles of the supertile in work */
	u32 tile_list, tile_list_end;
	bool in_tile;
	u32 left, right, bottom;	/* right and bottom are exclusive */
	u32 x, y;
	u32 after;	/* the packet behind the supertile's */
};

struct v3d_gpu {
	unsigned int version;	/* 42 or 71 */
	struct device *model;	/* frees and ends what the parts have */
	struct resource window;	/* all registers, in the resource tree */
	struct clk_hw clock;
	struct fwnode_handle *fwnode;
	struct model_lines lines;	/* 42: one for both blocks; 71: as enum v3d_block */
	wait_queue_head_t wait;	/* of the thread that works */

	spinlock_t lock;	/* protects what follows */
	bool clocked;
	u32 sms_state;	/* 71; V3D_SMS_POWERED_OFF: the power is off */
	u32 hub[V3D_HUB_BYTES / 4];	/* registers without a part of their own, as written */
	u32 core[V3D_CORE_BYTES / 4];
	u32 cause[V3D_BLOCKS];	/* of interrupts */
	u32 mask[V3D_BLOCKS];	/* a set bit is masked */
	struct v3d_work work[V3D_UNITS];
	struct v3d_list list[2];	/* V3D_BIN and V3D_RENDER */

	u32 value[V3D_PCTR_SLOTS];	/* of counter slots */
	s8 event[V3D_PCTR_SLOTS];	/* enum v3d_event, or -1: not modelled */
	u64 truth[V3D_EVENTS];	/* since the module was loaded */
	u64 clock_ns;	/* cycles are counted until here */
	u64 part_ns;	/* beyond whole cycles: in 1/1000 cycle */

	/* files in debugfs, README.md */
	u32 mhz;
	u32 step_ns;
	u32 race;
	u32 scale;
	u32 tile_bytes;
	u32 hang;
	u32 fail_power_off;
	u32 unpowered;
	u32 resets;
	struct dentry *debugfs;
};

/* model_registers.c */
u32 v3d_register_read(struct v3d_gpu *gpu, u32 offset);
void v3d_register_write(struct v3d_gpu *gpu, u32 offset, u32 value);

static inline bool v3d_is_powered(const struct v3d_gpu *gpu)
{
	return gpu->clocked && gpu->sms_state != V3D_SMS_POWERED_OFF;
}

/* model_irq.c */
void v3d_raise_locked(struct v3d_gpu *gpu, enum v3d_block block, u32 causes);
void v3d_mask_locked(struct v3d_gpu *gpu, enum v3d_block block, u32 mask);
/* the unit has finished what it worked on */
void v3d_done_locked(struct v3d_gpu *gpu, enum v3d_unit unit);
int v3d_irq_init(struct v3d_gpu *gpu);

/* model_power.c */
void v3d_reset_locked(struct v3d_gpu *gpu);
u32 v3d_sms_read(const struct v3d_gpu *gpu, u32 offset);
void v3d_sms_write(struct v3d_gpu *gpu, u32 offset, u32 value);
int v3d_power_init(struct v3d_gpu *gpu);

/* model_mmu.c; units are named by the first of their identifiers on the bus */
enum v3d_client {
	V3D_CLIENT_CLE,
	V3D_CLIENT_TLB,
	V3D_CLIENT_TFU,
};

bool v3d_mmu_write_locked(struct v3d_gpu *gpu, u32 offset, u32 value);
bool v3d_mem_read_locked(struct v3d_gpu *gpu, enum v3d_client client, u32 va, void *data,
			 size_t bytes);
bool v3d_mem_check_locked(struct v3d_gpu *gpu, enum v3d_client client, u32 va, bool write);

/* model_counters.c */
void v3d_count_locked(struct v3d_gpu *gpu, enum v3d_event event, u64 count);
void v3d_clock_update_locked(struct v3d_gpu *gpu);
u32 v3d_counter_read(struct v3d_gpu *gpu, u32 offset);
void v3d_counter_write(struct v3d_gpu *gpu, u32 offset, u32 value);
void v3d_counters_reset_locked(struct v3d_gpu *gpu);
void v3d_counters_init(struct v3d_gpu *gpu);

/* model_engine.c */
void v3d_start_locked(struct v3d_gpu *gpu, enum v3d_unit unit);
void v3d_steps_locked(struct v3d_gpu *gpu, unsigned int steps);
int v3d_engine_init(struct v3d_gpu *gpu);

/* model_list.c: a list runs from queue start to queue end; one step is one packet */
void v3d_list_start_locked(struct v3d_gpu *gpu, enum v3d_unit unit);
void v3d_list_step_locked(struct v3d_gpu *gpu, enum v3d_unit unit);

/* model_draw.c: the primitives of a packet; 0 if it draws nothing. False: an address faulted */
bool v3d_draw_locked(struct v3d_gpu *gpu, const u8 *packet, u64 *primitives);

/* model_uml.c, model_stock.c */
int v3d_host_init(struct v3d_gpu *gpu);

#endif /* _V3D_MODEL_H_ */
