// SPDX-License-Identifier: MIT
/* perfctr diff of groups of captures: medians, spread, and how sure a difference is. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "groups.h"
#include "lib/capture_file.h"
#include "lib/describe.h"
#include "lib/output.h"

/* groups that show what their medians vary by */
#define MEDIANS_LEAST 12
/* of a normal distribution: standard deviations in a median deviation */
#define OF_MEDIAN_DEVIATION 1.4826
#define UNKNOWN "unknown" /* the group of captures without the text */

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

static void free_event(struct group_event *e)
{
	free(e->numbers);
	free(e->p);
	free(e->mark);
	free(e->name);
	free(e->unit);
}

/* @scale: set for people. Return: the caller frees it; NULL: no memory. */
static char *event_unit(const struct groups *g, const struct row *row, const struct row *per,
			double *scale)
{
	char unit[ROW_UNIT_BYTES + ROW_EVENT_BYTES];

	if (g->options->per && !isnan(row->rate)) {
		snprintf(unit, sizeof(unit), "%s/%s", row->unit,
			 per && *per->unit ? per->unit : g->options->per);
		return strdup(unit);
	}
	if (!g->options->json && !isnan(row->rate))
		row_rate_unit(row, scale);
	return strdup(describe_rate_unit(row, !g->options->json, unit, sizeof(unit)));
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
	e->unit = event_unit(g, row, per, &e->scale);
	if (!e->numbers || !e->name || !e->unit || (mark && !e->mark)) {
		free_event(e);
		return NULL;
	}
	for (size_t n = 0; n < g->room; n++)
		e->numbers[n] = NAN;
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

/* an event's numbers, ready to compare groups */
struct ranked {
	struct compare_value *values;
	struct compare_all all;
};

/* The groups that are compared: with two sides only B. */
static size_t first_group(const struct groups *g)
{
	return g->options->by ? 0 : GROUP_B;
}

static void ranked_free(struct ranked *r)
{
	compare_ranks_end(&r->all);
	free(r->values);
}

/* Return: 0 or -ENOMEM; the caller frees in any case. */
static int rank(const struct groups *g, const struct group_event *e, struct ranked *r)
{
	size_t count = 0;

	*r = (struct ranked){ .values = calloc(g->capture_count + 1, sizeof(*r->values)) };
	if (!r->values)
		return -ENOMEM;
	for (size_t n = 0; n < g->capture_count; n++)
		if (!isnan(e->numbers[n]))
			r->values[count++] =
				(struct compare_value){ e->numbers[n], g->group_of[n] };
	qsort(r->values, count, sizeof(*r->values), by_number);
	return compare_ranks_begin(r->values, count, g->group_count, &r->all);
}

/* a comparison whose p is adjusted */
struct ordered {
	double p;
	size_t n;
};

static int by_p(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

/*
 * Adjust the p of an event for the number of its groups by Holm's method: of the probability that
 * anything is found in one of them by chance.
 */
static int adjust_for_groups(struct group_event *e, size_t count)
{
	struct ordered *order = calloc(count + 1, sizeof(*order));
	double most = 0;

	if (!order)
		return -ENOMEM;
	for (size_t n = 0; n < count; n++)
		if (!isnan(e->p[n]))
			order[e->valid++] = (struct ordered){ e->p[n], n };
	qsort(order, e->valid, sizeof(*order), by_p);
	for (size_t n = 0; n < e->valid; n++) {
		most = fmax(most, fmin(1, (double)(e->valid - n) * order[n].p));
		e->p[order[n].n] = most;
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
 * change. It is taken for larger by what it may be off by itself. @medians: @count; changed.
 */
static void spread_of_medians(struct group_event *e, double *medians, size_t count)
{
	qsort(medians, count, sizeof(*medians), by_double);
	e->medians = count;
	e->middle = count ? sorted_quantile(medians, count, 0.5) : 0;
	for (size_t n = 0; n < count; n++)
		medians[n] = fabs(medians[n] - e->middle);
	qsort(medians, count, sizeof(*medians), by_double);
	/* if more than half are equal, nothing says what the others vary by: 0 */
	if (count >= MEDIANS_LEAST)
		e->deviation = OF_MEDIAN_DEVIATION * sorted_quantile(medians, count, 0.5) *
			       (1 + 3.5 / sqrt((double)count));
}

/* What is the same everywhere, such as zero, cannot differ by chance. */
static bool is_constant(const struct compare_ranks *r)
{
	return r->a.least == r->a.most && r->b.least == r->b.most && r->a.least == r->b.least;
}

static bool is_zero(const struct groups *g, const struct group_event *e)
{
	for (size_t n = 0; n < g->capture_count; n++)
		if (!isnan(e->numbers[n]) && e->numbers[n] != 0)
			return false;
	return true;
}

/* Compare the groups of an event. @least: set to the smallest p; NAN: there is none. */
static int compare_event(struct groups *g, struct group_event *e, double *least)
{
	const size_t first = first_group(g), count = g->group_count - first;
	double *medians = calloc(count + 1, sizeof(*medians));
	bool *is_same = calloc(count + 1, sizeof(*is_same));
	struct ranked r = { 0 };
	size_t finite = 0;
	int error;

	*least = NAN;
	e->p = malloc((count + 1) * sizeof(*e->p));
	error = medians && is_same && e->p ? rank(g, e, &r) : -ENOMEM;
	for (size_t n = 0; !error && n < count; n++) {
		struct compare_ranks ranks;

		error = compare_ranks(&r.all, first + n, &ranks);
		e->p[n] = ranks.p;
		is_same[n] = is_constant(&ranks);
		if (isfinite(ranks.b.median))
			medians[finite++] = ranks.b.median;
	}
	error = error ? error : adjust_for_groups(e, count);
	for (size_t n = 0; !error && n < count; n++)
		*least = is_same[n] ? *least : fmin(*least, e->p[n]);
	if (!error && g->options->by && !g->options->are_marks)
		spread_of_medians(e, medians, finite);
	ranked_free(&r);
	free(medians);
	free(is_same);
	return error;
}

/*
 * Adjust p for the number of events, and decide. Events are chosen by the method of Benjamini and
 * Hochberg (1995), so that no more than 1 % of the chosen ones are expected to be wrong, and none
 * with 99 % probability if nothing differs, unless events move against each other. Holm's method
 * would find less of a change that moves many counters. Within an event the level is the chosen
 * ones' share of 1 % (Benjamini and Bogomolov 2014): p becomes the least level at which it is below
 * that.
 */
static void decide(const struct groups *g, struct comparison *c)
{
	const double tested = (double)g->tested, possible = (double)c->event->valid;
	size_t low = 0, high = g->tested;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (g->least[middle] <= c->p)
			low = middle + 1;
		else
			high = middle;
	}
	c->adjusted = fmin(fmin(1, tested * c->p / (double)low), g->levels[low]);
	/* the smallest that can be, if nothing else differs */
	c->result = c->adjusted < GROUPS_CLEAR_P			  ? COMPARE_CLEAR :
		    tested * possible * c->ranks.least_p < GROUPS_CLEAR_P ? COMPARE_NOISE :
									    COMPARE_UNKNOWN;
}

static void decide_by_median(const struct groups *g, struct comparison *c)
{
	const struct group_event *e = c->event;
	const double tests = (double)e->medians * (double)g->event_count;
	const double distance = fabs(c->ranks.b.median - e->middle) / e->deviation;

	c->is_of_medians = true;
	c->p = fmin(1, tests * 2 * normal_above(distance));
	c->adjusted = c->p;
	c->result = c->p < GROUPS_CLEAR_P ? COMPARE_CLEAR : COMPARE_NOISE;
}

static int compare_group(const struct groups *g, const struct group_event *e,
			 const struct ranked *r, size_t group, struct comparison *c)
{
	*c = (struct comparison){ .event = e, .group = group, .adjusted = NAN, .percent = NAN };
	c->p = e->p[group - first_group(g)];
	if (compare_ranks(&r->all, group, &c->ranks))
		return -ENOMEM;
	if (!isnan(c->p)) {
		c->percent = compare_percent(c->ranks.a.median, c->ranks.b.median);
		decide(g, c);
	}
	if (e->deviation > 0 && c->result == COMPARE_UNKNOWN && isfinite(c->ranks.b.median))
		decide_by_median(g, c);
	return 0;
}

int groups_each(const struct groups *g, comparison_fn fn, void *data)
{
	struct comparison c;
	int error = 0;

	for (size_t n = 0; g->order && !error && n < g->count; n++)
		error = fn(data, &g->order[n]);
	for (size_t n = 0; !g->order && !error && n < g->event_count; n++) {
		const struct group_event *e = &g->events[n];
		struct ranked r = { 0 };

		if (!e->is_compared)
			continue;
		error = rank(g, e, &r);
		for (size_t group = first_group(g); !error && group < g->group_count; group++) {
			error = compare_group(g, e, &r, group, &c);
			error = error ? error : fn(data, &c);
		}
		ranked_free(&r);
	}
	return error;
}

static int by_change(const void *a, const void *b)
{
	const struct comparison *x = a, *y = b;
	double p = isnan(x->percent) ? INFINITY : fabs(x->percent);
	double q = isnan(y->percent) ? INFINITY : fabs(y->percent);

	return (p < q) - (p > q);
}

static int append(void *data, const struct comparison *c)
{
	struct comparison **end = data;

	*(*end)++ = *c;
	return 0;
}

static int sort(struct groups *g)
{
	struct comparison *order = calloc(g->count + 1, sizeof(*order)), *end = order;
	int error = order ? groups_each(g, append, &end) : -ENOMEM;

	if (error) {
		free(order);
		return error;
	}
	qsort(order, g->count, sizeof(*order), by_change);
	g->order = order;
	return 0;
}

/* Find the p of all comparisons. */
static int compare_events(struct groups *g)
{
	int error = 0;

	/* nothing is looked up any more */
	table_free(&g->group_table);
	table_free(&g->event_table);
	g->least = calloc(g->event_count + 1, sizeof(*g->least));
	g->levels = calloc(g->event_count + 2, sizeof(*g->levels));
	if (!g->least || !g->levels)
		return -ENOMEM;
	for (size_t n = 0; !error && n < g->event_count; n++) {
		struct group_event *e = &g->events[n];

		e->is_compared = g->options->all || !is_zero(g, e);
		if (!e->is_compared)
			continue;
		g->count += g->group_count - first_group(g);
		error = compare_event(g, e, &g->least[g->tested]);
		g->tested += !isnan(g->least[g->tested]);
	}
	qsort(g->least, g->tested, sizeof(*g->least), by_double);
	/* the least level at which that many events or more are chosen */
	g->levels[g->tested] = INFINITY;
	for (size_t n = g->tested; n--;)
		g->levels[n] =
			fmin(g->levels[n + 1], (double)g->tested * g->least[n] / (double)(n + 1));
	return !error && g->options->sort ? sort(g) : error;
}

int groups_compare(struct groups *g, int *damage)
{
	int status = read_captures(g, damage);

	return !status && compare_events(g) ? app_failed(g->app, -ENOMEM) : status;
}

void groups_free(struct groups *g)
{
	for (size_t n = 0; n < g->group_count; n++)
		free(g->groups[n].name);
	for (size_t n = 0; n < g->event_count; n++)
		free_event(&g->events[n]);
	free(g->groups);
	free(g->events);
	table_free(&g->group_table);
	table_free(&g->event_table);
	free(g->group_of);
	free(g->least);
	free(g->levels);
	free(g->order);
	*g = (struct groups){ 0 };
}
