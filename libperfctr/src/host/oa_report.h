/* SPDX-License-Identifier: MIT */
/* Reports of OA units: their formats, and differences of two. */
#pragma once

#include "kernel.h"
#include "../../counters/intel/oa_list.h"

struct oa_format {
	size_t bytes;
	u32 of_i915; /* enum drm_i915_oa_format, 0: it has none */
	u64 of_xe; /* value of DRM_XE_OA_PROPERTY_OA_FORMAT */
	u64 has_40_bits; /* the A counters that have */
	u8 first_a32, last_a32; /* the A counters after those of 40 bits, of which A37 is apart */
	bool is_64;
};

extern const struct oa_format oa_a32u40, oa_a24u40, oa_pec64;

/* of a report, with all counters that it has */
struct oa_values {
	u64 timestamp, raws[OA_CLOCKS + 1];
};

void oa_decode(const struct oa_format *format, const void *report, struct oa_values *values);

/* Bits of a raw counter, 0: not in the format. */
unsigned int oa_bits(const struct oa_format *format, unsigned int raw);

/* What raw counter counted between two reports, in less than it takes to wrap. */
u64 oa_difference(const struct oa_format *format, unsigned int raw, const struct oa_values *from,
		  const struct oa_values *to);
