// SPDX-License-Identifier: MIT
/*
 * What a capture file says of its counters and metrics, for libraries whose
 * database does not know them. No bytes of a file are trusted.
 */
#include "catalogue.h"

#include <stdlib.h>
#include <string.h>

enum {
	TEXTS = 6,
	/* longer than any formula; the time to compute one grows with it */
	MAX_FORMULA_BYTES = 4096,
	/* what a file may claim; the kernel's own limit of blocks times some counters each */
	MAX_ENTRIES = 65536,
};

/* a description and the texts that it points to, in one allocation */
struct counter_entry {
	struct perfctr_counter_desc desc;
	char texts[];
};

struct metric_entry {
	struct perfctr_metric_desc desc;
	char texts[];
};

struct catalogue {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	struct counter_entry **counters;
	size_t counter_count;
	struct metric_entry **metrics;
	size_t metric_count;
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

struct catalogue *catalogue_ref(struct catalogue *catalogue)
{
	if (catalogue)
		perfctr_refs_get(&catalogue->refs);
	return catalogue;
}

struct catalogue *catalogue_unref(struct catalogue *catalogue)
{
	size_t n;

	if (!catalogue || !perfctr_refs_put(&catalogue->refs))
		return NULL;
	for (n = 0; n < catalogue->counter_count; n++)
		free(catalogue->counters[n]);
	for (n = 0; n < catalogue->metric_count; n++)
		free(catalogue->metrics[n]);
	free(catalogue->counters);
	free(catalogue->metrics);
	perfctr_ctx_unref(catalogue->ctx);
	free(catalogue);
	return NULL;
}

/*
 * The texts of a record that begin at offset, copied to @to, which has room for
 * the whole record. Return: false if there are fewer than TEXTS.
 */
static bool take_texts(const struct perfctr_capture_record *record, size_t offset, char *to,
		       const char **texts)
{
	size_t n;

	if (offset > record->size)
		return false;
	memcpy(to, (const char *)record->content + offset, record->size - offset);
	for (n = 0; n < TEXTS; n++) {
		size_t left = record->size - offset;
		size_t length = strnlen(to, left);

		if (length == left)
			return false;
		texts[n] = to;
		for (size_t i = 0; i < length; i++)
			if ((unsigned char)to[i] < ' ' || to[i] == 0x7f)
				to[i] = '?';
		to += length + 1;
		offset += length + 1;
	}
	return true;
}

/* Room for one more pointer. */
static int grow(struct perfctr_ctx *ctx, void *array, size_t count)
{
	void **old = *(void ***)array;
	void **more;

	/* at powers of two */
	if (count & (count - 1))
		return 0;
	more = realloc(old, (count ? 2 * count : 1) * sizeof(*more));
	if (!more)
		return perfctr_no_memory(ctx);
	*(void ***)array = more;
	return 0;
}

int catalogue_take_counter(struct catalogue *catalogue, const struct perfctr_capture_record *record)
{
	struct perfctr_capture_counter fixed;
	struct counter_entry *entry;
	const char *texts[TEXTS];
	int error;

	if (record->size < sizeof(fixed) || catalogue->counter_count == MAX_ENTRIES)
		return 0;
	perfctr_capture_copy(record, &fixed, sizeof(fixed));
	if (fixed.header_bytes < sizeof(fixed))
		return 0;
	error = grow(catalogue->ctx, &catalogue->counters, catalogue->counter_count);
	if (error)
		return error;
	entry = malloc(sizeof(*entry) + record->size);
	if (!entry)
		return perfctr_no_memory(catalogue->ctx);
	if (!take_texts(record, fixed.header_bytes, entry->texts, texts)) {
		free(entry);
		return 0;
	}
	entry->desc = (struct perfctr_counter_desc){
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
	};
	catalogue->counters[catalogue->counter_count++] = entry;
	return 0;
}

static const struct perfctr_metric_desc *metric_of_database(const char *id)
{
	const struct perfctr_metric_desc *m = NULL;

	while ((m = perfctr_metric_next(m)))
		if (!strcmp(m->id, id))
			return m;
	return NULL;
}

/* Whether it can be computed: the file may be anybody's. */
static bool is_formula(struct perfctr_ctx *ctx, const char *text)
{
	struct perfctr_expr *expr;
	int level = ctx->log_level;
	bool good;

	if (strlen(text) > MAX_FORMULA_BYTES)
		return false;
	ctx->log_level = PERFCTR_LOG_NONE;
	good = !perfctr_expr_new(ctx, text, &expr);
	ctx->log_level = level;
	if (good)
		perfctr_expr_unref(expr);
	return good;
}

int catalogue_take_metric(struct catalogue *catalogue, const struct perfctr_capture_record *record,
			  struct perfctr_selection *selection)
{
	const struct perfctr_metric_desc *known;
	struct perfctr_capture_metric fixed;
	struct metric_entry *entry;
	const char *texts[TEXTS];
	int error;

	if (record->size < sizeof(fixed) || catalogue->metric_count == MAX_ENTRIES)
		return 0;
	perfctr_capture_copy(record, &fixed, sizeof(fixed));
	if (fixed.header_bytes < sizeof(fixed))
		return 0;
	error = grow(catalogue->ctx, &catalogue->metrics, catalogue->metric_count);
	if (error)
		return error;
	entry = malloc(sizeof(*entry) + record->size);
	if (!entry)
		return perfctr_no_memory(catalogue->ctx);
	if (!take_texts(record, fixed.header_bytes, entry->texts, texts)) {
		free(entry);
		return 0;
	}
	known = metric_of_database(texts[0]);
	if (known || !is_formula(catalogue->ctx, texts[5])) {
		free(entry);
		return known ? selection_add_metric(selection, known) : 0;
	}
	entry->desc = (struct perfctr_metric_desc){
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
	catalogue->metrics[catalogue->metric_count++] = entry;
	return selection_add_metric(selection, &entry->desc);
}

const struct perfctr_counter_desc *catalogue_counter(const struct catalogue *catalogue,
						     const struct counter_key *key)
{
	size_t n;

	for (n = 0; n < catalogue->counter_count; n++) {
		const struct perfctr_counter_desc *d = &catalogue->counters[n]->desc;

		if (d->product == key->product && d->block_type == key->type &&
		    d->position == key->position && key->set < 32 && d->sets >> key->set & 1)
			return d;
	}
	return NULL;
}
