/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counter core: what a DRM driver calls to offer performance counters.
 */
#ifndef _DRM_PERFCTR_H_
#define _DRM_PERFCTR_H_

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <drm/perfctr_drm.h>

struct dentry;
struct drm_device;
struct drm_file;
struct drm_perfctr;
struct drm_perfctr_block;
struct drm_perfctr_session;
struct drm_perfctr_source;
struct drm_printer;
struct perfctr_source_state;
struct seq_file;

/**
 * struct drm_perfctr_block_desc - one block of counters that a source serves
 */
struct drm_perfctr_block_desc {
	/** @type: enum drm_perfctr_block_type. */
	u16 type;
	/** @index: physical index, unique for the type on this device. */
	u16 index;
	/** @counters: counter positions, 1..256. */
	u16 counters;
	/** @product: enum drm_perfctr_product. */
	u16 product;
	/** @sets: bit n: the block counts in set n. */
	u32 sets;
	/** @clock: enum drm_perfctr_clock or DRM_PERFCTR_CLOCK_NONE. */
	u8 clock;
	/** @available: positions that count in the primary set, one mask for each 64. */
	u64 available[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	/** @set_available: the same for the secondary and the tertiary set. */
	u64 set_available[2][DRM_PERFCTR_BLOCK_INFO_SECTIONS];
};

/**
 * struct drm_perfctr_collection - what a source tells about one collection
 *
 * Zeroed by the core before the call, but for @until_ns.
 */
struct drm_perfctr_collection {
	/**
	 * @until_ns: CLOCK_MONOTONIC_RAW at which a sample is due. A source that has
	 * a batch, see &drm_perfctr_source.batch_ns, gives of it what it has up to the
	 * first boundary at or after that, at least one piece, and sets @more if
	 * that is not all. The others do not look.
	 */
	u64 until_ns;
	/**
	 * @time_ns: CLOCK_MONOTONIC_RAW up to which the counts are in; 0: the core
	 * takes the time after the call.
	 */
	u64 time_ns;
	/**
	 * @lost_ns: time since the last collection whose counts are lost, at most
	 * the time since then.
	 */
	u64 lost_ns;
	/** @clock_cycles: cycles of each clock domain since the last collection. */
	u64 clock_cycles[DRM_PERFCTR_MAX_CLOCKS];
	/** @flags: DRM_PERFCTR_SAMPLE_OVERFLOW, _ERROR, _RESET, _SUSPENDED. */
	u32 flags;
	/**
	 * @transition: power or protected mode changed since the last collection:
	 * sessions with DRM_PERFCTR_SETUP_AUTOMATIC get a sample. Not for a buffer
	 * that fills up or overflows.
	 */
	bool transition;
	/**
	 * @incomplete: counts from after @time_ns are still in the hardware, which did
	 * not give them in time. They come with the next collection or, if there is
	 * none before @stop, the core tells that they are lost.
	 */
	bool incomplete;
	/**
	 * @more: the source has more of its batch, from after @time_ns. It is called
	 * again at once. Only where &drm_perfctr_source.batch_ns is not 0.
	 */
	bool more;
};

/**
 * struct drm_perfctr_source_ops - the hardware side of the core
 *
 * All are called with the core's sampler lock held, never concurrently, and may
 * sleep for a bounded time. None may call back into the core except for the
 * drm_perfctr_block_*() functions.
 *
 * The sampler lock is taken where dma-fences are signalled (jobs, reset). So none
 * may allocate memory with GFP_KERNEL, wait for a fence, take a dma_resv lock or
 * mmap_lock, or take a lock that anybody holds while doing so; GFP_NOWAIT is fine.
 * lockdep complains about the first that does.
 */
struct drm_perfctr_source_ops {
	/**
	 * @start: begin counting everything that the source's blocks have in
	 * counter set @set. Called when the first session becomes active and
	 * after resume and reset. Returns 0, or -ETIMEDOUT / -EIO with nothing
	 * counting; START returns the same.
	 */
	int (*start)(struct drm_perfctr_source *source, u8 set);
	/** @stop: stop counting; must not fail. Counts since the last @collect are dropped. */
	void (*stop)(struct drm_perfctr_source *source);
	/**
	 * @collect: add to the totals what was counted since the last collection
	 * (or since @start), see drm_perfctr_block_totals(), and report states
	 * and valid counters of each block, see drm_perfctr_block_report().
	 * Returns 0, or -ETIMEDOUT / -EIO where nothing could be read: the
	 * core then marks all blocks of the source as not measured and the
	 * sample with DRM_PERFCTR_SAMPLE_ERROR. Counts that are still in the
	 * hardware come with the next collection.
	 */
	int (*collect)(struct drm_perfctr_source *source,
		       struct drm_perfctr_collection *c);
	/**
	 * @reset: the hardware is about to be reset and forgets its state; @stop
	 * is not called for it. Optional.
	 */
	void (*reset)(struct drm_perfctr_source *source);
	/**
	 * @select: hardware that cannot count everything at once is told what is
	 * wanted: DRM_PERFCTR_BLOCK_INFO_SECTIONS masks for each block, of all
	 * active sessions together. Called before @start, and between @collect and
	 * the next one whenever it changes; a collection comes right before if the
	 * source counts. May change &drm_perfctr_source.max_interval_ns and
	 * &drm_perfctr_source.batch_ns. Optional.
	 */
	void (*select)(struct drm_perfctr_source *source, const u64 *wanted);
};

/**
 * struct drm_perfctr_source - one kind of counter hardware of a device
 *
 * Embedded in the driver's own structure. Fields above the line are set by the
 * driver before drm_perfctr_add_source() and constant afterwards.
 */
struct drm_perfctr_source {
	/** @name: for debug messages. */
	const char *name;
	/** @ops: the hardware. */
	const struct drm_perfctr_source_ops *ops;
	/** @descs: the blocks; the core copies them. */
	const struct drm_perfctr_block_desc *descs;
	/** @block_count: elements of @descs. */
	unsigned int block_count;
	/**
	 * @max_interval_ns: longest time between two collections in which no
	 * hardware counter can wrap; the core collects at least that often while
	 * counting. 0: no limit. Changes in @ops->select only.
	 */
	u64 max_interval_ns;
	/**
	 * @batch_ns: not 0: the hardware notes its counts at short intervals by itself,
	 * and is to be collected so often at least. Each collection is a batch, given
	 * in pieces: periodic samples of sessions with nothing else in them are made of
	 * these, by their times, and need no timer. Changes in @ops->select only.
	 */
	u64 batch_ns;
	/**
	 * @period_ns: for @ops->select: shortest period of the sessions whose samples
	 * could be made from batches; 0: there is none.
	 */
	u64 period_ns;

	/* private: the core's */
	struct drm_perfctr *pc;
	struct drm_perfctr_block *blocks;
	struct perfctr_source_state *state;
	unsigned int id;
};

/**
 * struct drm_perfctr_clock_desc - one clock domain of a device
 */
struct drm_perfctr_clock_desc {
	/** @clock: enum drm_perfctr_clock. */
	u8 clock;
	/** @name: at most 15 characters. */
	const char *name;
	/** @max_frequency_hz: 0 if unknown. */
	u64 max_frequency_hz;
};

/**
 * struct drm_perfctr_driver_ops - what the core needs from the driver; each optional
 */
struct drm_perfctr_driver_ops {
	/**
	 * @frequency_hz: current frequency of a clock domain. Any context that may sleep,
	 * between drm_dev_enter() and drm_dev_exit(), so not after drm_dev_unplug().
	 */
	u64 (*frequency_hz)(struct drm_device *drm, u8 clock);
	/**
	 * @wake: power the device up and keep it (pm_runtime_resume_and_get()) for
	 * a session with DRM_PERFCTR_SETUP_KEEP_AWAKE. Called without locks, between
	 * drm_dev_enter() and drm_dev_exit(), so not after drm_dev_unplug().
	 */
	int (*wake)(struct drm_device *drm);
	/**
	 * @relax: undo each successful @wake (pm_runtime_put_autosuspend()). Called without
	 * locks, and also after drm_dev_unplug(), when a session that was active ends with
	 * its file: the parent device's usage count must not stay, it may be bound again. So it
	 * may use @drm and its parent, but neither hardware nor what devres has freed.
	 */
	void (*relax)(struct drm_device *drm);
};

/**
 * struct drm_perfctr_config - description of a device; only used during the call
 */
struct drm_perfctr_config {
	/** @name: product name for user space, at most 31 characters. */
	const char *name;
	/** @gpu_id: the driver's identification of the hardware, 0 if none. */
	u64 gpu_id;
	/** @product: enum drm_perfctr_product of the GPU blocks. */
	u16 product;
	/** @sets: bit n: counter set n exists; bit 0 is implied. */
	u32 sets;
	/** @features: DRM_PERFCTR_FEATURE_STATES, _AUTOMATIC, _IN_STREAM, _BO_CREATE. */
	u32 features;
	/** @clocks: clock domains; must outlive the device. */
	const struct drm_perfctr_clock_desc *clocks;
	/** @clock_count: elements of @clocks. */
	unsigned int clock_count;
	/** @ops: optional; must outlive the device. */
	const struct drm_perfctr_driver_ops *ops;
};

/**
 * struct drm_perfctr_file - sessions of one open file; embedded in the driver's file
 */
struct drm_perfctr_file {
	/* private: */
	struct drm_perfctr *pc;
	struct xarray sessions;
	u32 next_handle;
	atomic_t session_count;
};

/* set-up: before drm_dev_register(); freed with the drm_device */
struct drm_perfctr *drmm_perfctr_create(struct drm_device *drm,
					const struct drm_perfctr_config *config);
int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source);
/* before the source's hardware goes away, in the driver's remove, before drm_dev_unplug() */
void drm_perfctr_unplug(struct drm_perfctr *pc);

/* open and close of a file */
int drm_perfctr_file_open(struct drm_perfctr *pc, struct drm_perfctr_file *pf);
void drm_perfctr_file_close(struct drm_perfctr_file *pf);
/* for the driver's show_fdinfo */
void drm_perfctr_show_fdinfo(struct drm_printer *p, struct drm_perfctr_file *pf);

/* the ioctls: call from the driver's ioctl with its own struct drm_perfctr_file */
int drm_perfctr_query_ioctl(struct drm_perfctr *pc, void *data);
int drm_perfctr_control_ioctl(struct drm_perfctr_file *pf, void *data, struct drm_file *file);
int drm_perfctr_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/*
 * power and reset; sleepable, outside of source ops. They allocate nothing and wait
 * for nothing but bounded hardware access: may be called where fences are signalled,
 * between dma_fence_begin_signalling() and dma_fence_end_signalling()
 */
void drm_perfctr_suspend(struct drm_perfctr *pc);
void drm_perfctr_resume(struct drm_perfctr *pc);
void drm_perfctr_pre_reset(struct drm_perfctr *pc);
void drm_perfctr_post_reset(struct drm_perfctr *pc);

/* from a source: any context */
void drm_perfctr_source_event(struct drm_perfctr_source *source);

/* from a source's collect */
u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block);
void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block,
			      u32 states, const u64 *valid);
void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted);
void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block,
			       u64 time_ns);

/* for debugfs of the driver */
void drm_perfctr_debugfs_init(struct drm_perfctr *pc, struct dentry *dir);
void drm_perfctr_show(struct drm_perfctr *pc, struct seq_file *m);

/*
 * sampling in the command stream; drm_perfctr_session_sample() may be called where
 * fences are signalled, the others may not
 */
struct drm_perfctr_session *drm_perfctr_session_get(struct drm_perfctr_file *pf, u32 handle);
void drm_perfctr_session_put(struct drm_perfctr_session *session);
int drm_perfctr_session_pace(struct drm_perfctr_session *session);
int drm_perfctr_session_sample(struct drm_perfctr_session *session, u64 user_data);

#endif /* _DRM_PERFCTR_H_ */
