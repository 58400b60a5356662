// SPDX-License-Identifier: MIT
/* Rows of perfctr stat over intervals and over runs: smallest, mean, largest, deviation. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stat.h"

int stat_find_rows(struct stat_device *device, const struct rows *rows)
{
	struct row_stat *stats;

	if (device->stat_count >= rows->count)
		return 0;
	stats = realloc(device->stats, rows->count * sizeof(*stats));
	if (!stats)
		return -ENOMEM;
	device->stats = stats;
	for (size_t i = device->stat_count; i < rows->count; i++)
		stats[i] = (struct row_stat){ 0 };
	device->stat_count = rows->count;
	return 0;
}

void row_stat_end_run(struct row_stat *stat)
{
	double number = mean_of(&stat->pending);
	uint64_t elapsed_ns = stat->pending.ns;

	if (!elapsed_ns)
		return;
	stat->pending = (struct mean){ 0 };
	if (!stat->intervals || number < stat->min)
		stat->min = number;
	if (!stat->intervals || number > stat->max)
		stat->max = number;
	mean_add(&stat->mean, number, elapsed_ns);
	stat->intervals++;
}

void row_stat_add_interval(struct row_stat *stat, const struct row *row, uint64_t elapsed_ns,
			   bool complete)
{
	double number = isfinite(row->rate) ? row->rate : row->number;
	/* a metric is treated as the row whose rate it may be: one mean, one largest value */
	bool adds_up = isfinite(row->rate) || row->metric;

	if (row->state != PERFCTR_VALUE_OK || row->missed || !isfinite(number) ||
	    (row->metric && row->flags & PERFCTR_VALUE_PARTIAL))
		return;
	if (complete) {
		row_stat_end_run(stat);
		mean_add(&stat->pending, number, elapsed_ns);
	} else if (stat->pending.ns && adds_up) {
		mean_add(&stat->pending, number, elapsed_ns);
	}
}

double row_stat_mean(const struct row_stat *stat)
{
	return mean_of(&stat->mean);
}

bool row_stat_has_range(const struct stat_device *device, const struct row_stat *stat)
{
	return stat && stat->intervals && stat->mean.ns >= device->rows.span.elapsed_ns / 2;
}

/* Welford's method: stable for many runs of large counts */
void row_stat_add_run(struct row_stat *stat, const struct row *row)
{
	double delta;

	if (row->state != PERFCTR_VALUE_OK)
		return;
	stat->runs++;
	delta = row->number - stat->run_mean;
	stat->run_mean += delta / (double)stat->runs;
	stat->run_m2 += delta * (row->number - stat->run_mean);
}

double row_stat_stddev_percent(const struct row_stat *stat)
{
	double variance;

	if (stat->runs < 2 || stat->run_mean == 0)
		return 0;
	variance = stat->run_m2 / (double)(stat->runs - 1);
	/* deviation of the mean, as perf stat -r shows it */
	return 100 * sqrt(variance / (double)stat->runs) / fabs(stat->run_mean);
}

const struct row_stat *stat_of_row(const struct stat_device *device, size_t n)
{
	return n < device->stat_count ? &device->stats[n] : NULL;
}
