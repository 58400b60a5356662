// SPDX-License-Identifier: MIT
/* Names of the rows of a page, and checks of it as a whole. */
#include "page_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "catalogue.h"
#include "metric.h"
#include "unit.h"

const char *page_product_name(const struct page_reader *r, unsigned int product)
{
	return product >= PAGES_PRODUCT ? r->pages->products[product - PAGES_PRODUCT] :
					  built_in_product_name(product);
}

const char *page_full_id(struct page_reader *r, unsigned int product, unsigned int block_type,
			 const char *id)
{
	char text[4 * NAME_LIMIT];
	int length = snprintf(text, sizeof(text), "%s.%s.%s", page_product_name(r, product),
			      perfctr_block_type_name(block_type), id);

	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return page_keep(r, text, (size_t)length);
}

unsigned int page_block(const char *name)
{
	unsigned int type = block_type_of(name);

	return type == DRM_PERFCTR_BLOCK_GENERIC_PMU ? 0 : type;
}

static int compare_counters(const void *left, const void *right)
{
	const struct perfctr_counter_desc *a = left, *b = right;

	if (a->product != b->product)
		return a->product < b->product ? -1 : 1;
	return counter_order(a, b->block_type, b->position);
}

/* In any case. */
static const struct perfctr_counter_desc *find_counter(const struct page_reader *r,
						       unsigned int product,
						       unsigned int block_type, const char *name)
{
	/* a later page comes before */
	for (size_t n = r->pages->counter_count; n--;) {
		const struct perfctr_counter_desc *c = &r->pages->counters[n].desc;

		if (c->product == product && c->block_type == block_type &&
		    !strcasecmp(c->name, name))
			return c;
	}
	return built_in_counter(product, block_type, name);
}

static bool unit_of_operand(void *data, const char *name, struct unit *unit, char *why, size_t size)
{
	const struct page_reader *r = data;
	const struct perfctr_metric_desc *m = &r->metric->desc;
	const char *variable = metric_variable_unit(name), *dot = strchr(name, '.');
	const struct perfctr_counter_desc *c = NULL;
	unsigned int type = m->block_type;
	char block[NAME_LIMIT + 1];

	if (variable)
		return unit_read(variable, unit);
	if (dot) {
		snprintf(block, sizeof(block), "%.*s", (int)(dot - name), name);
		type = page_block(block);
	}
	dot = dot ? dot + 1 : name;
	c = type ? find_counter(r, m->product, type, dot) : NULL;
	if (c && !strcmp(c->name, dot))
		return unit_read(c->unit, unit);
	if (c)
		snprintf(why, size, "no counter '%.40s'; did you mean %s", name, c->name);
	else
		snprintf(why, size, "no counter '%.60s'; formulas take counters, not metrics",
			 name);
	return false;
}

/* Remove the units in brackets, which expr_unit() has checked. */
static const char *without_units(struct page_reader *r, const char *formula)
{
	char text[TEXT_LIMIT + 1];
	size_t length = 0;
	bool unit = false;

	for (; *formula; formula++) {
		unit |= *formula == '[';
		if (!unit)
			text[length++] = *formula;
		unit &= *formula != ']';
	}
	return page_keep(r, text, length);
}

static void check_metric(struct page_reader *r, struct page_metric *row)
{
	struct perfctr_metric_desc *m = &row->desc;
	struct perfctr_ctx quiet = { .log_level = PERFCTR_LOG_NONE };
	struct place place = row->at[AT_FORMULA];
	struct unit unit, stated = { 0 };
	struct perfctr_expr *expr;
	char why[128], text[64];
	bool is_constant = true;
	const char *name;
	size_t column = 0;

	r->metric = row;
	if (!m->formula)
		return;
	if (find_counter(r, m->product, m->block_type, m->name)) {
		page_report(r, row->at[AT_NAME], "%s: the block has a counter of that name",
			    m->name);
		return;
	}
	if (expr_read(&quiet, m->formula, &expr, &column)) {
		/* behind the quotation mark */
		place.column += 1 + (unsigned int)column;
		page_report(r, place, "%s: %s", m->name, quiet.error);
		return;
	}
	for (size_t n = 0; is_constant && (name = perfctr_expr_name(expr, n)); n++)
		is_constant = metric_is_variable(name);
	if (is_constant) {
		page_report(r, place, "%s: the formula has no counter", m->name);
	} else if (!expr_unit(expr, unit_of_operand, r, &unit, why, sizeof(why))) {
		page_report(r, place, "%s: %s", m->name, why);
	} else {
		unit_text(&unit, text, sizeof(text));
		if (!m->unit)
			m->unit = page_keep(r, text, strlen(text));
		else if (unit_read(m->unit, &stated) && !unit_equal(&unit, &stated))
			page_report(r, row->at[AT_UNIT], "%s: the formula is in %s, not in %s",
				    m->name, *text ? text : "no unit", m->unit);
	}
	perfctr_expr_unref(expr);
	m->formula = without_units(r, m->formula);
	m->id = page_full_id(r, m->product, m->block_type, m->id ? m->id : m->name);
	m->long_text = m->long_text ? m->long_text : m->short_text;
}

/* A name of this file. */
struct used_name {
	const char *name;
	unsigned int product, block_type;
	struct place at;
	struct page_metric *metric; /* NULL: a counter */
};

static int compare_names(const void *left, const void *right)
{
	const struct used_name *a = left, *b = right;

	if (a->product != b->product)
		return a->product < b->product ? -1 : 1;
	if (a->block_type != b->block_type)
		return a->block_type < b->block_type ? -1 : 1;
	return strcasecmp(a->name, b->name);
}

/* A block has a name once; of two metrics the second one is left out. */
static void check_names(struct page_reader *r, const struct pages *before)
{
	struct pages *p = r->pages;
	size_t used = 0;
	struct used_name *names = calloc(p->counter_count + p->metric_count + 1, sizeof(*names));

	if (!names) {
		r->error = -ENOMEM;
		return;
	}
	for (size_t n = before->counter_count; n < p->counter_count; n++) {
		const struct perfctr_counter_desc *c = &p->counters[n].desc;

		names[used++] = (struct used_name){ c->name, c->product, c->block_type,
						    p->counters[n].at[AT_NAME], NULL };
	}
	for (size_t n = before->metric_count; n < p->metric_count; n++) {
		struct page_metric *m = &p->metrics[n];

		if (!m->is_bad)
			names[used++] = (struct used_name){ m->desc.name, m->desc.product,
							    m->desc.block_type, m->at[AT_NAME], m };
	}
	qsort(names, used, sizeof(*names), compare_names);
	for (size_t n = 1; n < used; n++) {
		struct used_name *a = &names[n - 1], *b = &names[n];

		if (compare_names(a, b))
			continue;
		if (a->at.line > b->at.line)
			b = a;
		r->metric = b->metric;
		page_report(r, b->at, "the block has the name '%s' twice", b->name);
	}
	free(names);
}

/* Counters against each other, and their products. */
static void check_counters(struct page_reader *r, size_t first)
{
	const struct pages *p = r->pages;
	unsigned int product = 0;

	if (p->counter_count == first)
		return;
	qsort(p->counters + first, p->counter_count - first, sizeof(*p->counters),
	      compare_counters);
	for (size_t n = first; n < p->counter_count; n++) {
		const struct page_counter *c = &p->counters[n], *next = c + 1;
		size_t gpu = 0;

		if (n + 1 < p->counter_count && !compare_counters(c, next) &&
		    c->desc.sets & next->desc.sets) {
			next = next->at[AT_BIT].line < c->at[AT_BIT].line ? c : next;
			page_report(r, next->at[AT_BIT], "%s: another counter has bit %u",
				    next->desc.name, next->desc.position);
		}
		if (c->desc.product < PAGES_PRODUCT || c->desc.product == product)
			continue;
		product = c->desc.product;
		while (gpu < p->gpu_count && p->gpus[gpu].product != product)
			gpu++;
		if (gpu == p->gpu_count)
			page_report(r, c->at[AT_ROW], "product %s has no [page] with a gpu_id",
				    p->products[product - PAGES_PRODUCT]);
	}
}

void page_check(struct page_reader *r, const struct pages *before)
{
	struct pages *p = r->pages;
	size_t kept = before->metric_count;

	r->metric = NULL;
	if (!r->is_bad)
		check_counters(r, before->counter_count);
	if (!r->is_bad)
		check_names(r, before);
	for (size_t n = before->metric_count; !r->is_bad && n < p->metric_count; n++)
		if (!p->metrics[n].is_bad)
			check_metric(r, &p->metrics[n]);
	for (size_t n = before->metric_count; n < p->metric_count; n++)
		if (!p->metrics[n].is_bad)
			p->metrics[kept++] = p->metrics[n];
	p->metric_count = kept;
}
