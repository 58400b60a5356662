/* SPDX-License-Identifier: MIT */
/*
 * Counters and metrics of a capture over time.
 *
 * Time is cut into bins. Each bin has, for each line, the smallest and the largest rate of any
 * sample in it and the mean over the bin's time, so that a line of few bins hides no peak. If there
 * are enough bins, each sample has its own.
 */
#pragma once

#include "values.h"

/* one counter or metric over time */
struct timeline_line {
	const struct row *row; /* its name and unit; in timeline.values */
	bool is_block; /* of a single block, else the sum over its type */
	bool is_rate; /* values are per second; levels and metrics are not */
	double *min; /* one value per bin; NAN: not measured */
	double *max;
	double *mean;
	double least; /* smallest of @min, NAN if there is none */
	double most;
	uint64_t samples; /* samples in which it was measured */
};

struct timeline_bin {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t samples; /* number of samples that overlap the bin */
	uint64_t merged_periods; /* of these samples */
	uint64_t lost_ns; /* of these samples */
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
	struct values values; /* owns what @row of lines points to */
	double *memory; /* bins of all lines */
};

/*
 * Read a capture again and fill the bins.
 * @file: open capture; @max_bins: maximum number of bins, at least 1; @per_block: lines of single
 * blocks too; @timeline: filled on success, to be freed by the caller in any case.
 * Return: 0 or an exit status, the message was printed.
 */
int timeline_fill(const struct app *app, struct capture_file *file, size_t max_bins, bool per_block,
		  struct timeline *timeline);

/* Make time per second a share, as row_rate_unit() names it, in lines and rows. */
void timeline_use_shares(struct timeline *timeline);

void timeline_free(struct timeline *timeline);
