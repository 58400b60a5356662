/* SPDX-License-Identifier: MIT */
/*
 * Known faults of counter logic. Each predicts every reading from what the event should count. A
 * fault is reported if it predicts all readings and differs from the documentation.
 */
#pragma once

#include "analysis.h"
#include "search.h"

enum fault {
	FAULT_NONE,
	FAULT_MULTIPLE, /* counts 2, 3 or 4 times */
	FAULT_SWAP, /* two events are exchanged */
	FAULT_MULTIPLEXER, /* counts what another event should count, which itself is correct */
	FAULT_DEAD, /* counts dead instructions after EXIT */
	FAULT_PREDICATED_OFF, /* counts instructions whose guard is false */
	FAULT_OFF_BY_ONE, /* one too many for each kernel, or for each kernel in each unit */
	FAULT_SATURATED, /* a unit stops at 2^n - 1 */
	FAULT_WRAPPED, /* a unit counts modulo 2^n */
	FAULT_STALE, /* reports the previous work: a buffer swap was lost */
	FAULT_SILENT, /* never counts */
};

/* a fault that explains all readings */
struct fault_found {
	enum fault fault;
	const char *text; /* one sentence */
	struct rule correct; /* rule of what the counter counts; not given if counts are lost */
};

/* "doubled", "swap" and so on, for programs. */
const char *fault_name(enum fault fault);

/*
 * Look for faults that explain an event's readings.
 * @found: room for @max.
 * Return: how many were found.
 */
size_t fault_find(const struct analysis *analysis, size_t event, struct fault_found *found,
		  size_t max);

/*
 * Name the difference between the found and the documented rule.
 * @analysis: campaign and arena; @search: search with one rule left; @found: filled if the result
 * is true.
 * Return: whether the difference has a name.
 */
bool fault_of_rule(const struct analysis *analysis, size_t event, const struct search *search,
		   struct fault_found *found);
