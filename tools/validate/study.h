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

/* Adds the kernel, its machine and this program's version to the configuration. */
void study_configure(struct arena *arena, struct measured *measured);

/*
 * A virtual SoC, counted through libperfctr.
 * @analysis: campaign; its configuration is completed, and events that cannot be counted are noted;
 * @which: device as of perfctr_device_open(), NULL: the first virtual SoC; @machine: filled on
 * success, to be closed; @error: set to the error of the library if the result is -1.
 * Return: 0; -1 with the analysis' failure.
 */
int machine_vsoc(struct analysis *analysis, const char *which, struct machine *machine, int *error);

/* a process that steps the time of a virtual SoC */
struct steps {
	int stepped; /* file that stops time; -1: time is real */
	int pipe; /* it runs until this is closed */
	pid_t process;
};

#define STEPS_NONE ((struct steps){ .stepped = -1, .pipe = -1 })

/*
 * Begin to step time, which a busy host then does not distort. The process ends with this one,
 * however that ends. Without debugfs time stays real.
 * @steps: STEPS_NONE, for steps_end() in any case.
 * Return: 0; -1 with @failure, also if somebody else steps time.
 */
int steps_begin(struct steps *steps, struct arena *arena, const struct perfctr_device *device,
		struct failure *failure);

/* Return: 0; -ECHILD the process had ended before, and time passed since. */
int steps_end(struct steps *steps);

/* machine_cpu() - this CPU, counted with perf events of the calling thread; as machine_vsoc() */
int machine_cpu(struct analysis *analysis, struct machine *machine, int *error);
