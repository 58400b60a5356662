// SPDX-License-Identifier: MIT
/* Whether groups of values differ by more than chance: Welch's interval, tests of ranks. */
#include "compare.h"
#include "distribution.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXACT_COUNT = 30 }; /* up to so many values all assignments to the two groups are counted */

const char *const compare_result_names[] = {
	[COMPARE_UNKNOWN] = "unknown",
	[COMPARE_NOISE] = "within noise",
	[COMPARE_CLEAR] = "clear",
};

double compare_percent(double a, double b)
{
	if (a == b)
		return 0;
	return a != 0 ? 100 * (b - a) / fabs(a) : NAN;
}

char *compare_percent_text(double percent, char *text, size_t size)
{
	if (isnan(percent))
		snprintf(text, size, "-");
	else if (fabs(percent) >= 99999)
		snprintf(text, size, "%+.1e %%", percent);
	else
		snprintf(text, size, "%+.2f %%", percent);
	return text;
}

char compare_mark(enum compare_result result)
{
	return result == COMPARE_NOISE ? '~' : result == COMPARE_CLEAR ? ' ' : '?';
}

struct compare_mean compare_mean_of(const double *values, size_t count)
{
	struct compare_mean m = { .variance = NAN };
	double m2 = 0;

	for (size_t n = 0; n < count; n++) {
		double delta = values[n] - m.mean;

		if (isnan(values[n]))
			continue;
		m.count++;
		m.mean += delta / (double)m.count;
		m2 += delta * (values[n] - m.mean);
	}
	if (m.count > 1)
		m.variance = m2 / (double)(m.count - 1) / (double)m.count;
	return m;
}

bool compare_error(const struct compare_mean *a, const struct compare_mean *b, double *error)
{
	double sum = a->variance + b->variance, freedom;

	if (a->count < COMPARE_LEAST || b->count < COMPARE_LEAST)
		return false;
	if (!(sum > 0)) {
		*error = 0;
		return true;
	}
	freedom = sum * sum /
		  (a->variance * a->variance / (double)(a->count - 1) +
		   b->variance * b->variance / (double)(b->count - 1));
	*error = student_t_995(freedom) * sqrt(sum);
	return true;
}

/*
 * Share of the ways to choose so many ranks whose sum is as far from the expected one.
 * @ranks: twice the rank of each value, so that the mean rank of equal values is an integer.
 */
static double exact_p(const size_t *ranks, size_t count, size_t chosen, double distance)
{
	const size_t most = 2 * count * chosen;
	/* ways to choose n ranks with that sum, of those seen so far */
	double *ways = calloc((chosen + 1) * (most + 1), sizeof(*ways)), far = 0, all = 0;

	if (!ways)
		return NAN;
	ways[0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t n = chosen; n; n--)
			for (size_t sum = most; sum >= ranks[i]; sum--)
				ways[n * (most + 1) + sum] +=
					ways[(n - 1) * (most + 1) + sum - ranks[i]];
	for (size_t sum = 0; sum <= most; sum++) {
		all += ways[chosen * (most + 1) + sum];
		if (fabs((double)sum - (double)(chosen * (count + 1))) >= distance)
			far += ways[chosen * (most + 1) + sum];
	}
	free(ways);
	return far / all;
}

static struct compare_group describe(const double *sorted, size_t count)
{
	if (!count)
		return (struct compare_group){ 0, NAN, NAN, NAN, NAN, NAN };
	return (struct compare_group){
		.count = count,
		.median = sorted_quantile(sorted, count, 0.5),
		.low = sorted_quantile(sorted, count, 0.25),
		.high = sorted_quantile(sorted, count, 0.75),
		.least = sorted[0],
		.most = sorted[count - 1],
	};
}

/* Fisher: how often chance puts so few or so many (@equal_b) of the equal values into b. */
static double exact_equal_p(size_t equal, size_t equal_b, size_t count, size_t b)
{
	const double fewer = hypergeometric_part(count, equal, b, 0, equal_b);
	const double more = hypergeometric_part(count, equal, b, equal_b, equal);

	return fmin(1, 2 * fmin(fewer, more));
}

int compare_ranks(const struct compare_value *sorted, size_t count, size_t group,
		  struct compare_ranks *result)
{
	double *sides = calloc(2 * count + 1, sizeof(*sides)), distance, variance, ties = 0;
	size_t *ranks = malloc((count + 1) * sizeof(*ranks));
	size_t counts[2] = { 0 }, sum = 0, last = 0, most = 0, most_b = 0;

	*result = (struct compare_ranks){ .p = NAN, .least_p = 1 };
	if (!sides || !ranks) {
		free(sides);
		free(ranks);
		return -ENOMEM;
	}
	for (size_t n = 0; n < count; n++) {
		const bool is_b = sorted[n].group == group;

		if (n == last) {
			size_t equal_b = 0;
			double equal;

			for (; last < count && sorted[last].number == sorted[n].number; last++)
				equal_b += sorted[last].group == group;
			equal = (double)(last - n);
			ties += equal * equal * equal - equal;
			most_b = last - n > most ? equal_b : most_b;
			most = last - n > most ? last - n : most;
			/* the first and the last rank of equal values */
			ranks[n] = n + 1 + last;
		} else {
			ranks[n] = ranks[n - 1];
		}
		sides[is_b * count + counts[is_b]++] = sorted[n].number;
		sum += is_b ? ranks[n] : 0;
	}
	result->a = describe(sides, counts[0]);
	result->b = describe(sides + count, counts[1]);
	if (counts[0] && counts[1]) {
		const double all = (double)count, a = (double)counts[0], b = (double)counts[1];

		distance = fabs((double)sum - b * (all + 1));
		variance = a * b / 12 * (all + 1 - ties / (all * (all - 1)));
		result->least_p = 2 * exp(-ln_choices(count, counts[1]));
		if (count <= EXACT_COUNT)
			result->p = exact_p(ranks, count, counts[1], distance);
		else if (variance > 0)
			result->p =
				fmin(1, 2 * normal_above((distance / 2 - 0.5) / sqrt(variance)));
		else
			result->p = 1;
		/* ranks of which most are equal are not normal */
		if (count > EXACT_COUNT && 2 * most > count)
			result->p = fmax(result->p, exact_equal_p(most, most_b, count, counts[1]));
		result->p = fmax(result->p, result->least_p);
	}
	free(sides);
	free(ranks);
	return 0;
}
