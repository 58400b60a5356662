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
	else if (fabs(percent) >= 1000)
		snprintf(text, size, "%+.0f %%", percent);
	else
		snprintf(text, size, "%+.2f %%", percent);
	return text;
}

char compare_mark(enum compare_result result)
{
	return result == COMPARE_NOISE ? '~' : result == COMPARE_CLEAR ? ' ' : '?';
}

/* Variance of the mean of two values or more. */
static double variance_of_mean(const struct spread *s)
{
	return s->squares / (double)(s->count - 1) / (double)s->count;
}

bool compare_error(const struct spread *a, const struct spread *b, double *error)
{
	double of_a, of_b, sum, freedom;

	if (a->count < COMPARE_LEAST || b->count < COMPARE_LEAST)
		return false;
	of_a = variance_of_mean(a);
	of_b = variance_of_mean(b);
	sum = of_a + of_b;
	if (!(sum > 0)) {
		*error = 0;
		return true;
	}
	freedom = sum * sum /
		  (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
	*error = student_t_995(freedom) * sqrt(sum);
	return true;
}

/*
 * Share of the ways to choose so many ranks whose sum is as far from the expected one.
 * @ranks: twice the rank of each value, so that the mean rank of equal values is an integer.
 */
static double exact_p(const uint32_t *ranks, size_t count, size_t chosen, double distance)
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

/* Fisher: how often chance puts so few or so many (@equal_b) of the equal values into b. */
static double exact_equal_p(size_t equal, size_t equal_b, size_t count, size_t b)
{
	const double fewer = hypergeometric_part(count, equal, b, 0, equal_b);
	const double more = hypergeometric_part(count, equal, b, equal_b, equal);

	return fmin(1, 2 * fmin(fewer, more));
}

/* some of the sorted values: those of a group, or all others */
struct side {
	const struct compare_all *all;
	const uint32_t *members; /* of the group */
	size_t member_count, count;
	bool is_others;
};

static double value_of(const struct side *s, size_t n)
{
	size_t low = 0, high = s->member_count;

	if (!s->is_others)
		return s->all->sorted[s->members[n]].number;
	/* as many members are before it as leave no more than n others before them */
	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (s->members[middle] - middle <= n)
			low = middle + 1;
		else
			high = middle;
	}
	return s->all->sorted[n + low].number;
}

static double quantile(const struct side *s, double share)
{
	const double at = share * (double)(s->count - 1);
	const size_t before = (size_t)at;
	const double part = at - (double)before;

	return before + 1 < s->count ?
		       (1 - part) * value_of(s, before) + part * value_of(s, before + 1) :
		       value_of(s, before);
}

static struct compare_group describe(const struct side *s)
{
	if (!s->count)
		return (struct compare_group){ 0, NAN, NAN, NAN, NAN, NAN };
	return (struct compare_group){
		.count = s->count,
		.median = quantile(s, 0.5),
		.low = quantile(s, 0.25),
		.high = quantile(s, 0.75),
		.least = value_of(s, 0),
		.most = value_of(s, s->count - 1),
	};
}

int compare_ranks_begin(const struct compare_value *sorted, size_t count, size_t group_count,
			struct compare_all *all)
{
	size_t last = 0;

	/* each capture was a file in a list in memory */
	if (count > UINT32_MAX / 2)
		return -ENOMEM;
	*all = (struct compare_all){ .sorted = sorted, .count = count };
	all->ranks = malloc((count + 1) * sizeof(*all->ranks));
	all->members = malloc((count + 1) * sizeof(*all->members));
	all->ends = calloc(group_count + 1, sizeof(*all->ends));
	if (!all->ranks || !all->members || !all->ends)
		return -ENOMEM;
	for (size_t n = 0; n < count; n++) {
		if (n < last) {
			all->ranks[n] = all->ranks[n - 1];
			continue;
		}
		while (last < count && sorted[last].number == sorted[n].number)
			last++;
		/* the first and the last rank of equal values */
		all->ranks[n] = (uint32_t)(n + 1 + last);
		all->ties += pow((double)(last - n), 3) - (double)(last - n);
		if (last - n > all->most_end - all->most_begin) {
			all->most_begin = n;
			all->most_end = last;
		}
	}
	/* where each group begins, then the members, which move it to the end */
	for (size_t n = 0; n < count; n++)
		all->ends[sorted[n].group + 1]++;
	for (size_t n = 1; n < group_count; n++)
		all->ends[n] += all->ends[n - 1];
	for (size_t n = 0; n < count; n++)
		all->members[all->ends[sorted[n].group]++] = (uint32_t)n;
	return 0;
}

void compare_ranks_end(struct compare_all *all)
{
	free(all->ranks);
	free(all->members);
	free(all->ends);
	*all = (struct compare_all){ 0 };
}

int compare_ranks(const struct compare_all *all, size_t group, struct compare_ranks *result)
{
	const size_t begin = group ? all->ends[group - 1] : 0, count = all->count;
	const struct side b = { all, all->members + begin, all->ends[group] - begin,
				all->ends[group] - begin, false };
	const struct side a = { all, b.members, b.count, count - b.count, true };
	const size_t most = all->most_end - all->most_begin;
	double distance, variance, many, few;
	size_t sum = 0, most_b = 0;

	*result = (struct compare_ranks){ describe(&a), describe(&b), .p = NAN, .least_p = 1 };
	if (!a.count || !b.count)
		return 0;
	for (size_t n = 0; n < b.count; n++) {
		sum += all->ranks[b.members[n]];
		most_b += b.members[n] >= all->most_begin && b.members[n] < all->most_end;
	}
	many = (double)count;
	few = (double)b.count;
	distance = fabs((double)sum - few * (many + 1));
	variance = (double)a.count * few / 12 * (many + 1 - all->ties / (many * (many - 1)));
	result->least_p = 2 * exp(-ln_choices(count, b.count));
	if (count <= EXACT_COUNT)
		result->p = exact_p(all->ranks, count, b.count, distance);
	else if (variance > 0)
		result->p = fmin(1, 2 * normal_above((distance / 2 - 0.5) / sqrt(variance)));
	else
		result->p = 1;
	/* ranks of which most are equal are not normal */
	if (count > EXACT_COUNT && 2 * most > count)
		result->p = fmax(result->p, exact_equal_p(most, most_b, count, b.count));
	result->p = fmax(result->p, result->least_p);
	return 0;
}
