/* SPDX-License-Identifier: MIT */
/*
 * Measurements from a file.
 *
 * CSV: comment lines begin with #, "# campaign: NAME" may come first; then a header with the
 * columns benchmark, event, value, and optionally run, sequence (order in which the work was done),
 * units (how many counted), expected (what the source of the data printed), and one column for each
 * parameter. JSON: {"campaign": NAME, "configuration": {...}, "rows": [{"benchmark", "event",
 * "parameters": {...}, "value", ...}]}. Every error names line and column.
 */
#pragma once

#include "campaign.h"

#define NO_SEQUENCE UINT64_MAX

/* one measured value */
struct reading {
	size_t benchmark;
	size_t event;
	int64_t parameters[MAX_PARAMETERS]; /* in the order of the benchmark's parameters */
	uint64_t run; /* readings of one run were measured together */
	uint64_t sequence; /* position of the work in time, or NO_SEQUENCE */
	uint64_t units; /* blocks that counted; 0: unknown */
	uint64_t value;
	uint64_t published; /* what the source of the data expected */
	bool has_published; /* whether @published was given */
	bool dropped; /* the anchor of the run is off, see analysis_merge() */
};

/* all readings */
struct measured {
	struct reading *readings;
	size_t count;
	size_t *table; /* hash table of numbers of readings plus 1; 0: free */
	size_t table_count; /* elements of @table, a power of two */
	const char *source; /* file or device, for the report */
	const char **configuration; /* pairs of name and value */
	size_t configuration_count;
};

/* Name of the campaign that a file belongs to, or NULL; reports no errors. */
const char *measured_campaign(struct arena *arena, const char *text, size_t length);

/*
 * Read measurements.
 * @arena: owner of the result; @name: of the file, for messages; @text: CSV or JSON; @campaign: of
 * the measurements; constructed benchmarks of a result file are added; @measured: readings are
 * added; @failure: names file, line and column on failure.
 * Return: 0 or -1.
 */
int measured_parse(struct arena *arena, const char *name, const char *text, size_t length,
		   struct campaign *campaign, struct measured *measured, struct failure *failure);

/*
 * Place of a reading.
 * @arena: owner of the result; @name: of the file; @text: text that measured_parse() accepted;
 * @campaign: that it belongs to; @number: of the reading.
 * Return: "FILE:LINE:COLUMN" of its row.
 */
const char *measured_place(struct arena *arena, const char *name, const char *text, size_t length,
			   const struct campaign *campaign, size_t number);

/* Adds a reading; -1 if the run already has one of this event and work. */
int measured_add(struct arena *arena, struct measured *measured, const struct campaign *campaign,
		 const struct reading *reading);

/* Removes all readings of an event. */
void measured_forget(struct measured *measured, const struct campaign *campaign, size_t event);

/* A value of the configuration; NULL: none. */
const char *measured_configured(const struct measured *measured, const char *name);

/* Adds a pair to the configuration; neither string is copied. */
void measured_configure(struct arena *arena, struct measured *measured, const char *name,
			const char *value);
