// SPDX-License-Identifier: MIT
/* Which lines pictures and pages draw, in which order and on which scale. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static const char *group_of(const struct row *row)
{
	const char *type = row->info ? perfctr_block_type_name(row->info->type) : NULL;

	if (row->info && row->info->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return row->label;
	return type ? type : row->label;
}

char *report_group(const struct row *row, char *text)
{
	snprintf(text, REPORT_GROUP_BYTES, "%.*s%s", (int)row->prefix, row->event, group_of(row));
	return text;
}

/* Whether a line of a single block is of a counter or metric of another line. */
static bool is_same(const struct timeline_line *block, const struct timeline_line *sum)
{
	const struct perfctr_totals_block_info *a = block->row->info, *b = sum->row->info;

	if (!block->is_block || sum->is_block || !a || block->row->metric != sum->row->metric)
		return false;
	/* the sum line of a metric may have no block */
	if (block->row->metric)
		return block->row->metric->scope == PERFCTR_SCOPE_BLOCK;
	return b && a->type == b->type && a->section == b->section && a->set == b->set &&
	       a->product == b->product && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && !strcmp(block->row->counter, sum->row->counter);
}

/* The same of one that several blocks have. */
static bool is_part(const struct timeline_line *block, const struct timeline_line *sum)
{
	return is_same(block, sum) && (block->row->metric || sum->row->info->blocks > 1);
}

static bool has_sum(const struct timeline *t, const struct timeline_line *block)
{
	for (size_t n = 0; n < t->line_count && !t->lines[n].is_block; n++)
		if (is_same(block, &t->lines[n]))
			return true;
	return false;
}

static bool is_in_group(const struct timeline_line *line, const char *group)
{
	return !strcmp(group_of(line->row), group);
}

void report_order(const struct timeline *t, const struct timeline_line **plots, size_t *count)
{
	const size_t most = *count + t->line_count;

	for (size_t n = 0; n < t->line_count; n++) {
		const char *group = group_of(t->lines[n].row);
		bool is_new = !t->lines[n].is_block;

		for (size_t i = 0; is_new && i < n; i++)
			is_new = t->lines[i].is_block || !is_in_group(&t->lines[i], group);
		for (size_t i = 0; is_new && i < 2 * t->line_count; i++) {
			const struct timeline_line *sum = &t->lines[i % t->line_count];

			if (sum->is_block || (sum->row->metric != NULL) != (i < t->line_count) ||
			    !is_in_group(sum, group))
				continue;
			plots[(*count)++] = sum;
			for (size_t b = 0; b < t->line_count && *count < most; b++)
				if (is_part(&t->lines[b], sum))
					plots[(*count)++] = &t->lines[b];
		}
	}
	/* blocks that were asked for without their sum */
	for (size_t n = 0; n < t->line_count && *count < most; n++) {
		const struct timeline_line *line = &t->lines[n];

		if (line->is_block && line->row->info && !has_sum(t, line))
			plots[(*count)++] = line;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double report_top(const struct timeline *t, const struct timeline_line *line)
{
	const bool is_percent = !strcmp(line->row->unit, "%");
	double full = is_percent && line->most < 100 ? 100 : line->most > 0 ? line->most : 0;
	double *sorted = malloc((t->bin_count + 1) * sizeof(*sorted)), common = 0;
	size_t count = 0;

	for (size_t n = 0; sorted && n < t->bin_count; n++)
		if (!isnan(line->max[n]))
			sorted[count++] = line->max[n];
	if (count > 50) {
		qsort(sorted, count, sizeof(*sorted), by_value);
		common = 1.15 * sorted[99 * count / 100];
		if (is_percent && common < 100)
			common = 100;
	}
	free(sorted);
	return common > 0 && full > 1.5 * common ? common : full;
}
