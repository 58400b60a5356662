// SPDX-License-Identifier: MIT
/* Reads what NVIDIA's command ncu counted, and finds the point of each launch. */
#include "ncu.h"

#include <inttypes.h>
#include <string.h>

#include "launch.h"

enum { WARP_LANES = 32, MAX_REPEATED = 1000 };

/* ncu has doubles; beyond it not every number is one */
#define EXACT_MOST (1ull << 53)

enum ncu_column {
	ID,
	KERNEL,
	METRIC,
	UNIT,
	VALUE,
	NEEDED,
	BLOCK = NEEDED,
	GRID,
	PROCESS,
	DEVICE,
	CAPABILITY,
	COLUMNS
};

static const char *const column_names[COLUMNS] = {
	[ID] = "ID",
	[KERNEL] = "Kernel Name",
	[METRIC] = "Metric Name",
	[UNIT] = "Metric Unit",
	[VALUE] = "Metric Value",
	[BLOCK] = "Block Size",
	[GRID] = "Grid Size",
	[PROCESS] = "Process ID",
	[DEVICE] = "Device",
	[CAPABILITY] = "CC",
};

/* a launch of a kernel that the campaign has */
struct launched {
	const char *kernel;
	uint64_t threads; /* 0: not in the file */
	uint64_t id;
	unsigned int line;
	size_t kind;
};

/* launches of the same kernel with as many threads: the same points are possible */
struct kind {
	size_t first; /* launch */
	size_t count; /* of launches */
	size_t *points;
	size_t point_count;
};

struct value {
	size_t launched;
	size_t event;
	uint64_t value;
	unsigned int line;
};

/* what a point says of its launch */
struct wanted {
	const char *kernel;
	uint64_t threads; /* 0: any number */
	bool is_exact; /* they are no warps */
};

struct ncu {
	struct analysis *a;
	struct csv csv;
	long columns[COLUMNS]; /* place in the rows, -1: none */
	size_t width;
	struct wanted *wanted; /* by point */
	struct launched *launches;
	size_t launch_count;
	struct value *values;
	size_t value_count;
	struct kind *kinds;
	size_t kind_count;
	unsigned int lanes; /* of each thread of the listings */
	uint64_t repeated; /* launches of a point behind each other */
	bool in_launch; /* the row before was of ... */
	uint64_t id; /* ... this launch */
	bool is_ours; /* which is of the campaign */
	const char *only[COLUMNS]; /* what a column has in all rows of the campaign's launches */
	bool *has; /* by event: the launch has a row of it ... */
	bool *should_have; /* ... as the first one of the table has; NULL: this is it */
	uint64_t foreign; /* launches of other kernels */
	const char *foreign_names;
	uint64_t absent; /* values that ncu did not get */
	/* by event: line of a metric of it that is no sum, 0: none */
	unsigned int *other_form;
};

/* --- which file ------------------------------------------------------------------- */

/* the first line of the table; before it are messages of ncu and the program's own output */
static const char *find_table(const char *text)
{
	static const char begin[] = "\"ID\",\"Process ID\"";
	const char *at = text;

	while ((at = strstr(at, begin)) && at != text && at[-1] != '\n')
		at++;
	return at;
}

bool is_ncu(const struct document *file)
{
	return !file->root && find_table(file->text);
}

/* --- cells ------------------------------------------------------------------------ */

static const struct csv_cell *cell(const struct ncu *n, enum ncu_column column)
{
	return &n->csv.cells[n->columns[column]];
}

static int cell_fail(const struct ncu *n, enum ncu_column column, const char *what)
{
	return csv_fail(&n->csv, cell(n, column)->column, what, cell(n, column)->text);
}

/*
 * "1,048,576": digits, in groups of three or without. "0,123" has a comma for decimals.
 * Return: 0; 1 there is no value; -1 with a failure.
 */
static int read_value(const struct ncu *n, uint64_t *value)
{
	const char *text = cell(n, VALUE)->text, *comma = strchr(text, ',');
	char *digits = arena_alloc(n->csv.arena, strlen(text) + 1), *to = digits;
	enum number_error error;

	if (!*text || strstr(text, "n/a") || !strcasecmp(text, "nan") || strstr(text, "no data"))
		return 1;
	if (comma && (comma == text || comma - text > 3 || *text == '0'))
		return cell_fail(n, VALUE, "the commas do not stand between groups of three");
	for (const char *at = text; *at; at++) {
		if (*at != ',')
			*to++ = *at;
		else if (strspn(at + 1, "0123456789") != 3)
			return cell_fail(n, VALUE,
					 "the commas do not stand between groups of three");
	}
	error = parse_count(digits, value);
	if (error == NUMBER_OVERFLOW || (!error && *value > EXACT_MOST))
		return cell_fail(n, VALUE,
				 "more than 2^53, which ncu rounds: use less work in a launch");
	return error ? cell_fail(n, VALUE, "no count: run ncu with --print-units base") : 0;
}

/* A unit that is not known may be a multiple of one, as Kinst and usecond are. */
static int check_unit(const struct ncu *n)
{
	static const char *const base[] = {
		"",	   "inst",   "instruction", "byte",    "sector", "cycle",
		"warp",	   "thread", "block",	    "request", "access", "wavefront",
		"nsecond", "ns",     "packet",	    "query",   "op",	 "operation",
	};
	const char *unit = cell(n, UNIT)->text;

	for (size_t i = 0; i < ARRAY_SIZE(base); i++)
		if (!strcmp(unit, base[i]))
			return 0;
	return cell_fail(n, UNIT,
			 "a scaled unit, or one that is not known: run ncu with --print-units "
			 "base");
}

/* "(256, 1, 1)"; the product of the sizes */
static int read_size(const struct ncu *n, enum ncu_column column, uint64_t *product)
{
	const char *at = cell(n, column)->text;

	*product = 1;
	while (*at) {
		size_t length = strspn(at, "0123456789");
		uint64_t size;

		if (!length) {
			if (!strchr("(), x", *at))
				return cell_fail(n, column, "no sizes as (256, 1, 1)");
			at++;
			continue;
		}
		if (parse_count(arena_copy(n->csv.arena, at, length), &size) || !size ||
		    __builtin_mul_overflow(*product, size, product))
			return cell_fail(n, column, "no sizes as (256, 1, 1)");
		at += length;
	}
	return 0;
}

/* --- launches ----------------------------------------------------------------------- */

/* a kernel by its whole name, or by that without the list of parameters */
static bool is_kernel(const char *printed, const char *kernel)
{
	const size_t length = strlen(kernel);

	return !strncmp(printed, kernel, length) && (!printed[length] || printed[length] == '(');
}

static const char *find_kernel(const struct ncu *n, const char *printed)
{
	for (size_t p = 0; p < n->a->point_count; p++)
		if (is_kernel(printed, n->wanted[p].kernel))
			return n->wanted[p].kernel;
	return NULL;
}

/* kernel and threads of each point */
static int note_wanted(struct ncu *n)
{
	struct analysis *a = n->a;

	n->wanted = arena_array(a->arena, a->point_count, sizeof(*n->wanted));
	for (size_t p = 0; p < a->point_count; p++) {
		const struct point *point = &a->points[p];
		const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
		struct wanted *wanted = &n->wanted[p];
		struct launch launch;
		int64_t threads;

		if (point->kernels != 1)
			return fail(a->failure,
				    "%s: it has %" PRId64 " kernels; ncu counts each of its own",
				    point->name, point->kernels);
		wanted->kernel = b->symbol ? b->symbol : b->name;
		if (is_launch(b)) {
			if (launch_parse(a, point, &launch) < 0)
				return -1;
			*wanted = (struct wanted){ launch.kernel, launch_threads(&launch), true };
		} else if (b->listing) {
			if (analysis_formula(a, b->threads, point, NULL, &threads) < 0)
				return -1;
			wanted->threads = (uint64_t)threads;
		}
	}
	return 0;
}

static void note_foreign(struct ncu *n, const char *printed)
{
	const char *name = arena_copy(n->csv.arena, printed, strcspn(printed, "("));
	const char *known = n->foreign_names;

	n->foreign++;
	if (!known)
		n->foreign_names = name;
	else if (!strstr(known, name) && strlen(known) < 200)
		n->foreign_names = arena_printf(n->csv.arena, "%s, %s", known, name);
}

/* Launches are identified by their order only: all must be of one process, on one device. */
static int check_one(struct ncu *n, enum ncu_column column, const char *what)
{
	const char **only = &n->only[column], *text;

	if (n->columns[column] < 0)
		return 0;
	text = cell(n, column)->text;
	if (!*only)
		*only = text;
	if (!strcmp(*only, text))
		return 0;
	return cell_fail(n, column,
			 arena_printf(n->csv.arena,
				      "launches of more than one %s, give each a file of its own: "
				      "%s above, here",
				      what, *only));
}

/* At its last row: a launch has the metrics that the first one of its table has. */
static int end_launch(struct ncu *n)
{
	const struct campaign *c = n->a->campaign;
	const bool *should = n->should_have;

	if (!n->in_launch || !n->is_ours)
		return 0;
	for (size_t e = 0; should && e < c->event_count; e++)
		if (should[e] != n->has[e])
			return fail(n->a->failure,
				    "%s:%u:1: the launch has %s %s, unlike the first one of the "
				    "table: the file is cut off, or not what ncu printed",
				    n->csv.name, n->launches[n->launch_count - 1].line,
				    n->has[e] ? "also" : "no", c->events[e].name);
	if (!should)
		n->should_have = n->has;
	return 0;
}

/* Notes the launch of a row if it is another one. */
static int read_launch(struct ncu *n)
{
	struct launched launched = { .line = n->csv.row_line };
	const char *printed = cell(n, KERNEL)->text;
	uint64_t blocks = 0, size = 0;

	if (parse_count(cell(n, ID)->text, &launched.id))
		return cell_fail(n, ID, "no number of a launch");
	if (n->in_launch && launched.id == n->id)
		return 0;
	if (n->in_launch && launched.id < n->id)
		return cell_fail(n, ID,
				 "the launches are not in the order in which they were made");
	if (end_launch(n) < 0)
		return -1;
	n->in_launch = true;
	n->id = launched.id;
	launched.kernel = find_kernel(n, printed);
	n->is_ours = launched.kernel;
	if (!n->is_ours) {
		note_foreign(n, printed);
		return 0;
	}
	if (check_one(n, PROCESS, "process") < 0 || check_one(n, DEVICE, "device") < 0 ||
	    check_one(n, CAPABILITY, "compute capability") < 0)
		return -1;
	n->has = arena_array(n->csv.arena, n->a->campaign->event_count, sizeof(*n->has));
	if (n->columns[BLOCK] >= 0 && n->columns[GRID] >= 0 &&
	    (read_size(n, BLOCK, &size) < 0 || read_size(n, GRID, &blocks) < 0))
		return -1;
	if (__builtin_mul_overflow(size, blocks, &launched.threads))
		return cell_fail(n, GRID, "too large");
	n->launches = arena_grow(n->csv.arena, n->launches, n->launch_count, sizeof(*n->launches));
	n->launches[n->launch_count++] = launched;
	return 0;
}

/* The event that a metric is the sum of all units of; -1: of none. */
static long find_event(struct ncu *n, const char *metric)
{
	const struct campaign *c = n->a->campaign;
	const size_t length = strcspn(metric, ".");

	for (size_t e = 0; e < c->event_count; e++) {
		const char *name = *c->events[e].counter ? c->events[e].counter : c->events[e].name;

		if (strlen(name) != length || memcmp(name, metric, length) != 0)
			continue;
		if (!strcmp(metric + length, ".sum"))
			return (long)e;
		if (!n->other_form[e])
			n->other_form[e] = n->csv.row_line;
	}
	return -1;
}

static int read_row(struct ncu *n)
{
	struct value value = { .line = n->csv.row_line };
	long event;
	int ret;

	if (read_launch(n) < 0)
		return -1;
	event = find_event(n, cell(n, METRIC)->text);
	if (event < 0 || !n->is_ours)
		return 0;
	n->has[event] = true;
	if (check_unit(n) < 0)
		return -1;
	ret = read_value(n, &value.value);
	if (ret < 0)
		return -1;
	if (ret) {
		n->absent++;
		return 0;
	}
	value.event = (size_t)event;
	value.launched = n->launch_count - 1;
	n->values = arena_grow(n->csv.arena, n->values, n->value_count, sizeof(*n->values));
	n->values[n->value_count++] = value;
	return 0;
}

/* A file may have the tables of several runs of ncu, each with a process and metrics of its own. */
static int read_header(struct ncu *n)
{
	if (end_launch(n) < 0)
		return -1;
	n->in_launch = false;
	n->should_have = NULL;
	n->only[PROCESS] = NULL;
	n->width = n->csv.count;
	for (enum ncu_column c = 0; c < COLUMNS; c++) {
		n->columns[c] = -1;
		for (size_t i = 0; i < n->csv.count; i++)
			if (!strcmp(n->csv.cells[i].text, column_names[c]))
				n->columns[c] = (long)i;
		if (c < NEEDED && n->columns[c] < 0)
			return csv_fail(&n->csv, 1,
					"a column of ncu's page 'details' is missing: run ncu with "
					"--csv --page details",
					column_names[c]);
	}
	return 0;
}

static int read_table(struct ncu *n)
{
	struct csv *csv = &n->csv;

	while (csv->at < csv->end) {
		int got;

		if (*csv->at != '"') {
			csv->at += strcspn(csv->at, "\n");
			csv->at += csv->at < csv->end;
			csv->line++;
			continue;
		}
		got = csv_row(csv);
		if (got < 0)
			return -1;
		if (!strcmp(csv->cells[0].text, column_names[ID]))
			got = read_header(n);
		else if (csv->count != n->width)
			got = csv_fail(csv, 1, "not as many cells as the header", NULL);
		else
			got = read_row(n);
		if (got < 0)
			return -1;
	}
	if (csv->end[-1] != '\n')
		return csv_fail(csv, 1, "the last line is cut off", NULL);
	return end_launch(n);
}

/* --- which point ------------------------------------------------------------------- */

static bool is_possible(const struct ncu *n, size_t point, const struct launched *l,
			unsigned int lanes)
{
	const struct wanted *w = &n->wanted[point];

	/* kernel names are those of a point */
	return !n->a->points[point].reserve && !strcmp(l->kernel, w->kernel) &&
	       (!l->threads || !w->threads || l->threads == w->threads * (w->is_exact ? 1 : lanes));
}

/* Whether each launch has a point. @without: set to the first one that has none */
static bool all_possible(const struct ncu *n, unsigned int lanes, const struct launched **without)
{
	for (size_t i = 0; i < n->launch_count; i++) {
		size_t p = 0;

		while (p < n->a->point_count && !is_possible(n, p, &n->launches[i], lanes))
			p++;
		if (p == n->a->point_count) {
			*without = &n->launches[i];
			return false;
		}
	}
	return true;
}

static bool differ(const struct ncu *n)
{
	for (size_t i = 0; i < n->launch_count; i++)
		for (size_t p = 0; p < n->a->point_count; p++)
			if (is_possible(n, p, &n->launches[i], 1) !=
			    is_possible(n, p, &n->launches[i], WARP_LANES))
				return true;
	return false;
}

/* Threads of a listing are lanes or warps: as fits all launches. */
static int find_lanes(struct ncu *n)
{
	const struct launched *without = NULL, *as_warps = NULL;
	const bool lanes = all_possible(n, 1, &without);
	const bool warps = all_possible(n, WARP_LANES, &as_warps);

	if (lanes && warps && differ(n))
		return fail(n->a->failure,
			    "%s: the threads of the listings may be threads or warps; give the "
			    "benchmarks \"command\": \"launch MODULE KERNEL GRID BLOCK\"",
			    n->csv.name);
	n->lanes = lanes ? 1 : WARP_LANES;
	if (!lanes && !warps)
		return fail(n->a->failure,
			    "%s:%u:1: the campaign has no point of %s with %" PRIu64
			    " threads or warps of as many lanes",
			    n->csv.name, without->line, without->kernel, without->threads);
	return 0;
}

static void add_kind(struct ncu *n, size_t launched)
{
	const struct launched *l = &n->launches[launched];
	struct kind *kind;

	n->kinds = arena_grow(n->csv.arena, n->kinds, n->kind_count, sizeof(*n->kinds));
	kind = &n->kinds[n->kind_count++];
	*kind = (struct kind){ .first = launched };
	kind->points = arena_array(n->csv.arena, n->a->point_count, sizeof(*kind->points));
	for (size_t p = 0; p < n->a->point_count; p++)
		if (is_possible(n, p, l, n->lanes))
			kind->points[kind->point_count++] = p;
}

static void sort_launches(struct ncu *n)
{
	for (size_t i = 0; i < n->launch_count; i++) {
		struct launched *l = &n->launches[i];

		l->kind = 0;
		while (l->kind < n->kind_count) {
			const struct launched *first = &n->launches[n->kinds[l->kind].first];

			if (!strcmp(first->kernel, l->kernel) && first->threads == l->threads)
				break;
			l->kind++;
		}
		if (l->kind == n->kind_count)
			add_kind(n, i);
		n->kinds[l->kind].count++;
	}
}

/*
 * Launches are told apart by their order only, so a launch too many or too few would shift all that
 * follow: every kernel must have been launched for all of its points, equally often.
 */
static int check_rounds(const struct ncu *n)
{
	const struct kind *first = &n->kinds[0];

	for (size_t k = 0; k < n->kind_count; k++) {
		const struct kind *kind = &n->kinds[k];
		const struct launched *l = &n->launches[kind->first];

		if (kind->count % (kind->point_count * n->repeated) ||
		    kind->count / kind->point_count != first->count / first->point_count)
			return fail(n->a->failure,
				    "%s:%u:1: %s was launched %zu times with %" PRIu64
				    " threads, for %zu points of the campaign%s%s; launch each "
				    "kernel for all of its points in the campaign's order, all "
				    "equally often",
				    n->csv.name, l->line, l->kernel, kind->count, l->threads,
				    kind->point_count,
				    kind->count % (kind->point_count * n->repeated) ?
					    "" :
					    ", not as often as ",
				    kind->count % (kind->point_count * n->repeated) ?
					    "" :
					    n->launches[first->first].kernel);
	}
	return 0;
}

/* Adds the values, to the point and run that the order of the launches gives. */
static int add_values(struct ncu *n)
{
	struct analysis *a = n->a;
	size_t *numbers = arena_array(a->arena, n->launch_count, sizeof(*numbers));
	size_t *seen = arena_array(a->arena, n->kind_count, sizeof(*seen));

	for (size_t i = 0; i < n->launch_count; i++)
		numbers[i] = seen[n->launches[i].kind]++;
	for (size_t i = 0; i < n->value_count; i++) {
		const struct value *v = &n->values[i];
		const struct kind *kind = &n->kinds[n->launches[v->launched].kind];
		const size_t number = numbers[v->launched], turn = number / n->repeated;
		const struct point *point = &a->points[kind->points[turn % kind->point_count]];
		struct reading reading = {
			.benchmark = point->benchmark,
			.event = v->event,
			.run = turn / kind->point_count * n->repeated + number % n->repeated,
			.sequence = NO_SEQUENCE,
			.value = v->value,
			.line = v->line,
		};
		const struct reading *known;

		if (!benchmark_states(&a->campaign->benchmarks[point->benchmark], v->event))
			continue;
		memcpy(reading.parameters, point->parameters, sizeof(reading.parameters));
		if (!measured_add(a->arena, &a->measured, a->campaign, &reading))
			continue;
		/* a metric may stand in several sections */
		known = measured_find(&a->measured, a->campaign, &reading);
		if (known->value != v->value)
			return fail(a->failure, "%s:%u:1: another value of %s than in line %u",
				    n->csv.name, v->line, a->campaign->events[v->event].name,
				    known->line);
	}
	return 0;
}

/* Averages and rates of an event are no counts: without the sum it was not measured. */
static int check_forms(const struct ncu *n)
{
	const struct analysis *a = n->a;

	for (size_t e = 0; e < a->campaign->event_count; e++) {
		size_t i = 0;

		while (i < n->value_count && n->values[i].event != e)
			i++;
		if (n->other_form[e] && i == n->value_count)
			return fail(a->failure,
				    "%s:%u:1: only .sum of %s is a count: run ncu with --metrics "
				    "NAME.sum",
				    n->csv.name, n->other_form[e], a->campaign->events[e].name);
	}
	return 0;
}

/* "# repeated: 2": each point was launched so often before the next one */
static int read_repeated(struct ncu *n, const char *text)
{
	static const char mark[] = "# repeated: ";
	const char *table = find_table(text), *line = text;

	n->repeated = 1;
	for (; line < table; line += strcspn(line, "\n") + 1) {
		const char *number = line + strlen(mark);

		if (strncmp(line, mark, strlen(mark)) != 0)
			continue;
		number = arena_copy(n->csv.arena, number, strcspn(number, " \r\n"));
		if (parse_count(number, &n->repeated) || !n->repeated || n->repeated > MAX_REPEATED)
			return fail(n->a->failure, "%s: '# repeated: %s' is no number of 1 to %d",
				    n->csv.name, number, MAX_REPEATED);
	}
	return 0;
}

static void configure(const struct ncu *n)
{
	struct measured *m = &n->a->measured;
	struct arena *arena = n->a->arena;

	measured_configure(
		arena, m, "ncu",
		arena_printf(arena,
			     "%zu launches, points by their order; a listing's thread is "
			     "%s; %" PRIu64 " launches of other kernels left out%s%s; "
			     "%" PRIu64 " values not available",
			     n->launch_count, n->lanes == 1 ? "a thread" : "a warp", n->foreign,
			     n->foreign ? ": " : "", n->foreign ? n->foreign_names : "",
			     n->absent));
	if (n->only[DEVICE])
		measured_configure(arena, m, "GPU number", n->only[DEVICE]);
	if (n->only[CAPABILITY])
		measured_configure(arena, m, "capability", n->only[CAPABILITY]);
}

int ncu_parse(const struct document *file, struct analysis *a)
{
	struct ncu n = {
		.a = a,
		.csv = {
			.name = file->name,
			.arena = a->arena,
			.failure = a->failure,
			.at = file->text,
			.end = file->text + file->length,
		},
	};
	const char *table = find_table(file->text);

	a->measured = (struct measured){ .source = file->name };
	n.other_form = arena_array(a->arena, a->campaign->event_count, sizeof(*n.other_form));
	for (; n.csv.at < table; n.csv.at++)
		n.csv.line += *n.csv.at == '\n';
	if (read_repeated(&n, file->text) < 0 || note_wanted(&n) < 0 || read_table(&n) < 0)
		return -1;
	if (!n.launch_count)
		return fail(a->failure, "%s: no launch of a kernel of campaign %s%s%s", file->name,
			    a->campaign->name, n.foreign ? ", only " : "",
			    n.foreign ? n.foreign_names : "");
	if (check_forms(&n) < 0 || find_lanes(&n) < 0)
		return -1;
	sort_launches(&n);
	if (check_rounds(&n) < 0 || add_values(&n) < 0)
		return -1;
	if (!a->measured.count)
		return fail(a->failure, "%s: no metric is an event of campaign %s, as NAME.sum",
			    file->name, a->campaign->name);
	configure(&n);
	return 0;
}
