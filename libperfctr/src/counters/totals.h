/* SPDX-License-Identifier: MIT */
/* Internals of totals. */
#pragma once

#include "base/device.h"

/* counters that have one allocation, which stays where it is */
#define TOTALS_GROUP 8

/* what the current sample adds to a block; masks are of counters, as that of the block */
struct totals_pending {
	bool is_touched, is_of_other_cpu, has_running;
	uint16_t blocks, spans;
	uint32_t states;
	uint64_t seen; /* counters that it has */
	uint64_t measured, missed, overflow; /* a counter of several blocks may be all of these */
	uint64_t start_ns, end_ns, elapsed_ns, apart_ns; /* @elapsed_ns: of all spans */
	uint64_t clock_cycles, time_enabled, time_running;
};

struct perfctr_totals_block {
	struct perfctr_totals_block_info info;
	size_t number; /* among the blocks of the totals */
	char label[PATH_BYTES / 8];
	char pmu[DRM_PERFCTR_PMU_NAME_BYTES];
	uint32_t pmu_type;
	unsigned int room; /* for counters: 1 of an event of a PMU, else all of a section */
	uint64_t mask; /* counters seen so far */
	uint64_t levels, shifted; /* those that are levels, and whose values are shifted */
	struct totals_pending pending;
	struct perfctr_totals_block *sum; /* of its type, in @sums of the totals; NULL: not known */
	struct perfctr_totals_block *next; /* added later, its type and index have the same chain */
	/*
	 * Counter n is in groups[n / TOTALS_GROUP]; NULL: none of these was seen. Behind the
	 * totals of a group are the counts of the current sample, then their times; else 0.
	 */
	struct perfctr_total *groups[DRM_PERFCTR_SECTION_COUNTERS / TOTALS_GROUP];
};

/* a counter that was seen, or is in the current sample */
static inline struct perfctr_total *totals_total(const struct perfctr_totals_block *b,
						 unsigned int n)
{
	return &b->groups[n / TOTALS_GROUP][n % TOTALS_GROUP];
}

/* what a name in a formula stands for, mostly a counter: the sum of its operands */
struct totals_name {
	unsigned int kind;
	size_t end; /* of its operands, which begin where those of the name before end */
};

struct totals_operand {
	const struct perfctr_totals_block *block;
	const struct perfctr_total *counter;
};

/* the names of a formula in a block, found once for the blocks and counters that there are */
struct totals_scope {
	uint64_t shape; /* of the totals at that time; 0: never */
	const struct perfctr_totals_block *block; /* of names without a block prefix; NULL: none */
	const struct perfctr_totals_block *clocked; /* the section of it whose clock is used */
	struct totals_name *names;
	struct totals_operand *operands;
	size_t count;
};

/* formulas of metrics that were computed, so that each is parsed once */
struct totals_formulas {
	struct totals_formula {
		char *text;
		uint16_t type, product; /* of the metric */
		struct perfctr_expr *expr;
		struct totals_scope **scopes; /* by number of the block from 1 on; 0: no block */
		size_t room;
	} * formulas;
	size_t count, last; /* @last: the one that was found last */
};

struct perfctr_totals {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	bool by_type; /* added up over the blocks of a type: index is DRM_PERFCTR_INDEX_ALL */
	/* describes counters that the database does not have; may be NULL */
	struct perfctr_selection *selection;
	struct perfctr_totals_block **blocks;
	size_t block_count;
	uint64_t shape; /* changes with each block and counter that is new; not 0 */
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
