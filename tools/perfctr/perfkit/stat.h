/* SPDX-License-Identifier: MIT */
/*
 * perfctr perfkit: what is known of a counter over all frames or repetitions, exactly.
 *
 * Ratios of different cycle counts have no common denominator, so that the one of their sum grows
 * with each of them: numbers here are as long as they need to be (GMP).
 */
#ifndef PERFCTR_PERFKIT_STAT_H
#define PERFCTR_PERFKIT_STAT_H

#include <gmp.h>
#include <perfctr/perfkit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* the values of one counter over all frames or repetitions */
struct perfkit_stat {
	uint64_t measured; /* values that went in */
	mpq_t sum; /* of them */
	mpq_t min; /* smallest */
	mpq_t max; /* largest */
	mpz_t cycles; /* of the blocks' clock in all of them, 0: they have none */
	mpq_t time_ns; /* sum of the times that a unit's shares stand for */
	uint64_t timed; /* how many there are */
	mpz_t elapsed_ns; /* time of all of them */
	uint32_t flags; /* enum perfctr_perfkit_flags of all of them */
	uint32_t state; /* why the last one that was none was none; enum perfctr_value_state */
};

/* Nothing was measured yet. */
void perfkit_stat_init(struct perfkit_stat *stat);
void perfkit_stat_clear(struct perfkit_stat *stat);

void perfkit_stat_add(struct perfkit_stat *stat, const struct perfctr_perfkit_value *value);

/* The time that a value which was added stands for. */
void perfkit_stat_add_time(struct perfkit_stat *stat, const struct perfctr_perfkit_value *time_ns);

/* What a kit measured of its counter @n. */
void perfkit_stat_take(struct perfkit_stat *stat, const struct perfctr_perfkit *kit, size_t n,
		       const struct perfctr_perfkit_value *value);

/* A sum over the number of values; @mean is initialized, @stat has values. */
void perfkit_stat_mean(const struct perfkit_stat *stat, mpq_t mean);
void perfkit_stat_mean_of(const struct perfkit_stat *stat, mpz_srcptr sum, mpq_t mean);

/* Return: whether any value stands for a time. */
bool perfkit_stat_mean_time(const struct perfkit_stat *stat, mpq_t mean);

/* The double that is nearest. */
double ratio_number(mpq_srcptr ratio);

/*
 * As people read it: "1,234,567" or "98.813", to three digits behind the point, the half up.
 * Return: text.
 */
const char *ratio_text(mpq_srcptr ratio, char *text, size_t size);

#endif /* PERFCTR_PERFKIT_STAT_H */
