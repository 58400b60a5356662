// SPDX-License-Identifier: MIT
/* Groups of lines in plots and pages. */
#include <string.h>

#include "report.h"

const char *report_group(const struct row *row)
{
	const char *type = row->info ? perfctr_block_type_name(row->info->type) : NULL;

	if (row->info && row->info->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return row->label;
	return type ? type : row->label;
}

bool report_is_part(const struct timeline_line *block, const struct timeline_line *sum)
{
	const struct perfctr_totals_block_info *a = block->row->info, *b = sum->row->info;

	if (!block->is_block || sum->is_block || !a || block->row->metric != sum->row->metric)
		return false;
	/* the sum line of a metric may have no block */
	if (block->row->metric)
		return block->row->metric->scope == PERFCTR_SCOPE_BLOCK;
	return b && b->blocks > 1 && a->type == b->type && a->section == b->section &&
	       a->set == b->set && a->product == b->product && a->config == b->config &&
	       a->config1 == b->config1 && a->config2 == b->config2 &&
	       !strcmp(block->row->counter, sum->row->counter);
}
