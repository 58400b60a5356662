/* SPDX-License-Identifier: MIT */
/* Parts of the reader of pages; pages.c reads their tables. */
#pragma once

#include "pages.h"

enum { NAME_LIMIT = 48, TEXT_LIMIT = 600 };

struct page_text {
	struct page_text *next;
	char text[];
};

enum page_table { NO_TABLE, PAGE, COUNTER, METRIC, FORMULAS };

struct page_value {
	enum { TEXT, NUMBER, ARRAY } kind;
	const char *text;
	uint64_t number; /* of an array: mask of the counter sets in it */
};

struct page_reader {
	struct pages *pages;
	const char *at, *end, *line_start;
	unsigned int line;
	perfctr_page_problem fn;
	void *data;
	int problems;
	int error; /* stops reading */
	bool is_bad; /* the page as a whole */
	enum page_table table;
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

/* --- page_toml.c --- */

/* Report a mistake of the metric or of the page. */
void page_report(struct page_reader *r, struct place place, const char *format, ...) PRINTF(3, 4);
struct place page_here(const struct page_reader *r);
#define page_problem(r, ...) page_report(r, page_here(r), __VA_ARGS__)

/* A copy of a text that lives as long as the pages. NULL: no memory, which ends the reading. */
char *page_keep(struct page_reader *r, const char *text, size_t length);
/* Room for one more row, zeroed; capacities are powers of two. NULL: no memory or too many. */
void *page_add_row(struct page_reader *r, void *rows, size_t *count, size_t bytes);

bool page_more(const struct page_reader *r);
/* Skip spaces and comments, and the ends of lines too if @lines. */
void page_skip(struct page_reader *r, bool lines);
bool page_take(struct page_reader *r, char sign);
/* Return: whether there is one; else the mistake is reported. @key: NAME_LIMIT + 1 bytes */
bool page_read_key(struct page_reader *r, char *key);
bool page_read_value(struct page_reader *r, struct page_value *v);
/* The number of a choice; -1: none of them. */
int page_choice(const char *choices, const char *text);

/* --- page_check.c --- */

const char *page_product_name(const struct page_reader *r, unsigned int product);
/* "product.block.id" in lower case, kept. */
const char *page_full_id(struct page_reader *r, unsigned int product, unsigned int block_type,
			 const char *id);
/* The type of a block by its name, 0: none. */
unsigned int page_block(const char *name);
/* Check what was added since @before, and leave out metrics with a mistake. */
void page_check(struct page_reader *r, const struct pages *before);
