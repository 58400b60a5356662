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
	unsigned int max_weight; /* of each feature */
	size_t points; /* number of measurements in use */
	struct space space; /* remaining rules */
	struct failure failure; /* set if the space is too large for a search */
};

/* what is known of several open weights together: lo <= sum <= hi */
struct set_fact {
	struct rule sum; /* coefficients instead of weights */
	int64_t lo;
	int64_t hi;
};

/* rules by their features, independent of a campaign */
struct rule_set {
	struct feature *features;
	uint32_t *allowed; /* of each feature: bit w if it may have the weight w */
	size_t count; /* elements of both */
	struct set_fact *facts;
	size_t fact_count;
};

/*
 * Find all rules that agree.
 * @within: only rules of this set, as far as the benchmarks have its features; may be NULL;
 * @search: filled; to be freed, even on failure.
 * Return: 0; -1 with @search->failure.
 */
int search_rules(const struct analysis *analysis, size_t event, const struct rule_set *within,
		 struct search *search);
void search_free(struct search *search);

/* Whether a feature belongs to the space of an event's rules. */
bool search_may_use(const struct event *event, const struct feature *feature);

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
/* Candidates that occur in no measurement. */
const char *search_untested(const struct analysis *analysis, const struct search *search,
			    struct arena *arena);
/* The remaining rules, by the features that occur in some measurement. */
struct rule_set search_set(const struct analysis *analysis, const struct search *search,
			   struct arena *arena);
/* "7 features, weights 0..2: 2187 rules". */
const char *search_bounds(const struct search *search, struct arena *arena);
