/* SPDX-License-Identifier: MIT */
/*
 * Features: what a counter could count. A rule gives each feature a weight.
 *
 * A feature of a listing is a mnemonic and a state of the instruction: "MOV" or "MOV:on" executed,
 * "SHFL:off" reached with a false guard, "NOP:skipped" jumped over, "NOP:dead" after the EXIT that
 * ended the thread. Other benchmarks have quantities, for example "read_lines". Every benchmark has
 * "@kernel", one for each kernel, and "@unit", one for each kernel in each unit that counts.
 */
#pragma once

#include "common/listing.h"
#include "base.h"

enum state { STATE_ON, STATE_OFF, STATE_SKIPPED, STATE_DEAD };
#define STATES 4

#define FEATURE_KERNEL "@kernel"
#define FEATURE_UNIT "@unit"

extern const char *const state_names[STATES];

/* a mnemonic in a state, or a quantity */
struct feature {
	const char *name; /* mnemonic or quantity; owned by the arena */
	enum state state; /* enum state; STATE_ON for quantities */
	bool executes; /* it is off, and executed: a CPU's branch that is not taken */
};

/* numbered features */
struct features {
	struct feature *items; /* without duplicates */
	size_t count; /* elements of @items */
};

/* part of a rule */
struct term {
	struct feature feature; /* an operation covers all its modifiers */
	int64_t weight; /* counts per occurrence */
};

/* what a counter counts: the sum of its terms */
struct rule {
	struct term *terms;
	size_t count;
	bool given; /* false: no rule; an empty sum may be given */
};

/* "MOV", "NOP:dead". Returns 0 or -1. */
int feature_parse(struct arena *arena, const char *text, struct feature *feature,
		  struct failure *failure);
/* "NOP:dead"; "MOV" for state on. Returns @text. */
char *feature_text(const struct feature *feature, char *text, size_t size);
/* Whether @part is @whole, an operation of which @whole is a modification, or "*". */
bool feature_covers(const struct feature *part, const struct feature *whole);
/* Adds a feature if it is new. Returns its number. */
size_t features_intern(struct arena *arena, struct features *features,
		       const struct feature *feature);
/* Number or -1. */
long features_find(const struct features *features, const struct feature *feature);

/* Weight that a rule gives a feature. */
int64_t rule_weight(const struct rule *rule, const struct feature *feature);
void rule_add(struct arena *arena, struct rule *rule, const struct feature *feature,
	      int64_t weight);
/* "2 MOV + NOP:dead - S2R", "nothing" for the empty sum; in the arena. */
const char *rule_text(struct arena *arena, const struct rule *rule);

/* how often an instruction of a listing was executed, and reached with a false guard */
struct tally {
	uint64_t on;
	uint64_t off;
};

#define MAX_STEPS 10000000

/*
 * Follow one thread, or, of a disassembled program, the amounts that its guards state.
 * @tallies: one for each instruction, filled; @exit_at: set to the instruction that ended the
 * thread; @failure: set if the thread leaves the listing or never ends, or if no thread has these
 * amounts.
 * Return: 0 or -1.
 */
int listing_run(const struct listing *listing, struct tally *tallies, size_t *exit_at,
		struct failure *failure);

/*
 * How often each feature occurs in one thread.
 * @arena: owner of the result; @features: grows by those that are new; @keep: mnemonics with
 * modifiers that are separate features; @counts: set to an array, index
 * is the feature's; ends with @features->count; @failure: see listing_run().
 * Return: 0 or -1.
 */
int listing_features(struct arena *arena, struct features *features, const struct features *keep,
		     const struct listing *listing, int64_t **counts, struct failure *failure);
