/* SPDX-License-Identifier: MIT */
/* A campaign from its first measurement to its verdicts: measure, judge, ask for more. */
#ifndef VALIDATE_STUDY_H
#define VALIDATE_STUDY_H

#include "split.h"
#include "verdict.h"

struct study;

/* what can measure */
struct machine {
	const char *name; /* for people */
	void *data; /* of the functions */
	/*
	 * do the work of a point once and add a reading of each event
	 *
	 * Return: 0; -1 with a failure.
	 */
	int (*measure)(struct machine *machine, struct analysis *analysis, size_t point);
	void (*close)(struct machine *machine); /* gives everything back */
};

/* a campaign and its results */
struct study {
	struct analysis analysis;
	struct relation_result *relations;
	struct outcome *outcomes; /* one for each event */
	/* what would separate most, if it was not measured: point is not negative */
	struct proposal next;
	unsigned int asked; /* benchmarks that the engine chose and measured */
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
