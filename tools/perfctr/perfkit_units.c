// SPDX-License-Identifier: MIT
/*
 * perfctr perfkit: which unit held the others up.
 *
 * Shares are of the pass that measured them, and passes last differently though the work in them
 * is the same. So the times that the shares stand for are compared: cycles over frequency.
 */
#include <string.h>

#include "perfkit_report.h"

enum { PERCENT = 100 };

static bool has_counter(const struct drm_perfctr_block_info *block, unsigned int position)
{
	unsigned int section = position / DRM_PERFCTR_SECTION_COUNTERS;
	uint64_t mask;

	if (section >= DRM_PERFCTR_BLOCK_INFO_SECTIONS)
		return false;
	mask = block->available[section] | block->set_available[0][section] |
	       block->set_available[1][section];
	return mask >> position % DRM_PERFCTR_SECTION_COUNTERS & 1;
}

/* The first counter of a unit's formula: its cycles are those of the value. */
static const struct perfctr_counter_desc *first_counter(const struct perfkit_report *r,
							const struct perfctr_metric_desc *unit)
{
	const struct perfctr_counter_desc *found = NULL;
	struct perfctr_expr *expr;
	const char *name;

	if (perfctr_expr_new(r->app->ctx, unit->formula, &expr))
		return NULL;
	name = perfctr_expr_name(expr, 0);
	while (name && (found = perfctr_counter_next(found)))
		if (found->product == unit->product && found->block_type == unit->block_type &&
		    !strcmp(found->name, name))
			break;
	perfctr_expr_unref(expr);
	return found;
}

/* Of the clock of the blocks that have a counter, 0 if unknown; *blocks counts them. */
static uint64_t find_frequency_hz(const struct perfkit_report *r,
				  const struct perfctr_counter_desc *counter, uint64_t *blocks)
{
	uint32_t clock = DRM_PERFCTR_CLOCK_NONE;

	*blocks = 0;
	for (size_t n = 0; n < perfctr_device_block_count(r->device); n++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(r->device, n);

		if (b->type != counter->block_type || !has_counter(b, counter->position))
			continue;
		clock = b->clock;
		++*blocks;
	}
	for (size_t n = 0; n < perfctr_device_clock_count(r->device); n++)
		if (perfctr_device_clock(r->device, n)->clock == clock)
			return perfctr_device_clock(r->device, n)->frequency_hz;
	return 0;
}

static void multiply(mpq_t number, uint64_t numerator, uint64_t denominator)
{
	mpq_t factor;

	mpq_init(factor);
	mpz_import(mpq_numref(factor), 1, 1, sizeof(numerator), 0, 0, &numerator);
	mpz_import(mpq_denref(factor), 1, 1, sizeof(denominator), 0, 0, &denominator);
	mpq_canonicalize(factor);
	mpq_mul(number, number, factor);
	mpq_clear(factor);
}

bool perfkit_unit_time_ns(const struct perfkit_report *r, size_t n, mpq_t time_ns)
{
	const struct perfctr_perfkit_counter *unit = perfctr_perfkit_counter(r->kit, n);
	const struct perfkit_stat *stat = &r->stats[n];
	const struct perfctr_counter_desc *counter;
	uint64_t frequency_hz, blocks;

	if (!stat->measured || !mpz_sgn(stat->cycles) ||
	    (unit->kind != PERFCTR_PERFKIT_SOL && unit->kind != PERFCTR_PERFKIT_BOTTLENECK))
		return false;
	counter = first_counter(r, unit->metric);
	if (!counter)
		return false;
	perfkit_stat_mean_by_cycles(stat, time_ns);
	multiply(time_ns, 1, PERCENT);
	frequency_hz = find_frequency_hz(r, counter, &blocks);
	if (frequency_hz && blocks) {
		multiply(time_ns, NS_PER_S, frequency_hz);
		multiply(time_ns, 1, blocks);
	} else {
		/* by what its clock counted */
		mpq_t ns_per_cycle;

		mpq_init(ns_per_cycle);
		mpz_set(mpq_numref(ns_per_cycle), stat->elapsed_ns);
		mpz_set(mpq_denref(ns_per_cycle), stat->cycles);
		mpq_canonicalize(ns_per_cycle);
		mpq_mul(time_ns, time_ns, ns_per_cycle);
		mpq_clear(ns_per_cycle);
	}
	return true;
}

long perfkit_find_bottleneck(const struct perfkit_report *r, mpq_t time_ns)
{
	long found = -1;
	mpq_t mean;

	mpq_init(mean);
	mpq_set_ui(time_ns, 0, 1);
	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++) {
		if (perfctr_perfkit_counter(r->kit, n)->kind != PERFCTR_PERFKIT_BOTTLENECK ||
		    !perfkit_unit_time_ns(r, n, mean) || mpq_cmp(mean, time_ns) <= 0)
			continue;
		mpq_set(time_ns, mean);
		found = (long)n;
	}
	mpq_clear(mean);
	return found;
}
