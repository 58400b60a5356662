/* SPDX-License-Identifier: MIT */
/* The counter database, inside the library. */
#pragma once

#include "private.h"

/* A block type by its name, 0: none. */
unsigned int block_type_of(const char *name);
/* "fw, cshw, ...", without perf PMUs. */
void block_type_words(char *text, size_t size);

/* As perfctr_counter_next(), of counters of perf PMUs only. */
const struct perfctr_counter_desc *database_next_of_pmus(const struct perfctr_counter_desc *prev);

typedef bool (*database_wants)(void *data, unsigned int product);

/* As perfctr_metric_next(), of the products that @wants accepts; NULL: of all. */
const struct perfctr_metric_desc *database_metric_next(const struct perfctr_metric_desc *prev,
						       database_wants wants, void *data);
