/* SPDX-License-Identifier: MIT */
/* Internals of totals. */
#pragma once

#include "base/device.h"

/* one counter: the totals, and the pending values of the current sample */
struct totals_counter {
	struct perfctr_total total;
	struct {
		uint64_t value, running_ns;
		bool measured, missed, overflow;
	} pending;
};

/* what the current sample adds to a block */
struct totals_pending {
	bool is_touched, is_of_other_cpu;
	uint16_t blocks;
	uint32_t states;
	uint64_t seen, mask; /* counters that it has, and those with a pending value */
	uint64_t start_ns, end_ns, elapsed_ns, apart_ns; /* @elapsed_ns: of the longest span */
	uint64_t clock_cycles, time_enabled, time_running;
};

struct perfctr_totals_block {
	struct perfctr_totals_block_info info;
	char label[PATH_BYTES / 8];
	char pmu[DRM_PERFCTR_PMU_NAME_BYTES];
	uint32_t pmu_type;
	unsigned int room; /* of @counters: 1 of an event of a PMU, else all of a section */
	uint64_t mask; /* counters seen so far; bit n belongs to counters[n] */
	struct totals_pending pending;
	struct perfctr_totals_block *sum; /* of its type, in @sums of the totals; NULL: not known */
	struct perfctr_totals_block *next; /* added later, its type and index have the same chain */
	struct totals_counter counters[];
};

/* formulas of metrics that were computed, so that each is parsed once */
struct totals_formulas {
	struct totals_formula {
		char *text;
		struct perfctr_expr *expr;
	} * formulas;
	size_t count;
};

struct perfctr_totals {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	bool by_type; /* added up over the blocks of a type: index is DRM_PERFCTR_INDEX_ALL */
	/* describes counters that the database does not have; may be NULL */
	struct perfctr_selection *selection;
	struct perfctr_totals_block **blocks;
	size_t block_count;
	/* the first block of each chain: those of a type and index, in the order of @blocks */
	struct perfctr_totals_block **chains;
	size_t chain_count; /* 0 or a power of two, at least the blocks */
	struct perfctr_span span;
	bool has_seq;
	uint64_t next_seq;
	struct totals_formulas *formulas;
	struct perfctr_totals *sums; /* the same samples added up by type; NULL if by_type */
};

/* The chain of blocks of a type and an index, among others; NULL: there are none. */
struct perfctr_totals_block *totals_chain(const struct perfctr_totals *totals, uint16_t type,
					  uint16_t index);
