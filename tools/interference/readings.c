// SPDX-License-Identifier: MIT
/*
 * The machine of --readings: what was measured elsewhere, as CSV.
 *
 *	aggressor,level,run,reading,value
 *
 * An empty aggressor or level 0 is the task alone. "time" is the task's time in ns, all other
 * readings are events of channels.
 */
#include <inttypes.h>
#include <string.h>

#include "contention.h"
#include "validate/document.h"

enum column { AGGRESSOR, LEVEL, RUN, READING, VALUE, COLUMNS };

struct reading_row {
	const char *aggressor; /* "" of the task alone */
	uint64_t level, run;
	const char *name;
	uint64_t value;
	unsigned int line;
	bool is_used; /* of a time */
};

struct readings {
	const char *path;
	struct reading_row *rows;
	size_t count;
	struct hash_table table;
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_word(hash, (unsigned char)*text);
	return hash_word(hash, 0);
}

static uint64_t hash_row(const struct reading_row *row)
{
	uint64_t hash = hash_text(hash_text(HASH_START, row->aggressor), row->name);

	return hash_word(hash_word(hash, row->level), row->run);
}

static struct reading_row *find(const struct readings *r, const struct reading_row *like)
{
	size_t at = 0, n;

	while ((n = hash_next(&r->table, hash_row(like), &at)) != HASH_END) {
		struct reading_row *row = &r->rows[n];

		if (row->level == like->level && row->run == like->run &&
		    !strcmp(row->aggressor, like->aggressor) && !strcmp(row->name, like->name))
			return row;
	}
	return NULL;
}

static bool has_level(const struct contention *c, const char *aggressor, uint64_t level)
{
	for (size_t i = 0; i < c->aggressor_count; i++) {
		const struct aggressor *a = &c->aggressors[i];

		for (size_t n = 1; n < a->count && !strcmp(a->name, aggressor); n++)
			if (a->points[n].level == level)
				return true;
	}
	return false;
}

static bool has_event(const struct contention *c, const char *name)
{
	if (!strcmp(name, "time"))
		return true;
	for (size_t n = 0; n < c->channel_count; n++)
		for (size_t part = 0; part < CHANNEL_PARTS; part++)
			if (*name && !strcmp(c->channels[n].events[part], name))
				return true;
	return false;
}

static int take_count(const struct csv *csv, enum column column, uint64_t *value)
{
	const struct csv_cell *cell = &csv->cells[column];
	const enum number_error error = parse_count(cell->text, value);

	return error == NUMBER_OK ?
		       0 :
		       csv_fail(csv, cell->column, number_error_text(error), cell->text);
}

static int take_row(struct contention *c, struct readings *r, const struct csv *csv)
{
	const struct csv_cell *cells = csv->cells;
	struct reading_row row = { .aggressor = cells[AGGRESSOR].text,
				   .name = cells[READING].text,
				   .line = csv->row_line };
	const struct reading_row *other;

	if (csv->count != COLUMNS)
		return csv_fail(csv, 1, "give aggressor,level,run,reading,value", NULL);
	if ((*cells[LEVEL].text && take_count(csv, LEVEL, &row.level)) ||
	    take_count(csv, RUN, &row.run) || take_count(csv, VALUE, &row.value))
		return -1;
	if (!row.level || !*row.aggressor) {
		if (row.level)
			return csv_fail(csv, cells[LEVEL].column, "the task alone has level 0",
					cells[LEVEL].text);
		row.aggressor = "";
	} else if (!has_level(c, row.aggressor, row.level)) {
		return csv_fail(csv, cells[AGGRESSOR].column,
				"no aggressor of the file has this name and level", row.aggressor);
	}
	if (!has_event(c, row.name))
		return csv_fail(csv, cells[READING].column,
				"it is neither time nor an event of a channel", row.name);
	other = find(r, &row);
	if (other)
		return csv_fail(csv, 1,
				arena_printf(&c->arena, "this reading is in line %u, too",
					     other->line),
				row.name);
	r->rows = arena_grow(&c->arena, r->rows, r->count, sizeof(*r->rows));
	r->rows[r->count] = row;
	hash_add(&c->arena, &r->table, hash_row(&row), r->count++);
	return 0;
}

/* A channel of which an event was never read is not measured. */
static void find_missing(struct contention *c, const struct readings *r)
{
	for (size_t n = 0; n < c->channel_count; n++) {
		struct channel *channel = &c->channels[n];

		for (size_t part = 0; part < CHANNEL_PARTS; part++) {
			const char *event = channel->events[part];
			bool found = !*event || !strcmp(event, "time");

			for (size_t i = 0; i < r->count && !found; i++)
				found = !strcmp(r->rows[i].name, event);
			if (!found)
				channel->missing =
					arena_printf(&c->arena, "%s is not in %s", event, r->path);
		}
	}
}

static int readings_open(struct contention *c, const char *path)
{
	static const char *const header[] = { "aggressor", "level", "run", "reading", "value" };
	struct readings *r = arena_alloc(&c->arena, sizeof(*r));
	struct csv csv = { .name = path, .arena = &c->arena, .failure = &c->failure };
	size_t length;
	char *text = read_file(&c->arena, path, &length, &c->failure);
	int ret;

	c->of_machine = r;
	r->path = path;
	if (!text)
		return -1;
	csv.at = text;
	csv.end = text + length;
	if (measured_read_configuration(&csv, &c->measured))
		return -1;
	measured_configure(&c->arena, &c->measured, "readings", path);
	ret = csv_row(&csv);
	for (size_t n = 0; n < COLUMNS && ret > 0; n++)
		if (csv.count != COLUMNS || strcmp(csv.cells[n].text, header[n]) != 0)
			ret = csv_fail(&csv, 1,
				       "begin with the line aggressor,level,run,reading,value",
				       NULL);
	if (!ret)
		return fail(&c->failure, "%s: it is empty", path);
	while (ret > 0 && (ret = csv_row(&csv)) > 0)
		if (take_row(c, r, &csv))
			ret = -1;
	if (ret < 0)
		return -1;
	find_missing(c, r);
	/* as many as there are */
	c->runs = RUNS_MAX;
	return 0;
}

static int take_channel(struct contention *c, const struct readings *r, struct reading_row *like,
			size_t n, struct load *run)
{
	const struct channel *channel = &c->channels[n];
	uint64_t values[CHANNEL_PARTS] = { 0 };

	for (size_t part = 0; part < CHANNEL_PARTS; part++) {
		const struct reading_row *row;

		like->name = channel->events[part];
		if (!*like->name)
			continue;
		row = find(r, like);
		if (!row)
			return fail(&c->failure,
				    "%s: %s%slevel %" PRIu64 ", run %" PRIu64 " has no %s", r->path,
				    like->aggressor, *like->aggressor ? ", " : "", like->level,
				    like->run, like->name);
		values[part] = row->value;
	}
	channel_show(channel, values, run->shown[n]);
	return 0;
}

static int readings_measure(struct contention *c, const struct aggressor *a, uint64_t n,
			    struct load *run)
{
	const struct readings *r = c->of_machine;
	struct reading_row like = {
		.aggressor = a ? a->name : "", .level = run->level, .run = n, .name = "time"
	};
	struct reading_row *row = find(r, &like);

	if (!row && n)
		return CONTENTION_NO_RUN;
	if (!row || !row->value)
		return fail(&c->failure, "%s: %s%slevel %" PRIu64 ", run %" PRIu64 " has no time",
			    r->path, like.aggressor, a ? ", " : "", run->level, n);
	row->is_used = true;
	run->time_ns = row->value;
	for (size_t i = 0; i < c->channel_count; i++)
		if (!c->channels[i].missing && take_channel(c, r, &like, i, run))
			return -1;
	return 0;
}

/* Each reading belongs to a run that was used. */
static int readings_close(struct contention *c)
{
	const struct readings *r = c->of_machine;

	for (size_t n = 0; n < r->count && !*c->failure.text; n++) {
		struct reading_row like = r->rows[n];
		const struct reading_row *time;

		like.name = "time";
		time = find(r, &like);
		if (!time || !time->is_used)
			return fail(&c->failure,
				    "%s:%u: run %" PRIu64 " is not used: runs count from 0 on "
				    "without a gap, at most %d of a level, and each has a time",
				    r->path, like.line, like.run, RUNS_MAX);
	}
	return 0;
}

const struct contention_machine contention_readings = {
	.name = "readings",
	.open = readings_open,
	.measure = readings_measure,
	.close = readings_close,
};
