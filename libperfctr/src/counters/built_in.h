/* SPDX-License-Identifier: MIT */
/* The built-in counter database, without the pages of users. */
#pragma once

#include "private.h"

struct database_rows {
	const struct perfctr_counter_desc *counters; /* ordered by block type and position */
	size_t counter_count;
	const struct perfctr_metric_desc *metrics;
	size_t metric_count;
};

/* The rows of the nth product of table_products; none if memory is short. */
struct database_rows built_in_rows(size_t n);

/* A product's number by its name, 0: none; its name; whether it has a counter. */
unsigned int built_in_product(const char *name);
const char *built_in_product_name(unsigned int product);
bool built_in_has_counter(unsigned int product, unsigned int block_type, const char *name);
