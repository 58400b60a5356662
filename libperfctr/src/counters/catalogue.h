/* SPDX-License-Identifier: MIT */
/* Counters and metrics that a capture file describes. */
#pragma once

#include <perfctr/capture.h>

#include "base/device.h"

struct catalogue;

/* identifies a counter */
struct counter_key {
	unsigned int type, index, product, set, position;
	const char *pmu;
	uint64_t config, config1, config2;
};

int catalogue_new(struct perfctr_ctx *ctx, struct catalogue **catalogue);
struct catalogue *catalogue_ref(struct catalogue *catalogue);
struct catalogue *catalogue_unref(struct catalogue *catalogue);

/*
 * Add a counter or a metric from its record. A malformed one is skipped; *metric is NULL then.
 * Return: 0 or -ENOMEM.
 */
int catalogue_take_counter(struct catalogue *catalogue,
			   const struct perfctr_capture_record *record);
int catalogue_take_metric(struct catalogue *catalogue, const struct perfctr_capture_record *record,
			  const struct perfctr_metric_desc **metric);

/*
 * The counter with that key or NULL. The file says what its numbers mean; the database, which is
 * maintained, describes a counter of the same name, unit, kind and shift, and fills gaps.
 */
const struct perfctr_counter_desc *catalogue_counter(const struct catalogue *catalogue,
						     const struct counter_key *key);

/* --- The counter database, inside the library --- */

/* A block type by its name, 0: none. */
unsigned int block_type_of(const char *name);
/* "fw, cshw, ...", without perf PMUs. */
void block_type_words(char *text, size_t size);

/* As perfctr_counter_next(), of counters of perf PMUs only. */
const struct perfctr_counter_desc *database_next_of_pmus(const struct perfctr_counter_desc *prev);

typedef bool (*database_wants)(void *data, unsigned int product);

/* As perfctr_metric_next(), of the products that @wants accepts; NULL: of all. */
const struct perfctr_metric_desc *database_metric_next(const struct perfctr_metric_desc *prev,
						       database_wants wants, void *data);

/* --- The built-in counter database, without the pages of users --- */

struct database_rows {
	const struct perfctr_counter_desc *counters; /* ordered by counter_order() */
	size_t counter_count;
	const struct perfctr_metric_desc *metrics;
	size_t metric_count;
};

/* By block type and position: negative, 0 or positive if @a is before, at or after these. */
static inline int counter_order(const struct perfctr_counter_desc *a, unsigned int block_type,
				unsigned int position)
{
	if (a->block_type != block_type)
		return a->block_type < block_type ? -1 : 1;
	return a->position < position ? -1 : a->position > position;
}

/* Room for rows and @bytes behind them, to be freed as one. NULL: no memory. */
struct database_rows *rows_new(size_t counters, size_t metrics, size_t bytes);
/* Store what was made on demand. Return: it, or what a faster thread stored. */
struct database_rows *rows_store(_Atomic(struct database_rows *) *place,
				 struct database_rows *rows);

/* The rows of the nth product of table_products; none if memory is short. */
struct database_rows built_in_rows(size_t n);

/* A product's number by its name, 0: none; its name; its counter or NULL. */
unsigned int built_in_product(const char *name);
const char *built_in_product_name(unsigned int product);
/* In any case. */
const struct perfctr_counter_desc *built_in_counter(unsigned int product, unsigned int block_type,
						    const char *name);
/* The product of a GPU_ID that matches a page's, but not @except; 0: none. */
unsigned int built_in_product_of_gpu(uint64_t id, uint64_t mask, unsigned int except);
