// SPDX-License-Identifier: MIT
/* perfctr diff: two captures, counter by counter, or the command line of groups of captures. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/number.h"
#include "diff.h"
#include "lib/json.h"
#include "lib/output.h"
#include "lib/stream.h"
#include "lib/describe.h"
#include "lib/table.h"
#include "lib/timeline.h"

enum {
	PIECES = 40, /* intervals of a capture from which the variance of its rates is estimated */
	/* minimum number of samples in an interval */
	SAMPLES_PER_PIECE = 2,
	EVENT_WIDTH = 28,
	COUNT_WIDTH = 20,
	HEAD_INDENT = 4,
	NAME_BYTES = 40,
};

static const char help[] =
	"usage: perfctr diff [OPTION...] A B\n"
	"       perfctr diff [OPTION...] A... --against B...\n"
	"       perfctr diff [OPTION...] --by KEY CAPTURE...\n"
	"       perfctr diff [OPTION...] --by-mark CAPTURE\n"
	"\n"
	"Compares captures of perfctr record, counter by counter and metric by metric: totals,\n"
	"and rates, which do not depend on how long was recorded. The row \"time\", which -e can\n"
	"choose too, says how long: a capture, or a frame or phase of --by-mark on average. A\n"
	"directory stands for all captures in it and below it.\n"
	"\n"
	"      --against B...       two groups of captures; must be last\n"
	"      --by KEY             each group against all other captures: host, device, command\n"
	"                           or another text of the captures (report --json: texts)\n"
	"      --by-mark            of one capture: frames and phases by name, beside each other\n"
	"                           (perfctr mark --help); of two, or with --against: those of\n"
	"                           a name in A against B, a number in each capture; with --by:\n"
	"                           those of a name, each group against all others\n"
	"      --mark PATTERN       only frames and phases of such names; may be repeated\n"
	"      --from TIME          only captures that begin then or later: 2026-11-30,\n"
	"                           '2026-11-30 12:00', also with Z or +01:00, '2 hours ago',\n"
	"                           yesterday, today, @SECONDS since 1970\n"
	"      --to TIME            only captures that begin before\n"
	"      --per EVENT          divide counts by that counter's, not by the time\n"
	"  -e, --event PATTERN      only what matches, e.g. 'metric:*'; may be repeated\n"
	"  -A, --per-core           single blocks and cores too (also --per-block)\n"
	"  -a, --all                also what is zero in both\n"
	"  -s, --sort               largest relative change of the rate first\n"
	"      --threshold PERCENT  status 5 if a rate differs by more, and clearly\n"
	"  -j, --json               one JSON document\n"
	"  -o, --output OUT         write there instead of to stdout\n"
	"\n"
	"+- is the 99 % confidence interval of a rate's change, from how much the rate varies\n"
	"within each capture. A change within it is marked ~: chance may have made it. ?: too\n"
	"few samples. Two captures do not show what varies from run to run. Groups do: shown are\n"
	"medians, +- half the range of the middle half of the captures, and p, how often chance\n"
	"alone makes so large a difference (rank test), which allows for the number of events\n"
	"and, with --by, of groups. Below 0.01 it is clear.\n"
	"\n"
	"Exit: 0 fine, 1 error or part of a file could not be read, 2 usage, 5 see --threshold.\n";

static int take_threshold(const struct app *app, void *options, const char *text)
{
	struct diff_options *o = options;
	char *end;

	o->threshold_percent = strtod(text, &end);
	o->has_threshold = true;
	if (end == text || *end || !(o->threshold_percent >= 0))
		return app_usage(app, "--threshold '%s': give a number of percent", text);
	return 0;
}

/*
 * Find the groups. Words after --against are of B: getopt would move them to those of A.
 * @others: after --against, or NULL.
 */
static int take_captures(const struct app *app, char **words, int count, char **others,
			 struct diff_options *o)
{
	int other_count = 0, status;

	while (others && others[other_count])
		other_count++;
	for (int n = 0; n < other_count; n++)
		if (others[n][0] == '-' && others[n][1])
			return app_usage(app, "%s: options come before --against", others[n]);
	if (o->by && others)
		return app_usage(app, "--by excludes --against");
	if (o->marks.count && !o->by_mark)
		return app_usage(app, "--mark chooses among the names of --by-mark");
	o->are_marks = o->by_mark && !o->by && !others && count == 1;
	if (o->are_marks)
		o->by = "mark";
	if (others && (!count || !other_count))
		return app_usage(app, "give captures on both sides of --against");
	if (o->by && !count)
		return app_usage(app, "give captures, or a directory of captures");
	if (!o->by && !others && count != 2)
		return app_usage(app, "give two captures; of groups: A... --against B...");
	if (!o->by && !others) {
		others = words + 1;
		count = other_count = 1;
	}
	o->is_of_groups = o->by || o->by_mark || o->per || count > 1 || other_count > 1;
	status = capture_list_add(app, words, count, &o->sides[0]);
	if (!status && others)
		status = capture_list_add(app, others, other_count, &o->sides[1]);
	for (size_t n = 0; !status && n < 2 && !o->by; n++)
		o->is_of_groups |= o->sides[n].count != 1 ||
				   strcmp(o->sides[n].first, n ? others[0] : words[0]);
	o->sides[1].times = o->sides[0].times;
	if (!status && !o->is_of_groups &&
	    (o->sides[0].times.from.is_given || o->sides[0].times.to.is_given))
		return app_usage(app, "--from and --to choose among captures: give directories");
	return status;
}

static int parse_options(const struct app *app, int argc, char **argv, struct diff_options *o)
{
	const struct option_spec options[] = {
		OPTION(0, "by", TEXT, &o->by),
		OPTION(0, "by-mark", FLAG, &o->by_mark),
		OPTION(0, "mark", WORDS, &o->marks),
		OPTION(0, "per", TEXT, &o->per),
		OPTION('e', "event", WORDS, &o->patterns),
		OPTION_PER_BLOCK(&o->per_block),
		OPTION('a', "all", FLAG, &o->all),
		OPTION('s', "sort", FLAG, &o->sort),
		OPTION(0, "threshold", CALL, o, .call = take_threshold),
		OPTION('j', "json", FLAG, &o->json),
		OPTION('o', "output", TEXT, &o->output),
		CAPTURE_OPTIONS_TIMES(&o->sides[0].times),
		OPTIONS_END,
	};
	char **others = NULL;
	int status;

	for (int n = 1; n < argc && !others; n++) {
		if (strcmp(argv[n], "--against"))
			continue;
		others = argv + n + 1;
		argv[n] = NULL;
		argc = n;
	}
	status = option_parse(app, argc, argv, help, options, THEN_WORDS);
	return status ? status : take_captures(app, argv + optind, argc - optind, others, o);
}

/* --- one counter in both ------------------------------------------------------- */

/*
 * What is compared of a counter or metric of a capture. The rest of a capture, of which it is made,
 * is freed before the next one is read: the sides of a comparison take turns in memory.
 */
struct line {
	const char *event, *unit; /* in the texts of its capture */
	char *notes; /* owned; NULL: none, or they are not shown */
	/* as in struct row, and as row_of() makes one of them */
	const struct perfctr_counter_desc *desc;
	uint64_t value, missed;
	double number, scale;
	uint64_t measured; /* samples in which it was measured */
	double mean; /* rate, level or metric over the whole capture; NAN if there is none */
	double squares; /* of the intervals' means, see struct spread */
	uint32_t pieces; /* these intervals */
	uint8_t state, flags;
	bool is_metric : 1, is_software : 1;
	bool is_block : 1; /* of a single block, else the sum over its type */
	bool is_repeated : 1; /* a metric of the device is already among the lines of sums */
	bool is_chosen : 1; /* by -e */
};

struct change {
	const struct line *sides[2]; /* NULL if the capture lacks the counter */
	/* of the means; NAN if there is none */
	double difference;
	double percent;
	/* half the width of the confidence interval of the difference, NAN if unknown */
	double error;
	enum compare_result result;
};

struct compared {
	struct capture capture;
	struct line *lines; /* the time, and those of all sessions */
	size_t line_count;
	struct row_texts *texts;
	struct table table; /* of the lines */
};

struct diff {
	struct app *app;
	struct diff_options options;
	struct compared captures[2];
	struct change *changes;
	size_t count;
	FILE *out;
};

static const struct line *any_line(const struct change *c)
{
	return c->sides[0] ? c->sides[0] : c->sides[1];
}

/* What describes a line's value and its units. */
static struct row row_of(const struct line *l)
{
	return (struct row){
		.event = l->event,
		.unit = l->unit,
		.desc = l->desc,
		/* which one makes no difference */
		.metric = l->is_metric ? diff_time.metric : NULL,
		.is_software = l->is_software,
		.state = l->state,
		.flags = l->flags,
		.value = l->value,
		.number = l->number,
		.scale = l->scale,
	};
}

static void compare(struct change *c)
{
	const struct line *a = c->sides[0], *b = c->sides[1];
	double error;

	c->difference = NAN;
	c->percent = NAN;
	c->error = NAN;
	if (!a || !b || isnan(a->mean) || isnan(b->mean))
		return;
	c->difference = b->mean - a->mean;
	c->percent = compare_percent(a->mean, b->mean);
	if (!compare_error(&(struct spread){ .squares = a->squares, .count = a->pieces },
			   &(struct spread){ .squares = b->squares, .count = b->pieces }, &error))
		return;
	c->error = error;
	c->result = fabs(c->difference) > error ? COMPARE_CLEAR : COMPARE_NOISE;
}

/* what is looked for among the lines of a capture */
struct key {
	const struct compared *of;
	const struct line *like;
};

static bool is_like(const void *data, size_t number)
{
	const struct key *key = data;
	const struct line *line = &key->of->lines[number];

	return line->is_block == key->like->is_block && !strcmp(line->event, key->like->event);
}

/* Of several lines of a name the first one is found. */
static int index_lines(struct compared *c)
{
	int error = 0;

	for (size_t n = 0; !error && n < c->line_count; n++) {
		const struct key key = { c, &c->lines[n] };
		size_t found;

		error = table_add(&c->table, table_hash(TABLE_HASH, c->lines[n].event), is_like,
				  &key, n, &found);
	}
	return error;
}

static const struct line *find_line(const struct compared *c, const struct line *like)
{
	const struct key key = { c, like };
	size_t found;

	return table_find(&c->table, table_hash(TABLE_HASH, like->event), is_like, &key, &found) ?
		       &c->lines[found] :
		       NULL;
}

static bool is_shown(const struct diff *d, const struct change *c)
{
	if (!any_line(c)->is_chosen)
		return false;
	if (d->options.all)
		return true;
	for (size_t n = 0; n < 2; n++) {
		const struct line *line = c->sides[n];

		if (line && (line->state != PERFCTR_VALUE_OK || line->number != 0 || line->missed))
			return true;
	}
	return false;
}

static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double p = isnan(x->percent) ? INFINITY : fabs(x->percent);
	double q = isnan(y->percent) ? INFINITY : fabs(y->percent);

	return (p < q) - (p > q);
}

/* Match lines of A and B by name; lines that are only in B are last. */
static int match(struct diff *d)
{
	const struct compared *a = &d->captures[0], *b = &d->captures[1];

	d->changes = calloc(a->line_count + b->line_count + 1, sizeof(*d->changes));
	if (!d->changes || index_lines(&d->captures[0]) || index_lines(&d->captures[1]))
		return -ENOMEM;
	for (size_t n = 0; n < a->line_count + b->line_count; n++) {
		bool of_a = n < a->line_count;
		const struct line *line = of_a ? &a->lines[n] : &b->lines[n - a->line_count];
		struct change *c = &d->changes[d->count];

		if (line->is_repeated || (!of_a && find_line(a, line)))
			continue;
		*c = (struct change){ 0 };
		c->sides[!of_a] = line;
		if (of_a)
			c->sides[1] = find_line(b, line);
		compare(c);
		d->count += is_shown(d, c);
	}
	if (d->options.sort)
		qsort(d->changes, d->count, sizeof(*d->changes), by_change);
	return 0;
}

/* --- text ------------------------------------------------------------------------ */

static void print_capture(const struct diff *d, size_t n, const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	const char *command = capture_file_text(file, "command");
	const int columns = terminal_columns(d->out, INT_MAX);
	char date[64], text[512], number[32], *line;

	if (asprintf(&line, "%s  %s%s%s", file->path, capture_file_name(file), command ? ": " : "",
		     command ? command : "") < 0) {
		stream_fail(d->out, ENOMEM);
		return;
	}
	fprintf(d->out, " %c  ", "AB"[n]);
	columns_wrap(d->out, line, HEAD_INDENT, HEAD_INDENT, columns);
	free(line);
	snprintf(text, sizeof(text), "%s, %.6f s, %s sample%s",
		 describe_date(file, date, sizeof(date)), (double)span->elapsed_ns * 1e-9,
		 number_group(span->samples, number, sizeof(number)),
		 span->samples == 1 ? "" : "s");
	columns_wrap(d->out, text, 0, HEAD_INDENT, columns);
	for (size_t i = 0; describe_trouble(file, i, text, sizeof(text)); i++) {
		fprintf(d->out, "    note: ");
		columns_wrap(d->out, text, HEAD_INDENT + 6, HEAD_INDENT, columns);
	}
}

static char *count_text(const struct line *line, char *text, size_t size)
{
	struct row row;

	if (!line) {
		snprintf(text, size, "-");
		return text;
	}
	row = row_of(line);
	return describe_value(&row, text, size);
}

static char *unit_text(const struct line *line, bool of_shares, char *text, size_t size)
{
	const struct row row = row_of(line);

	return describe_rate_unit(&row, of_shares, text, size);
}

/* Absolute change of exact counts. */
static char *difference_text(const struct change *c, char *text, size_t size)
{
	const struct line *a = c->sides[0], *b = c->sides[1];
	struct row row;
	char number[32];
	bool is_more;

	*text = '\0';
	if (!a || !b || a->is_metric || !(a->flags & b->flags & PERFCTR_VALUE_INTEGER))
		return text;
	row = row_of(a);
	is_more = row_is_level(&row) ? (int64_t)b->value > (int64_t)a->value : b->value > a->value;
	snprintf(text, size, "%s%s",
		 b->value == a->value ? "" :
		 is_more	      ? "+" :
					"-",
		 number_group(is_more ? b->value - a->value : a->value - b->value, number,
			      sizeof(number)));
	return text;
}

static void notes_text(const struct change *c, char *text, size_t size)
{
	*text = '\0';
	for (size_t n = 0; n < 2; n++) {
		const struct line *line = c->sides[n];
		const size_t at = strlen(text);

		if (!line)
			snprintf(text + at, size - at, "%s(not in %c)", at ? "  " : "", "AB"[n]);
		else if (line->notes)
			snprintf(text + at, size - at, "%s(%c: %s)", at ? "  " : "", "AB"[n],
				 line -> notes);
	}
}

static double mean_of_side(const struct change *c, size_t n)
{
	return c->sides[n] ? c->sides[n]->mean : NAN;
}

/* Column widths in characters, and which columns fit. */
struct layout {
	int event, count, difference, unit;
	bool has_rates, has_error;
	int columns;
};

enum {
	RATE_COLUMNS = 9,
	UNIT_COLUMNS = 14,
	CHANGE_COLUMNS = 11,
	ERROR_COLUMNS = 9,
	EVENT_LEAST = 12,
};

static int columns_of(const struct layout *l)
{
	return l->event + 2 * (1 + l->count) + (l->difference ? 1 + l->difference : 0) +
	       (l->has_rates ? 2 + 2 * RATE_COLUMNS + 1 + l->unit + 1 : 0) + 1 + CHANGE_COLUMNS +
	       (l->has_error ? 1 + ERROR_COLUMNS : 0);
}

/* If the table is too wide, drop the rates, then the difference, the error, then cut names. */
static struct layout lay_out(const struct diff *d)
{
	struct layout l = { EVENT_WIDTH, COUNT_WIDTH, COUNT_WIDTH, UNIT_COLUMNS, true, true, 0 };
	struct layout least = { 5, 7, 5, UNIT_COLUMNS, true, true, 0 };
	char text[64];

	l.columns = terminal_columns(d->out, INT_MAX);
	for (size_t n = 0; n < d->count; n++) {
		const struct change *c = &d->changes[n];

		l.event = columns_wider(l.event, any_line(c)->event);
		least.event = columns_wider(least.event, any_line(c)->event);
		l.unit = columns_wider(l.unit, unit_text(any_line(c), true, text, sizeof(text)));
		least.unit = l.unit;
		for (size_t side = 0; side < 2; side++)
			least.count = columns_wider(least.count,
						    count_text(c->sides[side], text, sizeof(text)));
		least.difference =
			columns_wider(least.difference, difference_text(c, text, sizeof(text)));
	}
	if (columns_of(&l) <= l.columns)
		return l;
	least.columns = l.columns;
	least.has_rates = columns_of(&least) <= l.columns;
	if (columns_of(&least) > l.columns)
		least.difference = 0;
	if (columns_of(&least) > l.columns)
		least.has_error = false;
	if (columns_of(&least) > l.columns)
		least.event -= columns_of(&least) - l.columns;
	/* then each name gets a line of its own */
	if (least.event < EVENT_LEAST)
		least.event = 0;
	return least;
}

static void print_change(const struct diff *d, const struct change *c, const struct layout *l)
{
	const struct line *line = any_line(c);
	char a[64], b[64], difference[48], rate_a[32], rate_b[32], percent[32], error[32] = "";
	char unit[64], notes[560];

	/* there is an error only if both sides have a mean */
	if (!isnan(c->error) && c->sides[0]->mean != 0)
		snprintf(error, sizeof(error), "+-%.2f", 100 * c->error / fabs(c->sides[0]->mean));
	columns_name(d->out, line->event, l->event, l->columns);
	fprintf(d->out, " %*s %*s", l->count, count_text(c->sides[0], a, sizeof(a)), l->count,
		count_text(c->sides[1], b, sizeof(b)));
	if (l->difference)
		fprintf(d->out, " %*s", l->difference,
			difference_text(c, difference, sizeof(difference)));
	if (l->has_rates)
		fprintf(d->out, "  %9s %9s %-*s",
			number_short(mean_of_side(c, 0), rate_a, sizeof(rate_a)),
			number_short(mean_of_side(c, 1), rate_b, sizeof(rate_b)), l->unit,
			unit_text(line, true, unit, sizeof(unit)));
	fprintf(d->out, " %c%10s", compare_mark(c->result),
		compare_percent_text(c->percent, percent, sizeof(percent)));
	if (l->has_error)
		fprintf(d->out, " %-9s", error);
	notes_text(c, notes, sizeof(notes));
	if (!*notes) {
		fputc('\n', d->out);
	} else if (columns_of(l) + 2 + (long)strlen(notes) <= l->columns) {
		fprintf(d->out, "  %s\n", notes);
	} else {
		fputc('\n', d->out);
		columns_wrap(d->out, notes, 0, 2, l->columns);
	}
}

static void print_text(const struct diff *d)
{
	const struct layout l = lay_out(d);
	size_t clear = 0, both = 0;
	char text[128];

	for (size_t n = 0; n < d->count; n++) {
		clear += d->changes[n].result == COMPARE_CLEAR;
		both += d->changes[n].sides[0] && d->changes[n].sides[1];
	}
	for (size_t n = 0; n < 2; n++)
		for (size_t i = 0; i < d->captures[n].capture.count; i++)
			print_capture(d, n, &d->captures[n].capture.files[i]);
	if (!d->count) {
		fputs("\nall is zero, or was not measured (-a: show it)\n", d->out);
		return;
	}
	fputc('\n', d->out);
	columns_name(d->out, "event", l.event, l.columns);
	fprintf(d->out, " %*s %*s", l.count, "count A", l.count, "count B");
	if (l.difference)
		fprintf(d->out, " %*s", l.difference, "B - A");
	if (l.has_rates)
		fprintf(d->out, "  %9s %9s %-*s", "rate A ", "rate B ", l.unit, "unit");
	fprintf(d->out, "  %10s%s\n", "change ", l.has_error ? " +-99 %" : "");
	for (size_t n = 0; n < d->count; n++)
		print_change(d, &d->changes[n], &l);
	fputc('\n', d->out);
	snprintf(text, sizeof(text),
		 "%zu compared, %zu differ clearly; ~ may be chance, ? too few samples (of time "
		 "there is one)",
		 both, clear);
	columns_wrap(d->out, text, 0, 0, l.columns);
}

/* --- JSON --------------------------------------------------------------------------- */

static struct json_object *side_json(const struct line *line)
{
	struct json_object *o;
	struct row row;

	if (!line)
		return NULL;
	row = row_of(line);
	o = json_object_new_object();
	json_add(o, "value", rows_json_value(&row));
	json_add_double(o, "number", line->mean);
	json_add_text(o, "state", perfctr_value_state_text(line->state));
	json_add_bool(o, "estimated", line->flags & PERFCTR_VALUE_ESTIMATED);
	json_add_u64(o, "samples_measured", line->measured);
	json_add_u64(o, "samples_missed", line->missed);
	return o;
}

static struct json_object *change_json(const struct change *c)
{
	struct json_object *o = json_object_new_object();
	const struct line *line = any_line(c);
	char unit[64];

	json_add_text(o, "event", line->event);
	json_add_bool(o, "is_metric", line->is_metric);
	json_add_text(o, "unit", line->unit);
	json_add_text(o, "number_unit", unit_text(line, false, unit, sizeof(unit)));
	json_add(o, "a", side_json(c->sides[0]));
	json_add(o, "b", side_json(c->sides[1]));
	json_add_double(o, "change", c->difference);
	json_add_double(o, "change_percent", c->percent);
	json_add_double(o, "change_error", c->error);
	json_add_text(o, "verdict", compare_result_names[c->result]);
	return o;
}

static struct json_object *compared_json(const struct compared *c)
{
	struct json_object *root = capture_file_json(c->capture.files);
	struct json_object *sessions;

	if (c->capture.count == 1)
		return root;
	sessions = json_object_new_array();
	for (size_t n = 0; n < c->capture.count; n++)
		json_object_array_add(sessions, capture_file_json(&c->capture.files[n]));
	json_add(root, "sessions", sessions);
	return root;
}

static void print_json(const struct diff *d)
{
	struct json_stream json = { .to = d->out };
	struct json_object *root = json_object_new_object();

	json_add_u64(root, "version", 1);
	json_add(root, "a", compared_json(&d->captures[0]));
	json_add(root, "b", compared_json(&d->captures[1]));
	json_add_double(root, "confidence", 0.99);
	json_stream_members(&json, root);
	json_stream_array(&json, "changes");
	for (size_t n = 0; n < d->count; n++)
		json_stream_item(&json, change_json(&d->changes[n]));
	json_stream_end(&json);
}

/* --- command ------------------------------------------------------------------------- */

static double mean_of_line(const struct timeline_line *line)
{
	if (line->row->state != PERFCTR_VALUE_OK)
		return NAN;
	return line->is_rate ? line->row->rate : line->row->number;
}

/* Take what is compared of lines, whose texts have to stay. Return: 0 or -ENOMEM. */
static int take_lines(const struct diff *d, struct compared *c, const struct timeline_line *lines,
		      size_t count)
{
	struct line *more = realloc(c->lines, (c->line_count + count + 1) * sizeof(*more));
	char notes[256];

	if (!more)
		return -ENOMEM;
	c->lines = more;
	for (const struct timeline_line *from = lines; from < lines + count; from++) {
		const struct row *row = from->row;
		struct line *to = &more[c->line_count++];

		*to = (struct line){
			.event = row->event,
			.unit = row->unit,
			.desc = row->desc,
			.value = row->value,
			.missed = row->missed,
			.number = row->number,
			.scale = row->scale,
			.measured = row->metric ? from->samples : row->measured,
			.mean = mean_of_line(from),
			.squares = from->spread.squares,
			.pieces = (uint32_t)from->spread.count,
			.state = (uint8_t)row->state,
			.flags = (uint8_t)row->flags,
			.is_metric = row->metric,
			.is_software = row->is_software,
			.is_block = from->is_block,
			.is_repeated = from->is_block && row->metric && !row->info,
			.is_chosen = row_matches(row, &d->options.patterns),
		};
		if (d->options.json || !*describe_notes(row, notes, sizeof(notes)))
			continue;
		to->notes = strdup(notes);
		if (!to->notes)
			return -ENOMEM;
	}
	return 0;
}

static int take_time(const struct diff *d, struct compared *c)
{
	struct row row = diff_time;
	const struct timeline_line time = { .row = &row, .samples = 1 };

	row.number = diff_seconds(&c->capture);
	return take_lines(d, c, &time, 1);
}

/* Take what is compared of a session, and free the rest of it. Return: 0 or an exit status. */
static int take_session(const struct diff *d, struct compared *c, struct capture_file *file)
{
	uint64_t pieces = perfctr_totals_span(file->totals)->samples / SAMPLES_PER_PIECE;
	struct timeline_limits limits = { .per_block = d->options.per_block, .summary = true };
	struct timeline timeline;
	int status, error;

	pieces = pieces > PIECES ? PIECES : pieces;
	limits.bins = pieces ? (size_t)pieces : 1;
	status = timeline_fill(d->app, file, &limits, &timeline);
	if (!status && !d->options.json)
		timeline_use_shares(&timeline);
	error = status ? 0 : take_lines(d, c, timeline.lines, timeline.line_count);
	rows_move_texts(&timeline.values.sums, &c->texts);
	rows_move_texts(&timeline.values.blocks, &c->texts);
	timeline_free(&timeline);
	if (!status && !error)
		error = capture_file_drop_blocks(file);
	return error ? app_failed(d->app, error) : status;
}

static int open_capture(struct diff *d, size_t n)
{
	struct compared *c = &d->captures[n];
	int status = capture_open(d->app, d->options.sides[n].first, &c->capture);

	if (!status && take_time(d, c))
		status = app_failed(d->app, -ENOMEM);
	for (size_t i = 0; !status && i < c->capture.count; i++)
		status = take_session(d, c, &c->capture.files[i]);
	return status;
}

static int write_diff(struct diff *d)
{
	struct output output;
	int status = output_open(d->app, d->options.output, &output);

	if (status)
		return status;
	d->out = output.stream;
	if (d->options.json)
		print_json(d);
	else
		print_text(d);
	return output_close(d->app, &output, 0);
}

static int compare_two(struct app *app, const struct diff_options *options)
{
	struct diff d = { .app = app, .options = *options };
	int status = 0;

	for (size_t n = 0; !status && n < 2; n++)
		status = open_capture(&d, n);
	if (!status && match(&d)) {
		app_error(app, "out of memory");
		status = EXIT_FAILED;
	}
	if (!status && !d.count && options->patterns.count)
		status = app_usage(app, "nothing that is shown matches '%s'%s",
				   options->patterns.words[0],
				   options->per_block ? "" : " (-A: single blocks too)");
	if (!status)
		status = write_diff(&d);
	for (size_t n = 0; !status && n < 2; n++)
		status = capture_exit_status(&d.captures[n].capture);
	for (size_t n = 0; !status && n < d.count; n++)
		if (diff_exceeds(options, d.changes[n].result, d.changes[n].percent))
			status = EXIT_DIFFERS;
	free(d.changes);
	for (size_t n = 0; n < 2; n++) {
		struct compared *c = &d.captures[n];

		for (size_t i = 0; i < c->line_count; i++)
			free(c->lines[i].notes);
		free(c->lines);
		rows_free_texts(c->texts);
		table_free(&c->table);
		capture_close(&c->capture);
	}
	return status;
}

int diff_run(struct app *app, int argc, char **argv)
{
	struct diff_options options = { 0 };
	int status = parse_options(app, argc, argv, &options);

	if (status < 0)
		status = EXIT_FINE;
	else if (!status)
		status = options.is_of_groups ? diff_groups(app, &options) :
						compare_two(app, &options);
	option_words_free(&options.patterns);
	option_words_free(&options.marks);
	capture_list_free(&options.sides[0]);
	capture_list_free(&options.sides[1]);
	return status;
}
