// SPDX-License-Identifier: MIT
#include "fraction.h"

#include <math.h>

#define INT128_MOST ((int128)(~(__extension__(unsigned __int128) 0) >> 1))

enum { DOUBLE_BITS = 53, MOST_SHIFT = 126 - DOUBLE_BITS, MOST_DECIMALS = 18 };

static int128 absolute(int128 a)
{
	return a < 0 ? -a : a;
}

static int128 common_divisor(int128 a, int128 b)
{
	while (b) {
		int128 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

struct fraction fraction_none(uint32_t state)
{
	return (struct fraction){ .denominator = 1, .state = state };
}

struct fraction fraction_of(uint64_t number)
{
	return (struct fraction){ .numerator = number, .denominator = 1 };
}

static struct fraction reduce(int128 numerator, int128 denominator, uint32_t flags)
{
	int128 divisor;

	/* the minimum has no positive counterpart */
	if (numerator < -INT128_MOST)
		return fraction_none(PERFCTR_VALUE_OVERFLOW);
	divisor = common_divisor(absolute(numerator), denominator);
	return (struct fraction){
		.numerator = numerator / divisor,
		.denominator = denominator / divisor,
		.flags = flags,
	};
}

struct fraction fraction_of_double(double number)
{
	int exponent;
	double mantissa = frexp(number, &exponent);
	int128 integer = (int128)ldexp(mantissa, DOUBLE_BITS);

	exponent -= DOUBLE_BITS;
	if (!isfinite(number) || exponent > MOST_SHIFT || exponent < -MOST_SHIFT - DOUBLE_BITS)
		return fraction_none(PERFCTR_VALUE_OVERFLOW);
	if (exponent >= 0)
		return reduce(integer * ((int128)1 << exponent), 1, 0);
	return reduce(integer, (int128)1 << -exponent, 0);
}

struct fraction fraction_of_decimal(double number)
{
	int128 power = 1;

	for (int n = 0; n <= MOST_DECIMALS; n++, power *= 10) {
		double digits = nearbyint(number * (double)power);

		if (fabs(digits) < (double)(INT64_C(1) << DOUBLE_BITS) &&
		    digits / (double)power == number)
			return reduce((int128)digits, power, 0);
	}
	return fraction_of_double(number);
}

/* Return: whether both are values; else @none has the state. */
static bool both(const struct fraction *a, const struct fraction *b, struct fraction *none)
{
	*none = fraction_none(a->state != PERFCTR_VALUE_OK ? a->state : b->state);
	return a->state == PERFCTR_VALUE_OK && b->state == PERFCTR_VALUE_OK;
}

static struct fraction sum(const struct fraction *a, const struct fraction *b, bool negative)
{
	int128 divisor, left, right, denominator, numerator;
	struct fraction none;

	if (!both(a, b, &none))
		return none;
	/* use the smallest common denominator */
	divisor = common_divisor(a->denominator, b->denominator);
	if (__builtin_mul_overflow(a->numerator, b->denominator / divisor, &left) ||
	    __builtin_mul_overflow(b->numerator, a->denominator / divisor, &right) ||
	    __builtin_mul_overflow(a->denominator, b->denominator / divisor, &denominator) ||
	    (negative ? __builtin_sub_overflow(left, right, &numerator) :
			__builtin_add_overflow(left, right, &numerator)))
		return fraction_none(PERFCTR_VALUE_OVERFLOW);
	return reduce(numerator, denominator, a->flags | b->flags);
}

struct fraction fraction_add(const struct fraction *a, const struct fraction *b)
{
	return sum(a, b, false);
}

struct fraction fraction_subtract(const struct fraction *a, const struct fraction *b)
{
	return sum(a, b, true);
}

struct fraction fraction_multiply(const struct fraction *a, const struct fraction *b)
{
	int128 first, second, numerator, denominator;
	struct fraction none;

	if (!both(a, b, &none))
		return none;
	first = common_divisor(absolute(a->numerator), b->denominator);
	second = common_divisor(absolute(b->numerator), a->denominator);
	if (__builtin_mul_overflow(a->numerator / first, b->numerator / second, &numerator) ||
	    __builtin_mul_overflow(a->denominator / second, b->denominator / first, &denominator))
		return fraction_none(PERFCTR_VALUE_OVERFLOW);
	return reduce(numerator, denominator, a->flags | b->flags);
}

struct fraction fraction_divide(const struct fraction *a, const struct fraction *b)
{
	struct fraction inverse = *b, none;

	if (!both(a, b, &none))
		return none;
	if (!b->numerator)
		return fraction_none(PERFCTR_VALUE_ZERO_DENOMINATOR);
	inverse.numerator = b->numerator < 0 ? -b->denominator : b->denominator;
	inverse.denominator = absolute(b->numerator);
	return fraction_multiply(a, &inverse);
}

int fraction_compare(const struct fraction *a, const struct fraction *b)
{
	struct fraction difference = fraction_subtract(a, b);
	long double left, right;

	if (difference.state == PERFCTR_VALUE_OK)
		return (difference.numerator > 0) - (difference.numerator < 0);
	left = (long double)a->numerator / (long double)a->denominator;
	right = (long double)b->numerator / (long double)b->denominator;
	return (left > right) - (left < right);
}
