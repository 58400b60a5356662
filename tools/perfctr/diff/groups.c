// SPDX-License-Identifier: MIT
/* perfctr diff of groups of captures: medians, spread, and how sure a difference is. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "diff.h"
#include "distribution.h"
#include "lib/capture_file.h"
#include "lib/describe.h"
#include "lib/output.h"
#include "lib/table.h"

#define CLEAR_P 0.01
/* groups that show what their medians vary by */
#define MEDIANS_LEAST 12
/* of a normal distribution: standard deviations in a median deviation */
#define OF_MEDIAN_DEVIATION 1.4826
#define UNKNOWN "unknown" /* the group of captures without the text */

enum { GROUP_B = 1, EVENT_LEAST = 12, GROUP_MOST = 40 };

struct group {
	char *name;
	size_t captures;
};

/* a counter or metric, and its number in each capture or mark: NAN if that has none */
struct group_event {
	char *mark; /* of --by-mark with two sides, else NULL */
	char *name;
	char unit[ROW_UNIT_BYTES + ROW_EVENT_BYTES];
	double scale; /* for people */
	bool is_metric;
	bool is_printed;
	double *numbers;
};

/* a group against all other captures */
struct comparison {
	struct group_event *event;
	size_t group;
	struct compare_ranks ranks;
	/*
	 * Adjusted for the number of groups; if the groups are too small for ranks, by how far the
	 * median is from those of all groups, and adjusted for the events, too.
	 */
	double p;
	double adjusted; /* also for the number of events */
	double least; /* smallest possible @adjusted, if nothing else differs */
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
	struct comparison *comparisons;
	size_t count;
	size_t tested; /* events that p allows for */
	bool has_per;
	FILE *out;
};

static const char *capture_key(const struct capture_file *file, const char *key)
{
	const char *text = capture_file_text(file, key);

	return text ? text : !strcmp(key, "device") ? capture_file_name(file) : UNKNOWN;
}

/* what is looked for in a table */
struct key {
	const struct groups *g;
	const char *name, *mark;
};

static bool is_group(const void *data, size_t number)
{
	const struct key *key = data;

	return !strcmp(key->g->groups[number].name, key->name);
}

static int find_group(struct groups *g, const char *name, size_t *found)
{
	const struct key key = { g, name, NULL };
	struct group *more;

	if (g->group_count == g->group_room) {
		more = realloc(g->groups, (2 * g->group_room + 16) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		g->groups = more;
		g->group_room = 2 * g->group_room + 16;
	}
	if (table_add(&g->group_table, table_hash(TABLE_HASH, name), is_group, &key, g->group_count,
		      found))
		return -ENOMEM;
	if (*found < g->group_count)
		return 0;
	g->groups[g->group_count] = (struct group){ .name = strdup(name) };
	return g->groups[g->group_count++].name ? 0 : -ENOMEM;
}

static bool is_event(const void *data, size_t number)
{
	const struct key *key = data;
	const struct group_event *e = &key->g->events[number];

	return !strcmp(e->name, key->name) && (!key->mark || !strcmp(e->mark, key->mark));
}

/*
 * @mark: name of the span, NULL: the event is of all; @hint: likely index, because captures of one
 * kind have the same events in the same order.
 */
static struct group_event *find_event(struct groups *g, const struct row *row,
				      const struct row *per, const char *mark, size_t hint)
{
	const struct key key = { g, row->event, mark };
	struct group_event *e;
	char unit[64];
	uint64_t hash;
	size_t found;

	if (hint < g->event_count && is_event(&key, hint))
		return &g->events[hint];
	if (g->event_count == g->event_room) {
		e = realloc(g->events, (2 * g->event_room + 16) * sizeof(*e));
		if (!e)
			return NULL;
		g->events = e;
		g->event_room = 2 * g->event_room + 16;
	}
	hash = table_hash(TABLE_HASH, row->event);
	hash = mark ? table_hash(hash, mark) : hash;
	if (table_add(&g->event_table, hash, is_event, &key, g->event_count, &found))
		return NULL;
	if (found < g->event_count)
		return &g->events[found];
	e = &g->events[g->event_count];
	*e = (struct group_event){ .scale = 1, .is_metric = row->metric };
	e->numbers = malloc((g->room + 1) * sizeof(*e->numbers));
	e->mark = mark ? strdup(mark) : NULL;
	e->name = strdup(row->event);
	if (!e->numbers || !e->name || (mark && !e->mark)) {
		free(e->numbers);
		free(e->name);
		free(e->mark);
		return NULL;
	}
	for (size_t n = 0; n < g->room; n++)
		e->numbers[n] = NAN;
	if (g->options->per && !isnan(row->rate)) {
		snprintf(e->unit, sizeof(e->unit), "%s/%s", row->unit,
			 per && *per->unit ? per->unit : g->options->per);
	} else {
		describe_rate_unit(row, !g->options->json, unit, sizeof(unit));
		snprintf(e->unit, sizeof(e->unit), "%s", unit);
		if (!g->options->json && !isnan(row->rate))
			row_rate_unit(row, &e->scale);
	}
	g->event_count++;
	return e;
}

/* Add a number, that of @at, to those of its event. */
static int add_number(struct groups *g, const struct row *row, bool is_block, const struct row *per,
		      const char *mark, double number, size_t *hint)
{
	struct group_event *e;

	/* a metric of the device is in another line */
	if (!row_matches(row, &g->options->patterns) || (is_block && row->metric && !row->info))
		return 0;
	e = find_event(g, row, per, mark, *hint);
	if (!e)
		return -ENOMEM;
	*hint = (size_t)(e - g->events) + 1;
	e->numbers[g->at] = number;
	return 0;
}

static int add_rows(struct groups *g, const struct rows *rows, const struct row *per,
		    bool of_blocks, size_t *hint)
{
	int error = 0;

	for (size_t n = 0; !error && n < rows->count; n++) {
		const struct row *row = &rows->rows[n];
		double number = isnan(row->rate) ? row->number : row->rate;

		if (g->options->per && !isnan(row->rate))
			number = per && per->number > 0 ? row->number / per->number : NAN;
		number = row->state == PERFCTR_VALUE_OK ? number : NAN;
		error = add_number(g, row, of_blocks, per, NULL, number, hint);
	}
	return error;
}

static void end_capture(struct groups *g, size_t group)
{
	g->group_of[g->capture_count++] = group;
	g->groups[group].captures++;
}

static int add_session(struct groups *g, const struct capture_file *file, size_t *hint)
{
	const struct diff_options *o = g->options;
	struct rows sums = { .device = capture_file_device(file) };
	struct rows blocks = { .device = capture_file_device(file) };
	const struct row *per = NULL;
	int error = rows_fill(&sums, file->totals, file->selection, false);

	if (!error && o->per_block)
		error = rows_fill(&blocks, file->totals, file->selection, true);
	if (!error && o->per)
		per = rows_find(&sums, o->per, 0);
	g->has_per |= per != NULL;
	if (!error)
		error = add_rows(g, &sums, per, false, hint);
	if (!error)
		error = add_rows(g, &blocks, per, true, hint);
	rows_free(&sums);
	rows_free(&blocks);
	return error;
}

/* The line of --per, or NULL. */
static const struct values_line *find_per(const struct groups *g, const struct values *values)
{
	for (size_t n = 0; g->options->per && n < values->count; n++)
		if (!values->lines[n].is_block && values->lines[n].is_rate &&
		    !strcmp(values->lines[n].row->event, g->options->per))
			return &values->lines[n];
	return NULL;
}

/* The frames and phases of a name are what a capture is without --by-mark. */
static int add_span(void *data, const char *name, double seconds, const struct values *v,
		    const struct mean *means)
{
	struct groups *g = data;
	const bool by = g->options->are_marks;
	const struct values_line *per = find_per(g, v);
	const double divisor = per ? mean_of(&means[per - v->lines]) : NAN;
	size_t hint = 0, group;
	int error = by ? find_group(g, name, &group) : 0;

	g->has_per |= per != NULL;
	if (!error && by) {
		/* one number, in which each session of the capture has its events */
		g->at = group;
		g->group_of[group] = group;
		g->groups[group].captures = 1;
		g->capture_count = g->group_count;
	}
	if (!error)
		error = add_number(g, &diff_time, false, NULL, by ? NULL : name, seconds, &hint);
	for (size_t n = 0; !error && n < v->count; n++) {
		double number = mean_of(&means[n]);

		if (g->options->per && v->lines[n].is_rate)
			number = divisor > 0 ? number / divisor : NAN;
		error = add_number(g, v->lines[n].row, v->lines[n].is_block, per ? per->row : NULL,
				   by ? NULL : name, number, &hint);
	}
	return error;
}

/* Add the sessions of a capture. @status: an exit status. Return: 0 or a negative errno. */
static int add_capture(struct groups *g, struct capture *capture, size_t side, int *status)
{
	const struct diff_options *o = g->options;
	size_t added = 0, hint = 0;
	int error = 0;

	g->at = g->capture_count;
	for (size_t n = 0; !error && !*status && n < capture->count; n++) {
		struct capture_file *file = &capture->files[n];

		if (!perfctr_totals_span(file->totals)->samples)
			continue;
		if (!added && o->by && !o->are_marks)
			error = find_group(g, capture_key(capture->files, o->by), &side);
		if (!error && !added++ && !o->by_mark)
			error = add_number(g, &diff_time, false, NULL, NULL, diff_seconds(capture),
					   &hint);
		if (error)
			return error;
		if (o->by_mark)
			*status = diff_spans(g->app, file, o, add_span, g);
		else
			error = add_session(g, file, &hint);
	}
	if (!added && !error && !*status)
		app_error(g->app, "%s: no samples, left out", capture->files->path);
	else if (!error && !*status && !o->are_marks)
		end_capture(g, side);
	return error;
}

/* Read all captures, one after the other. Return: 0 or an exit status. */
static int read_captures(struct groups *g, int *damage)
{
	struct diff_options *o = g->options;
	size_t all = o->sides[0].count + o->sides[1].count, group;
	int status = 0, error = 0;

	g->room = o->are_marks ? all * DIFF_MOST_NAMES : all;
	g->group_of = calloc(g->room + 1, sizeof(*g->group_of));
	error = g->group_of ? 0 : -ENOMEM;
	for (size_t n = 0; !error && !o->by && n < 2; n++)
		error = find_group(g, n ? "B" : "A", &group);
	for (size_t n = 0; !status && !error && n < all; n++) {
		const size_t side = n >= o->sides[0].count;
		struct capture capture;

		status = capture_list_open(g->app, &o->sides[side],
					   side ? n - o->sides[0].count : n, &capture, damage);
		if (status == CAPTURE_LEFT_OUT) {
			status = 0;
		} else if (!status) {
			error = add_capture(g, &capture, side, &status);
			if (!status && capture_exit_status(&capture))
				*damage = EXIT_FAILED;
			capture_close(&capture);
		}
	}
	if (error) {
		app_error(g->app, "%s", strerror(-error));
		status = EXIT_FAILED;
	}
	if (status)
		return status;
	if (!g->event_count && o->patterns.count)
		return app_usage(g->app, "nothing in the captures matches '%s'%s",
				 o->patterns.words[0],
				 o->per_block ? "" : " (-A: single blocks too)");
	if (!g->event_count && o->by_mark)
		return app_usage(g->app,
				 "--by-mark: the captures have no frames and phases%s; see "
				 "perfctr mark --help",
				 o->marks.count ? " of these names" : "");
	if (!g->capture_count)
		return EXIT_FAILED;
	if (o->per && !g->has_per)
		return app_usage(g->app, "--per '%s': no capture has that event", o->per);
	if (g->group_count < 2 && !strcmp(g->groups[0].name, UNKNOWN))
		return app_usage(g->app, "--by %s: the captures have no such text", o->by);
	if (g->group_count < 2 && !o->are_marks)
		return app_usage(g->app,
				 "--by: all captures have '%s', there is nothing to compare",
				 g->groups[0].name);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct compare_value *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int by_p(const void *a, const void *b)
{
	const struct comparison *const *x = a, *const *y = b;
	double p = (*x)->ranks.p, q = (*y)->ranks.p;

	return (p > q) - (p < q);
}

/*
 * Adjust the p of an event for the number of its groups by Holm's method: of the probability that
 * anything is found in one of them by chance.
 */
static int adjust_for_groups(struct comparison *comparisons, size_t count)
{
	struct comparison **order = calloc(count + 1, sizeof(*order));
	size_t valid = 0;
	double most = 0;

	if (!order)
		return -ENOMEM;
	for (size_t n = 0; n < count; n++)
		if (!isnan(comparisons[n].ranks.p))
			order[valid++] = &comparisons[n];
	qsort(order, valid, sizeof(*order), by_p);
	for (size_t n = 0; n < valid; n++) {
		struct comparison *c = order[n];

		most = fmax(most, fmin(1, (double)(valid - n) * c->ranks.p));
		c->p = most;
		c->least = (double)valid * c->ranks.least_p;
		c->percent = compare_percent(c->ranks.a.median, c->ranks.b.median);
	}
	free(order);
	return 0;
}

static int by_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * A group of one capture is no sample that ranks could compare with all others. But many groups
 * show what their medians vary by: the median deviation from their median, which odd ones hardly
 * change. It is taken for larger by what it may be off by itself.
 */
static int judge_medians(const struct groups *g, struct comparison *comparisons, size_t count)
{
	double *sorted = calloc(count + 1, sizeof(*sorted)), middle, deviation;
	size_t valid = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t n = 0; n < count; n++)
		if (isfinite(comparisons[n].ranks.b.median))
			sorted[valid++] = comparisons[n].ranks.b.median;
	qsort(sorted, valid, sizeof(*sorted), by_double);
	middle = valid ? sorted_quantile(sorted, valid, 0.5) : 0;
	for (size_t n = 0; n < valid; n++)
		sorted[n] = fabs(sorted[n] - middle);
	qsort(sorted, valid, sizeof(*sorted), by_double);
	deviation = valid ? OF_MEDIAN_DEVIATION * sorted_quantile(sorted, valid, 0.5) : 0;
	deviation *= 1 + 3.5 / sqrt((double)valid);
	free(sorted);
	/* more than half are equal: nothing says what the others vary by */
	if (valid < MEDIANS_LEAST || !(deviation > 0))
		return 0;
	for (size_t n = 0; n < count; n++) {
		struct comparison *c = &comparisons[n];
		const double tests = (double)valid * (double)g->event_count;

		if (c->result != COMPARE_UNKNOWN || !isfinite(c->ranks.b.median))
			continue;
		c->is_of_medians = true;
		c->p = fmin(1,
			    tests * 2 * normal_above(fabs(c->ranks.b.median - middle) / deviation));
		c->adjusted = c->p;
		c->result = c->p < CLEAR_P ? COMPARE_CLEAR : COMPARE_NOISE;
	}
	return 0;
}

/* The end of the comparisons of an event, which are together. */
static struct comparison *end_of_event(const struct groups *g, struct comparison *c)
{
	const struct group_event *event = c->event;

	while (c < g->comparisons + g->count && c->event == event)
		c++;
	return c;
}

/* What is the same everywhere, such as zero, cannot differ by chance. */
static bool is_constant(const struct compare_ranks *r)
{
	return r->a.least == r->a.most && r->b.least == r->b.most && r->a.least == r->b.least;
}

/* The smallest p of each event with one, ascending. Return: their number. */
static size_t find_events(const struct groups *g, double *sorted)
{
	struct comparison *c = g->comparisons;
	size_t count = 0;

	while (c < g->comparisons + g->count) {
		struct comparison *end = end_of_event(g, c);
		double least = NAN;

		for (; c < end; c++)
			least = is_constant(&c->ranks) ? least : fmin(least, c->p);
		if (!isnan(least))
			sorted[count++] = least;
	}
	qsort(sorted, count, sizeof(*sorted), by_double);
	return count;
}

/*
 * Adjust p for the number of events, and decide. Events are chosen by the method of Benjamini and
 * Hochberg (1995), so that no more than 1 % of the chosen ones are expected to be wrong, and none
 * with 99 % probability if nothing differs, unless events move against each other. Holm's method
 * would find less of a change that moves many counters. Within an event the level is the chosen
 * ones' share of 1 % (Benjamini and Bogomolov 2014): p becomes the least level at which it is below
 * that.
 */
static int judge(struct groups *g)
{
	double *sorted = calloc(g->event_count + 1, sizeof(*sorted));
	double *levels = calloc(g->event_count + 2, sizeof(*levels));
	size_t count = sorted && levels ? find_events(g, sorted) : 0;
	int error = sorted && levels ? 0 : -ENOMEM;

	g->tested = count;
	/* the least level at which that many events or more are chosen */
	if (!error)
		levels[count] = INFINITY;
	for (size_t n = count; n--;)
		levels[n] = fmin(levels[n + 1], (double)count * sorted[n] / (double)(n + 1));
	for (struct comparison *c = g->comparisons; !error && c < g->comparisons + g->count; c++) {
		size_t low = 0, high = count;

		if (isnan(c->p))
			continue;
		while (low < high) {
			const size_t middle = (low + high) / 2;

			if (sorted[middle] <= c->p)
				low = middle + 1;
			else
				high = middle;
		}
		c->adjusted = fmin(fmin(1, (double)count * c->p / (double)low), levels[low]);
		c->result = c->adjusted < CLEAR_P	       ? COMPARE_CLEAR :
			    (double)count * c->least < CLEAR_P ? COMPARE_NOISE :
								 COMPARE_UNKNOWN;
	}
	free(sorted);
	free(levels);
	for (struct comparison *c = g->comparisons, *end;
	     !error && g->options->by && !g->options->are_marks && c < g->comparisons + g->count;
	     c = end) {
		end = end_of_event(g, c);
		error = judge_medians(g, c, (size_t)(end - c));
	}
	return error;
}

static int compare_event(struct groups *g, struct group_event *e, struct compare_value *values)
{
	const struct diff_options *o = g->options;
	struct comparison *first = g->comparisons + g->count;
	struct compare_all all;
	size_t count = 0, found = 0;
	bool is_zero = true;
	int error = 0;

	for (size_t n = 0; n < g->capture_count; n++) {
		if (isnan(e->numbers[n]))
			continue;
		is_zero &= e->numbers[n] == 0;
		values[count++] = (struct compare_value){ e->numbers[n], g->group_of[n] };
	}
	if (is_zero && !o->all)
		return 0;
	qsort(values, count, sizeof(*values), by_number);
	error = compare_ranks_begin(values, count, g->group_count, &all);
	for (size_t group = o->by ? 0 : GROUP_B; !error && group < g->group_count; group++) {
		struct comparison *c = &first[found++];

		*c = (struct comparison){
			.event = e, .group = group, .p = NAN, .adjusted = NAN, .percent = NAN
		};
		error = compare_ranks(&all, group, &c->ranks);
	}
	compare_ranks_end(&all);
	g->count += found;
	return error ? error : adjust_for_groups(first, found);
}

static int by_change(const void *a, const void *b)
{
	const struct comparison *x = a, *y = b;
	double p = isnan(x->percent) ? INFINITY : fabs(x->percent);
	double q = isnan(y->percent) ? INFINITY : fabs(y->percent);

	return (p < q) - (p > q);
}

static int compare_events(struct groups *g)
{
	struct compare_value *values = calloc(g->capture_count + 1, sizeof(*values));
	int error = 0;

	g->comparisons = calloc(g->event_count * g->group_count + 1, sizeof(*g->comparisons));
	if (!values || !g->comparisons)
		error = -ENOMEM;
	for (size_t n = 0; !error && n < g->event_count; n++)
		error = compare_event(g, &g->events[n], values);
	free(values);
	error = error ? error : judge(g);
	if (!error && g->options->sort)
		qsort(g->comparisons, g->count, sizeof(*g->comparisons), by_change);
	return error;
}

/* --- text ---------------------------------------------------------------------------- */

/* Of one event of @tests with two groups of that size, if no other differs. */
static double least_p(size_t tests, size_t a, size_t b)
{
	return (double)tests * 2 * exp(-ln_choices(a + b, a));
}

/* What ? means, and how many captures would be enough. */
static char *unknown_text(const struct groups *g, size_t unknown, char *text, size_t size)
{
	const size_t tests = g->tested ? g->tested : 1;
	const size_t a = g->groups[0].captures, b = g->options->by ? 0 : g->groups[1].captures;
	size_t enough = 1;

	while (least_p(tests, enough, enough) >= CLEAR_P)
		enough++;
	if (unknown && !g->options->by && least_p(tests, a, b) >= CLEAR_P)
		snprintf(text, size,
			 "?: with %zu and %zu captures one event of %zu cannot be clear, unless "
			 "others differ too: it takes %zu and %zu",
			 a, b, tests, enough, enough);
	else
		snprintf(text, size, "?: too few%s",
			 unknown < g->count ? "" : " captures to know what varies from run to run");
	return text;
}

/* widths; 0: there is no such column, and a name of an event has a line of its own */
struct columns {
	int event, group, mark, number, unit;
	bool has_spread, has_p;
	int terminal;
};

/* in 8 characters */
static void spread_text(double percent, char *text, size_t size)
{
	snprintf(text, size,
		 percent < 1000	 ? "+-%.1f%%" :
		 percent < 99999 ? "+-%.0f%%" :
				   "+-%.0e%%",
		 percent);
}

static void print_side(const struct groups *g, const struct compare_group *side, double scale,
		       const struct columns *columns)
{
	char median[32], spread[32] = "";

	if (side->count > 1 && side->median != 0 && isfinite(side->median))
		spread_text(50 * (side->high - side->low) / fabs(side->median), spread,
			    sizeof(spread));
	fprintf(g->out, " %*s", columns->number,
		number_short(side->median * scale, median, sizeof(median)));
	if (columns->has_spread)
		fprintf(g->out, " %-8s", spread);
}

static void print_cell(const struct groups *g, const char *text, int width)
{
	if (width)
		fprintf(g->out, " %-*.*s", width, width, text);
}

static void print_comparison(const struct groups *g, const struct comparison *c,
			     const struct columns *columns)
{
	char percent[32], p[32] = "-";

	if (!isnan(c->adjusted))
		snprintf(p, sizeof(p), "%.2g", c->adjusted);
	columns_name(g->out, c->event->name, columns->event, columns->terminal);
	print_cell(g, g->groups[c->group].name, columns->group);
	print_cell(g, c->event->mark, columns->mark);
	print_side(g, &c->ranks.a, c->event->scale, columns);
	print_side(g, &c->ranks.b, c->event->scale, columns);
	fprintf(g->out, " %c%10s", compare_mark(c->result),
		compare_percent_text(c->percent, percent, sizeof(percent)));
	if (columns->has_p)
		fprintf(g->out, " %8s", p);
	fprintf(g->out, "%s%s\n", columns->unit ? "  " : "", columns->unit ? c->event->unit : "");
}

static int columns_of(const struct columns *c)
{
	return c->event + c->group + !!c->group + c->mark + !!c->mark +
	       2 * (1 + c->number + (c->has_spread ? 9 : 0)) + 12 + (c->has_p ? 9 : 0) +
	       (c->unit ? 2 + c->unit : 0);
}

/* If the table is too wide, cut names, give them lines, then drop spreads, units and p. */
static struct columns lay_out(const struct groups *g)
{
	struct columns c = { .event = (int)strlen("event"),
			     .number = 9,
			     .unit = (int)strlen("unit"),
			     .has_spread = true,
			     .has_p = true,
			     .terminal = terminal_columns(g->out, INT_MAX) };
	const bool by = g->options->by;
	char number[32];

	for (size_t n = 0; by && n < g->group_count; n++)
		c.group = columns_wider(c.group, g->groups[n].name);
	for (size_t n = 0; n < g->event_count; n++) {
		c.event = columns_wider(c.event, g->events[n].name);
		c.unit = columns_wider(c.unit, g->events[n].unit);
		c.mark = g->events[n].mark ? columns_wider(c.mark, g->events[n].mark) : c.mark;
	}
	for (size_t n = 0; n < 2 * g->count; n++) {
		const struct comparison *one = &g->comparisons[n / 2];
		const struct compare_group *side = n % 2 ? &one->ranks.b : &one->ranks.a;

		c.number = columns_wider(c.number, number_short(side->median * one->event->scale,
								number, sizeof(number)));
	}
	c.group = by ? columns_wider(c.group, g->options->by) : 0;
	c.mark = c.mark ? columns_wider(c.mark, "mark") : 0;
	c.group = c.group > GROUP_MOST ? GROUP_MOST : c.group;
	c.mark = c.mark > GROUP_MOST ? GROUP_MOST : c.mark;
	if (columns_of(&c) <= c.terminal)
		return c;
	c.event -= columns_of(&c) - c.terminal;
	c.event = c.event < EVENT_LEAST ? 0 : c.event;
	c.has_spread = columns_of(&c) <= c.terminal;
	if (columns_of(&c) > c.terminal)
		c.unit = 0;
	c.has_p = columns_of(&c) <= c.terminal;
	return c;
}

/* The number of each mark beside the others', of as many marks in a table as fit. */
static void print_marks(const struct groups *g)
{
	const int terminal = terminal_columns(g->out, INT_MAX);
	int event = (int)strlen("event"), unit = (int)strlen("unit"), width = 9, left;
	char number[32];
	size_t end;

	for (size_t n = 0; n < g->group_count; n++)
		width = columns_wider(width, g->groups[n].name);
	width = width > GROUP_MOST ? GROUP_MOST : width;
	for (size_t n = 0; n < g->count; n++) {
		event = columns_wider(event, g->comparisons[n].event->name);
		unit = columns_wider(unit, g->comparisons[n].event->unit);
	}
	/* names are cut, or have lines of their own, for two marks to fit */
	left = terminal - 2 * (1 + width) - 2 - unit;
	event = event <= left ? event : left < EVENT_LEAST ? 0 : left;
	for (size_t begin = 0; begin < g->group_count; begin = end) {
		left = terminal - event - 2 - unit;
		fputc('\n', g->out);
		columns_name(g->out, "event", event, terminal);
		for (end = begin; end < g->group_count && (end == begin || left > width); end++) {
			fprintf(g->out, " %*.*s", width, width, g->groups[end].name);
			left -= 1 + width;
		}
		fputs("  unit\n", g->out);
		for (size_t n = 0; n < g->event_count; n++)
			g->events[n].is_printed = false;
		for (size_t n = 0; n < g->count; n++) {
			struct group_event *e = g->comparisons[n].event;

			if (e->is_printed)
				continue;
			e->is_printed = true;
			columns_name(g->out, e->name, event, terminal);
			for (size_t i = begin; i < end; i++)
				fprintf(g->out, " %*s", width,
					isnan(e->numbers[i]) ?
						"- " :
						number_short(e->numbers[i] * e->scale, number,
							     sizeof(number)));
			fprintf(g->out, "  %s\n", e->unit);
		}
	}
	fputc('\n', g->out);
	columns_wrap(
		g->out,
		"One capture does not show what varies from run to run. To compare two versions, "
		"record each several times: --by-mark A... --against B...",
		0, 0, terminal);
}

static void print_text(const struct groups *g)
{
	static const char *const heads[][2] = { { "median A", "median B" },
						{ "others ", "median " } };
	const bool by = g->options->by;
	const struct columns c = lay_out(g);
	size_t shown = 0, clear = 0, unknown = 0, medians = 0;
	char text[512], number[32], rest[192];

	for (size_t n = 0; !by && n < 2; n++) {
		const struct capture_list *side = &g->options->sides[n];
		const size_t count = g->groups[n].captures;

		fprintf(g->out, " %c  %s%s: %zu capture%s\n", "AB"[n], side -> paths[0],
			side -> count > 1 ? " ..." : "", count, count == 1 ? "" : "s");
	}
	if (g->options->are_marks)
		fprintf(g->out, " %s: frames and phases of %zu name%s\n",
			g->options->sides->paths[0], g->group_count, plural(g->group_count));
	else if (by)
		fprintf(g->out, " %s capture%s of %zu group%s by %s\n",
			number_group(g->capture_count, number, sizeof(number)),
			plural(g->capture_count), g->group_count, plural(g->group_count),
			g->options->by);
	for (size_t n = 0; n < g->count; n++) {
		clear += g->comparisons[n].result == COMPARE_CLEAR;
		medians += g->comparisons[n].is_of_medians;
		unknown += g->comparisons[n].result == COMPARE_UNKNOWN;
	}
	if (!g->count) {
		fputs("\nall is zero, or was not measured (-a: show it)\n", g->out);
		return;
	}
	if (g->options->are_marks && unknown == g->count) {
		print_marks(g);
		return;
	}
	fputc('\n', g->out);
	columns_name(g->out, "event", c.event, c.terminal);
	print_cell(g, g->options->by, c.group);
	print_cell(g, "mark", c.mark);
	for (size_t n = 0; n < 2; n++)
		fprintf(g->out, " %*s%s", c.number, heads[by][n], c.has_spread ? " spread  " : "");
	fprintf(g->out, "  %10s", "change ");
	if (c.has_p)
		fprintf(g->out, " %8s", "p");
	fputs(c.unit ? "  unit\n" : "\n", g->out);
	for (size_t n = 0; n < g->count; n++) {
		const struct comparison *one = &g->comparisons[n];

		/* of many groups only those that the question is about */
		if (by && unknown < g->count && !g->options->all && one->result != COMPARE_CLEAR)
			continue;
		print_comparison(g, one, &c);
		shown++;
	}
	snprintf(text, sizeof(text),
		 "%zu compared, %zu differ clearly (p < %.2f)%s%s; ~: maybe chance, %s", g->count,
		 clear, CLEAR_P,
		 medians ? ", by how far their medians are from those of all groups" : "",
		 shown < g->count ? ", only these are shown (-a: all)" : "",
		 unknown_text(g, unknown, rest, sizeof(rest)));
	fputc('\n', g->out);
	columns_wrap(g->out, text, 0, 0, c.terminal);
}

/* --- JSON ---------------------------------------------------------------------------- */

static struct json_object *side_json(const struct compare_group *side)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "captures", side->count);
	json_add_double(o, "median", side->median);
	json_add_double(o, "lower_quartile", side->low);
	json_add_double(o, "upper_quartile", side->high);
	json_add_double(o, "min", side->least);
	json_add_double(o, "max", side->most);
	return o;
}

static void print_json(const struct groups *g)
{
	struct json_object *root = json_object_new_object(), *o;
	struct json_object *groups = json_object_new_array(), *changes = json_object_new_array();

	json_add_u64(root, "version", 1);
	json_add_text(root, "by", g->options->by);
	json_add_bool(root, "by_mark", g->options->by_mark);
	json_add_text(root, "per", g->options->per);
	for (size_t n = 0; n < g->group_count; n++) {
		o = json_append(groups);
		json_add_text(o, "name", g->groups[n].name);
		json_add_u64(o, "captures", g->groups[n].captures);
	}
	json_add(root, "groups", groups);
	json_add_double(root, "confidence", 1 - CLEAR_P);
	for (size_t n = 0; n < g->count; n++) {
		const struct comparison *c = &g->comparisons[n];

		o = json_append(changes);
		json_add_text(o, "event", c->event->name);
		json_add_bool(o, "is_metric", c->event->is_metric);
		json_add_text(o, "number_unit", c->event->unit);
		json_add_text(o, "group", g->groups[c->group].name);
		json_add_text(o, "mark",
			      !g->options->by_mark ? NULL :
			      c->event->mark	   ? c->event->mark :
						     g->groups[c->group].name);
		json_add(o, "a", side_json(&c->ranks.a));
		json_add(o, "b", side_json(&c->ranks.b));
		json_add_double(o, "change", c->ranks.b.median - c->ranks.a.median);
		json_add_double(o, "change_percent", c->percent);
		json_add_double(o, "p", c->p);
		json_add_double(o, "p_adjusted", c->adjusted);
		json_add_text(o, "verdict", compare_result_names[c->result]);
		json_add_text(o, "test", c->is_of_medians ? "medians" : "ranks");
	}
	json_add(root, "changes", changes);
	json_write(g->out, root, true);
}

static int write_result(struct groups *g)
{
	struct output output;
	int status = output_open(g->app, g->options->output, &output);

	if (status)
		return status;
	g->out = output.stream;
	if (g->options->json)
		print_json(g);
	else
		print_text(g);
	return output_close(g->app, &output, 0);
}

int diff_groups(struct app *app, struct diff_options *options)
{
	struct groups g = { .app = app, .options = options };
	int damage =
		options->sides[0].has_left_out || options->sides[1].has_left_out ? EXIT_FAILED : 0;
	int status = read_captures(&g, &damage);

	if (!status && compare_events(&g)) {
		app_error(app, "out of memory");
		status = EXIT_FAILED;
	}
	if (!status)
		status = write_result(&g);
	if (!status)
		status = damage;
	for (size_t n = 0; !status && n < g.count; n++)
		if (diff_exceeds(options, g.comparisons[n].result, g.comparisons[n].percent))
			status = EXIT_DIFFERS;
	for (size_t n = 0; n < g.group_count; n++)
		free(g.groups[n].name);
	for (size_t n = 0; n < g.event_count; n++) {
		free(g.events[n].numbers);
		free(g.events[n].mark);
		free(g.events[n].name);
	}
	free(g.groups);
	free(g.events);
	table_free(&g.group_table);
	table_free(&g.event_table);
	free(g.group_of);
	free(g.comparisons);
	return status;
}
