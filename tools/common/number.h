/* SPDX-License-Identifier: MIT */
/* Numbers as users type and read them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Read an amount: "1000", "0x10", "64k", "2M", "4Ki", "1Gi".
 * @text: whole text; k M G T are powers of 1000, Ki Mi Gi Ti of 1024.
 * Return: 0; -EINVAL no number; -ERANGE beyond 64 bits.
 */
int number_parse_count(const char *text, uint64_t *value);

/*
 * Read a duration: "500", "10ms", "1.5s", "2m".
 * @text: whole text; ns us ms s m h; @unit_ns: unit of a number without one, in ns.
 * Return: 0; -EINVAL no duration; -ERANGE beyond 2^63 ns.
 */
int number_parse_time(const char *text, uint64_t unit_ns, uint64_t *value_ns);

/* The end of a noun after a number: "s", or nothing after 1. */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/*
 * Write an integer with a comma at each thousand.
 * @text: buffer, always NUL terminated after the call; @size: bytes at @text; 27 are enough for all
 * values.
 * Return: @text.
 */
char *number_group(uint64_t value, char *text, size_t size);

/* The same of a number that may be negative. */
char *number_group_signed(int64_t value, char *text, size_t size);

/*
 * Write a number with four digits and a prefix of 1000: "12.35 M". A blank follows the digits even
 * without a prefix, so that a unit can be appended.
 * @text: buffer, always NUL terminated after the call.
 * Below 0.01 it has no prefix: "0.00512 ", as units such as accesses/cycle have none.
 * Return: @text.
 */
char *number_short(double value, char *text, size_t size);

/* As number_short() for seconds: "12.35 ms", "100.0 us". */
char *number_seconds(double value, char *text, size_t size);

/*
 * Write an integer times a factor in decimal digits. Exact if @scale is a power of ten from 1e-9 to
 * 1, or a power of two with a result of at most 21 digits.
 * @text: buffer, 48 bytes are enough for all values.
 * Return: @text.
 */
char *number_scaled(uint64_t value, double scale, char *text, size_t size);

/* The same of a number that may be negative; 49 bytes are enough. */
char *number_scaled_signed(int64_t value, double scale, char *text, size_t size);

/*
 * Write a number as printf() does with "%.7g", several times faster where the digits are clear.
 * @text: buffer, 16 bytes are enough for all values.
 * Return: bytes that were written, without the NUL.
 */
size_t number_seven_digits(double value, char *text, size_t size);
