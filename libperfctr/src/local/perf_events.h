/* SPDX-License-Identifier: MIT */
/* perf events of a local session: open, read, follow CPU hotplug, close. */
#pragma once

#include "base/cpus.h"
#include "base/ctx.h"

/* one event on all CPUs of its PMU */
struct local_counter {
	uint32_t pmu_type;
	uint64_t config, config1, config2;
	uint32_t flags; /* LOCAL_REQUEST_... */
	int32_t cpu; /* the CPU requested, or DRM_PERFCTR_CPU_ANY */
	bool uncore; /* the PMU has a cpumask and migrates its events itself on CPU hotplug */
	bool is_unlisted; /* the PMU has no list of CPUs now: all that are online are tried */
	/* may share a group with the PMU's other events, so that one call reads them */
	bool grouped;
	/* a CPU is not counted; since the last collection, or a file could not be read */
	bool missing, incomplete;
	bool unsupported; /* perf refused it at OPEN: the PMU has no such event */
	/* open files, and the CPU of the last one */
	unsigned int open_count;
	int open_cpu;
	uint32_t states; /* enum drm_perfctr_block_states since the last collection */
	/*
	 * count, time enabled and time running in ns: sum of all files ever opened as of the last
	 * read, and sum of the closed files
	 */
	uint64_t sum[3], gone[3];
	/*
	 * time enabled at the last read; whether it stood still since then, because no thread of
	 * the process or cgroup was awake: it counted zero, in no time
	 */
	uint64_t enabled_ns;
	bool asleep;
	/*
	 * hybrid.c, for a task: how many of the online CPUs its PMU has, 0: all; @sum at the last
	 * read; what is added to the time running for the time in which the task was on other kinds
	 * of cores; time in which it may have been; the part of the time on these cores in which
	 * the event ran
	 */
	unsigned int of_some_cores;
	uint64_t before_ns[3], away_ns, unsure_ns;
	double part;
	char pmu[DRM_PERFCTR_PMU_NAME_BYTES];
	char cpus_path[PATH_BYTES]; /* sysfs file with the PMU's CPUs */
	bool is_level; /* a value at the time of the sample, signed, not a count */
};

struct local_file;
struct readings;

struct perf_events {
	const struct perfctr_sys *sys;
	struct local_counter *counters;
	size_t counter_count;
	struct local_file *files;
	size_t file_count, file_room;
	/* the counted processes, with their future children, owned; none: the whole machine */
	pid_t *tasks;
	size_t task_count;
	bool are_threads; /* only these threads, with their future children */
	bool has_warned; /* of processes that ended, once for all events */
	struct cpu_list only; /* CPUs whose cores are counted, owned; empty: all */
	/* folder of the counted cgroup, owned, -1: none */
	int cgroup;
	/* perf enables the process's events at its execve(), the first START does not */
	bool from_exec;
	/* the next read is the last one before STOP */
	bool active, ends;
	bool explained; /* the context has the reason of a failure */
	unsigned int core_pmus; /* of CPU cores, of how many kinds of them */
	bool skips_unsupported; /* count the others if perf refuses some events at OPEN */
	/* online CPUs at the last look, and whether perf refused one of them */
	struct cpu_list online;
	bool look_again;
	uint64_t looked_ns;
	/* length of a read to be repeated, 0: never; length of the shortest one */
	uint64_t slow_ns, quick_ns;
	struct perfctr_ctx *ctx;
	struct readings *readings; /* NULL if there are none */
	/* longest time of a loss found, and whether the whole span is lost; the user resets both */
	uint64_t lost_ns;
	bool span_lost;
};

/* Count these instead of the machine, before perf_events_open(). Return: 0 or -ENOMEM. */
int perf_events_count_tasks(struct perf_events *c, const pid_t *tasks, size_t count);
/*
 * Open the events of the counters, disabled.
 * Return: 0, or perf's error; call perf_events_close() in any case.
 */
int perf_events_open(struct perfctr_ctx *ctx, struct perf_events *c);
/* Opens the events of CPUs again, so it needs the permission of OPEN. */
int perf_events_start(struct perf_events *c);
void perf_events_stop(struct perf_events *c);
/* Read all counters. Return: CLOCK_MONOTONIC_RAW of the read. */
uint64_t perf_events_read(struct perf_events *c);
/* hybrid.c. After a read: add the time in which a task was on other kinds of cores to @sum[2]. */
void hybrid_add_away(struct perf_events *c);
void perf_events_close(struct perf_events *c);
