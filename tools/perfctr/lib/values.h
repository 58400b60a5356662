/* SPDX-License-Identifier: MIT */
/* Values of single samples of a capture, by counter and metric. */
#pragma once

#include "capture_file.h"
#include "rows.h"

/* one counter or metric */
struct values_line {
	const struct row *row; /* name, unit and total over the capture */
	bool is_block; /* of a single block; else as named, mostly the sum over a type */
	bool is_rate; /* numbers are per second; levels and metrics are not */
	bool is_metric, is_estimated; /* of @row, which has many other members, as @scale */
	double scale;
	size_t block; /* of a metric of a single block: the block's number in the totals */
};

/* the value of a line in the current sample */
struct values_item {
	bool is_present; /* the sample has the counter, measured or not */
	bool is_measured;
	uint64_t count; /* exact; for a line of a type the sum over the measured blocks */
	double number; /* rate, level or metric; NAN if there is none */
	/* time of @number: of a multiplexed counter what it ran; time enabled of all its blocks */
	uint64_t ran_ns, enabled_ns;
	/* what @count covers: the sample, or the spans of its blocks, which may be apart */
	bool has_span;
	uint64_t start_ns, end_ns;
};

/* lines, and their values in the current sample */
struct values {
	struct values_line *lines;
	struct values_item *items;
	size_t count;
	/* totals of the capture as named, mostly by type of block, with metrics */
	struct rows sums;
	struct rows blocks; /* the same by block; empty unless requested */
	bool blocks_only; /* the caller wants no metrics of types of blocks */
	/* see values.c */
	const struct capture_file *file;
	struct perfctr_totals *one;
	size_t *by_block; /* lines of counters, ascending by what is_of_block() wants equal */
	size_t by_block_count;
	struct values_source *sources; /* the blocks of the current sample, and others behind */
	size_t source_count, source_room;
	struct values_part *parts; /* of each line, in the order of the lines */
	size_t *part_ends; /* of each line */
	struct values_group *groups;
	size_t group_count;
};

/*
 * Prepare to evaluate the samples of a capture.
 * @app: for the library's context; @file: open capture, must outlive @values; @per_block: lines of
 * single blocks too; @values: filled; call values_free() also after a failure.
 * Return: 0 or a negative errno.
 */
int values_init(const struct app *app, const struct capture_file *file, bool per_block,
		struct values *values);

/*
 * Evaluate a sample.
 * @values: values; items change; @sample: sample of the capture.
 * Return: 0 or a negative errno.
 */
int values_take(struct values *values, struct perfctr_sample *sample);

/* After the last sample: free what only values_take() needs. The lines stay. */
void values_end(struct values *values);

void values_free(struct values *values);
