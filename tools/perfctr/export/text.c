// SPDX-License-Identifier: MIT
/* A buffer of output, and numbers as text faster than printf(): the same digits. */
#include "export.h"

#include <math.h>
#include <stdbool.h>

#include "lib/json.h"

enum { SIGNIFICAND_BITS = 53, FEWEST_DIGITS = 15, MOST_DIGITS = 17 };

__extension__ typedef unsigned __int128 u128;

void text_flush(struct text *text)
{
	fwrite(text->bytes, 1, text->used, text->out);
	text->used = 0;
}

void text_add(struct text *text, const char *bytes, size_t size)
{
	if (size > TEXT_BYTES - text->used)
		text_flush(text);
	if (size > TEXT_BYTES) {
		fwrite(bytes, 1, size, text->out);
		return;
	}
	memcpy(text->bytes + text->used, bytes, size);
	text->used += size;
}

/* Write the digits so that they end there. Return: the first one. */
static char *digits_before(char *end, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	while (value >= 100) {
		end -= 2;
		memcpy(end, pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	*--end = pairs[2 * value + 1];
	if (value >= 10)
		*--end = pairs[2 * value];
	return end;
}

void text_u64(struct text *text, uint64_t value)
{
	char number[JSON_NUMBER_BYTES], *end = number + sizeof(number);
	char *start = digits_before(end, value);

	text_add(text, start, (size_t)(end - start));
}

void text_value(struct text *text, const struct row *row, uint64_t value)
{
	const bool is_negative = row_is_level(row) && (int64_t)value < 0;

	if (is_negative)
		text_put(text, "-");
	text_u64(text, is_negative ? -value : value);
}

/*
 * The fewest digits, at least 15, that read back as the value: integer * 10^-places, by exact
 * arithmetic, rounded to even as printf() does.
 * @value: from 0.001 to below 10^15, so that the significand times 10^places has at most 117 bits.
 * Return: false if printf() is to decide.
 */
static bool shortest(double value, uint64_t *integer, int *places)
{
	const int whole = (int)floor(log10(value)) + 1;
	int exponent;
	const double fraction = frexp(value, &exponent);
	const uint64_t significand = (uint64_t)ldexp(fraction, SIGNIFICAND_BITS);
	const int shift = SIGNIFICAND_BITS - exponent;
	u128 power = 1;

	for (*places = 0; *places < FEWEST_DIGITS - whole; ++*places)
		power *= 10;
	for (; *places <= MOST_DIGITS - whole; ++*places, power *= 10) {
		const u128 product = significand * power, half = (u128)1 << (shift - 1);
		u128 rest, back;

		*integer = (uint64_t)(product >> shift);
		rest = product - ((u128)*integer << shift);
		*integer += rest > half || (rest == half && *integer & 1);
		back = (u128)*integer << shift;
		/* of a power of two the next smaller number is nearer than the next larger one */
		if (fraction == 0.5 && back != product)
			return false;
		/* nearer to the value than half the distance to the next one */
		if (2 * (back > product ? back - product : product - back) < power)
			return true;
	}
	return false;
}

void text_double(struct text *text, double value)
{
	char number[JSON_NUMBER_BYTES], *end = number + sizeof(number), *start;
	const double size = fabs(value);
	uint64_t integer;
	int places;

	if (!(size >= 1e-3 && size < 1e15) || !shortest(size, &integer, &places)) {
		text_put(text, json_number_text(value, number, sizeof(number)));
		return;
	}
	for (; places > 1 && integer % 10 == 0; places--)
		integer /= 10;
	start = digits_before(end, integer);
	while (end - start <= places)
		*--start = '0';
	if (value < 0)
		text_add(text, "-", 1);
	text_add(text, start, (size_t)(end - start - places));
	text_add(text, ".", 1);
	text_add(text, end - places, (size_t)places);
	if (!places)
		text_add(text, "0", 1);
}
