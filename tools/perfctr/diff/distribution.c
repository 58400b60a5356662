// SPDX-License-Identifier: MIT
/* Student's t, normal and hypergeometric distribution, as far as perfctr diff needs them. */
#include "distribution.h"

#include <math.h>

/* of Simpson's rule, even: nine digits up to 100,000 degrees, and for what Newton's steps add */
enum { STEPS = 512, STEPS_MORE = 64 };

/* Integral of cos(x)^power. */
static double cosine_between(double from, double to, double power, int steps)
{
	const double step = (to - from) / steps;
	double sum = 0;

	for (int n = 0; n <= steps; n++)
		sum += (n == 0 || n == steps ? 1 :
			n % 2		     ? 4 :
					       2) *
		       pow(cos(from + n * step), power);
	return sum * step / 3;
}

/*
 * With t = sqrt(freedom) * tan(x), as tails of few degrees are long, the density of x is a power of
 * its cosine.
 */
double student_t_995(double freedom)
{
	const double scale = sqrt(freedom);
	const double density = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(M_PI);
	/* the normal distribution's; this side of the mode Newton's steps never pass the goal */
	double t = 2.5758293035489, x = atan(t / scale), step;
	double below = density * cosine_between(0, x, freedom - 1, STEPS);

	do {
		const double before = x;

		step = (0.495 - below) * scale / (density * pow(cos(x), freedom + 1));
		t += step;
		x = atan(t / scale);
		below += density * cosine_between(before, x, freedom - 1, STEPS_MORE);
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
