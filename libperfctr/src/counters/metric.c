// SPDX-License-Identifier: MIT
/* Metrics: formulas of the database, computed from totals. */
#include "metric.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "selection.h"
#include "totals.h"

struct scope {
	const struct perfctr_totals *totals;
	const struct perfctr_metric_desc *metric;
	const struct perfctr_totals_block *block; /* block for names without a block prefix */
	const struct perfctr_totals_block *clocked; /* the section of it whose clock is used */
};

static struct perfctr_value value_of_u64(uint64_t number)
{
	struct perfctr_value v = { .number = (double)number };

	if (number <= INT64_MAX) {
		v.integer = (int64_t)number;
		v.flags = PERFCTR_VALUE_INTEGER;
	}
	return v;
}

static const struct perfctr_total *find_counter(const struct perfctr_totals_block *b,
						const char *name)
{
	uint64_t mask;

	for (mask = b->mask; mask; mask &= mask - 1) {
		const struct perfctr_total *t = &b->counters[__builtin_ctzll(mask)].total;

		if (t->desc && !strcmp(t->desc->name, name))
			return t;
	}
	return NULL;
}

/* Whether two blocks are sections of the same block, or clock domains of the same sum. */
static bool same_block(const struct perfctr_totals_block *a, const struct perfctr_totals_block *b)
{
	return a->info.type == b->info.type && a->info.index == b->info.index &&
	       a->info.set == b->info.set && a->info.product == b->info.product &&
	       a->info.config == b->info.config && a->info.config1 == b->info.config1 &&
	       a->info.config2 == b->info.config2 && !strcmp(a->pmu, b->pmu);
}

/* Blocks of NVIDIA GPUs: the kernel multiplexes their counters and reports a time for each. */
static bool takes_turns(const struct perfctr_totals_block *b)
{
	return b->info.time_enabled && !b->info.is_pmu;
}

/* The event may not have run because the task was on other CPUs, where it counted zero. */
static bool is_part_of_task(const struct perfctr_totals_block *b)
{
	const uint32_t both = DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_UNAVAILABLE;

	return b->info.is_pmu && (b->info.states & both) == both;
}

static struct perfctr_value value_of_counter(const struct perfctr_totals_block *b,
					     const struct perfctr_total *t)
{
	struct perfctr_value v = value_of_u64(t->sum);

	if (!t->measured || (b->info.time_enabled && !t->running_ns))
		return (struct perfctr_value){ .state = PERFCTR_VALUE_NOT_MEASURED };
	if (t->overflow)
		return (struct perfctr_value){ .state = PERFCTR_VALUE_OVERFLOW };
	/* events of a block are enabled one by one, so a shorter time alone is no multiplexing */
	if (is_part_of_task(b) && t->running_ns < b->info.time_enabled) {
		v.flags |= PERFCTR_VALUE_PARTIAL;
	} else if (b->info.states & DRM_PERFCTR_STATE_MULTIPLEXED &&
		   t->running_ns < b->info.time_enabled) {
		/* multiplexed: extrapolate at the same rate */
		v.number *= (double)b->info.time_enabled / (double)t->running_ns;
		v.integer = 0;
		v.flags = PERFCTR_VALUE_ESTIMATED;
	}
	/* a counter that did not run in a sample is covered by the extrapolation */
	if (t->missed && !takes_turns(b))
		v.flags |= PERFCTR_VALUE_PARTIAL;
	return v;
}

/* The sum of two counters, exact where it can be. */
static void add_value(struct perfctr_value *sum, const struct perfctr_value *v)
{
	uint32_t inexact = sum->flags & v->flags & PERFCTR_VALUE_INTEGER ? 0 :
									   PERFCTR_VALUE_INTEGER;

	if (v->state != PERFCTR_VALUE_OK) {
		/* the other blocks are only a part of the requested sum */
		sum->flags |= PERFCTR_VALUE_PARTIAL;
		return;
	}
	sum->number += v->number;
	if (inexact || __builtin_add_overflow(sum->integer, v->integer, &sum->integer))
		inexact = PERFCTR_VALUE_INTEGER;
	sum->flags = (sum->flags | v->flags) & ~inexact;
	if (inexact)
		sum->integer = 0;
}

/* A metric covers all traffic, unless a filtered block is requested. */
static bool is_filtered(const struct perfctr_totals_block *b)
{
	return b->info.is_pmu && b->info.type != DRM_PERFCTR_BLOCK_GENERIC_PMU &&
	       (b->info.config || b->info.config1 || b->info.config2);
}

/* A counter in all blocks of a type, "MEMSYS.L2_READ". */
static struct perfctr_value sum_of_type(const struct scope *scope, const char *name)
{
	const char *dot = strchr(name, '.');
	struct perfctr_value sum = { .state = PERFCTR_VALUE_NOT_SELECTED };

	for (size_t n = 0; n < scope->totals->block_count; n++) {
		const struct perfctr_totals_block *b = scope->totals->blocks[n];
		const char *type = perfctr_block_type_name(b->info.type);
		const struct perfctr_total *t;
		struct perfctr_value v;

		if (!type || is_filtered(b) || strlen(type) != (size_t)(dot - name) ||
		    strncasecmp(type, name, strlen(type)) ||
		    b->info.product != scope->metric->product)
			continue;
		t = find_counter(b, dot + 1);
		if (!t)
			continue;
		v = value_of_counter(b, t);
		if (sum.state == PERFCTR_VALUE_OK)
			add_value(&sum, &v);
		else
			sum = v;
	}
	return sum;
}

/* The section of the scope's block that has a counter; NULL if none has. */
static const struct perfctr_totals_block *part_with(const struct scope *scope, const char *name,
						    const struct perfctr_total **counter)
{
	const struct perfctr_totals_block *b = NULL;

	if (scope->block)
		b = totals_chain(scope->totals, scope->block->info.type, scope->block->info.index);
	for (; b; b = b->next) {
		*counter = same_block(b, scope->block) ? find_counter(b, name) : NULL;
		if (*counter)
			return b;
	}
	return NULL;
}

static struct perfctr_value value_in_block(const struct scope *scope, const char *name)
{
	const struct perfctr_total *t;
	const struct perfctr_totals_block *b = part_with(scope, name, &t);

	if (!b)
		return (struct perfctr_value){ .state = PERFCTR_VALUE_NOT_SELECTED };
	return value_of_counter(b, t);
}

/* block.cycles uses the clock of the formula's first counter. */
static const struct perfctr_totals_block *clocked_part(const struct scope *scope,
						       const struct perfctr_expr *expr)
{
	const struct perfctr_totals_block *b = NULL;
	const struct perfctr_total *t;
	const char *name;

	for (size_t n = 0; !b && (name = perfctr_expr_name(expr, n)); n++)
		if (!metric_is_variable(name) && !strchr(name, '.'))
			b = part_with(scope, name, &t);
	return b ? b : scope->block;
}

static void lookup(void *data, const char *name, struct perfctr_value *value)
{
	const struct scope *scope = data;
	uint64_t elapsed_ns = scope->clocked ? scope->clocked->info.elapsed_ns :
					       scope->totals->span.elapsed_ns;

	if (!strcmp(name, METRIC_ELAPSED_NS)) {
		*value = value_of_u64(elapsed_ns);
	} else if (!strcmp(name, METRIC_ELAPSED_S)) {
		*value = (struct perfctr_value){ .number = (double)elapsed_ns / NS_PER_S };
	} else if (!strcmp(name, METRIC_BLOCK_CYCLES)) {
		*value = value_of_u64(scope->clocked ? scope->clocked->info.clock_cycles : 0);
		if (!scope->clocked)
			value->state = PERFCTR_VALUE_NOT_SELECTED;
		else if (scope->clocked->info.clock == DRM_PERFCTR_CLOCK_NONE)
			value->state = PERFCTR_VALUE_NOT_MEASURED;
	} else if (!strcmp(name, METRIC_EXT_BUS_BYTES)) {
		const struct perfctr_selection *s = scope->totals->selection;

		*value = value_of_u64(s ? s->device->ext_bus_bytes : 0);
		if (!value->integer)
			value->state = PERFCTR_VALUE_NOT_MEASURED;
	} else if (!strcmp(name, METRIC_BLOCK_COUNT)) {
		*value = value_of_u64(scope->block ? scope->block->info.blocks : 0);
		if (!scope->block)
			value->state = PERFCTR_VALUE_NOT_SELECTED;
	} else if (strchr(name, '.')) {
		*value = sum_of_type(scope, name);
	} else {
		*value = value_in_block(scope, name);
	}
}

static const struct perfctr_totals_block *first_block(const struct perfctr_totals *totals,
						      const struct perfctr_metric_desc *metric)
{
	for (size_t n = 0; n < totals->block_count; n++)
		if (totals->blocks[n]->info.type == metric->block_type &&
		    totals->blocks[n]->info.product == metric->product &&
		    !is_filtered(totals->blocks[n]))
			return totals->blocks[n];
	return NULL;
}

/* The formula, from the last time if there was one. @expr: the caller drops it. */
static int find_formula(const struct perfctr_totals *totals, const char *text,
			struct perfctr_expr **expr)
{
	struct totals_formulas *f = totals->formulas;
	struct totals_formula *more;
	int error;

	for (size_t n = 0; n < f->count; n++) {
		if (!strcmp(f->formulas[n].text, text)) {
			*expr = perfctr_expr_ref(f->formulas[n].expr);
			return 0;
		}
	}
	error = perfctr_expr_new(totals->ctx, text, expr);
	if (error)
		return error;
	more = realloc(f->formulas, (f->count + 1) * sizeof(*more));
	if (!more)
		return 0;
	f->formulas = more;
	more[f->count] = (struct totals_formula){ .text = strdup(text) };
	if (more[f->count].text)
		more[f->count++].expr = perfctr_expr_ref(*expr);
	return 0;
}

EXPORT int perfctr_totals_metric(const struct perfctr_totals *totals,
				 const struct perfctr_metric_desc *metric,
				 const struct perfctr_totals_block *block,
				 struct perfctr_value *value)
{
	struct scope scope = {
		.totals = totals,
		.metric = metric,
		.block = block ? block : first_block(totals, metric),
	};
	struct perfctr_expr *expr;
	int error;

	if (block &&
	    (block->info.type != metric->block_type || block->info.product != metric->product))
		return perfctr_fail(totals->ctx, -EINVAL, "the metric %s is not of the block %s",
				    metric->name, block->info.label);
	error = find_formula(totals, metric->formula, &expr);
	if (error)
		return error;
	scope.clocked = clocked_part(&scope, expr);
	perfctr_expr_eval(expr, lookup, &scope, value);
	perfctr_expr_unref(expr);
	return 0;
}
