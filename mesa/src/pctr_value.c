// SPDX-License-Identifier: MIT
/* A sum, level or metric as the float, percentage or 64-bit number that GL wants. */
#include "pctr_value.h"

#include "pctr_library.h"

#include <string.h>

/* A number before it is rounded. */
struct number {
	double number;
	bool is_exact; /* complete: no part was left out, so it is not an estimate */
};

/* Index of the block that the session has for an event of a perf PMU. */
static unsigned int generic_index(const struct perfctr_selection *selection,
				  const struct pctr_counter *counter)
{
	const struct drm_perfctr_block_request *r;

	for (size_t n = 0; (r = pctr.selection_request(selection, n)); n++)
		if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && r->pmu_type == counter->pmu_type &&
		    r->config == counter->config && r->config1 == counter->config1 &&
		    r->config2 == counter->config2)
			return r->index;
	return DRM_PERFCTR_INDEX_ALL;
}

static const struct perfctr_totals_block *find_block(const struct perfctr_totals *totals,
						     const struct pctr_counter *counter,
						     unsigned int index)
{
	unsigned int section = counter->metric ? 0 : counter->position / 64;
	const struct perfctr_totals_block *block;

	for (size_t n = 0; (block = pctr.totals_block(totals, n)); n++) {
		const struct perfctr_totals_block_info *info = pctr.totals_block_info(block);

		if (info->type == counter->block_type && info->index == index &&
		    info->section == section)
			return block;
	}
	return NULL;
}

static struct number count_of(const struct perfctr_totals_block *block,
			      const struct pctr_counter *counter, uint64_t *integer)
{
	const struct perfctr_totals_block_info *info = pctr.totals_block_info(block);
	const struct perfctr_total *total;
	struct number result = { 0 };

	*integer = 0;
	for (size_t n = 0; (total = pctr.totals_counter(block, n)); n++)
		if (total->position == counter->position)
			break;
	if (!total || !total->measured)
		return result;
	*integer = total->sum;
	result = (struct number){ (double)total->sum, true };
	/* it counted during a part of the time: extrapolate, as perf does */
	if (info->states & DRM_PERFCTR_STATE_MULTIPLEXED && total->running_ns &&
	    total->running_ns < info->time_enabled) {
		result.number *= (double)info->time_enabled / (double)total->running_ns;
		result.is_exact = false;
	}
	return result;
}

static bool has_fraction(const struct pctr_counter *counter)
{
	return counter->unit == PCTR_UNIT_NUMBER || counter->unit == PCTR_UNIT_PERCENT;
}

static union pctr_value to_value(const struct pctr_counter *counter, double number)
{
	union pctr_value value = { 0 };

	if (!(number > 0))
		return value;
	if (counter->unit == PCTR_UNIT_PERCENT && number > 100)
		number = 100;
	if (has_fraction(counter))
		value.number = number;
	else
		value.integer = number < 0x1p64 ? (uint64_t)(number + 0.5) : UINT64_MAX;
	return value;
}

/* Two frames have twice the amount; a ratio or a rate is the same. */
static bool is_amount(const struct pctr_counter *counter)
{
	const char *unit;

	if (!counter->metric)
		return true;
	unit = counter->metric->unit;
	return strcmp(unit, "%") && strcmp(unit, "Hz") && !strchr(unit, '/');
}

union pctr_value pctr_value_of(const struct pctr_counter *counter, const struct pctr_sums *sums,
			       const struct perfctr_selection *selection, bool *is_exact)
{
	bool is_sum = counter->block_index == DRM_PERFCTR_INDEX_ALL;
	unsigned int index = counter->block_index;
	const struct perfctr_totals *totals = is_sum ? sums->sum : sums->single;
	unsigned int frames = is_amount(counter) ? sums->frames : 1;
	const struct perfctr_totals_block *block;
	union pctr_value value = { 0 };
	struct number count;

	*is_exact = false;
	if (counter->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU && !counter->metric)
		index = generic_index(selection, counter);
	block = find_block(totals, counter, index);
	if (!block)
		return value;
	if (counter->metric) {
		struct perfctr_value result = { 0 };

		if (pctr.totals_metric(totals, counter->metric, block, &result) ||
		    result.state != PERFCTR_VALUE_OK)
			return value;
		*is_exact = !(result.flags & PERFCTR_VALUE_ESTIMATED);
		return to_value(counter, result.number / frames);
	}
	count = count_of(block, counter, &value.integer);
	*is_exact = count.is_exact;
	/* integers beyond 2^53 stay exact; what was extrapolated is rounded */
	if (count.is_exact && counter->scale == 1 && !has_fraction(counter) && frames == 1)
		return value;
	return to_value(counter, count.number * counter->scale / frames);
}
