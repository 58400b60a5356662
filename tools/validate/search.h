/* SPDX-License-Identifier: MIT */
/*
 * The search for rules: all weights 0..max of an event's candidate features that agree
 * with every measurement.
 */
#pragma once

#include "analysis.h"
#include "solve.h"

/* the remaining space of rules */
struct search {
	struct arena arena; /* owner of the graphs */
	size_t *variables; /* numbers of the candidate features */
	size_t count;
	bool *occurs; /* by variable: some measured point has the feature */
	weight_set weights; /* of a feature, as the campaign states them */
	weight_set *choices; /* by variable: these, and the documented one */
	bool has_documented; /* the documented rule is one of them */
	const struct solve_row *rows; /* measurements in use */
	size_t points; /* elements of @rows */
	struct space space; /* remaining rules */
	struct failure failure; /* set if the space is too large for a search */
};

/* what is known of several open weights together: lo <= sum <= hi */
struct sum_fact {
	struct rule sum; /* coefficients instead of weights */
	int64_t lo;
	int64_t hi;
};

/* rules by their features, independent of a campaign */
struct rule_group {
	struct feature *features;
	weight_set *allowed; /* of each feature: weights that it may have */
	size_t count; /* elements of both */
	struct sum_fact *facts;
	size_t fact_count;
};

/*
 * Find all rules that agree.
 * @whole: documented features that no measurement has belong to the space, too; @within: only rules
 * of this set, as far as the benchmarks have its features; may be NULL;
 * @search: filled; to be freed, even on failure.
 * Return: 0; -1 with @search->failure.
 */
int search_rules(const struct analysis *analysis, size_t event, bool whole,
		 const struct rule_group *within, struct search *search);
void search_free(struct search *search);

/* Whether a feature belongs to the space of an event's rules; @whole: see search_rules() */
bool search_may_use(const struct analysis *analysis, size_t event, size_t feature, bool whole);

/* Weight of a variable in all remaining rules, or -1 if they differ. */
int search_weight(const struct search *search, size_t variable);

/* The remaining rule number @number, in @arena. */
struct rule search_rule(const struct analysis *analysis, const struct search *search,
			uint64_t number, struct arena *arena);

/* The part that all remaining rules have in common: "MOV + S2R", in @arena. */
const char *search_proven(const struct analysis *analysis, const struct search *search,
			  struct arena *arena);
/* The features that none of them counts: "SHFL:off, NOP:dead". */
const char *search_excluded(const struct analysis *analysis, const struct search *search,
			    struct arena *arena);
/* Where they differ: "NOP 0..2; EXIT + BRA:dead = 1"; empty if they do not. */
const char *search_open(const struct analysis *analysis, const struct search *search,
			struct arena *arena);
/*
 * Groups of features that all measurements have in one proportion, so that they cannot tell open
 * weights apart.
 * @count: set to the number of groups.
 * Return: the groups, with the amounts of the proportion instead of weights.
 */
struct rule *search_together(const struct analysis *analysis, const struct search *search,
			     struct arena *arena, size_t *count);
/* "LDG, STG and EXIT always came together, as did 2 S2R and BRA:dead"; "": no groups. */
const char *together_text(struct arena *arena, const struct rule *groups, size_t count);
/* Features of the measurements that are not in the space: all rules give them the weight 0. */
const char *search_assumed(const struct analysis *analysis, size_t event,
			   const struct search *search, struct arena *arena);
/* Candidates that occur in no measurement. */
const char *search_untested(const struct analysis *analysis, const struct search *search,
			    struct arena *arena);
/* The remaining rules, by the features that occur in some measurement. */
struct rule_group search_set(const struct analysis *analysis, const struct search *search,
			     struct arena *arena);
/* "7 features, weights 0..2: 2187 rules"; "2187" */
const char *search_bounds(const struct search *search, struct arena *arena);
const char *search_size(const struct search *search, struct arena *arena);

/* --- Findings of an earlier run, on another product too, as hypotheses about the events --- */

enum carried_result { CARRIED_UNTESTED, CARRIED_CONFIRMED, CARRIED_REFUTED };

/* a reading of an earlier run */
struct from_row {
	const char *point; /* "float-loop N=10", as points are named here */
	uint64_t run, value;
};

/* what an earlier run found about an event, and what became of it */
struct carried {
	const char *campaign; /* of the earlier run; NULL: it says nothing of the event */
	const char *verdict; /* its verdict there */
	const char *definition; /* of the rule, or of the part that was known */
	struct rule rule; /* the only rule that was left; not given: @set has those that were */
	struct rule_group set;
	struct from_row *rows; /* readings that the finding was made from */
	size_t row_count;
	const char **configuration; /* pairs of name and value, of the readings */
	size_t configuration_count;
	/* by from_judge() */
	enum carried_result result;
	const char *text; /* why, a sentence without a full stop */
};

extern const char *const carried_names[];

/*
 * Read a result file of perfctr validate --json. A later one than this version knows is refused.
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

/*
 * --- The next benchmark: the one that separates most of the remaining rules; if there are no
 * others, one that is a second point for the rule that is left ---
 */

/* an event with several remaining rules */
struct wish {
	size_t event;
	const struct search *search; /* its rules; NULL: too many to search yet */
	const struct rule *confirm; /* the only one, which too few points show; or NULL */
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
 * open rules, or one that lacks a second point; @number: for the name of a constructed benchmark.
 * Return: 0, also if nothing helps; -1 on failure.
 */
int split_propose(struct analysis *analysis, const struct wish *wishes, size_t count,
		  unsigned int number, struct proposal *proposal);
