/* SPDX-License-Identifier: MIT */
/*
 * A campaign: benchmarks, documentation of events, acceptance of deviations. Data, in JSON;
 * campaigns/format.md has the members.
 */
#pragma once

#include <string.h>

#include <drm/perfctr_drm.h>

#include "disassembly.h"
#include "document.h"
#include "feature.h"
#include "solve.h"

#define STEP_PMU "step/" /* a counter of it: single steps, which count the listing's work */
#define MAX_PARAMETERS 8
#define MAX_PARAMETER_VALUES 64
#define MAX_RUNS 1000
#define PPM 1000000
#define MAX_ACCEPTED_PPM (PPM / 10)

/* how far a measurement may be off; the larger limit applies */
struct acceptance {
	uint64_t absolute; /* counts */
	uint64_t relative_ppm; /* millionths of the expected value */
};

/* a hypothesis of the campaign's author */
struct idea {
	const char *name;
	struct rule rule;
};

/* an event and its documented rule */
struct campaign_event {
	const char *name; /* name in the campaign, and in formulas of relations */
	const char *counter; /* as in perfctr stat -e; empty if there is no counter for it */
	const char *text; /* documentation, as far as it is known */
	unsigned int set; /* enum drm_perfctr_set of @counter */
	unsigned int group; /* events of different groups are counted in different runs */
	struct rule documented; /* rule in the documentation; if not given, only relations apply */
	bool is_guess; /* @documented is the author's: no document has it */
	struct idea *ideas; /* tried and plotted before the search */
	size_t idea_count;
	/* features that the search may use; empty: all features of the benchmarks */
	struct feature *candidates;
	size_t candidate_count;
	weight_set weights; /* of a feature in the search */
	struct acceptance accept; /* acceptance */
	const char **requirements; /* their ids, NULL at the end; or NULL */
};

/* Whether its counter is single steps, which are none. */
static inline bool event_is_stepped(const struct campaign_event *event)
{
	return !strncmp(event->counter, STEP_PMU, strlen(STEP_PMU));
}

/* what a benchmark varies */
struct parameter {
	const char *name;
	int64_t *values;
	size_t count;
};

/* amount of something that a benchmark does */
struct quantity {
	const char *name;
	const char *formula; /* formula over parameters and constants */
};

/* what some lanes of a warp do, if its threads go different ways */
struct path {
	const char *lanes; /* formula */
	const char *listing; /* with their numbers of branches */
};

/* work with known amounts */
struct benchmark {
	const char *name;
	const char *title;
	/* text of a program, or NULL; its instructions are counted if there are no @quantities */
	const char *listing;
	const char *listing_name; /* for messages */
	const char *listing_file; /* what the file has, a disassembly for example */
	const char *symbol; /* of the program's function, or NULL */
	const char *threads; /* formula: threads of the listing */
	struct code code; /* of @listing, if it is a CPU's program */
	/* formula: the only call of its program's function that is counted; NULL: all are */
	const char *call;
	struct path *paths; /* instead of @listing, which is the first of them */
	size_t path_count; /* 0: all threads do the same */
	const char *kernels; /* formula: number of times that the work is started */
	/* words of a device's work with {FORMULA} in them, or a kernel of the CPU; or NULL */
	const char *command;
	struct parameter parameters[MAX_PARAMETERS];
	size_t parameter_count;
	struct quantity *quantities;
	size_t quantity_count;
	bool *events; /* by event: the amount is known; NULL: it is known of all events */
	bool reserve; /* not measured at first; the engine may choose it */
	bool constructed; /* not of the campaign: by the engine, or a file of measurements */
};

/* two formulas over events that must have the same value */
struct relation {
	const char *name;
	const char *left;
	const char *right;
	struct acceptance accept;
};

/* a quantity of all listings: instructions that a rule takes together */
struct amount {
	const char *name;
	struct rule rule;
};

/* a number with a name */
struct constant {
	const char *name;
	int64_t value;
};

/* a campaign file */
struct campaign {
	const char *name;
	const char *title;
	const char *text;
	const char *source; /* the whole file */
	const char *folder; /* of the file, with a slash or ""; NULL: it is built in */
	/* device that runs it: a driver, "cpu", or "" for measurements from a file only */
	const char *device;
	const char *profile; /* profile of a model that it needs, or "" */
	const char *product; /* perfctr_product_name() of the devices that it needs, or "" */
	bool database; /* the documentation is the counter database */
	const char *anchor; /* event that joins runs of different events, or NULL */
	struct features keep; /* mnemonics with modifiers that are separate features */
	struct campaign_event *events;
	size_t event_count;
	struct benchmark *benchmarks;
	size_t benchmark_count;
	struct relation *relations;
	size_t relation_count;
	struct constant *constants;
	size_t constant_count;
	struct amount *amounts; /* what listings have instead of mnemonics; or NULL */
	size_t amount_count;
	unsigned int runs; /* number of runs of each live measurement */
};

/*
 * Read a campaign.
 * @arena: owner of the result; @which: name of a built-in campaign, or a path (with a slash or a
 * dot); @failure: names file, line and column otherwise.
 * Return: 0 or -1.
 */
int campaign_load(struct arena *arena, const char *which, struct campaign *campaign,
		  struct failure *failure);

/* threads of a listing that the engine constructs: many warps on all cores */
#define CONSTRUCTED_THREADS "1024"

/*
 * Add a benchmark without parameters that the campaign does not have.
 * @file: name of its listing, for messages; @listing: text, disassembled or written; @threads: a
 * formula.
 * Return: its number; -1 with a failure: a disassembled program is not straight.
 */
long campaign_construct(struct arena *arena, struct campaign *campaign, const char *name,
			const char *file, const char *listing, const char *threads,
			struct failure *failure);

/* Name of the built-in campaign number @n, NULL at the end. */
const char *campaign_builtin(size_t n);

/* Pointer to the value of a constant, which may be changed; NULL if there is none. */
int64_t *campaign_constant(struct campaign *campaign, const char *name);

/* "documented" or "guessed" */
const char *campaign_word(const struct campaign_event *event);

long campaign_event(const struct campaign *campaign, const char *name);
long campaign_benchmark(const struct campaign *campaign, const char *name);
/* Whether a benchmark states its amount of an event. */
bool benchmark_states(const struct benchmark *benchmark, size_t event);
long benchmark_parameter(const struct benchmark *benchmark, const char *name);
/* Largest difference that is accepted; rounds down. */
uint64_t acceptance_limit(const struct acceptance *accept, uint64_t expected);
/*
 * Whether what is accepted is at most MAX_ACCEPTED_PPM of an expected count, so that a count shows
 * something. Of 0 it never is.
 */
bool acceptance_is_narrow(const struct acceptance *accept, uint64_t expected);
