// SPDX-License-Identifier: MIT
/* Selections: lists of requests. events.c parses the names. */
#include "selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"

EXPORT int perfctr_selection_new(struct perfctr_device *device,
				 struct perfctr_selection **selection)
{
	struct perfctr_selection *s = calloc(1, sizeof(*s));

	if (!s)
		return perfctr_no_memory(device->ctx);
	atomic_init(&s->refs, 1);
	s->device = perfctr_device_ref(device);
	*selection = s;
	return 0;
}

void selection_drop_requests(struct perfctr_selection *s)
{
	for (size_t n = 0; n < s->request_count; n++)
		free(s->labels[n].texts);
	free(s->requests);
	free(s->labels);
	s->requests = NULL;
	s->labels = NULL;
	s->request_count = 0;
}

static void free_contents(struct perfctr_selection *selection)
{
	selection_drop_requests(selection);
	free(selection->metrics);
}

static void free_selection(struct perfctr_selection *selection)
{
	free_contents(selection);
	catalogue_unref(selection->catalogue);
	perfctr_device_unref(selection->device);
	free(selection);
}

DEFINE_REFS(EXPORT, perfctr_selection, free_selection)

EXPORT int perfctr_selection_copy(const struct perfctr_selection *from,
				  struct perfctr_selection **selection)
{
	struct perfctr_selection *s = NULL;
	int error = perfctr_selection_new(from->device, &s);

	if (error)
		return error;
	s->set = from->set;
	for (size_t n = 0; !error && n < from->request_count; n++)
		error = selection_append(s, &from->requests[n], &from->labels[n]);
	for (size_t n = 0; !error && n < from->metric_count; n++)
		error = selection_add_metric(s, from->metrics[n]);
	if (error) {
		perfctr_selection_unref(s);
		return error;
	}
	s->catalogue = catalogue_ref(from->catalogue);
	*selection = s;
	return 0;
}

void selection_take(struct perfctr_selection *to, struct perfctr_selection *from)
{
	free_contents(to);
	to->requests = from->requests;
	to->labels = from->labels;
	to->metrics = from->metrics;
	to->request_count = from->request_count;
	to->metric_count = from->metric_count;
	from->requests = NULL;
	from->labels = NULL;
	from->request_count = 0;
	from->metrics = NULL;
	perfctr_selection_unref(from);
}

int selection_rename(struct perfctr_selection *s, size_t number, const char *text, const char *unit)
{
	struct selection_label *label = &s->labels[number];
	const size_t text_bytes = strlen(text) + 1, unit_bytes = strlen(unit) + 1;
	char *texts = malloc(text_bytes + unit_bytes);

	if (!texts)
		return perfctr_no_memory(s->device->ctx);
	label->text = memcpy(texts, text, text_bytes);
	label->unit = memcpy(texts + text_bytes, unit, unit_bytes);
	free(label->texts);
	label->texts = texts;
	return 0;
}

/* Return: false: no memory. */
static bool make_room(struct perfctr_selection *s)
{
	const size_t count = s->request_count, room = count ? 2 * count : 1;
	struct drm_perfctr_block_request *requests;
	struct selection_label *labels;

	if (count & (count - 1))
		return true;
	requests = realloc(s->requests, room * sizeof(*requests));
	if (!requests)
		return false;
	s->requests = requests;
	labels = realloc(s->labels, room * sizeof(*labels));
	if (!labels)
		return false;
	s->labels = labels;
	return true;
}

int selection_append(struct perfctr_selection *s, const struct drm_perfctr_block_request *request,
		     const struct selection_label *label)
{
	const size_t n = s->request_count;
	int error;

	if (!make_room(s))
		return perfctr_no_memory(s->device->ctx);
	s->requests[n] = *request;
	s->labels[n] = label ? *label : (struct selection_label){ 0 };
	s->labels[n].texts = NULL;
	error = selection_rename(s, n, label ? label->text : "", label ? label->unit : "");
	s->request_count += !error;
	return error;
}

static bool same_event(const struct drm_perfctr_block_request *a,
		       const struct drm_perfctr_block_request *b)
{
	return a->pmu_type == b->pmu_type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->cpu == b->cpu && a->flags == b->flags;
}

/* A broker lists only the blocks that its policy allows; sysfs lists all perf PMUs. */
static int check_broker(struct perfctr_selection *s, unsigned int type)
{
	const struct perfctr_device *device = s->device;

	if (!device_is(device, LINK_BROKER) || !strcmp(device->driver, PERFCTR_DEVICE_LOCAL))
		return 0;
	for (size_t n = 0; n < device->block_count; n++)
		if (device->blocks[n].type == type)
			return 0;
	return perfctr_fail(device->ctx, -EACCES, "the broker's policy does not allow %s",
			    type == DRM_PERFCTR_BLOCK_GENERIC_PMU ? "events of perf PMUs" :
								    perfctr_block_type_name(type));
}

/* Add the counters of a request to one of the same block, with @by_event of the same event. */
static int add(struct perfctr_selection *s, const struct drm_perfctr_block_request *r, bool single,
	       bool by_event)
{
	const struct selection_label label = { .text = "",
					       .unit = "",
					       .single = single ? r->mask : 0,
					       .summed = single ? 0 : r->mask };

	for (size_t n = 0; n < s->request_count; n++) {
		struct drm_perfctr_block_request *old = &s->requests[n];

		if (old->type != r->type || old->index != r->index || old->section != r->section ||
		    (by_event && !same_event(old, r)))
			continue;
		old->mask |= r->mask;
		s->labels[n].single |= label.single;
		s->labels[n].summed |= label.summed;
		return 0;
	}
	return selection_append(s, r, &label);
}

int selection_add_gpu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
		      bool single)
{
	return add(s, r, single, false);
}

/* The same block with another filter is a separate block in the samples. */
int selection_add_pmu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
		      bool single)
{
	int error = check_broker(s, r->type);

	return error ? error : add(s, r, single, true);
}

static bool differs_by_choice(const struct selection_label *a, const struct selection_label *b)
{
	return b && (a->is_chosen || b->is_chosen) && strcmp(a->text, b->text) != 0;
}

/* Whether the user gave an event the name of another one: nothing would tell their counts apart. */
static bool takes_name_of(const struct perfctr_selection *s, size_t n,
			  const struct drm_perfctr_block_request *r,
			  const struct selection_label *label)
{
	const struct selection_label *other = &s->labels[n];

	return label && (label->is_chosen || other->is_chosen) &&
	       s->requests[n].pmu_type == r->pmu_type && !same_event(&s->requests[n], r) &&
	       !strcmp(label->text, other->text);
}

/* Whether an event was given the same name of perf's before; a pattern has no name of its own. */
static bool has_alias(const struct selection_label *a, const struct selection_label *b)
{
	return !b || a->is_any || b->is_any || a->is_chosen || b->is_chosen ||
	       !strcmp(a->alias, b->alias);
}

/*
 * An event is added by another of perf's names: as with perf it is counted once more, and each has
 * its own name. @n: the request that has it.
 */
static int name_apart(struct perfctr_selection *s, size_t n, const struct selection_label *label,
		      struct selection_label *named)
{
	*named = *label;
	if (*label->alias) {
		named->text = label->alias;
		return 0;
	}
	return selection_rename(s, n, s->labels[n].alias, s->labels[n].unit);
}

int selection_add_generic(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
			  const struct selection_label *label)
{
	struct drm_perfctr_block_request request = *r;
	struct selection_label named;
	int error = check_broker(s, DRM_PERFCTR_BLOCK_GENERIC_PMU);
	size_t other = s->request_count;
	uint32_t index = 0;

	if (error)
		return error;
	for (size_t n = 0; n < s->request_count; n++) {
		if (s->requests[n].type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
			continue;
		if (same_event(&s->requests[n], r) && !differs_by_choice(&s->labels[n], label)) {
			if (has_alias(&s->labels[n], label))
				return 0;
			other = n;
		}
		if (takes_name_of(s, n, r, label))
			return perfctr_fail(s->device->ctx, -EINVAL,
					    "name=%s: another event has this name", label->text);
		if (s->requests[n].index >= index)
			index = s->requests[n].index + 1u;
	}
	if (index >= DRM_PERFCTR_INDEX_ALL)
		return perfctr_fail(s->device->ctx, -E2BIG, "too many events");
	request.type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
	request.flags |= DRM_PERFCTR_REQUEST_PMU;
	request.index = (uint16_t)index;
	request.mask = 1;
	error = other < s->request_count ? name_apart(s, other, label, &named) : 0;
	return error ? error :
		       selection_append(s, &request, other < s->request_count ? &named : label);
}

int selection_add_metric(struct perfctr_selection *s, const struct perfctr_metric_desc *metric)
{
	const struct perfctr_metric_desc **metrics;

	for (size_t n = 0; n < s->metric_count; n++)
		if (s->metrics[n] == metric)
			return 0;
	metrics = realloc(s->metrics, (s->metric_count + 1) * sizeof(*metrics));
	if (!metrics)
		return perfctr_no_memory(s->device->ctx);
	s->metrics = metrics;
	metrics[s->metric_count++] = metric;
	return 0;
}

EXPORT int perfctr_selection_add_request(struct perfctr_selection *selection,
					 const struct drm_perfctr_block_request *request)
{
	struct perfctr_ctx *ctx = selection->device->ctx;
	int error;

	if (!request->mask)
		return perfctr_fail(ctx, -EINVAL, "the request selects no counter");
	if (request->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		error = selection_add_generic(selection, request, NULL);
	else if (request_is_pmu(request))
		error = selection_add_pmu(selection, request, false);
	else
		error = selection_add_gpu(selection, request, false);
	return error ? error : __builtin_popcountll(request->mask);
}

EXPORT int perfctr_selection_set_counter_set(struct perfctr_selection *selection, unsigned int set)
{
	struct perfctr_device *device = selection->device;

	if (selection->request_count)
		return perfctr_fail(device->ctx, -EBUSY,
				    "the counter set must be chosen before the counters");
	if (set >= 32 || !((device->info.sets | 1) >> set & 1))
		return perfctr_fail(device->ctx, -EOPNOTSUPP, "%s has no counter set %u",
				    device->info.name, set);
	selection->set = set;
	return 0;
}

EXPORT size_t perfctr_selection_request_count(const struct perfctr_selection *selection)
{
	return selection->request_count;
}

EXPORT const struct drm_perfctr_block_request *
perfctr_selection_request(const struct perfctr_selection *selection, size_t n)
{
	return n < selection->request_count ? &selection->requests[n] : NULL;
}

EXPORT void perfctr_selection_naming(const struct perfctr_selection *selection, size_t n,
				     uint64_t *single, uint64_t *summed)
{
	*single = n < selection->request_count ? selection->labels[n].single : 0;
	*summed = n < selection->request_count ? selection->labels[n].summed : 0;
}

EXPORT size_t perfctr_selection_metric_count(const struct perfctr_selection *selection)
{
	return selection->metric_count;
}

EXPORT const struct perfctr_metric_desc *
perfctr_selection_metric(const struct perfctr_selection *selection, size_t n)
{
	return n < selection->metric_count ? selection->metrics[n] : NULL;
}

/* --- names ------------------------------------------------------------------- */

/* The number of an event of a perf PMU in the selection; request_count: it is none. */
static size_t find_generic(const struct perfctr_selection *s, const struct counter_key *key)
{
	size_t n = 0;

	while (n < s->request_count &&
	       (key->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || s->requests[n].type != key->type ||
		s->requests[n].index != key->index))
		n++;
	return n;
}

static const struct selection_label *find_label(const struct perfctr_selection *s,
						const struct counter_key *key)
{
	size_t n = s ? find_generic(s, key) : 0;

	return s && n < s->request_count ? &s->labels[n] : NULL;
}

int selection_counter_label(const struct perfctr_selection *selection,
			    const struct counter_key *key, char *text, size_t size)
{
	const struct selection_label *label = find_label(selection, key);
	const struct perfctr_counter_desc *desc = counter_key_desc(selection, key);

	if (label && label->text[0])
		return copy_text(text, size, label->text);
	if (desc && *desc->name)
		return copy_text(text, size, desc->name);
	if (key->type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return snprintf(text, size, "C%u", key->position);
	if (key->config1 || key->config2)
		return snprintf(text, size, "config=0x%llx,config1=0x%llx,config2=0x%llx",
				(unsigned long long)key->config, (unsigned long long)key->config1,
				(unsigned long long)key->config2);
	return snprintf(text, size, "config=0x%llx", (unsigned long long)key->config);
}

int selection_unit(const struct perfctr_selection *selection, const struct counter_key *key,
		   const struct perfctr_counter_desc *desc, char *text, size_t size, double *scale)
{
	const struct selection_label *label = find_label(selection, key);

	if (scale)
		*scale = label && label->scale > 0 ? label->scale : 1;
	if (label && label->unit[0])
		return copy_text(text, size, label->unit);
	return copy_text(text, size, desc ? desc->unit : "");
}

const struct perfctr_counter_desc *counter_key_desc(const struct perfctr_selection *selection,
						    const struct counter_key *key)
{
	/* sysfs says of an event only that it is a level; name and unit are in the label */
	static const struct perfctr_counter_desc level = {
		.id = "",
		.name = "",
		.short_text = "a level, as the driver of the PMU shows it",
		.long_text = "",
		.unit = "",
		.pmu = "",
		.block_type = DRM_PERFCTR_BLOCK_GENERIC_PMU,
		.kind = PERFCTR_KIND_LEVEL,
	};
	size_t n = selection ? find_generic(selection, key) : 0;

	if (selection && n < selection->request_count &&
	    selection->requests[n].flags & LOCAL_REQUEST_LEVEL)
		return &level;
	if (key->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return perfctr_counter_of_pmu(key->pmu, key->config);
	if (selection && selection->catalogue)
		return catalogue_counter(selection->catalogue, key);
	return perfctr_counter_at(key->product, key->type, key->set, key->position);
}

unsigned int selection_product(const struct perfctr_selection *selection, unsigned int product)
{
	return product || !selection ? product : selection->device->info.product;
}

static struct counter_key key_of_block(const struct perfctr_selection *selection,
				       const struct perfctr_block *block, unsigned int position,
				       struct perfctr_block_pmu *pmu)
{
	struct counter_key key = {
		.type = block->type,
		.index = block->index,
		.product = selection_product(selection, block->product),
		.set = block->set,
		.position = position,
		.pmu = "",
	};

	if (perfctr_block_read_pmu(block, pmu)) {
		key.config = pmu->config;
		key.config1 = pmu->config1;
		key.config2 = pmu->config2;
		key.pmu = pmu->name;
	}
	return key;
}

EXPORT int perfctr_counter_label(const struct perfctr_selection *selection,
				 const struct perfctr_block *block, unsigned int position,
				 char *text, size_t size)
{
	struct perfctr_block_pmu pmu;
	struct counter_key key = key_of_block(selection, block, position, &pmu);

	return selection_counter_label(selection, &key, text, size);
}

EXPORT int perfctr_counter_unit(const struct perfctr_selection *selection,
				const struct perfctr_block *block, unsigned int position,
				char *text, size_t size, double *scale)
{
	struct perfctr_block_pmu pmu;
	struct counter_key key = key_of_block(selection, block, position, &pmu);

	return selection_unit(selection, &key, counter_key_desc(selection, &key), text, size,
			      scale);
}
