/* SPDX-License-Identifier: MIT */
/* Names in formulas that are not counters. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define METRIC_ELAPSED_NS "elapsed_ns"
#define METRIC_ELAPSED_S "elapsed_s"
#define METRIC_BLOCK_CYCLES "block.cycles"
#define METRIC_BLOCK_COUNT "block.count"
#define METRIC_EXT_BUS_BYTES "ext_bus_bytes"

/* The unit of a variable; NULL: it is none. */
static inline const char *metric_variable_unit(const char *name)
{
	return !strcmp(name, METRIC_ELAPSED_NS)	   ? "ns" :
	       !strcmp(name, METRIC_ELAPSED_S)	   ? "s" :
	       !strcmp(name, METRIC_BLOCK_CYCLES)  ? "cycles" :
	       !strcmp(name, METRIC_BLOCK_COUNT)   ? "" :
	       !strcmp(name, METRIC_EXT_BUS_BYTES) ? "bytes/beat" :
						     NULL;
}

static inline bool metric_is_variable(const char *name)
{
	return metric_variable_unit(name);
}
