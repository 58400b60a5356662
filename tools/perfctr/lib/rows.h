/* SPDX-License-Identifier: MIT */
/* Counters and metrics of totals as lines of a table. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include <perfctr/perfctr.h>

#include "app.h"
#include "option.h"
#include "verdicts.h"

/* an event as the user may write it, with a PMU before it and filters behind it; no device */
enum {
	ROW_EVENT_BYTES = 768,
	ROW_COUNTER_BYTES = 512,
	ROW_UNIT_BYTES = 64,
	ROW_LABEL_BYTES = 64,
};

/* one counter or metric; its texts are the table's, and shorter than these sizes but a device */
struct row {
	/* as an event name: "shader16/FRAGMENTS"; of several devices "renderD128:shader/READ" */
	const char *event;
	unsigned int prefix; /* characters of @event that name the device */
	unsigned int position; /* of the counter in its block */
	const char *unit; /* of the value, of the scaled one if @scale is not 1 */
	const char *label; /* name of the block, for example "shader16" or "shader" */
	const char *counter; /* name of the counter or metric alone */
	/* of the counter, NULL if unknown or a metric */
	const struct perfctr_counter_desc *desc;
	const struct perfctr_metric_desc *metric; /* NULL for a counter */
	/* the single blocks of which @info is the sum; NULL if it is a single one */
	const struct perfctr_totals *parts;
	/* of the block, and valid as long as the totals; NULL for a metric of the device */
	const struct perfctr_totals_block_info *info;
	uint32_t state; /* enum perfctr_value_state; if not OK there is no value */
	uint32_t flags; /* enum perfctr_value_flags */
	uint64_t value; /* exact count; counters only; of a level an int64_t */
	double number; /* value for people: scaled, extrapolated; the result of a metric */
	double scale; /* factor from @value to @unit, 1 for most */
	/* fraction of the time in which a multiplexed counter ran, else 1; not measured: 0 */
	double running_ratio;
	/*
	 * @number per second, NAN for metrics and levels. A row that adds up several blocks has
	 * their total rate, also for cycles. All subcommands use this rule.
	 */
	double rate;
	uint64_t elapsed_ns; /* time of @value's block, of a metric that of its first block */
	/* samples in which it was measured, and was not; of several blocks one can be both */
	uint64_t measured, missed;
	uint64_t samples; /* of the capture */
	unsigned int trust; /* enum perfctr_trust; a metric has that of its least trusted counter */
	bool is_software; /* an event of the kernel's PMU "software" */
};

/* Totals of samples of a selection. Return: 0 or a negative errno. */
int rows_totals(const struct app *app, struct perfctr_selection *selection,
		struct perfctr_totals **totals);

/* a table */
struct rows {
	struct row *rows;
	size_t count;
	size_t capacity;
	struct row_texts *texts; /* of the rows */
	struct perfctr_span span; /* what was added up */
	const struct perfctr_totals *sum; /* of the totals; not owned */
	/* verdicts of this machine, not owned, or NULL; kept when the table is filled again */
	const struct verdicts *verdicts;
	struct perfctr_ctx *ctx; /* for formulas of metrics; needed with @verdicts */
	/* what the verdicts say of metrics; all fills of a table are of one capture */
	struct judged_metric {
		const struct perfctr_metric_desc *metric;
		unsigned int trust;
	} * judged;
	size_t judged_count;
	bool trusted_only; /* leave out counters that are not trusted */
	const char *device; /* before the names of events; NULL: there is only one; not owned */
	size_t hidden; /* rows that were left out */
};

/*
 * Make a table of totals.
 * @rows: table, its former contents are dropped; @totals: of single blocks; @per_block: a line for
 * each block, else one for each type of block, and for each block whose counter was named with its
 * index; @totals must outlive the rows.
 * Return: 0 or a negative errno.
 */
int rows_fill(struct rows *rows, struct perfctr_totals *totals, struct perfctr_selection *selection,
	      bool per_block);

/*
 * Clock of each block of a row that adds up cycles.
 * @text: filled with "54.25 Mcycles/s in each of 4 blocks"; empty for all other rows.
 * Return: @text.
 */
char *row_clock_text(const struct row *row, char *text, size_t size);

/* Whether values of a row are states, which are signed and do not add up. */
static inline bool row_is_level(const struct row *row)
{
	return row->desc && row->desc->kind == PERFCTR_KIND_LEVEL;
}

/* A value of a row, not scaled. */
static inline double row_number(const struct row *row, uint64_t value)
{
	return row_is_level(row) ? (double)(int64_t)value : (double)value;
}

/*
 * The unit of a row's rate without that of its counts: time per second is a share, in CPUs of a
 * software event, else in percent.
 * @scale: set to the factor from @rate. Return: "/s" for most.
 */
static inline const char *row_rate_unit(const struct row *row, double *scale)
{
	/* metrics and levels have no rate */
	bool is_share = !strcmp(row->unit, "ns") && !row->metric && !row_is_level(row);

	*scale = !is_share ? 1 : row->is_software ? 1e-9 : 1e-7;
	return !is_share ? "/s" : row->is_software ? "CPUs" : "%";
}

/*
 * Walk through the single blocks that a row adds up.
 * @n: where to begin, moved on.
 * Return: a block that has the counter, NULL at the end.
 */
const struct perfctr_totals_block_info *row_part(const struct row *row, size_t *n);

/* Drop the contents; the table can be filled again. */
void rows_clear(struct rows *rows);
void rows_free(struct rows *rows);

/*
 * Move the texts of rows, which then outlive their table.
 * @texts: NULL or others, which stay; the caller frees all of them with rows_free_texts().
 */
void rows_move_texts(struct rows *rows, struct row_texts **texts);
void rows_free_texts(struct row_texts *texts);

/* The row of an event, NULL if there is none; hint: its likely index. */
const struct row *rows_find(const struct rows *rows, const char *event, size_t hint);

/*
 * Whether a pattern matches a row's event in one of the forms that -e of stat and record takes,
 * with or without device and block; without any: true.
 */
bool row_matches(const struct row *row, const struct option_words *patterns);

/*
 * The row of a counter that is named as stat -e takes it: all blocks of a type together, a single
 * block, or the only counter of a name. NULL: there is none, or several.
 * @types, @blocks: of the same totals.
 */
const struct row *rows_find_counter(const struct rows *types, const struct rows *blocks,
				    const char *name);

/* --- rows_json.c: the same members in every subcommand ------------------------- */

struct json_object;

/* An object that the caller owns. A value that was not measured is null, never 0. */
struct json_object *rows_json_counter(const struct row *row);
/* The exact value of a counter; null if there is none. */
struct json_object *rows_json_value(const struct row *row);
struct json_object *rows_json_metric(const struct row *row);
/* Totals of a session. */
struct json_object *rows_json_status(const struct drm_perfctr_status *status);
/* "cycles" of a counter; NULL: unknown */
const char *rows_kind_name(const struct perfctr_counter_desc *desc);

/* Add members with what was added up and what is wrong with it. */
void rows_json_add_span(struct json_object *object, const struct perfctr_span *span);
