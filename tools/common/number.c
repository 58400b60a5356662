// SPDX-License-Identifier: MIT
/* Sizes, times and counts from text; numbers with units, groups of digits or all digits. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct suffix {
	const char *text;
	uint64_t factor;
};

static const struct suffix count_suffixes[] = {
	{ "", 1 },
	{ "k", 1000 },
	{ "K", 1000 },
	{ "M", 1000000 },
	{ "G", 1000000000 },
	{ "T", 1000000000000 },
	{ "Ki", 1ull << 10 },
	{ "Mi", 1ull << 20 },
	{ "Gi", 1ull << 30 },
	{ "Ti", 1ull << 40 },
};

static const struct suffix time_suffixes[] = {
	{ "ns", 1 },	     { "us", 1000 },	   { "ms", 1000000 },
	{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
};

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const struct suffix *find_suffix(const struct suffix *table, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(table[i].text, text))
			return &table[i];
	return NULL;
}

int number_parse_count(const char *text, uint64_t *value)
{
	const struct suffix *suffix;
	unsigned long long number;
	uint64_t result;
	char *end;

	/* strtoull() accepts blanks and signs, which an amount does not have */
	if (!isdigit((unsigned char)*text))
		return -EINVAL;

	errno = 0;
	/* not base 0, which would read a leading zero as octal */
	number = strtoull(text, &end, !strncmp(text, "0x", 2) ? 16 : 10);
	if (errno)
		return -errno;

	suffix = find_suffix(count_suffixes, ARRAY_SIZE(count_suffixes), end);
	if (!suffix)
		return -EINVAL;
	if (__builtin_mul_overflow((uint64_t)number, suffix->factor, &result))
		return -ERANGE;
	*value = result;
	return 0;
}

int number_parse_time(const char *text, uint64_t unit_ns, uint64_t *value_ns)
{
	const struct suffix *suffix;
	uint64_t factor = unit_ns;
	size_t digits = strspn(text, "0123456789.");
	double number, ns;
	char *end;

	if (!digits || strcspn(text, "0123456789") >= digits)
		return -EINVAL;

	number = strtod(text, &end);
	if (end != text + digits)
		return -EINVAL;
	if (*end) {
		suffix = find_suffix(time_suffixes, ARRAY_SIZE(time_suffixes), end);
		if (!suffix)
			return -EINVAL;
		factor = suffix->factor;
	}

	ns = number * (double)factor;
	if (!(ns < 9.2e18))
		return -ERANGE;
	*value_ns = (uint64_t)llround(ns);
	return 0;
}

char *number_group(uint64_t value, char *text, size_t size)
{
	char digits[24], grouped[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	int out = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			grouped[out++] = ',';
		grouped[out++] = digits[i];
	}
	grouped[out] = '\0';
	snprintf(text, size, "%s", grouped);
	return text;
}

/* Write a minus if there is one. Return: its bytes. */
static size_t write_sign(int64_t value, char *text, size_t size)
{
	if (value >= 0 || size < 2)
		return 0;
	*text = '-';
	return 1;
}

static uint64_t without_sign(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

char *number_group_signed(int64_t value, char *text, size_t size)
{
	const size_t sign = write_sign(value, text, size);

	number_group(without_sign(value), text + sign, size - sign);
	return text;
}

static char *shorten(double value, bool is_time, char *text, size_t size)
{
	static const char *const large[] = { "", "k", "M", "G", "T", "P", "E" };
	static const char *const small[] = { "", "m", "u", "n" };
	double magnitude = fabs(value);
	const char *prefix = "";
	size_t step = 0;

	if (!isfinite(value)) {
		snprintf(text, size, "- ");
		return text;
	}
	/* 999.95 would round to 1000.0, so it takes the next prefix */
	if (magnitude >= 999.95) {
		while (magnitude >= 999.95 && step + 1 < ARRAY_SIZE(large)) {
			magnitude /= 1000;
			step++;
		}
		prefix = large[step];
	} else if (magnitude > 0 && magnitude < 0.01 && !is_time) {
		snprintf(text, size, "%.4g ", value);
		return text;
	} else if (magnitude > 0 && magnitude < 0.01) {
		while (magnitude < 1 && step + 1 < ARRAY_SIZE(small)) {
			magnitude *= 1000;
			step++;
		}
		prefix = small[step];
	}

	if (!step && magnitude == floor(magnitude))
		snprintf(text, size, "%s%.0f ", value < 0 ? "-" : "", magnitude);
	else
		snprintf(text, size, "%s%.*f %s", value < 0 ? "-" : "",
			 magnitude < 9.9995 ? 3 :
			 magnitude < 99.995 ? 2 :
					      1,
			 magnitude, prefix);
	return text;
}

char *number_short(double value, char *text, size_t size)
{
	return shorten(value, false, text, size);
}

char *number_seconds(double value, char *text, size_t size)
{
	shorten(value, true, text, size);
	strncat(text, "s", size - strlen(text) - 1);
	return text;
}

char *number_scaled(uint64_t value, double scale, char *text, size_t size)
{
	static const double tenths[] = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9 };
	uint64_t power = 1;

	for (int n = 0; n < 9; n++) {
		power *= 10;
		if (scale != tenths[n])
			continue;
		snprintf(text, size, "%llu.%0*llu", (unsigned long long)(value / power), n + 1,
			 (unsigned long long)(value % power));
		return text;
	}
	/* a long double holds 64 bits, and the other factors are powers of two */
	snprintf(text, size, "%.21Lg", (long double)value * scale);
	return text;
}

char *number_scaled_signed(int64_t value, double scale, char *text, size_t size)
{
	const size_t sign = write_sign(value, text, size);

	number_scaled(without_sign(value), scale, text + sign, size - sign);
	return text;
}

/*
 * The first seven digits, rounded, and the exponent of the first one. A product or quotient with
 * an exact power of ten, below 10^7, is wrong by 10^-9.
 * @value: from 10^-9 to below 10^20. Return: false: so close to a tie that this could matter.
 */
static bool seven_digits(double value, uint32_t *digits, int *exponent)
{
	static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,
					 1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
					 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20 };
	double rest;
	int e = 0;

	while (e < 19 && value >= powers[e + 1])
		e++;
	while (value < 1 && e > -9 && value * powers[-e] < 1)
		e--;
	value = e > 6 ? value / powers[e - 6] : value * powers[6 - e];
	*digits = (uint32_t)value;
	rest = value - *digits;
	if (fabs(rest - 0.5) < 1e-8)
		return false;
	*digits += rest > 0.5;
	*exponent = e;
	return *digits >= 1000000 && *digits < 10000000;
}

size_t number_seven_digits(double value, char *text, size_t size)
{
	enum { DIGITS = 7 };
	char number[DIGITS], *to = text;
	int exponent, count = DIGITS, whole;
	uint32_t digits;

	if (size < 16 || !(value >= 1e-9 && value < 1e20) ||
	    !seven_digits(value, &digits, &exponent))
		return (size_t)snprintf(text, size, "%.7g", value);
	for (int n = DIGITS; n--; digits /= 10)
		number[n] = (char)('0' + digits % 10);
	while (number[count - 1] == '0')
		count--;
	whole = exponent >= DIGITS || exponent < -4 ? 1 : exponent + 1;
	if (whole <= 0)
		*to++ = '0';
	for (int n = 0; n < whole; n++)
		*to++ = n < count ? number[n] : '0';
	if (count > whole)
		*to++ = '.';
	for (int n = whole; n < 0; n++)
		*to++ = '0';
	for (int n = whole < 0 ? 0 : whole; n < count; n++)
		*to++ = number[n];
	if (exponent >= DIGITS || exponent < -4) {
		*to++ = 'e';
		*to++ = exponent < 0 ? '-' : '+';
		*to++ = (char)('0' + abs(exponent) / 10);
		*to++ = (char)('0' + abs(exponent) % 10);
	}
	*to = '\0';
	return (size_t)(to - text);
}
