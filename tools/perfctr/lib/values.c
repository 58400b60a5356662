// SPDX-License-Identifier: MIT
/* Which lines each counter of a sample belongs to, found once, and their values in it. */
#include "values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a line that a counter of a block contributes to: that of the block, of its type, or as named */
struct values_target {
	uint32_t line;
	unsigned char n, bit; /* of the counter: its number in the block and its bit in the masks */
	unsigned char shift; /* of its value */
};

/*
 * A block of the current sample, and the lines that it contributes to. These are found once,
 * because all samples of a session have the same blocks in the same order.
 */
struct values_source {
	struct perfctr_block block;
	struct perfctr_block_pmu pmu;
	bool has_span;
	uint64_t start_ns, end_ns, enabled_ns;
	struct values_target *targets;
	size_t target_count;
};

/* what a line has of a source: a target the other way round */
struct values_part {
	uint32_t source;
	unsigned char n, bit, shift;
};

/* lines that follow each other and have parts of the same sources */
struct values_group {
	size_t line, line_count; /* the first, and how many */
	size_t part,
		source_count; /* the first part of the first line, and how many each line has */
};

static void add_lines(struct values *v, const struct rows *rows, bool is_block)
{
	for (size_t n = 0; n < rows->count; n++) {
		const struct row *row = &rows->rows[n];

		v->lines[v->count++] = (struct values_line){
			.row = row,
			.is_block = is_block,
			.is_rate = !row->metric && !row_is_level(row),
			.is_metric = row->metric,
			.is_estimated = row->flags & PERFCTR_VALUE_ESTIMATED,
			.scale = row->scale,
		};
	}
}

/* Number each metric's block; those of a metric come in the order of the totals. */
static void number_blocks(struct values *v)
{
	const struct perfctr_totals *totals = v->file->totals;
	const size_t count = perfctr_totals_block_count(totals);
	size_t at = 0;

	for (struct values_line *l = v->lines; l < v->lines + v->count; l++) {
		size_t tries = l->is_block && l->row->metric && l->row->info ? count : 0;

		l->block = count;
		for (; tries && l->block == count; at = (at + 1) % count, tries--)
			if (perfctr_totals_block_info(perfctr_totals_block(totals, at)) ==
			    l->row->info)
				l->block = at;
	}
}

static uint64_t key_of(unsigned int type, unsigned int index, unsigned int section,
		       unsigned int set)
{
	return (uint64_t)type << 48 | (uint64_t)index << 32 | section << 8 | set;
}

static uint64_t line_key(const struct values *v, size_t line)
{
	const struct perfctr_totals_block_info *i = v->lines[line].row->info;

	return key_of(i->type, i->index, i->section, i->set);
}

/* The last line of a counter counts, so equal keys are in the order of the lines. */
static int by_block(const void *a, const void *b, void *data)
{
	const size_t *x = a, *y = b;
	const uint64_t p = line_key(data, *x), q = line_key(data, *y);

	return p != q ? (p > q) - (p < q) : (*x > *y) - (*x < *y);
}

static int sort_lines(struct values *v)
{
	v->by_block = calloc(v->count + 1, sizeof(*v->by_block));
	if (!v->by_block)
		return -ENOMEM;
	for (size_t n = 0; n < v->count; n++)
		if (!v->lines[n].row->metric)
			v->by_block[v->by_block_count++] = n;
	qsort_r(v->by_block, v->by_block_count, sizeof(*v->by_block), by_block, v);
	return 0;
}

/* Totals of one sample, for metrics; of types of blocks only, unless lines of blocks are wanted. */
static int one_sample(const struct app *app, const struct capture_file *file, bool per_block,
		      struct perfctr_totals **one)
{
	struct perfctr_totals *totals;
	int error = rows_totals(app, file->selection, &totals);

	if (error || per_block) {
		*one = error ? NULL : totals;
		return error;
	}
	error = perfctr_totals_sum(totals, one);
	perfctr_totals_unref(totals);
	return error;
}

int values_init(const struct app *app, const struct capture_file *file, bool per_block,
		struct values *values)
{
	size_t count;
	int error;

	*values = (struct values){ .file = file };
	values->sums.device = values->blocks.device = capture_file_device(file);
	error = rows_fill(&values->sums, file->totals, file->selection, false);
	if (!error && per_block)
		error = rows_fill(&values->blocks, file->totals, file->selection, true);
	if (error)
		return error;
	count = values->sums.count + values->blocks.count;
	values->lines = calloc(count + 1, sizeof(*values->lines));
	values->items = calloc(count + 1, sizeof(*values->items));
	values->part_ends = calloc(count + 1, sizeof(*values->part_ends));
	values->groups = calloc(count + 1, sizeof(*values->groups));
	if (!values->lines || !values->items || !values->part_ends || !values->groups)
		return -ENOMEM;
	add_lines(values, &values->sums, false);
	add_lines(values, &values->blocks, true);
	number_blocks(values);
	error = sort_lines(values);
	if (error)
		return error;
	if (!perfctr_selection_metric_count(file->selection))
		return 0;
	return one_sample(app, file, per_block, &values->one);
}

void values_end(struct values *values)
{
	perfctr_totals_unref(values->one);
	free(values->items);
	for (size_t n = 0; n < values->source_room; n++)
		free(values->sources[n].targets);
	free(values->sources);
	free(values->parts);
	free(values->part_ends);
	free(values->groups);
	free(values->by_block);
	values->one = NULL;
	values->items = NULL;
	values->sources = NULL;
	values->source_count = values->source_room = 0;
	values->parts = NULL;
	values->part_ends = NULL;
	values->groups = NULL;
	values->by_block = NULL;
}

void values_free(struct values *values)
{
	values_end(values);
	rows_free(&values->sums);
	rows_free(&values->blocks);
	free(values->lines);
	*values = (struct values){ 0 };
}

/* Whether a line shows the current block, alone or in a sum. */
static bool is_of_block(const struct perfctr_totals_block_info *i, const struct values_source *s)
{
	const struct perfctr_block *b = &s->block;

	if (i->type != b->type || i->section != b->section || i->set != b->set ||
	    (i->index != b->index && i->index != DRM_PERFCTR_INDEX_ALL))
		return false;
	return !i->is_pmu ||
	       (i->config == s->pmu.config && i->config1 == s->pmu.config1 &&
		i->config2 == s->pmu.config2 &&
		(i->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || !strcmp(i->pmu, s->pmu.name)));
}

/* kinds of lines */
enum { OF_BLOCK, OF_TYPE, AS_NAMED, LINE_KINDS };

/* by kind of line and bit of the counter: the line's number from 1 on; 0: none */
typedef size_t source_lines[LINE_KINDS][DRM_PERFCTR_SECTION_COUNTERS];

/* Find the lines of a source among those of blocks with its type and so on, and an index. */
static void find_lines_of(const struct values *v, const struct values_source *s, unsigned int index,
			  source_lines lines)
{
	const uint64_t key = key_of(s->block.type, index, s->block.section, s->block.set);
	size_t low = 0, high = v->by_block_count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (line_key(v, v->by_block[middle]) < key)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < v->by_block_count && line_key(v, v->by_block[low]) == key; low++) {
		const size_t n = v->by_block[low];
		const struct row *row = v->lines[n].row;

		if (is_of_block(row->info, s))
			lines[v->lines[n].is_block ? OF_BLOCK :
			      row->parts	   ? OF_TYPE :
					   AS_NAMED][row->position % DRM_PERFCTR_SECTION_COUNTERS] =
				n + 1;
	}
}

/* Return: false: no memory. */
static bool find_targets(const struct values *v, struct values_source *s)
{
	const size_t most = LINE_KINDS * (size_t)__builtin_popcountll(s->block.enable_mask);
	source_lines lines = { 0 };
	unsigned char n = 0;

	free(s->targets);
	s->targets = malloc((most + 1) * sizeof(*s->targets));
	s->target_count = 0;
	if (!s->targets)
		return false;
	find_lines_of(v, s, DRM_PERFCTR_INDEX_ALL, lines);
	find_lines_of(v, s, s->block.index, lines);
	for (uint64_t mask = s->block.enable_mask; mask; n++, mask &= mask - 1) {
		const unsigned int bit = (unsigned int)__builtin_ctzll(mask);

		for (size_t kind = 0; kind < LINE_KINDS; kind++) {
			const size_t line = lines[kind][bit];
			const struct perfctr_counter_desc *desc =
				line ? v->lines[line - 1].row->desc : NULL;

			if (line)
				s->targets[s->target_count++] = (struct values_target){
					.line = (uint32_t)(line - 1),
					.n = n,
					.bit = (unsigned char)bit,
					.shift = desc ? desc->shift : 0,
				};
		}
	}
	return true;
}

static bool is_same_source(const struct values_source *s, const struct perfctr_block *block,
			   const struct perfctr_block_pmu *pmu)
{
	if (s->block.type != block->type || s->block.index != block->index ||
	    s->block.section != block->section || s->block.set != block->set ||
	    s->block.product != block->product || s->block.format != block->format ||
	    s->block.enable_mask != block->enable_mask)
		return false;
	return !(block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY) ||
	       (s->pmu.config == pmu->config && s->pmu.config1 == pmu->config1 &&
		s->pmu.config2 == pmu->config2 && !strcmp(s->pmu.name, pmu->name));
}

/* Take a block of a sample. @is_new: set if the sample before did not have it. */
static int take_block(struct values *v, size_t n, const struct perfctr_sample *sample,
		      const struct perfctr_block *block, bool *is_new)
{
	struct perfctr_block_pmu pmu;
	const bool is_pmu = perfctr_block_read_pmu(block, &pmu);
	struct values_source *s;
	uint64_t running_ns;

	if (n == v->source_room) {
		s = realloc(v->sources, (n + 1) * sizeof(*s));
		if (!s)
			return -ENOMEM;
		v->sources = s;
		memset(&s[n], 0, sizeof(*s));
		v->source_room++;
	}
	s = &v->sources[n];
	if (!s->block.bytes || !is_same_source(s, block, &pmu)) {
		*is_new = true;
		s->pmu = is_pmu ? pmu : (struct perfctr_block_pmu){ 0 };
		s->block = *block;
		if (!find_targets(v, s))
			return -ENOMEM;
	}
	s->block = *block;
	s->start_ns = sample->start_ns;
	s->end_ns = sample->end_ns;
	s->enabled_ns = 0;
	perfctr_block_read_times(block, &s->enabled_ns, &running_ns);
	s->has_span = perfctr_block_read_span(block, &s->start_ns, &s->end_ns);
	return 0;
}

static bool has_same_sources(const struct values_part *a, const struct values_part *b, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (a[n].source != b[n].source)
			return false;
	return true;
}

static void find_groups(struct values *v)
{
	struct values_group *g = NULL;
	size_t part = 0;

	v->group_count = 0;
	for (size_t n = 0; n < v->count; part = v->part_ends[n++]) {
		const size_t count = v->part_ends[n] - part;

		if (v->lines[n].is_metric)
			continue;
		if (g && g->line + g->line_count == n && g->source_count == count &&
		    has_same_sources(v->parts + g->part, v->parts + part, count)) {
			g->line_count++;
			continue;
		}
		g = &v->groups[v->group_count++];
		*g = (struct values_group){
			.line = n,
			.line_count = 1,
			.part = part,
			.source_count = count,
		};
	}
}

/* Sort the targets of all sources by line. */
static int find_parts(struct values *v)
{
	struct values_part *parts;
	size_t count = 0;

	for (size_t n = 0; n < v->source_count; n++)
		count += v->sources[n].target_count;
	parts = realloc(v->parts, (count + 1) * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	v->parts = parts;
	/* how many a line has, then where they begin, at last where they end */
	memset(v->part_ends, 0, v->count * sizeof(*v->part_ends));
	for (size_t n = 0; n < v->source_count; n++)
		for (size_t t = 0; t < v->sources[n].target_count; t++)
			v->part_ends[v->sources[n].targets[t].line]++;
	for (size_t line = v->count, end = count; line--; v->part_ends[line] = end)
		end -= v->part_ends[line];
	for (size_t n = 0; n < v->source_count; n++) {
		const struct values_source *s = &v->sources[n];

		for (const struct values_target *t = s->targets; t < s->targets + s->target_count;
		     t++)
			parts[v->part_ends[t->line]++] = (struct values_part){
				.source = (uint32_t)n,
				.n = t->n,
				.bit = t->bit,
				.shift = t->shift,
			};
	}
	find_groups(v);
	return 0;
}

static int take_blocks(struct values *v, struct perfctr_sample *sample)
{
	struct perfctr_block block;
	bool is_new = false;
	size_t n = 0;
	int error = 0;

	perfctr_decode_rewind(sample);
	for (; !error && perfctr_decode_block(sample, &block) > 0; n++)
		error = take_block(v, n, sample, &block, &is_new);
	is_new |= n != v->source_count || !v->parts;
	v->source_count = error ? 0 : n;
	return error || !is_new ? error : find_parts(v);
}

/*
 * The time in which a multiplexed counter ran, as part of its sample's time. A process has the time
 * enabled only while it is awake; asleep, the part is that of the capture. In a kernel's sample
 * that time may be of another span than the sample, so the part is by the capture's.
 */
static uint64_t time_running(const struct values *v, const struct values_item *item,
			     const struct row *row)
{
	const double ns = (double)(item->end_ns - item->start_ns);

	if (strcmp(perfctr_device_driver(v->file->device), PERFCTR_DEVICE_LOCAL) != 0)
		return (uint64_t)((double)item->ran_ns * (double)row->info->elapsed_ns /
				  (double)row->info->time_enabled);
	if (!item->enabled_ns)
		return (uint64_t)(ns * row->running_ratio);
	return (uint64_t)(ns * (double)item->ran_ns / (double)item->enabled_ns);
}

/*
 * A multiplexed counter has its rate while it ran. The rate of the capture is that of all of this
 * time, so it is between those of the samples.
 */
static double number_of(const struct values_line *line, const struct values_item *item)
{
	if (!item->is_measured)
		return NAN;
	if (!line->is_rate)
		return row_number(line->row, item->count) * line->scale;
	/* no time, no rate */
	return item->ran_ns ? (double)item->count * 1e9 / (double)item->ran_ns * line->scale : NAN;
}

/* What a group covers, and ns of all its sources added up. */
static uint64_t add_spans(const struct values *v, const struct values_group *g,
			  struct values_item *item)
{
	const struct values_part *p = v->parts + g->part;
	uint64_t ns = 0;

	*item = (struct values_item){ .is_present = g->source_count };
	for (size_t n = 0; n < g->source_count; n++) {
		const struct values_source *s = &v->sources[p[n].source];

		if (!n || s->start_ns < item->start_ns)
			item->start_ns = s->start_ns;
		if (s->end_ns > item->end_ns)
			item->end_ns = s->end_ns;
		item->has_span |= s->has_span;
		ns += s->end_ns - s->start_ns;
	}
	return ns;
}

/* Add what the lines of a group have of a source. @p: part of the first line. */
static void add_source(const struct values_group *g, const struct values_part *p,
		       const struct values_source *s, struct values_item *items)
{
	const bool takes_turns = s->block.states & DRM_PERFCTR_STATE_MULTIPLEXED;
	/* a copy, which the items cannot change */
	const struct perfctr_block block = s->block;
	const uint64_t enabled_ns = s->enabled_ns;

	for (struct values_item *item = items; item < items + g->line_count;
	     item++, p += g->source_count) {
		const uint64_t count = perfctr_block_value(&block, p->n);
		const uint64_t running_ns = perfctr_block_running(&block, p->n);

		/* one that had no turn was not measured */
		if (!(block.valid_mask >> p->bit & 1) || (takes_turns && !running_ns && !count))
			continue;
		item->is_measured = true;
		item->count += count << p->shift;
		item->enabled_ns += enabled_ns;
		item->ran_ns += running_ns;
	}
}

static void take_group(struct values *v, const struct values_group *g)
{
	const struct values_part *p = v->parts + g->part;
	struct values_item *items = v->items + g->line, cover;
	uint64_t span_ns = add_spans(v, g, &cover);

	if (g->source_count)
		span_ns /= g->source_count;
	for (size_t n = 0; n < g->line_count; n++)
		items[n] = cover;
	for (size_t n = 0; n < g->source_count; n++)
		add_source(g, p + n, &v->sources[p[n].source], items);
	for (size_t n = 0; n < g->line_count; n++) {
		const struct values_line *line = &v->lines[g->line + n];

		items[n].ran_ns = line->is_estimated ? time_running(v, &items[n], line->row) :
						       span_ns;
		items[n].number = number_of(line, &items[n]);
	}
}

static int take_metrics(struct values *v, struct perfctr_sample *sample)
{
	int error;

	if (!v->one)
		return 0;
	for (size_t n = 0; n < v->count; n++)
		if (v->lines[n].is_metric)
			v->items[n] = (struct values_item){ 0 };
	perfctr_totals_reset(v->one);
	error = perfctr_totals_add(v->one, sample);
	if (error)
		return error == -EBADMSG ? 0 : error;
	for (size_t n = 0; n < v->count; n++) {
		const struct values_line *l = &v->lines[n];
		const struct perfctr_totals_block *block = NULL;
		struct perfctr_value value;
		bool of_block;

		if (!l->is_metric || (v->blocks_only && !l->is_block))
			continue;
		of_block = l->is_block && l->row->info;
		v->items[n].is_present = true;
		if (of_block)
			/* the blocks of a sample come in the same order */
			block = perfctr_totals_block(v->one, l->block);
		if (of_block && !block)
			continue;
		error = perfctr_totals_metric(block ? v->one : perfctr_totals_by_type(v->one),
					      l->row->metric, block, &value);
		if (error == -ENOMEM)
			return error;
		if (!error && value.state == PERFCTR_VALUE_OK) {
			v->items[n].is_measured = true;
			v->items[n].number = value.number;
			v->items[n].start_ns = sample->start_ns;
			v->items[n].end_ns = sample->end_ns;
			v->items[n].ran_ns = sample->end_ns - sample->start_ns;
		}
	}
	return 0;
}

int values_take(struct values *values, struct perfctr_sample *sample)
{
	const int error = take_blocks(values, sample);

	if (error)
		return error;
	for (size_t n = 0; n < values->group_count; n++)
		take_group(values, &values->groups[n]);
	return take_metrics(values, sample);
}
