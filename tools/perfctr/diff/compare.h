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

/*
 * Mean of values that follow each other in time. Each value should be a mean over an interval
 * longer than any periodicity in the data: correlated neighbours make the variance too small.
 * @values: values; NAN where there is none.
 * Return: the mean.
 */
struct compare_mean compare_mean_of(const double *values, size_t count);

/*
 * How far apart two means may be by chance. Welch's unequal variances t interval.
 * @error: half the width of the 99 % confidence interval of their difference.
 * Return: false if there are too few values (fewer than COMPARE_LEAST on a side).
 */
bool compare_error(const struct compare_mean *a, const struct compare_mean *b, double *error);

/* Smallest number of values on each side for an estimate of chance. */
enum { COMPARE_LEAST = 6 };
