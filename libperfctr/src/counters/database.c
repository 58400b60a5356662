// SPDX-License-Identifier: MIT
/*
 * Lookups in the counter database.
 *
 * Layouts that share texts are compact tables without pointers; the descriptions of a product are
 * made of them when it is first looked up, and stay until the process ends.
 */
#include "database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

static const char *string(uint32_t offset)
{
	return table_strings + offset;
}

static const struct table_text *text_of(uint32_t n)
{
	return &table_texts[n];
}

/* "mali_v10.cshw.gpu_active" */
static char *write_id(char *to, const struct table_product *product, unsigned int block_type,
		      const char *name)
{
	char *end = to + sprintf(to, "%s.%s.", string(product->name),
				 perfctr_block_type_name(block_type));

	for (; *name; name++)
		*end++ = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
	*end = '\0';
	return end + 1;
}

static size_t id_bytes(const struct table_product *product, uint32_t text)
{
	enum { BLOCK_BYTES = 24 };

	return strlen(string(product->name)) + BLOCK_BYTES + strlen(string(text_of(text)->name));
}

static struct perfctr_counter_desc counter_of(const struct table_product *product,
					      const struct table_counter *row, const char *id)
{
	const struct table_text *t = text_of(row->text);

	return (struct perfctr_counter_desc){
		.id = id,
		.name = string(t->name),
		.short_text = string(t->short_text),
		.long_text = string(t->long_text),
		.unit = string(t->unit),
		.pmu = "",
		.sets = 1u << DRM_PERFCTR_SET_PRIMARY,
		.product = product->product,
		.block_type = row->block_type,
		.position = row->position,
		.clock = row->clock,
		.kind = row->kind,
		.optional = row->optional,
		.shift = row->shift,
	};
}

static struct perfctr_metric_desc metric_of(const struct table_product *product,
					    const struct table_metric *row, const char *id)
{
	const struct table_text *t = text_of(row->text);

	return (struct perfctr_metric_desc){
		.id = id,
		.name = string(t->name),
		.short_text = string(t->short_text),
		.long_text = string(t->long_text),
		.unit = string(t->unit),
		.formula = string(row->formula),
		.product = product->product,
		.block_type = row->block_type,
		.scope = row->scope,
	};
}

/* The descriptions of a product that shares texts, in one allocation; NULL: no memory. */
static struct database_rows *expand(const struct table_product *p)
{
	const struct table_counter *counters = table_counters + p->counter;
	const struct table_metric *metrics = table_metrics + p->metric;
	size_t bytes = sizeof(struct database_rows) +
		       p->counter_count * sizeof(struct perfctr_counter_desc) +
		       p->metric_count * sizeof(struct perfctr_metric_desc);
	struct perfctr_counter_desc *c;
	struct perfctr_metric_desc *m;
	struct database_rows *rows;
	char *id;

	for (size_t n = 0; n < p->counter_count; n++)
		bytes += id_bytes(p, counters[n].text);
	for (size_t n = 0; n < p->metric_count; n++)
		bytes += id_bytes(p, metrics[n].text);
	rows = malloc(bytes);
	if (!rows)
		return NULL;
	c = (struct perfctr_counter_desc *)(rows + 1);
	m = (struct perfctr_metric_desc *)(c + p->counter_count);
	id = (char *)(m + p->metric_count);
	*rows = (struct database_rows){ c, p->counter_count, m, p->metric_count };
	for (size_t n = 0; n < p->counter_count; n++) {
		c[n] = counter_of(p, &counters[n], id);
		id = write_id(id, p, counters[n].block_type, c[n].name);
	}
	for (size_t n = 0; n < p->metric_count; n++) {
		m[n] = metric_of(p, &metrics[n], id);
		id = write_id(id, p, metrics[n].block_type, m[n].name);
	}
	return rows;
}

/* The rows of the nth product; none if memory is short. */
static struct database_rows rows_of(size_t n)
{
	enum { MOST_PRODUCTS = 64 };
	static _Atomic(struct database_rows *) expanded[MOST_PRODUCTS];
	const struct table_product *p = &table_products[n];
	struct database_rows *rows, *before = NULL;

	if (!p->is_shared)
		return (struct database_rows){ perfctr_counter_table + p->counter, p->counter_count,
					       perfctr_metric_table + p->metric, p->metric_count };
	if (n >= MOST_PRODUCTS)
		return (struct database_rows){ 0 };
	rows = atomic_load_explicit(&expanded[n], memory_order_acquire);
	if (!rows) {
		rows = expand(p);
		if (!rows)
			return (struct database_rows){ 0 };
		/* another thread may have been faster */
		if (!atomic_compare_exchange_strong(&expanded[n], &before, rows)) {
			free(rows);
			rows = before;
		}
	}
	return *rows;
}

/* The number of a product in table_products, or their count. */
static size_t product_at(unsigned int product)
{
	size_t n = 0;

	while (n < table_products_count && table_products[n].product != product)
		n++;
	return n;
}

EXPORT const struct perfctr_counter_desc *
perfctr_counter_next(const struct perfctr_counter_desc *prev)
{
	size_t n = prev ? product_at(prev->product) : 0;

	for (; n < table_products_count; n++, prev = NULL) {
		struct database_rows rows = rows_of(n);
		const struct perfctr_counter_desc *next = prev ? prev + 1 : rows.counters;

		if (next < rows.counters + rows.counter_count)
			return next;
	}
	return NULL;
}

const struct perfctr_counter_desc *database_next_of_pmus(const struct perfctr_counter_desc *prev)
{
	static const unsigned int products[] = { DRM_PERFCTR_TEGRA410_PRODUCT,
						 DRM_PERFCTR_PRODUCT_PERF_PMU };

	for (size_t n = 0; n < ARRAY_SIZE(products); n++) {
		struct database_rows rows;
		const struct perfctr_counter_desc *next;

		if (prev && prev->product != products[n])
			continue;
		rows = rows_of(product_at(products[n]));
		next = prev ? prev + 1 : rows.counters;
		if (next < rows.counters + rows.counter_count)
			return next;
		prev = NULL;
	}
	return NULL;
}

EXPORT const struct perfctr_metric_desc *perfctr_metric_next(const struct perfctr_metric_desc *prev)
{
	size_t n = prev ? product_at(prev->product) : 0;

	for (; n < table_products_count; n++, prev = NULL) {
		struct database_rows rows = rows_of(n);
		const struct perfctr_metric_desc *next = prev ? prev + 1 : rows.metrics;

		if (next < rows.metrics + rows.metric_count)
			return next;
	}
	return NULL;
}

EXPORT const struct perfctr_filter_desc *perfctr_filter_next(const struct perfctr_filter_desc *prev)
{
	const struct perfctr_filter_desc *next = prev ? prev + 1 : perfctr_filter_table;

	return next < perfctr_filter_table + perfctr_filter_table_count ? next : NULL;
}

EXPORT const char *perfctr_product_name(unsigned int product)
{
	size_t n = product_at(product);

	return n < table_products_count ? string(table_products[n].name) : NULL;
}

/* --- products by their GPU_ID --------------------------------------------------- */

/* Bits 31:16 of a GPU_ID of 32 bits; arch 15 and later have 64, made up to the same form. */
static uint32_t gpu_key(uint64_t gpu_id, bool *wide)
{
	*wide = gpu_id >> 32;
	if (*wide)
		return (uint32_t)((gpu_id >> 56 << 12) | (gpu_id >> 32 & 0xff));
	return (uint32_t)(gpu_id >> 16);
}

EXPORT const char *perfctr_gpu_name(uint64_t gpu_id, unsigned int cores, unsigned int *product)
{
	const struct table_gpu *found = NULL;
	bool wide;
	uint32_t key = gpu_key(gpu_id, &wide);

	for (size_t n = 0; n < table_gpus_count; n++) {
		const struct table_gpu *g = &table_gpus[n];

		if (wide != !g->mask || (key & (wide ? UINT32_MAX : g->mask)) != g->id)
			continue;
		/* the GPU_ID does not tell ray tracing */
		if (!found || (cores >= g->min_cores && cores <= g->max_cores && !g->ray_tracing))
			found = g;
	}
	if (found && product)
		*product = found->product;
	return found ? string(found->name) : NULL;
}

/* --- counters ---------------------------------------------------------------------- */

/* Return: negative, zero or positive if a is before, at or after the key. */
static int compare(const struct perfctr_counter_desc *a, unsigned int block_type,
		   unsigned int position)
{
	if (a->block_type != block_type)
		return a->block_type < block_type ? -1 : 1;
	if (a->position != position)
		return a->position < position ? -1 : 1;
	return 0;
}

EXPORT const struct perfctr_counter_desc *perfctr_counter_at(unsigned int product,
							     unsigned int block_type,
							     unsigned int set,
							     unsigned int position)
{
	size_t low = 0, high, number = product_at(product);
	struct database_rows rows;

	if (block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU || set >= 32 ||
	    number == table_products_count)
		return NULL;

	rows = rows_of(number);
	high = rows.counter_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&rows.counters[middle], block_type, position) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* the same position can have another counter in each set */
	for (; low < rows.counter_count; low++) {
		if (compare(&rows.counters[low], block_type, position))
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
