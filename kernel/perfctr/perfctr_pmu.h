/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kinds of perf PMUs that have a block type of their own.
 */
#ifndef _PERFCTR_PMU_H_
#define _PERFCTR_PMU_H_

#include <linux/types.h>

/**
 * struct perfctr_pmu_kind - a block type that is counted by a perf PMU
 */
struct perfctr_pmu_kind {
	/** @type: enum drm_perfctr_block_type. */
	u16 type;
	/** @product: enum drm_perfctr_product. */
	u16 product;
	/** @prefix: the PMU's name up to the socket's number; NULL: any PMU. */
	const char *prefix;
	/** @per_rc: the name ends in _<socket>_rc_<rc>, else in _<socket>. */
	bool per_rc;
	/** @config_mask: bits of config that select the event; others are filters. */
	u64 config_mask;
	/** @filter: filters in config, config1 and config2: all other bits are refused. */
	u64 filter[3];
	/** @filter_enable: bit of config without which config1 and config2 mean nothing. */
	u64 filter_enable;
	/** @events: config of each event of the catalogue; NULL: the user's config. */
	const u64 *events;
	/** @event_count: elements of @events, or 1. */
	unsigned int event_count;
};

const struct perfctr_pmu_kind *perfctr_pmu_kind(u16 type);
u64 perfctr_pmu_kind_refuses(const struct perfctr_pmu_kind *kind, unsigned int field,
			     u64 config, u64 value);
bool perfctr_pmu_kind_matches(const struct perfctr_pmu_kind *kind, const char *pmu_name,
			      u16 index);

#endif /* _PERFCTR_PMU_H_ */
