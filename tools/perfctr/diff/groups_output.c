// SPDX-License-Identifier: MIT
/* What diff prints of groups: a table, marks beside each other, or JSON. */
#include "groups.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "common/number.h"
#include "distribution.h"
#include "lib/describe.h"
#include "lib/json.h"
#include "lib/output.h"

enum { EVENT_LEAST = 12, GROUP_MOST = 40 };

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

	while (least_p(tests, enough, enough) >= GROUPS_CLEAR_P)
		enough++;
	if (unknown && !g->options->by && least_p(tests, a, b) >= GROUPS_CLEAR_P)
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

/* what is shown of the comparisons, and how wide */
struct shown {
	struct groups *g;
	struct columns columns;
	size_t clear, unknown, medians, count;
	bool are_clear; /* of many groups only those that the question is about */
};

static int count_comparison(void *data, const struct comparison *c)
{
	struct shown *s = data;

	s->clear += c->result == COMPARE_CLEAR;
	s->medians += c->is_of_medians;
	s->unknown += c->result == COMPARE_UNKNOWN;
	s->g->exceeds |= diff_exceeds(s->g->options, c->result, c->percent);
	return 0;
}

static bool is_shown(const struct shown *s, const struct comparison *c)
{
	return !s->are_clear || c->result == COMPARE_CLEAR;
}

static int measure_comparison(void *data, const struct comparison *c)
{
	struct shown *s = data;
	char number[32];

	for (size_t n = 0; is_shown(s, c) && n < 2; n++) {
		const struct compare_group *side = n ? &c->ranks.b : &c->ranks.a;

		s->columns.number = columns_wider(s->columns.number,
						  number_short(side->median * c->event->scale,
							       number, sizeof(number)));
	}
	return 0;
}

/* If the table is too wide, cut names, give them lines, then drop spreads, units and p. */
static int lay_out(struct shown *s)
{
	const struct groups *g = s->g;
	struct columns *c = &s->columns;
	const bool by = g->options->by;
	int error;

	*c = (struct columns){ .event = (int)strlen("event"),
			       .number = 9,
			       .unit = (int)strlen("unit"),
			       .has_spread = true,
			       .has_p = true,
			       .terminal = terminal_columns(g->out, INT_MAX) };
	for (size_t n = 0; by && n < g->group_count; n++)
		c->group = columns_wider(c->group, g->groups[n].name);
	for (size_t n = 0; n < g->event_count; n++) {
		c->event = columns_wider(c->event, g->events[n].name);
		c->unit = columns_wider(c->unit, g->events[n].unit);
		c->mark = g->events[n].mark ? columns_wider(c->mark, g->events[n].mark) : c->mark;
	}
	error = groups_each(g, measure_comparison, s);
	c->group = by ? columns_wider(c->group, g->options->by) : 0;
	c->mark = c->mark ? columns_wider(c->mark, "mark") : 0;
	c->group = c->group > GROUP_MOST ? GROUP_MOST : c->group;
	c->mark = c->mark > GROUP_MOST ? GROUP_MOST : c->mark;
	if (columns_of(c) <= c->terminal)
		return error;
	c->event -= columns_of(c) - c->terminal;
	c->event = c->event < EVENT_LEAST ? 0 : c->event;
	c->has_spread = columns_of(c) <= c->terminal;
	if (columns_of(c) > c->terminal)
		c->unit = 0;
	c->has_p = columns_of(c) <= c->terminal;
	return error;
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
	for (size_t n = 0; n < g->event_count; n++) {
		if (!g->events[n].is_compared)
			continue;
		event = columns_wider(event, g->events[n].name);
		unit = columns_wider(unit, g->events[n].unit);
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
		for (size_t n = 0; n < g->event_count; n++) {
			const struct group_event *e = &g->events[n];

			if (!e->is_compared)
				continue;
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

static int print_shown(void *data, const struct comparison *c)
{
	struct shown *s = data;

	if (is_shown(s, c)) {
		print_comparison(s->g, c, &s->columns);
		s->count++;
	}
	return 0;
}

static int print_text(struct groups *g)
{
	static const char *const heads[][2] = { { "median A", "median B" },
						{ "others ", "median " } };
	const bool by = g->options->by;
	struct shown s = { .g = g };
	const struct columns *c = &s.columns;
	int error = groups_each(g, count_comparison, &s);
	char text[512], number[32], rest[192];

	for (size_t n = 0; !by && n < 2; n++) {
		const struct capture_list *side = &g->options->sides[n];
		const size_t count = g->groups[n].captures;

		fprintf(g->out, " %c  %s%s: %zu capture%s\n", "AB"[n], side -> first,
			side -> count > 1 ? " ..." : "", count, count == 1 ? "" : "s");
	}
	if (g->options->are_marks)
		fprintf(g->out, " %s: frames and phases of %zu name%s\n", g->options->sides->first,
			g->group_count, plural(g->group_count));
	else if (by)
		fprintf(g->out, " %s capture%s of %zu group%s by %s\n",
			number_group(g->capture_count, number, sizeof(number)),
			plural(g->capture_count), g->group_count, plural(g->group_count),
			g->options->by);
	if (!g->count) {
		fputs("\nall is zero, or was not measured (-a: show it)\n", g->out);
		return error;
	}
	if (g->options->are_marks && s.unknown == g->count) {
		print_marks(g);
		return error;
	}
	s.are_clear = by && s.unknown < g->count && !g->options->all;
	error = error ? error : lay_out(&s);
	fputc('\n', g->out);
	columns_name(g->out, "event", c->event, c->terminal);
	print_cell(g, g->options->by, c->group);
	print_cell(g, "mark", c->mark);
	for (size_t n = 0; n < 2; n++)
		fprintf(g->out, " %*s%s", c->number, heads[by][n],
			c->has_spread ? " spread  " : "");
	fprintf(g->out, "  %10s", "change ");
	if (c->has_p)
		fprintf(g->out, " %8s", "p");
	fputs(c->unit ? "  unit\n" : "\n", g->out);
	error = error ? error : groups_each(g, print_shown, &s);
	snprintf(text, sizeof(text),
		 "%zu compared, %zu differ clearly (p < %.2f)%s%s; ~: maybe chance, %s", g->count,
		 s.clear, GROUPS_CLEAR_P,
		 s.medians ? ", by how far their medians are from those of all groups" : "",
		 s.count < g->count ? ", only these are shown (-a: all)" : "",
		 unknown_text(g, s.unknown, rest, sizeof(rest)));
	fputc('\n', g->out);
	columns_wrap(g->out, text, 0, 0, c->terminal);
	return error;
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

static int write_change(void *data, const struct comparison *c)
{
	struct json_stream *json = data;
	struct groups *g = json->data;
	struct json_object *o = json_object_new_object();

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
	json_stream_item(json, o);
	g->exceeds |= diff_exceeds(g->options, c->result, c->percent);
	return 0;
}

static int print_json(struct groups *g)
{
	struct json_stream json = { .to = g->out, .data = g };
	struct json_object *root = json_object_new_object(), *o;
	int error;

	json_add_u64(root, "version", 1);
	json_add_text(root, "by", g->options->by);
	json_add_bool(root, "by_mark", g->options->by_mark);
	json_add_text(root, "per", g->options->per);
	json_stream_members(&json, root);
	json_stream_array(&json, "groups");
	for (size_t n = 0; n < g->group_count; n++) {
		o = json_object_new_object();
		json_add_text(o, "name", g->groups[n].name);
		json_add_u64(o, "captures", g->groups[n].captures);
		json_stream_item(&json, o);
	}
	root = json_object_new_object();
	json_add_double(root, "confidence", 1 - GROUPS_CLEAR_P);
	json_stream_members(&json, root);
	json_stream_array(&json, "changes");
	error = groups_each(g, write_change, &json);
	json_stream_end(&json);
	return error;
}

/* --- command ------------------------------------------------------------------------- */

static int write_result(struct groups *g)
{
	struct output output;
	int status = output_open(g->app, g->options->output, &output);

	if (status)
		return status;
	g->out = output.stream;
	if (g->options->json ? print_json(g) : print_text(g))
		status = app_failed(g->app, -ENOMEM);
	return output_close(g->app, &output, status);
}

int diff_groups(struct app *app, struct diff_options *options)
{
	struct groups g = { .app = app, .options = options };
	int damage =
		options->sides[0].has_left_out || options->sides[1].has_left_out ? EXIT_FAILED : 0;
	int status = groups_compare(&g, &damage);

	if (!status)
		status = write_result(&g);
	if (!status)
		status = damage;
	if (!status && g.exceeds)
		status = EXIT_DIFFERS;
	groups_free(&g);
	return status;
}
