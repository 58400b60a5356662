/* SPDX-License-Identifier: MIT */
/* The counter database, inside the library. */
#pragma once

#include "private.h"

struct database_rows {
	const struct perfctr_counter_desc *counters; /* ordered by block type and position */
	size_t counter_count;
	const struct perfctr_metric_desc *metrics;
	size_t metric_count;
};

/* As perfctr_counter_next(), of counters of perf PMUs only. */
const struct perfctr_counter_desc *database_next_of_pmus(const struct perfctr_counter_desc *prev);
