// SPDX-License-Identifier: MIT
/* Reads measurements from CSV and JSON, and checks them against their campaign. */
#include "measured.h"

#include <string.h>

#include "base.h"

enum { MAX_UNITS = 1000000 };

/*
 * --- index of readings ------------------------------------------------------------
 */

static uint64_t hash_of(const struct reading *r, size_t parameters)
{
	uint64_t hash = hash_word(HASH_START, r->benchmark);

	hash = hash_word(hash_word(hash, r->event), r->run);
	for (size_t p = 0; p < parameters; p++)
		hash = hash_word(hash, (uint64_t)r->parameters[p]);
	return hash;
}

static bool is_same(const struct reading *a, const struct reading *b, size_t parameters)
{
	return a->benchmark == b->benchmark && a->event == b->event && a->run == b->run &&
	       !memcmp(a->parameters, b->parameters, parameters * sizeof(a->parameters[0]));
}

static size_t parameters_of(const struct campaign *campaign, const struct reading *reading)
{
	return campaign->benchmarks[reading->benchmark].parameter_count;
}

const struct reading *measured_find(const struct measured *measured,
				    const struct campaign *campaign, const struct reading *like)
{
	const size_t parameters = parameters_of(campaign, like);
	const uint64_t hash = hash_of(like, parameters);
	size_t n;

	for (size_t at = 0; (n = hash_next(&measured->table, hash, &at)) != HASH_END;)
		if (is_same(&measured->readings[n], like, parameters))
			return &measured->readings[n];
	return NULL;
}

int measured_add(struct arena *arena, struct measured *measured, const struct campaign *campaign,
		 const struct reading *reading)
{
	if (measured_find(measured, campaign, reading))
		return -1;
	hash_add(arena, &measured->table, hash_of(reading, parameters_of(campaign, reading)),
		 measured->count);
	measured->readings =
		arena_grow(arena, measured->readings, measured->count, sizeof(*reading));
	measured->readings[measured->count++] = *reading;
	return 0;
}

void measured_forget(struct arena *arena, struct measured *measured,
		     const struct campaign *campaign, size_t event)
{
	const struct measured old = *measured;

	measured->table = (struct hash_table){ 0 };
	measured->readings = NULL;
	measured->count = 0;
	for (size_t i = 0; i < old.count; i++)
		if (old.readings[i].event != event)
			measured_add(arena, measured, campaign, &old.readings[i]);
}

const char *measured_configured(const struct measured *measured, const char *name)
{
	for (size_t i = 0; i < measured->configuration_count; i++)
		if (!strcmp(measured->configuration[2 * i], name))
			return measured->configuration[2 * i + 1];
	return NULL;
}

void measured_configure(struct arena *arena, struct measured *measured, const char *name,
			const char *value)
{
	size_t pairs = measured->configuration_count;

	measured->configuration = arena_grow(arena, measured->configuration, pairs,
					     2 * sizeof(*measured->configuration));
	measured->configuration[2 * pairs] = arena_copy(arena, name, strlen(name));
	measured->configuration[2 * pairs + 1] = arena_copy(arena, value, strlen(value));
	measured->configuration_count++;
}

/* --- CSV ------------------------------------------------------------------------ */

enum column_kind {
	COLUMN_BENCHMARK,
	COLUMN_EVENT,
	COLUMN_VALUE,
	COLUMN_RUN,
	COLUMN_SEQUENCE,
	COLUMN_UNITS,
	COLUMN_EXPECTED,
	COLUMN_LISTING,
	COLUMN_THREADS,
	COLUMN_PARAMETER
};

static const char no_amount[] = "the benchmark does not state how much of this event it does";

static const char *const column_names[] = { "benchmark", "event",    "value",
					    "run",	 "sequence", "units",
					    "expected",	 "listing",  "threads" };

struct column {
	const char *name;
	enum column_kind kind;
};

static bool is_parameter(const struct campaign *campaign, const char *name)
{
	for (size_t i = 0; i < campaign->benchmark_count; i++)
		if (benchmark_parameter(&campaign->benchmarks[i], name) >= 0)
			return true;
	return false;
}

static int read_header(struct csv *csv, const struct campaign *campaign, struct column *columns)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_cell *cell = &csv->cells[i];
		enum column_kind kind = COLUMN_BENCHMARK;

		while (kind < COLUMN_PARAMETER && strcmp(cell->text, column_names[kind]))
			kind++;
		if (kind == COLUMN_PARAMETER && !is_parameter(campaign, cell->text))
			return csv_fail(csv, cell->column,
					"neither a known column nor a parameter of the campaign",
					cell->text);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(columns[j].name, cell->text))
				return csv_fail(csv, cell->column, "this column stands twice",
						cell->text);
		seen |= 1u << kind;
		columns[i] = (struct column){ cell->text, kind };
	}
	for (enum column_kind kind = COLUMN_BENCHMARK; kind <= COLUMN_VALUE; kind++)
		if (!(seen & 1u << kind))
			return csv_fail(csv, 1, "a column is missing in the header",
					column_names[kind]);
	return 0;
}

static int read_count(const struct csv *csv, size_t n, const char *name, uint64_t max,
		      uint64_t *value)
{
	const struct csv_cell *cell = &csv->cells[n];
	enum number_error error = parse_count(cell->text, value);
	char what[160];

	if (!error && *value <= max)
		return 0;
	snprintf(what, sizeof(what), "'%.40s' is %s", name,
		 error ? number_error_text(error) : "too large");
	return csv_fail(csv, cell->column, what, *cell->text ? cell->text : NULL);
}

/* The cell of a column in a row, or NULL. */
static const struct csv_cell *cell_of(const struct csv *csv, const struct column *columns,
				      enum column_kind kind)
{
	for (size_t i = 0; i < csv->count; i++)
		if (columns[i].kind == kind && *csv->cells[i].text)
			return &csv->cells[i];
	return NULL;
}

/*
 * The benchmark of a row, which may bring it: its listing is a file beside the CSV, or where the
 * path leads from there. Return: its number or -1.
 */
static long read_benchmark(const struct csv *csv, struct campaign *campaign,
			   const struct column *columns, const struct csv_cell *name)
{
	const struct csv_cell *listing = cell_of(csv, columns, COLUMN_LISTING);
	const struct csv_cell *threads = cell_of(csv, columns, COLUMN_THREADS);
	const long found = campaign_benchmark(campaign, name->text);
	const char *slash = strrchr(csv->name, '/'), *path, *text;
	struct failure reason = { "" };
	size_t length;
	long number;

	if (found >= 0 && !campaign->benchmarks[found].constructed && (listing || threads))
		return csv_fail(csv, (listing ? listing : threads)->column,
				"the campaign says what this benchmark does; leave it empty",
				name->text);
	if (found >= 0)
		return found;
	if (!listing)
		return csv_fail(
			csv, name->column,
			"the campaign has no such benchmark; columns 'listing' (a file) and "
			"'threads' bring one",
			name->text);
	if (!threads)
		return csv_fail(csv, listing->column, "'threads' is missing for", name->text);
	path = *listing->text == '/' || !slash ?
		       listing->text :
		       arena_printf(csv->arena, "%.*s%s", (int)(slash - csv->name) + 1, csv->name,
				    listing->text);
	text = read_file(csv->arena, path, &length, &reason);
	if (!text)
		return csv_fail(csv, listing->column, reason.text, NULL);
	number = campaign_construct(csv->arena, campaign, name->text, listing->text, text,
				    threads->text, &reason);
	return number < 0 ? csv_fail(csv, listing->column, reason.text, NULL) : number;
}

/* benchmark and event of a row */
static int read_names(const struct csv *csv, struct campaign *campaign,
		      const struct column *columns, struct reading *reading)
{
	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_cell *cell = &csv->cells[i];
		long found;

		if (columns[i].kind == COLUMN_EVENT) {
			found = campaign_event(campaign, cell->text);
			if (found < 0)
				return csv_fail(csv, cell->column, "the campaign has no such event",
						cell->text);
			reading->event = (size_t)found;
		} else if (columns[i].kind == COLUMN_BENCHMARK) {
			found = read_benchmark(csv, campaign, columns, cell);
			if (found < 0)
				return -1;
			reading->benchmark = (size_t)found;
		}
	}
	return 0;
}

static int read_parameter(const struct csv *csv, size_t n, const struct benchmark *benchmark,
			  const char *name, struct reading *reading)
{
	long p = benchmark_parameter(benchmark, name);
	uint64_t number;

	if (p < 0)
		return *csv->cells[n].text ?
			       csv_fail(csv, csv->cells[n].column,
					"the benchmark has no such parameter; leave it empty",
					name) :
			       0;
	if (read_count(csv, n, name, INT64_MAX, &number))
		return -1;
	reading->parameters[p] = (int64_t)number;
	return 0;
}

static int read_reading(const struct csv *csv, struct campaign *campaign,
			const struct column *columns, struct reading *reading)
{
	const struct benchmark *benchmark;
	int ret;

	*reading = (struct reading){ .sequence = NO_SEQUENCE, .line = csv->row_line };
	ret = read_names(csv, campaign, columns, reading);
	if (ret)
		return ret;
	benchmark = &campaign->benchmarks[reading->benchmark];
	if (!benchmark_states(benchmark, reading->event))
		ret = csv_fail(csv, 1, no_amount, campaign->events[reading->event].name);
	for (size_t i = 0; i < csv->count && !ret; i++) {
		const char *name = columns[i].name;
		bool empty = !*csv->cells[i].text;

		switch (columns[i].kind) {
		case COLUMN_VALUE:
			if (!empty)
				ret = read_count(csv, i, name, UINT64_MAX, &reading->value);
			break;
		case COLUMN_RUN:
			if (!empty)
				ret = read_count(csv, i, name, INT64_MAX, &reading->run);
			break;
		case COLUMN_SEQUENCE:
			if (!empty)
				ret = read_count(csv, i, name, INT64_MAX, &reading->sequence);
			break;
		case COLUMN_UNITS:
			if (!empty)
				ret = read_count(csv, i, name, MAX_UNITS, &reading->units);
			break;
		case COLUMN_EXPECTED:
			reading->has_published = !empty;
			if (!empty)
				ret = read_count(csv, i, name, UINT64_MAX, &reading->published);
			break;
		case COLUMN_PARAMETER:
			ret = read_parameter(csv, i, benchmark, name, reading);
			break;
		default:
			break;
		}
	}
	for (size_t p = 0; p < benchmark->parameter_count && !ret; p++) {
		size_t i = 0;

		while (i < csv->count && strcmp(columns[i].name, benchmark->parameters[p].name))
			i++;
		if (i == csv->count)
			ret = csv_fail(csv, 1, "the benchmark needs a column for its parameter",
				       benchmark->parameters[p].name);
	}
	return ret;
}

int measured_read_configuration(const struct csv *csv, struct measured *measured)
{
	static const char mark[] = "# configuration: ";
	const char *line = csv->at, *key;
	unsigned int number = 0;

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *name = line + sizeof(mark) - 1;
		size_t length, rest;

		number++;

		if (strncmp(line, mark, sizeof(mark) - 1) != 0)
			continue;
		length = strcspn(name, "=\r\n");
		rest = strcspn(name, "\r\n");
		if (!length || length >= rest)
			continue;
		key = arena_copy(csv->arena, name, length);
		if (measured_configured(measured, key))
			return fail(csv->failure,
				    "%s:%u:%zu: the configuration has '%s' twice: give one value",
				    csv->name, number, sizeof(mark), key);
		measured_configure(csv->arena, measured, key,
				   arena_copy(csv->arena, name + length + 1, rest - length - 1));
	}
	return 0;
}

static int parse_csv(struct csv *csv, struct campaign *campaign, struct measured *measured)
{
	struct column columns[CSV_MAX_COLUMNS];
	struct reading reading;
	const struct csv begin = *csv;
	int got = csv_row(csv);
	size_t width;

	if (!got)
		return fail(csv->failure, "%s:1:1: the file is empty; a header line is expected",
			    csv->name);
	if (got < 0 || read_header(csv, campaign, columns) < 0)
		return -1;
	width = csv->count;
	if (measured_read_configuration(&begin, measured) < 0)
		return -1;
	while ((got = csv_row(csv)) > 0) {
		if (csv->count != width)
			return csv_fail(csv, csv->cells[csv->count - 1].column,
					csv->count < width ? "fewer cells than the header" :
							     "more cells than the header",
					NULL);
		if (read_reading(csv, campaign, columns, &reading) < 0)
			return -1;
		if (!cell_of(csv, columns, COLUMN_VALUE)) {
			measured->waiting++;
			continue;
		}
		if (measured_add(csv->arena, measured, campaign, &reading) < 0)
			return csv_fail(csv, 1,
					"the same benchmark, event, parameters and run again",
					NULL);
	}
	if (!got && !measured->count)
		return fail(csv->failure, "%s:%u:1: no measurement follows the header", csv->name,
			    csv->line);
	return got;
}

/* --- JSON ------------------------------------------------------------------------- */

static int json_names(const struct document *doc, const struct json_object *row,
		      const struct campaign *campaign, struct reading *reading)
{
	const char *name = document_text(doc, row, "benchmark", NULL);
	struct json_object *at;
	long found;

	if (!name)
		return -1;
	found = campaign_benchmark(campaign, name);
	if (found < 0) {
		json_object_object_get_ex(row, "benchmark", &at);
		return document_fail(doc, at, "the campaign has no such benchmark: %s", name);
	}
	reading->benchmark = (size_t)found;
	name = document_text(doc, row, "event", NULL);
	if (!name)
		return -1;
	found = campaign_event(campaign, name);
	if (found < 0) {
		json_object_object_get_ex(row, "event", &at);
		return document_fail(doc, at, "the campaign has no such event: %s", name);
	}
	reading->event = (size_t)found;
	if (!benchmark_states(&campaign->benchmarks[reading->benchmark], reading->event))
		return document_fail(doc, row, "%s: %s", no_amount, name);
	return 0;
}

static int json_parameters(const struct document *doc, const struct json_object *row,
			   const struct benchmark *benchmark, struct reading *reading)
{
	const struct json_object *parameters = document_get(
		doc, row, "parameters", json_type_object, benchmark->parameter_count > 0);
	uint64_t number;

	if (!parameters)
		return doc->failure->text[0] ? -1 : 0;
	json_object_object_foreach((struct json_object *)parameters, key, value)
	{
		long p = benchmark_parameter(benchmark, key);

		if (p < 0)
			return document_fail(doc, value ? value : parameters,
					     "the benchmark has no parameter '%s'", key);
		if (document_count(doc, value ? value : parameters, key, INT64_MAX, &number) < 0)
			return -1;
		reading->parameters[p] = (int64_t)number;
	}
	if ((size_t)json_object_object_length(parameters) != benchmark->parameter_count)
		return document_fail(doc, parameters, "the benchmark has %zu parameters",
				     benchmark->parameter_count);
	return 0;
}

static int json_reading(const struct document *doc, const struct json_object *row,
			const struct campaign *campaign, struct reading *reading)
{
	static const char *const keys[] = { "benchmark", "event",      "parameters", "value",
					    "run",	 "sequence",   "expected",   "units",
					    "raw",	 "interrupts", NULL };
	struct json_object *member;

	*reading = (struct reading){ 0 };
	if (json_object_get_type(row) != json_type_object)
		return document_fail(doc, row, "a row is an object");
	if (document_only(doc, row, keys) < 0 || json_names(doc, row, campaign, reading) < 0)
		return -1;
	if (!json_object_object_get_ex(row, "value", &member))
		return document_fail(doc, row, "'value' is missing");
	if (document_count(doc, member ? member : row, "value", UINT64_MAX, &reading->value) < 0)
		return -1;
	reading->run = document_u64(doc, row, "run", INT64_MAX, 0);
	reading->sequence = document_u64(doc, row, "sequence", INT64_MAX, NO_SEQUENCE);
	reading->units = document_u64(doc, row, "units", MAX_UNITS, 0);
	reading->raw = document_u64(doc, row, "raw", UINT64_MAX, 0);
	reading->interrupts = document_u64(doc, row, "interrupts", UINT64_MAX, 0);
	reading->has_published = json_object_object_get_ex(row, "expected", NULL);
	reading->published = document_u64(doc, row, "expected", UINT64_MAX, 0);
	return json_parameters(doc, row, &campaign->benchmarks[reading->benchmark], reading);
}

/* the campaign's part of a result file; the whole file if it is no result file */
static const struct json_object *find_result(const struct document *doc,
					     const struct campaign *campaign)
{
	const struct json_object *list =
		document_get(doc, doc->root, "campaigns", json_type_array, false);
	const struct json_object *result = list ? NULL : doc->root;

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const struct json_object *one = json_object_array_get_idx(list, i);
		const char *name = json_object_is_type(one, json_type_object) ?
					   document_text(doc, one, "campaign", "") :
					   NULL;

		if (!name || strcmp(name, campaign->name))
			continue;
		if (result) {
			document_fail(doc, one, "campaign %s stands twice in the file", name);
			return NULL;
		}
		result = one;
	}
	if (!result)
		document_fail(doc, list, "no result of campaign %s", campaign->name);
	return result;
}

/* listings that the engine constructed before the file was written */
static int read_constructed(const struct document *doc, const struct json_object *root,
			    uint64_t schema, struct campaign *campaign)
{
	const struct json_object *list =
		document_get(doc, root, "constructed", json_type_array, false);

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const struct json_object *one = json_object_array_get_idx(list, i);
		const char *name, *listing, *threads;
		struct failure reason = { "" };
		long found;

		if (!json_object_is_type(one, json_type_object))
			return document_fail(doc, one ? one : list, "a benchmark is an object");
		name = document_text(doc, one, "benchmark", NULL);
		listing = document_text(doc, one, "listing", NULL);
		threads = document_text(doc, one, "threads", CONSTRUCTED_THREADS);
		if (!name || !listing || !threads)
			return -1;
		found = campaign_benchmark(campaign, name);
		/* older versions wrote the proposal of a file that had it once more, behind it */
		if (found >= 0 && schema < 2 && campaign->benchmarks[found].constructed)
			continue;
		if (found >= 0)
			return document_fail(doc, one, "benchmark '%s' stands twice", name);
		if (campaign_construct(doc->arena, campaign, name, name, listing, threads,
				       &reason) < 0)
			return document_fail(doc, one, "%s", reason.text);
	}
	return 0;
}

static int parse_root(const struct document *doc, struct campaign *campaign,
		      struct measured *measured)
{
	static const char *const keys[] = { "campaign", "configuration", "constructed",
					    "rows",	"schema",	 NULL };
	const struct json_object *root, *member;
	struct reading reading;
	uint64_t schema;

	if (json_object_get_type(doc->root) != json_type_object)
		return document_fail(doc, doc->root, "measurements are an object");
	schema = document_u64(doc, doc->root, "schema", UINT32_MAX, 1);
	if (doc->failure->text[0])
		return -1;
	if (schema > RESULT_SCHEMA)
		return document_fail(doc, doc->root,
				     "the file has schema %llu, of a newer perfctr; this one reads "
				     "up to %d",
				     (unsigned long long)schema, RESULT_SCHEMA);
	root = find_result(doc, campaign);
	if (!root || (root == doc->root && document_only(doc, root, keys) < 0) ||
	    read_constructed(doc, root, schema, campaign) < 0)
		return -1;
	member = document_get(doc, root, "configuration", json_type_object, false);
	if (member) {
		json_object_object_foreach((struct json_object *)member, key, value)
		{
			const char *text = document_string(doc, value ? value : member, key);

			measured_configure(doc->arena, measured, key, text);
		}
	}
	member = document_get(doc, root, "rows", json_type_array, true);
	for (size_t i = 0; member && i < json_object_array_length(member); i++) {
		const struct json_object *row = json_object_array_get_idx(member, i);

		if (!row)
			return document_fail(doc, member, "a row is an object, not null");
		if (json_reading(doc, row, campaign, &reading) < 0 || doc->failure->text[0])
			return -1;
		if (measured_add(doc->arena, measured, campaign, &reading) < 0)
			return document_fail(doc, row,
					     "the same benchmark, event, parameters and run again");
	}
	if (!doc->failure->text[0] && !measured->count)
		return document_fail(doc, member, "there is no measurement");
	return doc->failure->text[0] ? -1 : 0;
}

/*
 * --- either format -------------------------------------------------------------------
 */

int measured_open(struct document *file)
{
	const char first = file->text[strspn(file->text, " \t\r\n")];

	/* document_parse() reports the place of a NUL byte */
	if (first == '{' || first == '[' || memchr(file->text, 0, file->length))
		return document_parse(file);
	return 0;
}

const char *measured_campaign(const struct document *file)
{
	static const char mark[] = "# campaign: ";
	const char *name = file->text + sizeof(mark) - 1;
	const struct json_object *root = file->root, *list;
	struct json_object *member;

	if (!root)
		return strncmp(file->text, mark, sizeof(mark) - 1) ?
			       NULL :
			       arena_copy(file->arena, name, strcspn(name, " \r\n"));
	list = json_object_object_get(root, "campaigns");
	if (json_object_is_type(list, json_type_array) && json_object_array_length(list) == 1)
		root = json_object_array_get_idx(list, 0);
	return json_object_is_type(root, json_type_object) &&
			       json_object_object_get_ex(root, "campaign", &member) ?
		       document_string(file, member, "campaign") :
		       NULL;
}

/* the name behind the last slash */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int measured_is_of(const struct document *file, const char *which, const struct campaign *campaign)
{
	const char *name = measured_campaign(file);

	/* by its own name, or by the file's, which may have moved with the measurements */
	if (!name || !strcmp(name, campaign->name) || !strcmp(base_of(name), base_of(which)))
		return file->failure->text[0] ? -1 : 0;
	return fail(file->failure,
		    "%s: the measurements are of campaign %s, not of %s (%s): give that one",
		    file->name, name, which, campaign->name);
}

int measured_parse(const struct document *file, struct campaign *campaign,
		   struct measured *measured)
{
	struct csv csv = {
		.name = file->name,
		.arena = file->arena,
		.failure = file->failure,
		.at = file->text,
		.end = file->text + file->length,
	};

	*measured = (struct measured){ .source = file->name };
	return file->root ? parse_root(file, campaign, measured) :
			    parse_csv(&csv, campaign, measured);
}

const char *measured_place(const struct document *file, const struct campaign *campaign,
			   const struct measured *measured, const struct reading *reading)
{
	const struct json_object *rows;

	if (!file->root)
		return arena_printf(file->arena, "%s:%u:1", file->name, reading->line);
	rows = json_object_object_get(find_result(file, campaign), "rows");
	return document_place(
		file, json_object_array_get_idx(rows, (size_t)(reading - measured->readings)));
}
