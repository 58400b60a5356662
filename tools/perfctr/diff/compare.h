/* SPDX-License-Identifier: MIT */
/* Whether the difference of two means is significant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* mean of a series and its variance */
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
 * Each value should be a mean over an interval longer than any periodicity in the data: correlated
 * neighbours make the variance too small.
 *
 * Return: the mean.
 */
struct compare_mean compare_mean_of(const double *values, size_t count);

/**
 * compare_error() - how far apart two means may be by chance
 * @a: one mean
 * @b: another mean
 * @error: half the width of the 99 % confidence interval of their difference
 *
 * Welch's unequal variances t interval.
 *
 * Return: false if there are too few values (fewer than COMPARE_LEAST on a side).
 */
bool compare_error(const struct compare_mean *a, const struct compare_mean *b, double *error);

/* Smallest number of values on each side for an estimate of chance. */
enum { COMPARE_LEAST = 6 };
