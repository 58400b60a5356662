// SPDX-License-Identifier: MIT
/* Counters and metrics that a capture file describes. The bytes of the file are not trusted. */
#include "catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "pages.h"

enum {
	TEXTS = 6,
	MAX_FORMULA_BYTES = 4096, /* longer than any formula; limits the time to compute one */
	/* limit for files; the kernel's own limit of blocks times some counters each */
	MAX_ENTRIES = 65536,
	MAX_SHIFT = 31,
	/* of struct perfctr_capture_counter in files of perfctr 0.1, without shift */
	OLD_COUNTER_BYTES = offsetof(struct perfctr_capture_counter, shift),
};

/* a description and its texts, in one allocation */
struct entry {
	union {
		struct perfctr_counter_desc counter;
		struct perfctr_metric_desc metric;
	};
	char texts[];
};

struct entries {
	struct entry **entries;
	size_t count;
};

struct catalogue {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	struct entries counters;
	struct entries metrics;
	bool is_old; /* of perfctr 0.1: the database knows more */
};

int catalogue_new(struct perfctr_ctx *ctx, struct catalogue **catalogue)
{
	struct catalogue *c = calloc(1, sizeof(*c));

	if (!c)
		return perfctr_no_memory(ctx);
	atomic_init(&c->refs, 1);
	c->ctx = perfctr_ctx_ref(ctx);
	*catalogue = c;
	return 0;
}

static void free_entries(struct entries *list)
{
	for (size_t n = 0; n < list->count; n++)
		free(list->entries[n]);
	free(list->entries);
}

static void free_catalogue(struct catalogue *catalogue)
{
	free_entries(&catalogue->counters);
	free_entries(&catalogue->metrics);
	perfctr_ctx_unref(catalogue->ctx);
	free(catalogue);
}

DEFINE_REFS(, catalogue, free_catalogue)

/*
 * Copy the texts of a record that begin at offset to @to, which has room for the whole record.
 * Return: false if there are fewer than TEXTS.
 */
static bool take_texts(const struct perfctr_capture_record *record, size_t offset, char *to,
		       const char **texts)
{
	if (offset > record->size)
		return false;
	memcpy(to, (const char *)record->content + offset, record->size - offset);
	for (size_t n = 0; n < TEXTS; n++) {
		size_t left = record->size - offset;
		size_t length = strnlen(to, left);

		if (length == left)
			return false;
		texts[n] = to;
		perfctr_clean_text(to);
		to += length + 1;
		offset += length + 1;
	}
	return true;
}

static int grow(struct perfctr_ctx *ctx, struct entries *list)
{
	struct entry **more;

	/* capacities are powers of two */
	if (list->count & (list->count - 1))
		return 0;
	more = realloc(list->entries, (list->count ? 2 * list->count : 1) * sizeof(*more));
	if (!more)
		return perfctr_no_memory(ctx);
	list->entries = more;
	return 0;
}

/*
 * Create an entry with the texts of a record. The list has room for it.
 * Return: 0, with a NULL @entry if the record has no texts or there are too many; -ENOMEM.
 */
static int new_entry(struct perfctr_ctx *ctx, struct entries *list,
		     const struct perfctr_capture_record *record, size_t header_bytes,
		     struct entry **entry, const char **texts)
{
	int error;

	*entry = NULL;
	if (list->count == MAX_ENTRIES)
		return 0;
	error = grow(ctx, list);
	if (error)
		return error;
	*entry = malloc(sizeof(**entry) + record->size);
	if (!*entry)
		return perfctr_no_memory(ctx);
	if (!take_texts(record, header_bytes, (*entry)->texts, texts)) {
		free(*entry);
		*entry = NULL;
	}
	return 0;
}

int catalogue_take_counter(struct catalogue *catalogue, const struct perfctr_capture_record *record)
{
	struct perfctr_capture_counter fixed = { 0 };
	const char *texts[TEXTS];
	struct entry *entry;
	int error;

	memcpy(&fixed, record->content,
	       record->size < sizeof(fixed) ? record->size : sizeof(fixed));
	if (fixed.header_bytes < sizeof(fixed))
		fixed.shift = 0;
	if (fixed.header_bytes < OLD_COUNTER_BYTES || fixed.shift > MAX_SHIFT)
		return 0;
	error = new_entry(catalogue->ctx, &catalogue->counters, record, fixed.header_bytes, &entry,
			  texts);
	if (!entry)
		return error;
	entry->counter = (struct perfctr_counter_desc){
		.id = texts[0],
		.name = texts[1],
		.short_text = texts[2],
		.long_text = texts[3],
		.unit = texts[4],
		.pmu = texts[5],
		.event = fixed.event,
		.sets = fixed.sets,
		.product = fixed.product,
		.block_type = fixed.block_type,
		.position = fixed.position,
		.clock = fixed.clock,
		.kind = fixed.kind,
		.trust = fixed.trust,
		.optional = fixed.optional,
		.shift = fixed.shift,
	};
	catalogue->is_old |= fixed.header_bytes < sizeof(fixed);
	catalogue->counters.entries[catalogue->counters.count++] = entry;
	return 0;
}

/* The same metric in the database, which is maintained, or NULL. */
static const struct perfctr_metric_desc *metric_of_database(const struct catalogue *catalogue,
							    const struct perfctr_metric_desc *own)
{
	const struct perfctr_metric_desc *m = NULL;

	while (own->product < PAGES_PRODUCT && (m = perfctr_metric_next(m)))
		if (!strcmp(m->id, own->id) && m->product == own->product &&
		    m->block_type == own->block_type &&
		    (catalogue->is_old || (m->scope == own->scope && !strcmp(m->unit, own->unit) &&
					   !strcmp(m->formula, own->formula))))
			return m;
	return NULL;
}

/* The file is not trusted. Return: 0: a valid formula, -EINVAL: none, -ENOMEM. */
static int check_formula(struct perfctr_ctx *ctx, const char *text)
{
	struct perfctr_expr *expr;
	int level = ctx->log_level, error;

	if (strlen(text) > MAX_FORMULA_BYTES)
		return -EINVAL;
	ctx->log_level = PERFCTR_LOG_NONE;
	error = perfctr_expr_new(ctx, text, &expr);
	ctx->log_level = level;
	if (!error)
		perfctr_expr_unref(expr);
	return error;
}

int catalogue_take_metric(struct catalogue *catalogue, const struct perfctr_capture_record *record,
			  const struct perfctr_metric_desc **metric)
{
	struct perfctr_capture_metric fixed;
	const char *texts[TEXTS];
	struct entry *entry;
	int error;

	*metric = NULL;
	if (record->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, record->content, sizeof(fixed));
	if (fixed.header_bytes < sizeof(fixed))
		return 0;
	error = new_entry(catalogue->ctx, &catalogue->metrics, record, fixed.header_bytes, &entry,
			  texts);
	if (!entry)
		return error;
	entry->metric = (struct perfctr_metric_desc){
		.id = texts[0],
		.name = texts[1],
		.short_text = texts[2],
		.long_text = texts[3],
		.unit = texts[4],
		.formula = texts[5],
		.product = fixed.product,
		.block_type = fixed.block_type,
		.scope = fixed.scope,
		.trust = fixed.trust,
	};
	*metric = metric_of_database(catalogue, &entry->metric);
	error = *metric ? 0 : check_formula(catalogue->ctx, texts[5]);
	if (*metric || error) {
		free(entry);
		return error == -ENOMEM ? perfctr_no_memory(catalogue->ctx) : 0;
	}
	catalogue->metrics.entries[catalogue->metrics.count++] = entry;
	*metric = &entry->metric;
	return 0;
}

static bool is_same(const struct perfctr_counter_desc *a, const struct perfctr_counter_desc *b)
{
	return a->shift == b->shift && a->kind == b->kind && !strcmp(a->name, b->name) &&
	       !strcmp(a->unit, b->unit);
}

const struct perfctr_counter_desc *catalogue_counter(const struct catalogue *catalogue,
						     const struct counter_key *key)
{
	const struct perfctr_counter_desc *known = NULL;

	/* each process numbers the products of its pages */
	if (key->product < PAGES_PRODUCT)
		known = perfctr_counter_at(key->product, key->type, key->set, key->position);
	for (size_t n = 0; n < catalogue->counters.count; n++) {
		const struct perfctr_counter_desc *d = &catalogue->counters.entries[n]->counter;

		if (d->product == key->product && d->block_type == key->type &&
		    d->position == key->position && key->set < 32 && d->sets >> key->set & 1)
			return known && (catalogue->is_old || is_same(known, d)) ? known : d;
	}
	return known;
}
