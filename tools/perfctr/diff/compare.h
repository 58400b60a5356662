/* SPDX-License-Identifier: MIT */
/* Whether two means, or two groups of values, differ by more than chance explains. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mean.h"

enum compare_result { COMPARE_UNKNOWN, COMPARE_NOISE, COMPARE_CLEAR };

extern const char *const compare_result_names[];

/* '~' for what may be chance, '?' for too little to say, else a blank. */
char compare_mark(enum compare_result result);
/* Change from a to b in percent; NAN from 0 to something else. */
double compare_percent(double a, double b);
/* "+1.25 %", "-" for NAN. Return: @text. */
char *compare_percent_text(double percent, char *text, size_t size);

/*
 * How far apart two means may be by chance. Welch's unequal variances t interval.
 * @a, @b: values that follow each other in time. Each should be a mean over an interval longer than
 * any periodicity in the data: correlated neighbours make the variance too small.
 * @error: half the width of the 99 % confidence interval of their difference.
 * Return: false if there are too few values (fewer than COMPARE_LEAST on a side).
 */
bool compare_error(const struct spread *a, const struct spread *b, double *error);

/* Smallest number of values on each side for an estimate of chance. */
enum { COMPARE_LEAST = 6 };

/* a value of the group with that number */
struct compare_value {
	double number;
	size_t group;
};

/* values of a group; NAN if there are none */
struct compare_group {
	size_t count;
	double median, low, high, least, most; /* low, high: the quartiles */
};

struct compare_ranks {
	struct compare_group a, b;
	/*
	 * How often chance alone orders the values of both groups so unequally or more, two-sided;
	 * NAN if a group is empty.
	 */
	double p;
	double least_p; /* the smallest possible p for groups of that size */
};

/* values of all groups, ready to compare each */
struct compare_all {
	const struct compare_value *sorted;
	size_t count;
	uint32_t *ranks; /* twice the rank of each value */
	uint32_t *members; /* indices of values, ascending, those of a group together */
	uint32_t *ends; /* of each group's members; they begin where those of the one before end */
	size_t most_begin, most_end; /* the longest run of equal values */
	double ties; /* what equal values take from the variance of ranks */
};

/*
 * Rank values.
 * @sorted: ascending, without NAN, and stays where it is; @group_count: all groups are below it.
 * Return: 0 or -ENOMEM; the caller ends in any case.
 */
int compare_ranks_begin(const struct compare_value *sorted, size_t count, size_t group_count,
			struct compare_all *all);

/*
 * Compare a group with all other values by their ranks (Wilcoxon, Mann and Whitney): exact up to 30
 * values, else by the normal distribution, with the correction for equal values; p is no less than
 * that of Fisher's exact test where more than half are equal. Takes time for the values of the
 * group, not for those of all.
 * @group: b; all other values are a.
 * Return: 0 or -ENOMEM.
 */
int compare_ranks(const struct compare_all *all, size_t group, struct compare_ranks *result);

void compare_ranks_end(struct compare_all *all);
