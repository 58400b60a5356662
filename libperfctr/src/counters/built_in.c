// SPDX-License-Identifier: MIT
/*
 * The built-in counter database.
 *
 * Layouts that share texts are compact tables without pointers; the descriptions of a product are
 * made of them when it is first looked up, and stay until the process ends.
 */
#include "catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tables.h"

/* more than there are */
enum { MOST_PRODUCTS = 64 };

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

struct database_rows *rows_new(size_t counters, size_t metrics, size_t bytes)
{
	struct database_rows *rows = calloc(1, sizeof(*rows) + counters * sizeof(*rows->counters) +
						       metrics * sizeof(*rows->metrics) + bytes);

	if (rows) {
		rows->counters = (const void *)(rows + 1);
		rows->counter_count = counters;
		rows->metrics = (const void *)(rows->counters + counters);
		rows->metric_count = metrics;
	}
	return rows;
}

struct database_rows *rows_store(_Atomic(struct database_rows *) *place, struct database_rows *rows)
{
	struct database_rows *before = NULL;

	if (!rows || atomic_compare_exchange_strong(place, &before, rows))
		return rows;
	free(rows);
	return before;
}

/* The descriptions of a product that shares texts; NULL: no memory. */
static struct database_rows *expand(const struct table_product *p)
{
	const struct table_counter *counters = table_counters + p->counter;
	const struct table_metric *metrics = table_metrics + p->metric;
	struct perfctr_counter_desc *c;
	struct perfctr_metric_desc *m;
	struct database_rows *rows;
	size_t bytes = 0;
	char *id;

	for (size_t n = 0; n < p->counter_count; n++)
		bytes += id_bytes(p, counters[n].text);
	for (size_t n = 0; n < p->metric_count; n++)
		bytes += id_bytes(p, metrics[n].text);
	rows = rows_new(p->counter_count, p->metric_count, bytes);
	if (!rows)
		return NULL;
	c = (struct perfctr_counter_desc *)rows->counters;
	m = (struct perfctr_metric_desc *)rows->metrics;
	id = (char *)(m + p->metric_count);
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

struct database_rows built_in_rows(size_t n)
{
	static _Atomic(struct database_rows *) expanded[MOST_PRODUCTS];
	const struct table_product *p = &table_products[n];
	struct database_rows *rows = NULL;

	if (n < table_products_count && !p->is_shared)
		return (struct database_rows){ perfctr_counter_table + p->counter, p->counter_count,
					       perfctr_metric_table + p->metric, p->metric_count };
	if (n < table_products_count && n < MOST_PRODUCTS) {
		rows = atomic_load_explicit(&expanded[n], memory_order_acquire);
		rows = rows ? rows : rows_store(&expanded[n], expand(p));
	}
	return rows ? *rows : (struct database_rows){ 0 };
}

unsigned int built_in_product(const char *name)
{
	for (size_t n = 0; n < table_products_count; n++)
		if (!strcasecmp(string(table_products[n].name), name))
			return table_products[n].product;
	return 0;
}

static size_t product_at(unsigned int product)
{
	size_t n = 0;

	while (n < table_products_count && table_products[n].product != product)
		n++;
	return n;
}

const char *built_in_product_name(unsigned int product)
{
	size_t n = product_at(product);

	return n < table_products_count ? string(table_products[n].name) : NULL;
}

const struct perfctr_counter_desc *built_in_counter(unsigned int product, unsigned int block_type,
						    const char *name)
{
	struct database_rows rows = built_in_rows(product_at(product));
	const struct perfctr_counter_desc *counter = rows.counters;

	for (; rows.counter_count; rows.counter_count--, counter++)
		if (counter->block_type == block_type && !strcasecmp(counter->name, name))
			return counter;
	return NULL;
}

unsigned int built_in_product_of_gpu(uint64_t id, uint64_t mask, unsigned int except)
{
	for (size_t n = 0; n < table_gpus_count; n++)
		if (!((table_gpus[n].id ^ id) & table_gpus[n].mask & mask) &&
		    table_gpus[n].product != except)
			return table_gpus[n].product;
	return 0;
}
