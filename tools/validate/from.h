/* SPDX-License-Identifier: MIT */
/* Findings of an earlier run, on another product for example, as hypotheses about the events. */
#pragma once

#include "search.h"

enum carried_result { CARRIED_UNTESTED, CARRIED_CONFIRMED, CARRIED_REFUTED };

/* what an earlier run found about an event, and what became of it */
struct carried {
	const char *campaign; /* of the earlier run; NULL: it says nothing of the event */
	const char *verdict; /* its verdict there */
	const char *definition; /* of the rule, or of the part that was known */
	struct rule rule; /* the only rule that was left; not given: @set has those that were */
	struct rule_set set;
	/* by from_judge() */
	enum carried_result result;
	const char *text; /* why, a sentence without a full stop */
};

extern const char *const carried_names[];

/*
 * Read a result file of perfctr validate --json.
 * @analysis: begun; @path: file, "-" for standard input; @carried: by event of the campaign, filled
 * for those that have the same name there.
 * Return: 0; -1 with the analysis' failure, also if no event is in the file.
 */
int from_read(struct analysis *analysis, const char *path, struct carried *carried);

/* Compare a finding with the measurements. */
void from_judge(struct analysis *analysis, size_t event, struct carried *carried);

/*
 * A benchmark in reserve that tests a finding of which nothing was measured yet.
 * Return: its point, or -1.
 */
long from_next(const struct analysis *analysis, const struct carried *carried);
