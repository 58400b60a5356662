/* SPDX-License-Identifier: MIT */
/* The two comparisons of perfctr diff: two captures, groups of captures. */
#pragma once

#include <math.h>

#include "compare.h"
#include "lib/capture_list.h"
#include "lib/option.h"

struct diff_options {
	struct capture_list sides[2]; /* A and B; all captures are in A with @by */
	const char *by; /* text whose values are the groups, or NULL */
	const char *per; /* counter that replaces the time in rates, or NULL */
	struct option_words patterns;
	const char *output;
	double threshold_percent;
	bool has_threshold;
	bool is_of_groups;
	bool per_block;
	bool all;
	bool sort;
	bool json;
};

/* Whether a change is clear and exceeds --threshold, as one from zero does. */
static inline bool diff_exceeds(const struct diff_options *options, enum verdict verdict,
				double percent)
{
	return options->has_threshold && verdict == VERDICT_CLEAR &&
	       !(fabs(percent) <= options->threshold_percent);
}

/* Compare groups of captures. Return: exit status. */
int diff_groups(struct app *app, const struct diff_options *options);
