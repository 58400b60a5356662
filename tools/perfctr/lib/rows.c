// SPDX-License-Identifier: MIT
/* Fills tables from totals: counters by type or block, metrics, trust, rates, names. */
#include "rows.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "json.h"

/* texts of rows, one behind the other; those before are full */
struct row_texts {
	struct row_texts *before;
	size_t used, size;
	char bytes[];
};

enum { TEXTS_BYTES = 4096 - sizeof(struct row_texts) };

/* texts of a row while it is made; @event without the device */
struct names {
	char event[ROW_EVENT_BYTES], label[ROW_LABEL_BYTES], counter[ROW_COUNTER_BYTES];
	char unit[ROW_UNIT_BYTES];
};

int rows_totals(const struct app *app, struct perfctr_selection *selection,
		struct perfctr_totals **totals)
{
	int error = perfctr_totals_new(app->ctx, totals);

	return error ? error : perfctr_totals_describe(*totals, selection);
}

/* As snprintf() with "%s", several times faster. Return: bytes that fit. */
static size_t copy_text(char *text, size_t size, const char *from)
{
	const size_t length = strnlen(from, size - 1);

	memcpy(text, from, length);
	text[length] = '\0';
	return length;
}

/* A row at the end, which is one of the table after keep_row(). */
static struct row *new_row(struct rows *rows)
{
	struct row *row;

	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : 64;
		struct row *more = realloc(rows->rows, capacity * sizeof(*more));

		if (!more)
			return NULL;
		rows->rows = more;
		rows->capacity = capacity;
	}
	row = &rows->rows[rows->count];
	*row = (struct row){ .scale = 1, .running_ratio = 1, .rate = NAN };
	return row;
}

/* Room for a text of the table. Return: NULL: no memory. */
static char *new_text(struct rows *rows, size_t size)
{
	struct row_texts *texts = rows->texts;

	if (!texts || size > texts->size - texts->used) {
		const size_t room = size > TEXTS_BYTES ? size : TEXTS_BYTES;

		texts = malloc(sizeof(*texts) + room);
		if (!texts)
			return NULL;
		*texts = (struct row_texts){ .before = rows->texts, .size = room };
		rows->texts = texts;
	}
	texts->used += size;
	return texts->bytes + texts->used - size;
}

/* A text of the table, @before if that is the same. Return: NULL: no memory. */
static const char *keep_text(struct rows *rows, const char *text, const char *before)
{
	const size_t size = strlen(text) + 1;
	char *kept;

	if (before && !strcmp(text, before))
		return before;
	kept = new_text(rows, size);
	return kept ? memcpy(kept, text, size) : NULL;
}

/* An event with its device, which a cgroup of any length may be. Return: as keep_text(). */
static const char *keep_event(struct rows *rows, struct row *row, const char *event)
{
	const size_t size = strlen(rows->device) + sizeof(":") + strlen(event);
	char *kept = new_text(rows, size);

	if (!kept)
		return NULL;
	strcpy(kept, rows->device);
	json_clean_field(kept);
	row->prefix = (unsigned int)strlen(strcat(kept, ":"));
	return strcat(kept, event);
}

/*
 * Inside the kernel two events of the PMU "software" belong to PMUs of their own, which have no
 * name before 6.2. So compare the PMU type of the request.
 */
static bool is_software(const struct perfctr_totals_block_info *info,
			const struct perfctr_selection *selection)
{
	if (info->type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return false;
	for (size_t i = 0; i < perfctr_selection_request_count(selection); i++) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(selection, i);

		if (r->type == info->type && r->index == info->index)
			return r->pmu_type == PERF_TYPE_SOFTWARE;
	}
	return false;
}

/* Event names of SoC blocks end with a slash, as perf's do. */
static void name_counter(const struct row *row, struct names *names)
{
	const struct perfctr_totals_block_info *info = row->info;
	char filters[128];
	const char *label = row->is_software ? "software" : info->label;
	char *event = names->event;
	const size_t size = sizeof(names->event);
	size_t length;

	copy_text(names->label, sizeof(names->label), label);
	if (!info->is_pmu) {
		length = copy_text(event, size, names->label);
		event[length++] = '/';
		copy_text(event + length, size - length, names->counter);
		return;
	}
	/*
	 * the name of a generic PMU's counter is the whole event, as the user wrote it, with the
	 * slash before modifiers
	 */
	perfctr_filter_text(info->type, info->config, info->config1, info->config2, filters,
			    sizeof(filters));
	snprintf(event, size, "%s/%s%s%s%s", names->label, names->counter, filters[0] ? "," : "",
		 filters, strchr(names->counter, '/') ? "" : "/");
}

static void fill_value(struct row *row, const struct perfctr_totals_block *block, size_t n)
{
	const struct perfctr_total *total = perfctr_totals_counter(block, n);
	struct perfctr_value value;

	perfctr_totals_value(block, n, &value, &row->running_ratio);
	row->value = total->sum;
	row->measured = total->measured;
	row->missed = total->missed;
	row->state = value.state;
	row->flags = value.flags & ~(uint32_t)PERFCTR_VALUE_INTEGER;
	if (row->state != PERFCTR_VALUE_OK)
		return;
	row->number = value.number * row->scale;
	/* @value is exact, beyond what the library's integer holds too */
	if (row->scale == 1 && row->running_ratio >= 1)
		row->flags |= PERFCTR_VALUE_INTEGER;
	row->elapsed_ns = row->info->elapsed_ns;
	if (!row_is_level(row) && row->elapsed_ns)
		row->rate = row->number * 1e9 / (double)row->elapsed_ns;
}

/* The trust of a metric, which takes a search of the whole database, is found once. */
static unsigned int metric_trust(struct rows *rows, const struct perfctr_metric_desc *metric)
{
	struct judged_metric new = { .metric = metric }, *more;

	if (!rows->verdicts)
		return metric->trust;
	for (size_t n = 0; n < rows->judged_count; n++)
		if (rows->judged[n].metric == metric)
			return rows->judged[n].trust;
	new.trust = verdicts_metric_trust(rows->verdicts, rows->ctx, metric);
	more = realloc(rows->judged, (rows->judged_count + 1) * sizeof(*more));
	if (more) {
		rows->judged = more;
		more[rows->judged_count++] = new;
	}
	return new.trust;
}

/*
 * Note what is known of a new row, and its texts; leave the row out if it is not to be shown.
 * Names come from processes, files and drivers, are any bytes, and may be cut within a character:
 * all that is shown of them is UTF-8 in one line.
 * Return: 0 or -ENOMEM.
 */
static int keep_row(struct rows *rows, struct row *row, struct names *names)
{
	const struct row none = { 0 }, *before = rows->count ? row - 1 : &none;

	row->samples = rows->span.samples;
	row->trust = row->metric ? metric_trust(rows, row->metric) :
				   verdicts_trust(rows->verdicts, row->desc);
	if (rows->trusted_only && row->trust != PERFCTR_TRUST_TRUSTED) {
		rows->hidden++;
		return 0;
	}
	json_clean_field(names->event);
	json_clean_field(names->label);
	json_clean_field(names->counter);
	json_clean_field(names->unit);
	row->event = rows->device ? keep_event(rows, row, names->event) :
				    keep_text(rows, names->event, NULL);
	row->label = keep_text(rows, names->label, before->label);
	row->counter = keep_text(rows, names->counter, before->counter);
	row->unit = keep_text(rows, names->unit, before->unit);
	if (!row->event || !row->label || !row->counter || !row->unit)
		return -ENOMEM;
	rows->count++;
	return 0;
}

static bool is_same_event(const struct perfctr_totals_block_info *a,
			  const struct perfctr_totals_block_info *b)
{
	return a->type == b->type && a->section == b->section && a->set == b->set &&
	       a->product == b->product && a->clock == b->clock && a->config == b->config &&
	       a->config1 == b->config1 && a->config2 == b->config2 &&
	       (a->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || a->index == b->index);
}

const struct perfctr_totals_block_info *row_part(const struct row *row, size_t *n)
{
	const struct perfctr_totals_block *block;

	while (row->parts && (block = perfctr_totals_block(row->parts, (*n)++))) {
		const struct perfctr_totals_block_info *info = perfctr_totals_block_info(block);

		if (!is_same_event(info, row->info))
			continue;
		for (size_t c = 0; c < perfctr_totals_counter_count(block); c++)
			if (perfctr_totals_counter(block, c)->position == row->position)
				return info;
	}
	return NULL;
}

char *row_clock_text(const struct row *row, char *text, size_t size)
{
	char number[32];

	*text = '\0';
	if (row->desc && row->desc->kind == PERFCTR_KIND_CYCLES && row->parts &&
	    row->info->blocks > 1 && isfinite(row->rate))
		snprintf(text, size, "%s%s/s in each of %u blocks",
			 number_short(row->rate / row->info->blocks, number, sizeof(number)),
			 row->unit, row->info->blocks);
	return text;
}

/* which counters to show: all, those named singly, those named as a sum */
enum naming { NAMING_ALL, NAMING_SINGLE, NAMING_SUMMED };

/* Whether a counter was named that way; for a sum, in any of its blocks. */
static bool is_named(const struct perfctr_selection *selection,
		     const struct perfctr_totals_block_info *info, unsigned int position,
		     enum naming naming)
{
	const uint64_t bit = UINT64_C(1) << position % DRM_PERFCTR_SECTION_COUNTERS;
	bool known = false;

	for (size_t i = 0; i < perfctr_selection_request_count(selection); i++) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(selection, i);
		uint64_t single, summed;

		if (r->type != info->type || r->section != info->section || !(r->mask & bit) ||
		    (info->index != DRM_PERFCTR_INDEX_ALL && r->index != info->index) ||
		    (info->is_pmu && (r->config != info->config || r->config1 != info->config1 ||
				      r->config2 != info->config2)))
			continue;
		perfctr_selection_naming(selection, i, &single, &summed);
		if ((naming == NAMING_SINGLE ? single : summed) & bit)
			return true;
		known |= (single | summed) & bit;
	}
	/* if a file lacks the naming of a counter, it is summed */
	return naming == NAMING_SUMMED && !known;
}

static int add_counters(struct rows *rows, const struct perfctr_totals *totals,
			const struct perfctr_totals_block *block,
			const struct perfctr_selection *selection, enum naming naming)
{
	struct names names;
	int error = 0;

	for (size_t n = 0; !error && n < perfctr_totals_counter_count(block); n++) {
		const struct perfctr_total *total = perfctr_totals_counter(block, n);
		struct row *row;

		if (naming != NAMING_ALL &&
		    !is_named(selection, perfctr_totals_block_info(block), total->position, naming))
			continue;
		row = new_row(rows);
		if (!row)
			return -ENOMEM;
		row->info = perfctr_totals_block_info(block);
		row->position = total->position;
		row->desc = total->desc;
		perfctr_totals_label(selection, block, n, names.counter, sizeof(names.counter));
		perfctr_totals_unit(selection, block, n, names.unit, sizeof(names.unit),
				    &row->scale);
		row->is_software = is_software(row->info, selection);
		if (row->is_software && !row->desc) {
			row->desc = perfctr_counter_of_pmu("software", row->info->config);
			if (row->desc)
				copy_text(names.unit, sizeof(names.unit), row->desc->unit);
		}
		name_counter(row, &names);
		fill_value(row, block, n);
		error = keep_row(rows, row, &names);
	}
	return error;
}

/* The time that a metric divides by: its blocks' own, which is not that of the whole sample. */
static uint64_t metric_elapsed_ns(const struct perfctr_totals *totals,
				  const struct perfctr_metric_desc *metric)
{
	for (size_t n = 0; n < perfctr_totals_block_count(totals); n++) {
		const struct perfctr_totals_block_info *info =
			perfctr_totals_block_info(perfctr_totals_block(totals, n));

		if (info->type == metric->block_type && info->product == metric->product)
			return info->elapsed_ns;
	}
	return perfctr_totals_span(totals)->elapsed_ns;
}

static int add_metric(struct rows *rows, const struct perfctr_totals *totals,
		      const struct perfctr_metric_desc *metric,
		      const struct perfctr_totals_block *block)
{
	struct perfctr_value value = { 0 };
	struct names names;
	struct row *row;
	int error = perfctr_totals_metric(totals, metric, block, &value);

	if (error)
		return error;
	row = new_row(rows);
	if (!row)
		return -ENOMEM;
	row->metric = metric;
	row->info = block ? perfctr_totals_block_info(block) : NULL;
	row->state = value.state;
	row->flags = value.flags;
	row->number = value.number;
	row->elapsed_ns = row->info ? row->info->elapsed_ns : metric_elapsed_ns(totals, metric);
	/* of a type that only the capture's library has a name for, too */
	if (row->info)
		copy_text(names.label, sizeof(names.label), row->info->label);
	else
		perfctr_block_label(metric->block_type, DRM_PERFCTR_INDEX_ALL, names.label,
				    sizeof(names.label));
	copy_text(names.counter, sizeof(names.counter), metric->name);
	snprintf(names.event, sizeof(names.event), "metric:%s.%s", names.label, metric->name);
	copy_text(names.unit, sizeof(names.unit), metric->unit);
	return keep_row(rows, row, &names);
}

/* a block of the totals, and its number there */
struct section {
	const struct perfctr_totals_block_info *info;
	size_t number;
};

/* Sections of a block are together, in the order of the totals. */
static int by_place(const void *a, const void *b)
{
	const struct section *x = a, *y = b;
	const struct perfctr_totals_block_info *i = x->info, *j = y->info;

	return i->type != j->type	? (i->type > j->type) - (i->type < j->type) :
	       i->index != j->index	? (i->index > j->index) - (i->index < j->index) :
	       i->config != j->config	? (i->config > j->config) - (i->config < j->config) :
	       i->config1 != j->config1 ? (i->config1 > j->config1) - (i->config1 < j->config1) :
	       i->config2 != j->config2 ? (i->config2 > j->config2) - (i->config2 < j->config2) :
					  (x->number > y->number) - (x->number < y->number);
}

/* Which blocks of the totals are the first section of theirs; NULL: no memory. */
static bool *find_first_sections(const struct perfctr_totals *totals)
{
	const size_t count = perfctr_totals_block_count(totals);
	struct section *sections = calloc(count + 1, sizeof(*sections));
	bool *first = calloc(count + 1, sizeof(*first));

	for (size_t n = 0; sections && n < count; n++)
		sections[n] = (struct section){
			perfctr_totals_block_info(perfctr_totals_block(totals, n)), n
		};
	if (sections)
		qsort(sections, count, sizeof(*sections), by_place);
	for (size_t n = 0; sections && first && n < count; n++) {
		const struct section before = { n ? sections[n - 1].info : NULL,
						sections[n].number };

		first[sections[n].number] = !n || by_place(&before, &sections[n]);
	}
	if (!sections) {
		free(first);
		first = NULL;
	}
	free(sections);
	return first;
}

static int add_metrics(struct rows *rows, const struct perfctr_totals *single,
		       const struct perfctr_selection *selection, bool per_block)
{
	bool *is_first = per_block ? find_first_sections(single) : NULL;
	int error = per_block && !is_first ? -ENOMEM : 0;

	for (size_t i = 0; !error && i < perfctr_selection_metric_count(selection); i++) {
		const struct perfctr_metric_desc *metric = perfctr_selection_metric(selection, i);

		if (!per_block || metric->scope == PERFCTR_SCOPE_DEVICE) {
			error = add_metric(rows, rows->sum, metric, NULL);
			continue;
		}
		for (size_t n = 0; !error && n < perfctr_totals_block_count(single); n++) {
			const struct perfctr_totals_block *block = perfctr_totals_block(single, n);
			const struct perfctr_totals_block_info *info =
				perfctr_totals_block_info(block);

			if (info->type == metric->block_type && info->product == metric->product &&
			    !info->config && !info->config1 && !info->config2 && is_first[n])
				error = add_metric(rows, single, metric, block);
		}
	}
	free(is_first);
	return error;
}

/* A type of block: the sum, then single blocks that were named. */
static int add_type(struct rows *rows, const struct perfctr_totals *totals,
		    const struct perfctr_totals_block *sum,
		    const struct perfctr_selection *selection)
{
	const struct perfctr_totals_block_info *info = perfctr_totals_block_info(sum);
	size_t first = rows->count;
	int error = add_counters(rows, rows->sum, sum, selection, NAMING_SUMMED);

	for (size_t i = first; i < rows->count; i++)
		rows->rows[i].parts = totals;
	if (info->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return error;
	for (size_t n = 0; !error && n < perfctr_totals_block_count(totals); n++) {
		const struct perfctr_totals_block *block = perfctr_totals_block(totals, n);

		if (is_same_event(perfctr_totals_block_info(block), info))
			error = add_counters(rows, totals, block, selection, NAMING_SINGLE);
	}
	return error;
}

int rows_fill(struct rows *rows, struct perfctr_totals *totals, struct perfctr_selection *selection,
	      bool per_block)
{
	int error = 0;

	rows_clear(rows);
	rows->sum = perfctr_totals_by_type(totals);
	rows->span = *perfctr_totals_span(totals);
	for (size_t n = 0; per_block && !error && n < perfctr_totals_block_count(totals); n++)
		error = add_counters(rows, totals, perfctr_totals_block(totals, n), selection,
				     NAMING_ALL);
	for (size_t n = 0; !per_block && !error && n < perfctr_totals_block_count(rows->sum); n++)
		error = add_type(rows, totals, perfctr_totals_block(rows->sum, n), selection);
	if (!error)
		error = add_metrics(rows, totals, selection, per_block);
	return error;
}

void rows_free_texts(struct row_texts *texts)
{
	for (struct row_texts *before; texts; texts = before) {
		before = texts->before;
		free(texts);
	}
}

void rows_move_texts(struct rows *rows, struct row_texts **texts)
{
	struct row_texts **end = texts;

	while (*end)
		end = &(*end)->before;
	*end = rows->texts;
	rows->texts = NULL;
}

void rows_clear(struct rows *rows)
{
	rows_free_texts(rows->texts);
	rows->texts = NULL;
	rows->count = 0;
	rows->hidden = 0;
	rows->sum = NULL;
}

void rows_free(struct rows *rows)
{
	rows_clear(rows);
	free(rows->judged);
	free(rows->rows);
	*rows = (struct rows){ 0 };
}

const struct row *rows_find(const struct rows *rows, const char *event, size_t hint)
{
	if (hint < rows->count && !strcmp(rows->rows[hint].event, event))
		return &rows->rows[hint];
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(rows->rows[i].event, event))
			return &rows->rows[i];
	return NULL;
}

const struct row *rows_find_counter(const struct rows *types, const struct rows *blocks,
				    const char *name)
{
	const struct row *row = rows_find(types, name, 0);
	size_t found = 0;

	row = row ? row : rows_find(blocks, name, 0);
	for (size_t i = 0; !row && i < types->count; i++)
		found += !strcmp(types->rows[i].counter, name);
	for (size_t i = 0; !row && found == 1 && i < types->count; i++)
		row = strcmp(types->rows[i].counter, name) ? NULL : &types->rows[i];
	return row;
}

bool row_matches(const struct row *row, const struct option_words *patterns)
{
	const char *name = row->event + row->prefix;
	const size_t length = strlen(name);
	char *text = NULL;
	bool matches;

	if (option_words_match(patterns, row->event) || option_words_match(patterns, name) ||
	    option_words_match(patterns, row->counter))
		return true;
	/* as -e takes them: a metric without its block, a PMU's event without its slash */
	if (!row->metric && (!length || name[length - 1] != '/'))
		return false;
	if (asprintf(&text, "%.*s%s%.*s", (int)row->prefix, row->event,
		     row->metric ? "metric:" : "", row->metric ? INT_MAX : (int)length - 1,
		     row->metric ? row->counter : name) < 0)
		return false;
	matches = option_words_match(patterns, text) ||
		  option_words_match(patterns, text + row->prefix);
	free(text);
	return matches;
}
