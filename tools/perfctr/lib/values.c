// SPDX-License-Identifier: MIT
/* Which lines each counter of a sample belongs to, found once, and their values in it. */
#include "values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a line that a counter of a block contributes to: that of the block, of its type, or as named */
struct values_target {
	size_t line;
	unsigned char n, bit; /* of the counter: its number in the block and its bit in the masks */
	unsigned char shift; /* of its value */
};

/*
 * Lines that a block of a sample contributes to. Found once, because all samples of a session have
 * the same blocks in the same order.
 */
struct values_source {
	struct perfctr_block block;
	struct perfctr_block_pmu pmu;
	struct values_target *targets;
	size_t target_count;
};

static void add_lines(struct values *v, const struct rows *rows, bool is_block)
{
	for (size_t n = 0; n < rows->count; n++) {
		const struct row *row = &rows->rows[n];

		v->lines[v->count++] = (struct values_line){
			.row = row,
			.is_block = is_block,
			.is_rate = !row->metric && !row_is_level(row),
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
	if (!values->lines || !values->items)
		return -ENOMEM;
	add_lines(values, &values->sums, false);
	add_lines(values, &values->blocks, true);
	number_blocks(values);
	error = sort_lines(values);
	if (error)
		return error;
	if (!perfctr_selection_metric_count(file->selection))
		return 0;
	return rows_totals(app, file->selection, &values->one);
}

void values_end(struct values *values)
{
	perfctr_totals_unref(values->one);
	free(values->items);
	for (size_t n = 0; n < values->source_count; n++)
		free(values->sources[n].targets);
	free(values->sources);
	free(values->by_block);
	values->one = NULL;
	values->items = NULL;
	values->sources = NULL;
	values->source_count = 0;
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
					.line = line - 1,
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

static struct values_source *find_source(struct values *v, size_t n,
					 const struct perfctr_block *block,
					 const struct perfctr_block_pmu *pmu)
{
	struct values_source *s;

	if (n == v->source_count) {
		s = realloc(v->sources, (n + 1) * sizeof(*s));
		if (!s)
			return NULL;
		v->sources = s;
		memset(&s[n], 0, sizeof(*s));
		v->source_count++;
	}
	s = &v->sources[n];
	if (s->block.bytes && is_same_source(s, block, pmu))
		return s;
	s->block = *block;
	s->pmu = *pmu;
	return find_targets(v, s) ? s : NULL;
}

/* a block's span, and what a counter has in it */
struct part {
	bool has_span;
	uint64_t start_ns, end_ns, count, enabled_ns, running_ns;
};

static void add_span(struct values_item *item, const struct part *part)
{
	if (!item->is_present || part->start_ns < item->start_ns)
		item->start_ns = part->start_ns;
	if (part->end_ns > item->end_ns)
		item->end_ns = part->end_ns;
	item->spans_ns += part->end_ns - part->start_ns;
	item->spans++;
	item->has_span |= part->has_span;
	item->is_present = true;
}

static void add_count(struct values_item *item, const struct part *part, unsigned int shift)
{
	item->is_measured = true;
	item->count += part->count << shift;
	item->enabled_ns += part->enabled_ns;
	item->ran_ns += part->running_ns;
}

static int take_blocks(struct values *v, struct perfctr_sample *sample)
{
	struct perfctr_block_pmu pmu = { 0 };
	struct perfctr_block block;

	perfctr_decode_rewind(sample);
	for (size_t n = 0; perfctr_decode_block(sample, &block) > 0; n++) {
		const bool takes_turns = block.states & DRM_PERFCTR_STATE_MULTIPLEXED;
		struct part part = { .start_ns = sample->start_ns, .end_ns = sample->end_ns };
		const struct values_source *s;
		uint64_t running_ns;

		perfctr_block_read_times(&block, &part.enabled_ns, &running_ns);
		part.has_span = perfctr_block_read_span(&block, &part.start_ns, &part.end_ns);
		if (!perfctr_block_read_pmu(&block, &pmu))
			pmu = (struct perfctr_block_pmu){ 0 };
		s = find_source(v, n, &block, &pmu);
		if (!s)
			return -ENOMEM;
		for (size_t t = 0; t < s->target_count; t++) {
			const struct values_target *target = &s->targets[t];
			struct values_item *item = &v->items[target->line];

			part.count = perfctr_block_value(&block, target->n);
			part.running_ns = perfctr_block_running(&block, target->n);
			add_span(item, &part);
			/* one that had no turn was not measured */
			if (block.valid_mask >> target->bit & 1 &&
			    (!takes_turns || part.running_ns || part.count))
				add_count(item, &part, target->shift);
		}
	}
	return 0;
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
static void finish_counters(struct values *v)
{
	for (size_t n = 0; n < v->count; n++) {
		const struct row *row = v->lines[n].row;
		struct values_item *item = &v->items[n];

		if (row->metric)
			continue;
		item->number = NAN;
		if (row->flags & PERFCTR_VALUE_ESTIMATED)
			item->ran_ns = time_running(v, item, row);
		else
			item->ran_ns = item->spans ? item->spans_ns / item->spans : 0;
		/* no time, no rate */
		if (item->is_measured && !v->lines[n].is_rate)
			item->number = row_number(row, item->count) * row->scale;
		else if (item->is_measured && item->ran_ns)
			item->number =
				(double)item->count * 1e9 / (double)item->ran_ns * row->scale;
	}
}

static int take_metrics(struct values *v, struct perfctr_sample *sample)
{
	int error;

	if (!v->one)
		return 0;
	perfctr_totals_reset(v->one);
	error = perfctr_totals_add(v->one, sample);
	if (error)
		return error == -EBADMSG ? 0 : error;
	for (size_t n = 0; n < v->count; n++) {
		const struct values_line *l = &v->lines[n];
		const struct perfctr_totals_block *block = NULL;
		struct perfctr_value value;
		bool of_block = l->is_block && l->row->info;

		if (!l->row->metric || (v->blocks_only && !l->is_block))
			continue;
		v->items[n].is_present = true;
		if (of_block)
			/* the blocks of a sample come in the same order */
			block = perfctr_totals_block(v->one, l->block);
		if (of_block && !block)
			continue;
		if (!perfctr_totals_metric(block ? v->one : perfctr_totals_by_type(v->one),
					   l->row->metric, block, &value) &&
		    value.state == PERFCTR_VALUE_OK) {
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
	int error;

	memset(values->items, 0, values->count * sizeof(*values->items));
	error = take_blocks(values, sample);
	if (error)
		return error;
	finish_counters(values);
	return take_metrics(values, sample);
}
