/* SPDX-License-Identifier: MIT */
/* The two comparisons of perfctr diff: two captures, groups of captures. */
#pragma once

#include <math.h>

#include "compare.h"
#include "lib/capture_file.h"
#include "lib/option.h"
#include "lib/values.h"

struct diff_options {
	struct capture_list sides[2]; /* A and B; all captures are in A with @by */
	const char *by; /* text whose values are the groups, or NULL */
	bool by_mark; /* frames and phases instead of whole captures */
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

/* what was counted in a frame or a phase */
struct diff_span {
	const struct mark *mark;
	const struct values *values; /* names of the numbers */
	const double *numbers; /* rate, level or metric of each line; NAN: not measured */
	uint64_t samples; /* that lie in it, at least in part */
};

/* Return: 0 or a negative errno, which ends the walk. */
typedef int (*diff_span_fn)(void *data, const struct diff_span *span);

/*
 * Evaluate the frames and phases of a capture, in the order of their ends. A sample that is in
 * parts within a span counts with the share of its time.
 * Return: 0 or an exit status, the message was printed.
 */
int diff_spans(const struct app *app, struct capture_file *file, bool per_block, diff_span_fn fn,
	       void *data);
