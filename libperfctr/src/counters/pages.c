// SPDX-License-Identifier: MIT
/*
 * Reads pages: the part of TOML that docs/pages.md describes. The bytes are not trusted. A
 * metric with a mistake is left out; with any other mistake the whole page is.
 */
#include "pages.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue.h"
#include "metric.h"
#include "unit.h"

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
	int error; /* stops reading */
	bool is_bad; /* the page as a whole */
	enum table table;
	struct place header, key, value;
	uint32_t seen; /* keys of the table, a bit for each */
	struct page_metric *metric; /* has the next mistake; NULL: the page has it */
	struct page_metric unusable; /* stands for a metric that cannot be read */
	/* of the current page, 0: none */
	unsigned int product, block_type;
	struct {
		const char *text;
		uint64_t gpu_id, gpu_mask;
		uint8_t clock;
		struct place at;
	} head;
};

static void PRINTF(3, 4) report(struct reader *r, struct place place, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r->problems++;
	if (r->metric)
		r->metric->is_bad = true;
	else
		r->is_bad = true;
	if (r->fn)
		r->fn(r->data, place.line, place.column, text);
}

static struct place here(const struct reader *r)
{
	return (struct place){ r->line, (unsigned int)(r->at - r->line_start) + 1 };
}

#define problem(r, ...) report(r, here(r), __VA_ARGS__)

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
		r->metric = NULL;
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
	else if (more(r) && is_key(*r->at))
		problem(r, "a key of more than %d characters", NAME_LIMIT);
	else
		return true;
	return false;
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
		report(r, r->value, "a text, a number or [ is expected");
		return false;
	}
	return true;
}

/* The number of a choice; -1: none of them. */
static int choice_of(const char *choices, const char *text)
{
	for (int n = 0; *choices; n++) {
		size_t length = strcspn(choices, ",");

		if (strlen(text) == length && !memcmp(text, choices, length))
			return n;
		choices += length;
		choices += strspn(choices, ", ");
	}
	return -1;
}

/* An array of the names of counter sets, the only one that pages have. */
static bool read_array(struct reader *r, struct value *v)
{
	static const char sets[] = "PRIMARY, SECONDARY, TERTIARY";
	struct value item;
	uint32_t found = 0;
	int set;

	r->at++;
	for (skip(r, true); !take(r, ']'); skip(r, true)) {
		r->value = here(r);
		if (!more(r) || (*r->at != '"' && *r->at != '\'')) {
			problem(r, "the name of a counter set or ] is expected");
			return false;
		}
		if (!read_string(r, &item))
			return false;
		set = choice_of(sets, item.text);
		if (set < 0) {
			report(r, r->value, "unknown set '%s'; known: %s", item.text, sets);
			return false;
		}
		found |= 1u << set;
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
	r->value = here(r);
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
		report(r, r->value, "'%s' is no name of a product, or there are too many", name);
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

/* The type of a block by its name, 0: none. */
static unsigned int block_of(const char *name)
{
	unsigned int type = block_type_of(name);

	return type == DRM_PERFCTR_BLOCK_GENERIC_PMU ? 0 : type;
}

static void set_block(struct reader *r, const char *name)
{
	char words[256];

	r->block_type = block_of(name);
	if (r->block_type)
		return;
	block_type_words(words, sizeof(words));
	report(r, r->value, "unknown block '%s'; known are %s", name, words);
}

/* Words that are not in the database are units of their own. */
static bool check_unit(struct reader *r, const char *unit)
{
	const char *plural = unit_plural(unit);

	if (plural && strcmp(plural, unit)) {
		report(r, r->value, "unit '%s': write '%s'", unit, plural);
		return false;
	}
	if (unit_read(unit, &(struct unit){ 0 }) || (r->table == COUNTER && unit_add_word(unit)))
		return true;
	report(r, r->value,
	       "unknown unit '%s': a counter's is a lower-case plural, as packets; a metric's is "
	       "made of those of counters, s, %% and Hz, as bytes/s",
	       unit);
	return false;
}

static const char clocks[] = "TOP, COREGROUP, SHADER";
static const char kinds[] = "count, cycles, bytes, time, level";

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

static void set_key(struct reader *r, const char *name, const struct value *v)
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
		report(r, r->key, "unknown key '%s'", name);
		return;
	}
	if (r->seen >> (k - keys) & 1) {
		report(r, r->key, "%s is set twice", name);
		return;
	}
	r->seen |= 1u << (k - keys);
	if (k->place)
		places[k->place] = r->value;
	at += k->offset;
	/* words 0-3 of a Mali block are its header */
	least = !strcmp(name, "bit") && r->block_type < MALI_BLOCKS ? HEADER_POSITIONS : k->least;
	if (k->kind <= WORDS && v->kind != TEXT)
		report(r, r->value, "%s must be a text", name);
	else if (k->kind <= WORDS && (strlen(v->text) > k->most || strlen(v->text) < least))
		report(r, r->value, "%s has %zu characters; %zu to %zu are possible", name,
		       strlen(v->text), (size_t)least, (size_t)k->most);
	else if (k->kind == COUNT && (v->kind != NUMBER || number < least || number > k->most))
		report(r, r->value, "%s must be a number, %llu to %llu", name,
		       (unsigned long long)least, (unsigned long long)k->most);
	else if (k->kind == CHOICE && (v->kind != TEXT || choice_of(k->choices, v->text) < 0))
		report(r, r->value, "%s is none of %s", name, k->choices);
	else if (k->kind == SETS && (v->kind != ARRAY || !number))
		report(r, r->value, "%s must be an array of names", name);
	else if (!strcmp(name, "name") && !is_name(v->text))
		report(r, r->value, "'%s' is no name: a letter, then letters, digits, _ and -",
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
		      k->kind == CHOICE ? (uint64_t)choice_of(k->choices, v->text) : number);
}

static void new_metric(struct reader *r)
{
	struct page_metric *m = add_row(r, &r->pages->metrics, &r->pages->metric_count, sizeof(*m));

	r->metric = m ? m : &r->unusable;
	r->metric->at[AT_ROW] = r->table == FORMULAS ? r->key : r->header;
	r->metric->desc.product = (uint16_t)r->product;
	r->metric->desc.block_type = (uint16_t)r->block_type;
}

static void new_counter(struct reader *r)
{
	struct page_counter *c =
		add_row(r, &r->pages->counters, &r->pages->counter_count, sizeof(*c));

	if (!c)
		return;
	c->at[AT_ROW] = r->head.at;
	c->file = r->pages->file_count;
	c->desc.product = (uint16_t)r->product;
	c->desc.block_type = (uint16_t)r->block_type;
	c->desc.clock = r->head.clock;
	c->desc.kind = UINT8_MAX;
}

static void read_assignment(struct reader *r)
{
	struct value v = { 0 };
	char key[NAME_LIMIT + 1];
	bool is_formula = r->table == FORMULAS;

	r->key = here(r);
	if (is_formula && r->metric != &r->unusable)
		new_metric(r);
	if (!read_key(r, key))
		return;
	skip(r, false);
	if (!take(r, '=')) {
		problem(r, "= is expected");
		return;
	}
	if (!read_value(r, &v))
		return;
	if (r->table == NO_TABLE) {
		report(r, r->key, "'%s' is before the first table", key);
	} else if (is_formula && r->metric != &r->unusable) {
		r->table = METRIC;
		r->seen = 0;
		set_key(r, "name", &(struct value){ TEXT, keep(r, key, strlen(key)), 0 });
		set_key(r, "formula", &v);
		r->metric->at[AT_NAME] = r->key;
		r->metric->desc.short_text = r->metric->desc.name;
		r->table = FORMULAS;
	} else if (!is_formula && (r->table != METRIC || r->metric != &r->unusable)) {
		set_key(r, key, &v);
	}
}

/* --- tables ------------------------------------------------------------------------------ */

static const char *product_name(const struct reader *r, unsigned int product)
{
	return product >= PAGES_PRODUCT ? r->pages->products[product - PAGES_PRODUCT] :
					  built_in_product_name(product);
}

static const char *full_id(struct reader *r, unsigned int product, unsigned int block_type,
			   const char *id)
{
	char text[4 * NAME_LIMIT];
	int length = snprintf(text, sizeof(text), "%s.%s.%s", product_name(r, product),
			      perfctr_block_type_name(block_type), id);

	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return keep(r, text, (size_t)length);
}

static void finish_counter(struct reader *r, struct page_counter *row)
{
	static const char *const units[] = { [PERFCTR_KIND_CYCLES] = "cycles",
					     [PERFCTR_KIND_BYTES] = "bytes",
					     [PERFCTR_KIND_TIME] = "ns" };
	struct perfctr_counter_desc *c = &row->desc;

	if (!c->name || !c->unit || !c->product || !c->block_type)
		return;
	c->id = full_id(r, c->product, c->block_type, c->id ? c->id : c->name);
	c->long_text = c->long_text ? c->long_text : c->short_text;
	c->pmu = "";
	if (!c->sets)
		c->sets = 1u << DRM_PERFCTR_SET_PRIMARY;
	if (c->kind == UINT8_MAX)
		c->kind = !strcmp(c->unit, "cycles") ? PERFCTR_KIND_CYCLES :
			  !strcmp(c->unit, "bytes")  ? PERFCTR_KIND_BYTES :
						       PERFCTR_KIND_COUNT;
	if (c->kind < ARRAY_SIZE(units) && units[c->kind] && strcmp(c->unit, units[c->kind]))
		report(r, row->at[AT_UNIT], "%s: its kind has the unit %s, not %s", c->name,
		       units[c->kind], c->unit);
}

static void add_gpu(struct reader *r)
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
		report(r, r->header, "gpu_id %#llx is one of %s too", (unsigned long long)gpu.id,
		       product_name(r, other));
		return;
	}
	row = add_row(r, &r->pages->gpus, &r->pages->gpu_count, sizeof(*row));
	if (row)
		*row = gpu;
}

/* The last row of the table is complete: check it and add what it leaves out. */
static void finish_row(struct reader *r)
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
		report(r, r->header, "%s%s", names[r->table], text);
	else if (r->table == COUNTER)
		finish_counter(r, &r->pages->counters[r->pages->counter_count - 1]);
	else if (r->table == PAGE && r->head.gpu_id && r->product && r->block_type)
		add_gpu(r);
}

/* Product and block of [PRODUCT.BLOCK]; what is below a wrong one is left out. */
static void read_names(struct reader *r, char *key, char *dot)
{
	*dot = '\0';
	r->metric = &r->unusable;
	r->value = r->head.at = r->header;
	r->product = product_of(r, keep(r, key, (size_t)(dot - key)));
	set_block(r, dot + 1);
	if (r->block_type && r->product)
		r->metric = NULL;
}

static void read_header(struct reader *r)
{
	struct place place = here(r);
	bool is_array = take(r, '[') && take(r, '[');
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
	if (read_key(r, key) && (!take(r, ']') || (is_array && !take(r, ']'))))
		problem(r, "] is expected");
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
		report(r, place,
		       "'%s': [page], then [[counter]] and [[metric]], or "
		       "[PRODUCT.BLOCK]",
		       key);
		r->metric = &r->unusable;
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

/* In any case. */
static const struct perfctr_counter_desc *find_counter(const struct reader *r, unsigned int product,
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
	const struct reader *r = data;
	const struct perfctr_metric_desc *m = &r->metric->desc;
	const char *variable = metric_variable_unit(name), *dot = strchr(name, '.');
	const struct perfctr_counter_desc *c = NULL;
	unsigned int type = m->block_type;
	char block[NAME_LIMIT + 1];

	if (variable)
		return unit_read(variable, unit);
	if (dot) {
		snprintf(block, sizeof(block), "%.*s", (int)(dot - name), name);
		type = block_of(block);
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
		report(r, row->at[AT_NAME], "%s: the block has a counter of that name", m->name);
		return;
	}
	if (expr_read(&quiet, m->formula, &expr, &column)) {
		/* behind the quotation mark */
		place.column += 1 + (unsigned int)column;
		report(r, place, "%s: %s", m->name, quiet.error);
		return;
	}
	for (size_t n = 0; is_constant && (name = perfctr_expr_name(expr, n)); n++)
		is_constant = metric_is_variable(name);
	if (is_constant) {
		report(r, place, "%s: the formula has no counter", m->name);
	} else if (!expr_unit(expr, unit_of_operand, r, &unit, why, sizeof(why))) {
		report(r, place, "%s: %s", m->name, why);
	} else {
		unit_text(&unit, text, sizeof(text));
		if (!m->unit)
			m->unit = keep(r, text, strlen(text));
		else if (unit_read(m->unit, &stated) && !unit_equal(&unit, &stated))
			report(r, row->at[AT_UNIT], "%s: the formula is in %s, not in %s", m->name,
			       *text ? text : "no unit", m->unit);
	}
	perfctr_expr_unref(expr);
	m->formula = without_units(r, m->formula);
	m->id = full_id(r, m->product, m->block_type, m->id ? m->id : m->name);
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
static void check_names(struct reader *r, const struct pages *before)
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
		report(r, b->at, "the block has the name '%s' twice", b->name);
	}
	free(names);
}

/* Counters against each other, and their products. */
static void check_counters(struct reader *r, size_t first)
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
			report(r, next->at[AT_BIT], "%s: another counter has bit %u",
			       next->desc.name, next->desc.position);
		}
		if (c->desc.product < PAGES_PRODUCT || c->desc.product == product)
			continue;
		product = c->desc.product;
		while (gpu < p->gpu_count && p->gpus[gpu].product != product)
			gpu++;
		if (gpu == p->gpu_count)
			report(r, c->at[AT_ROW], "product %s has no [page] with a gpu_id",
			       p->products[product - PAGES_PRODUCT]);
	}
}

static void check_all(struct reader *r, const struct pages *before)
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

int pages_add(struct pages *pages, const char *text, size_t size, perfctr_page_problem fn,
	      void *data)
{
	/* a mark that some editors write */
	size_t begin = size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	struct reader r = {
		.pages = pages,
		.at = text + begin,
		.end = text + size,
		.line_start = text + begin,
		.line = 1,
		.fn = fn,
		.data = data,
	};
	const struct pages before = *pages;

	for (skip(&r, true); more(&r) && !r.error; skip(&r, true)) {
		int problems = r.problems;

		if (*r.at == '[')
			read_header(&r);
		else
			read_assignment(&r);
		skip(&r, false);
		if (r.problems == problems && more(&r) && *r.at != '\n')
			problem(&r, "the end of the line is expected");
		while (more(&r) && *r.at != '\n')
			r.at++;
	}
	if (!r.error)
		finish_row(&r);
	r.metric = NULL;
	if (!r.error && r.at < r.end)
		problem(&r, "a zero byte");
	if (!r.error)
		check_all(&r, &before);
	if (r.error || r.is_bad) {
		/* rows go; names of products stay, their numbers are never used again */
		pages->counter_count = before.counter_count;
		pages->metric_count = before.metric_count;
		pages->gpu_count = before.gpu_count;
	}
	pages->file_count++;
	return r.error == -ENOMEM ? -ENOMEM : r.problems;
}

/* --- the pages of this process ------------------------------------------------------------- */

struct loading {
	struct pages pages;
	char problems[4096];
	const char *path;
	const struct stat *without; /* a file that is not to be read */
};

static _Atomic(struct loading *) loaded;
static atomic_flag reported = ATOMIC_FLAG_INIT;

static void note_problem(void *data, unsigned int line, unsigned int column, const char *text)
{
	struct loading *l = data;
	size_t used = strlen(l->problems);
	char place[32] = "";

	if (line)
		snprintf(place, sizeof(place), "%u:%u:", line, column);
	snprintf(l->problems + used, sizeof(l->problems) - used, "%s%s:%s %s", used ? "\n" : "",
		 l->path, place, text);
}

/* NULL: *why is the reason. */
static char *pages_read(const char *path, struct stat *status, size_t *size, const char **why)
{
	enum { MOST_BYTES = 16 << 20 };
	/* a FIFO or a device may block */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = NULL;
	char *text = NULL;

	*why = "out of memory";
	if (fd < 0 || fstat(fd, status))
		*why = strerror(errno);
	else if (!S_ISREG(status->st_mode))
		*why = S_ISDIR(status->st_mode) ? "is a directory" : "is no regular file";
	else if (status->st_size > MOST_BYTES)
		*why = "has more than 16 MiB";
	else if ((file = fdopen(fd, "r")) && (text = malloc((size_t)status->st_size + 1)))
		*size = fread(text, 1, (size_t)status->st_size, file);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return text;
}

static int is_page(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && !strcmp(entry->d_name + length - 5, ".toml");
}

static void load_file(struct loading *l, const char *path)
{
	struct stat status;
	const char *why;
	size_t size = 0;
	char *text = pages_read(path, &status, &size, &why);

	l->path = path;
	if (!text)
		note_problem(l, 0, 0, why);
	else if (!l->without || l->without->st_ino != status.st_ino ||
		 l->without->st_dev != status.st_dev)
		pages_add(&l->pages, text, size, note_problem, l);
	free(text);
}

static void load_folder(struct loading *l, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_page, alphasort);

	l->path = folder;
	if (count < 0 && errno != ENOENT)
		note_problem(l, 0, 0, strerror(errno));
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
		/* sudo -u may leave the HOME of a user whose files this one may not read */
		if (!access(path, R_OK | X_OK) || errno != EACCES)
			load_folder(l, path);
	}
	for (const char *at = more_pages; at && *at; at += strspn(at, ":")) {
		size_t length = strcspn(at, ":");
		struct stat status;

		snprintf(path, sizeof(path), "%.*s", (int)length, at);
		at += length;
		if (!stat(path, &status) && S_ISDIR(status.st_mode))
			load_folder(l, path);
		else if (length)
			load_file(l, path);
	}
}

static struct loading *load_once(void)
{
	static struct loading none;
	struct loading *l = atomic_load_explicit(&loaded, memory_order_acquire), *before = NULL;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return &none;
	load_all(l);
	if (!atomic_compare_exchange_strong(&loaded, &before, l)) {
		pages_free(&l->pages);
		free(l);
		l = before;
	}
	return l;
}

const struct pages *pages_loaded(void)
{
	return &load_once()->pages;
}

EXPORT const char *perfctr_page_problems(void)
{
	const struct loading *l = load_once();

	atomic_flag_test_and_set(&reported);
	return l->problems[0] ? l->problems : NULL;
}

void pages_report(struct perfctr_ctx *ctx)
{
	const struct loading *l = load_once();

	if (l->problems[0] && !atomic_flag_test_and_set(&reported))
		perfctr_log(ctx, PERFCTR_LOG_WARNING, "mistakes in pages of counters: %s",
			    l->problems);
}

EXPORT int perfctr_page_check(struct perfctr_ctx *ctx, const char *path, perfctr_page_problem fn,
			      void *data)
{
	struct loading *l = calloc(1, sizeof(*l));
	struct stat status;
	const char *why;
	size_t size = 0, rows;
	char *text = pages_read(path, &status, &size, &why);
	int problems = -ENOMEM;

	if (l && text) {
		/* beside those that this process reads */
		l->without = &status;
		load_all(l);
		rows = l->pages.counter_count + l->pages.metric_count + l->pages.gpu_count;
		problems = pages_add(&l->pages, text, size, fn, data);
		rows -= l->pages.counter_count + l->pages.metric_count + l->pages.gpu_count;
		if (!problems && !rows) {
			problems = 1;
			if (fn)
				fn(data, 1, 1, "no counter and no metric in it");
		}
		pages_free(&l->pages);
	}
	free(l);
	if (!text)
		return perfctr_fail(ctx, -ENOENT, "%s: %s", path, why);
	free(text);
	return problems < 0 ? perfctr_no_memory(ctx) : problems;
}
