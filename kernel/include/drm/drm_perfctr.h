/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The counter core: the interface for DRM drivers that offer performance counters.
 */
#ifndef _DRM_PERFCTR_H_
#define _DRM_PERFCTR_H_

#include <linux/atomic.h>
#include <linux/types.h>
#include <drm/perfctr_drm.h>

struct dentry;
struct drm_device;
struct drm_file;
struct drm_perfctr;
struct drm_perfctr_block;
struct drm_perfctr_control_config;
struct drm_perfctr_extension;
struct drm_perfctr_source;
struct drm_printer;
struct module;
struct perfctr_source_state;
struct seq_file;

/**
 * struct drm_perfctr_block_desc - one block of counters of a source
 */
struct drm_perfctr_block_desc {
	/** @type: block type, see "Block types" in perfctr_drm.h. */
	u16 type;
	/** @index: physical index, unique for the type on this device. */
	u16 index;
	/** @counters: counter positions, 1..256. */
	u16 counters;
	/** @product: see "Products" in perfctr_drm.h. */
	u16 product;
	/** @sets: bit n: the block counts in set n. */
	u32 sets;
	/** @clock: clock domain or DRM_PERFCTR_CLOCK_NONE. */
	u8 clock;
	/** @format: DRM_PERFCTR_FORMAT_RUNNING_TIMES if the source multiplexes, else 0. */
	u8 format;
	/** @available: counters in the primary set, one mask for each 64. */
	u64 available[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	/** @set_available: as @available, for the secondary and the tertiary set. */
	u64 set_available[2][DRM_PERFCTR_BLOCK_INFO_SECTIONS];
};

/**
 * struct drm_perfctr_collection - report of a source about one collection
 *
 * Zeroed by the core before the call.
 */
struct drm_perfctr_collection {
	/**
	 * @time_ns: CLOCK_MONOTONIC_RAW up to which counts are included; 0: the core uses the time
	 * after the call.
	 */
	u64 time_ns;
	/**
	 * @gpu_timestamp: raw value of the device's timestamp counter at @time_ns, valid if
	 * @has_gpu_timestamp.
	 */
	u64 gpu_timestamp;
	/** @has_gpu_timestamp: @gpu_timestamp was read, or recorded with the counts. */
	bool has_gpu_timestamp;
	/** @lost_ns: time since the last collection whose counts are lost, at most all of it. */
	u64 lost_ns;
	/** @clock_cycles: cycles of each clock domain since the last collection. */
	u64 clock_cycles[DRM_PERFCTR_MAX_CLOCKS];
	/** @flags: DRM_PERFCTR_SAMPLE_OVERFLOW, _ERROR, _RESET, _SUSPENDED. */
	u32 flags;
	/**
	 * @transition: power or protected mode changed since the last collection: sessions with
	 * DRM_PERFCTR_OPEN_AUTOMATIC get a sample. Not for buffers that are filling up or
	 * overflowing.
	 */
	bool transition;
	/**
	 * @incomplete: the hardware did not return counts from after @time_ns in time. The next
	 * collection includes them; if there is none before @stop, the core reports them as lost.
	 */
	bool incomplete;
};

/**
 * struct drm_perfctr_source_ops - hardware access of a source
 *
 * All except @prepare and @unprepare are called with the core's sampler lock held, never
 * concurrently, and may sleep for a bounded time. None may call back into the core except for the
 * drm_perfctr_block_*() functions.
 *
 * The sampler lock is taken in fence-signalling sections (jobs, reset). Ops called under it must
 * not allocate memory with GFP_KERNEL, wait for a fence, take a dma_resv lock or mmap_lock, or take
 * a lock under which other code does any of this; GFP_NOWAIT is fine. lockdep reports violations.
 */
struct drm_perfctr_source_ops {
	/**
	 * @prepare: allocate and map what counting needs. Called by OPEN of the first session that
	 * uses the source, under a mutex that neither reset nor the sampler takes: may sleep,
	 * allocate and resume the device. Returns 0, or the error of OPEN; -EBUSY if the hardware
	 * is in use by other means. Optional.
	 */
	int (*prepare)(struct drm_perfctr_source *source);
	/**
	 * @unprepare: undo @prepare. Called from a work item some time after the last session that
	 * uses the source has ended, or by drm_perfctr_unplug(); the source is stopped. Must not
	 * wait for a reset, because a failing reset calls drm_perfctr_unplug(), which waits for
	 * this. Optional.
	 */
	void (*unprepare)(struct drm_perfctr_source *source);
	/**
	 * @start: start all counters that the source's blocks have in counter set @set. Called when
	 * the first session becomes active and after resume and reset. Returns 0, or -ETIMEDOUT /
	 * -EIO with all counters stopped, which START returns.
	 */
	int (*start)(struct drm_perfctr_source *source, u8 set);
	/** @stop: stop counting; must not fail. Discards counts since the last @collect. */
	void (*stop)(struct drm_perfctr_source *source);
	/**
	 * @collect: add counts since the last collection (or @start) to the totals, see
	 * drm_perfctr_block_totals(), and report states and valid counters of each block, see
	 * drm_perfctr_block_report(). Returns 0, or -ETIMEDOUT / -EIO if nothing could be read: the
	 * core then marks all blocks of the source as not measured and the sample with
	 * DRM_PERFCTR_SAMPLE_ERROR. The next collection includes counts still in the hardware.
	 */
	int (*collect)(struct drm_perfctr_source *source,
		       struct drm_perfctr_collection *c);
	/**
	 * @reset: the hardware is about to be reset and loses its state; @stop is not called in
	 * this case. Optional. See &drm_perfctr_source.collect_at_reset.
	 */
	void (*reset)(struct drm_perfctr_source *source);
};

/**
 * struct drm_perfctr_source - one kind of counter hardware of a device
 *
 * Embedded in the driver's own structure. The driver sets the members before the private ones
 * before drm_perfctr_add_source(); they are constant afterwards unless stated otherwise.
 */
struct drm_perfctr_source {
	/** @name: for debug messages. */
	const char *name;
	/** @ops: hardware access. */
	const struct drm_perfctr_source_ops *ops;
	/** @descs: the blocks; the core copies them. */
	const struct drm_perfctr_block_desc *descs;
	/** @block_count: elements of @descs. */
	unsigned int block_count;
	/**
	 * @max_interval_ns: longest time between two collections in which no hardware counter can
	 * wrap; the core collects at least that often while counting. 0: no limit. Only
	 * &drm_perfctr_extension.select may change it.
	 */
	u64 max_interval_ns;
	/**
	 * @collect_at_reset: the hardware still answers in drm_perfctr_pre_reset(): a last
	 * collection precedes @ops->reset. Otherwise counts since the last one are lost.
	 */
	bool collect_at_reset;

	/* private: the core's; @extension: NULL, or see drm_perfctr_extension.h */
	struct drm_perfctr_extension *extension;
	struct drm_perfctr *pc;
	struct drm_perfctr_block *blocks;
	struct perfctr_source_state *state;
	unsigned int id;
};

/**
 * struct drm_perfctr_clock_desc - one clock domain of a device
 */
struct drm_perfctr_clock_desc {
	/** @clock: number of the domain, below DRM_PERFCTR_MAX_CLOCKS. */
	u8 clock;
	/** @name: at most 15 characters. */
	const char *name;
	/** @max_frequency_hz: 0 if unknown. */
	u64 max_frequency_hz;
};

/**
 * struct drm_perfctr_driver_ops - callbacks of the core into the driver; each optional
 */
struct drm_perfctr_driver_ops {
	/**
	 * @frequency_hz: current frequency of a clock domain as known to the driver, without
	 * waiting for or waking the hardware. Any context that may sleep, between drm_dev_enter()
	 * and drm_dev_exit(), so not after drm_dev_unplug().
	 */
	u64 (*frequency_hz)(struct drm_device *drm, u8 clock);
	/**
	 * @wake: power up the device and keep it powered (pm_runtime_resume_and_get()) for a
	 * session with DRM_PERFCTR_OPEN_KEEP_AWAKE, which requires this op. Called with no lock
	 * but the session's own, between drm_dev_enter() and drm_dev_exit(), so not after
	 * drm_dev_unplug().
	 */
	int (*wake)(struct drm_device *drm);
	/**
	 * @relax: undo each successful @wake (pm_runtime_put_autosuspend()). Locks as for @wake.
	 * Also called after drm_dev_unplug(), when a session that was active is closed,
	 * so that the parent device, which may be bound again, keeps no usage count. It may use
	 * @drm and its parent, but neither hardware nor what devres has freed.
	 */
	void (*relax)(struct drm_device *drm);
};

/**
 * struct drm_perfctr_config - description of a device; used only during the call
 */
struct drm_perfctr_config {
	/** @name: product name for userspace, at most 31 characters. */
	const char *name;
	/** @gpu_id: the driver's identification of the hardware, 0 if none. */
	u64 gpu_id;
	/** @product: of the device's blocks, see "Products" in perfctr_drm.h. */
	u16 product;
	/** @sets: bit n: counter set n exists; bit 0 is implied. */
	u32 sets;
	/**
	 * @features: DRM_PERFCTR_FEATURE_STATES, _AUTOMATIC, _IN_STREAM. The core adds
	 * _PERIODIC, _PMU, _KEEP_AWAKE and _GPU_TIMESTAMP where they apply.
	 */
	u32 features;
	/** @clocks: clock domains; must outlive the device. */
	const struct drm_perfctr_clock_desc *clocks;
	/** @clock_count: elements of @clocks. */
	unsigned int clock_count;
	/** @timestamp_hz: frequency of the timestamp in sources' collections; 0: none. */
	u64 timestamp_hz;
	/** @timestamp_bits: bits after which it wraps, 1..64; 0 if there is none. */
	unsigned int timestamp_bits;
	/** @ops: optional; must outlive the device. */
	const struct drm_perfctr_driver_ops *ops;
#ifndef PERFCTR_IN_TREE
	/**
	 * @ioctl_nr: that of DRM_PERFCTR_IOCTLS(), as user space calls it; drmm_perfctr_create()
	 * returns -EINVAL if it is not in the range of drivers.
	 */
	unsigned int ioctl_nr;
#endif
	/** @control: for PERF_CONTROL, NULL: not offered; must outlive the device. */
	const struct drm_perfctr_control_config *control;
};

/*
 * set-up, before drm_dev_register(); freed with the drm_device. A session holds the caller's
 * module, because a driver's file_operations may lack their owner.
 */
#define drmm_perfctr_create(drm, config) __drmm_perfctr_create(drm, config, THIS_MODULE)
struct drm_perfctr *__drmm_perfctr_create(struct drm_device *drm,
					  const struct drm_perfctr_config *config,
					  struct module *owner);
int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source);
/* in the driver's remove, before drm_dev_unplug() and before the hardware is removed */
void drm_perfctr_unplug(struct drm_perfctr *pc);

/* the driver's show_fdinfo */
void drm_perfctr_show_fdinfo(struct drm_printer *p, struct drm_perfctr *pc);

/* the ioctls of the device */
int drm_perfctr_query_ioctl(struct drm_perfctr *pc, void *data);
int drm_perfctr_open_ioctl(struct drm_perfctr *pc, void *data);

#ifndef PERFCTR_IN_TREE
/**
 * DRM_PERFCTR_IOCTL_HANDLERS() - define a driver's handlers of the ioctls
 * @pc_of: expression of type struct drm_perfctr * for the struct drm_device *drm
 *
 * For a driver outside of the kernel's tree; in it DRM itself dispatches the ioctls. Use it once,
 * in the file with the driver's ioctl table, which lists DRM_PERFCTR_IOCTLS().
 */
#define DRM_PERFCTR_IOCTL_HANDLERS(pc_of)							\
static int drm_perfctr_query_handler(struct drm_device *drm, void *data, struct drm_file *file)	\
{												\
	return drm_perfctr_query_ioctl((pc_of), data);						\
}												\
static int drm_perfctr_open_handler(struct drm_device *drm, void *data, struct drm_file *file)	\
{												\
	return drm_perfctr_open_ioctl((pc_of), data);						\
}

/**
 * DRM_PERFCTR_IOCTL_NR - number of QUERY for drivers outside of the kernel's tree
 *
 * It and the next one are used by no driver of the kernel, and not by Arm's PERF_CONTROL (0x9e).
 * A driver for which they are taken chooses others from DRM_COMMAND_BASE to DRM_COMMAND_END.
 */
#define DRM_PERFCTR_IOCTL_NR	0x9a

/* entries of the driver's table of struct drm_ioctl_desc; @nr: as in struct drm_perfctr_config */
#define DRM_PERFCTR_IOCTLS(nr)									\
	[(nr) - DRM_COMMAND_BASE] = {								\
		.cmd = DRM_PERFCTR_IOCTL_QUERY(nr),						\
		.func = drm_perfctr_query_handler,						\
		.flags = DRM_RENDER_ALLOW,							\
		.name = "PERFCTR_QUERY",							\
	},											\
	[(nr) + 1 - DRM_COMMAND_BASE] = {							\
		.cmd = DRM_PERFCTR_IOCTL_OPEN(nr),						\
		.func = drm_perfctr_open_handler,						\
		.flags = DRM_RENDER_ALLOW,							\
		.name = "PERFCTR_OPEN",								\
	}
#endif

/*
 * power and reset; may sleep; must not be called from source ops. They do not allocate memory and
 * wait only for bounded hardware access, so they may be called in fence-signalling sections,
 * between dma_fence_begin_signalling() and dma_fence_end_signalling()
 */
void drm_perfctr_suspend(struct drm_perfctr *pc);
void drm_perfctr_resume(struct drm_perfctr *pc);
void drm_perfctr_pre_reset(struct drm_perfctr *pc);
void drm_perfctr_post_reset(struct drm_perfctr *pc);

/* from a source: any context */
void drm_perfctr_source_event(struct drm_perfctr_source *source);
void drm_perfctr_source_transition(struct drm_perfctr_source *source);

/* from a source's collect */
u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block);
void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block,
			      u32 states, const u64 *valid);
void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block,
			       u64 time_ns);

/* for debugfs of the driver */
void drm_perfctr_debugfs_init(struct drm_perfctr *pc, struct dentry *dir);

#endif /* _DRM_PERFCTR_H_ */
