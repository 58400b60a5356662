/* SPDX-License-Identifier: MIT */
/* Counters and metrics of totals as lines of a table. */
#ifndef PERFCTR_ROWS_H
#define PERFCTR_ROWS_H

#include <stdbool.h>

#include <perfctr/perfctr.h>

#include "verdicts.h"

enum { ROW_EVENT_BYTES = 384, ROW_UNIT_BYTES = 32 };

/**
 * struct row - one counter or metric
 */
struct row {
	/** @event: as an event name, for example "shader16/FRAGMENTS". */
	char event[ROW_EVENT_BYTES];
	/** @unit: of the value, of the scaled one if @scale is not 1. */
	char unit[ROW_UNIT_BYTES];
	/** @position: of the counter in its block. */
	unsigned int position;
	/** @label: name of the block, for example "shader16" or "shader". */
	char label[64];
	/** @counter: name of the counter or metric alone. */
	char counter[ROW_EVENT_BYTES];
	/** @desc: of the counter, NULL if unknown or a metric. */
	const struct perfctr_counter_desc *desc;
	/** @metric: NULL for a counter. */
	const struct perfctr_metric_desc *metric;
	/** @is_software: an event of the kernel's PMU "software". */
	bool is_software;
	/** @parts: the single blocks of which @info is the sum; NULL if it is a single one. */
	const struct perfctr_totals *parts;
	/** @info: of the block; valid until rows_clear(); NULL for a metric of the device. */
	const struct perfctr_totals_block_info *info;
	/** @state: enum perfctr_value_state; if not OK there is no value. */
	uint32_t state;
	/** @flags: enum perfctr_value_flags. */
	uint32_t flags;
	/** @value: exact count; counters only. */
	uint64_t value;
	/** @number: value for people: scaled, extrapolated; the result of a metric. */
	double number;
	/** @scale: factor from @value to @unit, 1 for most. */
	double scale;
	/** @running_ratio: part of the time in which a multiplexed counter ran, else 1. */
	double running_ratio;
	/**
	 * @rate: @number per second, NAN for metrics and levels. The one rule for all commands: a
	 * row that adds up several blocks has their total rate, that of cycles included.
	 */
	double rate;
	/** @measured: samples in which it was measured. */
	uint64_t measured;
	/** @missed: samples in which it was not. */
	uint64_t missed;
	/** @trust: enum perfctr_trust; of a metric that of its least trusted counter. */
	unsigned int trust;
};

/**
 * struct rows - a table
 */
struct rows {
	struct row *rows;
	size_t count;
	size_t capacity;
	/** @span: what was added up. */
	struct perfctr_span span;
	/** @sum: keeps what @info of rows points to. */
	struct perfctr_totals *sum;
	/** @verdicts: of this machine, not owned, or NULL; stays when the table is filled again. */
	const struct verdicts *verdicts;
	/** @ctx: for formulas of metrics; needed with @verdicts. */
	struct perfctr_ctx *ctx;
	/** @trusted_only: lines of counters that are not trusted are left out. */
	bool trusted_only;
	/** @hidden: lines that were left out. */
	size_t hidden;
};

/**
 * rows_fill() - make a table of totals
 * @rows: table, its former contents are dropped
 * @totals: of single blocks
 * @selection: what was counted
 * @per_block: a line for each block, else one for each type of block, and for each block whose
 *             counter was named with its index; @totals must outlive the rows
 *
 * Return: 0 or a negative errno.
 */
int rows_fill(struct rows *rows, struct perfctr_totals *totals, struct perfctr_selection *selection,
	      bool per_block);

/**
 * row_clock_text() - the clock of one block, of a row that adds up the cycles of several
 * @row: row
 * @text: filled with "54.25 Mcycles/s in each of 4 blocks"; empty for all other rows
 * @size: bytes at @text
 *
 * Return: @text.
 */
char *row_clock_text(const struct row *row, char *text, size_t size);

/**
 * row_part() - walk through the single blocks that a row adds up
 * @row: row
 * @n: where to begin, moved on
 *
 * Return: a block that has the counter, NULL at the end.
 */
const struct perfctr_totals_block_info *row_part(const struct row *row, size_t *n);

/* Drop the contents; the table can be filled again. */
void rows_clear(struct rows *rows);
void rows_free(struct rows *rows);

/* The line of that event, NULL if there is none; hint: where it probably is. */
const struct row *rows_find(const struct rows *rows, const char *event, size_t hint);

#endif /* PERFCTR_ROWS_H */
