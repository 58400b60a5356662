// SPDX-License-Identifier: MIT
/*
 * Which channels explain that the task takes longer. A channel does if the task uses it, if what it
 * shows rises with the task's time over the levels, and if that is long enough for a quarter of the
 * time that the task takes longer.
 */
#include <math.h>

#include "contention.h"

enum {
	NOISE = 10, /* thousandths: closer values have no order */
	MAX_NOISE = 50, /* more is slower */
};

double contention_ratio(const uint64_t value[2])
{
	return value[1] ? (double)value[0] / (double)value[1] : 0;
}

double contention_slowdown(const struct aggressor *a, const struct load *p)
{
	return (double)p->time_ns / (double)a->points[0].time_ns;
}

bool contention_slower(const struct aggressor *a)
{
	return contention_slowdown(a, a->slowest) > 1.05;
}

double contention_explained(const struct aggressor *a)
{
	const double added_ns = (double)(a->slowest->time_ns - a->points[0].time_ns);
	double sum_ns = 0, shared_ns = 0;

	for (size_t i = 0; i < a->named_count; i++) {
		const struct correlation *of = &a->of[a->named[i]];

		sum_ns += of->added_ns - of->shared_ns;
		/* of both channels of a pair, once */
		shared_ns = fmax(shared_ns, of->shared_ns);
	}
	return added_ns > 0 ? (sum_ns + shared_ns) / added_ns : 0;
}

double contention_rho(const struct correlation *of)
{
	return of->sign * sqrt(contention_ratio(of->squared));
}

/* Thousandths by which values of one level differ without a reason. */
static unsigned int noise_of(double low, double high)
{
	const double spread = high > 0 ? 1000 * (high - low) / high : 0;

	return (unsigned int)fmin(fmax(spread, NOISE), MAX_NOISE);
}

static unsigned int time_noise(const struct aggressor *a)
{
	return noise_of((double)a->points[0].time_ns, (double)a->points[0].max_time_ns);
}

static unsigned int shown_noise(const struct aggressor *a, size_t channel)
{
	unsigned int most = NOISE;

	for (size_t n = 0; n < a->count; n++) {
		const unsigned int noise =
			noise_of(a->points[n].min_shown[channel], a->points[n].max_shown[channel]);

		if (noise > most)
			most = noise;
	}
	return most;
}

/*
 * What a channel shows where the task is slowest: the mean over all levels at which it is as slow,
 * since which of them is the slowest is chance.
 */
static double shown_slowest(const struct aggressor *a, size_t channel)
{
	const double least = (double)a->slowest->time_ns * (1 - time_noise(a) / 1e3);
	double sum = 0;
	size_t count = 0;

	for (size_t n = 0; n < a->count; n++) {
		if ((double)a->points[n].time_ns < least)
			continue;
		sum += contention_ratio(a->points[n].shown[channel]);
		count++;
	}
	return sum / (double)count;
}

/* What a channel shows without contention. The task alone may not use it: then the least. */
static const uint64_t *quiet(const struct aggressor *a, size_t channel)
{
	const uint64_t *least = a->points[0].shown[channel];

	for (size_t n = 1; n < a->count && !a->points[0].shown[channel][1]; n++) {
		const uint64_t *value = a->points[n].shown[channel];

		if (value[1] && (!least[1] || contention_ratio(value) < contention_ratio(least)))
			least = value;
	}
	return least;
}

static void correlate(const struct channel *channel, struct aggressor *a, size_t n)
{
	uint64_t times[RANKS_MAX][2], shown[RANKS_MAX][2];
	const uint64_t *alone = a->points[0].shown[n], *least = quiet(a, n);
	struct correlation *of = &a->of[n];

	for (size_t i = 0; i < a->count; i++) {
		const uint64_t *value = a->points[i].shown[n][1] ? a->points[i].shown[n] : least;

		times[i][0] = a->points[i].time_ns;
		times[i][1] = 1;
		shown[i][0] = value[0];
		shown[i][1] = value[1] ? value[1] : 1;
	}
	of->sign = rank_correlation(times, shown, a->count, time_noise(a), shown_noise(a, n),
				    of->squared);
	of->growth = shown_slowest(a, n) - contention_ratio(least);
	if (channel->kind == HITS) {
		of->sign = -of->sign;
		of->growth = -of->growth;
	}
	of->has_others = channel->kind != OTHERS && alone[1] &&
			 (double)a->slowest->shown[n][1] > 1.1 * (double)alone[1];
	/* the requests of a window wait at the same time */
	of->added_ns = of->growth * channel->ns * (double)alone[1] / (double)channel->window;
	if (channel->kind != HITS)
		of->growth *= channel->ns;
}

/* Pearson's correlation of what a channel shows with the task's time. */
static double linear(const struct aggressor *a, size_t channel)
{
	const double count = (double)a->count;
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0;

	for (size_t n = 0; n < a->count; n++) {
		const uint64_t *value = a->points[n].shown[channel];
		const double time = contention_slowdown(a, &a->points[n]);
		const double shown = contention_ratio(value[1] ? value : quiet(a, channel));

		x += time;
		y += shown;
		xx += time * time;
		yy += shown * shown;
		xy += time * shown;
	}
	x /= count;
	y /= count;
	return (xy / count - x * y) / sqrt((xx / count - x * x) * (yy / count - y * y));
}

/*
 * Whether a channel shows more where the task takes longer: in order (rank correlation of 0.8, here
 * squared), or in proportion, if it is full at the last levels only.
 */
static bool rises(const struct contention *c, const struct aggressor *a, size_t channel)
{
	const struct correlation *of = &a->of[channel];
	const double sign = c->channels[channel].kind == HITS ? -1 : 1;

	return (of->sign > 0 && contention_ratio(of->squared) >= 0.64) ||
	       sign * linear(a, channel) >= 0.9;
}

/*
 * Accesses that a cache no longer serves meet the waits behind it, which may be longer, too. That
 * part of the time would be gone without either. Return: ns, of this pair.
 */
static double both_ns(const struct contention *c, const struct aggressor *a, size_t hits,
		      size_t waits)
{
	const uint64_t *alone = a->points[0].shown[hits];
	const double missed = (double)alone[1] - (double)alone[0];
	const double lost = a->of[hits].growth * (double)alone[1];
	const double requests = (double)a->points[0].shown[waits][1];

	if (a->of[hits].sign <= 0 || !rises(c, a, waits) || lost <= 0)
		return 0;
	/* alone nearly nothing went there, which shows no proportion: all that is lost goes */
	if (missed < 0.05 * (double)alone[1])
		return a->of[waits].growth * lost / (double)c->channels[hits].window;
	/* requests grow as the missed accesses do */
	return a->of[waits].growth * requests * lost / missed / (double)c->channels[waits].window;
}

static bool is_pair(const struct contention *c, size_t hits, size_t waits)
{
	return c->channels[hits].kind == HITS && c->channels[waits].kind == WAIT;
}

static void explain(const struct contention *c, struct aggressor *a, double added_ns)
{
	double both[MAX_CHANNELS] = { 0 };

	for (size_t n = 0; n < c->channel_count; n++) {
		for (size_t i = 0; i < c->channel_count; i++) {
			if (!is_pair(c, n, i))
				continue;
			both[n] += both_ns(c, a, n, i);
			both[i] += both_ns(c, a, n, i);
		}
	}
	for (size_t n = 0; n < c->channel_count; n++) {
		a->of[n].shared_ns = both[n];
		a->of[n].added_ns += both[n];
		a->of[n].explains = !c->baseless && contention_slower(a) && rises(c, a, n) &&
				    a->of[n].added_ns * 4 >= added_ns;
	}
}

static bool is_named(const struct aggressor *a, size_t channel)
{
	for (size_t i = 0; i < a->named_count; i++)
		if (a->named[i] == channel)
			return true;
	return false;
}

/*
 * The next channel to name: of the last kind, and there the one that adds most. @left_ns: that it
 * may add by itself. Return: -1: none
 */
static long next_channel(const struct contention *c, const struct aggressor *a, double added_ns,
			 double left_ns)
{
	/* a path has the waits on it */
	for (int kind = OTHERS; kind >= (a->named_count ? WAIT : PATH); kind--) {
		long best = -1;

		for (size_t n = 0; n < c->channel_count; n++)
			if ((int)c->channels[n].kind == kind && a->of[n].explains &&
			    !is_named(a, n) && fmax(left_ns, a->of[n].shared_ns) * 4 >= added_ns &&
			    (best < 0 || a->of[n].added_ns > a->of[best].added_ns))
				best = (long)n;
		if (best >= 0)
			return best;
	}
	return -1;
}

/*
 * Work of others delays all of the task's, and lost hits make it wait elsewhere: so they are first.
 * Others are named, too, if a quarter of the added time is left for them, or if they add as much
 * together with another one.
 */
static void name_channels(const struct contention *c, struct aggressor *a, double added_ns)
{
	double left_ns = added_ns;
	long channel;

	a->named_count = 0;
	if (c->baseless)
		return;
	while ((channel = next_channel(c, a, added_ns, left_ns)) >= 0) {
		a->named[a->named_count++] = (size_t)channel;
		left_ns -= a->of[channel].added_ns - a->of[channel].shared_ns;
	}
}

static void analyse(const struct contention *c, struct aggressor *a)
{
	double added_ns;

	a->slowest = a->points;
	for (size_t n = 1; n < a->count; n++)
		if (a->points[n].time_ns > a->slowest->time_ns)
			a->slowest = &a->points[n];
	added_ns = (double)(a->slowest->time_ns - a->points[0].time_ns);
	for (size_t n = 0; n < c->channel_count; n++)
		if (!c->channels[n].missing)
			correlate(&c->channels[n], a, n);
	explain(c, a, added_ns);
	name_channels(c, a, added_ns);
}

void contention_analyse(struct contention *c)
{
	for (size_t i = 0; i < c->aggressor_count; i++)
		c->baseless |= c->aggressors[i].quicker != NULL;
	for (size_t i = 0; i < c->aggressor_count; i++)
		analyse(c, &c->aggressors[i]);
}
