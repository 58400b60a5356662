/* SPDX-License-Identifier: MIT */
/*
 * Counters and metrics of a capture over time.
 *
 * A bin is some consecutive samples, one if there are enough bins. It has, for each line, the exact
 * count, the smallest and the largest rate of its samples and the mean over their time, so that a
 * line of few bins hides no peak.
 */
#pragma once

#include "mean.h"
#include "values.h"

/* one counter or metric over time */
struct timeline_line {
	const struct row *row; /* its name and unit; in timeline.values */
	const struct timeline *of; /* whose bins it has */
	size_t number; /* in timeline.values */
	bool is_block; /* of a single block, else the sum over its type */
	bool is_rate; /* values are per second; levels and metrics are not */
	/* one value per bin, NAN: not measured; NULL in a summary */
	double *min;
	double *max;
	double *mean;
	uint64_t *count; /* exact, of measured samples; of a level the last one */
	struct spread spread; /* of the bins' means */
	double least; /* smallest in a bin, NAN if there is none */
	double most;
	double average; /* over the time of all samples that measured it; NAN if there is none */
	uint64_t samples; /* samples in which it was measured */
};

struct timeline_bin {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t samples;
	uint64_t merged_periods;
	uint64_t lost_ns;
	uint32_t flags; /* enum drm_perfctr_sample_flags of these samples, ORed */
};

/* all lines over the same bins */
struct timeline {
	bool is_exact; /* each bin is one sample */
	uint64_t start_ns;
	uint64_t end_ns;
	struct timeline_bin *bins;
	size_t bin_count;
	struct timeline_line *lines;
	size_t line_count;
	size_t left_out; /* lines above the limit */
	struct values values; /* owns what @row of lines points to */
	double *memory; /* bins of all lines */
	uint64_t *counts; /* the same */
};

/* what a timeline has, at most; 0 and NULL: no limit */
struct timeline_limits {
	size_t bins;
	size_t numbers; /* of all bins of all lines: many lines have fewer bins, but one */
	size_t lines; /* the first ones, sums before single blocks */
	bool per_block; /* lines of single blocks too */
	bool summary; /* values of single bins are not kept */
	const struct option_words *patterns; /* only lines that match */
};

/*
 * Read a session of a capture again and fill the bins.
 * @file: open capture; @limits: @bins at least 1; @timeline: filled on success, to be freed by the
 * caller in any case; it stays where it is.
 * Return: 0 or an exit status, the message was printed.
 */
int timeline_fill(const struct app *app, struct capture_file *file,
		  const struct timeline_limits *limits, struct timeline *timeline);

/* Make time per second a share, as row_rate_unit() names it, in lines and rows. */
void timeline_use_shares(struct timeline *timeline);

void timeline_free(struct timeline *timeline);
