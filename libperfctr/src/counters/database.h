/* SPDX-License-Identifier: MIT */
/* The counter database, inside the library. */
#pragma once

#include "private.h"

/* A block type by its name, 0: none. */
unsigned int block_type_of(const char *name);

/* As perfctr_counter_next(), of counters of perf PMUs only. */
const struct perfctr_counter_desc *database_next_of_pmus(const struct perfctr_counter_desc *prev);
