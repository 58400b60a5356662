/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the firmware: shared by vsoc_fw.c and vsoc_fw_sample.c only.
 */
#ifndef _VSOC_FW_H_
#define _VSOC_FW_H_

#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

#include "source/csf/csf_layout.h"
#include "engine/vsoc.h"
#include "engine/vsoc_log.h"
#include "vsoc_csf.h"

#define FW_ENABLE_BITS		32		/* bits of an enable mask */

enum fw_block_type {
	FW_BLOCK_FW,
	FW_BLOCK_CSHW,
	FW_BLOCK_TILER,
	FW_BLOCK_MEMSYS,
	FW_BLOCK_SHADER,
	FW_BLOCK_TYPES,
};

/* blocks of a ring slot whose counts were already added to @dropped or @doubtful */
struct fw_settled {
	/* indexed by hardware block */
	DECLARE_BITMAP(blocks, VSOC_BLOCK_MEMSYS + VSOC_MAX_L2_SLICES + VSOC_MAX_CORES);
};

/* the microcontroller; only @pages is shared with the host */
struct vsoc_fw {
	struct vsoc_device *vsoc;
	struct vsoc_fw_pages pages;	/* memory shared with the host */
	u64 map_va;			/* address of the single mapping in address space 0 */
	void *map;			/* its memory */
	size_t map_bytes;		/* its size */

	struct task_struct *mcu;	/* the thread that models the processor */
	wait_queue_head_t wait;		/* the MCU sleeps here */
	bool doorbell;			/* rung since the MCU last checked */
	u64 rung_ns;			/* CLOCK_MONOTONIC of the first ring since then */
	struct irq_work irq;		/* the interrupt line */
	struct hrtimer irq_timer;	/* replaces @irq where irq_work is not an interrupt */
	/* the host's interrupt handler, called in hard interrupt context */
	void (*handler)(struct vsoc_device *vsoc);

	struct mutex lock;	/* protects everything below; taken before hw_lock */
	bool enabled;		/* counting: PRFCNT_ENABLE is acknowledged */
	/* CLOCK_MONOTONIC when the MCU started to execute requests; 0: idle */
	u64 busy_since_ns;
	u64 busy_ns;		/* total time spent on requests, up to their interrupts */
	u64 asked_ns;		/* @rung_ns of the doorbell being handled */
	bool metadata;		/* samples begin with a metadata block */
	u32 set;		/* counter set that samples contain */
	void *ring;		/* the sample ring */
	u32 slots;		/* number of slots */
	u32 enable[FW_BLOCK_TYPES];	/* masks as programmed */
	u32 insert;		/* next slot to write, free-running */
	u32 seq;		/* number of the next sample */
	u32 ack;		/* acknowledge word in the output page */
	u64 start_ticks;	/* GPU timestamp at which the current time span began */
	u64 cycles[VSOC_CLOCKS];	/* clock cycles at that time */
	u64 cores_on;		/* cores powered for part of the span */
	u64 cores_off;		/* cores unpowered for part of the span */
	u64 cores_mine;		/* cores of this system for part of the span */
	u64 cores_away;		/* cores of other systems for part of the span */
	u32 *base;		/* counter registers at the end of the last sample */
	u64 *dropped;	/* lost in firmware or by a fault, since the device exists */
	u64 *doubtful;		/* possibly lost, since the device exists */
	u64 *stop_truth;	/* truth of each register when counting stopped */
	/* a requested sample was written since counting was enabled */
	bool asked;
	u32 baseline;	/* INSERT after the first requested sample; the host drops earlier ones */
	/* for each slot of @ring, the blocks in @dropped or @doubtful */
	struct fw_settled *settled;

	bool backwards;		/* this sample's end time precedes its start (injected fault) */
	u64 sample_counts;	/* sum of all counts of this sample */
	size_t saturated;	/* register saturated in this sample; 0: none */
	u64 samples_written;	/* since the device exists */
	u64 samples_dropped;	/* since the device exists */
	u64 interrupts;		/* raised */
	u64 doorbells;		/* seen */
	u64 late_answers;	/* acknowledgments so late that a host may have given up */
	u64 resets;		/* of the GPU */
};

static inline u32 fw_read(const __le32 *word)
{
	/* pairs with the host's barrier before it rings the doorbell */
	return le32_to_cpu(smp_load_acquire(word));
}

static inline void fw_write(__le32 *word, u32 value)
{
	/* makes what the word announces visible first */
	smp_store_release(word, cpu_to_le32(value));
}

/* register of a block in the active counter set */
static inline size_t fw_index(const struct vsoc_fw *fw, u32 block, u32 counter)
{
	const struct vsoc_device *vsoc = fw->vsoc;

	return vsoc_gpu_index(vsoc, fw->set * vsoc->shape.blocks + block, counter);
}

/* whether samples contain the register */
static inline bool fw_is_counted(const struct vsoc_fw *fw, size_t i)
{
	return fw->enabled && i >= fw_index(fw, 0, 0) &&
	       i < fw_index(fw, fw->vsoc->shape.blocks, 0);
}

static inline u32 fw_shader_slots(const struct vsoc_shape *shape)
{
	return shape->shader_dense ? shape->cores : fls64(shape->shader_present);
}

static inline size_t fw_block_bytes(const struct vsoc_shape *shape)
{
	return shape->counters_per_block * sizeof(__le32);
}

static inline size_t fw_sample_bytes(const struct vsoc_fw *fw)
{
	const struct vsoc_shape *shape = &fw->vsoc->shape;

	return (fw->metadata + VSOC_BLOCK_MEMSYS + shape->l2_slices + fw_shader_slots(shape)) *
	       fw_block_bytes(shape);
}

/* vsoc_fw_sample.c: all with hw_lock held */
u32 fw_event(u32 req, u32 ack, u32 bit);
void fw_begin_span(struct vsoc_fw *fw, u64 ticks);
u32 fw_take_sample(struct vsoc_fw *fw, u32 req, u32 ack, u32 reason);
void fw_lose_cores(struct vsoc_fw *fw, u64 cores);
void fw_add_pending(struct vsoc_fw *fw, u64 *pending);
void fw_begin_truth(struct vsoc_fw *fw);
void fw_log(struct vsoc_fw *fw, enum vsoc_log_kind kind, u32 detail, u64 counts);
void fw_end_truth(struct vsoc_fw *fw);

#endif /* _VSOC_FW_H_ */
