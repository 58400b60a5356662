/* SPDX-License-Identifier: MIT */
/* Whether two means differ, or only seem to. */
#ifndef PERFCTR_COMPARE_H
#define PERFCTR_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

/* mean of a series, and how far it can be trusted */
struct compare_mean {
	double mean; /* of the values that are numbers */
	double variance; /* of the mean, NAN below two values */
	size_t count; /* values that are numbers */
};

/**
 * compare_mean_of() - mean of values that follow each other in time
 * @values: values; NAN where there is none
 * @count: number of them
 *
 * Values should be means over pieces of time that are long against whatever
 * repeats in them: neighbours that resemble each other make the mean look better
 * than it is.
 *
 * Return: the mean.
 */
struct compare_mean compare_mean_of(const double *values, size_t count);

/**
 * compare_error() - how far apart two means may be by chance
 * @a: one mean
 * @b: the other one
 * @error: half the width of the 99 % confidence interval of their difference
 *
 * Welch's unequal variances t interval.
 *
 * Return: false if there are too few values (fewer than COMPARE_LEAST on a side).
 */
bool compare_error(const struct compare_mean *a, const struct compare_mean *b, double *error);

/* Values on each side, below which chance is not estimated. */
enum { COMPARE_LEAST = 6 };

#endif /* PERFCTR_COMPARE_H */
