/* SPDX-License-Identifier: MIT */
/* perf events of a local session: opened, read, moved with the CPUs, closed. */
#ifndef PERFCTR_LOCAL_PERF_EVENTS_H
#define PERFCTR_LOCAL_PERF_EVENTS_H

#include "private.h"

/* one event on all the CPUs that its PMU counts on */
struct local_counter {
	uint32_t pmu_type;
	uint64_t config, config1, config2;
	/* the CPU requested, or DRM_PERFCTR_CPU_ANY */
	int32_t cpu;
	/* the PMU chose its CPUs, and moves its events itself when one goes offline */
	bool uncore;
	/* may share a group with its PMU's other events: reading it is one call */
	bool grouped;
	/* a CPU is not counted; since the last look, or a file could not be read */
	bool missing, incomplete;
	/* files open, and the CPU of the last */
	unsigned int open_count;
	int open_cpu;
	/* enum drm_perfctr_block_states since the last look */
	uint32_t states;
	/* count, time enabled and time running in ns: of all files ever opened as of the last read,
	   and of those that are closed */
	uint64_t sum[3], gone[3];
	char pmu[DRM_PERFCTR_PMU_NAME_BYTES];
	/* where sysfs has the CPUs */
	char cpus_path[PATH_BYTES];
};

struct local_file;

struct perf_events {
	const struct perfctr_sys *sys;
	struct local_counter *counters;
	size_t counter_count;
	struct local_file *files;
	size_t file_count, file_room;
	/* the process counted, with its future children; 0: everything */
	pid_t task;
	bool active;
	/* CPUs online as of the last look, and when that was */
	char online[256];
	uint64_t looked_ns;
};

/*
 * Open the events of the counters, which do not count yet.
 * Return: 0, or perf's error; perf_events_close() is due in any case.
 */
int perf_events_open(struct perfctr_ctx *ctx, struct perf_events *c);
int perf_events_start(struct perf_events *c);
void perf_events_stop(struct perf_events *c);
/* Read all counters. Return: CLOCK_MONOTONIC_RAW of that. */
uint64_t perf_events_read(struct perf_events *c);
void perf_events_close(struct perf_events *c);

#endif /* PERFCTR_LOCAL_PERF_EVENTS_H */
