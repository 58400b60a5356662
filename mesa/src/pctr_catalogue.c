// SPDX-License-Identifier: MIT
/* Groups and counters of a device, with the names and types that GL shows. */
#include "pctr_catalogue.h"

#include "pctr_passes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* characters reserved by the HUD's syntax and its dump files */
#define RESERVED_CHARACTERS "+,:;=/"

/* A catalogue while it is built. */
struct builder {
	struct pctr_catalogue *catalogue;
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	unsigned int counter_room, group_room;
	bool no_memory;
	/* The PMU whose events are added, and whether it can be used. */
	char pmu_label[64];
	bool pmu_usable;
};

/* One SoC block, to be added up with the others of its type. */
struct soc_type {
	struct builder *builder;
	uint16_t type;
};

static _Thread_local char problem_text[512];

/* --- the device ------------------------------------------------------------ */

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* The only usable node, of one of the drivers if there are any. NULL: there is none or several. */
static const char *only_node(const struct perfctr_device_list *list, const char *const *drivers,
			     unsigned int *found)
{
	const struct perfctr_device_entry *entry;
	const char *path = NULL;

	*found = 0;
	for (size_t n = 0; (entry = pctr.device_list_get(list, n)); n++) {
		if (entry->error || (drivers && !is_one_of(entry->driver, drivers)))
			continue;
		path = entry->path;
		++*found;
	}
	return *found == 1 ? path : NULL;
}

static bool choose_device(struct builder *b, const char *wanted, const char *const *screen_drivers)
{
	struct perfctr_device_list *list = NULL;
	unsigned int found;
	const char *path;

	if (wanted)
		return !pctr.device_open(b->ctx, wanted, &b->device);
	if (pctr.device_list_new(b->ctx, &list))
		return false;
	path = only_node(list, screen_drivers, &found);
	if (!found)
		path = only_node(list, NULL, &found);
	if (found > 1)
		snprintf(
			problem_text, sizeof(problem_text),
			"%u devices have counters: choose one with GALLIUM_PERFCTR=renderD<number>",
			found);
	else if (!found)
		/* the library reports the reason for each node */
		pctr.device_open(b->ctx, NULL, &b->device);
	else if (pctr.device_open(b->ctx, path, &b->device))
		path = NULL;
	pctr.device_list_unref(list);
	return b->device != NULL;
}

/* --- groups and counters --------------------------------------------------- */

static bool grow(struct builder *b, void *array, unsigned int count, unsigned int *room,
		 size_t bytes)
{
	void **elements = array;
	void *more;

	if (count < *room)
		return true;
	more = realloc(*elements, (*room ? 2 * *room : 64) * bytes);
	if (!more) {
		b->no_memory = true;
		return false;
	}
	*elements = more;
	*room = *room ? 2 * *room : 64;
	return true;
}

/* Begin the group of the following counters; an empty group is removed again. */
static bool begin_group(struct builder *b, const char *name)
{
	struct pctr_catalogue *c = b->catalogue;

	if (c->group_count && !c->groups[c->group_count - 1].count)
		free(c->groups[--c->group_count].name);
	if (!grow(b, &c->groups, c->group_count, &b->group_room, sizeof(*c->groups)))
		return false;
	c->groups[c->group_count] = (struct pctr_group){ .name = strdup(name) };
	if (!c->groups[c->group_count].name) {
		b->no_memory = true;
		return false;
	}
	c->group_count++;
	return true;
}

static bool has_counter(const struct pctr_catalogue *c, const char *name)
{
	const struct pctr_group *group = &c->groups[c->group_count - 1];

	for (unsigned int n = 0; n < group->count; n++)
		if (!strcmp(c->counters[c->counter_count - 1 - n].name, name))
			return true;
	return false;
}

static void replace_reserved(char *text)
{
	while (*(text = strpbrk(text, RESERVED_CHARACTERS) ?: ""))
		*text = '_';
}

/* Append to the current group; @like has everything but the names. */
static void add_counter(struct builder *b, const struct pctr_counter *like, const char *name,
			const char *event)
{
	struct pctr_catalogue *c = b->catalogue;
	struct pctr_group *group = &c->groups[c->group_count - 1];
	struct pctr_counter *counter;
	char clean[96];

	snprintf(clean, sizeof(clean), "%s", name);
	replace_reserved(clean);
	if (has_counter(c, clean) ||
	    !grow(b, &c->counters, c->counter_count, &b->counter_room, sizeof(*c->counters)))
		return;
	counter = &c->counters[c->counter_count];
	*counter = *like;
	counter->group = c->group_count - 1;
	counter->name = strdup(clean);
	counter->event = strdup(event);
	if (asprintf(&counter->full_name, "%s.%s", group->name, clean) < 0)
		counter->full_name = NULL;
	if (!counter->name || !counter->event || !counter->full_name) {
		free(counter->name);
		free(counter->event);
		free(counter->full_name);
		b->no_memory = true;
		return;
	}
	c->counter_count++;
	group->count++;
}

/* Whether the device accepts an event, and the first of its requests. */
static bool try_event(struct builder *b, const char *event, bool ask_kernel,
		      struct drm_perfctr_block_request *request)
{
	struct perfctr_selection *selection = NULL;
	bool ok = !pctr.selection_new(b->device, &selection) &&
		  pctr.selection_add(selection, event) > 0 &&
		  (!ask_kernel || !pctr.session_check(selection, NULL, NULL));

	if (ok && request)
		*request = *pctr.selection_request(selection, 0);
	pctr.selection_unref(selection);
	return ok;
}

enum { PMU_FORMAT = DRM_PERFCTR_FORMAT_RUNNING_TIMES | DRM_PERFCTR_FORMAT_PMU_IDENTITY };

static bool is_gpu(const struct drm_perfctr_block_info *info)
{
	return !(info->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY);
}

/* Block types with events of PMUs. If the GPU lacks this block, perf may have it. */
static uint8_t format_of(const struct builder *b, unsigned int type)
{
	const struct drm_perfctr_block_info *info;

	for (size_t n = 0; (info = pctr.device_block(b->device, n)); n++)
		if (info->type == type && is_gpu(info))
			return info->format;
	return PMU_FORMAT;
}

/* The next block type of the GPU in numerical order; 0: there is none. */
static unsigned int next_type(const struct builder *b, unsigned int type)
{
	const struct drm_perfctr_block_info *info;
	unsigned int next = 0;

	for (size_t n = 0; (info = pctr.device_block(b->device, n)); n++)
		if (is_gpu(info) && info->type > type && (!next || info->type < next))
			next = info->type;
	return next;
}

/* Availability of the counters of one block, or of all blocks of its type. */
static unsigned int available(const struct builder *b, unsigned int type, unsigned int index,
			      uint64_t *mask, unsigned int *product)
{
	const struct drm_perfctr_block_info *info;
	unsigned int blocks = 0;

	memset(mask, 0, DRM_PERFCTR_BLOCK_INFO_SECTIONS * sizeof(*mask));
	for (size_t n = 0; (info = pctr.device_block(b->device, n)); n++) {
		if (info->type != type || (index != DRM_PERFCTR_INDEX_ALL && info->index != index))
			continue;
		for (unsigned int s = 0; s < DRM_PERFCTR_BLOCK_INFO_SECTIONS; s++)
			mask[s] |= info->available[s];
		*product = info->product;
		blocks++;
	}
	return blocks;
}

static enum pctr_unit unit_of_kind(unsigned int kind)
{
	switch (kind) {
	case PERFCTR_KIND_BYTES:
		return PCTR_UNIT_BYTES;
	case PERFCTR_KIND_TIME:
		return PCTR_UNIT_MICROSECONDS;
	default:
		return PCTR_UNIT_COUNT;
	}
}

static void set_kind(struct pctr_counter *counter, const struct perfctr_counter_desc *desc)
{
	counter->scale = 1;
	if (!desc)
		return;
	counter->unit = unit_of_kind(desc->kind);
	counter->is_level = desc->kind == PERFCTR_KIND_LEVEL;
	/* times are in ns */
	if (counter->unit == PCTR_UNIT_MICROSECONDS)
		counter->scale = 1e-3;
}

/* --- metrics ----------------------------------------------------------------- */

/* Whether a block has the counters of its own type that a metric needs. */
static bool has_metric(struct builder *b, const char *event, unsigned int type, unsigned int index)
{
	uint64_t mask[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	struct perfctr_selection *selection = NULL;
	const struct drm_perfctr_block_request *r;
	unsigned int product;
	bool ok = !pctr.selection_new(b->device, &selection) &&
		  pctr.selection_add(selection, event) > 0;

	available(b, type, index, mask, &product);
	for (size_t n = 0; ok && (r = pctr.selection_request(selection, n)); n++)
		if (r->type == type && !(r->flags & DRM_PERFCTR_REQUEST_PMU))
			ok = !(r->mask & ~mask[r->section]);
	pctr.selection_unref(selection);
	return ok;
}

/* @product: 0: of any, which is right for types that one product has */
static void add_metrics(struct builder *b, unsigned int product, unsigned int type,
			unsigned int index)
{
	const struct perfctr_metric_desc *metric = NULL;

	while ((metric = pctr.metric_next(metric))) {
		struct pctr_counter like = { .metric = metric,
					     .scale = 1,
					     .unit = PCTR_UNIT_NUMBER,
					     .is_level = true,
					     .format = format_of(b, type),
					     .block_type = (uint16_t)type,
					     .block_index = (uint16_t)index };
		char event[128];

		if ((product && metric->product != product) || metric->block_type != type ||
		    (metric->scope == PERFCTR_SCOPE_DEVICE && index != DRM_PERFCTR_INDEX_ALL))
			continue;
		snprintf(event, sizeof(event), "metric:%s", metric->id);
		if (!has_metric(b, event, type, index))
			continue;
		if (!strcmp(metric->unit, "%")) {
			like.unit = PCTR_UNIT_PERCENT;
		} else if (!strcmp(metric->unit, "bytes/s")) {
			like.unit = PCTR_UNIT_BYTES;
		} else if (!strcmp(metric->unit, "bytes")) {
			like.unit = PCTR_UNIT_BYTES;
			like.is_level = false;
		} else if (!strcmp(metric->unit, "Hz")) {
			like.unit = PCTR_UNIT_HZ;
		}
		add_counter(b, &like, metric->name, event);
	}
}

/* --- blocks of the GPU ----------------------------------------------------- */

static void add_block(struct builder *b, unsigned int type, unsigned int index)
{
	uint64_t mask[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	unsigned int product = 0;
	char label[64];

	available(b, type, index, mask, &product);
	pctr.block_label(type, index, label, sizeof(label));
	if (!begin_group(b, label))
		return;
	for (unsigned int p = 0; p < DRM_PERFCTR_BLOCK_INFO_SECTIONS * 64; p++) {
		const struct perfctr_counter_desc *desc;
		struct pctr_counter like = { .format = format_of(b, type),
					     .block_type = (uint16_t)type,
					     .block_index = (uint16_t)index,
					     .position = (uint16_t)p };
		char name[16], event[96];

		if (!(mask[p / 64] >> p % 64 & 1))
			continue;
		desc = pctr.counter_at(product, type, DRM_PERFCTR_SET_PRIMARY, p);
		set_kind(&like, desc);
		snprintf(name, sizeof(name), "C%u", p);
		/* by position: several counters can share a name */
		snprintf(event, sizeof(event), "%s/%s", label, name);
		add_counter(b, &like, desc ? desc->name : name, event);
	}
	add_metrics(b, product, type, index);
}

/* Whether two blocks of a type have a counter in common. */
static bool have_common_counters(const struct builder *b, unsigned int type)
{
	uint64_t seen[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { 0 };
	const struct drm_perfctr_block_info *info;

	for (size_t n = 0; (info = pctr.device_block(b->device, n)); n++)
		for (unsigned int s = 0; info->type == type && s < DRM_PERFCTR_BLOCK_INFO_SECTIONS;
		     s++) {
			if (seen[s] & info->available[s])
				return true;
			seen[s] |= info->available[s];
		}
	return false;
}

static void add_gpu_blocks(struct builder *b)
{
	uint64_t mask[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	unsigned int product;

	/* by type, whatever order the kernel reports */
	for (unsigned int type = 0; (type = next_type(b, type));) {
		unsigned int blocks = available(b, type, DRM_PERFCTR_INDEX_ALL, mask, &product);
		const struct drm_perfctr_block_info *info;

		if (blocks == 1 || have_common_counters(b, type))
			add_block(b, type, DRM_PERFCTR_INDEX_ALL);
		for (size_t n = 0; blocks > 1 && (info = pctr.device_block(b->device, n)); n++)
			if (info->type == type)
				add_block(b, type, info->index);
	}
}

/* --- perf PMUs ------------------------------------------------------------- */

/* All blocks of a type of SoC block added up, with the counters of the first block. */
static int add_soc_sum(void *data, const struct perfctr_pmu_event *event)
{
	struct soc_type *soc = data;
	struct builder *b = soc->builder;
	struct pctr_counter like = { .format = PMU_FORMAT,
				     .block_type = soc->type,
				     .block_index = DRM_PERFCTR_INDEX_ALL };
	char text[96];

	if (event->block_type != soc->type || !event->event || !event->desc)
		return 0;
	like.position = event->desc->position;
	set_kind(&like, event->desc);
	snprintf(text, sizeof(text), "%s/%s/", pctr.block_type_name(soc->type), event->event);
	if (!has_counter(b->catalogue, event->event) && try_event(b, text, false, NULL))
		add_counter(b, &like, event->event, text);
	return 0;
}

static int add_pmu_event(void *data, const struct perfctr_pmu_event *event)
{
	struct builder *b = data;
	bool is_named_kind = event->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU;
	struct drm_perfctr_block_request request;
	struct pctr_counter like = { .format = PMU_FORMAT,
				     .block_type = event->block_type,
				     .block_index = event->index };

	if (!event->event || (is_named_kind && !event->desc))
		return 0;
	if (strcmp(b->pmu_label, event->label)) {
		snprintf(b->pmu_label, sizeof(b->pmu_label), "%s", event->label);
		b->pmu_usable = try_event(b, event->text, true, NULL);
		if (b->pmu_usable && !begin_group(b, event->label))
			return -ENOMEM;
	}
	if (!b->pmu_usable || !try_event(b, event->text, false, &request))
		return 0;
	set_kind(&like, event->desc);
	if (event->desc)
		like.position = event->desc->position;
	if (!is_named_kind) {
		like.position = 0;
		like.pmu_type = request.pmu_type;
		like.config = request.config;
		like.config1 = request.config1;
		like.config2 = request.config2;
	}
	if (event->scale != 1) {
		like.scale = event->scale;
		like.unit = PCTR_UNIT_NUMBER;
	}
	add_counter(b, &like, event->event, event->text);
	return 0;
}

static int find_pmu_instance(void *data, const struct perfctr_pmu_event *event)
{
	struct soc_type *soc = data;

	return event->block_type == soc->type;
}

static void add_pmus(struct builder *b)
{
	if (!(pctr.device_info(b->device)->features & DRM_PERFCTR_FEATURE_PMU))
		return;
	for (unsigned int type = DRM_PERFCTR_BLOCK_GENERIC_PMU + 1; type < 64; type++) {
		struct soc_type soc = { b, (uint16_t)type };
		const char *name = pctr.block_type_name(type);

		if (!name || pctr.pmu_events(b->ctx, find_pmu_instance, &soc) != 1 ||
		    !begin_group(b, name))
			continue;
		pctr.pmu_events(b->ctx, add_soc_sum, &soc);
		add_metrics(b, 0, type, DRM_PERFCTR_INDEX_ALL);
	}
	pctr.pmu_events(b->ctx, add_pmu_event, b);
}

/* --- limits ------------------------------------------------------------------ */

/* screens are shared by contexts of several threads */
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;

static struct pctr_counter *first_of_group(const struct pctr_catalogue *c, unsigned int group)
{
	struct pctr_counter *first = c->counters;

	while (first->group != group)
		first++;
	return first;
}

/* Blocks with the same counters, for example the TPCs, have the same limits. */
static const struct pctr_counter *find_alike(const struct pctr_catalogue *c,
					     const struct pctr_counter *first, unsigned int count,
					     unsigned int *max_active)
{
	for (unsigned int g = 0; g < c->group_count; g++) {
		const struct pctr_counter *other = first_of_group(c, g);

		*max_active = c->groups[g].max_active;
		if (c->groups[g].is_measured && other->block_type == first->block_type &&
		    c->groups[g].count == count && other->position == first->position)
			return other;
	}
	return NULL;
}

static void measure(struct pctr_catalogue *c, struct pctr_group *g, struct pctr_counter *first)
{
	const struct pctr_counter *alike;

	g->max_active = 0;
	if (pctr_is_multiplexed(first->format)) {
		alike = find_alike(c, first, g->count, &g->max_active);
		for (unsigned int n = 0; alike && n < g->count; n++)
			first[n].several_passes = alike[n].several_passes;
		if (!alike)
			g->max_active = pctr_passes_measure(c->device, first, g->count);
	}
	g->monitored = 0;
	for (unsigned int n = 0; n < g->count; n++)
		g->monitored += !first[n].several_passes;
	g->is_tried = true;
	g->is_measured = g->max_active || !pctr_is_multiplexed(first->format);
	/* another session counts: a single counter still begins */
	if (!g->max_active)
		g->max_active = g->is_measured ? g->monitored : 1;
}

struct pctr_group pctr_catalogue_group(struct pctr_catalogue *catalogue, unsigned int group)
{
	struct pctr_group *g = &catalogue->groups[group];
	struct pctr_group result;

	pthread_mutex_lock(&limits_lock);
	if (!g->is_measured)
		measure(catalogue, g, first_of_group(catalogue, group));
	result = *g;
	pthread_mutex_unlock(&limits_lock);
	return result;
}

bool pctr_catalogue_is_monitored(struct pctr_catalogue *catalogue, unsigned int counter)
{
	const struct pctr_counter *c = &catalogue->counters[counter];
	struct pctr_group *g = &catalogue->groups[c->group];
	bool is_monitored;

	pthread_mutex_lock(&limits_lock);
	/* measure only once: the result must match the group as it was listed */
	if (!g->is_tried)
		measure(catalogue, g, first_of_group(catalogue, c->group));
	is_monitored = !c->several_passes;
	pthread_mutex_unlock(&limits_lock);
	return is_monitored;
}

/* --- the catalogue ---------------------------------------------------------- */

/* Whether this user may count. Hardware that is in use is reported by Begin, not here. */
static bool may_count(struct builder *b, const char *event)
{
	struct perfctr_selection *selection = NULL;
	bool ok = !pctr.selection_new(b->device, &selection) &&
		  pctr.selection_add(selection, event) > 0;
	int error = ok ? pctr.session_check(selection, NULL, NULL) : 0;

	pctr.selection_unref(selection);
	return ok && (!error || error == -EBUSY);
}

static bool fill(struct builder *b)
{
	struct pctr_catalogue *c = b->catalogue;

	c->device = strdup(pctr.device_path(b->device));
	c->driver = strdup(pctr.device_driver(b->device));
	b->no_memory = !c->device || !c->driver;
	add_gpu_blocks(b);
	add_pmus(b);
	if (c->group_count && !c->groups[c->group_count - 1].count)
		free(c->groups[--c->group_count].name);
	if (b->no_memory) {
		snprintf(problem_text, sizeof(problem_text), "out of memory");
		return false;
	}
	if (!c->counter_count) {
		snprintf(problem_text, sizeof(problem_text), "%s has no counters", c->device);
		return false;
	}
	/* the permission is the same for all devices; report a reason that the user can act on */
	return may_count(b, c->counters[0].event);
}

struct pctr_catalogue *pctr_catalogue_new(const char *wanted, const char *const *screen_drivers,
					  const char **problem)
{
	struct builder b = { 0 };
	bool ok = false;

	*problem = pctr_library_load();
	if (*problem)
		return NULL;
	*problem = problem_text;
	snprintf(problem_text, sizeof(problem_text), "out of memory");
	b.catalogue = calloc(1, sizeof(*b.catalogue));
	if (!b.catalogue || pctr.ctx_new(&b.ctx))
		goto out;
	problem_text[0] = '\0';
	ok = choose_device(&b, wanted, screen_drivers) && fill(&b);
	if (!ok && !problem_text[0])
		snprintf(problem_text, sizeof(problem_text), "%s", pctr.ctx_error(b.ctx));
out:
	if (b.ctx) {
		pctr.device_unref(b.device);
		pctr.ctx_unref(b.ctx);
	}
	if (!ok) {
		pctr_catalogue_free(b.catalogue);
		return NULL;
	}
	*problem = NULL;
	return b.catalogue;
}

void pctr_catalogue_free(struct pctr_catalogue *catalogue)
{
	if (!catalogue)
		return;
	for (unsigned int n = 0; n < catalogue->counter_count; n++) {
		free(catalogue->counters[n].name);
		free(catalogue->counters[n].full_name);
		free(catalogue->counters[n].event);
	}
	for (unsigned int n = 0; n < catalogue->group_count; n++)
		free(catalogue->groups[n].name);
	free(catalogue->counters);
	free(catalogue->groups);
	free(catalogue->device);
	free(catalogue->driver);
	free(catalogue);
}
