/* SPDX-License-Identifier: MIT */
/* Counters and metrics that a capture file describes. */
#pragma once

#include <perfctr/capture.h>

#include "private.h"

/* identifies a counter */
struct counter_key {
	unsigned int type, index, product, set, position;
	const char *pmu;
	uint64_t config, config1, config2;
};

int catalogue_new(struct perfctr_ctx *ctx, struct catalogue **catalogue);
struct catalogue *catalogue_ref(struct catalogue *catalogue);
struct catalogue *catalogue_unref(struct catalogue *catalogue);

/*
 * Add a counter or a metric from its record. A malformed one is skipped; *metric is NULL then.
 * Return: 0 or -ENOMEM.
 */
int catalogue_take_counter(struct catalogue *catalogue,
			   const struct perfctr_capture_record *record);
int catalogue_take_metric(struct catalogue *catalogue, const struct perfctr_capture_record *record,
			  const struct perfctr_metric_desc **metric);

/*
 * The counter with that key or NULL. The file says what its numbers mean; the database, which is
 * maintained, describes a counter of the same name, unit, kind and shift, and fills gaps.
 */
const struct perfctr_counter_desc *catalogue_counter(const struct catalogue *catalogue,
						     const struct counter_key *key);
