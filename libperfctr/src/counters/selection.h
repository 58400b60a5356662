/* SPDX-License-Identifier: MIT */
/* Building a selection, and the names of what is in it. */
#ifndef PERFCTR_SELECTION_H
#define PERFCTR_SELECTION_H

#include "catalogue.h"

/* Replace the contents of one selection by those of another, which ends. */
void selection_take(struct perfctr_selection *to, struct perfctr_selection *from);

/* Bytes of the first event of a text for perfctr_selection_add(): up to the comma behind it. */
size_t selection_event_length(struct perfctr_device *device, const char *text);

/* A request as it is, without looking whether it belongs to one that is there. */
int selection_append(struct perfctr_selection *s, const struct drm_perfctr_block_request *request,
		     const struct selection_label *label);

/* single: it was named with its index, so it is not to be added up with others. */
int selection_add_gpu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
		      bool single);

/* A block of its own for each combination of filters. */
int selection_add_pmu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
		      bool single);

/* As a block of its own, with an index that is free. */
int selection_add_generic(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
			  const struct selection_label *label);

int selection_add_metric(struct perfctr_selection *s, const struct perfctr_metric_desc *metric);

/* What is known of a counter, by the database or by the file of the selection; NULL: nothing. */
const struct perfctr_counter_desc *counter_key_desc(const struct perfctr_selection *selection,
						    const struct counter_key *key);
int selection_counter_label(const struct perfctr_selection *selection,
			    const struct counter_key *key, char *text, size_t size);

#endif /* PERFCTR_SELECTION_H */
