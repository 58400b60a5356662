// SPDX-License-Identifier: MIT
/*
 * Reports of OA units: a header with reason, time, context and clocks, then counters, which are
 * cumulative and wrap. The upper 8 bits of those with 40 are together behind the lower ones.
 */
#include "oa_report.h"

#include <string.h>

enum {
	/* places of dwords in a report of 256 bytes; of quadwords in one with 64 bits */
	TIMESTAMP = 1,
	CLOCKS = 3,
	FIRST_COUNTER = 4,
	UPPER_BYTES = 40, /* of A0, A1, ... one after the other */
	A37 = 46,
	B0 = 48,
	C0 = 56,
	OTHERS = 8, /* counters B, counters C */
};

#define A(first, last) (((UINT64_C(2) << (last)) - 1) & ~((UINT64_C(1) << (first)) - 1))

const struct oa_format oa_a32u40 = {
	.bytes = 256,
	.of_i915 = 10,
	.of_xe = 5 << 8,
	.has_40_bits = A(0, 31),
	.first_a32 = 32,
	.last_a32 = 35,
};

const struct oa_format oa_a24u40 = {
	.bytes = 256,
	.of_i915 = 12,
	.of_xe = 5 << 8,
	.has_40_bits = A(4, 23) | A(28, 31),
	.first_a32 = 32,
	.last_a32 = 37,
};

const struct oa_format oa_pec64 = {
	.bytes = 576,
	.of_xe = 1 << 16 | 1 << 8 | 5,
	.is_64 = true,
};

unsigned int oa_bits(const struct oa_format *format, unsigned int raw)
{
	if (raw > OA_CLOCKS)
		return 0;
	if (format->is_64)
		return 64;
	if (raw < format->first_a32 && format->has_40_bits >> raw & 1)
		return 40;
	return raw <= format->last_a32 || (raw >= OA_FIRST_B && raw < OA_FIRST_C + OTHERS) ||
			       raw == OA_CLOCKS ?
		       32 :
		       0;
}

static u32 dword(const void *report, unsigned int n)
{
	u32 value;

	memcpy(&value, (const char *)report + n * sizeof(value), sizeof(value));
	return value;
}

static void decode_32(const struct oa_format *format, const void *report, struct oa_values *v)
{
	const unsigned char *upper = (const unsigned char *)report + UPPER_BYTES * sizeof(u32);

	v->timestamp = dword(report, TIMESTAMP);
	v->raws[OA_CLOCKS] = dword(report, CLOCKS);
	for (unsigned int n = 0; n <= format->last_a32; n++)
		v->raws[n] = dword(report, n == 37 ? A37 : FIRST_COUNTER + n) |
			     (format->has_40_bits >> n & 1 ? (u64)upper[n] << 32 : 0);
	for (unsigned int n = 0; n < OTHERS; n++) {
		v->raws[OA_FIRST_B + n] = dword(report, B0 + n);
		v->raws[OA_FIRST_C + n] = dword(report, C0 + n);
	}
}

static void decode_64(const void *report, struct oa_values *v)
{
	u64 values[FIRST_COUNTER + OA_REPORTED];

	memcpy(values, report, sizeof(values));
	v->timestamp = values[TIMESTAMP];
	v->raws[OA_CLOCKS] = values[CLOCKS];
	memcpy(v->raws, values + FIRST_COUNTER, OA_REPORTED * sizeof(*values));
}

void oa_decode(const struct oa_format *format, const void *report, struct oa_values *values)
{
	memset(values, 0, sizeof(*values));
	if (format->is_64)
		decode_64(report, values);
	else
		decode_32(format, report, values);
}

u64 oa_difference(const struct oa_format *format, unsigned int raw, const struct oa_values *from,
		  const struct oa_values *to)
{
	const unsigned int bits = oa_bits(format, raw);

	return bits ? (to->raws[raw] - from->raws[raw]) & (~UINT64_C(0) >> (64 - bits)) : 0;
}
