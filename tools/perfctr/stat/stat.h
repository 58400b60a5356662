/* SPDX-License-Identifier: MIT */
/* Data of perfctr stat for its output formats. */
#pragma once

#include "lib/counting.h"
#include "lib/json.h"
#include "lib/mean.h"
#include "lib/rows.h"
#include "contexts.h"
#include "control.h"

/* the command line */
struct stat_options {
	struct counting counting;
	uint64_t interval_ns;
	uint64_t repeat;
	const char *separator;
	bool jsonl;
	bool per_block;
	bool per_context; /* separate counts by the tags of the jobs' samples */
	bool trusted_only; /* leave out counters that are not known to be trusted */
	/* counting starts that much later than the command; or off, until --control enables it */
	uint64_t delay_ns;
	bool starts_off;
	struct control control;
	bool append; /* to the file of -o */
	bool verbose;
	bool no_big_numbers; /* no commas between digits */
};

/* one row over intervals and over runs */
struct row_stat {
	uint64_t intervals; /* intervals of sufficient length in which it was measured */
	double min; /* smallest rate of those, per second; the value of metrics and levels */
	double max;
	/* the last interval, which is counted when it is complete: a shorter rest belongs to it */
	struct mean pending;
	struct mean mean; /* of the intervals before it */
	/* runs in which it was measured, with mean and sum of squared differences */
	uint64_t runs;
	double run_mean;
	double run_m2;
};

/* the result of one device so far */
struct stat_device {
	const struct counted *counted;
	struct rows rows; /* rows of the whole run */
	struct row_stat *stats; /* elements match those of @rows in number and order */
	size_t stat_count;
	/* the same counts by context; empty without --per-context */
	struct stat_contexts contexts;
	struct drm_perfctr_status status; /* the kernel's own totals */
	uint64_t interval_count;
	/* samples of all runs, of this one, of the interval, and of the last whole one */
	struct perfctr_totals *all, *run, *interval, *last;
	struct rows scratch; /* of @last, or of a run */
	bool is_due; /* @last is not printed yet: those of all devices are printed in their order */
	uint64_t last_end_ns;
	/* -x: a sample without counts, for the rows of what is never counted; and that these are */
	struct perfctr_totals *names;
	bool is_uncounted;
	uint64_t stamp_ns; /* of the last interval */
};

/* events of perf as the user wrote them, for -x */
struct stat_written {
	struct stat_written_event {
		const struct counted *of; /* its cgroup; NULL: any */
		struct drm_perfctr_block_request request;
		char *text;
	} * events;
	size_t count;
};

/* the result so far */
struct stat_report {
	struct verdicts *verdicts; /* verdicts on this machine's counters */
	const struct stat_options *options;
	FILE *out;
	struct stat_device devices[COUNTING_DEVICES];
	size_t count;
	struct stat_written written;
	uint64_t start_ns; /* CLOCK_MONOTONIC_RAW of the first count */
	uint64_t stamp_ns; /* of the interval that is written: devices share it */
	int exit_status; /* of the workload, 0 without one */
	uint32_t runs;
	int ended_by; /* signal that ended counting, 0 if none */
	bool device_gone; /* all devices are gone */
	bool has_broker; /* one runs that lets a user count who may count own processes only */
	bool has_intervals; /* intervals were written; formats need it for commas */
};

/* a way to show the result */
struct stat_format {
	void (*begin)(struct stat_report *report); /* NULL: nothing to do */
	/* one interval of -I on a device: @scratch, which ended at the report's @stamp_ns */
	void (*interval)(struct stat_report *report, const struct stat_device *device);
	void (*end)(struct stat_report *report);
};

extern const struct stat_format stat_text;
extern const struct stat_format stat_csv;
extern const struct stat_format stat_json;
extern const struct stat_format stat_jsonl;

/* Shared by formats. */
const struct row_stat *stat_of_row(const struct stat_device *device, size_t n);

/* Whether min, mean and max of a row are meaningful: they cover most of the time. */
bool row_stat_has_range(const struct stat_device *device, const struct row_stat *stat);
double row_stat_mean(const struct row_stat *stat);
double row_stat_stddev_percent(const struct row_stat *stat);

/* written.c: note the events of perf among those of the options. Return: 0 or a negative errno. */
int stat_written_note(struct stat_written *written, struct counting *counting);
/*
 * The text of a request of a perf PMU's event, NULL: it is none, or was not written alone.
 * @counter: its name in rows, of several texts that mean the event.
 */
const char *stat_written_find(const struct stat_written *written, const struct counted *of,
			      const struct drm_perfctr_block_request *request, const char *counter);
void stat_written_free(struct stat_written *written);

/* series.c: elements of device->stats for all rows. Return: 0 or -ENOMEM. */
int stat_find_rows(struct stat_device *device, const struct rows *rows);
/* @complete: it has its full length, not only the rest of the run. */
void row_stat_add_interval(struct row_stat *stat, const struct row *row, uint64_t elapsed_ns,
			   bool complete);
void row_stat_end_run(struct row_stat *stat);
void row_stat_add_run(struct row_stat *stat, const struct row *row);
