/* SPDX-License-Identifier: MIT */
/* What single samples of a capture say, counter by counter and metric by metric. */
#ifndef PERFCTR_VALUES_H
#define PERFCTR_VALUES_H

#include "capture_file.h"
#include "rows.h"

/**
 * struct values_line - one counter or metric
 */
struct values_line {
	/** @row: its name and unit, and its total over the capture. */
	const struct row *row;
	/** @is_block: of a single block; else as it was named, of all of its type mostly. */
	bool is_block;
	/** @is_rate: numbers are per second; else levels and metrics as they are. */
	bool is_rate;
};

/**
 * struct values_item - the value of a line in the current sample
 */
struct values_item {
	/** @is_present: the sample has the counter, measured or not. */
	bool is_present;
	bool is_measured;
	/** @count: exact; the sum of the measured ones for a line of a type. */
	uint64_t count;
	/** @number: rate, level or metric; NAN if there is none. */
	double number;
};

/**
 * struct values - lines, and the items of the sample at hand
 */
struct values {
	struct values_line *lines;
	struct values_item *items;
	size_t count;
	/** @sums: the capture's totals as they were named, by type of block mostly; its metrics. */
	struct rows sums;
	/** @blocks: the same by block; empty unless asked for. */
	struct rows blocks;
	/* see values.c */
	const struct capture_file *file;
	struct perfctr_totals *one;
	struct values_source *sources;
	size_t source_count;
	double *scaled;
};

/**
 * values_init() - prepare to look at the samples of a capture
 * @app: for the library's context
 * @file: open capture, must outlive @values
 * @per_block: lines of single blocks too
 * @values: filled; values_free() is due also after a failure
 *
 * Return: 0 or a negative errno.
 */
int values_init(const struct app *app, const struct capture_file *file, bool per_block,
		struct values *values);

/**
 * values_take() - look at a sample
 * @values: values; items change
 * @sample: sample of the capture
 *
 * Return: 0 or a negative errno.
 */
int values_take(struct values *values, struct perfctr_sample *sample);

void values_free(struct values *values);

#endif /* PERFCTR_VALUES_H */
