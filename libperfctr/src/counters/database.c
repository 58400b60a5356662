// SPDX-License-Identifier: MIT
/* Lookups in the counter database. */
#include "private.h"

#include <string.h>

#include "tables.h"

EXPORT const struct perfctr_counter_desc *
perfctr_counter_next(const struct perfctr_counter_desc *prev)
{
	const struct perfctr_counter_desc *next = prev ? prev + 1 : perfctr_counter_table;

	return next < perfctr_counter_table + perfctr_counter_count ? next : NULL;
}

EXPORT const struct perfctr_metric_desc *perfctr_metric_next(const struct perfctr_metric_desc *prev)
{
	const struct perfctr_metric_desc *next = prev ? prev + 1 : perfctr_metric_table;

	return next < perfctr_metric_table + perfctr_metric_count ? next : NULL;
}

EXPORT const struct perfctr_filter_desc *perfctr_filter_next(const struct perfctr_filter_desc *prev)
{
	const struct perfctr_filter_desc *next = prev ? prev + 1 : perfctr_filter_table;

	return next < perfctr_filter_table + perfctr_filter_count ? next : NULL;
}

/* Return: negative, zero or positive if a is before, at or after the key. */
static int compare(const struct perfctr_counter_desc *a, unsigned int product,
		   unsigned int block_type, unsigned int position)
{
	if (a->product != product)
		return a->product < product ? -1 : 1;
	if (a->block_type != block_type)
		return a->block_type < block_type ? -1 : 1;
	if (a->position != position)
		return a->position < position ? -1 : 1;
	return 0;
}

EXPORT const struct perfctr_counter_desc *perfctr_counter_at(unsigned int product,
							     unsigned int block_type,
							     unsigned int set,
							     unsigned int position)
{
	const struct perfctr_counter_desc *table = perfctr_counter_table;
	unsigned int low = 0, high = perfctr_counter_count;

	if (block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU || set >= 32)
		return NULL;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (compare(&table[middle], product, block_type, position) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* the same position can have another counter in each set */
	for (; low < perfctr_counter_count; low++) {
		if (compare(&table[low], product, block_type, position))
			return NULL;
		if (table[low].sets >> set & 1)
			return &table[low];
	}
	return NULL;
}

EXPORT const struct perfctr_counter_desc *perfctr_counter_of_pmu(const char *pmu, uint64_t config)
{
	const struct perfctr_counter_desc *c = NULL;

	/* the kernel has separate PMUs for the first two events of "software" */
	if (!strcmp(pmu, "cpu_clock") || !strcmp(pmu, "task_clock"))
		pmu = "software";
	while ((c = perfctr_counter_next(c)))
		if (c->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU && c->event == config &&
		    !strcmp(c->pmu, pmu))
			return c;
	return NULL;
}
