// SPDX-License-Identifier: MIT
/* Metrics: formulas of the database, computed from totals. */
#include "metric.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "selection.h"
#include "totals.h"

/* kinds of names */
enum { ELAPSED_NS, ELAPSED_S, BLOCK_CYCLES, BLOCK_COUNT, EXT_BUS_BYTES, COUNTER };

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
		const unsigned int n = (unsigned int)__builtin_ctzll(mask);
		const struct perfctr_total *t = totals_total(b, n);

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

static unsigned int kind_of(const char *name)
{
	static const char *const variables[COUNTER] = {
		[ELAPSED_NS] = METRIC_ELAPSED_NS,	[ELAPSED_S] = METRIC_ELAPSED_S,
		[BLOCK_CYCLES] = METRIC_BLOCK_CYCLES,	[BLOCK_COUNT] = METRIC_BLOCK_COUNT,
		[EXT_BUS_BYTES] = METRIC_EXT_BUS_BYTES,
	};
	unsigned int kind = 0;

	while (kind < COUNTER && strcmp(name, variables[kind]) != 0)
		kind++;
	return kind;
}

/* Add an operand, unless the block does not have the counter. Return: 0, 1 or -ENOMEM. */
static int add_operand(struct totals_scope *s, const struct perfctr_totals_block *b,
		       const char *name)
{
	const struct perfctr_total *counter = find_counter(b, name);
	struct totals_operand *more;

	if (!counter)
		return 0;
	more = realloc(s->operands, (s->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->operands = more;
	more[s->count++] = (struct totals_operand){ b, counter };
	return 1;
}

/* A counter in all blocks of a type, "MEMSYS.L2_READ". */
static int add_type(const struct perfctr_totals *totals, const struct totals_formula *f,
		    const char *name, struct totals_scope *s)
{
	const char *dot = strchr(name, '.');
	int added = 0;

	for (size_t n = 0; added >= 0 && n < totals->block_count; n++) {
		const struct perfctr_totals_block *b = totals->blocks[n];
		const char *type = perfctr_block_type_name(b->info.type);

		if (type && !is_filtered(b) && strlen(type) == (size_t)(dot - name) &&
		    !strncasecmp(type, name, strlen(type)) && b->info.product == f->product)
			added = add_operand(s, b, dot + 1);
	}
	return added;
}

/* A counter of the section of the scope's block that has it. */
static int add_part(const struct perfctr_totals *totals, const char *name, struct totals_scope *s)
{
	const struct perfctr_totals_block *b = NULL;
	int added = 0;

	if (s->block)
		b = totals_chain(totals, s->block->info.type, s->block->info.index);
	for (; !added && b; b = b->next)
		added = same_block(b, s->block) ? add_operand(s, b, name) : 0;
	/* block.cycles uses the clock of the formula's first counter */
	if (added > 0 && !s->clocked)
		s->clocked = s->operands[s->count - 1].block;
	return added;
}

/* Find what the names of a formula are. Return: 0 or -ENOMEM. */
static int find_names(const struct perfctr_totals *totals, const struct totals_formula *f,
		      struct totals_scope *s)
{
	const char *name;
	int error = 0;

	s->count = 0;
	s->clocked = NULL;
	for (size_t n = 0; error >= 0 && (name = perfctr_expr_name(f->expr, n)); n++) {
		s->names[n].kind = kind_of(name);
		if (s->names[n].kind == COUNTER)
			error = strchr(name, '.') ? add_type(totals, f, name, s) :
						    add_part(totals, name, s);
		s->names[n].end = s->count;
	}
	if (!s->clocked)
		s->clocked = s->block;
	s->shape = totals->shape;
	return error < 0 ? error : 0;
}

static const struct perfctr_totals_block *first_block(const struct perfctr_totals *totals,
						      const struct totals_formula *f)
{
	for (size_t n = 0; n < totals->block_count; n++)
		if (totals->blocks[n]->info.type == f->type &&
		    totals->blocks[n]->info.product == f->product &&
		    !is_filtered(totals->blocks[n]))
			return totals->blocks[n];
	return NULL;
}

/* The scope of a block, empty at first. Return: NULL: no memory. */
static struct totals_scope *scope_of(struct totals_formula *f,
				     const struct perfctr_totals_block *block)
{
	const size_t n = block ? block->number + 1 : 0, room = 2 * n + 1;
	struct totals_scope **scopes, *s;
	size_t names = 0;

	if (n >= f->room) {
		scopes = realloc(f->scopes, room * sizeof(struct totals_scope *));
		if (!scopes)
			return NULL;
		memset(scopes + f->room, 0, (room - f->room) * sizeof(struct totals_scope *));
		f->scopes = scopes;
		f->room = room;
	}
	if (f->scopes[n])
		return f->scopes[n];
	while (perfctr_expr_name(f->expr, names))
		names++;
	s = calloc(1, sizeof(*s) + names * sizeof(*s->names));
	if (s)
		s->names = (struct totals_name *)(s + 1);
	f->scopes[n] = s;
	return s;
}

/* The formula of a metric, from the last time if there was one. */
static int find_formula(const struct perfctr_totals *totals,
			const struct perfctr_metric_desc *metric, struct totals_formula **formula)
{
	struct totals_formulas *all = totals->formulas;
	struct totals_formula *f;
	int error;

	for (size_t tries = all->count; tries; tries--, all->last++) {
		all->last = all->last < all->count ? all->last : 0;
		*formula = f = &all->formulas[all->last];
		if (f->type == metric->block_type && f->product == metric->product &&
		    !strcmp(f->text, metric->formula))
			return 0;
	}
	f = realloc(all->formulas, (all->count + 1) * sizeof(*f));
	if (!f)
		return perfctr_no_memory(totals->ctx);
	all->formulas = f;
	*formula = f += all->count;
	*f = (struct totals_formula){ .type = metric->block_type, .product = metric->product };
	error = perfctr_expr_new(totals->ctx, metric->formula, &f->expr);
	if (error)
		return error;
	f->text = strdup(metric->formula);
	if (!f->text) {
		perfctr_expr_unref(f->expr);
		return perfctr_no_memory(totals->ctx);
	}
	all->last = all->count++;
	return 0;
}

/* what is computed */
struct computation {
	const struct perfctr_totals *totals;
	const struct totals_scope *scope;
};

static struct perfctr_value sum_of(const struct totals_scope *s, size_t name)
{
	struct perfctr_value sum = { .state = PERFCTR_VALUE_NOT_SELECTED };

	for (size_t n = name ? s->names[name - 1].end : 0; n < s->names[name].end; n++) {
		const struct perfctr_value v =
			value_of_counter(s->operands[n].block, s->operands[n].counter);

		if (sum.state == PERFCTR_VALUE_OK)
			add_value(&sum, &v);
		else
			sum = v;
	}
	return sum;
}

static void lookup(void *data, size_t n, struct perfctr_value *value)
{
	const struct computation *c = data;
	const struct totals_scope *s = c->scope;
	const struct perfctr_selection *selection = c->totals->selection;
	const uint64_t elapsed_ns = s->clocked ? s->clocked->info.elapsed_ns :
						 c->totals->span.elapsed_ns;

	switch (s->names[n].kind) {
	case ELAPSED_NS:
		*value = value_of_u64(elapsed_ns);
		break;
	case ELAPSED_S:
		*value = (struct perfctr_value){ .number = (double)elapsed_ns / NS_PER_S };
		break;
	case BLOCK_CYCLES:
		*value = value_of_u64(s->clocked ? s->clocked->info.clock_cycles : 0);
		if (!s->clocked)
			value->state = PERFCTR_VALUE_NOT_SELECTED;
		else if (s->clocked->info.clock == DRM_PERFCTR_CLOCK_NONE)
			value->state = PERFCTR_VALUE_NOT_MEASURED;
		break;
	case EXT_BUS_BYTES:
		*value = value_of_u64(selection ? selection->device->ext_bus_bytes : 0);
		if (!value->integer)
			value->state = PERFCTR_VALUE_NOT_MEASURED;
		break;
	case BLOCK_COUNT:
		*value = value_of_u64(s->block ? s->block->info.blocks : 0);
		if (!s->block)
			value->state = PERFCTR_VALUE_NOT_SELECTED;
		break;
	default:
		*value = sum_of(s, n);
	}
}

EXPORT int perfctr_totals_metric(const struct perfctr_totals *totals,
				 const struct perfctr_metric_desc *metric,
				 const struct perfctr_totals_block *block,
				 struct perfctr_value *value)
{
	struct computation c = { .totals = totals };
	struct totals_formula *formula = NULL;
	struct totals_scope *scope;
	int error;

	if (block &&
	    (block->info.type != metric->block_type || block->info.product != metric->product))
		return perfctr_fail(totals->ctx, -EINVAL, "the metric %s is not of the block %s",
				    metric->name, block->info.label);
	error = find_formula(totals, metric, &formula);
	if (error)
		return error;
	scope = scope_of(formula, block);
	if (!scope)
		return perfctr_no_memory(totals->ctx);
	if (scope->shape != totals->shape || (block && scope->block != block)) {
		scope->block = block ? block : first_block(totals, formula);
		if (find_names(totals, formula, scope)) {
			scope->shape = 0;
			return perfctr_no_memory(totals->ctx);
		}
	}
	c.scope = scope;
	expr_eval(formula->expr, lookup, &c, value);
	return 0;
}
