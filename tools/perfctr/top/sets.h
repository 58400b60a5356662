/* SPDX-License-Identifier: MIT */
/* The views of perfctr top: everything, or the metrics of one part of the machine. */
#pragma once

#include <stddef.h>

#include <perfctr/perfctr.h>

/* a named selection of events */
struct top_set {
	const char *name; /* name for --view and the screen */
	const char *const *events; /* patterns, NULL terminated; NULL: -e or the defaults */
};

extern const struct top_set top_sets[];
extern const size_t top_set_count;

/** top_set_find() - the number of a set by its name, or -1 */
int top_set_find(const char *name);

/*
 * Add what this device has of a set.
 * @set: set with events; @selection: empty selection.
 * Return: number of counters, 0 if it has none; a negative errno.
 */
int top_set_select(const struct top_set *set, struct perfctr_selection *selection);
