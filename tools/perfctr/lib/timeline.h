/* SPDX-License-Identifier: MIT */
/*
 * Counters and metrics of a capture over time.
 *
 * Time is cut into bins. Each bin has, for each line, the smallest and the
 * largest rate of any sample in it and the mean over the bin's time, so that
 * a line of few bins hides no peak. If there are enough bins, each sample has
 * its own.
 */
#ifndef PERFCTR_TIMELINE_H
#define PERFCTR_TIMELINE_H

#include "values.h"

/**
 * struct timeline_line - one counter or metric over time
 */
struct timeline_line {
	/** @row: its name and unit; in timeline.values. */
	const struct row *row;
	/** @is_block: of a single block, else of all of its type. */
	bool is_block;
	/** @is_rate: values are per second; else levels and metrics as they are. */
	bool is_rate;
	/** @min: of each bin; NAN: nobody measured. */
	double *min;
	double *max;
	double *mean;
	/** @least: smallest of @min, NAN if there is none. */
	double least;
	double most;
	/** @samples: in which it was measured. */
	uint64_t samples;
	/** @rate_mean: of the samples' values, each counting once, and their squared deviations. */
	double rate_mean;
	double rate_m2;
};

/**
 * struct timeline_bin - a piece of time
 */
struct timeline_bin {
	uint64_t start_ns;
	uint64_t end_ns;
	/** @samples: that reach into it. */
	uint64_t samples;
	/** @merged_periods: of them. */
	uint64_t merged_periods;
	/** @lost_ns: of them. */
	uint64_t lost_ns;
	/** @flags: enum drm_perfctr_sample_flags of them together. */
	uint32_t flags;
};

/**
 * struct timeline - all lines over the same bins
 */
struct timeline {
	/** @is_exact: each bin is one sample. */
	bool is_exact;
	uint64_t start_ns;
	uint64_t end_ns;
	struct timeline_bin *bins;
	size_t bin_count;
	struct timeline_line *lines;
	size_t line_count;
	/** @values: keeps what @row of lines points to. */
	struct values values;
	/** @memory: of all lines' bins. */
	double *memory;
};

/**
 * timeline_fill() - read a capture once more for its course
 * @app: for messages
 * @file: open capture
 * @max_bins: at most so many bins, at least 1
 * @per_block: lines of single blocks too
 * @timeline: filled on success, to be freed by the caller in any case
 *
 * Return: 0 or an exit status, the message was printed.
 */
int timeline_fill(const struct app *app, struct capture_file *file, size_t max_bins, bool per_block,
		  struct timeline *timeline);

void timeline_free(struct timeline *timeline);

/* Samples' rates: standard deviation, NAN below two samples. */
double timeline_deviation(const struct timeline_line *line);

#endif /* PERFCTR_TIMELINE_H */
