// SPDX-License-Identifier: MIT
/* Reads the text of a page: the part of TOML that libperfctr/counters/pages.md describes. */
#include "page_reader.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 65536 };

void page_report(struct page_reader *r, struct place place, const char *format, ...)
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

struct place page_here(const struct page_reader *r)
{
	return (struct place){ r->line, (unsigned int)(r->at - r->line_start) + 1 };
}

/* --- memory -------------------------------------------------------------------------- */

char *page_keep(struct page_reader *r, const char *text, size_t length)
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

void *page_add_row(struct page_reader *r, void *rows, size_t *count, size_t bytes)
{
	void **array = rows;
	char *more = *array;

	if (*count >= MOST_ROWS) {
		r->metric = NULL;
		page_problem(r, "more than %d rows", MOST_ROWS);
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

/* --- TOML ------------------------------------------------------------------------------ */

bool page_more(const struct page_reader *r)
{
	return r->at < r->end && *r->at;
}

void page_skip(struct page_reader *r, bool lines)
{
	for (; page_more(r); r->at++) {
		if (*r->at == '#')
			while (page_more(r) && r->at + 1 < r->end && r->at[1] != '\n')
				r->at++;
		else if (*r->at == '\n' && lines)
			r->line++, r->line_start = r->at + 1;
		else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
			return;
	}
}

bool page_take(struct page_reader *r, char sign)
{
	if (!page_more(r) || *r->at != sign)
		return false;
	r->at++;
	return true;
}

static bool is_key(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

bool page_read_key(struct page_reader *r, char *key)
{
	size_t length = 0;

	while (page_more(r) && is_key(*r->at) && length < NAME_LIMIT)
		key[length++] = *r->at++;
	key[length] = '\0';
	if (!length)
		page_problem(r, "a key is expected");
	else if (page_more(r) && is_key(*r->at))
		page_problem(r, "a key of more than %d characters", NAME_LIMIT);
	else
		return true;
	return false;
}

static bool read_string(struct page_reader *r, struct page_value *v)
{
	char quote = *r->at++, text[TEXT_LIMIT + 1];
	size_t length = 0;

	while (page_more(r) && *r->at != quote && *r->at != '\n' && length < TEXT_LIMIT) {
		char c = *r->at++;

		if (c == '\\' && quote == '"') {
			const char *escape = page_more(r) ? strchr("\"\\", *r->at) : NULL;

			if (!escape || !*escape) {
				page_problem(r, "only \\\" and \\\\ are escapes here");
				return false;
			}
			c = *r->at++;
		}
		text[length++] = (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
	}
	if (!page_take(r, quote)) {
		page_problem(r,
			     length == TEXT_LIMIT ? "a text of more than %d characters" :
						    "the text has no end; texts have %d characters",
			     TEXT_LIMIT);
		return false;
	}
	v->kind = TEXT;
	v->text = page_keep(r, text, length);
	return v->text;
}

static bool read_number(struct page_reader *r, struct page_value *v)
{
	char text[32];
	size_t length = 0;
	char *end;

	while (page_more(r) && (isalnum((unsigned char)*r->at) || *r->at == '_') &&
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
		page_report(r, r->value, "a text, a number or [ is expected");
		return false;
	}
	return true;
}

int page_choice(const char *choices, const char *text)
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
static bool read_array(struct page_reader *r, struct page_value *v)
{
	static const char sets[] = "PRIMARY, SECONDARY, TERTIARY";
	struct page_value item;
	uint32_t found = 0;
	int set;

	r->at++;
	for (page_skip(r, true); !page_take(r, ']'); page_skip(r, true)) {
		r->value = page_here(r);
		if (!page_more(r) || (*r->at != '"' && *r->at != '\'')) {
			page_problem(r, "the name of a counter set or ] is expected");
			return false;
		}
		if (!read_string(r, &item))
			return false;
		set = page_choice(sets, item.text);
		if (set < 0) {
			page_report(r, r->value, "unknown set '%s'; known: %s", item.text, sets);
			return false;
		}
		found |= 1u << set;
		page_skip(r, true);
		page_take(r, ',');
	}
	v->kind = ARRAY;
	v->number = found;
	return true;
}

bool page_read_value(struct page_reader *r, struct page_value *v)
{
	page_skip(r, false);
	r->value = page_here(r);
	if (!page_more(r))
		page_problem(r, "a value is expected");
	else if (*r->at == '"' || *r->at == '\'')
		return read_string(r, v);
	else if (*r->at == '[')
		return read_array(r, v);
	else
		return read_number(r, v);
	return false;
}
