/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual SoC: a DRM device whose hardware is a model.
 *
 * Locks, outer to inner: reset_sem, the core's sampler lock, vsoc_fw.lock, hw_lock,
 * vsoc_engine.lock. The models (vsoc_gpu.c, vsoc_fw.c, the fabric) know nothing of
 * DRM; the glue (vsoc_csf.c) reaches the firmware only through shared pages, a
 * doorbell and an interrupt.
 */
#ifndef _VSOC_H_
#define _VSOC_H_

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <drm/drm_device.h>
#include <drm/drm_perfctr.h>
#include "fabric/vsoc_fabric.h"
#include "nv50/vsoc_nv50.h"
#include "engine/vsoc_rules.h"

struct csf_perfctr;
struct vsoc_account;
struct dentry;
struct drm_file;
struct platform_device;
struct vsoc_engine;
struct vsoc_fabric;
struct vsoc_faults;
struct vsoc_file;
struct vsoc_fw;
struct vsoc_instance;
struct vsoc_log;
struct vsoc_nv50;

/* a job that takes longer is cut short, unless debugfs says something else */
#define VSOC_JOB_TIMEOUT_MS	10000

/* when stepped time begins that was stepped from the beginning; nothing boots that fast */
#define VSOC_STEPPED_START_NS	(10 * NSEC_PER_MSEC)
#define VSOC_TIMESTAMP_HZ	24000000ULL

enum vsoc_clock {
	VSOC_CLOCK_TOP,
	VSOC_CLOCK_COREGROUP,
	VSOC_CLOCK_SHADER,
	VSOC_CLOCKS,
};

/**
 * struct vsoc_clock_state - a clock domain; cycles are exact integers
 */
struct vsoc_clock_state {
	/** @hz: frequency now. */
	u64 hz;
	/** @on: powered. */
	bool on;
	/** @on_ns: powered time since @base_cycles was taken. */
	u64 on_ns;
	/** @base_cycles: cycles counted at earlier frequencies. */
	u64 base_cycles;
};

/**
 * struct vsoc_gpu - the registers of the GPU; all under hw_lock
 */
struct vsoc_gpu {
	/** @reg: counter registers as the hardware has them: 32 bits, they wrap. */
	u32 *reg;
	/** @truth: the same counts, never wrapping. */
	u64 *truth;
	/** @account: of whose work is being counted, NULL: nobody's. */
	struct vsoc_account *account;
	/** @nobody: counts that no context caused. */
	u64 *nobody;
	/** @closed: counts of contexts that are gone. */
	u64 *closed;
	/** @accounts: of the contexts. */
	struct list_head accounts;
	/** @account_count: of @accounts. */
	u32 account_count;
	/** @others: the account of contexts that found @accounts full. */
	struct vsoc_account *others;
	/** @clocks: the clock domains. */
	struct vsoc_clock_state clocks[VSOC_CLOCKS];
	/** @clock_ns: vsoc_now_ns() up to which @clocks are accounted. */
	u64 clock_ns;
	/** @cores_on: powered shader cores. */
	u64 cores_on;
	/** @protected: in protected mode, in which nothing is counted. */
	bool protected;
};

/**
 * struct vsoc_stepped - time that moves only when a test says so
 */
struct vsoc_stepped {
	/** @on: it is in use; changes under hw_lock. */
	bool on;
	/** @now_ns: time of the device; written by the engine, under hw_lock. */
	u64 now_ns;
	/** @target_ns: where it may go; under the engine's lock. */
	u64 target_ns;
};

/**
 * struct vsoc_device - one virtual SoC
 */
struct vsoc_device {
	/** @drm: the DRM device. */
	struct drm_device drm;
	/** @pdev: the platform device that it hangs off. */
	struct platform_device *pdev;
	/** @instance: whose device it is, see vsoc_devices.c. */
	struct vsoc_instance *instance;
	/** @pc: the counter core. */
	struct drm_perfctr *pc;
	/** @shape: constant. */
	struct vsoc_shape shape;
	/** @counting: counter logic of the shader cores; @last_integer is the engine's. */
	struct vsoc_counting counting;
	/** @hw_lock: protects the hardware model: @gpu and the fabric's traffic. */
	struct mutex hw_lock;
	/** @gpu: registers. */
	struct vsoc_gpu gpu;
	/** @stepped: virtual time, unless it is real. */
	struct vsoc_stepped stepped;
	/** @files: opened since the device exists. */
	atomic_t files;
	/** @fw: the microcontroller and its firmware. */
	struct vsoc_fw *fw;
	/** @engine: executes jobs. */
	struct vsoc_engine *engine;
	/** @faults: hardware that fails by name. */
	struct vsoc_faults *faults;
	/** @faults_set: those with a probability above zero; changed by vsoc_fault.c only. */
	u64 faults_set;
	/** @log: what happened lately. */
	struct vsoc_log *log;
	/** @reset_work: vsoc_reset_soon(). */
	struct work_struct reset_work;
	/** @watchdog_work: a reset for a job that hangs, if it still does. */
	struct work_struct watchdog_work;
	/** @fabric: everything outside of the GPU; owned by vsoc_fabric.c. */
	struct vsoc_fabric *fabric;
	/** @reset_sem: taken for writing while the GPU is reset. */
	struct rw_semaphore reset_sem;
	/** @reset_ms: how long a reset takes. */
	unsigned int reset_ms;
	/** @job_timeout_ms: time of the device that a job may take. */
	unsigned int job_timeout_ms;
	/** @req_lock: the host's requests in the firmware's input page. */
	spinlock_t req_lock;
	/** @fw_slots: samples that fit the firmware's ring. */
	u32 fw_slots;
	/** @fw_ring: its memory, while sessions exist. */
	void *fw_ring;
	/** @fw_ring_bytes: bytes of it. */
	size_t fw_ring_bytes;
	/** @csf: the counter source above the firmware; NULL for @product_nv50. */
	struct csf_perfctr *csf;
	/** @product_nv50: the GPU's counters are those of an nv50; constant. */
	bool product_nv50;
	/** @nv50: they, under hw_lock; NULL: it has others. */
	struct vsoc_nv50 *nv50;
};

static inline struct vsoc_device *to_vsoc(struct drm_device *drm)
{
	return container_of(drm, struct vsoc_device, drm);
}

/* vsoc_devices.c: the device disappears, soon; any context */
void vsoc_unplug_soon(struct vsoc_device *vsoc);

/* vsoc_gpu.c: the block counter hardware */
extern const u64 vsoc_nominal_hz[VSOC_CLOCKS];
int vsoc_gpu_init(struct vsoc_device *vsoc);
void vsoc_gpu_update_clocks(struct vsoc_device *vsoc);
u64 vsoc_gpu_cycles(const struct vsoc_device *vsoc, enum vsoc_clock clock);
void vsoc_gpu_set_hz(struct vsoc_device *vsoc, enum vsoc_clock clock, u64 hz);
u64 vsoc_gpu_timestamp(u64 raw_ns);
void vsoc_gpu_progress(struct vsoc_device *vsoc, struct vsoc_work *work, u64 ns);
void vsoc_gpu_count(struct vsoc_device *vsoc, u32 block, u32 counter, u64 n);
void vsoc_gpu_count_truth(struct vsoc_device *vsoc, size_t index, u64 n);
u64 vsoc_now_ns(const struct vsoc_device *vsoc);

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

/* those of a counter set; NVIDIA-style counters, shown as the primary set, are behind all sets */
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

/* vsoc_fw.c: the firmware */
struct csf_glb_control;
struct csf_glb_input;
struct csf_glb_output;

/**
 * struct vsoc_fw_pages - the global interface, shared by firmware and host
 */
struct vsoc_fw_pages {
	/** @control: written at boot. */
	struct csf_glb_control *control;
	/** @input: written by the host. */
	struct csf_glb_input *input;
	/** @output: written by firmware. */
	struct csf_glb_output *output;
};

int vsoc_fw_init(struct vsoc_device *vsoc);
void vsoc_fw_fini(struct vsoc_device *vsoc);
const struct vsoc_fw_pages *vsoc_fw_pages(struct vsoc_device *vsoc);
void vsoc_fw_map(struct vsoc_device *vsoc, u64 va, void *memory, size_t bytes);
void vsoc_fw_set_irq(struct vsoc_device *vsoc, void (*handler)(struct vsoc_device *vsoc));
void vsoc_fw_doorbell(struct vsoc_device *vsoc);
void vsoc_fw_core_power(struct vsoc_device *vsoc, u64 cores_on);
void vsoc_fw_protected(struct vsoc_device *vsoc, bool enter);
void vsoc_fw_reset(struct vsoc_device *vsoc);
void vsoc_fw_totals(struct vsoc_device *vsoc, u64 *truth, u64 *dropped, u64 *doubtful,
		    u64 *pending);
void vsoc_fw_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_csf.c: the driver's glue for the counters */
int vsoc_csf_init(struct vsoc_device *vsoc);

/* vsoc_engine.c: executes jobs over time */
int vsoc_engine_init(struct vsoc_device *vsoc);
void vsoc_engine_fini(struct vsoc_device *vsoc);
bool vsoc_engine_idle(struct vsoc_device *vsoc);
bool vsoc_engine_busy(struct vsoc_device *vsoc);
void vsoc_engine_pause(struct vsoc_device *vsoc, bool cancel);
bool vsoc_engine_pause_hung(struct vsoc_device *vsoc);
void vsoc_engine_resume(struct vsoc_device *vsoc);
int vsoc_engine_step(struct vsoc_device *vsoc, u64 ns);
int vsoc_engine_set_stepped(struct vsoc_device *vsoc, bool on);

/* vsoc_step.c: stepped time, in debugfs */
void vsoc_step_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_job.c: files, contexts, jobs and their ioctls */
int vsoc_open(struct drm_device *drm, struct drm_file *file);
void vsoc_postclose(struct drm_device *drm, struct drm_file *file);
struct drm_perfctr_file *vsoc_perfctr_file(struct drm_file *file);
int vsoc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* vsoc_store.c: buffers for MP counters */
int vsoc_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* vsoc_power.c: runtime and system power, reset, frequencies */
extern const struct dev_pm_ops vsoc_pm_ops;
void vsoc_power_init(struct vsoc_device *vsoc);
void vsoc_power_fini(struct vsoc_device *vsoc);
int vsoc_power_get(struct vsoc_device *vsoc);
void vsoc_power_put(struct vsoc_device *vsoc);
int vsoc_reset(struct vsoc_device *vsoc);
void vsoc_reset_soon(struct vsoc_device *vsoc);
void vsoc_reset_work(struct work_struct *work);
void vsoc_watchdog_work(struct work_struct *work);
void vsoc_power_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_truth.c: what really happened, in debugfs */
void vsoc_truth_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_profile.c: which counter logic the shader cores have */
int vsoc_profile_by_name(const char *name);
void vsoc_profile_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

#endif /* _VSOC_H_ */
