/* SPDX-License-Identifier: MIT */
/* The views of perfctr top: everything, or the metrics of one part of the machine. */
#pragma once

#include <stddef.h>

#include <perfctr/perfctr.h>

/* a named selection of events */
struct top_view {
	const char *name; /* name for --view and the screen */
	const char *const *events; /* patterns, NULL terminated; NULL: -e or the defaults */
};

extern const struct top_view top_views[];
extern const size_t top_view_count;

/* The number of a view by its name, or -1. */
int top_view_find(const char *name);
