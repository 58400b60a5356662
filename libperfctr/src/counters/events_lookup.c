// SPDX-License-Identifier: MIT
/*
 * What the names in a text of events mean on a device: its blocks, its PMUs, and the nearest name
 * to one that it lacks.
 */
#include "events.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/near.h"

bool event_matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, FNM_CASEFOLD);
}

bool event_is_glob(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

int event_load_pmus(struct event_parser *p)
{
	int error;

	if (p->pmus_loaded)
		return 0;
	error = pmu_list_recent(p->ctx, &p->pmus);
	p->pmus_loaded = !error;
	if (!error)
		pmu_list_judge(p->device, &p->pmus);
	return error;
}

bool event_pmu_matches(const struct pmu *pmu, const char *pattern)
{
	const char *type = perfctr_block_type_name(pmu->block_type);
	size_t length = strlen(pattern);

	if (event_matches(pattern, pmu->name) || event_matches(pattern, pmu->label))
		return true;
	if (pmu->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU && type && !strcasecmp(pattern, type))
		return true;
	return !strncmp(pmu->name, pattern, length) && pmu->name[length] == '_' &&
	       pmu->name[length + 1] &&
	       strspn(pmu->name + length + 1, "0123456789") == strlen(pmu->name + length + 1);
}

bool event_has_block(struct event_parser *p, unsigned int product, unsigned int type)
{
	for (size_t n = 0; n < p->device->block_count; n++)
		if ((!type || p->device->blocks[n].type == type) &&
		    (!product || p->device->blocks[n].product == product) &&
		    !block_is_pmu(&p->device->blocks[n]))
			return true;
	if (!product_is_pmu(product) || product == DRM_PERFCTR_PRODUCT_PERF_PMU ||
	    !(p->device->info.features & DRM_PERFCTR_FEATURE_PMU) || event_load_pmus(p))
		return false;
	for (size_t n = 0; n < p->pmus.count; n++) {
		unsigned int other = p->pmus.pmus[n].block_type;

		if (!p->pmus.pmus[n].is_foreign &&
		    (type ? other == type : product_of_pmu(other) == product))
			return true;
	}
	return false;
}

/* --- near misses ------------------------------------------------------------- */

struct nearest {
	const char *name;
	unsigned int distance;
	char best[NEAR_BYTES + LABEL_BYTES + 4];
	const char *label; /* of the PMU that is considered, if the name alone says too little */
	const char *suffix; /* what makes the name an event */
};

static int consider(void *arg, const char *name)
{
	struct nearest *n = arg;

	if (near_is_nearer(n->name, name, &n->distance))
		snprintf(n->best, sizeof(n->best), "%s%s%s%s", n->label ? n->label : "",
			 n->label ? "/" : "", name, n->label ? "/" : n->suffix);
	return 0;
}

/* Whether a broker hides what its policy does not allow. */
static bool is_by_policy(const struct event_parser *p)
{
	return device_is(p->device, LINK_BROKER);
}

int event_fail_no_metric(struct event_parser *p, const char *pattern)
{
	return perfctr_fail(p->ctx, -ENOENT,
			    "no metric \"%s\" for this device%s; see \"perfctr list\"", pattern,
			    is_by_policy(p) ? ", or the broker's policy does not allow it" : "");
}

int event_fail_unknown(struct event_parser *p, const char *head, const char *name, bool is_head)
{
	struct nearest n = { .name = name, .distance = near_distance_limit(name), .suffix = "" };
	struct nearest other = n; /* that the device lacks */
	const struct perfctr_counter_desc *c = NULL, *lacking = NULL;
	const struct perfctr_metric_desc *m = NULL;

	while ((c = perfctr_counter_next(c))) {
		const char *type = perfctr_block_type_name(c->block_type);

		if (head && strncasecmp(head, type, strlen(type)))
			continue;
		if (event_has_block(p, c->product, c->block_type))
			consider(&n, c->name);
		else if (!lacking && !strcasecmp(c->name, name))
			lacking = c;
	}
	if (lacking && !is_head && !event_has_block(p, 0, lacking->block_type))
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
		consider(event_has_block(p, m->product, m->block_type) ? &n : &other, m->name);
	if (!other.distance)
		return event_fail_no_metric(p, name);
	for (size_t i = 0; !event_load_pmus(p) && i < p->pmus.count; i++) {
		n.label = NULL;
		/* a PMU is no event */
		n.suffix = is_head ? "" : "/*/";
		if (!head)
			consider(&n, p->pmus.pmus[i].name);
		n.suffix = "";
		n.label = head ? NULL : p->pmus.pmus[i].label;
		if (!head || event_pmu_matches(&p->pmus.pmus[i], head))
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
