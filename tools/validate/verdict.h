/* SPDX-License-Identifier: MIT */
/*
 * The conclusion about each event, and its steps:
 *
 * 	SELECTED -> MEASURED -> TRUSTED
 * 	                     -> QUARANTINED -> EXPLAINED (one corrected definition is left)
 * 	                                    -> UNTRUSTED (none fits)
 *
 * An event is TRUSTED if the documented rule is the only one that fits, at two points or more. It
 * stays MEASURED while no work makes it count, or if it is documented to count nothing, because a
 * dead counter would look the same. It stays QUARANTINED while several rules fit, the documented
 * one too, or one without the points that show it, see verdict_doubt().
 */
#pragma once

#include "fault.h"

enum verdict {
	VERDICT_SELECTED,
	VERDICT_MEASURED,
	VERDICT_TRUSTED,
	VERDICT_QUARANTINED,
	VERDICT_EXPLAINED,
	VERDICT_UNTRUSTED,
	VERDICTS
};

enum { MAX_FAULTS = 8, MAX_PATH = 6 };

/* the remaining rules of an event after a round of measurements */
struct round {
	const char *after; /* last measurement, for people */
	size_t points; /* measurements of the event */
	uint64_t remaining; /* rules that fit, UINT64_MAX if more */
	const char *open; /* where the rules differ */
};

/* result of an author's hypothesis */
struct idea_result {
	bool fits;
	size_t point; /* first point at which it fails */
	uint64_t predicted; /* predicted value at that point */
};

struct relation_result {
	size_t points; /* points at which it could be computed */
	const char *measured_at; /* "2 of 3 points (not measured: work N=400)" */
	size_t violated; /* points at which the medians or the extremes of the runs violate it */
	size_t worst; /* point with the largest difference, of medians or extremes */
	int64_t left;
	int64_t right;
};

/* verdict on an event, with its reasons */
struct outcome {
	enum verdict verdict;
	enum verdict path[MAX_PATH];
	size_t path_length;
	const char *reason; /* reason of the verdict, one sentence */
	const char *definition; /* definition as far as it is known, or NULL */
	/* @definition as a rule, for predictions; not given if there is none */
	struct rule found;
	size_t points; /* points with measurements */
	const char *left_out; /* "not measured: a, b", or "": points of the campaign */
	size_t left_out_count; /* of these */
	size_t exercised; /* points of these with a documented value above zero */
	size_t off; /* points of these beyond the acceptance */
	size_t worst; /* point with the largest difference of a single reading */
	uint64_t worst_expected;
	uint64_t worst_value;
	uint64_t spread; /* largest difference between readings of a point */
	bool repeatable; /* no spread beyond the acceptance */
	/*
	 * names of violated relations, "" if none: those that this event may have caused, because
	 * they would be violated even if all others counted as documented, and the rest
	 */
	const char *violated;
	const char *violated_by_others;
	const char *absent; /* documented features that no measured benchmark had; "" if none */
	struct idea_result *ideas;
	bool searched; /* the members below are valid */
	const char *search_error; /* why it could not be searched, or NULL */
	uint64_t remaining;
	const char *bounds, *size;
	const char *proven;
	const char *excluded;
	const char *open;
	const char *untested;
	struct rule *together; /* open features that all measurements have in one proportion */
	size_t together_count;
	const char *assumed; /* features of the measurements that are not in the space, or "" */
	struct rule_group left; /* the remaining rules */
	/* relations that excluded rules, which were @before them; NULL: none did */
	const char *pruned_by;
	uint64_t before;
	struct round *rounds;
	size_t round_count;
	struct fault_found faults[MAX_FAULTS];
	size_t fault_count;
};

extern const char *const verdict_names[VERDICTS];

/*
 * Check all relations.
 * @analysis: merged; @results: one for each relation, filled.
 * Return: 0 or -1.
 */
int verdict_relations(const struct analysis *analysis, struct relation_result *results);

/*
 * Judge an event by the measurements so far; one without a documented rule stays MEASURED.
 * @analysis: merged; @relations: from verdict_relations(); @after: description of the measurements
 * since the last call; @search: room for the event's search, to be freed if the result is 1;
 * @outcome: kept between calls.
 * Return: 1 with @search; 0 there was nothing to search.
 */
int verdict_event(const struct analysis *analysis, size_t event,
		  const struct relation_result *relations, const char *after, struct search *search,
		  struct outcome *outcome);

/*
 * Judge events without a documented rule by their relations.
 * @outcomes: of all events, after verdict_event(); a relation is evidence about an event if those
 * on the others in it are TRUSTED.
 */
void verdict_by_relations(const struct analysis *analysis, const struct relation_result *relations,
			  struct outcome *outcomes);

/* Whether another measurement could change the verdict: several rules fit. */
bool verdict_is_open(const struct outcome *outcome);

/* Whether the measurements contradict the documentation, a relation or each other. */
bool verdict_is_discrepant(const struct outcome *outcome);

/* Whether one rule fits, and verdict_doubt() says why that is not enough. */
bool verdict_is_unconfirmed(const struct outcome *outcome);

/*
 * Why readings that fit a rule do not show that an event counts by it. A point tests a rule if the
 * rule or the documentation counts something there, of which the acceptance is narrow. It takes two
 * such points with different work, and readings that a counter which is stuck would not have.
 * @rule: NULL: any that gives the readings; @left_out: by point: it does not count; NULL: all do.
 * Return: a sentence without a full stop; NULL: they show it.
 */
const char *verdict_doubt(const struct analysis *analysis, size_t event, const struct rule *rule,
			  const bool *left_out);

/*
 * What relations between events say of their rules. If a relation holds at all measured points, its
 * two sides are taken to count the same of each feature. So an event has a known weight of a
 * feature if all other events of the relation have one, and a limited one if they are limited.
 */

/*
 * Exclude weights of events whose rules are open.
 * @analysis: its limits are narrowed; @searches: of each event, empty if there was none; @ignored:
 * by event: exclude nothing; @changed: by event, set for those that have new limits; their outcome
 * names the relations.
 * Return: 0 or -1.
 */
int prune_by_relations(struct analysis *analysis, const struct relation_result *results,
		       const struct search *searches, const bool *ignored, struct outcome *outcomes,
		       bool *changed);
