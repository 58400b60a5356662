/* SPDX-License-Identifier: MIT */
/*
 * Features: what a counter could look at. A feature is a mnemonic and what
 * became of the instruction; a rule gives each feature a weight.
 *
 * Written "MOV" or "MOV:on" (executed), "SHFL:off" (reached, guard false),
 * "NOP:dead" (stands in the listing, was never reached). An operation without
 * modifiers stands for all its modifiers in a rule; a feature itself has
 * exactly the mnemonic of the listing unless the campaign merges them.
 */
#ifndef VALIDATE_FEATURE_H
#define VALIDATE_FEATURE_H

#include "listing.h"

enum state { STATE_ON, STATE_OFF, STATE_DEAD };
#define STATES 3

extern const char *const state_names[STATES];

/**
 * struct feature - a mnemonic in a state
 */
struct feature {
	/** @mnemonic: length @length, not terminated there. */
	const char *mnemonic;
	/** @length: of @mnemonic that counts. */
	size_t length;
	/** @state: enum state. */
	enum state state;
};

/**
 * struct features - all features that listings of a campaign have
 */
struct features {
	/** @items: without doubles. */
	struct feature *items;
	/** @count: elements of @items. */
	size_t count;
};

/**
 * struct term - part of a rule
 */
struct term {
	/** @feature: an operation stands for all its modifiers. */
	struct feature feature;
	/** @weight: counts for each of it. */
	int64_t weight;
};

/**
 * struct rule - what a counter counts
 */
struct rule {
	/** @terms: the first one that fits a feature gives its weight; else it is zero. */
	struct term *terms;
	/** @count: elements of @terms. */
	size_t count;
};

/* Reads "MOV", "NOP:dead"; @text stays in use. Returns 0 or -1. */
int feature_parse(const char *text, struct feature *feature, struct failure *failure);
bool feature_equal(const struct feature *a, const struct feature *b);
/* "NOP:dead"; "MOV" for state on. Returns @text. */
char *feature_text(const struct feature *feature, char *text, size_t size);
/* Index of a feature; it is added if it is new. */
size_t features_intern(struct arena *arena, struct features *features,
		       const struct feature *feature);
/* Index or -1. */
long features_find(const struct features *features, const struct feature *feature);

/**
 * features_count() - how often each feature occurs in one thread
 * @arena: owner of the result
 * @features: grows by those that are new
 * @keep: mnemonics with modifiers that are features of their own (NULL at the end)
 * @listing: program
 * @tallies: from listing_run()
 * @counts: set to an array; index is the feature's; ends with @features->count
 */
void features_count(struct arena *arena, struct features *features, const char *const *keep,
		    const struct listing *listing, const struct tally *tallies, int64_t **counts);

int64_t rule_weight(const struct rule *rule, const struct feature *feature);

#endif /* VALIDATE_FEATURE_H */
