// SPDX-License-Identifier: MIT
/* Events of a text that are of perf PMUs, and of those that exist only in this library. */
#include "events.h"

#include <stdio.h>
#include <string.h>

/* Whether a pattern for PMUs selects individual PMUs instead of a whole kind. */
static bool selects_some_pmus(const struct event_parser *p, const struct pmu *pmu,
			      const char *pattern)
{
	if (!pattern)
		return false;
	for (size_t n = 0; n < p->pmus.count; n++)
		if (p->pmus.pmus[n].block_type == pmu->block_type &&
		    !event_pmu_matches(&p->pmus.pmus[n], pattern))
			return true;
	/* the only PMU of its kind, by its own name */
	return !event_is_glob(pattern) &&
	       (event_matches(pattern, pmu->name) || event_matches(pattern, pmu->label));
}

/* Append " (Xorg)". */
static void add_process_name(const struct event_parser *p, long pid, char *text)
{
	size_t length = strlen(text);
	char path[64], name[32];

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if (!strchr(text, '(') &&
	    perfctr_sys_read_text(p->ctx->sys, path, name, sizeof(name)) > 0 &&
	    !strpbrk(name, "/,()"))
		snprintf(text + length, EVENT_BYTES - length, " (%s)", name);
}

static bool is_local(const struct event_parser *p)
{
	return device_is(p->device, LINK_HOST);
}

/* Whether the device can count an event that way. Return: 0 or a negative errno. */
static int check_way(const struct event_parser *p, const struct pmu *pmu, const char *terms,
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

/*
 * The name of a generic event in outputs: its terms, "/" and its modifiers; "cpu=3" of a CPU.
 * @text: filled, of EVENT_BYTES.
 */
static int set_label(const struct event_parser *p, const char *terms, int cpu, char *text)
{
	char on[24] = "";

	if (cpu != DRM_PERFCTR_CPU_ANY)
		snprintf(on, sizeof(on), ",cpu=%d", cpu);
	if (snprintf(text, EVENT_BYTES, "%s%s%s%s", terms, on, *p->modifiers ? "/" : "",
		     p->modifiers) < EVENT_BYTES)
		return 0;
	return perfctr_fail(p->ctx, -EINVAL, "an event of more than %d characters: %.64s...",
			    EVENT_BYTES - 1, terms);
}

/* Note under which other name a label's event was added. */
static void set_alias(const struct event_parser *p, const char *terms,
		      struct selection_label *label)
{
	char text[EVENT_BYTES];

	label->is_any = p->is_pattern;
	if (p->alias && !p->is_pattern && strcmp(p->alias, terms) &&
	    !set_label(p, p->alias, DRM_PERFCTR_CPU_ANY, text) && strlen(text) < ALIAS_BYTES)
		strcpy(label->alias, text);
}

/* An event of a PMU without a catalogue. A level has no sum: one for each CPU. */
static int add_generic(struct event_parser *p, const struct pmu *pmu, const char *terms,
		       const struct pmu_event *event, struct drm_perfctr_block_request *r)
{
	char text[EVENT_BYTES];
	struct selection_label label = {
		.text = text, .unit = event->unit, .scale = event->scale, .is_chosen = *event->name
	};
	struct cpu_list cpus = { 0 };
	int error = 0;

	set_alias(p, terms, &label);
	if (event->flags & LOCAL_REQUEST_LEVEL && !pmu->is_uncore && p->device->task)
		return perfctr_fail(p->ctx, -EINVAL,
				    "%s/%s/ is a level by sysfs, and the threads of a process have "
				    "none that could be added up: count the whole machine (-a)",
				    pmu->label, terms);
	if (event->flags & LOCAL_REQUEST_LEVEL && r->cpu == DRM_PERFCTR_CPU_ANY)
		error = pmu_cpus(p->ctx, pmu, &cpus);
	for (size_t n = 0; !error && cpus.count > 1 && n < cpus.count; n++) {
		r->cpu = cpus.cpus[n];
		error = set_label(p, terms, r->cpu, text);
		if (!error)
			error = selection_add_generic(p->selection, r, &label);
	}
	if (!error && cpus.count < 2) {
		error = set_label(p, terms, DRM_PERFCTR_CPU_ANY, text);
		if (is_reading(pmu->type) && event->config2)
			add_process_name(p, (long)event->config2, text);
		if (!error)
			error = selection_add_generic(p->selection, r, &label);
	}
	cpu_list_free(&cpus);
	return error;
}

static int add_event_of(struct event_parser *p, const struct pmu *pmu, const char *terms,
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

static int add_pmu_event(struct event_parser *p, const struct pmu *pmu, const char *terms,
			 bool single);

static size_t core_pmu_count(const struct event_parser *p)
{
	size_t count = 0;

	for (size_t n = 0; n < p->pmus.count; n++)
		count += p->pmus.pmus[n].is_core;
	return count;
}

/* A generic number of a PMU; alone it is that of whatever core it is asked on. */
static uint64_t of_cores(const struct event_parser *p, const struct pmu *pmu, uint64_t config)
{
	return core_pmu_count(p) > 1 ? config | (uint64_t)pmu->type << 32 : config;
}

/* perf's generic event of a PMU of CPU cores: by its name in sysfs, else by its number. */
static int add_generic_of(struct event_parser *p, const struct pmu *pmu, const char *name,
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
static int start_generic(struct event_parser *p, const struct pmu *pmu, const char *term,
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
static int check_fields(const struct event_parser *p, const struct pmu *pmu, const char *terms,
			const struct pmu_event *event, uint64_t config)
{
	if (!event->has_type || (event->config == config && !event->config1 && !event->config2))
		return 0;
	return perfctr_fail(p->ctx, -EINVAL,
			    "%s/%s/: sysfs does not have the event, so perf counts it by a number "
			    "that has no fields: write event=N instead of its name",
			    pmu->label, terms);
}

static int add_pmu_event(struct event_parser *p, const struct pmu *pmu, const char *terms,
			 bool single)
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
		return event_fail_unknown(p, pmu->label, terms, false);
	if (!error)
		error = pmu_check_params(p->ctx, pmu, terms, &event);
	return error ? error : add_event_of(p, pmu, terms, &event, single);
}

struct expansion {
	struct event_parser *parser;
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

/* Whether sysfs describes the event in a way that this library cannot read: no list has it. */
static bool is_unreadable(const struct expansion *e, const char *name)
{
	struct pmu_event event = { .cpu = DRM_PERFCTR_CPU_ANY };

	return !is_reading(e->pmu->type) &&
	       pmu_add_term(e->parser->ctx, e->pmu, name, &event) == -EINVAL;
}

static int expand_event(void *arg, const char *name)
{
	const struct expansion *e = arg;
	struct per_client each = { e, name };
	char terms[EVENT_BYTES];

	if (!event_matches(e->pattern, name) &&
	    !(*e->any_device && event_matches(e->any_device, name)))
		return 0;
	if (is_reading(e->pmu->type) && !strcmp(e->filters, ",pid=*"))
		return e->parser->ctx->readings->pids(e->parser->ctx, e->pmu, name, add_of_client,
						      &each);
	if (event_is_glob(e->pattern) && is_unreadable(e, name))
		return 0;
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
	if (!error && e->parser->found == before && !event_is_glob(e->pattern))
		error = e->parser->ctx->readings->devices(e->parser->ctx, driver, add_of_device, e);
	return error;
}

/* All events of a PMU whose name matches the first term. */
static int add_pmu_events(struct event_parser *p, const struct pmu *pmu, const char *terms,
			  bool single)
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
	if (!event_is_glob(pattern) && is_reading(pmu->type) && !strcmp(e.filters, ",pid=*"))
		return expand_event(&e, pattern);
	if (!event_is_glob(pattern) || strchr(pattern, '='))
		return add_pmu_event(p, pmu, terms, single);
	return pmu_list_events(p->ctx, pmu, expand_event, &e);
}

static bool counts_pmu(const struct event_parser *p, const struct pmu *pmu)
{
	return !is_reading(pmu->type) || device_is(p->device, LINK_HOST);
}

static int need_pmu_support(struct event_parser *p, const struct pmu *pmu)
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

/* Why there is no PMU of that name; readings of a kind are absent from many machines. */
static int event_fail_no_readings(struct event_parser *p, const char *head)
{
	static const struct {
		const char *name, *what;
	} kinds[] = {
		{ "drm", "GPU whose driver shows its use" },
		{ "hwmon", "sensors" },
		{ "devfreq", "device with a frequency of its own" },
		{ "amdgpu", "AMD GPU with gpu_metrics" },
		{ "nvml", "NVIDIA GPU with NVIDIA's driver" },
		{ "gpu_stats", "GPU whose driver shows its engines in gpu_stats" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(kinds); n++)
		if (!strcmp(head, kinds[n].name))
			return perfctr_fail(p->ctx, -ENOENT, "this machine has no %s (%s)",
					    kinds[n].what, head);
	return event_fail_unknown(p, NULL, head, true);
}

/* Wildcards mean only what this device can count. */
static bool is_meant(const struct event_parser *p, const struct pmu *pmu, const char *head)
{
	return event_pmu_matches(pmu, head) &&
	       (!event_is_glob(head) || (counts_pmu(p, pmu) && !pmu->is_foreign));
}

int event_need_pmu(struct event_parser *p, const char *head)
{
	int error = event_load_pmus(p);

	for (size_t n = 0; !error && n < p->pmus.count; n++)
		if (is_meant(p, &p->pmus.pmus[n], head))
			return 0;
	return error ? error : event_fail_no_readings(p, head);
}

int event_add_pmu(struct event_parser *p, const char *head, const char *terms)
{
	int before = p->found;
	int error = event_need_pmu(p, head);

	for (size_t n = 0; !error && n < p->pmus.count; n++) {
		const struct pmu *pmu = &p->pmus.pmus[n];

		if (!is_meant(p, pmu, head))
			continue;
		error = need_pmu_support(p, pmu);
		if (!error)
			error = add_pmu_events(p, pmu, *terms ? terms : "*",
					       selects_some_pmus(p, pmu, head));
	}
	if (error || p->found != before)
		return error;
	error = p->ctx->readings->explain(p->ctx, head);
	return error ? error : event_fail_unknown(p, head, terms, false);
}

int event_add_pmu_plain(struct event_parser *p, const char *name)
{
	int error;

	if (!(p->device->info.features & DRM_PERFCTR_FEATURE_PMU))
		return 0;
	error = event_load_pmus(p);
	for (size_t n = 0; !error && n < p->pmus.count; n++) {
		const struct pmu *pmu = &p->pmus.pmus[n];
		struct expansion e = { .parser = p, .pmu = pmu, .pattern = name, .filters = "" };

		if (!pmu->is_foreign && (pmu->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU ||
					 !strcmp(pmu->name, "software")))
			error = pmu_list_events(p->ctx, pmu, expand_event, &e);
	}
	return error;
}

int event_add_of_cores(struct event_parser *p, const char *name,
		       const struct generic_event *generic, uint64_t raw)
{
	const struct pmu_event event = { .cpu = DRM_PERFCTR_CPU_ANY, .config = raw };
	const int before = p->found;
	int error = p->device->info.features & DRM_PERFCTR_FEATURE_PMU ? event_load_pmus(p) :
									 -EOPNOTSUPP;

	if (error == -EOPNOTSUPP)
		return perfctr_fail(
			p->ctx, error,
			"%s is an event of CPU cores, and %s takes no perf PMUs: choose "
			"the device \"local\" (-d local); a GPU's counter of that name "
			"has its block before it (perfctr list)",
			name, p->device->info.name);
	/* sysfs shows none: whether perf has one, it says when the event is opened */
	if (!error && !core_pmu_count(p) && is_local(p))
		error = generic ? add_generic_of(p, &pmu_unseen_core, name, generic) :
				  add_event_of(p, &pmu_unseen_core, name, &event, false);
	else if (!error && !core_pmu_count(p))
		error = perfctr_fail(p->ctx, -ENOENT, "%s: " PMU_NO_CORE, name);
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
