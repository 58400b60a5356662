// SPDX-License-Identifier: MIT
/* Fills columns from samples. */
#include "columns.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, TEXT_BYTES = 768, SECTION = 64 };

/* of each sample, before its counters */
enum { SEQ, START_NS, END_NS, USER_DATA, FLAGS, MERGED_PERIODS, LOST_NS, PLAIN_COLUMNS };

static const struct {
	const char *name;
	enum column_type type;
	const char *unit;
} plain[PLAIN_COLUMNS] = {
	[SEQ] = { "seq", COLUMN_U64, "" },
	[START_NS] = { "start_ns", COLUMN_U64, "ns" },
	[END_NS] = { "end_ns", COLUMN_U64, "ns" },
	[USER_DATA] = { "user_data", COLUMN_U64, "" },
	[FLAGS] = { "flags", COLUMN_U32, "" },
	[MERGED_PERIODS] = { "merged_periods", COLUMN_U32, "" },
	[LOST_NS] = { "lost_ns", COLUMN_U64, "ns" },
};

static size_t value_bytes(enum column_type type)
{
	return type == COLUMN_U32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

static size_t bitmap_bytes(size_t rows)
{
	return (rows + 7) / 8;
}

static struct column *add_column(struct store *s, const char *name, const char *unit,
				 const char *text, enum column_type type, bool has_valid)
{
	struct column *columns = realloc(s->columns, (s->count + 1) * sizeof(*columns)), *c;

	if (!columns)
		return NULL;
	s->columns = columns;
	c = &columns[s->count];
	*c = (struct column){ .type = type, .scale = 1 };
	c->name = strdup(name);
	c->unit = strdup(unit);
	c->text = strdup(text);
	/* of zeros: a row that a sample does not set was not measured */
	c->data = calloc(s->room, value_bytes(type));
	c->valid = has_valid ? calloc(1, bitmap_bytes(s->room)) : NULL;
	s->count++;
	return c->name && c->unit && c->text && c->data && (c->valid || !has_valid) ? c : NULL;
}

struct store *store_new(struct perfctr_ctx *ctx, struct perfctr_selection *selection, size_t hint)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->room = hint < FIRST_ROOM ? FIRST_ROOM : hint;
	s->ctx = perfctr_ctx_ref(ctx);
	s->selection = perfctr_selection_ref(selection);
	for (size_t n = 0; n < PLAIN_COLUMNS; n++) {
		if (!add_column(s, plain[n].name, plain[n].unit, "", plain[n].type, false)) {
			store_unref(s);
			return NULL;
		}
	}
	return s;
}

struct store *store_ref(struct store *store)
{
	atomic_fetch_add(&store->refs, 1);
	return store;
}

static void free_columns(struct store *s, size_t first)
{
	for (size_t n = first; n < s->count; n++) {
		free(s->columns[n].name);
		free(s->columns[n].unit);
		free(s->columns[n].text);
		free(s->columns[n].data);
		free(s->columns[n].valid);
	}
	s->count = first;
}

static void forget_sources(struct store *s)
{
	free(s->sources);
	s->sources = NULL;
	s->source_count = 0;
	s->selection = perfctr_selection_unref(s->selection);
	s->ctx = perfctr_ctx_unref(s->ctx);
}

void store_unref(struct store *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	forget_sources(s);
	free_columns(s, 0);
	free(s->columns);
	free(s);
}

/* Enlarge an array. Return: false if it stays as it is. */
static bool grow_array(void **array, size_t bytes, size_t more)
{
	char *larger = realloc(*array, more);

	if (!larger)
		return false;
	memset(larger + bytes, 0, more - bytes);
	*array = larger;
	return true;
}

static bool grow(struct store *s)
{
	const size_t room = 2 * s->room;

	for (size_t n = 0; n < s->count; n++) {
		struct column *c = &s->columns[n];
		const size_t size = value_bytes(c->type);
		void *valid = c->valid;

		if (!grow_array(&c->data, s->room * size, room * size))
			return false;
		if (valid && !grow_array(&valid, bitmap_bytes(s->room), bitmap_bytes(room)))
			return false;
		c->valid = valid;
	}
	s->room = room;
	return true;
}

bool is_software(const struct perfctr_totals_block_info *info,
		 const struct perfctr_selection *selection)
{
	for (size_t n = 0; n < perfctr_selection_request_count(selection); n++) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(selection, n);

		if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && info->type == r->type &&
		    info->index == r->index)
			return r->pmu_type == PERF_TYPE_SOFTWARE;
	}
	return false;
}

void event_name(const struct perfctr_totals_block_info *info,
		const struct perfctr_selection *selection, const char *counter, char *text,
		size_t size)
{
	const char *label = is_software(info, selection) ? "software" : info->label;
	char filters[128];

	if (!info->is_pmu) {
		snprintf(text, size, "%s/%s", label, counter);
		return;
	}
	perfctr_filter_text(info->type, info->config, info->config1, info->config2, filters,
			    sizeof(filters));
	snprintf(text, size, "%s/%s%s%s%s", label, counter, filters[0] ? "," : "", filters,
		 strchr(counter, '/') ? "" : "/");
}

/*
 * Add the columns of a block: what totals of its sample say of it. @n: number in the sample.
 * Return: 0; -EBADMSG the sample has two blocks of one identity, which totals make one block;
 * another negative errno. The caller takes back what was added.
 */
static int add_source(struct store *s, struct perfctr_sample *sample, size_t n)
{
	struct source *source = &s->sources[n];
	const struct perfctr_totals_block *block;
	struct perfctr_totals *totals = NULL;
	struct perfctr_sample one = *sample;
	int error = perfctr_totals_new(s->ctx, &totals);

	source->first = s->count;
	if (!error)
		error = perfctr_totals_describe(totals, s->selection);
	if (!error)
		error = perfctr_totals_add(totals, &one);
	if (!error && perfctr_totals_block_count(totals) != sample->block_count)
		error = -EBADMSG;
	block = error ? NULL : perfctr_totals_block(totals, n);
	if (block && perfctr_totals_counter_count(block) != source->block.count)
		error = -EBADMSG;
	for (size_t i = 0; !error && i < perfctr_totals_counter_count(block); i++) {
		const struct perfctr_total *total = perfctr_totals_counter(block, i);
		const struct perfctr_counter_desc *desc = total->desc;
		const bool is_level = desc && desc->kind == PERFCTR_KIND_LEVEL;
		char name[TEXT_BYTES], counter[TEXT_BYTES], unit[TEXT_BYTES];
		struct column *c;
		double scale = 1;

		if (!desc && is_software(perfctr_totals_block_info(block), s->selection))
			desc = perfctr_counter_of_pmu("software", source->pmu.config);
		perfctr_totals_label(s->selection, block, i, counter, sizeof(counter));
		perfctr_totals_unit(s->selection, block, i, unit, sizeof(unit), &scale);
		event_name(perfctr_totals_block_info(block), s->selection, counter, name,
			   sizeof(name));
		c = add_column(s, name, unit, desc ? desc->short_text : "",
			       is_level ? COLUMN_I64 : COLUMN_U64, true);
		if (!c) {
			error = -ENOMEM;
			break;
		}
		c->kind = desc ? desc->kind : PERFCTR_KIND_COUNT;
		c->shift = desc ? desc->shift : 0;
		c->scale = scale;
	}
	perfctr_totals_unref(totals);
	return error;
}

static bool is_same(const struct source *s, const struct perfctr_block *b,
		    const struct perfctr_block_pmu *pmu)
{
	return s->block.type == b->type && s->block.index == b->index &&
	       s->block.section == b->section && s->block.set == b->set &&
	       s->block.product == b->product && s->block.clock == b->clock &&
	       s->block.enable_mask == b->enable_mask && s->pmu.config == pmu->config &&
	       s->pmu.config1 == pmu->config1 && s->pmu.config2 == pmu->config2 &&
	       !strcmp(s->pmu.name, pmu->name);
}

/* The source of block @n of a sample; blocks of a session are the same in each sample. */
static int find_source(struct store *s, struct perfctr_sample *sample, size_t n,
		       const struct perfctr_block *block, struct source **source)
{
	struct perfctr_block_pmu pmu = { .name = "" };
	struct source *sources;
	int error;

	perfctr_block_read_pmu(block, &pmu);
	if (n < s->source_count && is_same(&s->sources[n], block, &pmu)) {
		*source = &s->sources[n];
		return 0;
	}
	if (n < s->source_count)
		return -EBADMSG;
	sources = realloc(s->sources, (n + 1) * sizeof(*sources));
	if (!sources)
		return -ENOMEM;
	s->sources = sources;
	sources[n] = (struct source){ .block = *block, .pmu = pmu };
	s->source_count++;
	error = add_source(s, sample, n);
	*source = &s->sources[n];
	return error;
}

static void set_plain(struct store *s, const struct perfctr_sample *sample, size_t row)
{
	const struct column *c = s->columns;

	((uint64_t *)c[SEQ].data)[row] = sample->seq;
	((uint64_t *)c[START_NS].data)[row] = sample->start_ns;
	((uint64_t *)c[END_NS].data)[row] = sample->end_ns;
	((uint64_t *)c[USER_DATA].data)[row] = sample->user_data;
	((uint32_t *)c[FLAGS].data)[row] = sample->flags;
	((uint32_t *)c[MERGED_PERIODS].data)[row] = sample->merged_periods;
	((uint64_t *)c[LOST_NS].data)[row] = sample->lost_ns;
}

void column_set(struct column *c, size_t row, uint64_t value)
{
	((uint64_t *)c->data)[row] = value;
	c->valid[row / 8] |= (uint8_t)(1u << row % 8);
}

/* Set the counters of a row. Return: 0 or a negative errno. */
static int set_counters(struct store *s, struct perfctr_sample *sample, size_t row)
{
	struct perfctr_block block;
	int result;

	perfctr_decode_rewind(sample);
	for (size_t n = 0; (result = perfctr_decode_block(sample, &block)) > 0; n++) {
		const bool multiplexed = block.states & DRM_PERFCTR_STATE_MULTIPLEXED;
		struct source *source;
		struct column *c;
		int error = find_source(s, sample, n, &block, &source);

		if (error)
			return error;
		c = &s->columns[source->first];
		for (unsigned int i = 0; i < block.count; i++, c++) {
			const uint64_t value = perfctr_block_value(&block, i);
			const uint64_t bit = block.enable_mask & -block.enable_mask;

			block.enable_mask ^= bit;
			/* an event that had no turn was not measured */
			if (!(block.valid_mask & bit) ||
			    (multiplexed && !value && !perfctr_block_running(&block, i)))
				continue;
			column_set(c, row, value << c->shift);
		}
	}
	/* the ring may belong to another process, which changed the bytes */
	return result ? -EBADMSG : 0;
}

/* Make the row behind the last one what a sample finds: nothing was measured. */
static void clear_row(struct store *s, size_t row)
{
	for (size_t n = PLAIN_COLUMNS; n < s->count; n++) {
		const struct column *c = &s->columns[n];

		((uint64_t *)c->data)[row] = 0;
		c->valid[row / 8] &= (uint8_t) ~(1u << row % 8);
	}
}

int store_add(struct store *s, struct perfctr_sample *sample)
{
	const size_t columns = s->count, sources = s->source_count;
	int error;

	if (s->rows == s->room && !grow(s))
		return -ENOMEM;
	error = set_counters(s, sample, s->rows);
	/* a sample that is none leaves nothing behind */
	if (error) {
		free_columns(s, columns);
		s->source_count = sources;
		clear_row(s, s->rows);
		return error;
	}
	set_plain(s, sample, s->rows);
	s->rows++;
	return 0;
}

uint64_t store_end_ns(const struct store *s, size_t row)
{
	return ((const uint64_t *)s->columns[END_NS].data)[row];
}

struct column *store_add_times(struct store *s, const char *name)
{
	return add_column(s, name, "ns", "", COLUMN_U64, true);
}

void store_finish(struct store *s)
{
	for (size_t n = 0; n < s->count; n++) {
		struct column *c = &s->columns[n];

		c->missing = c->valid ? s->rows : 0;
		for (size_t i = 0; c->valid && i < bitmap_bytes(s->rows); i++)
			c->missing -= (size_t)__builtin_popcount(c->valid[i]);
	}
	forget_sources(s);
}
