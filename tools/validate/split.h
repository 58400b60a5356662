/* SPDX-License-Identifier: MIT */
/* The next benchmark: the one that separates most of the remaining rules. */
#pragma once

#include "search.h"

/* an event with several remaining rules */
struct wish {
	size_t event;
	const struct search *search; /* its rules; NULL: too many to search yet */
};

/* how well a benchmark separates the rules of an event */
struct split {
	size_t event;
	size_t rules; /* remaining rules that were examined */
	size_t groups; /* different values that they predict */
	size_t largest; /* rules of the largest group */
};

/* proposal for the next measurement */
struct proposal {
	long point; /* an unmeasured point of the campaign, or of @listing; -1: none helps */
	const char *listing; /* text of a constructed benchmark, or NULL */
	const char *name; /* of the benchmark */
	struct split *splits; /* its effect on each event with open rules */
	size_t split_count;
};

/*
 * Choose or construct a benchmark.
 * @analysis: a constructed benchmark is added to it, as a point in reserve; @wishes: events with
 * open rules; @number: for the name of a constructed benchmark.
 * Return: 0, also if nothing helps; -1 on failure.
 */
int split_propose(struct analysis *analysis, const struct wish *wishes, size_t count,
		  unsigned int number, struct proposal *proposal);
