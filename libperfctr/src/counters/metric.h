/* SPDX-License-Identifier: MIT */
/* Names in formulas that are not counters, and formulas with numbers instead of names. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include "base/device.h"
#include "unit.h"

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

/* --- Formulas as pages have them: with units in brackets --- */

/* As perfctr_expr_new(); after -EINVAL *offset is that of the mistake. */
int expr_read(struct perfctr_ctx *ctx, const char *text, struct perfctr_expr **expr,
	      size_t *offset);

/* The unit of a name; false: none, and why. */
typedef bool (*expr_unit_of)(void *data, const char *name, struct unit *unit, char *why,
			     size_t size);

/* Return: whether the units of a formula agree and nothing is divided by a constant 0. */
bool expr_unit(const struct perfctr_expr *expr, expr_unit_of unit_of, void *data, struct unit *unit,
	       char *why, size_t size);

/* As perfctr_expr_lookup() and perfctr_expr_eval(), by the numbers of perfctr_expr_name(). */
typedef void (*expr_lookup)(void *data, size_t n, struct perfctr_value *value);
void expr_eval(const struct perfctr_expr *expr, expr_lookup lookup, void *data,
	       struct perfctr_value *value);
