/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual SoC: a DRM device whose hardware is a model.
 *
 * Locks, outer to inner: reset_sem, the core's sampler lock, vsoc_fw.lock, hw_lock,
 * vsoc_engine.lock. The models (vsoc_gpu.c, vsoc_fw.c, the fabric) do not depend on DRM; the glue
 * (vsoc_csf.c) reaches the firmware only through shared pages, a doorbell and an interrupt.
 */
#ifndef _VSOC_H_
#define _VSOC_H_

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <drm/drm_device.h>
#include <drm/drm_perfctr_extension.h>
#include "vsoc_rules.h"

struct csf_perfctr;
struct drm_vsoc_cmd_methods;
struct drm_vsoc_mp_record;
struct platform_device;
struct vsoc_account;
struct vsoc_ctx;
struct vsoc_device;
struct vsoc_engine;
struct vsoc_fabric;
struct vsoc_faults;
struct vsoc_fw;
struct vsoc_instance;
struct vsoc_job;
struct vsoc_log;
struct vsoc_nv50;

/* default time limit of a job, which debugfs can change; a job that exceeds it is cancelled */
#define VSOC_JOB_TIMEOUT_MS	10000

/* initial time if time is stepped from module load; every boot takes longer than this */
#define VSOC_STEPPED_START_NS	(10 * NSEC_PER_MSEC)
#define VSOC_TIMESTAMP_HZ	24000000ULL
/* counters in a block of NVIDIA-style counters */
#define VSOC_NV50_POSITIONS	64

enum vsoc_clock {
	VSOC_CLOCK_TOP,
	VSOC_CLOCK_COREGROUP,
	VSOC_CLOCK_SHADER,
	VSOC_CLOCKS,
};

/* a clock domain; cycles are exact integers */
struct vsoc_clock_state {
	u64 hz;			/* frequency now */
	bool on;		/* powered */
	u64 on_ns;		/* powered time since @base_cycles was taken */
	u64 base_cycles;	/* cycles counted at earlier frequencies */
};

/* the registers of the GPU; all under hw_lock */
struct vsoc_gpu {
	u32 *reg;	/* counter registers: 32 bits, they wrap, as in the hardware */
	u64 *truth;			/* the same counts, never wrapping */
	struct vsoc_account *account;	/* context that is being counted; NULL: none */
	u64 *nobody;			/* counts without a context */
	u64 *closed;			/* counts of closed contexts */
	struct list_head accounts;	/* contexts' accounts */
	u32 account_count;		/* length of @accounts */
	struct vsoc_account *others;	/* shared by contexts that did not fit into @accounts */
	struct vsoc_clock_state clocks[VSOC_CLOCKS];	/* the clock domains */
	u64 clock_ns;			/* vsoc_now_ns() up to which @clocks are accounted */
	u64 cores_on;			/* powered shader cores */
	bool protected;			/* protected mode, in which nothing is counted */
	u32 outstanding_rest, stall_rest;	/* parts of a core-group cycle */
};

/* time that only advances in steps that a test requests */
struct vsoc_stepped {
	bool on;	/* in use; changes under hw_lock */
	u64 now_ns;	/* current time; written by the engine, under hw_lock */
	u64 target_ns;	/* time to advance to; under the engine's lock */
};

/*
 * callbacks of the engine and the models, filled in by vsoc_drv.c
 *
 * They avoid a dependency of the engine on the driver and the models.
 */
struct vsoc_ops {
	/* a queued job has ended; frees the job, but not its context */
	void (*job_finish)(struct vsoc_device *vsoc, struct vsoc_job *job, int status);
	void (*unplug_soon)(struct vsoc_device *vsoc);	/* remove the device later; any context */
	/* power exactly these shader cores */
	void (*core_power)(struct vsoc_device *vsoc, u64 cores_on);
	/* the fabric, see vsoc_fabric.h */
	void (*traffic)(struct vsoc_device *vsoc, const struct vsoc_traffic *t, u64 ns);
	void (*advance)(struct vsoc_device *vsoc, u64 ns);
	void (*drain)(struct vsoc_device *vsoc, u32 lane);
	u64 (*backlog_ns)(struct vsoc_device *vsoc, u32 lane, bool all);
	u64 (*take_l2_read_ps)(struct vsoc_device *vsoc);
	void (*core)(struct vsoc_device *vsoc, const struct vsoc_work *work, u64 elements, u64 ns);

	/* The rest is for NVIDIA-style counters and does nothing without them. */
	/* account for the time without a running job; hw_lock held */
	void (*idle)(struct vsoc_device *vsoc);
	/* a job of @ctx begins; NULL: it has ended */
	void (*job)(struct vsoc_device *vsoc, struct vsoc_ctx *ctx);
	/* @cmd is next; NULL: begin or end of a job. May lengthen @work. */
	void (*command)(struct vsoc_device *vsoc, struct vsoc_work *work,
			const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread);
	/* @ns of @work at nominal clocks were executed in @time_ns; hw_lock held */
	void (*progress)(struct vsoc_device *vsoc, const struct vsoc_work *work, u64 ns,
			 u64 time_ns);
	/* a METHODS command of the running job */
	void (*methods)(struct vsoc_device *vsoc, const struct drm_vsoc_cmd_methods *methods);
	/* write the MP counters of all TPCs to @records, by physical index */
	void (*store)(struct vsoc_device *vsoc, struct drm_vsoc_mp_record *records, u32 sequence);
};

#define VSOC_MAX_GROUPS	32	/* bits of a mask */

/* files of a process and its descendants, which CTX_HOLD holds together */
struct vsoc_group {
	struct pid *pid;		/* NULL: no group */
	bool held;			/* files that are opened begin so */
};

/* one virtual SoC */
struct vsoc_device {
	struct drm_device drm;
	struct platform_device *pdev;	/* parent platform device */
	const struct vsoc_ops *ops;	/* constant */
	struct vsoc_instance *instance;	/* set by vsoc_devices.c */
	struct drm_perfctr *pc;		/* the counter core */
	struct vsoc_shape shape;	/* constant */
	/* counter logic of the shader cores; only the engine accesses @last_integer */
	struct vsoc_counting counting;
	struct mutex hw_lock;	/* protects the hardware model: @gpu and the fabric's traffic */
	struct vsoc_gpu gpu;		/* registers */
	struct vsoc_stepped stepped;	/* stepped time, if on */
	atomic_t files;			/* number of files opened since the device exists */
	struct mutex groups_lock;	/* protects @groups and @open_files */
	struct vsoc_group groups[VSOC_MAX_GROUPS];
	struct list_head open_files;	/* DRM's own list has them only after they were opened */
	struct vsoc_fw *fw;		/* the microcontroller and its firmware */
	struct vsoc_engine *engine;	/* executes jobs */
	struct vsoc_faults *faults;	/* fault injection */
	u64 faults_set;	/* mask of faults with a probability above zero; set by vsoc_fault.c */
	struct vsoc_log *log;		/* recent events */
	struct work_struct reset_work;	/* resets the GPU; any context may schedule it */
	struct work_struct watchdog_work;	/* resets the GPU if the running job still hangs */
	struct vsoc_fabric *fabric;	/* everything outside the GPU; owned by vsoc_fabric.c */
	struct rw_semaphore reset_sem;	/* held for writing during a GPU reset */
	unsigned int reset_ms;		/* duration of a reset */
	unsigned int job_timeout_ms;	/* time limit of a job, in device time */
	spinlock_t req_lock;		/* the host's requests in the firmware's input page */
	u32 fw_slots;			/* samples that fit into the firmware's ring */
	void *fw_ring;			/* its memory, while sessions exist */
	/* the counter source on top of the firmware; NULL with @product_nv50 */
	struct csf_perfctr *csf;
	bool memory_exact;	/* the memory system simulates each line; constant */
	bool product_nv50;	/* the GPU has NVIDIA-style counters; constant */
	struct vsoc_nv50 *nv50;	/* NVIDIA-style counters, under hw_lock; or NULL */
};

static inline struct vsoc_device *to_vsoc(struct drm_device *drm)
{
	return container_of(drm, struct vsoc_device, drm);
}

/* vsoc_gpu.c: the block counter hardware */
extern const u64 vsoc_nominal_hz[VSOC_CLOCKS];
int vsoc_gpu_init(struct vsoc_device *vsoc);
void vsoc_gpu_update_clocks(struct vsoc_device *vsoc);
u64 vsoc_gpu_cycles(const struct vsoc_device *vsoc, enum vsoc_clock clock);
void vsoc_gpu_set_hz(struct vsoc_device *vsoc, enum vsoc_clock clock, u64 hz);
u64 vsoc_gpu_timestamp(u64 raw_ns);
void vsoc_gpu_progress(struct vsoc_device *vsoc, struct vsoc_work *work, u64 ns, u64 time_ns);
void vsoc_gpu_memory(struct vsoc_device *vsoc, u64 ps, u64 stall_ns, u64 work_ns, bool write);
void vsoc_gpu_count(struct vsoc_device *vsoc, u32 block, u32 counter, u64 n);
void vsoc_gpu_count_truth(struct vsoc_device *vsoc, size_t index, u64 n);
u64 vsoc_now_ns(const struct vsoc_device *vsoc);

/* registers of NVIDIA-style counters: PCOUNTER, then each TPC; they follow those of all sets */
static inline size_t vsoc_nv50_registers(const struct vsoc_device *vsoc)
{
	return vsoc->product_nv50 ? VSOC_NV50_POSITIONS * (1 + vsoc->shape.cores) : 0;
}

/*
 * Counter registers: those of the primary set for all blocks, then the secondary
 * set's, then the tertiary set's. @block: block + set * shape.blocks.
 */
static inline size_t vsoc_gpu_index(const struct vsoc_device *vsoc, u32 block, u32 counter)
{
	return (size_t)block * vsoc->shape.counters_per_block + counter;
}

/* number of all counter registers */
static inline size_t vsoc_gpu_registers(const struct vsoc_device *vsoc)
{
	return vsoc_gpu_index(vsoc, VSOC_SETS * vsoc->shape.blocks, 0) +
	       vsoc_nv50_registers(vsoc);
}

/* first register of a set; NVIDIA-style counters pose as the primary set, but follow all sets */
static inline size_t vsoc_gpu_set_first(const struct vsoc_device *vsoc, u32 set)
{
	const bool nv50 = vsoc->product_nv50 && set == DRM_PERFCTR_SET_PRIMARY;

	return vsoc_gpu_index(vsoc, (nv50 ? VSOC_SETS : set) * vsoc->shape.blocks, 0);
}

static inline size_t vsoc_gpu_set_registers(const struct vsoc_device *vsoc, u32 set)
{
	const bool nv50 = vsoc->product_nv50 && set == DRM_PERFCTR_SET_PRIMARY;

	return nv50 ? vsoc_nv50_registers(vsoc) : vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0);
}

#endif /* _VSOC_H_ */
