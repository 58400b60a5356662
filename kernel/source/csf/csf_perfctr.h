/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mali CSF firmware counters: the interface for DRM drivers.
 *
 * The driver describes its firmware interface and block geometry once, and calls
 * csf_perfctr_irq() on each global interrupt. The counter core (drm/drm_perfctr.h) does the rest;
 * power and reset use drm_perfctr_suspend(), _resume(), _pre_reset(), _post_reset() and _unplug().
 */
#ifndef _CSF_PERFCTR_H_
#define _CSF_PERFCTR_H_

#include <linux/spinlock_types.h>
#include <linux/types.h>

struct csf_glb_input;
struct csf_glb_output;
struct csf_perfctr;
struct drm_device;
struct drm_perfctr;

/** CSF_PERFCTR_MAX_SLOTS - largest power of two that fits PRFCNT_CONFIG.SIZE. */
#define CSF_PERFCTR_MAX_SLOTS		128
/** CSF_PERFCTR_DEFAULT_SLOTS - recommended number of slots for csf_perfctr_config. */
#define CSF_PERFCTR_DEFAULT_SLOTS	32
/** CSF_PERFCTR_MAX_L2_SLICES - largest l2_slices. */
#define CSF_PERFCTR_MAX_L2_SLICES	64
/** CSF_PERFCTR_MAX_CSG_BLOCKS - largest csg_blocks. */
#define CSF_PERFCTR_MAX_CSG_BLOCKS	31
/** CSF_PERFCTR_SECTIONS - availability masks of a block, 64 counters each. */
#define CSF_PERFCTR_SECTIONS		2

/**
 * enum csf_perfctr_type - block types in the order in which firmware writes them
 */
enum csf_perfctr_type {
	/** @CSF_PERFCTR_FW: one block. */
	CSF_PERFCTR_FW,
	/** @CSF_PERFCTR_CSG: one block for each group slot, or none. */
	CSF_PERFCTR_CSG,
	/** @CSF_PERFCTR_CSHW: one block. */
	CSF_PERFCTR_CSHW,
	/** @CSF_PERFCTR_TILER: one block. */
	CSF_PERFCTR_TILER,
	/** @CSF_PERFCTR_MEMSYS: one block for each L2 slice. */
	CSF_PERFCTR_MEMSYS,
	/** @CSF_PERFCTR_SHADER: see @shader_present of struct csf_perfctr_config. */
	CSF_PERFCTR_SHADER,
	/** @CSF_PERFCTR_TYPES: number of types. */
	CSF_PERFCTR_TYPES,
};

/**
 * struct csf_perfctr_anchor - a simultaneous reading of both clocks
 */
struct csf_perfctr_anchor {
	/** @gpu_ticks: GPU timestamp. */
	u64 gpu_ticks;
	/** @raw_ns: CLOCK_MONOTONIC_RAW, ktime_get_raw_ns(). */
	u64 raw_ns;
	/**
	 * @error_ns: maximum time between the two readings, e.g. half the time between two
	 * ktime_get_raw_ns() around the register read.
	 */
	u32 error_ns;
};

/**
 * struct csf_perfctr_driver_ops - callbacks of the counters into the driver
 */
struct csf_perfctr_driver_ops {
	/**
	 * @prepare: allocate the sample ring, at least @bytes long, and map it for the
	 * GPU; set @ring and @ring_va as in struct csf_perfctr_config.
	 * Called by OPEN under a mutex that neither reset nor the sampler takes:
	 * may sleep, allocate and resume the device. Returns 0, or the error of
	 * OPEN. Optional: without it the ring is in struct csf_perfctr_config.
	 */
	int (*prepare)(void *priv, size_t bytes, void **ring, u64 *ring_va);
	/**
	 * @unprepare: undo @prepare after firmware has acknowledged that it stopped: some time
	 * after the last session ended, or in drm_perfctr_unplug(). If it did not acknowledge,
	 * called when the device is released and no firmware runs. It must not wait for a reset,
	 * because a failing reset waits for it. Required with @prepare.
	 */
	void (*unprepare)(void *priv);
	/**
	 * @ring_doorbell: ring the global doorbell. Earlier writes to the input page must be
	 * visible to firmware first, which writel() ensures. Called from process context,
	 * without @req_lock.
	 */
	void (*ring_doorbell)(void *priv);
	/**
	 * @read_anchor: read the GPU timestamp together with CLOCK_MONOTONIC_RAW. Called from
	 * process context while counting. Optional: without it, or when it returns an error,
	 * samples carry the time at which they were delivered.
	 */
	int (*read_anchor)(void *priv, struct csf_perfctr_anchor *anchor);
};

/**
 * struct csf_perfctr_type_config - the counters of one block type
 */
struct csf_perfctr_type_config {
	/**
	 * @available: counters that exist in the primary set; bit n of word m is counter 64 m + n.
	 * The source masks out the four header words. All zero: every counter exists.
	 */
	u64 available[CSF_PERFCTR_SECTIONS];
	/** @sets: bit n: the type counts in set n; 0 means the primary set only. */
	u32 sets;
	/**
	 * @set_available: as @available for the secondary and the tertiary set; all zero: none.
	 * Ignored for sets that are not in @sets.
	 */
	u64 set_available[2][CSF_PERFCTR_SECTIONS];
};

/**
 * struct csf_perfctr_config - description of a device
 *
 * Copied by drmm_csf_perfctr_create(). Its pointers must remain valid until
 * drm_perfctr_unplug() has returned and the last csf_perfctr_irq() has ended.
 */
struct csf_perfctr_config {
	/**
	 * @prfcnt_size: this word of struct csf_glb_control, read once: firmware can change it at
	 * any time, and sizes of samples and ring follow from these two copies only.
	 */
	u32 prfcnt_size;
	/** @prfcnt_features: likewise; 0 where firmware has no such word. */
	u32 prfcnt_features;
	/** @input: global input page. */
	struct csf_glb_input *input;
	/** @output: global output page, written by firmware. */
	const struct csf_glb_output *output;
	/**
	 * @req_lock: protects the req and ack_irq_mask words of @input, which the driver uses for
	 * its own requests. Taken with spin_lock_irqsave(): if csf_perfctr_irq() is called from
	 * hard interrupts, the driver must disable interrupts as well.
	 */
	spinlock_t *req_lock;
	/** @ops: calls into the driver. */
	const struct csf_perfctr_driver_ops *ops;
	/** @priv: passed to each of @ops. */
	void *priv;

	/**
	 * @ring: kernel address of the sample ring, csf_perfctr_ring_bytes() long, 8-byte aligned,
	 * zeroed, coherent with firmware (for panthor: uncached). Allocated and mapped for the GPU
	 * by the driver; NULL if @ops->prepare does that.
	 */
	void *ring;
	/** @ring_va: GPU address of @ring. */
	u64 ring_va;
	/** @ring_bytes: size of the memory behind @ring. */
	size_t ring_bytes;
	/** @slots: samples that fit @ring; a power of two, 2..CSF_PERFCTR_MAX_SLOTS. */
	u32 slots;
	/** @jasid: address space in which @ring_va is mapped, 0..7. */
	u32 jasid;

	/** @csg_blocks: CSG blocks, at most CSF_PERFCTR_MAX_CSG_BLOCKS; 0: firmware has none. */
	u32 csg_blocks;
	/** @l2_slices: MEMSYS blocks, 1..CSF_PERFCTR_MAX_L2_SLICES. */
	u32 l2_slices;
	/**
	 * @shader_present: mask of cores in the hardware. A sample has one block for each bit up
	 * to the highest, or, with @shader_dense, for each core.
	 */
	u64 shader_present;
	/**
	 * @shader_visible: mask of cores visible to users, a subset of @shader_present (firmware
	 * tables can disable cores). Block indices are the bit numbers.
	 */
	u64 shader_visible;
	/** @shader_dense: no gaps in the sample; arch 14 and later. */
	bool shader_dense;
	/**
	 * @extended_metadata: the metadata block has enum csf_metadata_word. Without it time gaps,
	 * cycles and power states of cores are unknown.
	 */
	bool extended_metadata;
	/** @counters_per_block: 64 or 128. */
	u32 counters_per_block;
	/** @types: counters of each block type. */
	struct csf_perfctr_type_config types[CSF_PERFCTR_TYPES];
	/** @product: see "Products" in perfctr_drm.h. */
	u16 product;

	/** @timestamp_hz: frequency of the GPU timestamp; 0: unknown. */
	u64 timestamp_hz;
	/**
	 * @max_count_hz: upper bound of the rate of any counter. It determines how often the core
	 * must collect so that no 32-bit counter wraps. 0: unknown, the core collects once per
	 * second.
	 */
	u64 max_count_hz;
};

size_t csf_perfctr_ring_bytes(const struct csf_perfctr_config *config);

int csf_perfctr_check(struct drm_device *drm, const struct csf_perfctr_config *config);
struct csf_perfctr *drmm_csf_perfctr_create(struct drm_device *drm, struct drm_perfctr *pc,
					    const struct csf_perfctr_config *config);
void csf_perfctr_irq(struct csf_perfctr *csf);

#endif /* _CSF_PERFCTR_H_ */
