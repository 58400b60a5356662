/* SPDX-License-Identifier: MIT */
/*
 * Measurements from a file: other people's data.
 *
 * CSV: comment lines begin with #, "# campaign: NAME" may come first; then a header with the
 * columns benchmark, event, value, and optionally run, sequence (order in which the work was
 * done), units (how many counted), expected (what the source of the data printed), and one
 * column for each parameter. JSON: {"campaign": NAME, "configuration": {...}, "rows":
 * [{"benchmark", "event", "parameters": {...}, "value", ...}]}. Every error names line and
 * column.
 */
#ifndef VALIDATE_MEASURED_H
#define VALIDATE_MEASURED_H

#include "campaign.h"

#define NO_SEQUENCE UINT64_MAX

/* one number */
struct reading {
	size_t benchmark;
	size_t event;
	int64_t parameters[MAX_PARAMETERS]; /* in the order of the benchmark's parameters */
	uint64_t run; /* readings of one run were taken together */
	uint64_t sequence; /* of the work among all, or NO_SEQUENCE */
	uint64_t units; /* blocks that counted; 0: unknown */
	uint64_t value;
	uint64_t published; /* what the source of the data expected */
	bool has_published; /* @published was given */
	bool dropped; /* the run's anchor is off, see analysis_merge() */
};

/* all readings */
struct measured {
	struct reading *readings;
	size_t count;
	size_t *table; /* numbers of readings plus 1 by what they are of; 0: free */
	size_t table_count; /* elements of @table, a power of two */
	const char *source; /* file or device, for the report */
	const char **configuration; /* pairs of name and value */
	size_t configuration_count;
};

/* Name of the campaign that a file belongs to, or NULL; no errors. */
const char *measured_campaign(struct arena *arena, const char *text, size_t length);

/**
 * measured_parse() - read measurements
 * @arena: owner of the result
 * @name: of the file, for messages
 * @text: CSV or JSON
 * @length: its bytes
 * @campaign: that they belong to; benchmarks that a result file constructed are added
 * @measured: readings are added
 * @failure: names file, line and column on failure
 *
 * Return: 0 or -1.
 */
int measured_parse(struct arena *arena, const char *name, const char *text, size_t length,
		   struct campaign *campaign, struct measured *measured, struct failure *failure);

/**
 * measured_place() - where a reading stands
 * @arena: owner of the result
 * @name: of the file
 * @text: what measured_parse() accepted
 * @length: its bytes
 * @campaign: that it belongs to
 * @number: of the reading
 *
 * Return: "FILE:LINE:COLUMN" of its row.
 */
const char *measured_place(struct arena *arena, const char *name, const char *text, size_t length,
			   const struct campaign *campaign, size_t number);

/* Adds a reading; -1 if one of the same event in the same run of the same work is there. */
int measured_add(struct arena *arena, struct measured *measured, const struct campaign *campaign,
		 const struct reading *reading);

/* Takes out all readings of an event. */
void measured_forget(struct measured *measured, const struct campaign *campaign, size_t event);

/* The configuration of a name; NULL: none. */
const char *measured_configured(const struct measured *measured, const char *name);

/* Adds a pair to the configuration; both are kept as they are. */
void measured_configure(struct arena *arena, struct measured *measured, const char *name,
			const char *value);

#endif /* VALIDATE_MEASURED_H */
