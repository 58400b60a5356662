/* SPDX-License-Identifier: MIT */
/*
 * Known faults of counter logic. Each predicts every reading from what the event should count. A
 * fault is reported if it predicts all readings and differs from the documentation.
 */
#ifndef VALIDATE_FAULT_H
#define VALIDATE_FAULT_H

#include "analysis.h"
#include "search.h"

enum fault {
	FAULT_NONE,
	/* counts 2, 3 or 4 times */
	FAULT_MULTIPLE,
	/* two events are exchanged */
	FAULT_SWAP,
	/* counts what another event should count, which itself is correct */
	FAULT_MULTIPLEXER,
	/* counts dead instructions after EXIT */
	FAULT_DEAD,
	/* counts instructions whose guard is false */
	FAULT_PREDICATED_OFF,
	/* one too many for each kernel, or for each kernel in each unit */
	FAULT_OFF_BY_ONE,
	/* a unit stops at 2^n - 1 */
	FAULT_SATURATED,
	/* a unit counts modulo 2^n */
	FAULT_WRAPPED,
	/* reports the previous work: a buffer swap was lost */
	FAULT_STALE,
	/* never counts */
	FAULT_SILENT,
};

/* a fault that explains all readings */
struct fault_found {
	enum fault fault;
	const char *text; /* one sentence */
	struct rule correct; /* rule of what the counter counts; not given if counts are lost */
};

/* "doubled", "swap" and so on, for programs. */
const char *fault_name(enum fault fault);

/**
 * fault_find() - look for faults that explain an event's readings
 * @analysis: readings
 * @event: number of the event
 * @found: room for @max
 * @max: elements of @found
 *
 * Return: how many were found.
 */
size_t fault_find(const struct analysis *analysis, size_t event, struct fault_found *found,
		  size_t max);

/**
 * fault_of_rule() - name the difference between the found and the documented rule
 * @analysis: campaign and arena
 * @event: number of the event
 * @search: search with one rule left
 * @found: filled if the result is true
 *
 * Return: whether the difference has a name.
 */
bool fault_of_rule(const struct analysis *analysis, size_t event, const struct search *search,
		   struct fault_found *found);

#endif /* VALIDATE_FAULT_H */
