/* SPDX-License-Identifier: MIT */
/* Formulas as pages have them: with units in brackets. */
#pragma once

#include "private.h"
#include "unit.h"

/* As perfctr_expr_new(); after -EINVAL *offset is that of the mistake. */
int expr_read(struct perfctr_ctx *ctx, const char *text, struct perfctr_expr **expr,
	      size_t *offset);

/* The unit of a name; false: none, and why. */
typedef bool (*expr_unit_of)(void *data, const char *name, struct unit *unit, char *why,
			     size_t size);

/* Return: whether the units of a formula agree and nothing is divided by a constant 0. */
bool expr_unit(const struct perfctr_expr *expr, expr_unit_of unit_of, void *data, struct unit *unit,
	       char *why, size_t size);
