/* SPDX-License-Identifier: MIT */
/* What single samples of a capture say, counter by counter and metric by metric. */
#ifndef PERFCTR_VALUES_H
#define PERFCTR_VALUES_H

#include "capture_file.h"
#include "rows.h"

/* one counter or metric */
struct values_line {
	const struct row *row; /* its name and unit, and its total over the capture */
	bool is_block; /* of a single block; else as it was named, of all of its type mostly */
	bool is_rate; /* numbers are per second; else levels and metrics as they are */
};

/* the value of a line in the current sample */
struct values_item {
	bool is_present; /* the sample has the counter, measured or not */
	bool is_measured;
	uint64_t count; /* exact; the sum of the measured ones for a line of a type */
	double number; /* rate, level or metric; NAN if there is none */
};

/* lines, and the items of the sample at hand */
struct values {
	struct values_line *lines;
	struct values_item *items;
	size_t count;
	/* the capture's totals as they were named, by type of block mostly; its metrics */
	struct rows sums;
	struct rows blocks; /* the same by block; empty unless asked for */
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
