/* SPDX-License-Identifier: MIT */
/* Internals of totals. */
#pragma once

#include "private.h"

/* one counter: the totals, and the pending values of the current sample */
struct totals_counter {
	struct perfctr_total total;
	struct {
		uint64_t value, running_ns;
		bool measured, missed, overflow;
	} pending;
};

struct perfctr_totals_block {
	struct perfctr_totals_block_info info;
	char label[PATH_BYTES / 8];
	char pmu[DRM_PERFCTR_PMU_NAME_BYTES];
	uint32_t pmu_type;
	uint64_t mask; /* counters seen so far; bit n belongs to counters[n] */
	/* counters of the current sample, and the number of its blocks */
	uint64_t pending_mask;
	uint16_t pending_blocks;
	uint64_t pending_ns; /* its longest span */
	struct totals_counter counters[DRM_PERFCTR_SECTION_COUNTERS];
};

struct perfctr_totals {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	bool by_type; /* added up over the blocks of a type: index is DRM_PERFCTR_INDEX_ALL */
	/* describes counters that the database does not have; may be NULL */
	struct perfctr_selection *selection;
	struct perfctr_totals_block **blocks;
	size_t block_count;
	struct perfctr_span span;
	bool has_seq;
	uint64_t next_seq;
	struct perfctr_totals *sums; /* the same samples added up by type; NULL if by_type */
};
