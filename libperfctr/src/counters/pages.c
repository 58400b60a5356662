// SPDX-License-Identifier: MIT
/*
 * Reads pages: the part of TOML that counters/README.md describes. The bytes are not trusted; a
 * page is taken as a whole or not at all.
 */
#include "pages.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "built_in.h"
#include "database.h"
#include "metric.h"

enum {
	MOST_ROWS = 65536,
	MOST_PRODUCTS = 255,
	MOST_POSITIONS = 256,
	MOST_SHIFT = 16,
	HEADER_POSITIONS = 4,
	MALI_BLOCKS = 16,
	NAME_LIMIT = 48,
	TEXT_LIMIT = 600,
};

struct page_text {
	struct page_text *next;
	char text[];
};

enum table { NO_TABLE, PAGE, COUNTER, METRIC, FORMULAS };

struct value {
	enum { TEXT, NUMBER, ARRAY } kind;
	const char *text;
	uint64_t number; /* of an array: mask of the counter sets in it */
};

struct reader {
	struct pages *pages;
	const char *at, *end, *line_start;
	unsigned int line;
	perfctr_page_problem fn;
	void *data;
	int problems;
	int error;
	enum table table;
	unsigned int table_line;
	/* of the current page, 0: none */
	unsigned int product, block_type;
	struct {
		const char *text;
		uint64_t gpu_id, gpu_mask;
		uint8_t clock;
	} head;
};

static const char *text_or(const char *text, const char *other)
{
	return text ? text : other;
}

static void PRINTF(4, 5)
	report(struct reader *r, unsigned int line, unsigned int column, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r->problems++;
	if (r->fn)
		r->fn(r->data, line, column, text);
}

#define problem(r, ...) \
	report(r, (r)->line, (unsigned int)((r)->at - (r)->line_start) + 1, __VA_ARGS__)

/* What follows is not understood either. */
static void stop(struct reader *r)
{
	r->error = r->error ? r->error : -EINVAL;
}

/* --- memory -------------------------------------------------------------------------- */

static char *keep(struct reader *r, const char *text, size_t length)
{
	struct page_text *t = malloc(sizeof(*t) + length + 1);

	if (!t) {
		r->error = -ENOMEM;
		return NULL;
	}
	memcpy(t->text, text, length);
	t->text[length] = '\0';
	t->next = r->pages->texts;
	r->pages->texts = t;
	return t->text;
}

/* Room for one more row, zeroed; capacities are powers of two. NULL: no memory or too many. */
static void *add_row(struct reader *r, void *rows, size_t *count, size_t bytes)
{
	void **array = rows;
	char *more = *array;

	if (*count >= MOST_ROWS) {
		problem(r, "more than %d rows", MOST_ROWS);
		r->error = -E2BIG;
		return NULL;
	}
	if (!(*count & (*count - 1)))
		more = realloc(*array, (*count ? 2 * *count : 1) * bytes);
	if (!more) {
		r->error = -ENOMEM;
		return NULL;
	}
	*array = more;
	memset(more + *count * bytes, 0, bytes);
	return more + (*count)++ * bytes;
}

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

/* --- TOML ------------------------------------------------------------------------------ */

static bool more(const struct reader *r)
{
	return r->at < r->end && *r->at;
}

/* Skip spaces and comments, and the ends of lines too if @lines. */
static void skip(struct reader *r, bool lines)
{
	for (; more(r); r->at++) {
		if (*r->at == '#')
			while (more(r) && r->at + 1 < r->end && r->at[1] != '\n')
				r->at++;
		else if (*r->at == '\n' && lines)
			r->line++, r->line_start = r->at + 1;
		else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
			return;
	}
}

static bool take(struct reader *r, char sign)
{
	if (!more(r) || *r->at != sign)
		return false;
	r->at++;
	return true;
}

static bool is_key(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool read_key(struct reader *r, char *key)
{
	size_t length = 0;

	while (more(r) && is_key(*r->at) && length < NAME_LIMIT)
		key[length++] = *r->at++;
	key[length] = '\0';
	if (!length)
		problem(r, "a key is expected");
	return length;
}

static bool read_string(struct reader *r, struct value *v)
{
	char quote = *r->at++, text[TEXT_LIMIT + 1];
	size_t length = 0;

	while (more(r) && *r->at != quote && *r->at != '\n' && length < TEXT_LIMIT) {
		char c = *r->at++;

		if (c == '\\' && quote == '"') {
			const char *escape = more(r) ? strchr("\"\\", *r->at) : NULL;

			if (!escape || !*escape) {
				problem(r, "only \\\" and \\\\ are escapes here");
				return false;
			}
			c = *r->at++;
		}
		text[length++] = (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
	}
	if (!take(r, quote)) {
		problem(r,
			length == TEXT_LIMIT ? "a text of more than %d characters" :
					       "the text has no end; texts have %d characters",
			TEXT_LIMIT);
		return false;
	}
	v->kind = TEXT;
	v->text = keep(r, text, length);
	return v->text;
}

static bool read_number(struct reader *r, struct value *v)
{
	char text[32];
	size_t length = 0;
	char *end;

	while (more(r) && (isalnum((unsigned char)*r->at) || *r->at == '_') &&
	       length < sizeof(text) - 1) {
		if (*r->at != '_')
			text[length++] = *r->at;
		r->at++;
	}
	text[length] = '\0';
	errno = 0;
	v->kind = NUMBER;
	v->number = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
	if (!length || *end || errno || !isdigit((unsigned char)text[0])) {
		problem(r, "a text, a number, true, false or [ is expected");
		return false;
	}
	return true;
}

static bool read_value(struct reader *r, struct value *v);

/* An array of the names of counter sets, the only one that pages have. */
static bool read_array(struct reader *r, struct value *v)
{
	static const char *const sets[] = { "PRIMARY", "SECONDARY", "TERTIARY" };
	struct value item;
	uint32_t found = 0;

	r->at++;
	for (skip(r, true); !take(r, ']'); skip(r, true)) {
		size_t n = 0;

		if (!more(r) || (*r->at != '"' && *r->at != '\'')) {
			problem(r, "the name of a counter set or ] is expected");
			return false;
		}
		if (!read_string(r, &item))
			return false;
		while (n < ARRAY_SIZE(sets) && strcmp(sets[n], item.text))
			n++;
		if (n == ARRAY_SIZE(sets)) {
			problem(r, "unknown set '%s'; known: PRIMARY, SECONDARY, TERTIARY",
				item.text);
			return false;
		}
		found |= 1u << n;
		skip(r, true);
		take(r, ',');
	}
	v->kind = ARRAY;
	v->number = found;
	return true;
}

static bool read_value(struct reader *r, struct value *v)
{
	skip(r, false);
	if (!more(r))
		problem(r, "a value is expected");
	else if (*r->at == '"' || *r->at == '\'')
		return read_string(r, v);
	else if (*r->at == '[')
		return read_array(r, v);
	else
		return read_number(r, v);
	return false;
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

static unsigned int product_of(struct reader *r, const char *name)
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
		problem(r, "'%s' is no name of a product", name);
		return 0;
	}
	row = add_row(r, &r->pages->products, &r->pages->product_count, sizeof(*row));
	if (!row)
		return 0;
	*row = name;
	for (char *c = (char *)name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return (unsigned int)(PAGES_PRODUCT + n);
}

static void set_block(struct reader *r, const char *name)
{
	unsigned int type = block_type_of(name);

	if (type && type != DRM_PERFCTR_BLOCK_GENERIC_PMU) {
		r->block_type = type;
		return;
	}
	problem(r, "unknown block '%s'; 'perfctr list --all' names those that exist", name);
}

static const char *const clocks[] = { "TOP", "COREGROUP", "SHADER", NULL };
static const char *const kinds[] = { "count", "cycles", "bytes", "time", "level", NULL };
static const char *const availability[] = { "always", "device", NULL };
static const char *const scopes[] = { "block", "device", NULL };

#define PLACE(type, member) offsetof(type, member), sizeof(((type *)NULL)->member)
#define OF_PAGE(member) PLACE(struct reader, head.member)
#define OF_COUNTER(member) PLACE(struct perfctr_counter_desc, member)
#define OF_METRIC(member) PLACE(struct perfctr_metric_desc, member)

/* What a table may have, and the member of its row. */
static const struct key {
	enum table table;
	const char *name;
	enum { PRODUCT, BLOCK, WORDS, COUNT, CHOICE, SETS } kind; /* texts first */
	size_t offset, size;
	uint64_t least, most; /* of a number; most characters of a text */
	const char *const *choices;
} keys[] = {
	{ PAGE, "product", PRODUCT, 0, 0, 0, NAME_LIMIT / 2, NULL },
	{ PAGE, "block", BLOCK, 0, 0, 0, NAME_LIMIT, NULL },
	{ PAGE, "clock", CHOICE, OF_PAGE(clock), 0, 0, clocks },
	{ PAGE, "gpu_id", COUNT, OF_PAGE(gpu_id), 1, UINT64_MAX, NULL },
	{ PAGE, "gpu_mask", COUNT, OF_PAGE(gpu_mask), 1, UINT64_MAX, NULL },
	{ PAGE, "text", WORDS, OF_PAGE(text), 0, TEXT_LIMIT, NULL },
	{ COUNTER, "bit", COUNT, OF_COUNTER(position), 0, MOST_POSITIONS - 1, NULL },
	{ COUNTER, "name", WORDS, OF_COUNTER(name), 0, NAME_LIMIT, NULL },
	{ COUNTER, "id", WORDS, OF_COUNTER(id), 0, NAME_LIMIT, NULL },
	{ COUNTER, "short", WORDS, OF_COUNTER(short_text), 0, NAME_LIMIT + 8, NULL },
	{ COUNTER, "long", WORDS, OF_COUNTER(long_text), 0, TEXT_LIMIT, NULL },
	{ COUNTER, "unit", WORDS, OF_COUNTER(unit), 0, NAME_LIMIT / 2, NULL },
	{ COUNTER, "kind", CHOICE, OF_COUNTER(kind), 0, 0, kinds },
	{ COUNTER, "availability", CHOICE, OF_COUNTER(optional), 0, 0, availability },
	{ COUNTER, "shift", COUNT, OF_COUNTER(shift), 0, MOST_SHIFT, NULL },
	{ COUNTER, "sets", SETS, OF_COUNTER(sets), 0, 0, NULL },
	{ METRIC, "name", WORDS, OF_METRIC(name), 0, NAME_LIMIT, NULL },
	{ METRIC, "id", WORDS, OF_METRIC(id), 0, NAME_LIMIT, NULL },
	{ METRIC, "short", WORDS, OF_METRIC(short_text), 0, NAME_LIMIT + 8, NULL },
	{ METRIC, "long", WORDS, OF_METRIC(long_text), 0, TEXT_LIMIT, NULL },
	{ METRIC, "unit", WORDS, OF_METRIC(unit), 0, NAME_LIMIT / 2, NULL },
	{ METRIC, "formula", WORDS, OF_METRIC(formula), 0, TEXT_LIMIT, NULL },
	{ METRIC, "scope", CHOICE, OF_METRIC(scope), 0, 0, scopes },
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

/* The number of a choice, or that of the end. */
static size_t choice_of(const struct key *k, const struct value *v)
{
	size_t n = 0;

	while (k->choices[n] && strcmp(k->choices[n], v->text))
		n++;
	return n;
}

static void set_key(struct reader *r, const char *name, const struct value *v)
{
	const struct pages *p = r->pages;
	const struct key *k = keys, *end = keys + ARRAY_SIZE(keys);
	void *row = r->table == COUNTER ? (void *)&p->counters[p->counter_count - 1].desc :
		    r->table == METRIC	? (void *)&p->metrics[p->metric_count - 1].desc :
					  (void *)r;
	unsigned char *at = row;
	uint64_t least, number = v->number;

	while (k < end && (k->table != r->table || strcmp(k->name, name)))
		k++;
	if (k == end) {
		problem(r, "unknown key '%s'", name);
		return;
	}
	at += k->offset;
	/* words 0-3 of a Mali block are its header */
	least = !strcmp(name, "bit") && r->block_type < MALI_BLOCKS ? HEADER_POSITIONS : k->least;
	if (k->kind <= WORDS && v->kind != TEXT)
		problem(r, "%s must be a text", name);
	else if (k->kind <= WORDS && strlen(v->text) > k->most)
		problem(r, "%s has %zu characters, at most %zu", name, strlen(v->text),
			(size_t)k->most);
	else if (k->kind == COUNT && (v->kind != NUMBER || number < least || number > k->most))
		problem(r, "%s must be a number, %llu to %llu", name, (unsigned long long)least,
			(unsigned long long)k->most);
	else if (k->kind == CHOICE && (v->kind != TEXT || !k->choices[choice_of(k, v)]))
		problem(r, "%s is none of %s, %s ...", name, k->choices[0], k->choices[1]);
	else if (k->kind == SETS && (v->kind != ARRAY || !number))
		problem(r, "%s must be an array of names", name);
	else if (k->kind == PRODUCT)
		r->product = product_of(r, v->text);
	else if (k->kind == BLOCK)
		set_block(r, v->text);
	else if (k->kind == WORDS)
		*(const char **)(void *)at = v->text;
	else
		store(at, k->size, k->kind == CHOICE ? choice_of(k, v) : number);
}

static void new_metric(struct reader *r)
{
	struct page_metric *m = add_row(r, &r->pages->metrics, &r->pages->metric_count, sizeof(*m));

	if (!m)
		return;
	m->line = r->line;
	m->desc.product = (uint16_t)r->product;
	m->desc.block_type = (uint16_t)r->block_type;
}

static void new_counter(struct reader *r)
{
	struct page_counter *c =
		add_row(r, &r->pages->counters, &r->pages->counter_count, sizeof(*c));

	if (!c)
		return;
	c->line = r->line;
	c->desc.product = (uint16_t)r->product;
	c->desc.block_type = (uint16_t)r->block_type;
	c->desc.clock = r->head.clock;
	c->desc.kind = UINT8_MAX;
	c->desc.position = UINT16_MAX;
}

/* name = "formula", below [PRODUCT.BLOCK] */
static void set_formula(struct reader *r, const char *name, const struct value *v)
{
	struct perfctr_metric_desc *m;

	new_metric(r);
	if (r->error)
		return;
	m = &r->pages->metrics[r->pages->metric_count - 1].desc;
	m->name = keep(r, name, strlen(name));
	m->unit = "";
	m->short_text = m->name;
	m->scope = PERFCTR_SCOPE_BLOCK;
	r->table = METRIC;
	set_key(r, "formula", v);
	r->table = FORMULAS;
}

static void read_assignment(struct reader *r)
{
	struct value v = { 0 };
	char key[NAME_LIMIT + 1];
	bool whole = read_key(r, key);

	skip(r, false);
	if (whole && !take(r, '=')) {
		problem(r, "= is expected");
		whole = false;
	}
	if (!whole || !read_value(r, &v))
		stop(r);
	else if (r->table == NO_TABLE)
		problem(r, "'%s' is before the first table", key);
	else if (r->table == FORMULAS)
		set_formula(r, key, &v);
	else
		set_key(r, key, &v);
}

/* --- tables ------------------------------------------------------------------------------ */

static const char *full_id(struct reader *r, unsigned int product, unsigned int block_type,
			   const char *id)
{
	const char *name = product >= PAGES_PRODUCT ? r->pages->products[product - PAGES_PRODUCT] :
						      built_in_product_name(product);
	char text[4 * NAME_LIMIT];
	int length = snprintf(text, sizeof(text), "%s.%s.%s", name,
			      perfctr_block_type_name(block_type), id);

	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return keep(r, text, (size_t)length);
}

/* The last row of the table is complete: check it and add what it leaves out. */
static void finish_row(struct reader *r)
{
	if (r->table == COUNTER) {
		struct page_counter *row = &r->pages->counters[r->pages->counter_count - 1];
		struct perfctr_counter_desc *c = &row->desc;

		if (!c->name || !is_name(c->name) || !c->short_text || !c->unit ||
		    c->position == UINT16_MAX) {
			report(r, row->line, 1, "%s: a counter needs bit, name, short and unit",
			       text_or(c->name, "without a name"));
			return;
		}
		c->id = full_id(r, c->product, c->block_type, text_or(c->id, c->name));
		c->long_text = text_or(c->long_text, c->short_text);
		c->pmu = "";
		if (!c->sets)
			c->sets = 1u << DRM_PERFCTR_SET_PRIMARY;
		if (c->kind == UINT8_MAX)
			c->kind = !strcmp(c->unit, "cycles") ? PERFCTR_KIND_CYCLES :
				  !strcmp(c->unit, "bytes")  ? PERFCTR_KIND_BYTES :
							       PERFCTR_KIND_COUNT;
	} else if (r->table == METRIC) {
		struct page_metric *row = &r->pages->metrics[r->pages->metric_count - 1];
		struct perfctr_metric_desc *m = &row->desc;

		if (!m->name || !is_name(m->name) || !m->short_text || !m->unit || !m->formula)
			report(r, row->line, 1, "%s: a metric needs name, short, unit and formula",
			       text_or(m->name, "without a name"));
	} else if (r->table == PAGE && (!r->product || !r->block_type)) {
		report(r, r->table_line, 1, "[page] needs product and block");
		stop(r);
	} else if (r->table == PAGE && r->head.gpu_id) {
		struct page_gpu *gpu =
			add_row(r, &r->pages->gpus, &r->pages->gpu_count, sizeof(*gpu));

		if (gpu)
			*gpu = (struct page_gpu){ r->head.gpu_id, r->head.gpu_mask, r->product };
	}
}

static void read_header(struct reader *r)
{
	bool is_array = take(r, '[') && take(r, '[');
	char key[NAME_LIMIT + 1];
	char *dot;

	finish_row(r);
	if (r->error || !read_key(r, key)) {
		stop(r);
		return;
	}
	if (!take(r, ']') || (is_array && !take(r, ']'))) {
		problem(r, "] is expected");
		stop(r);
		return;
	}
	r->table_line = r->line;
	dot = strchr(key, '.');
	if (!is_array && !strcmp(key, "page")) {
		r->table = PAGE;
		r->product = r->block_type = 0;
		memset(&r->head, 0, sizeof(r->head));
		r->head.clock = DRM_PERFCTR_CLOCK_NONE;
		r->head.gpu_mask = UINT64_MAX;
	} else if (is_array && !strcmp(key, "counter") && r->block_type) {
		r->table = COUNTER;
		new_counter(r);
	} else if (is_array && !strcmp(key, "metric") && r->block_type) {
		r->table = METRIC;
		new_metric(r);
	} else if (!is_array && dot) {
		const char *name = keep(r, key, (size_t)(dot - key));

		r->table = FORMULAS;
		r->block_type = 0;
		r->product = name ? product_of(r, name) : 0;
		set_block(r, dot + 1);
		if (!r->block_type || !r->product)
			stop(r);
	} else {
		problem(r, "'%s': [page], then [[counter]] and [[metric]], or [PRODUCT.BLOCK]",
			key);
		stop(r);
	}
}

/* --- a page as a whole -------------------------------------------------------------------- */

static int compare_counters(const void *left, const void *right)
{
	const struct perfctr_counter_desc *a = left, *b = right;

	if (a->product != b->product)
		return a->product < b->product ? -1 : 1;
	return counter_order(a, b->block_type, b->position);
}

static bool has_counter(const struct reader *r, unsigned int product, unsigned int block_type,
			const char *name)
{
	for (size_t n = 0; n < r->pages->counter_count; n++) {
		const struct perfctr_counter_desc *c = &r->pages->counters[n].desc;

		if (c->product == product && c->block_type == block_type && !strcmp(c->name, name))
			return true;
	}
	return built_in_has_counter(product, block_type, name);
}

static void check_operand(struct reader *r, const struct page_metric *m, const char *name)
{
	const char *dot = strchr(name, '.');
	struct reader other = { .pages = r->pages };
	char block[NAME_LIMIT + 1];

	if (metric_is_variable(name))
		return;
	other.block_type = m->desc.block_type;
	if (dot) {
		snprintf(block, sizeof(block), "%.*s", (int)(dot - name), name);
		set_block(&other, block);
	}
	if (other.problems ||
	    !has_counter(r, m->desc.product, other.block_type, dot ? dot + 1 : name))
		report(r, m->line, 1, "metric: %s: no counter '%.60s'", m->desc.name, name);
}

/* Remove the units in brackets, which only counters/generate.py checks. */
static const char *without_units(struct reader *r, const char *formula)
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
	return keep(r, text, length);
}

static void check_metric(struct reader *r, struct page_metric *row)
{
	struct perfctr_metric_desc *m = &row->desc;
	struct perfctr_ctx quiet = { .log_level = PERFCTR_LOG_NONE };
	struct perfctr_expr *expr;
	const char *name;

	if (!m->name || !m->formula)
		return;
	m->formula = without_units(r, m->formula);
	if (!m->formula || perfctr_expr_new(&quiet, m->formula, &expr)) {
		report(r, row->line, 1, "%s: %s", m->name, quiet.error);
		return;
	}
	for (size_t n = 0; (name = perfctr_expr_name(expr, n)); n++)
		check_operand(r, row, name);
	perfctr_expr_unref(expr);
	m->id = full_id(r, m->product, m->block_type, text_or(m->id, m->name));
	m->long_text = text_or(m->long_text, text_or(m->short_text, m->name));
}

int pages_add(struct pages *pages, const char *text, size_t size, perfctr_page_problem fn,
	      void *data)
{
	struct reader r = {
		.pages = pages,
		.at = text,
		.end = text + size,
		.line_start = text,
		.line = 1,
		.fn = fn,
		.data = data,
	};
	const struct pages before = *pages;

	for (skip(&r, true); more(&r) && !r.error; skip(&r, true)) {
		if (*r.at == '[')
			read_header(&r);
		else
			read_assignment(&r);
		skip(&r, false);
		if (!r.error && more(&r) && *r.at != '\n') {
			problem(&r, "the end of the line is expected");
			stop(&r);
		}
	}
	if (!r.error && r.at < r.end) {
		problem(&r, "a zero byte");
		stop(&r);
	}
	if (!r.error)
		finish_row(&r);
	if (!r.error && !r.problems && pages->counter_count) {
		qsort(pages->counters + before.counter_count,
		      pages->counter_count - before.counter_count, sizeof(*pages->counters),
		      compare_counters);
		for (size_t n = before.counter_count; n + 1 < pages->counter_count; n++)
			if (!compare_counters(&pages->counters[n], &pages->counters[n + 1]) &&
			    pages->counters[n].desc.sets & pages->counters[n + 1].desc.sets)
				report(&r, pages->counters[n + 1].line, 1,
				       "its position is taken: %s",
				       pages->counters[n + 1].desc.name);
	}
	for (size_t n = before.metric_count; !r.error && !r.problems && n < pages->metric_count;
	     n++)
		check_metric(&r, &pages->metrics[n]);
	if (r.error || r.problems) {
		/* rows go; names of products stay, their numbers are never used again */
		pages->counter_count = before.counter_count;
		pages->metric_count = before.metric_count;
		pages->gpu_count = before.gpu_count;
	}
	return r.error == -ENOMEM ? -ENOMEM : r.problems;
}

/* --- the pages of this process ------------------------------------------------------------- */

struct loading {
	struct pages pages;
	char problems[2048];
	const char *path;
};

static _Atomic(struct loading *) loaded;

static void note_problem(void *data, unsigned int line, unsigned int column, const char *text)
{
	struct loading *l = data;
	size_t used = strlen(l->problems);

	snprintf(l->problems + used, sizeof(l->problems) - used, "%s%s:%u:%u: %s", used ? "\n" : "",
		 l->path, line, column, text);
}

static char *pages_read(const char *path, size_t *size)
{
	enum { MOST_BYTES = 16 << 20 };
	FILE *file = fopen(path, "re");
	char *text = NULL;
	long bytes;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (bytes = ftell(file)) >= 0 && bytes <= MOST_BYTES &&
	    !fseek(file, 0, SEEK_SET))
		text = malloc((size_t)bytes + 1);
	if (text)
		*size = fread(text, 1, (size_t)bytes, file);
	fclose(file);
	return text;
}

static int is_page(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && !strcmp(entry->d_name + length - 5, ".toml");
}

static void load_file(struct loading *l, const char *path)
{
	size_t size = 0;
	char *text = pages_read(path, &size);

	l->path = path;
	if (!text)
		note_problem(l, 0, 0, "cannot be read");
	else
		pages_add(&l->pages, text, size, note_problem, l);
	free(text);
}

static void load_folder(struct loading *l, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_page, alphasort);

	for (int n = 0; n < count; n++) {
		char path[PATH_BYTES];

		snprintf(path, sizeof(path), "%s/%s", folder, entries[n]->d_name);
		load_file(l, path);
		free(entries[n]);
	}
	if (count >= 0)
		free(entries);
}

/* Counters first, so that metrics of another page find them; later pages come before. */
static void load_all(struct loading *l)
{
	static const char *const folders[] = { "counters.d", "metrics.d" };
	const char *more_pages = secure_getenv("PERFCTR_COUNTERS");
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	char path[PATH_BYTES];

	for (size_t n = 0; n < ARRAY_SIZE(folders); n++) {
		snprintf(path, sizeof(path), "/etc/perfctr/%s", folders[n]);
		load_folder(l, path);
		if (!config && !home)
			continue;
		snprintf(path, sizeof(path), "%s%s/perfctr/%s", config ? config : home,
			 config ? "" : "/.config", folders[n]);
		load_folder(l, path);
	}
	for (const char *at = more_pages; at && *at; at += strspn(at, ":")) {
		size_t length = strcspn(at, ":");
		struct stat status;

		snprintf(path, sizeof(path), "%.*s", (int)length, at);
		at += length;
		if (!stat(path, &status) && S_ISDIR(status.st_mode))
			load_folder(l, path);
		else
			load_file(l, path);
	}
}

const struct pages *pages_loaded(void)
{
	static struct loading none;
	struct loading *l = atomic_load_explicit(&loaded, memory_order_acquire), *before = NULL;

	if (l)
		return &l->pages;
	l = calloc(1, sizeof(*l));
	if (!l)
		return &none.pages;
	load_all(l);
	if (!atomic_compare_exchange_strong(&loaded, &before, l)) {
		pages_free(&l->pages);
		free(l);
		l = before;
	}
	return &l->pages;
}

void pages_report(struct perfctr_ctx *ctx)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;
	struct loading *l;

	pages_loaded();
	l = atomic_load_explicit(&loaded, memory_order_acquire);
	if (l && l->problems[0] && !atomic_flag_test_and_set(&reported))
		perfctr_log(ctx, PERFCTR_LOG_WARNING, "pages left out: %s", l->problems);
}

EXPORT int perfctr_page_check(struct perfctr_ctx *ctx, const char *path, perfctr_page_problem fn,
			      void *data)
{
	struct pages pages = { 0 };
	size_t size = 0;
	char *text = pages_read(path, &size);
	int problems;

	if (!text)
		return perfctr_fail(ctx, -ENOENT, "%s: cannot be read: %s", path, strerror(errno));
	problems = pages_add(&pages, text, size, fn, data);
	pages_free(&pages);
	free(text);
	return problems < 0 ? perfctr_no_memory(ctx) : problems;
}
