/* SPDX-License-Identifier: MIT */
/* Quantiles and tails of the distributions that tell a difference from chance. */
#pragma once

#include <stddef.h>

/*
 * Student's t distribution.
 * @freedom: degrees of freedom, 1 or more, also between whole numbers.
 * Return: what 99.5 % of the values are below: half a two-sided interval of 99 %.
 */
double student_t_995(double freedom);

/* Part of the standard normal distribution that is above @z. */
double normal_above(double z);

/* Ways to choose @chosen of @count, at most all, as natural logarithm. */
double ln_choices(size_t count, size_t chosen);

/*
 * Part of the ways to draw @draws of @count values, of which @marked are marked, that draw @from to
 * @to marked ones.
 */
double hypergeometric_part(size_t count, size_t marked, size_t draws, size_t from, size_t to);

/*
 * @share: 0 to 1; @sorted: @count values, 1 or more, ascending.
 * Return: the value that this share of them is below, between two values by their distance.
 */
double sorted_quantile(const double *sorted, size_t count, double share);
