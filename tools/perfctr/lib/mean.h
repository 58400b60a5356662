/* SPDX-License-Identifier: MIT */
/*
 * The mean of values over time, and how much values vary.
 *
 * A mean is the double next to the exact one, so that min <= mean <= max holds, for equal values
 * too: their sum is kept in twice the precision, as its rounded value and the rest.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct mean {
	double sum, rest;
	uint64_t ns;
};

static inline void mean_add_number(struct mean *mean, double number)
{
	const double sum = mean->sum + number, part = sum - mean->sum;

	mean->rest += (mean->sum - (sum - part)) + (number - part);
	mean->sum = sum;
}

/* A value for a time, which adds up to less than 2^53 ns. */
static inline void mean_add(struct mean *mean, double value, uint64_t ns)
{
	const double product = value * (double)ns;

	mean_add_number(mean, product);
	mean_add_number(mean, fma(value, (double)ns, -product));
	mean->ns += ns;
}

static inline void mean_add_mean(struct mean *mean, const struct mean *other)
{
	mean_add_number(mean, other->sum);
	mean->rest += other->rest;
	mean->ns += other->ns;
}

/* Return: the mean, NAN without any time. */
static inline double mean_of(const struct mean *mean)
{
	const double ns = (double)mean->ns, quotient = mean->sum / ns;

	if (!mean->ns)
		return NAN;
	return quotient + (fma(-quotient, ns, mean->sum) + mean->rest) / ns;
}

/* of values that weigh the same */
struct spread {
	double mean;
	double squares; /* of their distances from it, added up */
	size_t count;
};

static inline void spread_add(struct spread *spread, double value)
{
	const double distance = value - spread->mean;

	spread->count++;
	spread->mean += distance / (double)spread->count;
	spread->squares += distance * (value - spread->mean);
}
