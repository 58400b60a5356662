/* SPDX-License-Identifier: MIT */
/* Parts of the parser of perfctr_selection_add()'s texts; events.c reads the text. */
#pragma once

#include "generic.h"
#include "pmu.h"
#include "selection.h"

enum { MODIFIER_BYTES = 16 };

struct event_parser {
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
	/* the event is perf's other name of one, "cs"; NULL: none; it is a pattern */
	const char *alias;
	bool is_pattern;
};

/* --- events_lookup.c --- */

bool event_matches(const char *pattern, const char *name);
bool event_is_glob(const char *text);

/* Load the PMUs, once. Return: 0 or a negative errno. */
int event_load_pmus(struct event_parser *p);
/* Match a PMU by its name, its block's name, or like perf without its trailing number. */
bool event_pmu_matches(const struct pmu *pmu, const char *pattern);
/* Whether the device or the machine's PMUs have a block of a product and type; 0: of any. */
bool event_has_block(struct event_parser *p, unsigned int product, unsigned int type);

/* Return: -ENOENT, the reason is kept. */
int event_fail_no_metric(struct event_parser *p, const char *pattern);
/*
 * @head: block or PMU, NULL: none was given; @name: of what is not there; @is_head: it is a block
 * or PMU itself.
 * Return: -ENOENT, the reason has the nearest name.
 */
int event_fail_unknown(struct event_parser *p, const char *head, const char *name, bool is_head);

/* --- events_gpu.c --- */

bool event_is_gpu_block(const struct event_parser *p, const char *pattern);
/* Without a slash "t*" means counters: a block type must be spelled out. */
bool event_is_gpu_block_alone(const struct event_parser *p, const char *pattern);
/*
 * Add counters of the blocks that match; without a pattern for blocks, of all of them.
 * Return: their number or a negative errno.
 */
int event_add_gpu_counters(struct event_parser *p, const char *blocks, const char *counters);
/* Return: -ENOENT if another counter set has a counter of that name, else 0. */
int event_fail_other_set(const struct event_parser *p, const char *blocks, const char *name);
/* Add counters, "" all. Return: 0; -ENOENT none matches; another negative errno. */
int event_add_gpu(struct event_parser *p, const char *blocks, const char *counters);

/* --- events_perf.c; they return 0 or a negative errno --- */

/* Return: -ENOENT: no PMU matches @head; the reason has the nearest name. */
int event_need_pmu(struct event_parser *p, const char *head);
/* Add the events of @terms, "" all, of the PMUs that match @head. */
int event_add_pmu(struct event_parser *p, const char *head, const char *terms);
/* Add events of SoC blocks and of the software PMU by name only; there may be none. */
int event_add_pmu_plain(struct event_parser *p, const char *name);
/*
 * Add an event of all kinds of CPU cores, a generic one or a raw one of that config. -ENOENT: there
 * is no PMU of them.
 */
int event_add_of_cores(struct event_parser *p, const char *name,
		       const struct generic_event *generic, uint64_t raw);
