// SPDX-License-Identifier: MIT
/* Lookups in the counter database: the built-in one and the pages of users. */
#include "catalogue.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pages.h"
#include "tables.h"

enum { MOST_PRODUCTS = 320 };

static const char *string(uint32_t offset)
{
	return table_strings + offset;
}

/* The built-in products, then those of pages. */
static size_t product_count(void)
{
	return table_products_count + pages_loaded()->product_count;
}

static unsigned int product_number(size_t n)
{
	return n < table_products_count ? table_products[n].product :
					  (unsigned int)(PAGES_PRODUCT + n - table_products_count);
}

/* The place of a product, or product_count(). */
static size_t product_at(unsigned int product)
{
	size_t n = 0, count = product_count();

	while (n < count && product_number(n) != product)
		n++;
	return n;
}

static int compare_rows(const void *left, const void *right)
{
	const struct perfctr_counter_desc *b = right;

	return counter_order(left, b->block_type, b->position);
}

/* Whether a counter of a page, from the nth on, is at the same position or has the same name. */
static bool is_replaced(const struct pages *pages, const struct perfctr_counter_desc *c,
			size_t first)
{
	for (size_t n = first; n < pages->counter_count; n++) {
		const struct perfctr_counter_desc *p = &pages->counters[n].desc;

		if (p->product == c->product && p->block_type == c->block_type &&
		    ((p->position == c->position && p->sets & c->sets) ||
		     !strcasecmp(p->name, c->name)))
			return true;
	}
	return false;
}

static bool is_metric_replaced(const struct pages *pages, const struct perfctr_metric_desc *m,
			       size_t first)
{
	for (size_t n = first; n < pages->metric_count; n++)
		if (pages->metrics[n].desc.product == m->product &&
		    pages->metrics[n].desc.block_type == m->block_type &&
		    !strcasecmp(pages->metrics[n].desc.name, m->name))
			return true;
	return false;
}

/* The rows of a product with those of pages, which replace it and each other. */
static struct database_rows *merge(unsigned int product, struct database_rows base,
				   const struct pages *pages)
{
	struct database_rows *rows = rows_new(base.counter_count + pages->counter_count,
					      base.metric_count + pages->metric_count, 0);
	struct perfctr_counter_desc *c;
	struct perfctr_metric_desc *m;

	if (!rows)
		return NULL;
	c = (struct perfctr_counter_desc *)rows->counters;
	m = (struct perfctr_metric_desc *)rows->metrics;
	for (size_t n = 0, next = 0; n < pages->counter_count; n++) {
		while (next < pages->counter_count &&
		       pages->counters[next].file == pages->counters[n].file)
			next++;
		if (pages->counters[n].desc.product == product &&
		    !is_replaced(pages, &pages->counters[n].desc, next))
			*c++ = pages->counters[n].desc;
	}
	for (size_t n = 0; n < base.counter_count; n++)
		if (!is_replaced(pages, &base.counters[n], 0))
			*c++ = base.counters[n];
	rows->counter_count = (size_t)(c - rows->counters);
	qsort((void *)rows->counters, rows->counter_count, sizeof(*c), compare_rows);
	for (size_t n = 0; n < pages->metric_count; n++)
		if (pages->metrics[n].desc.product == product &&
		    !is_metric_replaced(pages, &pages->metrics[n].desc, n + 1))
			*m++ = pages->metrics[n].desc;
	for (size_t n = 0; n < base.metric_count; n++)
		if (!is_metric_replaced(pages, &base.metrics[n], 0))
			*m++ = base.metrics[n];
	rows->metric_count = (size_t)(m - rows->metrics);
	return rows;
}

static bool is_in_pages(const struct pages *pages, unsigned int product)
{
	bool found = false;

	for (size_t n = 0; !found && n < pages->counter_count; n++)
		found = pages->counters[n].desc.product == product;
	for (size_t n = 0; !found && n < pages->metric_count; n++)
		found = pages->metrics[n].desc.product == product;
	return found;
}

static struct database_rows rows_of(size_t n)
{
	static _Atomic(struct database_rows *) merged[MOST_PRODUCTS];
	static atomic_bool is_untouched[MOST_PRODUCTS];
	const struct pages *pages = pages_loaded();
	struct database_rows *rows;

	if (n >= MOST_PRODUCTS || is_untouched[n])
		return built_in_rows(n);
	rows = atomic_load_explicit(&merged[n], memory_order_acquire);
	if (!rows && is_in_pages(pages, product_number(n)))
		rows = rows_store(&merged[n], merge(product_number(n), built_in_rows(n), pages));
	else if (!rows)
		is_untouched[n] = true;
	return rows ? *rows : built_in_rows(n);
}

static const struct perfctr_counter_desc *next_counter(const struct perfctr_counter_desc *prev,
						       bool all)
{
	size_t n = prev ? product_at(prev->product) : 0;

	for (; n < product_count(); n++) {
		struct database_rows rows;
		const struct perfctr_counter_desc *next;

		if (!all && !product_is_pmu(product_number(n)))
			continue;
		rows = rows_of(n);
		next = prev ? prev + 1 : rows.counters;
		if (next < rows.counters + rows.counter_count)
			return next;
		prev = NULL;
	}
	return NULL;
}

EXPORT const struct perfctr_counter_desc *
perfctr_counter_next(const struct perfctr_counter_desc *prev)
{
	return next_counter(prev, true);
}

const struct perfctr_counter_desc *database_next_of_pmus(const struct perfctr_counter_desc *prev)
{
	return next_counter(prev, false);
}

const struct perfctr_metric_desc *database_metric_next(const struct perfctr_metric_desc *prev,
						       database_wants wants, void *data)
{
	size_t n = prev ? product_at(prev->product) : 0, count = product_count();

	for (; n < count; n++, prev = NULL) {
		struct database_rows rows;
		const struct perfctr_metric_desc *next;

		if (wants && !wants(data, product_number(n)))
			continue;
		rows = rows_of(n);
		next = prev ? prev + 1 : rows.metrics;
		if (next < rows.metrics + rows.metric_count)
			return next;
	}
	return NULL;
}

EXPORT const struct perfctr_metric_desc *perfctr_metric_next(const struct perfctr_metric_desc *prev)
{
	return database_metric_next(prev, NULL, NULL);
}

EXPORT const struct perfctr_metric_desc *perfctr_unit_next(const struct perfctr_metric_desc *prev)
{
	const struct perfctr_metric_desc *next = prev ? prev + 1 : perfctr_unit_table;

	return next < perfctr_unit_table + perfctr_unit_table_count ? next : NULL;
}

EXPORT const struct perfctr_filter_desc *perfctr_filter_next(const struct perfctr_filter_desc *prev)
{
	const struct perfctr_filter_desc *next = prev ? prev + 1 : perfctr_filter_table;

	return next < perfctr_filter_table + perfctr_filter_table_count ? next : NULL;
}

EXPORT const char *perfctr_product_name(unsigned int product)
{
	const struct pages *pages = pages_loaded();

	if (product >= PAGES_PRODUCT && product - PAGES_PRODUCT < pages->product_count)
		return pages->products[product - PAGES_PRODUCT];
	return built_in_product_name(product);
}

/* --- products by their GPU_ID --------------------------------------------------- */

EXPORT const char *perfctr_gpu_name(uint64_t gpu_id, unsigned int cores, unsigned int *product)
{
	const struct table_gpu *found = NULL;
	const struct pages *pages = pages_loaded();

	for (size_t n = 0; n < table_gpus_count; n++) {
		const struct table_gpu *g = &table_gpus[n];

		if ((gpu_id ^ g->id) & g->mask)
			continue;
		/* the GPU_ID does not tell ray tracing */
		if (!found || (cores >= g->min_cores && cores <= g->max_cores && !g->ray_tracing))
			found = g;
	}
	if (found && product)
		*product = found->product;
	if (found)
		return string(found->name);
	for (size_t n = 0; n < pages->gpu_count; n++) {
		const struct page_gpu *g = &pages->gpus[n];

		if ((gpu_id ^ g->id) & g->mask)
			continue;
		if (product)
			*product = g->product;
		return perfctr_product_name(g->product);
	}
	return NULL;
}

EXPORT const char *perfctr_product_gpus(unsigned int product)
{
	size_t n = product_at(product);

	return n < table_products_count ? string(table_products[n].gpus) : "";
}

/* --- counters ---------------------------------------------------------------------- */

EXPORT const struct perfctr_counter_desc *perfctr_counter_at(unsigned int product,
							     unsigned int block_type,
							     unsigned int set,
							     unsigned int position)
{
	size_t low = 0, high, number = product_at(product);
	struct database_rows rows;

	if (block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU || set >= 32 || number == product_count())
		return NULL;

	rows = rows_of(number);
	high = rows.counter_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (counter_order(&rows.counters[middle], block_type, position) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* the same position can have another counter in each set */
	for (; low < rows.counter_count; low++) {
		if (counter_order(&rows.counters[low], block_type, position))
			return NULL;
		if (rows.counters[low].sets >> set & 1)
			return rows.counters + low;
	}
	return NULL;
}

EXPORT const struct perfctr_counter_desc *perfctr_counter_of_pmu(const char *pmu, uint64_t config)
{
	const struct perfctr_counter_desc *c = NULL;

	/* the kernel has separate PMUs for the first two events of "software" */
	if (!strcmp(pmu, "cpu_clock") || !strcmp(pmu, "task_clock"))
		pmu = "software";
	while ((c = database_next_of_pmus(c)))
		if (c->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU && c->event == config &&
		    !strcmp(c->pmu, pmu))
			return c;
	return NULL;
}
