/* SPDX-License-Identifier: MIT */
/* Pages of the counter database that users add: TOML files read at run time. */
#pragma once

#include "base/device.h"

struct page_gpu {
	uint64_t id, mask; /* of the whole GPU_ID */
	unsigned int product;
};

struct place {
	unsigned int line, column;
};

enum place_of { AT_ROW, AT_BIT, AT_NAME, AT_UNIT, AT_FORMULA, PLACES };

struct page_counter {
	struct perfctr_counter_desc desc;
	struct place at[PLACES];
	unsigned int file; /* a later one replaces it */
};

struct page_metric {
	struct perfctr_metric_desc desc;
	struct place at[PLACES];
	bool is_bad;
};

struct pages {
	struct page_counter *counters; /* ordered by file, product, block type and position */
	struct page_metric *metrics;
	struct page_gpu *gpus;
	const char **products; /* names that the built-in database lacks */
	size_t counter_count, metric_count, gpu_count, product_count;
	unsigned int file_count;
	struct page_text *texts;
};

/* the number of the first product that pages name */
#define PAGES_PRODUCT 0xff00u

/*
 * Add a page without the metrics that have a problem; none of it if anything else has one. @fn gets
 * each problem.
 * Return: the number of problems, or -ENOMEM.
 */
int pages_add(struct pages *pages, const char *text, size_t size, perfctr_page_problem fn,
	      void *data);
void pages_free(struct pages *pages);

/* The pages of this process, read when first asked for. */
const struct pages *pages_loaded(void);
/* Log the problems of these pages, once. */
void pages_report(struct perfctr_ctx *ctx);
