/* SPDX-License-Identifier: MIT */
/*
 * Measurements from a file.
 *
 * CSV: comment lines begin with #, "# campaign: NAME" may come first, "# configuration: NAME=VALUE"
 * says of what they are; then a header with the columns benchmark, event, value, and optionally
 * run, sequence (order in which the work was done), units (how many counted), expected (what the
 * source of the data printed), listing and threads (of a benchmark that the campaign does not
 * have), and one column for each parameter. A row without a value is still to be measured. JSON:
 * {"campaign": NAME, "configuration": {...}, "rows": [{"benchmark", "event", "parameters": {...},
 * "value", ...}]}. Every error names line and column.
 */
#pragma once

#include "campaign.h"

#define NO_SEQUENCE UINT64_MAX

/*
 * Version of the result file, and of the readings in it. 1 had no number: there TRUSTED did not
 * require that the documented rule is the only one, nor two points.
 */
#define RESULT_SCHEMA 2

/* one measured value */
struct reading {
	size_t benchmark;
	size_t event;
	int64_t parameters[MAX_PARAMETERS]; /* in the order of the benchmark's parameters */
	uint64_t run; /* readings of one run were measured together */
	uint64_t sequence; /* position of the work in time, or NO_SEQUENCE */
	uint64_t units; /* blocks that counted; 0: unknown */
	uint64_t value;
	uint64_t interrupts; /* during the reading, of which the counts were subtracted, or 0 */
	uint64_t raw; /* the value before that */
	uint64_t published; /* what the source of the data expected */
	bool has_published; /* whether @published was given */
	unsigned int line; /* in a file of CSV */
	bool dropped; /* the anchor of the run is off, see analysis_merge() */
};

/* all readings */
struct measured {
	struct reading *readings;
	size_t count;
	struct hash_table table; /* of the readings */
	size_t waiting; /* rows of the file without a value */
	const char *source; /* file or device, for the report */
	const char **configuration; /* pairs of name and value */
	size_t configuration_count;
};

/*
 * Begin with a file of measurements.
 * @file: all but @root filled; its owner calls document_free().
 * Return: 0; -1 it looks like JSON, but is none.
 */
int measured_open(struct document *file);

/* Name of the campaign that a file belongs to, or NULL. */
const char *measured_campaign(const struct document *file);

/*
 * Whether a file that names its campaign names this one.
 * @which: how the campaign was named when it was loaded.
 * Return: 0; -1 with the file's failure.
 */
int measured_is_of(const struct document *file, const char *which, const struct campaign *campaign);

/*
 * Read measurements.
 * @file: that was opened; @campaign: of the measurements; constructed benchmarks of a result file
 * are added; @measured: filled.
 * Return: 0; -1 with a failure that names file, line and column.
 */
int measured_parse(const struct document *file, struct campaign *campaign,
		   struct measured *measured);

/* "FILE:LINE:COLUMN" of the row of a reading. */
const char *measured_place(const struct document *file, const struct campaign *campaign,
			   const struct measured *measured, const struct reading *reading);

/* Adds a reading; -1 if the run already has one of this event and work. */
int measured_add(struct arena *arena, struct measured *measured, const struct campaign *campaign,
		 const struct reading *reading);

/* The reading of the same benchmark, event, parameters and run, or NULL. */
const struct reading *measured_find(const struct measured *measured,
				    const struct campaign *campaign, const struct reading *like);

/* Removes all readings of an event. */
void measured_forget(struct arena *arena, struct measured *measured,
		     const struct campaign *campaign, size_t event);

/*
 * Read the lines "# configuration: NAME=VALUE" of a file of CSV.
 * @csv: at its beginning, which stays. Return: 0; -1 with the failure: a name stands twice.
 */
int measured_read_configuration(const struct csv *csv, struct measured *measured);

/* A value of the configuration; NULL: none. */
const char *measured_configured(const struct measured *measured, const char *name);

/* Adds a copy of a pair to the configuration. */
void measured_configure(struct arena *arena, struct measured *measured, const char *name,
			const char *value);
