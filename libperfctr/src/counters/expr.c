// SPDX-License-Identifier: MIT
/*
 * Formulas of metrics: parsed into postfix order, computed with a small stack.
 *
 * counters/generate.py uses the same grammar when it checks the database.
 */
#include "metric.h"

#include "fraction.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_OPS = 128,
	MAX_NAMES = 32,
	MAX_NESTING = 32,
	MAX_STACK = 64,
	NAME_BYTES = 64,
	MAX_CASTS = 16,
	CAST_BYTES = 24,
};

enum op_code { OP_NUMBER, OP_NAME, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_NEG, OP_MIN, OP_MAX };

struct op {
	enum op_code code;
	unsigned int name;
	unsigned int cast; /* the result gets this unit, from 1; 0: none */
	struct perfctr_value number;
	/* decimal digits make a power of ten, which a double cannot represent exactly */
	struct fraction exact;
};

struct perfctr_expr {
	atomic_uint refs;
	size_t op_count, name_count;
	unsigned int cast_count;
	char casts[MAX_CASTS][CAST_BYTES];
	/* not cleared beyond their counts */
	struct op ops[MAX_OPS];
	char names[MAX_NAMES][NAME_BYTES];
};

double perfctr_strtod(const char *text, char **end)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	double value;

	if (!c) {
		*end = (char *)text;
		return 0;
	}
	value = strtod_l(text, end, c);
	freelocale(c);
	return value;
}

/* --- reading ------------------------------------------------------------------- */

struct reader {
	struct perfctr_ctx *ctx;
	struct perfctr_expr *expr;
	const char *text;
	const char *at;
	unsigned int nesting;
};

static int bad(const struct reader *r, const char *what)
{
	return perfctr_fail(r->ctx, -EINVAL, "formula \"%s\": %s at \"%s\"", r->text, what, r->at);
}

static void skip_space(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n')
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

static int emit(struct reader *r, struct op op)
{
	if (r->expr->op_count == MAX_OPS)
		return bad(r, "it is too long");
	r->expr->ops[r->expr->op_count++] = op;
	return 0;
}

static int read_sum(struct reader *r);

/* The number as written, "1.05" is 105 / 100; with an exponent the double is used. */
static struct fraction read_exact(const char *text, const char *end, double number)
{
	struct fraction digits = fraction_of(0), scale = fraction_of(1), ten = fraction_of(10);
	bool behind_point = false;

	for (; text < end; text++) {
		struct fraction digit = fraction_of((uint64_t)(*text - '0'));

		if (*text == '.' && !behind_point) {
			behind_point = true;
			continue;
		}
		if (!isdigit((unsigned char)*text))
			return fraction_of_double(number);
		digits = fraction_multiply(&digits, &ten);
		digits = fraction_add(&digits, &digit);
		if (behind_point)
			scale = fraction_multiply(&scale, &ten);
	}
	return fraction_divide(&digits, &scale);
}

static int read_number(struct reader *r)
{
	struct op op = { .code = OP_NUMBER };
	unsigned long long integer;
	char *end, *integer_end;

	op.number.number = perfctr_strtod(r->at, &end);
	if (end == r->at || !isfinite(op.number.number))
		return bad(r, "a number is expected");
	errno = 0;
	integer = strtoull(r->at, &integer_end, 10);
	if (integer_end == end && !errno && integer <= INT64_MAX) {
		op.number.integer = (int64_t)integer;
		op.number.flags = PERFCTR_VALUE_INTEGER;
	}
	op.exact = read_exact(r->at, end, op.number.number);
	r->at = end;
	return emit(r, op);
}

static size_t name_length(const char *text)
{
	size_t length = 0;
	bool dot = false;

	while (isalnum((unsigned char)text[length]) || text[length] == '_' ||
	       (text[length] == '.' && !dot && length)) {
		dot |= text[length] == '.';
		length++;
	}
	return length;
}

static int read_name(struct reader *r, size_t length)
{
	struct perfctr_expr *e = r->expr;
	struct op op = { .code = OP_NAME };

	if (length >= NAME_BYTES)
		return bad(r, "a name is too long");
	for (op.name = 0; op.name < e->name_count; op.name++)
		if (!strncmp(e->names[op.name], r->at, length) && !e->names[op.name][length])
			break;
	if (op.name == e->name_count) {
		if (e->name_count == MAX_NAMES)
			return bad(r, "too many names");
		memcpy(e->names[e->name_count], r->at, length);
		e->names[e->name_count++][length] = '\0';
	}
	r->at += length;
	return emit(r, op);
}

static int read_call(struct reader *r, enum op_code code)
{
	int error;

	if (!take(r, '('))
		return bad(r, "( is expected");
	error = read_sum(r);
	if (!error && !take(r, ','))
		return bad(r, "a comma is expected");
	do {
		error = error ? error : read_sum(r);
		error = error ? error : emit(r, (struct op){ .code = code });
	} while (!error && take(r, ','));
	if (!error && !take(r, ')'))
		return bad(r, ") is expected");
	return error;
}

static int read_value(struct reader *r)
{
	size_t length;
	int error;

	if (r->nesting == MAX_NESTING)
		return bad(r, "it is nested too deep");
	skip_space(r);
	if (take(r, '(')) {
		r->nesting++;
		error = read_sum(r);
		r->nesting--;
		if (!error && !take(r, ')'))
			return bad(r, ") is expected");
		return error;
	}
	if (take(r, '-')) {
		r->nesting++;
		error = read_value(r);
		r->nesting--;
		return error ? error : emit(r, (struct op){ .code = OP_NEG });
	}
	if (isdigit((unsigned char)*r->at))
		return read_number(r);

	length = name_length(r->at);
	if (!length)
		return bad(r, *r->at ? "a value is expected" : "it ends too early");
	if (r->at[length + strspn(r->at + length, " \t\n")] == '(') {
		enum op_code code;

		if (length == 3 && !strncmp(r->at, "min", length))
			code = OP_MIN;
		else if (length == 3 && !strncmp(r->at, "max", length))
			code = OP_MAX;
		else
			return bad(r, "only min() and max() are functions");
		r->at += length;
		r->nesting++;
		error = read_call(r, code);
		r->nesting--;
		return error;
	}
	return read_name(r, length);
}

/* A value, perhaps with a unit in brackets. */
static int read_factor(struct reader *r)
{
	struct perfctr_expr *e = r->expr;
	int error = read_value(r);
	size_t length;

	if (error || !take(r, '['))
		return error;
	length = strcspn(r->at, "]");
	if (!r->at[length])
		return bad(r, "] is expected");
	if (length >= CAST_BYTES || e->cast_count == MAX_CASTS)
		return bad(r, "a unit too long or too many of them");
	memcpy(e->casts[e->cast_count], r->at, length);
	if (!unit_read(e->casts[e->cast_count], &(struct unit){ 0 }))
		return bad(r, "unknown unit");
	e->ops[e->op_count - 1].cast = ++e->cast_count;
	r->at += length + 1;
	return 0;
}

/* Operands with two operators of the same precedence between them. */
static int read_chain(struct reader *r, int (*read_operand)(struct reader *r),
		      const char *operators, const enum op_code *codes)
{
	int error = read_operand(r);

	while (!error) {
		enum op_code code;

		if (take(r, operators[0]))
			code = codes[0];
		else if (take(r, operators[1]))
			code = codes[1];
		else
			break;
		error = read_operand(r);
		if (!error)
			error = emit(r, (struct op){ .code = code });
	}
	return error;
}

static int read_product(struct reader *r)
{
	return read_chain(r, read_factor, "*/", (enum op_code[]){ OP_MUL, OP_DIV });
}

static int read_sum(struct reader *r)
{
	return read_chain(r, read_product, "+-", (enum op_code[]){ OP_ADD, OP_SUB });
}

/* Largest number of values on the stack at the same time. */
static size_t stack_needed(const struct perfctr_expr *e)
{
	size_t depth = 0, most = 0, n;

	for (n = 0; n < e->op_count; n++) {
		if (e->ops[n].code <= OP_NAME)
			depth++;
		else if (e->ops[n].code != OP_NEG)
			depth--;
		most = depth > most ? depth : most;
	}
	return most;
}

int expr_read(struct perfctr_ctx *ctx, const char *text, struct perfctr_expr **expr, size_t *offset)
{
	struct reader r = { .ctx = ctx, .text = text, .at = text };
	int error;

	r.expr = malloc(sizeof(*r.expr));
	if (!r.expr)
		return perfctr_no_memory(ctx);
	memset(r.expr, 0, offsetof(struct perfctr_expr, ops));
	atomic_init(&r.expr->refs, 1);
	error = read_sum(&r);
	skip_space(&r);
	if (!error && *r.at)
		error = bad(&r, "an operator is expected");
	if (!error && stack_needed(r.expr) > MAX_STACK)
		error = bad(&r, "it is nested too deep");
	*offset = (size_t)(r.at - text);
	if (error)
		free(r.expr);
	else
		*expr = r.expr;
	return error;
}

EXPORT int perfctr_expr_new(struct perfctr_ctx *ctx, const char *text, struct perfctr_expr **expr)
{
	size_t offset;

	return expr_read(ctx, text, expr, &offset);
}

DEFINE_REFS(EXPORT, perfctr_expr, free)

EXPORT const char *perfctr_expr_name(const struct perfctr_expr *expr, size_t n)
{
	return n < expr->name_count ? expr->names[n] : NULL;
}

/* --- computing ------------------------------------------------------------------- */

/* Return: whether the exact result fits. */
static bool exact(enum op_code code, int64_t a, int64_t b, int64_t *result)
{
	switch (code) {
	case OP_ADD:
		return !__builtin_add_overflow(a, b, result);
	case OP_SUB:
		return !__builtin_sub_overflow(a, b, result);
	case OP_MUL:
		return !__builtin_mul_overflow(a, b, result);
	case OP_DIV:
		/* INT64_MIN / -1 overflows, and so does its remainder */
		if (b == 0 || (b == -1 && a == INT64_MIN) || a % b)
			return false;
		*result = a / b;
		return true;
	case OP_MIN:
		*result = a < b ? a : b;
		return true;
	case OP_MAX:
		*result = a > b ? a : b;
		return true;
	default:
		return false;
	}
}

static double inexact(enum op_code code, double a, double b)
{
	switch (code) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_DIV:
		return a / b;
	case OP_MIN:
		return a < b ? a : b;
	default:
		return a > b ? a : b;
	}
}

static struct perfctr_value no_value(uint32_t state)
{
	return (struct perfctr_value){ .state = state };
}

static struct perfctr_value combine(enum op_code code, const struct perfctr_value *a,
				    const struct perfctr_value *b)
{
	struct perfctr_value v = { 0 };

	if (a->state != PERFCTR_VALUE_OK)
		return no_value(a->state);
	if (b->state != PERFCTR_VALUE_OK)
		return no_value(b->state);
	if (code == OP_DIV && b->number == 0)
		return no_value(PERFCTR_VALUE_ZERO_DENOMINATOR);

	v.flags = (a->flags | b->flags) & ~(uint32_t)PERFCTR_VALUE_INTEGER;
	if (a->flags & b->flags & PERFCTR_VALUE_INTEGER &&
	    exact(code, a->integer, b->integer, &v.integer)) {
		v.flags |= PERFCTR_VALUE_INTEGER;
		v.number = (double)v.integer;
	} else {
		v.number = inexact(code, a->number, b->number);
		v.integer = 0;
	}
	return isfinite(v.number) ? v : no_value(PERFCTR_VALUE_OVERFLOW);
}

void expr_eval(const struct perfctr_expr *expr, expr_lookup lookup, void *data,
	       struct perfctr_value *value)
{
	struct perfctr_value stack[MAX_STACK];
	size_t depth = 0, n;

	stack[0] = (struct perfctr_value){ 0 };
	for (n = 0; n < expr->op_count; n++) {
		const struct op *op = &expr->ops[n];
		struct perfctr_value zero = { .flags = PERFCTR_VALUE_INTEGER };

		switch (op->code) {
		case OP_NUMBER:
			stack[depth++] = op->number;
			break;
		case OP_NAME:
			stack[depth] = (struct perfctr_value){ 0 };
			lookup(data, op->name, &stack[depth]);
			depth++;
			break;
		case OP_NEG:
			stack[depth - 1] = combine(OP_SUB, &zero, &stack[depth - 1]);
			break;
		default:
			depth--;
			stack[depth - 1] = combine(op->code, &stack[depth - 1], &stack[depth]);
		}
	}
	*value = stack[0];
}

struct by_name {
	const struct perfctr_expr *expr;
	perfctr_expr_lookup lookup;
	void *data;
};

static void lookup_by_name(void *data, size_t n, struct perfctr_value *value)
{
	const struct by_name *by = data;

	by->lookup(by->data, by->expr->names[n], value);
}

EXPORT void perfctr_expr_eval(const struct perfctr_expr *expr, perfctr_expr_lookup lookup,
			      void *data, struct perfctr_value *value)
{
	struct by_name by = { expr, lookup, data };

	expr_eval(expr, lookup_by_name, &by, value);
}

static struct fraction combine_fractions(enum op_code code, const struct fraction *a,
					 const struct fraction *b)
{
	struct fraction result;

	switch (code) {
	case OP_ADD:
		return fraction_add(a, b);
	case OP_SUB:
		return fraction_subtract(a, b);
	case OP_MUL:
		return fraction_multiply(a, b);
	case OP_DIV:
		return fraction_divide(a, b);
	default:
		if (a->state != PERFCTR_VALUE_OK || b->state != PERFCTR_VALUE_OK)
			return a->state != PERFCTR_VALUE_OK ? *a : *b;
		result = (fraction_compare(a, b) < 0) == (code == OP_MIN) ? *a : *b;
		result.flags = a->flags | b->flags;
		return result;
	}
}

struct fraction expr_eval_fraction(const struct perfctr_expr *expr, fraction_lookup lookup,
				   void *data)
{
	const struct fraction zero = fraction_of(0);
	struct fraction stack[MAX_STACK];
	size_t depth = 0, n;

	stack[0] = zero;
	for (n = 0; n < expr->op_count; n++) {
		const struct op *op = &expr->ops[n];

		if (op->code == OP_NUMBER) {
			stack[depth++] = op->exact;
		} else if (op->code == OP_NAME) {
			stack[depth++] = lookup(data, expr->names[op->name]);
		} else if (op->code == OP_NEG) {
			stack[depth - 1] = fraction_subtract(&zero, &stack[depth - 1]);
		} else {
			depth--;
			stack[depth - 1] =
				combine_fractions(op->code, &stack[depth - 1], &stack[depth]);
		}
	}
	return stack[0];
}

struct operand {
	struct unit unit;
	bool has_any; /* 0 has every unit */
	bool is_constant;
	double number;
};

static bool combine_units(enum op_code code, struct operand *a, const struct operand *b, char *why,
			  size_t size)
{
	bool is_product = code == OP_MUL || code == OP_DIV;
	char first[64], second[64];

	if (code == OP_DIV && b->is_constant && b->number == 0) {
		snprintf(why, size, "a division by 0");
		return false;
	}
	if (!is_product && !a->has_any && !b->has_any && !unit_equal(&a->unit, &b->unit)) {
		unit_text(&a->unit, first, sizeof(first));
		unit_text(&b->unit, second, sizeof(second));
		snprintf(why, size, "%s and %s cannot be added or compared",
			 *first ? first : "no unit", *second ? second : "no unit");
		return false;
	}
	for (size_t n = 0; is_product && !a->has_any && !b->has_any && n < UNIT_WORDS; n++)
		a->unit.power[n] = (signed char)(a->unit.power[n] +
						 (code == OP_MUL ? 1 : -1) * b->unit.power[n]);
	if (!is_product && a->has_any) {
		a->unit = b->unit;
		a->has_any = b->has_any;
	}
	a->is_constant &= b->is_constant;
	a->number = inexact(code, a->number, b->number);
	return true;
}

bool expr_unit(const struct perfctr_expr *expr, expr_unit_of unit_of, void *data, struct unit *unit,
	       char *why, size_t size)
{
	struct operand stack[MAX_STACK] = { 0 };
	size_t depth = 0;

	for (size_t n = 0; n < expr->op_count; n++) {
		const struct op *op = &expr->ops[n];

		if (op->code == OP_NUMBER || op->code == OP_NAME) {
			stack[depth] = (struct operand){ .number = op->number.number };
			stack[depth].is_constant = op->code == OP_NUMBER;
			stack[depth].has_any = op->code == OP_NUMBER && op->number.number == 0;
			if (op->code == OP_NAME &&
			    !unit_of(data, expr->names[op->name], &stack[depth].unit, why, size))
				return false;
			depth++;
		} else if (op->code == OP_NEG) {
			stack[depth - 1].number = -stack[depth - 1].number;
		} else {
			depth--;
			if (!combine_units(op->code, &stack[depth - 1], &stack[depth], why, size))
				return false;
		}
		if (op->cast) {
			stack[depth - 1].has_any = false;
			unit_read(expr->casts[op->cast - 1], &stack[depth - 1].unit);
		}
	}
	*unit = stack[0].unit;
	return true;
}

EXPORT const char *perfctr_value_state_text(unsigned int state)
{
	static const char *const texts[] = {
		[PERFCTR_VALUE_OK] = "ok",
		[PERFCTR_VALUE_NOT_SELECTED] = "not selected",
		[PERFCTR_VALUE_NOT_MEASURED] = "not measured",
		[PERFCTR_VALUE_ZERO_DENOMINATOR] = "division by zero",
		[PERFCTR_VALUE_OVERFLOW] = "overflow",
		[PERFCTR_VALUE_NOT_SUPPORTED] = "not supported",
	};

	return state < ARRAY_SIZE(texts) ? texts[state] : "unknown";
}
