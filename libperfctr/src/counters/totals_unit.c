// SPDX-License-Identifier: MIT
/* Units of the counters in totals. */
#include <stdio.h>

#include "totals.h"

EXPORT int perfctr_totals_unit(const struct perfctr_selection *selection,
			       const struct perfctr_totals_block *block, size_t n, char *text,
			       size_t size, double *scale)
{
	const struct perfctr_total *total = perfctr_totals_counter(block, n);
	const char *unit = total && total->desc ? total->desc->unit : "";

	if (scale)
		*scale = 1;
	/* for events of perf PMUs sysfs has priority over the database */
	for (size_t i = 0; selection && i < selection->request_count; i++) {
		const struct drm_perfctr_block_request *r = &selection->requests[i];

		if (r->type != block->info.type || r->index != block->info.index ||
		    r->type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
			continue;
		if (scale && selection->labels[i].scale > 0)
			*scale = selection->labels[i].scale;
		if (selection->labels[i].unit[0])
			unit = selection->labels[i].unit;
	}
	return snprintf(text, size, "%s", unit);
}
