// SPDX-License-Identifier: MIT
/* Units of GPUs, which are [[unit]] tables of the counter database. */
#include "counters/tables.h"
#include "perfkit.h"

const struct perfctr_metric_desc *kit_unit_next(const struct perfctr_metric_desc *prev)
{
	const struct perfctr_metric_desc *next = prev ? prev + 1 : perfctr_unit_table;

	return next < perfctr_unit_table + perfctr_unit_table_count ? next : NULL;
}
