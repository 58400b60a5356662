/* SPDX-License-Identifier: MIT */
/*
 * A campaign: benchmarks, what is documented of events, what is accepted. Data, in JSON;
 * docs/validate.md has the members.
 */
#ifndef VALIDATE_CAMPAIGN_H
#define VALIDATE_CAMPAIGN_H

#include <drm/perfctr_drm.h>

#include "document.h"
#include "feature.h"

#define MAX_PARAMETERS 8
#define MAX_PARAMETER_VALUES 64
#define MAX_RUNS 1000
#define PPM 1000000

/**
 * struct acceptance - how far a measurement may be off; the larger of both counts
 */
struct acceptance {
	/** @absolute: counts. */
	uint64_t absolute;
	/** @relative_ppm: millionths of the expected value. */
	uint64_t relative_ppm;
};

/**
 * struct idea - a rule that the campaign's author wants to see tried
 */
struct idea {
	const char *name;
	struct rule rule;
};

/**
 * struct event - something that is counted, and its documented rule
 */
struct event {
	/** @name: in the campaign, and in formulas of relations. */
	const char *name;
	/** @counter: as perfctr stat -e takes it; empty if there is no such counter. */
	const char *counter;
	/** @text: documentation, as far as it is known. */
	const char *text;
	/** @set: enum drm_perfctr_set of @counter. */
	unsigned int set;
	/** @group: events of different groups are counted in different runs. */
	unsigned int group;
	/** @documented: rule that the documentation states; not given: relations only. */
	struct rule documented;
	/** @ideas: tried and plotted before the search. */
	struct idea *ideas;
	size_t idea_count;
	/** @candidates: features that the search may use; without any: all of the benchmarks. */
	struct feature *candidates;
	size_t candidate_count;
	/** @max_weight: largest weight of a feature in the search. */
	unsigned int max_weight;
	/** @accept: acceptance. */
	struct acceptance accept;
};

/**
 * struct parameter - what a benchmark varies
 */
struct parameter {
	const char *name;
	int64_t *values;
	size_t count;
};

/**
 * struct quantity - how much of something a benchmark does
 */
struct quantity {
	const char *name;
	/** @formula: over parameters and constants. */
	const char *formula;
};

/**
 * struct benchmark - work with a known amount of everything
 */
struct benchmark {
	const char *name;
	const char *title;
	/** @listing: text of a program, or NULL; it is counted if there are no @quantities. */
	const char *listing;
	/** @listing_name: for messages. */
	const char *listing_name;
	/** @threads: formula: threads of the listing. */
	const char *threads;
	/** @kernels: formula: how often the work is started. */
	const char *kernels;
	/** @command: words of vsoc-job with {FORMULA} in them, or a kernel of the CPU; or NULL. */
	const char *command;
	struct parameter parameters[MAX_PARAMETERS];
	size_t parameter_count;
	struct quantity *quantities;
	size_t quantity_count;
	/** @events: by event: how much of it is done is known; NULL: of all events. */
	bool *events;
	/** @reserve: not measured at first; for the engine to choose. */
	bool reserve;
	/** @constructed: made by the engine. */
	bool constructed;
};

/**
 * struct relation - two formulas over events that must agree
 */
struct relation {
	const char *name;
	const char *left;
	const char *right;
	struct acceptance accept;
};

/**
 * struct constant - a number with a name
 */
struct constant {
	const char *name;
	int64_t value;
};

/**
 * struct campaign - all of a file
 */
struct campaign {
	const char *name;
	const char *title;
	const char *text;
	/** @device: what runs it: "vsoc", "cpu", or "" for measurements only. */
	const char *device;
	/** @profile: profile of the virtual SoC it is about, or "". */
	const char *profile;
	/** @product: perfctr_product_name() of the devices it is about, or "". */
	const char *product;
	/** @database: the documentation is the counter database. */
	bool database;
	/** @anchor: event that joins runs of different events, or NULL. */
	const char *anchor;
	/** @keep: mnemonics with modifiers that are features of their own (NULL at the end). */
	const char **keep;
	struct event *events;
	size_t event_count;
	struct benchmark *benchmarks;
	size_t benchmark_count;
	struct relation *relations;
	size_t relation_count;
	struct constant *constants;
	size_t constant_count;
	/** @runs: of each live measurement. */
	unsigned int runs;
};

/**
 * campaign_load() - read a campaign
 * @arena: owner of the result
 * @which: name of a built-in campaign, or a path (with a slash or a dot)
 * @campaign: filled on success
 * @failure: names file, line and column otherwise
 *
 * Return: 0 or -1.
 */
int campaign_load(struct arena *arena, const char *which, struct campaign *campaign,
		  struct failure *failure);

/* Adds a benchmark that was made to separate rules, without parameters. Returns its number. */
size_t campaign_construct(struct arena *arena, struct campaign *campaign, const char *name,
			  const char *listing);

/* Name of the built-in campaign number @n, NULL at the end. */
const char *campaign_builtin(size_t n);

/* The value of a constant, to be changed; NULL if there is none of that name. */
int64_t *campaign_constant(struct campaign *campaign, const char *name);

long campaign_event(const struct campaign *campaign, const char *name);
long campaign_benchmark(const struct campaign *campaign, const char *name);
/* Whether a benchmark states its amount of an event. */
bool benchmark_states(const struct benchmark *benchmark, size_t event);
long benchmark_parameter(const struct benchmark *benchmark, const char *name);
/* Largest difference that is accepted; rounds down. */
uint64_t acceptance_limit(const struct acceptance *accept, uint64_t expected);

#endif /* VALIDATE_CAMPAIGN_H */
