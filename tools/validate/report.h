/* SPDX-License-Identifier: MIT */
/* Results of studies for people and programs. */
#pragma once

#include <sys/utsname.h>

#include "study.h"
#include <stdio.h>
#include "analysis.h"

/* contents of a report */
struct report {
	const struct study *studies; /* campaigns that were evaluated */
	size_t count;
	/* campaigns that were skipped: pairs of name and reason */
	const char *const *skipped;
	size_t skipped_count;
	bool verbose; /* print the reasoning of trusted events too */
	struct arena *arena; /* for allocated text */
	char time[32]; /* of the evaluation, for example 2026-01-31T23:59:59Z */
	struct utsname on; /* where it was done */
};

/* an event at a point */
struct table_row {
	struct cell cell;
	bool has_expected; /* the documentation predicts a value */
	uint64_t expected;
	bool has_refined; /* the found definition predicts a value */
	uint64_t refined;
	/* the source of the data printed a value that does not follow from its benchmark */
	bool slip;
};

void validate_text(const struct report *report, FILE *out);

/* Print the last line of each campaign in validate_text(), and campaigns that were not run. */
void validate_summary(const struct report *report, FILE *out);
void validate_json(const struct report *report, FILE *out);
void validate_html(const struct report *report, FILE *out);

/* All readings with the configuration, as --measured takes them. */
void validate_readings(const struct study *study, FILE *out);

/* --- the next measurement, for somebody who measures elsewhere --- */

/* Whether an event is measured with the next benchmark, which exists. */
bool propose_has(const struct study *study, size_t event);

/* Print the rows of the next benchmark without a value, as CSV; each begins with @indent. */
void propose_rows(const struct study *study, struct arena *arena, const char *indent, FILE *out);

struct app;

/*
 * Write all readings and the rows of the next benchmark as CSV, and listings that the campaign does
 * not have into files beside it.
 * @campaign: that the file names; @path: of the CSV.
 * Return: 0 or an exit status; the message was printed.
 */
int propose_write(struct app *app, const struct study *study, const char *campaign,
		  const char *path, struct arena *arena);

struct json_object;

/* Add the member "configuration"; print it as text, which begins with a comma. */
void report_add_configuration(struct json_object *to, const struct measured *measured);
void report_print_configuration(FILE *out, const struct measured *measured);

/* page_begin() with the styles of tables and charts. */
void report_page_begin(FILE *out, const char *command, const char *title);

/* The time now, for example 2026-01-31T23:59:59Z */
void report_time(char *text, size_t size);

/* A line of a table; false if the event was not measured there. */
bool validate_row(const struct study *study, size_t point, size_t event, struct table_row *row);

/*
 * The reasoning about an event, step by step.
 * @arena: owner of the result; @count: set to the number of steps.
 * Return: sentences without a full stop.
 */
const char **validate_chain(const struct study *study, size_t event, struct arena *arena,
			    size_t *count);

/* A finding of an earlier run and what became of it, a sentence without a full stop. */
const char *carried_text(const struct carried *carried, struct arena *arena);

/* Whether an event can be used: TRUSTED or EXPLAINED. */
bool validate_usable(const struct outcome *outcome);

/* a plot: both axes begin at 0 */
struct axes {
	double x_max, y_max; /* above 0 */
};

/* Write the class of a chart's element, with its colours. @style: of page.css */
void chart_class(FILE *out, const char *style);

/*
 * Print the beginning of an SVG: grid, and ticks at @xs, which ascend; the caller ends it.
 * @caption: of the horizontal axis.
 */
void axes_begin(const struct axes *axes, FILE *out, const double *xs, size_t count,
		const char *caption);

/* Where a value is. */
double axes_x(const struct axes *axes, double value);
double axes_y(const struct axes *axes, double value);

/* Number of the first parameter that takes several values, or -1. */
long chart_parameter(const struct benchmark *benchmark);

/*
 * Plot an event over a parameter.
 * @out: HTML page; @benchmark: number of the benchmark; @parameter: number of the parameter; the
 * other parameters keep their last value; @event: number of the event; nothing is printed with
 * fewer than two points, or if all is zero.
 */
void chart_print(FILE *out, const struct study *study, size_t benchmark, size_t parameter,
		 size_t event);

/* --- a folder with all that an assessor needs, from which the verdicts can be made again --- */

/*
 * Create the folder.
 * @folder: must not exist.
 * Return: 0; -1 with @failure.
 */
int evidence_begin(const struct campaign *campaign, const char *folder, struct failure *failure);

/*
 * Write a study's inputs: campaign, listings, readings.
 * @measured: the file of --measured; @from: that of --from; either may be NULL.
 * Return: 0; -1 with the analysis' failure.
 */
int evidence_inputs(const struct study *study, const char *measured, const char *from,
		    const char *folder);

/*
 * Write the results, a description and the hashes of all files into the folder.
 * @report: of one study, evaluated from the inputs there.
 * Return: 0; -1 with @failure.
 */
int evidence_results(const struct report *report, const char *folder, struct failure *failure);

/*
 * Compare the files of a folder with its hashes, and these with the one that the review names.
 * Return: 0; -1 with @failure.
 */
int evidence_check(const char *folder, struct arena *arena, struct failure *failure);

/* Whether a file of a folder has a hash there: 0; -1 with @failure. */
int evidence_has(const char *folder, const char *name, struct arena *arena,
		 struct failure *failure);

/* Remove a folder of evidence_begin() with what is in it, so that it can be made again. */
void evidence_discard(const char *folder);

/* --- The programs of a campaign's benchmarks, with what a thread executes of them --- */

/*
 * Print each program at each point.
 * @analysis: begun; @json: as one document.
 * Return: 0; -1 with the analysis' failure.
 */
int review_listings(struct analysis *analysis, bool json, FILE *out);

/* The id of requirement number @n of a campaign's events; NULL: there are no more. */
const char *report_requirement(const struct study *study, size_t n);

/* "instructions TRUSTED, branches QUARANTINED": the events of a requirement */
const char *report_required(const struct report *report, const struct study *study, const char *id);
