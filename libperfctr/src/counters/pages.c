// SPDX-License-Identifier: MIT
/*
 * Reads pages: the part of TOML that libperfctr/counters/pages.md describes. The bytes are not
 * trusted. A metric with a mistake is left out; with any other mistake the whole page is.
 */
#include "page_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "catalogue.h"
#include "unit.h"

enum {
	MOST_PRODUCTS = 255,
	MOST_POSITIONS = 256,
	MOST_SHIFT = 16,
	HEADER_POSITIONS = 4,
	MALI_BLOCKS = 16,
};

void pages_free(struct pages *pages)
{
	while (pages->texts) {
		struct page_text *next = pages->texts->next;

		free(pages->texts);
		pages->texts = next;
	}
	free(pages->counters);
	free(pages->metrics);
	free(pages->gpus);
	free(pages->products);
	*pages = (struct pages){ 0 };
}

/* --- keys ------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
	if (!isalpha((unsigned char)*text))
		return false;
	while (isalnum((unsigned char)*text) || *text == '_' || *text == '-')
		text++;
	return !*text;
}

static unsigned int product_of(struct page_reader *r, const char *name)
{
	unsigned int number = built_in_product(name);
	const char **row;
	size_t n;

	if (number)
		return number;
	for (n = 0; n < r->pages->product_count; n++)
		if (!strcasecmp(r->pages->products[n], name))
			return (unsigned int)(PAGES_PRODUCT + n);
	if (n == MOST_PRODUCTS || !is_name(name)) {
		page_report(r, r->value, "'%s' is no name of a product, or there are too many",
			    name);
		return 0;
	}
	row = page_add_row(r, &r->pages->products, &r->pages->product_count, sizeof(*row));
	if (!row)
		return 0;
	*row = name;
	for (char *c = (char *)name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return (unsigned int)(PAGES_PRODUCT + n);
}

static void set_block(struct page_reader *r, const char *name)
{
	char words[512];

	r->block_type = page_block(name);
	if (r->block_type)
		return;
	block_type_words(words, sizeof(words));
	page_report(r, r->value, "unknown block '%s'; known are %s", name, words);
}

/* Words that are not in the database are units of their own. */
static bool check_unit(struct page_reader *r, const char *unit)
{
	const char *plural = unit_plural(unit);

	if (plural && strcmp(plural, unit)) {
		page_report(r, r->value, "unit '%s': write '%s'", unit, plural);
		return false;
	}
	if (unit_read(unit, &(struct unit){ 0 }) || (r->table == COUNTER && unit_add_word(unit)))
		return true;
	page_report(
		r, r->value,
		"unknown unit '%s': a counter's is a lower-case plural, as packets; a metric's is "
		"made of those of counters, s, %% and Hz, as bytes/s",
		unit);
	return false;
}

static const char clocks[] = "TOP, COREGROUP, SHADER";
static const char kinds[] = "count, cycles, bytes, time, level";

#define PLACE(type, member) offsetof(type, member), sizeof(((type *)NULL)->member)
#define OF_PAGE(member) PLACE(struct page_reader, head.member)
#define OF_COUNTER(member) PLACE(struct perfctr_counter_desc, member)
#define OF_METRIC(member) PLACE(struct perfctr_metric_desc, member)

/* What a table may have, and the member of its row. */
static const struct key {
	enum page_table table;
	const char *name;
	enum { PRODUCT, BLOCK, WORDS, COUNT, CHOICE, SETS } kind; /* texts first */
	size_t offset, size;
	uint64_t least, most; /* of a number; characters of a text, 0 at least: not required */
	const char *choices;
	enum place_of place;
} keys[] = {
	{ PAGE, "product", PRODUCT, 0, 0, 1, NAME_LIMIT / 2, NULL, 0 },
	{ PAGE, "block", BLOCK, 0, 0, 1, NAME_LIMIT, NULL, 0 },
	{ PAGE, "clock", CHOICE, OF_PAGE(clock), 0, 0, clocks, 0 },
	{ PAGE, "gpu_id", COUNT, OF_PAGE(gpu_id), 1, UINT64_MAX, NULL, 0 },
	{ PAGE, "gpu_mask", COUNT, OF_PAGE(gpu_mask), 1, UINT64_MAX, NULL, 0 },
	{ PAGE, "text", WORDS, OF_PAGE(text), 0, TEXT_LIMIT, NULL, 0 },
	{ COUNTER, "bit", COUNT, OF_COUNTER(position), 0, MOST_POSITIONS - 1, NULL, AT_BIT },
	{ COUNTER, "name", WORDS, OF_COUNTER(name), 1, NAME_LIMIT, NULL, AT_NAME },
	{ COUNTER, "id", WORDS, OF_COUNTER(id), 0, NAME_LIMIT, NULL, 0 },
	{ COUNTER, "short", WORDS, OF_COUNTER(short_text), 1, NAME_LIMIT + 8, NULL, 0 },
	{ COUNTER, "long", WORDS, OF_COUNTER(long_text), 0, TEXT_LIMIT, NULL, 0 },
	{ COUNTER, "unit", WORDS, OF_COUNTER(unit), 1, NAME_LIMIT / 2, NULL, AT_UNIT },
	{ COUNTER, "kind", CHOICE, OF_COUNTER(kind), 0, 0, kinds, AT_UNIT },
	{ COUNTER, "availability", CHOICE, OF_COUNTER(optional), 0, 0, "always, device", 0 },
	{ COUNTER, "shift", COUNT, OF_COUNTER(shift), 0, MOST_SHIFT, NULL, 0 },
	{ COUNTER, "sets", SETS, OF_COUNTER(sets), 0, 0, NULL, 0 },
	{ METRIC, "name", WORDS, OF_METRIC(name), 1, NAME_LIMIT, NULL, AT_NAME },
	{ METRIC, "id", WORDS, OF_METRIC(id), 0, NAME_LIMIT, NULL, 0 },
	{ METRIC, "short", WORDS, OF_METRIC(short_text), 1, NAME_LIMIT + 8, NULL, 0 },
	{ METRIC, "long", WORDS, OF_METRIC(long_text), 0, TEXT_LIMIT, NULL, 0 },
	{ METRIC, "unit", WORDS, OF_METRIC(unit), 1, NAME_LIMIT / 2, NULL, AT_UNIT },
	{ METRIC, "formula", WORDS, OF_METRIC(formula), 1, TEXT_LIMIT, NULL, AT_FORMULA },
	{ METRIC, "scope", CHOICE, OF_METRIC(scope), 0, 0, "block, device", 0 },
};

static void store(unsigned char *at, size_t size, uint64_t number)
{
	if (size == 1)
		*at = (uint8_t)number;
	else if (size == 2)
		*(uint16_t *)(void *)at = (uint16_t)number;
	else if (size == 4)
		*(uint32_t *)(void *)at = (uint32_t)number;
	else
		*(uint64_t *)(void *)at = number;
}

static bool is_required(const struct key *k)
{
	return k->kind <= WORDS ? k->least > 0 : k->place == AT_BIT && k->kind == COUNT;
}

static void set_key(struct page_reader *r, const char *name, const struct page_value *v)
{
	const struct pages *p = r->pages;
	const struct key *k = keys, *end = keys + ARRAY_SIZE(keys);
	struct page_counter *counter = r->table == COUNTER ? &p->counters[p->counter_count - 1] :
							     NULL;
	unsigned char *at = counter	       ? (void *)&counter->desc :
			    r->table == METRIC ? (void *)&r->metric->desc :
						 (void *)r;
	struct place *places = counter ? counter->at : r->metric ? r->metric->at : NULL;
	uint64_t least, number = v->number;

	while (k < end && (k->table != r->table || strcmp(k->name, name)))
		k++;
	if (k == end) {
		page_report(r, r->key, "unknown key '%s'", name);
		return;
	}
	if (r->seen >> (k - keys) & 1) {
		page_report(r, r->key, "%s is set twice", name);
		return;
	}
	r->seen |= 1u << (k - keys);
	if (k->place)
		places[k->place] = r->value;
	at += k->offset;
	/* words 0-3 of a Mali block are its header */
	least = !strcmp(name, "bit") && r->block_type < MALI_BLOCKS ? HEADER_POSITIONS : k->least;
	if (k->kind <= WORDS && v->kind != TEXT)
		page_report(r, r->value, "%s must be a text", name);
	else if (k->kind <= WORDS && (strlen(v->text) > k->most || strlen(v->text) < least))
		page_report(r, r->value, "%s has %zu characters; %zu to %zu are possible", name,
			    strlen(v->text), (size_t)least, (size_t)k->most);
	else if (k->kind == COUNT && (v->kind != NUMBER || number < least || number > k->most))
		page_report(r, r->value, "%s must be a number, %llu to %llu", name,
			    (unsigned long long)least, (unsigned long long)k->most);
	else if (k->kind == CHOICE && (v->kind != TEXT || page_choice(k->choices, v->text) < 0))
		page_report(r, r->value, "%s is none of %s", name, k->choices);
	else if (k->kind == SETS && (v->kind != ARRAY || !number))
		page_report(r, r->value, "%s must be an array of names", name);
	else if (!strcmp(name, "name") && !is_name(v->text))
		page_report(r, r->value, "'%s' is no name: a letter, then letters, digits, _ and -",
			    v->text);
	else if (!strcmp(name, "unit") && !check_unit(r, v->text))
		return;
	else if (k->kind == PRODUCT)
		r->product = product_of(r, v->text);
	else if (k->kind == BLOCK)
		set_block(r, v->text);
	else if (k->kind == WORDS)
		*(const char **)(void *)at = v->text;
	else
		store(at, k->size,
		      k->kind == CHOICE ? (uint64_t)page_choice(k->choices, v->text) : number);
}

static void new_metric(struct page_reader *r)
{
	struct page_metric *m =
		page_add_row(r, &r->pages->metrics, &r->pages->metric_count, sizeof(*m));

	r->metric = m ? m : &r->unusable;
	r->metric->at[AT_ROW] = r->table == FORMULAS ? r->key : r->header;
	r->metric->desc.product = (uint16_t)r->product;
	r->metric->desc.block_type = (uint16_t)r->block_type;
}

static void new_counter(struct page_reader *r)
{
	struct page_counter *c =
		page_add_row(r, &r->pages->counters, &r->pages->counter_count, sizeof(*c));

	if (!c)
		return;
	c->at[AT_ROW] = r->head.at;
	c->file = r->pages->file_count;
	c->desc.product = (uint16_t)r->product;
	c->desc.block_type = (uint16_t)r->block_type;
	c->desc.clock = r->head.clock;
	c->desc.kind = UINT8_MAX;
}

static void read_assignment(struct page_reader *r)
{
	struct page_value v = { 0 };
	char key[NAME_LIMIT + 1];
	bool is_formula = r->table == FORMULAS;

	r->key = page_here(r);
	if (is_formula && r->metric != &r->unusable)
		new_metric(r);
	if (!page_read_key(r, key))
		return;
	page_skip(r, false);
	if (!page_take(r, '=')) {
		page_problem(r, "= is expected");
		return;
	}
	if (!page_read_value(r, &v))
		return;
	if (r->table == NO_TABLE) {
		page_report(r, r->key, "'%s' is before the first table", key);
	} else if (is_formula && r->metric != &r->unusable) {
		r->table = METRIC;
		r->seen = 0;
		set_key(r, "name", &(struct page_value){ TEXT, page_keep(r, key, strlen(key)), 0 });
		set_key(r, "formula", &v);
		r->metric->at[AT_NAME] = r->key;
		r->metric->desc.short_text = r->metric->desc.name;
		r->table = FORMULAS;
	} else if (!is_formula && (r->table != METRIC || r->metric != &r->unusable)) {
		set_key(r, key, &v);
	}
}

/* --- tables ------------------------------------------------------------------------------ */
static void finish_counter(struct page_reader *r, struct page_counter *row)
{
	static const char *const units[] = { [PERFCTR_KIND_CYCLES] = "cycles",
					     [PERFCTR_KIND_BYTES] = "bytes",
					     [PERFCTR_KIND_TIME] = "ns" };
	struct perfctr_counter_desc *c = &row->desc;

	if (!c->name || !c->unit || !c->product || !c->block_type)
		return;
	c->id = page_full_id(r, c->product, c->block_type, c->id ? c->id : c->name);
	c->long_text = c->long_text ? c->long_text : c->short_text;
	c->pmu = "";
	if (!c->sets)
		c->sets = 1u << DRM_PERFCTR_SET_PRIMARY;
	if (c->kind == UINT8_MAX)
		c->kind = !strcmp(c->unit, "cycles") ? PERFCTR_KIND_CYCLES :
			  !strcmp(c->unit, "bytes")  ? PERFCTR_KIND_BYTES :
						       PERFCTR_KIND_COUNT;
	if (c->kind < ARRAY_SIZE(units) && units[c->kind] && strcmp(c->unit, units[c->kind]))
		page_report(r, row->at[AT_UNIT], "%s: its kind has the unit %s, not %s", c->name,
			    units[c->kind], c->unit);
}

static void add_gpu(struct page_reader *r)
{
	/* a GPU_ID of 32 bits is none of 64 */
	struct page_gpu gpu = { r->head.gpu_id,
				r->head.gpu_mask | (r->head.gpu_id >> 32 ? 0 : UINT64_MAX << 32),
				r->product };
	unsigned int other = built_in_product_of_gpu(gpu.id, gpu.mask, gpu.product);
	struct page_gpu *row;

	for (size_t n = 0; !other && n < r->pages->gpu_count; n++) {
		row = &r->pages->gpus[n];
		if (!((row->id ^ gpu.id) & row->mask & gpu.mask) && row->product != gpu.product)
			other = row->product;
	}
	if (other) {
		page_report(r, r->header, "gpu_id %#llx is one of %s too",
			    (unsigned long long)gpu.id, page_product_name(r, other));
		return;
	}
	row = page_add_row(r, &r->pages->gpus, &r->pages->gpu_count, sizeof(*row));
	if (row)
		*row = gpu;
}

/* The last row of the table is complete: check it and add what it leaves out. */
static void finish_row(struct page_reader *r)
{
	static const char *const names[] = { [PAGE] = "page", "counter", "metric" };
	const char *separator = ": missing";
	char text[128] = "";

	if (r->metric == &r->unusable || r->table == NO_TABLE || r->table == FORMULAS)
		return;
	for (size_t n = 0; n < ARRAY_SIZE(keys); n++) {
		if (keys[n].table != r->table || !is_required(&keys[n]) || r->seen >> n & 1)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s", separator,
			 keys[n].name);
		separator = ",";
	}
	if (*text)
		page_report(r, r->header, "%s%s", names[r->table], text);
	else if (r->table == COUNTER)
		finish_counter(r, &r->pages->counters[r->pages->counter_count - 1]);
	else if (r->table == PAGE && r->head.gpu_id && r->product && r->block_type)
		add_gpu(r);
}

/* Product and block of [PRODUCT.BLOCK]; what is below a wrong one is left out. */
static void read_names(struct page_reader *r, char *key, char *dot)
{
	*dot = '\0';
	r->metric = &r->unusable;
	r->value = r->head.at = r->header;
	r->product = product_of(r, page_keep(r, key, (size_t)(dot - key)));
	set_block(r, dot + 1);
	if (r->block_type && r->product)
		r->metric = NULL;
}

static void read_header(struct page_reader *r)
{
	struct place place = page_here(r);
	bool is_array = page_take(r, '[') && page_take(r, '[');
	char key[NAME_LIMIT + 1];
	bool has_page;
	int problems;
	char *dot;

	finish_row(r);
	has_page = (r->product && r->block_type) || r->is_bad;
	problems = r->problems;
	r->metric = NULL;
	r->header = place;
	r->seen = 0;
	if (page_read_key(r, key) && (!page_take(r, ']') || (is_array && !page_take(r, ']'))))
		page_problem(r, "] is expected");
	if (r->problems > problems) {
		/* what is below it is not reported */
		r->table = METRIC;
		r->metric = &r->unusable;
		return;
	}
	dot = strchr(key, '.');
	if (!is_array && !strcmp(key, "page")) {
		r->table = PAGE;
		r->product = r->block_type = 0;
		memset(&r->head, 0, sizeof(r->head));
		r->head.at = place;
		r->head.clock = DRM_PERFCTR_CLOCK_NONE;
		r->head.gpu_mask = UINT64_MAX;
	} else if (is_array && !strcmp(key, "counter") && has_page) {
		r->table = COUNTER;
		new_counter(r);
	} else if (is_array && !strcmp(key, "metric") && has_page) {
		r->table = METRIC;
		new_metric(r);
	} else if (!is_array && dot) {
		r->table = FORMULAS;
		read_names(r, key, dot);
	} else {
		r->table = METRIC;
		page_report(r, place,
			    "'%s': [page], then [[counter]] and [[metric]], or "
			    "[PRODUCT.BLOCK]",
			    key);
		r->metric = &r->unusable;
	}
}

int pages_add(struct pages *pages, const char *text, size_t size, perfctr_page_problem fn,
	      void *data)
{
	/* a mark that some editors write */
	size_t begin = size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	struct page_reader r = {
		.pages = pages,
		.at = text + begin,
		.end = text + size,
		.line_start = text + begin,
		.line = 1,
		.fn = fn,
		.data = data,
	};
	const struct pages before = *pages;

	for (page_skip(&r, true); page_more(&r) && !r.error; page_skip(&r, true)) {
		int problems = r.problems;

		if (*r.at == '[')
			read_header(&r);
		else
			read_assignment(&r);
		page_skip(&r, false);
		if (r.problems == problems && page_more(&r) && *r.at != '\n')
			page_problem(&r, "the end of the line is expected");
		while (page_more(&r) && *r.at != '\n')
			r.at++;
	}
	if (!r.error)
		finish_row(&r);
	r.metric = NULL;
	if (!r.error && r.at < r.end)
		page_problem(&r, "a zero byte");
	if (!r.error)
		page_check(&r, &before);
	if (r.error || r.is_bad) {
		/* rows go; names of products stay, their numbers are never used again */
		pages->counter_count = before.counter_count;
		pages->metric_count = before.metric_count;
		pages->gpu_count = before.gpu_count;
	}
	pages->file_count++;
	return r.error == -ENOMEM ? -ENOMEM : r.problems;
}
