/* SPDX-License-Identifier: MIT */
/* A campaign from its first measurement to its verdicts: measure, judge, ask for more. */
#ifndef VALIDATE_STUDY_H
#define VALIDATE_STUDY_H

#include "split.h"
#include "verdict.h"

struct study;

/**
 * struct machine - what can measure
 */
struct machine {
	/** @name: for people. */
	const char *name;
	/** @data: of the functions. */
	void *data;
	/**
	 * @measure: do the work of a point once and add a reading of each event
	 *
	 * Return: 0; -1 with a failure.
	 */
	int (*measure)(struct machine *machine, struct analysis *analysis, size_t point);
	/** @close: gives everything back. */
	void (*close)(struct machine *machine);
};

/**
 * struct study - a campaign and its results
 */
struct study {
	struct analysis analysis;
	struct relation_result *relations;
	/** @outcomes: one for each event. */
	struct outcome *outcomes;
	/** @next: what would separate most, if it was not measured: point is not negative. */
	struct proposal next;
	/** @asked: benchmarks that the engine chose and measured. */
	unsigned int asked;
};

/**
 * study_run() - measure and judge
 * @study: analysis begun; its readings may have been read from a file
 * @machine: measures all points first unless there are readings, and then what the engine asks
 *	     for; NULL: nothing is measured
 * @progress: gets what is being done, may be NULL
 *
 * Return: 0 or -1 with the analysis' failure.
 */
int study_run(struct study *study, struct machine *machine, FILE *progress);

#endif /* VALIDATE_STUDY_H */
