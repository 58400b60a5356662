/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What only some drivers have, beside drm_perfctr.h: sources that select what they count, take
 * turns, or record; samples in the command stream of jobs; kinds of perf PMUs.
 */
#ifndef _DRM_PERFCTR_EXTENSION_H_
#define _DRM_PERFCTR_EXTENSION_H_

#include <drm/drm_perfctr.h>

struct drm_perfctr_session;
struct perfctr_extension_ops;

/**
 * struct drm_perfctr_extension - of a source that cannot count everything at once, or records
 *
 * Embedded in the driver's own structure, beside the source.
 */
struct drm_perfctr_extension {
	/**
	 * @select: @wanted is the union of the counters of all active sessions,
	 * DRM_PERFCTR_BLOCK_INFO_SECTIONS masks for each block. Called before @ops->start of the
	 * source, and between two collections whenever it changes: counts since the last one are
	 * added to the totals now or by the next one, which has their times. May change
	 * &drm_perfctr_source.max_interval_ns and @batch_ns. As ops of the source.
	 */
	void (*select)(struct drm_perfctr_source *source, const u64 *wanted);
	/**
	 * @batch_ns: not 0: the hardware records its counts at short intervals and must be
	 * collected at least that often. Each collection is a batch, returned in pieces. They
	 * provide the periodic samples of sessions without other sources, which then need no timer.
	 * Only @select may change it.
	 */
	u64 batch_ns;
	/**
	 * @period_ns: for @select: shortest period of the sessions whose samples could be made from
	 * batches; 0: none.
	 */
	u64 period_ns;
	/**
	 * @until_ns: for @ops->collect of a source with batches: CLOCK_MONOTONIC_RAW at which a
	 * sample is due. It returns its batch up to the first boundary at or after that time, but
	 * at least one piece.
	 */
	u64 until_ns;
	/**
	 * @more: set by @ops->collect: there is more of the batch, from after the time of the
	 * piece; it is called again at once. False before each call.
	 */
	bool more;

	/* private: the core's */
	const struct perfctr_extension_ops *ops;
	u64 *wanted;
	u64 interval_ns;
	u64 backoff_until_ns;
};

#ifndef PERFCTR_IN_TREE
int drm_perfctr_extend_source(struct drm_perfctr_source *source,
			      struct drm_perfctr_extension *extension);

/* from the collect of a source whose blocks have DRM_PERFCTR_FORMAT_RUNNING_TIMES */
void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted);

/*
 * sampling in the command stream; only drm_perfctr_session_sample() may be called in
 * fence-signalling sections
 */
struct drm_perfctr_session *drm_perfctr_session_get(struct drm_perfctr *pc, int fd);
int drm_perfctr_session_sample(struct drm_perfctr_session *session, u64 user_data);
#endif
void drm_perfctr_session_put(struct drm_perfctr_session *session);

/**
 * struct drm_perfctr_pmu_kind - a block type counted by a kind of perf PMU
 *
 * The bits of a block's mask select @events. The core checks the PMU's name to verify that it is of
 * that kind.
 */
struct drm_perfctr_pmu_kind {
	/** @type: block type, see "Block types" in perfctr_drm.h. */
	u16 type;
	/** @product: see "Products" in perfctr_drm.h. */
	u16 product;
	/** @prefix: the PMU's name up to the number of its socket. */
	const char *prefix;
	/** @infix: follows in the name, before the low byte of the index; or NULL. */
	const char *infix;
	/** @config_mask: bits of config that select the event; others are filters. */
	u64 config_mask;
	/** @filter: filter bits in config, config1 and config2; all other bits are rejected. */
	u64 filter[3];
	/** @filter_enable: bit of config that enables config1 and config2. */
	u64 filter_enable;
	/** @events: config of each event of the catalogue. */
	const u64 *events;
	/** @event_count: elements of @events, 1..64. */
	unsigned int event_count;
};

/**
 * struct drm_perfctr_pmu_kinds - the kinds that a module has
 */
struct drm_perfctr_pmu_kinds {
	/** @kinds: their block types must not be registered yet. */
	const struct drm_perfctr_pmu_kind *kinds;
	/** @count: elements of @kinds. */
	unsigned int count;
	/** @owner: the module, pinned while a session uses one of them. */
	struct module *owner;

	/* private: */
	struct drm_perfctr_pmu_kinds *next;
};

/* CONFIG_DRM_PERFCTR_PMU */
void drm_perfctr_register_pmu_kinds(struct drm_perfctr_pmu_kinds *table);
void drm_perfctr_unregister_pmu_kinds(struct drm_perfctr_pmu_kinds *table);

#endif /* _DRM_PERFCTR_EXTENSION_H_ */
