/* SPDX-License-Identifier: MIT */
/*
 * A campaign's points (a benchmark with values for its parameters), the work of each point, and its
 * measurements.
 */
#pragma once

#include <perfctr/perfctr.h>

#include "measured.h"

/* a benchmark with values for its parameters */
struct point {
	size_t benchmark;
	int64_t parameters[MAX_PARAMETERS];
	/* by number of feature, over all threads and kernels; @known elements */
	int64_t *counts;
	size_t known; /* elements of @counts */
	int64_t kernels; /* number of times that the work is started */
	const char *name; /* for people, for example "float-loop N=10" */
	bool reserve; /* not measured yet; only measured if the engine requests it */
};

/* the measurement of an event at a point */
struct cell {
	size_t event;
	size_t point;
	size_t count; /* readings in use; 0: not measured */
	uint64_t value; /* median */
	uint64_t min;
	uint64_t max;
	uint64_t units; /* blocks that counted, 0: unknown */
	uint64_t published;
	bool has_published;
};

/* a campaign with its points and readings */
struct analysis {
	struct arena *arena;
	struct failure *failure;
	struct perfctr_ctx *ctx;
	struct campaign *campaign;
	bool may_run; /* programs of the campaign */
	bool only_own; /* the machine executes the campaign's benchmarks, and no listings */
	struct features features;
	struct point *points;
	size_t point_count;
	struct hash_table point_table;
	struct measured measured;
	/* by analysis_merge(), of the readings */
	size_t *point_of; /* point of each reading */
	size_t *order; /* numbers of readings in use by event, point and value */
	size_t *first; /* by event: where its readings begin in @order; one more is the end */
	struct cell *cells; /* of readings in use; those that exist */
	size_t cell_count; /* elements of @cells */
	struct hash_table cell_table; /* by event and point */
	struct hash_table sequence_table; /* the first reading of each position in time */
	const char **unavailable; /* by event: why it cannot be measured here, or NULL */
	const char *strangers; /* events of the file of --from that the campaign lacks, or NULL */
	/* the reading at which analysis_merge() failed, or NULL */
	const struct reading *bad_reading;
	size_t dropped; /* readings that are left out because the anchor of their run was off */
	/*
	 * by event, then by feature: weights that relations allow; NULL, also for a single event:
	 * they exclude nothing
	 */
	weight_set **limits;
};

/*
 * Compute what each point of a campaign does.
 * @analysis: arena, failure, ctx and campaign are set, the rest zero.
 * Return: 0 or -1.
 */
int analysis_begin(struct analysis *analysis);

/* The constant of a campaign that is the number of shader cores of the device. */
#define CORES_CONSTANT "CORES"

/*
 * Recompute what points do on a device with these shader cores.
 * @analysis: begun; nothing happens if its campaign has no such constant; @mask: of the present
 * cores.
 * Return: 0 or -1.
 */
int analysis_set_cores(struct analysis *analysis, uint64_t mask);

/* Adds a point if it is new. Returns its number or -1. */
long analysis_point(struct analysis *analysis, size_t benchmark, const int64_t *parameters);

/* Paths of the listing of a benchmark: 1 if all threads do the same. */
size_t benchmark_paths(const struct benchmark *benchmark);

/* The listing of a point on a path, for listing_free(). Returns 0 or -1. */
int analysis_listing(struct analysis *analysis, const struct point *point, size_t path,
		     struct listing *listing);

/*
 * How many of a point's threads go a path: their lanes of each warp, in all warps.
 * @threads: of the point, of all paths together.
 * Return: 0 or -1.
 */
int analysis_path_threads(struct analysis *analysis, const struct point *point, size_t path,
			  int64_t *threads);

/* Adds a benchmark that has a listing and no parameters. Returns its point or -1. */
long analysis_construct(struct analysis *analysis, const char *name, const char *listing);

/* Assigns readings to points, drops those of runs whose anchor is off. Returns 0 or -1. */
int analysis_merge(struct analysis *analysis);

struct cell analysis_cell(const struct analysis *analysis, size_t point, size_t event);

/* A reading of the work at a position in time, or NULL. */
const struct reading *analysis_at(const struct analysis *analysis, uint64_t sequence);
bool analysis_has(const struct analysis *analysis, size_t event);

/* How often a feature occurs at a point; units: see FEATURE_UNIT. */
int64_t analysis_count(const struct analysis *analysis, const struct point *point, size_t feature,
		       uint64_t units);

/* Whether some measurement of an event is of work with a feature. */
bool analysis_exercises(const struct analysis *analysis, size_t event, size_t feature);

/* Whether no measurement of an event is of work with a part of a rule. */
bool analysis_lacks(const struct analysis *analysis, size_t event, const struct feature *part);

/* Whether a feature occurs in a benchmark that states its amount of an event, measured or not. */
bool analysis_may_exercise(const struct analysis *analysis, size_t event, size_t feature);

/* Whether a feature is an amount that some benchmark states, not an instruction. */
bool analysis_is_quantity(const struct campaign *campaign, const struct feature *feature);

/* The features of a rule that no measurement of an event has: "SHFL:off, I2F". */
const char *analysis_missing(const struct analysis *analysis, size_t event,
			     const struct rule *rule);

/* The value that a rule gives at a point. Return: 0; -1 it is negative or beyond 63 bits. */
int analysis_expected(const struct analysis *analysis, const struct point *point,
		      const struct rule *rule, uint64_t units, uint64_t *value);

/* Whether a value is within the acceptance of an event. */
bool analysis_accepts(const struct campaign_event *event, uint64_t expected, uint64_t value);

/*
 * Points of the campaign at which all of some events could be measured and one was not, without
 * those in reserve.
 * @events: by event, which ones; @count: set to the number of points.
 * Return: "not measured: a, b, c, d and 3 more", or "".
 */
const char *analysis_left_out(const struct analysis *analysis, const bool *events, size_t *count);

/*
 * Whether an event that always reads the same would have all its readings within the acceptance.
 * @left_out: by point: its readings do not count; NULL: all do; @more: a further reading, or NULL;
 * @constant: set to such a value.
 */
bool analysis_constant(const struct analysis *analysis, size_t event, const bool *left_out,
		       const uint64_t *more, uint64_t *constant);

/*
 * Compute a formula over integers.
 * @analysis: its constants can be named; @point: its parameters can be named, may be NULL; @cells:
 * the campaign's events can be named, one for each; may be NULL.
 * Return: 0; 1 an event of the formula was not measured; -1 with a failure.
 */
int analysis_formula(const struct analysis *analysis, const char *text, const struct point *point,
		     const struct cell *cells, int64_t *value);

/* Whether a formula names an event. */
bool analysis_formula_has(const struct analysis *analysis, const char *text, const char *name);
