/* SPDX-License-Identifier: MIT */
/*
 * What the kernel shows as text: DRM clients' engine times and memory (fdinfo), power, temperature
 * and frequency (sysfs). Each is an event of a PMU that exists only in this library.
 */
#pragma once

#include "perf_events.h"

struct reading_ops;

/* of counters/pmu.h */
extern const struct reading_ops local_readings;

struct readings;

/* Find what a counter reads. Return: 0 or a negative errno. */
int readings_open(struct perfctr_ctx *ctx, struct perf_events *events,
		  struct local_counter *counter);

/* Begin to count: what clients did before does not count. */
void readings_start(struct perf_events *events);

/* Read all. Raises events->lost_ns to the longest time whose counts may be missing. */
void readings_read(struct perf_events *events, uint64_t now_ns);
void readings_free(struct perf_events *events);
