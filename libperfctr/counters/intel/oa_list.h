/* SPDX-License-Identifier: MIT */
/* What an OA unit counts: registers that choose it, and counts made of its reports. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* raw counters: A, or PEC, from 0 on, B and C from here on, then what is made of clocks */
enum {
	OA_FIRST_B = 40,
	OA_FIRST_C = 48,
	OA_REPORTED = 64,
	OA_CLOCKS = OA_REPORTED,
	OA_EU_CLOCKS,
	OA_THREAD_CLOCKS,
	OA_RAWS,
};

struct oa_register {
	uint32_t address, value;
};

/* the counter at @position is @factor times the sum of @count raw ones */
struct oa_equation {
	uint8_t position, factor, count, raws[4];
};

struct oa_list {
	const char *uuid;
	const struct oa_register *mux, *boolean, *flex;
	uint32_t mux_count, boolean_count, flex_count;
	const struct oa_equation *equations;
	size_t equation_count;
};
