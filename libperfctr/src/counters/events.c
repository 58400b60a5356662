// SPDX-License-Identifier: MIT
/* Event names: from the user's text to the requests of a selection. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "catalogue.h"
#include "generic.h"
#include "metric.h"
#include "near.h"
#include "pmu.h"
#include "local/readings.h"
#include "selection.h"

#define METRIC_PREFIX "metric:"

enum { MODIFIER_BYTES = 16 };

struct parser {
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct pmu_list pmus;
	bool pmus_loaded;
	int found; /* counters that the text named */
	bool gpu_first; /* a GPU's "instructions" before those of CPU cores */
	/* perf's modifiers of the event that is added, "u", and their LOCAL_REQUEST_... bits */
	char modifiers[MODIFIER_BYTES];
	uint32_t flags;
};

static bool matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, FNM_CASEFOLD);
}

static bool is_glob(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

/* --- GPU blocks ------------------------------------------------------------ */

/* "C9" or "9". Return: whether it is a position. */
static bool parse_position(const char *text, unsigned int *position)
{
	char *end;
	unsigned long value;

	if (*text == 'C' || *text == 'c')
		text++;
	if (*text < '0' || *text > '9')
		return false;
	value = strtoul(text, &end, 10);
	if (*end || value > UINT16_MAX)
		return false;
	*position = (unsigned int)value;
	return true;
}

static bool block_matches(const struct drm_perfctr_block_info *b, const char *pattern)
{
	const char *type = perfctr_block_type_name(b->type);
	char label[LABEL_BYTES];

	if (block_is_pmu(b))
		return false;
	perfctr_block_label(b->type, b->index, label, sizeof(label));
	return matches(pattern, label) || (type && !strcasecmp(pattern, type));
}

/* Whether a pattern for blocks selects individual blocks instead of a whole type. */
static bool selects_some(const struct parser *p, const struct drm_perfctr_block_info *b,
			 const char *pattern)
{
	const char *type = perfctr_block_type_name(b->type);

	if (!pattern || (type && !strcasecmp(pattern, type)))
		return false;
	for (size_t n = 0; is_glob(pattern) && n < p->device->block_count; n++)
		if (p->device->blocks[n].type == b->type &&
		    !block_matches(&p->device->blocks[n], pattern))
			return true;
	return !is_glob(pattern);
}

static bool is_gpu_block(const struct parser *p, const char *pattern)
{
	for (size_t n = 0; n < p->device->block_count; n++)
		if (block_matches(&p->device->blocks[n], pattern))
			return true;
	return false;
}

/* Without a slash "t*" means counters: a block type must be spelled out. */
static bool is_gpu_block_alone(const struct parser *p, const char *pattern)
{
	for (size_t n = 0; n < p->device->block_count; n++) {
		const char *type = perfctr_block_type_name(p->device->blocks[n].type);

		if (type && !strncasecmp(pattern, type, strlen(type)) &&
		    block_matches(&p->device->blocks[n], pattern))
			return true;
	}
	return false;
}

static bool is_in_set(const struct drm_perfctr_block_info *b, unsigned int position,
		      unsigned int set)
{
	unsigned int section = position / DRM_PERFCTR_SECTION_COUNTERS;
	const __u64 *available = set ? b->set_available[set - 1] : b->available;

	return section < DRM_PERFCTR_BLOCK_INFO_SECTIONS &&
	       available[section] >> position % DRM_PERFCTR_SECTION_COUNTERS & 1;
}

static bool position_exists(const struct parser *p, const struct drm_perfctr_block_info *b,
			    unsigned int position)
{
	return position < b->counters && is_in_set(b, position, p->selection->set);
}

static bool position_matches(const struct parser *p, const struct drm_perfctr_block_info *b,
			     unsigned int position, const char *pattern)
{
	const struct perfctr_counter_desc *desc =
		perfctr_counter_at(b->product, b->type, p->selection->set, position);
	unsigned int wanted;
	char name[16];

	if (parse_position(pattern, &wanted))
		return wanted == position;
	if (desc)
		return matches(pattern, desc->name);
	snprintf(name, sizeof(name), "C%u", position);
	return matches(pattern, name);
}

/* Return: counters of the block that match, or an error. */
static int add_block_counters(struct parser *p, const struct drm_perfctr_block_info *b,
			      const char *pattern, bool single)
{
	int found = 0;

	for (unsigned int position = 0; position < b->counters; position++) {
		struct drm_perfctr_block_request r = {
			.type = b->type,
			.index = b->index,
			.section = (uint16_t)(position / DRM_PERFCTR_SECTION_COUNTERS),
			.set = (uint8_t)p->selection->set,
			.mask = UINT64_C(1) << position % DRM_PERFCTR_SECTION_COUNTERS,
		};
		int error;

		if (!position_exists(p, b, position) || !position_matches(p, b, position, pattern))
			continue;
		error = selection_add_gpu(p->selection, &r, single);
		if (error)
			return error;
		found++;
	}
	return found;
}

/* Counters of the blocks that match; without a pattern for blocks, all of them. */
static int add_gpu_counters(struct parser *p, const char *blocks, const char *counters)
{
	int found = 0;

	/* none has modifiers */
	for (size_t n = 0; !p->flags && n < p->device->block_count; n++) {
		const struct drm_perfctr_block_info *b = &p->device->blocks[n];
		int result;

		if (blocks ? !block_matches(b, blocks) : block_is_pmu(b))
			continue;
		result = add_block_counters(p, b, counters, selects_some(p, b, blocks));
		if (result < 0)
			return result;
		found += result;
	}
	p->found += found;
	return found;
}

/* Return: -ENOENT if another counter set has a counter of that name, else 0. */
static int fail_other_set(const struct parser *p, const char *blocks, const char *name)
{
	const struct perfctr_counter_desc *desc = NULL;

	while ((desc = perfctr_counter_next(desc))) {
		if (strcasecmp(desc->name, name))
			continue;
		for (size_t n = 0; n < p->device->block_count; n++) {
			const struct drm_perfctr_block_info *b = &p->device->blocks[n];

			if (b->type != desc->block_type || b->product != desc->product ||
			    (blocks && !block_matches(b, blocks)))
				continue;
			for (unsigned int set = 0; set <= ARRAY_SIZE(b->set_available); set++)
				if (set != p->selection->set && desc->sets >> set & 1 &&
				    is_in_set(b, desc->position, set))
					return perfctr_fail(
						p->ctx, -ENOENT,
						"%s is in counter set %u, and set %u is "
						"chosen: choose with --set %u",
						name, set, p->selection->set, set);
		}
	}
	return 0;
}

/* --- near misses ------------------------------------------------------------- */

struct nearest {
	const char *name;
	unsigned int distance;
	char best[NEAR_BYTES + LABEL_BYTES + 2];
	const char *label; /* of the PMU that is considered, if the name alone says too little */
};

static int consider(void *arg, const char *name)
{
	struct nearest *n = arg;

	if (near_is_nearer(n->name, name, &n->distance))
		snprintf(n->best, sizeof(n->best), "%s%s%s%s", n->label ? n->label : "",
			 n->label ? "/" : "", name, n->label ? "/" : "");
	return 0;
}

/* Whether a broker hides what its policy does not allow. */
static bool is_by_policy(const struct parser *p)
{
	return device_is(p->device, LINK_BROKER);
}

static int fail_no_metric(struct parser *p, const char *pattern)
{
	return perfctr_fail(p->ctx, -ENOENT,
			    "no metric \"%s\" for this device%s; see \"perfctr list\"", pattern,
			    is_by_policy(p) ? ", or the broker's policy does not allow it" : "");
}

static bool has_block(struct parser *p, unsigned int product, unsigned int type);
static int load_pmus(struct parser *p);
static bool pmu_matches(const struct pmu *pmu, const char *pattern);

/*
 * @head: block or PMU, NULL: none was given; @name: of what is not there; @is_head: it is a block
 * or PMU itself.
 * Return: -ENOENT, the reason has the nearest name.
 */
static int fail_unknown(struct parser *p, const char *head, const char *name, bool is_head)
{
	struct nearest n = { .name = name, .distance = near_distance_limit(name) };
	struct nearest other = n; /* that the device lacks */
	const struct perfctr_counter_desc *c = NULL, *lacking = NULL;
	const struct perfctr_metric_desc *m = NULL;

	while ((c = perfctr_counter_next(c))) {
		const char *type = perfctr_block_type_name(c->block_type);

		if (head && strncasecmp(head, type, strlen(type)))
			continue;
		if (has_block(p, c->product, c->block_type))
			consider(&n, c->name);
		else if (!lacking && !strcasecmp(c->name, name))
			lacking = c;
	}
	if (lacking && !is_head && !has_block(p, 0, lacking->block_type))
		return perfctr_fail(p->ctx, -ENOENT,
				    "%s is a counter of %s blocks (as of %s), which %s", name,
				    perfctr_block_type_name(lacking->block_type),
				    perfctr_product_name(lacking->product),
				    is_by_policy(p) ? "the device lacks, or the broker's policy "
						      "does not allow" :
				    !device_is(p->device, LINK_KERNEL) ?
						      "need a DRM device with counters; "
						      "\"perfctr check\" shows what is missing" :
						      "the device lacks; see \"perfctr list\"");
	while (!head && (m = perfctr_metric_next(m)))
		consider(has_block(p, m->product, m->block_type) ? &n : &other, m->name);
	if (!other.distance)
		return fail_no_metric(p, name);
	for (size_t i = 0; !load_pmus(p) && i < p->pmus.count; i++) {
		n.label = NULL;
		if (!head)
			consider(&n, p->pmus.pmus[i].name);
		n.label = head ? NULL : p->pmus.pmus[i].label;
		if (!head || pmu_matches(&p->pmus.pmus[i], head))
			pmu_list_events(p->ctx, &p->pmus.pmus[i], consider, &n);
	}
	return perfctr_fail(p->ctx, -ENOENT, "%s%s \"%s\"%s%s%s%s%s; see \"perfctr list\"",
			    head ? head : "no counter, metric, block or PMU is named",
			    head ? " has no counter or event" : "", name,
			    lacking && !is_head ? ", a counter of " : "",
			    lacking && !is_head ? perfctr_product_name(lacking->product) : "",
			    *n.best || *other.best ? ": did you mean " : "",
			    *n.best ? n.best : other.best,
			    *n.best || !*other.best ? "" : ", which this device lacks");
}

static int add_gpu_event(struct parser *p, const char *blocks, const char *counters)
{
	int found = add_gpu_counters(p, blocks, *counters ? counters : "*");

	if (found)
		return found < 0 ? found : 0;
	found = fail_other_set(p, blocks, counters);
	return found ? found : fail_unknown(p, blocks, counters, false);
}

/* --- perf PMUs --------------------------------------------------------------- */

static int load_pmus(struct parser *p)
{
	int error;

	if (p->pmus_loaded)
		return 0;
	error = pmu_list_load(p->ctx, &p->pmus);
	p->pmus_loaded = !error;
	if (!error)
		pmu_list_judge(p->device, &p->pmus);
	return error;
}

/* Match a PMU by its name, its block's name, or like perf without its trailing number. */
static bool pmu_matches(const struct pmu *pmu, const char *pattern)
{
	const char *type = perfctr_block_type_name(pmu->block_type);
	size_t length = strlen(pattern);

	if (matches(pattern, pmu->name) || matches(pattern, pmu->label))
		return true;
	if (pmu->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU && type && !strcasecmp(pattern, type))
		return true;
	return !strncmp(pmu->name, pattern, length) && pmu->name[length] == '_' &&
	       pmu->name[length + 1] &&
	       strspn(pmu->name + length + 1, "0123456789") == strlen(pmu->name + length + 1);
}

/* Whether a pattern for PMUs selects individual PMUs instead of a whole kind. */
static bool selects_some_pmus(const struct parser *p, const struct pmu *pmu, const char *pattern)
{
	if (!pattern)
		return false;
	for (size_t n = 0; n < p->pmus.count; n++)
		if (p->pmus.pmus[n].block_type == pmu->block_type &&
		    !pmu_matches(&p->pmus.pmus[n], pattern))
			return true;
	/* the only PMU of its kind, by its own name */
	return !is_glob(pattern) && (matches(pattern, pmu->name) || matches(pattern, pmu->label));
}

/* Append " (Xorg)". */
static void add_process_name(const struct parser *p, long pid, struct selection_label *label)
{
	size_t length = strlen(label->text);
	char path[64], name[32];

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if (!strchr(label->text, '(') &&
	    perfctr_sys_read_text(p->ctx->sys, path, name, sizeof(name)) > 0 &&
	    !strpbrk(name, "/,()"))
		snprintf(label->text + length, sizeof(label->text) - length, " (%s)", name);
}

static bool is_local(const struct parser *p)
{
	return device_is(p->device, LINK_LOCAL);
}

/* Whether the device can count an event that way. Return: 0 or a negative errno. */
static int check_way(const struct parser *p, const struct pmu *pmu, const char *terms,
		     const struct pmu_event *event)
{
	const bool has_modes = !pmu->is_uncore && !is_reading(pmu->type) &&
			       pmu->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU;

	if (p->flags && !has_modes)
		return perfctr_fail(p->ctx, -EINVAL,
				    "%s/%s/%s: modifiers have no meaning for these counters: %s "
				    "counts for the whole machine",
				    pmu->label, terms, p->modifiers, pmu->label);
	if (is_local(p) || !(p->flags || event->flags))
		return 0;
	return perfctr_fail(p->ctx, -EINVAL,
			    "%s/%s/%s: %s for %s: choose the device \"local\" (-d local)",
			    pmu->label, terms, p->modifiers,
			    p->flags ? "modifiers have no meaning" :
				       "sysfs says that it is a level, which has no meaning",
			    p->device->info.name);
}

/* The name of a generic event in outputs: its terms, "/" and its modifiers; "cpu=3" of a CPU. */
static int set_label(const struct parser *p, const char *terms, int cpu,
		     struct selection_label *label)
{
	char on[24] = "";

	if (cpu != DRM_PERFCTR_CPU_ANY)
		snprintf(on, sizeof(on), ",cpu=%d", cpu);
	if (snprintf(label->text, sizeof(label->text), "%s%s%s%s", terms, on,
		     *p->modifiers ? "/" : "", p->modifiers) < (int)sizeof(label->text))
		return 0;
	return perfctr_fail(p->ctx, -EINVAL, "an event of more than %zu characters: %.64s...",
			    sizeof(label->text) - 1, terms);
}

/* An event of a PMU without a catalogue. A level has no sum: one for each CPU. */
static int add_generic(struct parser *p, const struct pmu *pmu, const char *terms,
		       const struct pmu_event *event, struct drm_perfctr_block_request *r)
{
	struct selection_label label = { .scale = event->scale, .is_chosen = *event->name };
	struct cpu_list cpus = { 0 };
	int error = 0;

	memcpy(label.unit, event->unit, sizeof(label.unit));
	if (event->flags & LOCAL_REQUEST_LEVEL && !pmu->is_uncore && perfctr_local_task(p->device))
		return perfctr_fail(p->ctx, -EINVAL,
				    "%s/%s/ is a level by sysfs, and the threads of a process have "
				    "none that could be added up: count the whole machine (-a)",
				    pmu->label, terms);
	if (event->flags & LOCAL_REQUEST_LEVEL && r->cpu == DRM_PERFCTR_CPU_ANY)
		error = pmu_cpus(p->ctx, pmu, &cpus);
	for (size_t n = 0; !error && cpus.count > 1 && n < cpus.count; n++) {
		r->cpu = cpus.cpus[n];
		error = set_label(p, terms, r->cpu, &label);
		if (!error)
			error = selection_add_generic(p->selection, r, &label);
	}
	if (!error && cpus.count < 2) {
		error = set_label(p, terms, DRM_PERFCTR_CPU_ANY, &label);
		if (is_reading(pmu->type) && event->config2)
			add_process_name(p, (long)event->config2, &label);
		if (!error)
			error = selection_add_generic(p->selection, r, &label);
	}
	cpu_list_free(&cpus);
	return error;
}

static int add_event_of(struct parser *p, const struct pmu *pmu, const char *terms,
			const struct pmu_event *event, bool single)
{
	struct drm_perfctr_block_request r = {
		.flags = DRM_PERFCTR_REQUEST_PMU | p->flags | event->flags,
		.type = pmu->block_type,
		.index = pmu->index,
		.cpu = event->cpu,
		.pmu_type = event->has_type ? event->type : pmu->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
	};
	const struct perfctr_counter_desc *desc;
	uint64_t event_bits;
	int error = check_way(p, pmu, terms, event);

	if (error)
		return error;
	p->found++;
	if (pmu->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return add_generic(p, pmu, *event->name ? event->name : terms, event, &r);
	event_bits = pmu_event_bits(p->ctx, pmu);
	desc = pmu_typed_event(pmu, event->config & event_bits);
	if (!desc)
		return add_generic(p, pmu, terms, event, &r);
	r.section = (uint16_t)(desc->position / DRM_PERFCTR_SECTION_COUNTERS);
	r.mask = UINT64_C(1) << desc->position % DRM_PERFCTR_SECTION_COUNTERS;
	r.config &= ~event_bits;
	return selection_add_pmu(p->selection, &r, single);
}

static int add_pmu_event(struct parser *p, const struct pmu *pmu, const char *terms, bool single);

static size_t core_pmu_count(const struct parser *p)
{
	size_t count = 0;

	for (size_t n = 0; n < p->pmus.count; n++)
		count += p->pmus.pmus[n].is_core;
	return count;
}

/* A generic number of a PMU; alone it is that of whatever core it is asked on. */
static uint64_t of_cores(const struct parser *p, const struct pmu *pmu, uint64_t config)
{
	return core_pmu_count(p) > 1 ? config | (uint64_t)pmu->type << 32 : config;
}

/* perf's generic event of a PMU of CPU cores: by its name in sysfs, else by its number. */
static int add_generic_of(struct parser *p, const struct pmu *pmu, const char *name,
			  const struct generic_event *generic)
{
	struct pmu_event event = {
		.cpu = DRM_PERFCTR_CPU_ANY,
		.has_type = true,
		.type = generic->type,
	};

	for (const char *const *names = generic->names; *names; names++)
		if (pmu_has_event(p->ctx, pmu, *names))
			return add_pmu_event(p, pmu, *names, false);
	/* other devices take the PMUs of sysfs only */
	if (!is_local(p))
		return 0;
	event.config = of_cores(p, pmu, generic->config);
	return add_event_of(p, pmu, name, &event, false);
}

/*
 * The first of several terms, if it is perf's name of an event that sysfs does not have: start with
 * the event. Return: 1; 0: it is another term; a negative errno.
 */
static int start_generic(struct parser *p, const struct pmu *pmu, const char *term,
			 struct pmu_event *event)
{
	struct generic_event generic;

	if (!pmu->is_core || !generic_event_find(term, &generic) ||
	    pmu_has_event(p->ctx, pmu, term))
		return 0;
	for (const char *const *names = generic.names; *names; names++)
		if (pmu_has_event(p->ctx, pmu, *names))
			return pmu_add_term(p->ctx, pmu, *names, event) ? -EINVAL : 1;
	if (!is_local(p))
		return 0;
	event->has_type = true;
	event->type = generic.type;
	event->config = of_cores(p, pmu, generic.config);
	return 1;
}

/* A generic number is no config of the PMU, so it has no fields. */
static int check_fields(const struct parser *p, const struct pmu *pmu, const char *terms,
			const struct pmu_event *event, uint64_t config)
{
	if (!event->has_type || (event->config == config && !event->config1 && !event->config2))
		return 0;
	return perfctr_fail(p->ctx, -EINVAL,
			    "%s/%s/: sysfs does not have the event, so perf counts it by a number "
			    "that has no fields: write event=N instead of its name",
			    pmu->label, terms);
}

static int add_pmu_event(struct parser *p, const struct pmu *pmu, const char *terms, bool single)
{
	struct pmu_event event = { .cpu = DRM_PERFCTR_CPU_ANY };
	struct generic_event generic;
	char text[EVENT_BYTES];
	char *term, *rest = text;
	uint64_t config;
	int error = 0;

	if (pmu->is_core && generic_event_find(terms, &generic) &&
	    !pmu_has_event(p->ctx, pmu, terms))
		return add_generic_of(p, pmu, terms, &generic);
	snprintf(text, sizeof(text), "%s", terms);
	text[strcspn(text, ",")] = '\0';
	error = start_generic(p, pmu, text, &event);
	snprintf(text, sizeof(text), "%s", terms);
	if (error > 0)
		strsep(&rest, ",");
	error = error < 0 ? error : 0;
	config = event.config;
	while (!error && (term = strsep(&rest, ",")))
		if (*term)
			error = pmu_add_term(p->ctx, pmu, term, &event);
	if (!error)
		error = check_fields(p, pmu, terms, &event, config);
	if (error == -ENOENT && !strpbrk(terms, is_reading(pmu->type) ? "," : "=,:"))
		return fail_unknown(p, pmu->label, terms, false);
	if (!error)
		error = pmu_check_params(p->ctx, pmu, terms, &event);
	return error ? error : add_event_of(p, pmu, terms, &event, single);
}

struct expansion {
	struct parser *parser;
	const struct pmu *pmu;
	const char *pattern;
	/* terms after the name, including the comma before them */
	const char *filters;
	bool single;
	char any_device[EVENT_BYTES]; /* the pattern for each device of a driver; empty: none */
};

struct per_client {
	const struct expansion *expansion;
	const char *name;
};

static int add_of_client(void *arg, long pid)
{
	const struct per_client *c = arg;
	const struct expansion *e = c->expansion;
	char terms[EVENT_BYTES];

	snprintf(terms, sizeof(terms), "%s,pid=%ld", c->name, pid);
	return add_pmu_event(e->parser, e->pmu, terms, e->single);
}

static int expand_event(void *arg, const char *name)
{
	const struct expansion *e = arg;
	struct per_client each = { e, name };
	char terms[EVENT_BYTES];

	if (!matches(e->pattern, name) && !(*e->any_device && matches(e->any_device, name)))
		return 0;
	if (is_reading(e->pmu->type) && !strcmp(e->filters, ",pid=*"))
		return readings_pids(e->parser->ctx, e->pmu, name, add_of_client, &each);
	snprintf(terms, sizeof(terms), "%s%s", name, e->filters);
	return add_pmu_event(e->parser, e->pmu, terms, e->single);
}

/* "panthor:engine-*" means "panthor@*:engine-*", too: GPUs have the names DRIVER@DEVICE. */
static void find_driver(struct expansion *e)
{
	const size_t length = strcspn(e->pattern, ":");

	if (strcmp(e->pmu->name, "drm") || !e->pattern[length] || !length ||
	    memchr(e->pattern, '@', length) || e->pattern[0] == '*' ||
	    snprintf(e->any_device, sizeof(e->any_device), "%.*s@*%s", (int)length, e->pattern,
		     e->pattern + length) >= (int)sizeof(e->any_device))
		*e->any_device = '\0';
}

static int add_of_device(void *arg, const char *device)
{
	const struct expansion *e = arg;
	char name[EVENT_BYTES];

	snprintf(name, sizeof(name), "%.*s@%s%s", (int)strcspn(e->pattern, ":"), e->pattern, device,
		 strchr(e->pattern, ':'));
	return expand_event(arg, name);
}

/* An event of a driver without a device: of each that has a client, else of each in sysfs. */
static int add_of_driver(struct expansion *e)
{
	const int before = e->parser->found;
	char driver[EVENT_BYTES];
	int error = pmu_list_events(e->parser->ctx, e->pmu, expand_event, e);

	snprintf(driver, sizeof(driver), "%.*s", (int)strcspn(e->pattern, ":"), e->pattern);
	if (!error && e->parser->found == before && !is_glob(e->pattern))
		error = readings_devices(e->parser->ctx, driver, add_of_device, e);
	return error;
}

/* All events of a PMU whose name matches the first term. */
static int add_pmu_events(struct parser *p, const struct pmu *pmu, const char *terms, bool single)
{
	char pattern[EVENT_BYTES];
	size_t length = strcspn(terms, ",");
	struct expansion e = {
		.parser = p,
		.pmu = pmu,
		.pattern = pattern,
		.filters = terms + length,
		.single = single,
	};
	const int before = p->found;
	int error = 0;

	memcpy(pattern, terms, length);
	pattern[length] = '\0';
	find_driver(&e);
	if (*e.any_device)
		error = add_of_driver(&e);
	if (error || p->found != before)
		return error;
	if (!is_glob(pattern) && is_reading(pmu->type) && !strcmp(e.filters, ",pid=*"))
		return expand_event(&e, pattern);
	if (!is_glob(pattern) || strchr(pattern, '='))
		return add_pmu_event(p, pmu, terms, single);
	return pmu_list_events(p->ctx, pmu, expand_event, &e);
}

static bool counts_pmu(const struct parser *p, const struct pmu *pmu)
{
	return !is_reading(pmu->type) || device_is(p->device, LINK_LOCAL);
}

static int need_pmu_support(struct parser *p, const struct pmu *pmu)
{
	if (!counts_pmu(p, pmu))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s does not count %s: choose the device \"local\" (-d local)",
				    p->device->info.name, pmu->name);
	if (p->device->info.features & DRM_PERFCTR_FEATURE_PMU)
		return 0;
	return perfctr_fail(p->ctx, -EOPNOTSUPP,
			    "%s takes no perf PMUs: its kernel was built without perf events",
			    p->device->info.name);
}

static int add_pmu_head(struct parser *p, const char *head, const char *terms)
{
	int before = p->found;
	bool known = false;
	int error = load_pmus(p);

	for (size_t n = 0; !error && n < p->pmus.count; n++) {
		if (!pmu_matches(&p->pmus.pmus[n], head) ||
		    (is_glob(head) &&
		     (!counts_pmu(p, &p->pmus.pmus[n]) || p->pmus.pmus[n].is_foreign)))
			continue;
		if (!known)
			error = need_pmu_support(p, &p->pmus.pmus[n]);
		known = true;
		if (!error)
			error = add_pmu_events(p, &p->pmus.pmus[n], *terms ? terms : "*",
					       selects_some_pmus(p, &p->pmus.pmus[n], head));
	}
	if (error)
		return error;
	if (!known && (!strcmp(head, "drm") || !strcmp(head, "hwmon")))
		return perfctr_fail(p->ctx, -ENOENT, "this machine has no %s",
				    *head == 'd' ? "GPU whose driver shows its use (drm)" :
						   "sensors (hwmon)");
	if (!known)
		return fail_unknown(p, NULL, head, true);
	if (p->found != before)
		return 0;
	error = readings_explain(p->ctx, head);
	return error ? error : fail_unknown(p, head, terms, false);
}

/* Events of SoC blocks and of the software PMU by name only. */
static int add_pmu_plain(struct parser *p, const char *name)
{
	int error;

	if (!(p->device->info.features & DRM_PERFCTR_FEATURE_PMU))
		return 0;
	error = load_pmus(p);
	for (size_t n = 0; !error && n < p->pmus.count; n++) {
		const struct pmu *pmu = &p->pmus.pmus[n];
		struct expansion e = { .parser = p, .pmu = pmu, .pattern = name, .filters = "" };

		if (!pmu->is_foreign && (pmu->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU ||
					 !strcmp(pmu->name, "software")))
			error = pmu_list_events(p->ctx, pmu, expand_event, &e);
	}
	return error;
}

/* --- metrics ------------------------------------------------------------------- */

/* Whether the device or the machine's PMUs have a block of a product and type; 0: of any. */
static bool has_block(struct parser *p, unsigned int product, unsigned int type)
{
	for (size_t n = 0; n < p->device->block_count; n++)
		if ((!type || p->device->blocks[n].type == type) &&
		    (!product || p->device->blocks[n].product == product) &&
		    !block_is_pmu(&p->device->blocks[n]))
			return true;
	if (product != DRM_PERFCTR_TEGRA410_PRODUCT ||
	    !(p->device->info.features & DRM_PERFCTR_FEATURE_PMU) || load_pmus(p))
		return false;
	for (size_t n = 0; n < p->pmus.count; n++) {
		unsigned int other = p->pmus.pmus[n].block_type;

		if (!p->pmus.pmus[n].is_foreign &&
		    (type ? other == type : other != DRM_PERFCTR_BLOCK_GENERIC_PMU))
			return true;
	}
	return false;
}

/* Add the counter of a name in a formula, in the blocks of one type. */
static int add_metric_counter(struct parser *p, const struct perfctr_metric_desc *metric,
			      const char *name)
{
	const char *dot = strchr(name, '.');
	char type[LABEL_BYTES];

	if (metric_is_variable(name))
		return 0;
	snprintf(type, sizeof(type), "%.*s", dot ? (int)(dot - name) : 0, dot ? name : "");
	if (!dot)
		snprintf(type, sizeof(type), "%s", perfctr_block_type_name(metric->block_type));
	name = dot ? dot + 1 : name;
	return is_gpu_block(p, type) ? add_gpu_event(p, type, name) : add_pmu_head(p, type, name);
}

static int add_metric(struct parser *p, const struct perfctr_metric_desc *metric)
{
	struct perfctr_expr *expr;
	const char *name;
	int error;

	error = perfctr_expr_new(p->ctx, metric->formula, &expr);
	if (error)
		return error;
	for (size_t n = 0; !error && (name = perfctr_expr_name(expr, n)); n++)
		error = add_metric_counter(p, metric, name);
	perfctr_expr_unref(expr);
	return error ? error : selection_add_metric(p->selection, metric);
}

static bool has_product(void *parser, unsigned int product)
{
	return has_block(parser, product, 0);
}

/* Return: how many match, 0: none that this device can count, negative error. */
static int add_metrics(struct parser *p, const char *pattern)
{
	const struct perfctr_metric_desc *metric = NULL;
	size_t before = p->selection->metric_count;
	int found = 0;

	while ((metric = database_metric_next(metric, has_product, p))) {
		char full[2 * LABEL_BYTES];
		int error;

		if (!has_block(p, metric->product, metric->block_type))
			continue;
		snprintf(full, sizeof(full), "%s.%s", perfctr_block_type_name(metric->block_type),
			 metric->name);
		if (!matches(pattern, metric->name) && !matches(pattern, full) &&
		    !matches(pattern, metric->id))
			continue;
		found++;
		error = add_metric(p, metric);
		/* one of many matches may need a counter that this device lacks */
		if (error == -ENOENT && is_glob(pattern))
			continue;
		if (error)
			return error;
	}
	if (p->selection->metric_count == before && is_glob(pattern) && !p->found)
		return 0;
	return found;
}

/* --- the text -------------------------------------------------------------------- */

/*
 * Add an event of all kinds of CPU cores, a generic one or a raw one of that config.
 * Return: 0 or a negative errno, -ENOENT if there is no PMU of them.
 */
static int add_of_cores(struct parser *p, const char *name, const struct generic_event *generic,
			uint64_t raw)
{
	const struct pmu_event event = { .cpu = DRM_PERFCTR_CPU_ANY, .config = raw };
	const int before = p->found;
	int error = p->device->info.features & DRM_PERFCTR_FEATURE_PMU ? load_pmus(p) : -EOPNOTSUPP;

	if (error == -EOPNOTSUPP)
		return perfctr_fail(
			p->ctx, error,
			"%s is an event of CPU cores, and %s takes no perf PMUs: choose "
			"the device \"local\" (-d local); a GPU's counter of that name "
			"has its block before it (perfctr list)",
			name, p->device->info.name);
	if (!error && !core_pmu_count(p))
		return perfctr_fail(p->ctx, -ENOENT,
				    "%s: this machine shows no CPU PMU, as many virtual machines; "
				    "\"perfctr list\" has what it can count",
				    name);
	for (size_t n = 0; !error && n < p->pmus.count; n++) {
		const struct pmu *pmu = &p->pmus.pmus[n];

		if (pmu->is_core)
			error = generic ? add_generic_of(p, pmu, name, generic) :
					  add_event_of(p, pmu, name, &event, false);
	}
	if (error || p->found != before)
		return error;
	return perfctr_fail(p->ctx, -ENOENT,
			    "%s: sysfs has no event of that name for these CPU PMUs; the device "
			    "\"local\" (-d local) counts it by its number",
			    name);
}

/* perf's short names of software events; events of perf's own tool; kinds without a PMU to count */
static const char *software_name(const char *name)
{
	static const char *const aliases[][2] = {
		{ "cs", "context-switches" },
		{ "faults", "page-faults" },
		{ "migrations", "cpu-migrations" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(aliases); n++)
		if (!strcmp(aliases[n][0], name))
			return aliases[n][1];
	return name;
}

static bool is_of_tool(const char *name)
{
	return !strcmp(name, "duration_time") || !strcmp(name, "user_time") ||
	       !strcmp(name, "system_time");
}

static bool has_tracepoints(const struct parser *p)
{
	for (size_t n = 0; n < p->pmus.count; n++)
		if (!strcmp(p->pmus.pmus[n].name, "tracepoint"))
			return true;
	return false;
}

/* Events that perf writes in ways of their own. Return: -ENOENT: it is none of them. */
static int add_special(struct parser *p, const char *name)
{
	const char *colon = strchr(name, ':');

	if (is_of_tool(name))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s is not supported: perf stat measures it, no PMU does; "
				    "outputs of perfctr have the time of the counts",
				    name);
	if (!strncmp(name, "mem:", strlen("mem:")))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s is not supported: perfctr counts no breakpoints", name);
	/* "sched:sched_switch" */
	if (!colon || !colon[1] || colon == name || strchr(colon + 1, ':') ||
	    !(p->device->info.features & DRM_PERFCTR_FEATURE_PMU) || load_pmus(p) ||
	    !has_tracepoints(p))
		return -ENOENT;
	if (is_glob(name))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s is not supported: name one tracepoint at a time", name);
	return add_pmu_head(p, "tracepoint", name);
}

/* Counters, PMU events and metrics whose name, without a block or PMU, matches. */
static int add_by_name(struct parser *p, const char *name)
{
	int before = p->found;
	struct generic_event generic;
	uint64_t raw;
	int result;

	if (!strncmp(name, METRIC_PREFIX, strlen(METRIC_PREFIX))) {
		name += strlen(METRIC_PREFIX);
		result = add_metrics(p, name);
		return result ? (result < 0 ? result : 0) : fail_no_metric(p, name);
	}
	result = add_special(p, name);
	if (result != -ENOENT)
		return result;
	/* also where a fabric or a GPU has a counter of that name */
	if (!p->gpu_first && generic_event_find(name, &generic))
		return add_of_cores(p, name, &generic, 0);
	if (is_gpu_block_alone(p, name))
		return add_gpu_event(p, name, "");
	result = add_gpu_counters(p, NULL, name);
	if (result)
		return result < 0 ? result : 0;
	result = add_pmu_plain(p, software_name(name));
	if (result < 0)
		return result;
	result = p->found == before ? fail_other_set(p, NULL, name) : 0;
	if (result || p->found != before)
		return result;
	result = p->flags ? 0 : add_metrics(p, name);
	if (result)
		return result < 0 ? result : 0;
	if (generic_event_find(name, &generic))
		return add_of_cores(p, name, &generic, 0);
	if (raw_event_parse(name, &raw))
		return add_of_cores(p, name, NULL, raw);
	return fail_unknown(p, NULL, name, false);
}

/* Take perf's modifiers of an event, "u" or "kp". */
static int take_modifiers(struct parser *p, const char *event, const char *text, size_t length)
{
	if (length >= sizeof(p->modifiers))
		return perfctr_fail(p->ctx, -EINVAL, "%s: too many modifiers", event);
	memcpy(p->modifiers, text, length);
	p->modifiers[length] = '\0';
	return modifiers_parse(p->ctx, event, p->modifiers, &p->flags);
}

/* "cycles" or "cycles:u". */
static int add_plain(struct parser *p, char *name)
{
	char *colon = strrchr(name, ':');
	int error = 0;

	/* all that perf knows, to name the one that is not supported */
	if (colon && colon[1] && strspn(colon + 1, PERF_MODIFIERS) == strlen(colon + 1) &&
	    strncmp(name, METRIC_PREFIX, strlen(METRIC_PREFIX)) != 0) {
		*colon = '\0';
		error = take_modifiers(p, name, colon + 1, strlen(colon + 1));
	}
	return error ? error : add_by_name(p, name);
}

static int cut(struct parser *p, char *to, const char *from, size_t length)
{
	if (length >= EVENT_BYTES)
		return perfctr_fail(p->ctx, -EINVAL, "an event name of %zu characters", length);
	memcpy(to, from, length);
	to[length] = '\0';
	return 0;
}

/*
 * Read one event at *text and advance past it.
 *
 * Commas separate events, but also the terms of a perf PMU between its slashes, so the text before
 * the first slash determines where the event ends.
 */
static int add_event(struct parser *p, const char **text)
{
	const char *start = *text;
	size_t head_length = strcspn(start, "/,{}");
	size_t length = strcspn(start, ",{}");
	char head[EVENT_BYTES], tail[EVENT_BYTES];
	const char *close;
	int error;

	p->flags = 0;
	p->modifiers[0] = '\0';
	if (!strncmp(start, METRIC_PREFIX, strlen(METRIC_PREFIX)))
		head_length = length;
	error = cut(p, head, start, head_length);
	if (error)
		return error;
	if (!head_length)
		return perfctr_fail(p->ctx, -EINVAL, "an event without a name at \"%s\"", start);
	if (start[head_length] != '/') {
		*text = start + head_length;
		return add_plain(p, head);
	}

	start += head_length + 1;
	close = strchr(start, '/');
	if (is_gpu_block(p, head)) {
		length = strcspn(start, "/,{}");
		*text = start + length + (start[length] == '/');
	} else if (close) {
		length = (size_t)(close - start);
		*text = close + 1;
	} else {
		length = strcspn(start, ",{}");
		*text = start + length;
	}
	error = cut(p, tail, start, length);
	if (error)
		return error;
	*text += **text == ':' && close && close < *text;
	length = strcspn(*text, ",{} ");
	if (length && is_gpu_block(p, head))
		return perfctr_fail(
			p->ctx, -EINVAL,
			"\"%s\" after %s/%s/: modifiers have no meaning for these counters", *text,
			head, tail);
	error = take_modifiers(p, tail, *text, length);
	if (error)
		return error;
	*text += length;
	return is_gpu_block(p, head) ? add_gpu_event(p, head, tail) : add_pmu_head(p, head, tail);
}

static int add_text(struct parser *p, const char *text)
{
	bool expect_event = true;
	int error = 0;

	while (!error && *text) {
		switch (*text) {
		case ',':
			if (expect_event)
				return perfctr_fail(p->ctx, -EINVAL, "an empty event at \"%s\"",
						    text);
			expect_event = true;
			text++;
			break;
		case '{':
		case '}':
			if (text[1] == ':')
				return perfctr_fail(
					p->ctx, -EINVAL,
					"\"%s\": modifiers of a group are not supported: "
					"write them behind each event",
					text + 1);
			text++;
			break;
		case ' ':
			text++;
			break;
		default:
			/* perf's name of a group: "g1:{" */
			if (text[strcspn(text, ":,{}/ ")] == ':' &&
			    text[strcspn(text, ":,{}/ ") + 1] == '{') {
				text += strcspn(text, "{");
				break;
			}
			if (!expect_event)
				return perfctr_fail(p->ctx, -EINVAL, "a comma is missing at \"%s\"",
						    text);
			expect_event = false;
			error = add_event(p, &text);
		}
	}
	if (!error && expect_event)
		return perfctr_fail(p->ctx, -EINVAL, "an event name is missing at the end");
	return error;
}

size_t selection_event_length(struct perfctr_device *device, const char *text)
{
	const struct parser p = { .ctx = device->ctx, .device = device };
	size_t head_length = strcspn(text, "/,{}");
	const char *close;
	char head[EVENT_BYTES];

	if (!strncmp(text, METRIC_PREFIX, strlen(METRIC_PREFIX)) || text[head_length] != '/' ||
	    head_length >= sizeof(head))
		return strcspn(text, ",");
	memcpy(head, text, head_length);
	head[head_length] = '\0';
	close = strchr(text + head_length + 1, '/');
	if (is_gpu_block(&p, head) || !close)
		return strcspn(text, ",");
	return (size_t)(close - text) + strcspn(close, ",");
}

static int add_to(struct perfctr_selection *selection, const char *text, bool gpu_first)
{
	struct parser p = {
		.ctx = selection->device->ctx,
		.device = selection->device,
		.gpu_first = gpu_first,
	};
	int error;

	error = perfctr_selection_copy(selection, &p.selection);
	if (error)
		return error;
	error = add_text(&p, text);
	pmu_list_free(&p.pmus);
	if (error) {
		perfctr_selection_unref(p.selection);
		return error;
	}
	selection_take(selection, p.selection);
	return p.found;
}

EXPORT int perfctr_selection_add(struct perfctr_selection *selection, const char *text)
{
	return add_to(selection, text, false);
}

int selection_add_of_gpu(struct perfctr_selection *selection, const char *text)
{
	return add_to(selection, text, true);
}
