/* SPDX-License-Identifier: MIT */
/*
 * Fractions of integers, for values that must not be rounded.
 *
 * Always in lowest terms with a positive denominator. A result that does not fit in 127 bits
 * becomes PERFCTR_VALUE_OVERFLOW, never a wrong number.
 */
#pragma once

#include <perfctr/perfctr.h>

__extension__ typedef __int128 int128;

struct fraction {
	int128 numerator, denominator;
	uint32_t state, flags; /* enum perfctr_value_state, enum perfctr_perfkit_flags */
};

struct fraction fraction_of(uint64_t number);
/* Exact conversion: every finite double is a fraction. */
struct fraction fraction_of_double(double number);
/* The shortest decimal fraction that is read as that double, 1/1000 for 0.001; else as above. */
struct fraction fraction_of_decimal(double number);
struct fraction fraction_none(uint32_t state);

struct fraction fraction_add(const struct fraction *a, const struct fraction *b);
struct fraction fraction_subtract(const struct fraction *a, const struct fraction *b);
struct fraction fraction_multiply(const struct fraction *a, const struct fraction *b);
struct fraction fraction_divide(const struct fraction *a, const struct fraction *b);
/* Return: negative, zero or positive; both must have a value. Compares quotients on overflow. */
int fraction_compare(const struct fraction *a, const struct fraction *b);

/* Returns the value of a name in a formula. */
typedef struct fraction (*fraction_lookup)(void *data, const char *name);

/* Evaluate a formula exactly; in expr.c. */
struct fraction expr_eval_fraction(const struct perfctr_expr *expr, fraction_lookup lookup,
				   void *data);
