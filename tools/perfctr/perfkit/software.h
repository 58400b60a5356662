/* SPDX-License-Identifier: MIT */
/* perfctr perfkit: what the program and its graphics driver report of each frame. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat.h"

enum { US_PER_S = 1000000, SOFTWARE_NAME_BYTES = 48, SOFTWARE_UNIT_BYTES = 16, SOFTWARE_MAX = 64 };

/* one counter */
struct perfkit_software_value {
	char name[SOFTWARE_NAME_BYTES];
	char unit[SOFTWARE_UNIT_BYTES];
	struct perfkit_stat stat;
};

/* the counters; zero-initialised */
struct perfkit_software {
	struct perfkit_software_value *values;
	size_t count;
};

/* CLOCK_MONOTONIC */
uint64_t perfkit_now_ns(void);

/*
 * Whether a process may send this text: "\nNAME NUMBER" or "\nNAME NUMBER UNIT", up to
 * SOFTWARE_MAX times.
 */
bool perfkit_software_check(const char *text);

/*
 * Add the values of a frame.
 * @text: checked; @began_ns: CLOCK_MONOTONIC at its begin, which gives frame time and frames per
 * second; 0: unknown.
 * Return: 0 or -ENOMEM.
 */
int perfkit_software_add(struct perfkit_software *software, const char *text, uint64_t began_ns);

void perfkit_software_free(struct perfkit_software *software);
