// SPDX-License-Identifier: MIT
#include "measured.h"

#include <string.h>

#include "csv.h"

enum { MAX_UNITS = 1000000 };

/*
 * --- index of readings ------------------------------------------------------------
 */

/* FNV-1a over words: benchmarks, events and runs are small, the last step distributes them. */
static uint64_t hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct reading *r, size_t parameters)
{
	uint64_t hash = hash_word(UINT64_C(0xcbf29ce484222325), r->benchmark);

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

/* Slot of a reading in the table, or the free slot for it. */
static size_t *find(const struct measured *measured, const struct campaign *campaign,
		    const struct reading *reading)
{
	const size_t parameters = campaign->benchmarks[reading->benchmark].parameter_count;
	size_t at = (size_t)hash_of(reading, parameters);

	for (;; at++) {
		size_t *entry = &measured->table[at & (measured->table_count - 1)];

		if (!*entry || is_same(&measured->readings[*entry - 1], reading, parameters))
			return entry;
	}
}

static void fill_table(struct measured *measured, const struct campaign *campaign)
{
	if (measured->table_count)
		memset(measured->table, 0, measured->table_count * sizeof(*measured->table));
	for (size_t n = 0; n < measured->count; n++)
		*find(measured, campaign, &measured->readings[n]) = n + 1;
}

int measured_add(struct arena *arena, struct measured *measured, const struct campaign *campaign,
		 const struct reading *reading)
{
	size_t *entry;

	/* at most half full */
	if (2 * measured->count >= measured->table_count) {
		measured->table_count = measured->count ? 4 * measured->count : 2;
		measured->table =
			arena_array(arena, measured->table_count, sizeof(*measured->table));
		fill_table(measured, campaign);
	}
	entry = find(measured, campaign, reading);
	if (*entry)
		return -1;
	measured->readings =
		arena_grow(arena, measured->readings, measured->count, sizeof(*reading));
	measured->readings[measured->count++] = *reading;
	*entry = measured->count;
	return 0;
}

void measured_forget(struct measured *measured, const struct campaign *campaign, size_t event)
{
	size_t kept = 0;

	for (size_t i = 0; i < measured->count; i++)
		if (measured->readings[i].event != event)
			measured->readings[kept++] = measured->readings[i];
	measured->count = kept;
	fill_table(measured, campaign);
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
	measured->configuration[2 * pairs] = name;
	measured->configuration[2 * pairs + 1] = value;
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
	COLUMN_PARAMETER
};

static const char no_amount[] = "the benchmark does not state how much of this event it does";

static const char *const column_names[] = { "benchmark", "event", "value",   "run",
					    "sequence",	 "units", "expected" };

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
		const struct cell *cell = &csv->cells[i];
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
	const struct cell *cell = &csv->cells[n];
	enum number_error error = parse_count(cell->text, value);
	char what[160];

	if (!error && *value <= max)
		return 0;
	snprintf(what, sizeof(what), "'%.40s' is %s", name,
		 error ? number_error_text(error) : "too large");
	return csv_fail(csv, cell->column, what, *cell->text ? cell->text : NULL);
}

/* benchmark and event of a row */
static int read_names(const struct csv *csv, const struct campaign *campaign,
		      const struct column *columns, struct reading *reading)
{
	for (size_t i = 0; i < csv->count; i++) {
		const struct cell *cell = &csv->cells[i];
		long found;

		if (columns[i].kind == COLUMN_EVENT) {
			found = campaign_event(campaign, cell->text);
			if (found < 0)
				return csv_fail(csv, cell->column, "the campaign has no such event",
						cell->text);
			reading->event = (size_t)found;
		} else if (columns[i].kind == COLUMN_BENCHMARK) {
			found = campaign_benchmark(campaign, cell->text);
			if (found < 0)
				return csv_fail(csv, cell->column,
						"the campaign has no such benchmark", cell->text);
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

static int read_reading(const struct csv *csv, const struct campaign *campaign,
			const struct column *columns, struct reading *reading)
{
	const struct benchmark *benchmark;
	int ret;

	*reading = (struct reading){ .sequence = NO_SEQUENCE };
	ret = read_names(csv, campaign, columns, reading);
	benchmark = &campaign->benchmarks[reading->benchmark];
	if (!ret && !benchmark_states(benchmark, reading->event))
		ret = csv_fail(csv, 1, no_amount, campaign->events[reading->event].name);
	for (size_t i = 0; i < csv->count && !ret; i++) {
		const char *name = columns[i].name;
		bool empty = !*csv->cells[i].text;

		switch (columns[i].kind) {
		case COLUMN_VALUE:
			ret = read_count(csv, i, name, UINT64_MAX, &reading->value);
			break;
		case COLUMN_RUN:
			ret = read_count(csv, i, name, INT64_MAX, &reading->run);
			break;
		case COLUMN_SEQUENCE:
			ret = read_count(csv, i, name, INT64_MAX, &reading->sequence);
			break;
		case COLUMN_UNITS:
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

static int parse_csv(struct csv *csv, const struct campaign *campaign, struct measured *measured)
{
	struct column columns[CSV_MAX_COLUMNS];
	struct reading reading;
	int got = csv_row(csv);
	size_t width;

	if (!got)
		return fail(csv->failure, "%s:1:1: the file is empty; a header line is expected",
			    csv->name);
	if (got < 0 || read_header(csv, campaign, columns) < 0)
		return -1;
	width = csv->count;
	while ((got = csv_row(csv)) > 0) {
		if (csv->count != width)
			return csv_fail(csv, csv->cells[csv->count - 1].column,
					csv->count < width ? "fewer cells than the header" :
							     "more cells than the header",
					NULL);
		if (read_reading(csv, campaign, columns, &reading) < 0)
			return -1;
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
	static const char *const keys[] = { "benchmark", "event",    "parameters", "value", "run",
					    "sequence",	 "expected", "units",	   NULL };
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

		if (name && !strcmp(name, campaign->name))
			result = one;
	}
	if (!result)
		document_fail(doc, list, "no result of campaign %s", campaign->name);
	return result;
}

/* listings that the engine constructed before the file was written */
static int read_constructed(const struct document *doc, const struct json_object *root,
			    struct campaign *campaign)
{
	const struct json_object *list =
		document_get(doc, root, "constructed", json_type_array, false);

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const struct json_object *one = json_object_array_get_idx(list, i);
		const char *name, *listing;

		if (!json_object_is_type(one, json_type_object))
			return document_fail(doc, one ? one : list, "a benchmark is an object");
		name = document_text(doc, one, "benchmark", NULL);
		listing = document_text(doc, one, "listing", NULL);
		if (!name || !listing)
			return -1;
		if (campaign_benchmark(campaign, name) >= 0)
			return document_fail(doc, one, "benchmark '%s' stands twice", name);
		campaign_construct(doc->arena, campaign, name, listing);
	}
	return 0;
}

static int parse_root(const struct document *doc, struct campaign *campaign,
		      struct measured *measured)
{
	static const char *const keys[] = { "campaign", "configuration", "constructed", "rows",
					    NULL };
	const struct json_object *root, *member;
	struct reading reading;

	if (json_object_get_type(doc->root) != json_type_object)
		return document_fail(doc, doc->root, "measurements are an object");
	root = find_result(doc, campaign);
	if (!root || (root == doc->root && document_only(doc, root, keys) < 0) ||
	    read_constructed(doc, root, campaign) < 0)
		return -1;
	member = document_get(doc, root, "configuration", json_type_object, false);
	if (member) {
		json_object_object_foreach((struct json_object *)member, key, value)
		{
			const char *text = document_string(doc, value ? value : member, key);

			measured_configure(doc->arena, measured,
					   arena_copy(doc->arena, key, strlen(key)), text);
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

static bool looks_like_json(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\r\n", text[i]))
		i++;
	return i < length && (text[i] == '{' || text[i] == '[');
}

const char *measured_campaign(struct arena *arena, const char *text, size_t length)
{
	static const char mark[] = "# campaign: ";
	struct failure ignored = { "" };

	if (looks_like_json(text, length)) {
		struct document doc = { "", text, length, arena, &ignored, NULL };
		const char *name = NULL;

		if (!document_parse(&doc) && json_object_is_type(doc.root, json_type_object)) {
			const struct json_object *list =
				document_get(&doc, doc.root, "campaigns", json_type_array, false);
			const struct json_object *root = doc.root;

			if (list && json_object_array_length(list) == 1)
				root = json_object_array_get_idx(list, 0);
			if (json_object_is_type(root, json_type_object))
				name = document_text(&doc, root, "campaign", NULL);
		}
		document_free(&doc);
		return name;
	}
	if (length < sizeof(mark) || memcmp(text, mark, sizeof(mark) - 1))
		return NULL;
	text += sizeof(mark) - 1;
	return arena_copy(arena, text, strcspn(text, " \r\n"));
}

int measured_parse(struct arena *arena, const char *name, const char *text, size_t length,
		   struct campaign *campaign, struct measured *measured, struct failure *failure)
{
	struct document doc = { name, text, length, arena, failure, NULL };
	struct csv csv = { .name = name, .arena = arena, .failure = failure, .at = text };
	const char *nul = memchr(text, 0, length);
	int ret;

	*measured = (struct measured){ .source = name };
	if (!nul && !looks_like_json(text, length)) {
		csv.end = text + length;
		return parse_csv(&csv, campaign, measured);
	}
	/* document_parse() reports the place of a NUL byte */
	ret = document_parse(&doc);
	if (!ret)
		ret = parse_root(&doc, campaign, measured);
	document_free(&doc);
	return ret;
}

const char *measured_place(struct arena *arena, const char *name, const char *text, size_t length,
			   const struct campaign *campaign, size_t number)
{
	struct failure ignored = { "" };
	struct document doc = { name, text, length, arena, &ignored, NULL };
	struct csv csv = { .name = name, .arena = arena, .failure = &ignored, .at = text };
	const struct json_object *rows;
	const char *place = name;

	if (!looks_like_json(text, length)) {
		csv.end = text + length;
		/* the header is a row too */
		for (size_t n = 0; n <= number + 1; n++)
			if (csv_row(&csv) <= 0)
				return name;
		return arena_printf(arena, "%s:%u:1", name, csv.row_line);
	}
	if (!document_parse(&doc)) {
		rows = document_get(&doc, find_result(&doc, campaign), "rows", json_type_array,
				    true);
		place = document_place(&doc, json_object_array_get_idx(rows, number));
	}
	document_free(&doc);
	return place;
}
