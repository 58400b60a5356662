// SPDX-License-Identifier: MIT
/* Adds up tagged samples by context. */
#include "contexts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const struct stat_context *a, enum stat_context_kind kind, uint64_t user_data)
{
	if (a->kind != kind)
		return a->kind < kind ? -1 : 1;
	return (a->user_data > user_data) - (a->user_data < user_data);
}

static size_t find(const struct stat_contexts *contexts, enum stat_context_kind kind,
		   uint64_t user_data)
{
	size_t low = 0, high = contexts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&contexts->contexts[middle], kind, user_data) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct stat_contexts *contexts, struct perfctr_ctx *ctx, size_t at,
		  enum stat_context_kind kind, uint64_t user_data)
{
	struct stat_context *more, new = { .kind = kind, .user_data = user_data };
	int error;

	more = realloc(contexts->contexts, (contexts->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	contexts->contexts = more;
	error = perfctr_totals_new(ctx, &new.totals);
	if (error)
		return error;
	memmove(&more[at + 1], &more[at], (contexts->count - at) * sizeof(*more));
	more[at] = new;
	contexts->count++;
	return 0;
}

/* A tag is valid only for a sample of a job that no other sample was merged into. */
static enum stat_context_kind kind_of(const struct perfctr_sample *sample)
{
	if (sample->flags & DRM_PERFCTR_SAMPLE_STRETCHED)
		return STAT_CONTEXT_MIXED;
	if (!(sample->flags & (DRM_PERFCTR_SAMPLE_IN_STREAM | DRM_PERFCTR_SAMPLE_MANUAL)) ||
	    !sample->user_data)
		return STAT_CONTEXT_OTHERS;
	return STAT_CONTEXT_TAGGED;
}

int stat_contexts_add(struct stat_contexts *contexts, struct perfctr_ctx *ctx,
		      struct perfctr_sample *sample)
{
	enum stat_context_kind kind = kind_of(sample);
	uint64_t user_data = kind == STAT_CONTEXT_TAGGED ? sample->user_data : 0;
	size_t at = find(contexts, kind, user_data);
	int error;

	if (at < contexts->count && !compare(&contexts->contexts[at], kind, user_data))
		return perfctr_totals_add(contexts->contexts[at].totals, sample);
	if (kind == STAT_CONTEXT_TAGGED && contexts->count >= STAT_CONTEXTS_MAX) {
		kind = STAT_CONTEXT_FURTHER;
		user_data = 0;
		at = find(contexts, kind, user_data);
		if (at < contexts->count)
			return perfctr_totals_add(contexts->contexts[at].totals, sample);
	}
	error = insert(contexts, ctx, at, kind, user_data);
	return error ? error : perfctr_totals_add(contexts->contexts[at].totals, sample);
}

int stat_contexts_fill(struct stat_contexts *contexts, const struct rows *like,
		       struct perfctr_selection *selection, bool per_block)
{
	int error = 0;

	for (size_t i = 0; !error && i < contexts->count; i++) {
		struct stat_context *context = &contexts->contexts[i];

		context->rows.verdicts = like->verdicts;
		context->rows.ctx = like->ctx;
		context->rows.trusted_only = like->trusted_only;
		error = rows_fill(&context->rows, context->totals, selection, per_block);
	}
	return error;
}

const char *stat_context_kind_name(enum stat_context_kind kind)
{
	static const char *const names[] = {
		[STAT_CONTEXT_TAGGED] = "context",
		[STAT_CONTEXT_OTHERS] = "others",
		[STAT_CONTEXT_MIXED] = "mixed",
		[STAT_CONTEXT_FURTHER] = "further",
	};

	return names[kind];
}

char *stat_context_name(const struct stat_context *context, char *text, size_t size)
{
	if (context->kind == STAT_CONTEXT_TAGGED)
		snprintf(text, size, "%" PRIu64, context->user_data);
	else
		snprintf(text, size, "%s", stat_context_kind_name(context->kind));
	return text;
}

void stat_contexts_free(struct stat_contexts *contexts)
{
	for (size_t i = 0; i < contexts->count; i++) {
		rows_free(&contexts->contexts[i].rows);
		perfctr_totals_unref(contexts->contexts[i].totals);
	}
	free(contexts->contexts);
	*contexts = (struct stat_contexts){ 0 };
}
