/* SPDX-License-Identifier: MIT */
/*
 * What the kernel shows as text: DRM clients' engine times and memory (fdinfo), power, temperature
 * and frequency (sysfs). Each is an event of a PMU that exists only in this library.
 */
#pragma once

#include "perf_events.h"

struct pmu;
struct pmu_event;

/* Type numbers that perf does not assign. */
#define READINGS_TYPE 0xfffff000u

static inline bool is_reading(uint32_t pmu_type)
{
	return pmu_type >= READINGS_TYPE;
}

/* Call fn for each of these PMUs that this machine has. */
int readings_pmus(struct perfctr_ctx *ctx, int (*fn)(void *arg, const char *name, uint32_t type),
		  void *arg);

/* Call fn for each event of a PMU, "i915@0000:00:02.0:engine-render". */
int readings_list(struct perfctr_ctx *ctx, const struct pmu *pmu, sys_list_fn fn, void *arg);

/* Call fn for each process whose clients have an event. */
int readings_pids(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
		  int (*fn)(void *arg, long pid), void *arg);

/*
 * Keep why a PMU, or a device of it, shows no events.
 * Return: a negative errno; 0: there is no such reason.
 */
int readings_explain(struct perfctr_ctx *ctx, const char *pmu);

/* Call fn for each device with DRM nodes that a driver has in sysfs, "fb000000.gpu". */
int readings_devices(struct perfctr_ctx *ctx, const char *driver, sys_list_fn fn, void *arg);

/* Add a term: the name of an event, or pid=N. Return: 0; -ENOENT, the reason is kept. */
int readings_add_term(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
		      struct pmu_event *event);

struct readings;

/* Find what a counter reads. Return: 0 or a negative errno. */
int readings_open(struct perfctr_ctx *ctx, struct perf_events *events,
		  struct local_counter *counter);

/* Begin to count: what clients did before does not count. */
void readings_start(struct perf_events *events);

/* Read all. Raises events->lost_ns to the longest time whose counts may be missing. */
void readings_read(struct perf_events *events, uint64_t now_ns);
void readings_free(struct perf_events *events);
