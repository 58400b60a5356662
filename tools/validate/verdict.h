/* SPDX-License-Identifier: MIT */
/*
 * What is concluded of each event, and by which steps:
 *
 *	SELECTED -> MEASURED -> TRUSTED
 *	                     -> QUARANTINED -> EXPLAINED (one corrected definition is left)
 *	                                    -> UNTRUSTED (none fits)
 *
 * An event stays MEASURED while nothing made it count, for a dead counter would look the same.
 * It stays QUARANTINED while several definitions fit, or one that a single point suggested.
 */
#ifndef VALIDATE_VERDICT_H
#define VALIDATE_VERDICT_H

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

/* what a round of measuring left of an event's rules */
struct round {
	const char *after; /* what was measured last, for people */
	size_t points; /* measurements of the event */
	uint64_t remaining; /* rules that fit, UINT64_MAX if more */
	const char *open; /* where they differ */
};

/* how an author's hypothesis fared */
struct idea_result {
	bool fits;
	size_t point; /* where it fails first */
	uint64_t predicted; /* there */
};

/* how a relation fared */
struct relation_result {
	size_t points; /* where it could be computed */
	size_t violated; /* of these */
	size_t worst; /* point with the largest difference */
	int64_t left;
	int64_t right;
};

/* an event's verdict and the way to it */
struct outcome {
	enum verdict verdict;
	enum verdict path[MAX_PATH];
	size_t path_length;
	const char *reason; /* of the verdict, one sentence */
	const char *definition; /* what it counts as far as it is known, or NULL */
	/* @definition as a rule, for predictions; given is false if there is none */
	struct rule found;
	size_t points; /* with measurements */
	size_t exercised; /* of these, where what is documented gives more than nothing */
	size_t off; /* of these, beyond the acceptance */
	size_t worst; /* point with the largest difference of a single reading */
	uint64_t worst_expected;
	uint64_t worst_value;
	uint64_t spread; /* largest difference between readings of a point */
	bool repeatable; /* no spread beyond the acceptance */
	/*
	 * names of violated relations that this event may be the reason of, as no
	 * other event of them is off; "" if none
	 */
	const char *violated;
	struct idea_result *ideas;
	bool searched; /* the members below mean something */
	const char *search_error; /* why it could not be searched, or NULL */
	uint64_t remaining;
	const char *bounds;
	const char *proven;
	const char *excluded;
	const char *open;
	const char *untested;
	struct round *rounds;
	size_t round_count;
	struct fault_found faults[MAX_FAULTS];
	size_t fault_count;
};

extern const char *const verdict_names[VERDICTS];

/**
 * verdict_relations() - check all relations
 * @analysis: merged
 * @results: one for each relation, filled
 *
 * Return: 0 or -1.
 */
int verdict_relations(const struct analysis *analysis, struct relation_result *results);

/**
 * verdict_event() - judge an event by what is known now
 * @analysis: merged
 * @event: number of the event
 * @relations: from verdict_relations()
 * @after: what was measured since the last call, for people
 * @search: room for the event's search, to be freed if the result is 1
 * @outcome: kept between calls
 *
 * Return: 1 with @search; 0 there was nothing to search.
 */
int verdict_event(const struct analysis *analysis, size_t event,
		  const struct relation_result *relations, const char *after, struct search *search,
		  struct outcome *outcome);

/* Whether another measurement could change anything: several rules fit. */
bool verdict_is_open(const struct outcome *outcome);

#endif /* VALIDATE_VERDICT_H */
