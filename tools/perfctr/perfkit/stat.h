/* SPDX-License-Identifier: MIT */
/*
 * perfctr perfkit: exact statistics of a counter over all frames or repetitions.
 *
 * The common denominator of ratios of cycle counts grows with each ratio that is added, so numbers
 * here have arbitrary precision (GMP).
 */
#pragma once

#include <gmp.h>
#include <perfctr/perfkit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* the values of one counter over all frames or repetitions */
struct perfkit_stat {
	uint64_t measured; /* number of values */
	mpq_t sum; /* sum of the values */
	mpq_t min; /* smallest */
	mpq_t max; /* largest */
	mpz_t cycles; /* sum of the cycles of the blocks' clock, 0: no clock */
	mpq_t time_ns; /* sum of the times that a unit's shares represent */
	uint64_t timed; /* number of times in @time_ns */
	mpz_t elapsed_ns; /* sum of the times of the values */
	uint32_t flags; /* enum perfctr_perfkit_flags of the values, ORed */
	uint32_t state; /* state of the last value that was missing; enum perfctr_value_state */
};

/* Initialize without values. */
void perfkit_stat_init(struct perfkit_stat *stat);
void perfkit_stat_clear(struct perfkit_stat *stat);

void perfkit_stat_add(struct perfkit_stat *stat, const struct perfctr_perfkit_value *value);

/* Add the time that a value represents. */
void perfkit_stat_add_time(struct perfkit_stat *stat, const struct perfctr_perfkit_value *time_ns);

/* Add what a kit measured of its counter @n. */
void perfkit_stat_take(struct perfkit_stat *stat, const struct perfctr_perfkit *kit, size_t n,
		       const struct perfctr_perfkit_value *value);

/* A sum over the number of values; @mean is initialized, @stat has values. */
void perfkit_stat_mean(const struct perfkit_stat *stat, mpq_t mean);
void perfkit_stat_mean_of(const struct perfkit_stat *stat, mpz_srcptr sum, mpq_t mean);

/* Return: whether any value represents a time. */
bool perfkit_stat_mean_time(const struct perfkit_stat *stat, mpq_t mean);

/* The nearest double. */
double ratio_number(mpq_srcptr ratio);

/* As people read it: "1,234,567" or "98.813", to three decimals, half up. Return: text. */
const char *ratio_text(mpq_srcptr ratio, char *text, size_t size);
