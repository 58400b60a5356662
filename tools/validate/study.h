/* SPDX-License-Identifier: MIT */
/* Runs a campaign to its verdicts: measure, judge, measure more. */
#pragma once

#include "search.h"
#include "verdict.h"

struct study;

/* a machine that can measure */
struct machine {
	const char *name; /* name for people */
	void *data; /* private to the functions */
	/*
	 * Do the work of a point once and add a reading of each event.
	 *
	 * Return: 0; -1 with a failure.
	 */
	int (*measure)(struct machine *machine, struct analysis *analysis, size_t point);
	void (*close)(struct machine *machine); /* release all resources */
};

/* a campaign and its results */
struct study {
	struct analysis analysis;
	struct relation_result *relations;
	struct outcome *outcomes; /* one for each event */
	/* by event: the verdict of the result file that was read, or NULL; NULL: it is none */
	const char **earlier;
	const char *earlier_tool; /* that gave them */
	struct carried *carried; /* by event: findings of an earlier run; NULL: there is none */
	/* the best proposal that was not measured; valid if point is not negative */
	struct proposal next;
	unsigned int asked; /* number of benchmarks that the engine chose and measured */
};

/*
 * Measure and judge.
 * @study: analysis begun; its readings may have been read from a file; @machine: measures all
 * points first unless there are readings, and then those that the engine requests; NULL: nothing is
 * measured; @progress: stream for progress messages, may be NULL.
 * Return: 0 or -1 with the analysis' failure.
 */
int study_run(struct study *study, struct machine *machine, FILE *progress);

/*
 * Take the verdicts of a result file.
 * @file: that the readings are from.
 * Return: 0, also if it has no verdicts; -1 with its failure.
 */
int earlier_read(const struct document *file, struct study *study);

/* The earlier verdict on an event, if it has changed; else NULL. */
const char *earlier_verdict(const struct study *study, size_t event);

/* Adds the kernel, its machine and this program's version to the configuration. */
void study_configure(struct arena *arena, struct measured *measured);

/*
 * A device, counted through libperfctr; see worker.h for its work.
 * @analysis: campaign; its configuration is completed, and events that cannot be counted are noted;
 * @which: device as of perfctr_device_open(), NULL: the first one of the campaign's driver;
 * @machine: filled on success, to be closed; @error: set to the error of the library if the result
 * is -1.
 * Return: 0; -1 with the analysis' failure.
 */
int machine_device(struct analysis *analysis, const char *which, struct machine *machine,
		   int *error);

/*
 * machine_cuda() - kernels on an NVIDIA GPU, counted by CUPTI in a process of its own; as
 * machine_device(). @which: number of the GPU, in the order of PCI; @error: -ENXIO there are only
 * GPUs of other chips
 */
int machine_cuda(struct analysis *analysis, const char *which, struct machine *machine, int *error);

/*
 * machine_cuda_launch() - launch the kernels of all points, in the campaign's order, in each of its
 * runs, without counting: for another profiler; as machine_cuda()
 */
int machine_cuda_launch(struct analysis *analysis, const char *which, int *error);

/* machine_cpu() - this CPU, counted with perf events of the calling thread; as machine_device() */
int machine_cpu(struct analysis *analysis, struct machine *machine, int *error);
