// SPDX-License-Identifier: MIT
/*
 * Events of a task on a machine with several kinds of CPU cores.
 *
 * perf's time enabled goes on while the task runs on cores of another kind, where its events do not
 * run. That is no multiplexing: there the event counts zero. This file finds that time, and has the
 * time running grow in it as it does when the task is on the event's cores.
 *
 * An event of a kind that is always on a counter runs whenever the task is on those cores, so the
 * longest time running of a kind's events is the time that the task was there. If events of all
 * kinds are counted, the times of all kinds are the time enabled; what is missing was multiplexed,
 * and is taken to be the same part on each kind.
 *
 * If a kind is not counted, nobody knows whether the task was there or the events were multiplexed.
 * The same holds for an event of one CPU. These keep perf's times, and their states say that the
 * count is that of a part, from which nothing follows about the rest.
 */
#include "perf_events.h"

#include <string.h>

#include "counters/pmu.h"

/* of clocks that are read one after the other */
enum { SLACK_PERCENT = 2 };

static bool is_of_one_cpu(const struct local_counter *counter)
{
	return counter->cpu != DRM_PERFCTR_CPU_ANY && !counter->uncore &&
	       !is_reading(counter->pmu_type);
}

static bool takes_part(const struct local_counter *counter)
{
	return counter->of_some_cores && !counter->unsupported && !is_of_one_cpu(counter);
}

/* Leave perf's times, and mark the counter if they differ. */
static void mark_part(struct local_counter *counter)
{
	if (!counter->unsupported && counter->sum[2] < counter->sum[1])
		counter->states |= DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_UNAVAILABLE;
}

static bool is_same_kind(const struct local_counter *a, const struct local_counter *b)
{
	return !strcmp(a->cpus_path, b->cpus_path);
}

static uint64_t grown_ns(const struct local_counter *counter, int time)
{
	return counter->sum[time] - counter->before_ns[time];
}

/* How long events of a counter's kind ran since the last read, the longest of them. */
static uint64_t ran_ns(const struct perf_events *c, const struct local_counter *kind)
{
	uint64_t ran = 0;

	for (size_t n = 0; n < c->counter_count; n++)
		if (takes_part(&c->counters[n]) && is_same_kind(&c->counters[n], kind) &&
		    grown_ns(&c->counters[n], 2) > ran)
			ran = grown_ns(&c->counters[n], 2);
	return ran;
}

static bool is_first_of_kind(const struct perf_events *c, size_t which)
{
	for (size_t n = 0; n < which; n++)
		if (takes_part(&c->counters[n]) &&
		    is_same_kind(&c->counters[n], &c->counters[which]))
			return false;
	return true;
}

/*
 * Add to a counter's time running what makes its part of the time enabled that of the @here_ns in
 * which the task was here.
 */
static void add_away(struct local_counter *counter, double here_ns, bool is_certain)
{
	const double enabled_ns = (double)grown_ns(counter, 1);
	const double ran = (double)grown_ns(counter, 2);

	/* not here, or no counter was free? If it ever runs, it was not here */
	if (here_ns <= 0 && !is_certain && !counter->sum[2]) {
		counter->unsure_ns += grown_ns(counter, 1);
		return;
	}
	if (here_ns > 0)
		counter->part = ran < here_ns ? ran / here_ns : 1;
	else if (!counter->sum[2])
		counter->part = 1;
	counter->away_ns += (uint64_t)((double)counter->unsure_ns * counter->part);
	if (enabled_ns * counter->part > ran)
		counter->away_ns += (uint64_t)(enabled_ns * counter->part - ran);
	counter->unsure_ns = 0;
}

void hybrid_add_away(struct perf_events *c)
{
	uint64_t enabled_ns = 0, total_ns = 0;
	unsigned int cpus = 0;
	bool all_kinds, is_certain;

	for (size_t n = 0; n < c->counter_count; n++) {
		const struct local_counter *counter = &c->counters[n];

		if (!takes_part(counter))
			continue;
		if (grown_ns(counter, 1) > enabled_ns)
			enabled_ns = grown_ns(counter, 1);
		if (!is_first_of_kind(c, n))
			continue;
		total_ns += ran_ns(c, counter);
		cpus += counter->of_some_cores;
	}
	all_kinds = cpus >= c->online.count;
	is_certain = total_ns >= enabled_ns - enabled_ns * SLACK_PERCENT / 100;
	for (size_t n = 0; n < c->counter_count; n++) {
		struct local_counter *counter = &c->counters[n];
		double here_ns;

		if (is_of_one_cpu(counter) || (takes_part(counter) && !all_kinds))
			mark_part(counter);
		if (!takes_part(counter) || !all_kinds)
			continue;
		here_ns = (double)ran_ns(c, counter);
		if (!is_certain && total_ns)
			here_ns *= (double)enabled_ns / (double)total_ns;
		add_away(counter, here_ns, is_certain);
	}
	for (size_t n = 0; n < c->counter_count; n++) {
		struct local_counter *counter = &c->counters[n];

		memcpy(counter->before_ns + 1, counter->sum + 1, 2 * sizeof(counter->sum[0]));
		counter->sum[2] += counter->away_ns;
	}
}
