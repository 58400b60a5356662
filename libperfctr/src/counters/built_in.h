/* SPDX-License-Identifier: MIT */
/* The built-in counter database, without the pages of users. */
#pragma once

#include "private.h"

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
