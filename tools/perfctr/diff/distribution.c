// SPDX-License-Identifier: MIT
/* Student's t, normal and hypergeometric distribution, as far as perfctr diff needs them. */
#include "distribution.h"

#include <math.h>

enum { STEPS = 512 }; /* of Simpson's rule, even: nine digits up to 100,000 degrees */

/* @ln_scale: what does not depend on @t */
static double student_density(double t, double freedom, double ln_scale)
{
	return exp(ln_scale - (freedom + 1) / 2 * log1p(t * t / freedom));
}

/* Part of the values from 0 to t. The variable is atan(t / s): tails of few degrees are long. */
static double student_between(double t, double freedom, double ln_scale)
{
	const double scale = sqrt(freedom), end = atan(t / scale), step = end / STEPS;
	double sum = 0;

	for (int n = 0; n <= STEPS; n++) {
		const double x = scale * tan(n * step);
		const int weight = n == 0 || n == STEPS ? 1 : n % 2 ? 4 : 2;

		sum += weight * student_density(x, freedom, ln_scale) * (scale + x * x / scale);
	}
	return sum * step / 3;
}

double student_t_995(double freedom)
{
	/* the normal distribution's; this side of the mode Newton's steps never pass the goal */
	const double ln_scale =
		lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * M_PI) / 2;
	double t = 2.5758293035489, step;

	do {
		step = (0.495 - student_between(t, freedom, ln_scale)) /
		       student_density(t, freedom, ln_scale);
		t += step;
	} while (fabs(step) > 1e-8 * t);
	return t;
}

double normal_above(double z)
{
	return erfc(z * M_SQRT1_2) / 2;
}

double ln_choices(size_t count, size_t chosen)
{
	return lgamma((double)count + 1) - lgamma((double)chosen + 1) -
	       lgamma((double)(count - chosen) + 1);
}

double hypergeometric_part(size_t count, size_t marked, size_t draws, size_t from, size_t to)
{
	/* fewer marked ones leave more draws than there are others */
	const size_t least = draws + marked > count ? draws + marked - count : 0;
	const size_t most = draws < marked ? draws : marked;
	double sum = 0;

	for (size_t n = from > least ? from : least; n <= to && n <= most; n++)
		sum += exp(ln_choices(marked, n) + ln_choices(count - marked, draws - n) -
			   ln_choices(count, draws));
	return sum;
}

double sorted_quantile(const double *sorted, size_t count, double share)
{
	const double at = share * (double)(count - 1);
	const size_t before = (size_t)at;
	const double part = at - (double)before;

	return before + 1 < count ? (1 - part) * sorted[before] + part * sorted[before + 1] :
				    sorted[before];
}
