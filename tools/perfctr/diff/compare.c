// SPDX-License-Identifier: MIT
#include "compare.h"

#include <math.h>

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

/*
 * Quantile of Student's t distribution at 99.5 %, by the expansion of Cornish and
 * Fisher: off by less than 1 % from five degrees of freedom on.
 */
static double student(double freedom)
{
	const double z = 2.5758293035489;
	const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
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
	*error = student(freedom) * sqrt(sum);
	return true;
}
