// SPDX-License-Identifier: MIT
/* A buffer of output, and numbers as text faster than printf(): the same digits. */
#include "export.h"

#include <math.h>
#include <stdbool.h>

#include "lib/json.h"

enum { SIGNIFICAND_BITS = 53, EXPONENT_OF_1 = 1023, FEWEST_DIGITS = 15, MOST_DIGITS = 17 };

/* of ten, up to the largest number of places: that of MOST_DIGITS behind "0.00" */
static const uint64_t powers[MOST_DIGITS + 3] = {
	UINT64_C(1),
	UINT64_C(10),
	UINT64_C(100),
	UINT64_C(1000),
	UINT64_C(10000),
	UINT64_C(100000),
	UINT64_C(1000000),
	UINT64_C(10000000),
	UINT64_C(100000000),
	UINT64_C(1000000000),
	UINT64_C(10000000000),
	UINT64_C(100000000000),
	UINT64_C(1000000000000),
	UINT64_C(10000000000000),
	UINT64_C(100000000000000),
	UINT64_C(1000000000000000),
	UINT64_C(10000000000000000),
	UINT64_C(100000000000000000),
	UINT64_C(1000000000000000000),
	UINT64_C(10000000000000000000),
};

__extension__ typedef unsigned __int128 u128;

void text_flush(struct text *text)
{
	fwrite(text->bytes, 1, text->used, text->out);
	text->used = 0;
}

void text_add_any(struct text *text, const char *bytes, size_t size)
{
	text_flush(text);
	if (size > TEXT_BYTES)
		fwrite(bytes, 1, size, text->out);
	else
		text_add(text, bytes, size);
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
	const uint64_t lowest = UINT64_C(1) << (SIGNIFICAND_BITS - 1);
	int whole = value < 0.01 ? -2 : value < 0.1 ? -1 : 0, shift;
	uint64_t bits, significand;

	memcpy(&bits, &value, sizeof(bits));
	significand = (bits & (lowest - 1)) | lowest;
	shift = EXPONENT_OF_1 + SIGNIFICAND_BITS - 1 - (int)(bits >> (SIGNIFICAND_BITS - 1));
	while (whole >= 0 && (uint64_t)value >= powers[whole])
		whole++;
	for (*places = FEWEST_DIGITS - whole; *places <= MOST_DIGITS - whole; ++*places) {
		const uint64_t power = powers[*places];
		const u128 product = (u128)significand * power, half = (u128)1 << (shift - 1);
		u128 rest, back;

		*integer = (uint64_t)(product >> shift);
		rest = product - ((u128)*integer << shift);
		*integer += rest > half || (rest == half && *integer & 1);
		back = (u128)*integer << shift;
		/* of a power of two the next smaller number is nearer than the next larger one */
		if (significand == lowest && back != product)
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
