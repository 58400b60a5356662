// SPDX-License-Identifier: MIT
#include "formula.h"

#include <ctype.h>
#include <string.h>

#define MAX_NESTING 64

struct reader {
	const char *text;
	const char *at;
	const struct bindings *bindings;
	struct failure *failure;
	unsigned int nesting;
	bool failed;
};

static int64_t bad(struct reader *r, const char *what)
{
	fail(r->failure, "formula \"%s\": %s at \"%s\"", r->text, what, r->at);
	r->failed = true;
	return 0;
}

const int64_t *bindings_find(const struct bindings *bindings, const char *name, size_t length)
{
	for (; bindings; bindings = bindings->outer)
		for (size_t i = bindings->count; i-- > 0;)
			if (strlen(bindings->items[i].name) == length &&
			    !memcmp(bindings->items[i].name, name, length))
				return &bindings->items[i].value;
	return NULL;
}

static void skip_space(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
}

static bool take(struct reader *r, char sign)
{
	skip_space(r);
	if (*r->at != sign)
		return false;
	r->at++;
	return true;
}

static size_t name_length(const char *at)
{
	size_t length = 0;

	if (!isalpha((unsigned char)*at) && *at != '_')
		return 0;
	while (isalnum((unsigned char)at[length]) || at[length] == '_')
		length++;
	return length;
}

static int64_t sum(struct reader *r);

static int64_t call(struct reader *r, bool least)
{
	int64_t a, b;

	r->at += 3;
	if (!take(r, '('))
		return bad(r, "expected '('");
	a = sum(r);
	if (!r->failed && !take(r, ','))
		return bad(r, "expected ','");
	b = sum(r);
	if (!r->failed && !take(r, ')'))
		return bad(r, "expected ')'");
	return (a < b) == least ? a : b;
}

static int64_t name(struct reader *r)
{
	size_t length = name_length(r->at);
	const int64_t *value = bindings_find(r->bindings, r->at, length);

	if (!value) {
		fail(r->failure, "formula \"%s\": '%.*s' is not known here", r->text, (int)length,
		     r->at);
		r->failed = true;
		return 0;
	}
	r->at += length;
	return *value;
}

static int64_t number(struct reader *r)
{
	int64_t value = 0;

	for (; isdigit((unsigned char)*r->at); r->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *r->at - '0', &value))
			return bad(r, "number beyond 64 bits");
	return value;
}

static int64_t operand(struct reader *r)
{
	int64_t value;

	if (r->failed)
		return 0;
	if (++r->nesting > MAX_NESTING)
		return bad(r, "nested too deeply");
	skip_space(r);
	if (take(r, '(')) {
		value = sum(r);
		if (!r->failed && !take(r, ')'))
			value = bad(r, "expected ')'");
	} else if (take(r, '-')) {
		value = operand(r);
		if (!r->failed && __builtin_sub_overflow(0, value, &value))
			value = bad(r, "result beyond 64 bits");
	} else if (isdigit((unsigned char)*r->at)) {
		value = number(r);
	} else if (name_length(r->at) == 3 &&
		   (!strncmp(r->at, "min", 3) || !strncmp(r->at, "max", 3))) {
		value = call(r, r->at[1] == 'i');
	} else if (name_length(r->at)) {
		value = name(r);
	} else {
		value = bad(r, "expected a number or a name");
	}
	r->nesting--;
	return value;
}

static int64_t product(struct reader *r)
{
	int64_t value = operand(r), other;

	while (!r->failed) {
		if (take(r, '*')) {
			other = operand(r);
			if (!r->failed && __builtin_mul_overflow(value, other, &value))
				return bad(r, "result beyond 64 bits");
		} else if (take(r, '/')) {
			other = operand(r);
			if (r->failed)
				return 0;
			if (!other || (other == -1 && value == INT64_MIN))
				return bad(r, "division by zero or beyond 64 bits before");
			if (value % other)
				return bad(r, "division with a remainder before");
			value /= other;
		} else {
			break;
		}
	}
	return value;
}

static int64_t sum(struct reader *r)
{
	int64_t value = product(r), other;
	bool overflow = false;

	while (!r->failed) {
		if (take(r, '+')) {
			other = product(r);
			overflow = __builtin_add_overflow(value, other, &value);
		} else if (take(r, '-')) {
			other = product(r);
			overflow = __builtin_sub_overflow(value, other, &value);
		} else {
			break;
		}
		if (overflow)
			return bad(r, "result beyond 64 bits");
	}
	return value;
}

int formula_eval(const char *text, const struct bindings *bindings, int64_t *value,
		 struct failure *failure)
{
	struct reader r = {
		.text = text,
		.at = text,
		.bindings = bindings,
		.failure = failure,
	};

	*value = sum(&r);
	skip_space(&r);
	if (!r.failed && *r.at)
		bad(&r, "unexpected text");
	return r.failed ? -1 : 0;
}

int formula_names(const char *text, int (*use)(void *data, const char *name, size_t length),
		  void *data)
{
	const char *at = text;
	int result = 0;

	while (*at && !result) {
		size_t length = name_length(at);

		if (!length) {
			/* digits may be followed by letters only in a malformed formula */
			at++;
			continue;
		}
		if (length != 3 || (strncmp(at, "min", 3) && strncmp(at, "max", 3)))
			result = use(data, at, length);
		at += length;
	}
	return result;
}
