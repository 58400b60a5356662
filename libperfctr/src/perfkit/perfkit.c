// SPDX-License-Identifier: MIT
/* perfkit: the counters of a kit, by name. */
#include "perfkit.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "counters/metric.h"
#include "counters/pmu.h"
#include "counters/selection.h"

#define METRIC_PREFIX "metric:"

static void free_entry(struct kit_entry *entry)
{
	if (entry)
		free(entry->needs);
	free(entry);
}

EXPORT int perfctr_perfkit_new(struct perfctr_device *device, struct perfctr_perfkit **kit)
{
	struct perfctr_perfkit *k = calloc(1, sizeof(*k));

	if (!k)
		return perfctr_no_memory(device->ctx);
	atomic_init(&k->refs, 1);
	k->device = perfctr_device_ref(device);
	*kit = k;
	return 0;
}

static void free_perfkit(struct perfctr_perfkit *kit)
{
	kit_close_session(kit);
	kit_forget_values(kit);
	kit_forget_plan(kit);
	for (size_t n = 0; n < kit->entry_count; n++)
		free_entry(kit->entries[n]);
	free(kit->entries);
	free(kit->needs);
	perfctr_device_unref(kit->device);
	free(kit);
}

DEFINE_REFS(EXPORT, perfctr_perfkit, free_perfkit)

/* --- needs ----------------------------------------------------------------------- */

static bool same_need(const struct drm_perfctr_block_request *a,
		      const struct drm_perfctr_block_request *b)
{
	/* the index of a generic block is unique only within one selection */
	bool same_index = a->index == b->index || a->type == DRM_PERFCTR_BLOCK_GENERIC_PMU;

	return a->type == b->type && same_index && a->section == b->section && a->set == b->set &&
	       a->mask == b->mask && a->cpu == b->cpu && a->pmu_type == b->pmu_type &&
	       a->config == b->config && a->config1 == b->config1 && a->config2 == b->config2;
}

/* Return: number of the need, or a negative errno. */
static long find_need(struct perfctr_perfkit *kit, const struct drm_perfctr_block_request *request)
{
	struct kit_need *needs;
	size_t n;

	for (n = 0; n < kit->need_count; n++)
		if (same_need(&kit->needs[n].request, request))
			return (long)n;
	needs = realloc(kit->needs, (n + 1) * sizeof(*needs));
	if (!needs)
		return perfctr_no_memory(kit_ctx(kit));
	kit->needs = needs;
	needs[n] = (struct kit_need){ .request = *request, .pass = KIT_NO_PASS };
	kit->need_count++;
	return (long)n;
}

static int add_need(struct perfctr_perfkit *kit, struct kit_entry *entry,
		    const struct drm_perfctr_block_request *request, unsigned int bit)
{
	struct drm_perfctr_block_request one = *request;
	size_t *needs;
	long need;

	one.mask = UINT64_C(1) << bit;
	need = find_need(kit, &one);
	if (need < 0)
		return (int)need;
	needs = realloc(entry->needs, (entry->need_count + 1) * sizeof(*needs));
	if (!needs)
		return perfctr_no_memory(kit_ctx(kit));
	entry->needs = needs;
	needs[entry->need_count++] = (size_t)need;
	return 0;
}

/* Remove needs that no counter uses. */
static void drop_unused_needs(struct perfctr_perfkit *kit)
{
	size_t n, kept = 0, entry, k;

	for (n = 0; n < kit->need_count; n++) {
		bool used = false;

		for (entry = 0; entry < kit->entry_count; entry++) {
			struct kit_entry *e = kit->entries[entry];

			for (k = 0; k < e->need_count; k++) {
				if (e->needs[k] != n)
					continue;
				/* does not match again: @kept is at most n, and n only increases */
				e->needs[k] = kept;
				used = true;
			}
		}
		if (used)
			kit->needs[kept++] = kit->needs[n];
	}
	kit->need_count = kept;
}

/* --- counters -------------------------------------------------------------------- */

static int append(struct perfctr_perfkit *kit, struct kit_entry *entry)
{
	struct kit_entry **entries;

	entries = realloc(kit->entries, (kit->entry_count + 1) * sizeof(struct kit_entry *));
	if (!entries)
		return perfctr_no_memory(kit_ctx(kit));
	kit->entries = entries;
	entries[kit->entry_count++] = entry;
	entry->info.name = entry->name;
	if (!entry->scale.denominator)
		entry->scale = fraction_of(1);
	if (!entry->info.unit)
		entry->info.unit = "";
	return 0;
}

static struct kit_entry *find_entry(const struct perfctr_perfkit *kit, const char *name)
{
	for (size_t n = 0; n < kit->entry_count; n++)
		if (!strcmp(kit->entries[n]->name, name))
			return kit->entries[n];
	return NULL;
}

/* A batch of names; added completely or not at all. */
struct addition {
	struct perfctr_perfkit *kit;
	size_t first;
	int named;
};

static int counter_name(const struct perfctr_selection *selection, size_t request,
			unsigned int position, bool summed, char *name)
{
	const struct drm_perfctr_block_request *r = &selection->requests[request];
	const struct selection_label *label = &selection->labels[request];
	unsigned int index = summed ? DRM_PERFCTR_INDEX_ALL : r->index;
	struct perfctr_device *device = selection->device;
	struct counter_key key = { .type = r->type,
				   .index = r->index,
				   .set = r->set,
				   .position = position,
				   .pmu = "",
				   .config = r->config,
				   .config1 = r->config1,
				   .config2 = r->config2 };
	char block[LABEL_BYTES], counter[LABEL_BYTES], filters[LABEL_BYTES] = "";

	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return snprintf(name, KIT_NAME_BYTES, "%s", label->text);
	key.product = request_is_pmu(r) ? product_of_pmu(r->type) : device->info.product;
	for (size_t n = 0; n < device->block_count; n++)
		if (device->blocks[n].type == r->type && device->blocks[n].index == r->index)
			key.product = device->blocks[n].product;
	perfctr_block_label(r->type, index, block, sizeof(block));
	selection_counter_label(selection, &key, counter, sizeof(counter));
	if (request_is_pmu(r))
		perfctr_filter_text(r->type, r->config, r->config1, r->config2, filters,
				    sizeof(filters));
	return snprintf(name, KIT_NAME_BYTES, "%s/%s%s%s", block, counter, *filters ? "," : "",
			filters);
}

static const struct perfctr_counter_desc *describe(const struct perfctr_selection *selection,
						   const struct drm_perfctr_block_request *r,
						   unsigned int position)
{
	const struct perfctr_device *device = selection->device;
	unsigned int product = product_of_pmu(r->type);

	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return NULL;
	for (size_t n = 0; n < device->block_count; n++)
		if (device->blocks[n].type == r->type)
			product = device->blocks[n].product;
	return perfctr_counter_at(product, r->type, r->set, position);
}

/* Unit and scale of a perf event, from sysfs or from the database. */
static void describe_event(struct perfctr_perfkit *kit, const struct perfctr_selection *selection,
			   const struct drm_perfctr_block_request *r, struct kit_entry *entry)
{
	char pmu[LABEL_BYTES];
	struct counter_key key = {
		.type = r->type,
		.index = r->index,
		.pmu = pmu,
		.config = r->config,
	};
	double scale;

	pmu_name_of_type(kit_ctx(kit), r->pmu_type, r->config, pmu, sizeof(pmu));
	selection_unit(selection, &key, counter_key_desc(selection, &key), entry->unit,
		       sizeof(entry->unit), &scale);
	entry->info.unit = entry->unit;
	entry->scale = fraction_of_decimal(scale);
}

/* Add one bit of a request, as a single counter or as part of the sum over its type. */
static int add_counter(struct addition *a, const struct perfctr_selection *selection,
		       size_t request, unsigned int bit, bool summed)
{
	const struct drm_perfctr_block_request *r = &selection->requests[request];
	unsigned int position = r->section * DRM_PERFCTR_SECTION_COUNTERS + bit;
	struct perfctr_perfkit *kit = a->kit;
	struct kit_entry *entry;
	char name[KIT_NAME_BYTES];
	size_t known;
	int error;

	counter_name(selection, request, position, summed, name);
	entry = find_entry(kit, name);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return perfctr_no_memory(kit_ctx(kit));
		memcpy(entry->name, name, sizeof(name));
		entry->info.desc = describe(selection, r, position);
		entry->info.text = entry->info.desc ? entry->info.desc->short_text : "";
		if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			describe_event(kit, selection, r, entry);
		else if (entry->info.desc)
			entry->info.unit = entry->info.desc->unit;
		error = append(kit, entry);
		if (error) {
			free_entry(entry);
			return error;
		}
	}
	/* a counter of several sets is counted in the first of them */
	if (entry->need_count && kit->needs[entry->needs[0]].request.set != r->set)
		return 0;
	/* already known, or a further block of the sum */
	known = entry->need_count;
	error = add_need(kit, entry, r, bit);
	for (size_t n = 0; !error && n < known; n++)
		if (entry->needs[n] == entry->needs[known])
			entry->need_count = known;
	return error;
}

static int add_requests(struct addition *a, const struct perfctr_selection *selection)
{
	int error = 0;

	for (size_t n = 0; n < selection->request_count; n++) {
		const struct selection_label *label = &selection->labels[n];
		uint64_t mask = selection->requests[n].mask;

		for (; mask && !error; mask &= mask - 1) {
			unsigned int bit = (unsigned int)__builtin_ctzll(mask);
			bool single = label->single >> bit & 1, summed = label->summed >> bit & 1;

			if (single)
				error = add_counter(a, selection, n, bit, false);
			if (!error && (summed || !single))
				error = add_counter(a, selection, n, bit, true);
		}
	}
	return error;
}

static int select_text(struct perfctr_perfkit *kit, unsigned int set, const char *text,
		       struct perfctr_selection **selection)
{
	int error = perfctr_selection_new(kit->device, selection);

	if (!error)
		error = perfctr_selection_set_counter_set(*selection, set);
	if (!error)
		error = selection_add_of_gpu(*selection, text);
	/* metrics have entries of their own, not those of their counters */
	if (error > 0 && (*selection)->metric_count)
		error = -ENOENT;
	if (error < 0)
		*selection = perfctr_selection_unref(*selection);
	return error;
}

static bool has_set(const struct perfctr_device *device, unsigned int set)
{
	return (device->info.sets | 1) >> set & 1;
}

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static int add_events(struct addition *a, const char *text)
{
	int found = 0, first_error = 0;

	/* a counter can be in several sets: use the first */
	for (unsigned int set = 0; set < 3 && (!found || is_pattern(text)); set++) {
		struct perfctr_selection *selection;
		int error;

		if (!has_set(a->kit->device, set))
			continue;
		error = select_text(a->kit, set, text, &selection);
		if (error < 0) {
			if (error != -ENOENT && error != -EINVAL)
				return error;
			first_error = first_error ? first_error : error;
			continue;
		}
		found += error;
		error = add_requests(a, selection);
		perfctr_selection_unref(selection);
		if (error)
			return error;
	}
	a->named += found;
	return found ? found : first_error;
}

/* --- metrics and units ------------------------------------------------------------ */

/* Add the counters of a formula. Return: 0; -ENOENT the device lacks one. */
static int add_formula(struct perfctr_perfkit *kit, struct kit_entry *entry,
		       const struct perfctr_metric_desc *metric)
{
	struct perfctr_expr *expr;
	const char *name;
	int error = perfctr_expr_new(kit_ctx(kit), metric->formula, &expr);

	if (error)
		return error;
	for (size_t n = 0; !error && (name = perfctr_expr_name(expr, n)); n++) {
		struct perfctr_selection *selection = NULL;
		const char *dot = strchr(name, '.');
		char event[KIT_NAME_BYTES];

		if (metric_is_variable(name))
			continue;
		snprintf(event, sizeof(event), "%.*s/%s", dot ? (int)(dot - name) : LABEL_BYTES,
			 dot ? name : perfctr_block_type_name(metric->block_type),
			 dot ? dot + 1 : name);
		error = -ENOENT;
		for (unsigned int set = 0; set < 3 && error < 0; set++)
			if (has_set(kit->device, set))
				error = select_text(kit, set, event, &selection);
		for (size_t r = 0; error >= 0 && r < selection->request_count; r++) {
			uint64_t mask = selection->requests[r].mask;

			for (error = 0; mask && !error; mask &= mask - 1)
				error = add_need(kit, entry, &selection->requests[r],
						 (unsigned int)__builtin_ctzll(mask));
		}
		perfctr_selection_unref(selection);
		error = error > 0 ? 0 : error == -EINVAL ? -ENOENT : error;
	}
	perfctr_expr_unref(expr);
	return error;
}

static bool has_block(const struct perfctr_device *device, const struct perfctr_metric_desc *m)
{
	for (size_t n = 0; n < device->block_count; n++)
		if (device->blocks[n].type == m->block_type &&
		    device->blocks[n].product == m->product)
			return true;
	/* a device reports PMUs as a whole; the selection lists them individually */
	return product_is_pmu(m->product) && device->info.features & DRM_PERFCTR_FEATURE_PMU;
}

static int add_computed(struct addition *a, const struct perfctr_metric_desc *metric, uint32_t kind)
{
	struct kit_entry *entry = calloc(1, sizeof(*entry));
	struct perfctr_perfkit *kit = a->kit;
	int error;

	if (!entry)
		return perfctr_no_memory(kit_ctx(kit));
	if (kind == PERFCTR_PERFKIT_METRIC)
		snprintf(entry->name, sizeof(entry->name), "%s.%s",
			 perfctr_block_type_name(metric->block_type), metric->name);
	else
		snprintf(entry->name, sizeof(entry->name), "%s", metric->name);
	entry->info.metric = metric;
	entry->info.kind = kind;
	entry->info.text = metric->short_text;
	entry->info.unit = metric->unit;
	if (find_entry(kit, entry->name)) {
		free_entry(entry);
		return 0;
	}
	error = add_formula(kit, entry, metric);
	if (!error)
		error = append(kit, entry);
	if (error)
		free_entry(entry);
	return error;
}

static bool names_metric(const char *pattern, const struct perfctr_metric_desc *metric)
{
	char full[KIT_NAME_BYTES];

	snprintf(full, sizeof(full), "%s.%s", perfctr_block_type_name(metric->block_type),
		 metric->name);
	return !fnmatch(pattern, metric->name, FNM_CASEFOLD) ||
	       !fnmatch(pattern, full, FNM_CASEFOLD) ||
	       (metric->id && !fnmatch(pattern, metric->id, FNM_CASEFOLD));
}

static int
add_metrics(struct addition *a, const char *pattern,
	    const struct perfctr_metric_desc *(*next)(const struct perfctr_metric_desc *),
	    bool gpu_only)
{
	const struct perfctr_metric_desc *metric = NULL;
	int found = 0;

	while ((metric = next(metric))) {
		uint32_t kind = PERFCTR_PERFKIT_METRIC;
		int error;

		if (next == perfctr_unit_next)
			kind = strstr(metric->name, " SOL") ? PERFCTR_PERFKIT_SOL :
							      PERFCTR_PERFKIT_BOTTLENECK;
		if (!has_block(a->kit->device, metric) || !names_metric(pattern, metric) ||
		    (gpu_only && product_is_pmu(metric->product)))
			continue;
		error = add_computed(a, metric, kind);
		/* this device lacks a required counter or PMU */
		if (error == -ENOENT)
			continue;
		if (error)
			return error;
		found++;
	}
	a->named += found;
	return found;
}

/* --- the text ---------------------------------------------------------------------- */

static int add_one(struct addition *a, const char *text)
{
	const char *path = a->kit->device->path, *slash = strrchr(path, '/');
	const char *node = slash ? slash + 1 : path;
	size_t prefix = strlen(METRIC_PREFIX);
	int found, event_error;

	if (!strncmp(text, METRIC_PREFIX, prefix)) {
		found = add_metrics(a, text + prefix, perfctr_metric_next, false);
	} else {
		event_error = add_events(a, text);
		/* -EINVAL: names of units contain a space */
		if (event_error >= 0 || (event_error != -ENOENT && event_error != -EINVAL))
			return event_error;
		found = add_metrics(a, text, perfctr_metric_next, false);
		if (!found)
			found = add_metrics(a, text, perfctr_unit_next, false);
		/* what selects events knows best why there is no event of a block or PMU */
		if (!found && (event_error == -EINVAL || strchr(text, '/')))
			return event_error;
	}
	if (found)
		return found;
	return perfctr_fail(kit_ctx(a->kit), -ENOENT,
			    "no counter, metric or unit of %s (%s) is named \"%s\"; see "
			    "\"perfctr list -d %s\", units: \"perfctr perfkit --passes -d %s\"",
			    a->kit->device->info.name, node, text, node, node);
}

static int begin_addition(struct perfctr_perfkit *kit, struct addition *a)
{
	*a = (struct addition){ .kit = kit, .first = kit->entry_count };
	if (kit->state != KIT_IDLE)
		return perfctr_fail(kit_ctx(kit), -EBUSY,
				    "counters cannot change in an experiment or while sampling");
	return 0;
}

static int end_addition(struct addition *a, int error)
{
	struct perfctr_perfkit *kit = a->kit;

	while (error < 0 && kit->entry_count > a->first)
		free_entry(kit->entries[--kit->entry_count]);
	drop_unused_needs(kit);
	kit_forget_values(kit);
	kit_forget_plan(kit);
	return error < 0 ? error : a->named;
}

EXPORT int perfctr_perfkit_add(struct perfctr_perfkit *kit, const char *text)
{
	struct addition a;
	int error = begin_addition(kit, &a);

	if (error)
		return error;
	do {
		size_t length = perfctr_event_length(kit->device, text);
		char *event = strndup(text, length);

		error = event ? add_one(&a, event) : perfctr_no_memory(kit_ctx(kit));
		free(event);
		text += length;
	} while (error >= 0 && *text++ == ',');
	return end_addition(&a, error);
}

EXPORT int perfctr_perfkit_add_all(struct perfctr_perfkit *kit)
{
	struct addition a;
	int error = begin_addition(kit, &a);
	size_t k;

	if (error)
		return error;
	/* all GPU block types by name; PMUs are not included */
	for (size_t n = 0; n < kit->device->block_count && error >= 0; n++) {
		const unsigned int type = kit->device->blocks[n].type;
		char name[LABEL_BYTES], event[LABEL_BYTES + 2];

		for (k = 0; k < n && kit->device->blocks[k].type != type; k++)
			;
		if (k < n || block_is_pmu(&kit->device->blocks[n]))
			continue;
		perfctr_block_label(type, DRM_PERFCTR_INDEX_ALL, name, sizeof(name));
		snprintf(event, sizeof(event), "%s/*", name);
		error = add_events(&a, event);
		/* a block whose counters are all of another set, or absent */
		error = error == -ENOENT ? 0 : error;
	}
	if (error >= 0)
		error = add_metrics(&a, "*", perfctr_metric_next, true);
	if (error >= 0)
		error = add_metrics(&a, "*", perfctr_unit_next, true);
	if (error >= 0 && !a.named)
		error = perfctr_fail(kit_ctx(kit), -ENOENT, "%s has no counters of a GPU",
				     kit->device->info.name);
	return end_addition(&a, error);
}

EXPORT int perfctr_perfkit_remove(struct perfctr_perfkit *kit, size_t n)
{
	struct addition a;
	int error = begin_addition(kit, &a);

	if (error)
		return error;
	if (n >= kit->entry_count)
		return perfctr_fail(kit_ctx(kit), -ERANGE, "there is no counter %zu", n);
	free_entry(kit->entries[n]);
	kit->entry_count--;
	memmove(&kit->entries[n], &kit->entries[n + 1],
		(kit->entry_count - n) * sizeof(kit->entries[0]));
	end_addition(&a, 0);
	return 0;
}

EXPORT size_t perfctr_perfkit_count(const struct perfctr_perfkit *kit)
{
	return kit->entry_count;
}

EXPORT const struct perfctr_perfkit_counter *
perfctr_perfkit_counter(const struct perfctr_perfkit *kit, size_t n)
{
	return n < kit->entry_count ? &kit->entries[n]->info : NULL;
}

EXPORT long perfctr_perfkit_find(const struct perfctr_perfkit *kit, const char *name)
{
	for (size_t n = 0; n < kit->entry_count; n++)
		if (!strcasecmp(kit->entries[n]->name, name))
			return (long)n;
	for (size_t n = 0; n < kit->entry_count; n++) {
		const char *full = kit->entries[n]->name;
		const char *separator = strpbrk(full, "/.");

		if (separator && !strcasecmp(separator + 1, name))
			return (long)n;
	}
	return -ENOENT;
}
