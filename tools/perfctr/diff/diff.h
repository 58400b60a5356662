/* SPDX-License-Identifier: MIT */
/* The two comparisons of perfctr diff: two captures, groups of captures. */
#pragma once

#include <math.h>

#include "compare.h"
#include "lib/capture_file.h"
#include "lib/mean.h"
#include "lib/option.h"
#include "lib/values.h"

struct diff_options {
	struct capture_list sides[2]; /* A and B; all captures are in A with @by */
	const char *by; /* text whose values are the groups, or NULL */
	bool by_mark; /* frames and phases instead of whole captures */
	bool are_marks; /* these are the groups, of one capture */
	struct option_words marks; /* patterns of their names */
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
static inline bool diff_exceeds(const struct diff_options *options, enum compare_result result,
				double percent)
{
	return options->has_threshold && result == COMPARE_CLEAR &&
	       !(fabs(percent) <= options->threshold_percent);
}

/*
 * The row of times, in seconds: an event like others, so that -e and the number of events that p
 * allows for include it.
 */
extern const struct row diff_time;

/* The time of a capture: that of its first session with samples. */
double diff_seconds(const struct capture *capture);

/* Compare groups of captures. Return: exit status. */
int diff_groups(struct app *app, struct diff_options *options);

enum { DIFF_MOST_NAMES = 256 }; /* of frames and phases: each is compared */

/*
 * What was counted in all frames or phases of a name. They are of one run, so they are one number.
 * @seconds: mean time of one; @means: rate, level or metric of each line of @values, over their
 * time.
 * Return: 0 or a negative errno.
 */
typedef int (*diff_span_fn)(void *data, const char *name, double seconds,
			    const struct values *values, const struct mean *means);

/*
 * Evaluate the frames and phases of a session of a capture by name. A sample that is in parts
 * within one counts with the share of its time.
 * Return: 0 or an exit status, the message was printed.
 */
int diff_spans(const struct app *app, struct capture_file *file, const struct diff_options *options,
	       diff_span_fn fn, void *data);
