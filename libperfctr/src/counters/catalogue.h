/* SPDX-License-Identifier: MIT */
/* Counters and metrics that a capture file describes. */
#ifndef PERFCTR_CATALOGUE_H
#define PERFCTR_CATALOGUE_H

#include <perfctr/capture.h>

#include "selection.h"

struct catalogue;

int catalogue_new(struct perfctr_ctx *ctx, struct catalogue **catalogue);
struct catalogue *catalogue_ref(struct catalogue *catalogue);
struct catalogue *catalogue_unref(struct catalogue *catalogue);

/*
 * Take a counter or a metric from its record. What is malformed is left out; a
 * metric becomes one of the selection's.
 * Return: 0 or -ENOMEM.
 */
int catalogue_take_counter(struct catalogue *catalogue,
			   const struct perfctr_capture_record *record);
int catalogue_take_metric(struct catalogue *catalogue, const struct perfctr_capture_record *record,
			  struct perfctr_selection *selection);

/* The counter of that key or NULL. */
const struct perfctr_counter_desc *catalogue_counter(const struct catalogue *catalogue,
						     const struct counter_key *key);

#endif /* PERFCTR_CATALOGUE_H */
