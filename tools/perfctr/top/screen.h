/* SPDX-License-Identifier: MIT */
/* The screen of perfctr top: a list of lines, without a terminal. */
#pragma once

#include "lib/app.h"
#include "lib/rows.h"

enum { TOP_HISTORY = 64 };

enum top_sort { TOP_SORT_EVENT, TOP_SORT_VALUE, TOP_SORT_NAME, TOP_SORTS };

/* one counter or metric over time */
struct top_item {
	char event[65 + ROW_EVENT_BYTES];
	char counter[ROW_EVENT_BYTES];
	char unit[ROW_UNIT_BYTES];
	char group[130]; /* heading: name of its block, with the device's, or "metrics" */
	size_t order; /* order of appearance */
	size_t group_order; /* order of appearance of its group */
	bool is_percent; /* 100 is a full bar, else the largest value seen */
	bool is_rate;
	unsigned int trust; /* enum perfctr_trust */
	uint32_t state;
	uint32_t flags;
	double now; /* per second for counters, value of metrics and levels */
	double peak;
	/* NAN for not measured; the oldest value is at @history_at */
	double history[TOP_HISTORY];
	unsigned int history_at;
	unsigned int history_count;
};

/* the contents of the screen */
struct top_screen {
	struct top_item *items;
	size_t count;
	enum top_sort sort;
	char filter[64]; /* only items with this text in name or group, in any case; "": all */
	char folded[32][130]; /* groups of which only the heading is shown */
	size_t folded_count;
};

/* what was counted on a device since the start */
struct top_time {
	uint64_t merged_periods;
	uint64_t lost_ns;
	uint64_t samples;
	double seconds;
};

enum top_line_kind { TOP_LINE_GROUP, TOP_LINE_ITEM };

struct top_line {
	enum top_line_kind kind;
	const struct top_item *item;
	bool folded; /* the group is folded */
	size_t items; /* number of items in the group */
};

/* Take in an interval. @rows: table of the interval. Return: 0 or -ENOMEM. */
int top_screen_update(struct top_screen *screen, const struct rows *rows);
void top_screen_free(struct top_screen *screen);

/*
 * Make the list of lines.
 * @lines: set to an array to be freed by the caller; @count: set to its elements.
 * Return: 0 or -ENOMEM.
 */
int top_screen_lines(const struct top_screen *screen, struct top_line **lines, size_t *count);

/* Fold or unfold a group. */
void top_screen_fold(struct top_screen *screen, const char *group);

/* Part of a full bar, 0..1. */
double top_item_fill(const struct top_item *item);

/*
 * Draw a bar.
 * @fill: 0..1; @width: columns; @utf8: with blocks of an eighth of a column, else with #; @text:
 * buffer, at least 3 * width + 1 bytes.
 */
void top_bar(double fill, unsigned int width, bool utf8, char *text);

/*
 * Draw the last values as a line of blocks.
 * @width: columns; @utf8: with blocks, else with _.-=#; @text: buffer, at least 3 * width + 1
 * bytes.
 */
void top_spark(const struct top_item *item, unsigned int width, bool utf8, char *text);

/* The value with unit, for example "12.35 Mcycles/s", "<not measured>". */
void top_value(const struct top_item *item, char *text, size_t size);

/*
 * A line of the screen as text.
 * @width: columns; @utf8: see top_bar(); @text: buffer; @size: bytes at @text, at least 4 * width +
 * 1.
 */
void top_format(const struct top_line *line, unsigned int width, bool utf8, char *text,
		size_t size);

void top_time_add(struct top_time *time, const struct perfctr_span *span);

/* Time, samples, merged periods, lost time. */
void top_status(const struct top_time *time, char *text, size_t size);
