/* SPDX-License-Identifier: MIT */
/* Groups of captures, and how each compares with the others: what groups_output.c shows. */
#pragma once

#include "diff.h"
#include "lib/table.h"

#define GROUPS_CLEAR_P 0.01

enum { GROUP_B = 1 };

struct group {
	char *name;
	size_t captures;
};

/* a counter or metric, and its number in each capture or mark: NAN if that has none */
struct group_event {
	char *mark; /* of --by-mark with two sides, else NULL */
	char *name, *unit;
	double scale; /* for people */
	bool is_metric;
	bool is_compared; /* not zero everywhere, or with --all */
	double *numbers;
	double *p; /* of each comparison, adjusted for their number; NAN: there is none */
	size_t valid; /* comparisons with a p */
	/* where groups are too small for ranks, of their medians; @deviation 0: few, or equal */
	size_t medians;
	double middle, deviation;
};

/* a group against all other captures */
struct comparison {
	const struct group_event *event;
	size_t group;
	struct compare_ranks ranks;
	/*
	 * Adjusted for the number of groups; if the groups are too small for ranks, by how far the
	 * median is from those of all groups, and adjusted for the events, too.
	 */
	double p;
	double adjusted; /* also for the number of events */
	bool is_of_medians;
	double percent;
	enum compare_result result;
};

struct groups {
	struct app *app;
	struct diff_options *options;
	struct group *groups;
	size_t group_count, group_room;
	size_t *group_of; /* of each capture; if the groups are marks, of each mark of each */
	size_t capture_count;
	size_t at; /* index of the numbers that are added */
	size_t room; /* of @group_of and the numbers of events */
	struct group_event *events;
	size_t event_count, event_room;
	struct table group_table, event_table; /* by name, of events with the mark */
	/* of the smallest p of each event: ascending, and the level from which it is chosen */
	double *least, *levels;
	size_t tested; /* events with one, which p allows for */
	struct comparison *order; /* --sort: all of them, else NULL */
	size_t count; /* of comparisons */
	bool has_per;
	bool exceeds; /* the threshold, one of them */
	FILE *out;
};

/*
 * Receives a comparison, which is valid during the call: there are too many to keep them all.
 * Return: 0 or a negative errno, which ends the walk.
 */
typedef int (*comparison_fn)(void *data, const struct comparison *comparison);

/* Walk through the comparisons by event and group, or with --sort by change. Return: as @fn. */
int groups_each(const struct groups *g, comparison_fn fn, void *data);

/*
 * Read all captures, one after the other, and compare them.
 * @g: with app and options; the caller frees it in any case; @damage: set to EXIT_FAILED if a part
 * could not be read.
 * Return: 0 or an exit status, the message was printed.
 */
int groups_compare(struct groups *g, int *damage);
void groups_free(struct groups *g);
