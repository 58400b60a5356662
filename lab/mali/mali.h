/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of a Mali GPU: the device, and the interfaces between its parts. The front end is
 * either firmware with command streams (struct mali_mcu) or a job manager (struct mali_jm).
 *
 * Locks, outer to inner: mali_mcu.lock (a mutex: firmware and command streams), mali_gpu.lock (a
 * spinlock, interrupts off: every register, job slots, the address spaces' tables, the counters).
 * A thread of the lines calls the host's interrupt handlers with neither lock held.
 */
#ifndef _MALI_H_
#define _MALI_H_

#include <linux/clk-provider.h>
#include <linux/ioport.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "model/model.h"

struct dentry;
struct device;
struct fwnode_handle;
struct mali_counters;
struct mali_jm;
struct mali_mcu;
struct mali_prfcnt;
struct page;

#define MALI_L2_SLICES		4
#define MALI_GROUPS		8
#define MALI_STREAMS		8
#define MALI_REGISTERS		96
#define MALI_SCOREBOARDS	8
#define MALI_TIMESTAMP_HZ	24000000
#define MALI_MICROVOLT		800000

/* supported frequencies, ascending */
extern const unsigned long mali_core_hz[3];

/* generations of counter blocks */
enum mali_layout {
	MALI_LAYOUT_CSF10,
	MALI_LAYOUT_CSF13,
	/* job managers */
	MALI_LAYOUT_V4,
	MALI_LAYOUT_V5,
	MALI_LAYOUT_V6,
};

/* a GPU */
struct mali_product {
	const char *name;	/* value of the module parameter */
	u32 gpu_id;	/* architecture, product and version */
	u32 counters_per_block;	/* words of a block, header included */
	u64 shader_present;	/* mask of cores; their numbers have gaps */
	enum mali_layout layout;
	bool coherent;	/* host caches are snooped; otherwise its mappings are write-combined */
};

#define MALI_ADDRESS_SPACES	16
#define MALI_AS_BYTES		0x40	/* of registers */
/* reserved for the microcontroller; maps firmware, its sample ring and the suspend buffers */
#define MALI_MCU_AS		0

enum mali_irq_name {
	MALI_IRQ_JOB,
	MALI_IRQ_MMU,
	MALI_IRQ_GPU,
	MALI_IRQS,
};

enum mali_domain {
	MALI_DOMAIN_SHADER,
	MALI_DOMAIN_TILER,
	MALI_DOMAIN_L2,
	MALI_DOMAINS,
};

enum mali_fail {
	MALI_FAIL_BOOT,			/* firmware does not start */
	MALI_FAIL_ANSWERS,		/* firmware ignores requests through doorbell 0 */
	MALI_FAIL_HALT,			/* firmware does not halt */
	MALI_FAIL_COUNTERS,		/* firmware does not acknowledge counter requests */
	MALI_FAIL_OVERFLOW,		/* the next sample finds no free slot, once */
	MALI_FAIL_UNRECOVERABLE,	/* the next instruction raises CS_UNRECOVERABLE, once */
	/* of a job manager's GPU */
	MALI_FAIL_SOFT_RESET,		/* a soft reset does not complete */
	MALI_FAIL_SOFT_STOP,		/* jobs ignore soft stops */
	MALI_FAIL_SAMPLE,		/* samples are not written; 2: not those of cores */
	MALI_FAIL_JOB,			/* the next job ends with this exception, once */
	MALI_FAILS,
};

/* a block of interrupt registers and its line */
struct mali_irq {
	u32 rawstat;	/* causes */
	u32 mask;	/* causes that raise the line */
};

/* an address space */
struct mali_as {
	u32 reg[MALI_AS_BYTES / 4];	/* as written, and the last fault */
	u64 root;	/* physical address of the table in use, set by UPDATE */
	unsigned int commands;	/* that it got */
	u64 config;	/* of @root, as in TRANSCFG; MALI_MODE_UNMAPPED: nothing is translated */
};

struct mali_gpu {
	const struct mali_product *product;
	bool csg_blocks;	/* samples have a block for each group slot */
	bool metadata;	/* samples begin with a metadata block */
	struct device *model;	/* frees and ends what the parts have */

	struct resource window;	/* registers, in the resource tree */
	/* real memory at the window's address: userspace maps the flush ID page */
	struct page *window_pages;
	struct clk_hw clock;
	struct fwnode_handle *fwnode;	/* NULL without a device tree */

	spinlock_t lock;	/* protects everything up to @mcu, and the counters */
	struct mali_irq irq[MALI_IRQS];
	struct mali_as as[MALI_ADDRESS_SPACES];
	u64 powered[MALI_DOMAINS];	/* units that are ready */
	u32 mcu_control;	/* MALI_MCU_CONTROL_*, as written */
	u32 mcu_status;	/* MALI_MCU_STATUS_* */
	u32 flush_id;
	/* until @clock_ns; advances while the L2 cache is powered, and a job manager counts */
	u64 cycles;
	u64 clock_ns;
	unsigned long core_hz;	/* current frequency */

	struct mali_counters *counters;
	/* the front end: NULL, or the other one is */
	struct mali_mcu *mcu;
	struct mali_jm *jm;
	struct mali_prfcnt *prfcnt;	/* of firmware */

	/* a fault is injected while its value is not zero; debugfs has a file for each */
	u32 fail[MALI_FAILS];
	u32 tiler_bytes;	/* tiler heap that a primitive takes; a file in debugfs */
	struct model_lines lines;	/* enum mali_irq_name */
	struct dentry *debugfs;
};

static inline u32 mali_arch(const struct mali_gpu *gpu)
{
	return gpu->product->gpu_id >> 28;
}

static inline bool mali_has_jm(const struct mali_gpu *gpu)
{
	return gpu->product->layout >= MALI_LAYOUT_V4;
}

/* mali_registers.c */
int mali_window_init(struct mali_gpu *gpu);
u32 mali_register_read(struct mali_gpu *gpu, u32 offset);
void mali_register_write(struct mali_gpu *gpu, u32 offset, u32 value);

/* mali_uml.c, or mali_stock.c */
int mali_host_add_window(struct mali_gpu *gpu);
int mali_host_init(struct mali_gpu *gpu);

/* mali_irq.c */
int mali_irq_init(struct mali_gpu *gpu);
u32 mali_irq_read(struct mali_gpu *gpu, enum mali_irq_name name, u32 offset);
void mali_irq_write(struct mali_gpu *gpu, enum mali_irq_name name, u32 offset, u32 value);
void mali_irq_raise_locked(struct mali_gpu *gpu, enum mali_irq_name name, u32 causes);
void mali_irq_raise(struct mali_gpu *gpu, enum mali_irq_name name, u32 causes);

/* mali_counters.c */
void mali_clock_update_locked(struct mali_gpu *gpu);
void mali_clock_set(struct mali_gpu *gpu, unsigned long hz);
u64 mali_cycles(struct mali_gpu *gpu);
u64 mali_cycles_locked(struct mali_gpu *gpu);
u64 mali_timestamp(void);

/* mali_power.c */
u64 mali_power_present(const struct mali_gpu *gpu, enum mali_domain domain);
u32 mali_power_read(struct mali_gpu *gpu, u32 offset);
void mali_power_write(struct mali_gpu *gpu, u32 offset, u32 value);
void mali_power_set_locked(struct mali_gpu *gpu, enum mali_domain domain, u64 ready);
void mali_power_reset_locked(struct mali_gpu *gpu);
void mali_flush_caches_locked(struct mali_gpu *gpu);

/* mali_mmu.c */
u32 mali_as_read(struct mali_gpu *gpu, u32 offset);
void mali_as_write(struct mali_gpu *gpu, u32 offset, u32 value);
void mali_as_reset_locked(struct mali_gpu *gpu);
int mali_mem_read(struct mali_gpu *gpu, u32 as, u64 va, void *data, size_t bytes);
int mali_mem_write(struct mali_gpu *gpu, u32 as, u64 va, const void *data, size_t bytes);
int mali_mem_load(struct mali_gpu *gpu, u32 as, u64 va, size_t bytes, u64 *value);
int mali_mem_store(struct mali_gpu *gpu, u32 as, u64 va, size_t bytes, u64 value);
void *mali_mem_page(struct mali_gpu *gpu, u32 as, u64 va);

/* mali_platform.c */
int mali_platform_prepare(struct mali_gpu *gpu);
int mali_platform_add_device(struct mali_gpu *gpu);

#endif /* _MALI_H_ */
