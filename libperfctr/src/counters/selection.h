/* SPDX-License-Identifier: MIT */
/* Building a selection, and the names of its counters. */
#pragma once

#include "base/device.h"
#include "catalogue.h"

enum { ALIAS_BYTES = 40 };

/* name of a perf PMU's event, for request number n of a selection */
struct selection_label {
	const char *text, *unit; /* never NULL; shorter than EVENT_BYTES and UNIT_BYTES */
	char *texts; /* of a selection's label: both, owned */
	bool is_chosen; /* the user named the event (name=), and may name it twice */
	/* the other name that it was given, "cs"; empty: that of @text; any: of a pattern */
	char alias[ALIAS_BYTES];
	bool is_any;
	double scale;
	/* bits of the request's mask that were named with and without the block's index */
	uint64_t single, summed;
};

struct perfctr_selection {
	atomic_uint refs;
	struct perfctr_device *device;
	unsigned int set;
	/* with room for the next power of two */
	struct drm_perfctr_block_request *requests;
	struct selection_label *labels;
	size_t request_count;
	const struct perfctr_metric_desc **metrics;
	size_t metric_count;
	struct catalogue *catalogue; /* NULL unless the selection was read from a file */
};

/* Move the contents of one selection into another; drops @from. */
void selection_take(struct perfctr_selection *to, struct perfctr_selection *from);

/* As perfctr_selection_add(), but a GPU's counter has priority over a CPU event of its name. */
int selection_add_of_gpu(struct perfctr_selection *selection, const char *text);

/*
 * Append a request without merging it into an existing one.
 * @label: is copied; NULL: without a name. Return: 0 or -ENOMEM.
 */
int selection_append(struct perfctr_selection *s, const struct drm_perfctr_block_request *request,
		     const struct selection_label *label);

/* Give a request's label other texts, which are copied. Return: 0 or -ENOMEM. */
int selection_rename(struct perfctr_selection *s, size_t number, const char *text,
		     const char *unit);

/* Remove all requests. */
void selection_drop_requests(struct perfctr_selection *s);

/* single: it was named with its index, so it is not added up with other blocks. */
int selection_add_gpu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
		      bool single);

/* Uses a separate block for each combination of filters. */
int selection_add_pmu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
		      bool single);

/* Uses a separate block with a free index. */
int selection_add_generic(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
			  const struct selection_label *label);

int selection_add_metric(struct perfctr_selection *s, const struct perfctr_metric_desc *metric);

/* Description of a counter in the database or the selection's file; NULL: unknown. */
const struct perfctr_counter_desc *counter_key_desc(const struct perfctr_selection *selection,
						    const struct counter_key *key);
/* The product of a block of a sample; of one that the kernel does not know: by its GPU_ID. */
unsigned int selection_product(const struct perfctr_selection *selection, unsigned int product);
int selection_counter_label(const struct perfctr_selection *selection,
			    const struct counter_key *key, char *text, size_t size);
/* For events of perf PMUs sysfs has priority over @desc. */
int selection_unit(const struct perfctr_selection *selection, const struct counter_key *key,
		   const struct perfctr_counter_desc *desc, char *text, size_t size, double *scale);
