/* SPDX-License-Identifier: MIT */
/*
 * Counts by context: which context caused the counts of in-stream samples.
 *
 * A sample has the counts since the session's previous one. If a job begins with a sample and
 * ends with a tagged one (user_data), the tagged sample has the counts of that job alone.
 */
#pragma once

#include "lib/rows.h"

/* the source of counts */
enum stat_context_kind {
	STAT_CONTEXT_TAGGED, /* a context that tags its samples with user_data */
	STAT_CONTEXT_OTHERS, /* samples without a tag */
	STAT_CONTEXT_MIXED, /* several samples that were merged because the ring was full */
	STAT_CONTEXT_FURTHER, /* contexts beyond STAT_CONTEXTS_MAX */
};

/* tags that are counted separately; a program with a tag for each job should use record */
enum { STAT_CONTEXTS_MAX = 1024 };

/* one context, or one of the other kinds */
struct stat_context {
	enum stat_context_kind kind;
	uint64_t user_data; /* the tag, 0 for other kinds */
	struct perfctr_totals *totals;
	struct rows rows; /* of @totals, after stat_contexts_fill() */
};

/* by tag, followed by the other kinds */
struct stat_contexts {
	struct stat_context *contexts;
	size_t count;
};

/* Add a sample to its context. Return: 0 or a negative errno. */
int stat_contexts_add(struct stat_contexts *contexts, struct perfctr_ctx *ctx,
		      struct perfctr_sample *sample);

/*
 * Make the tables.
 * @like: table with verdicts, context and choice of trust; @per_block: as of rows_fill().
 * Return: 0 or a negative errno.
 */
int stat_contexts_fill(struct stat_contexts *contexts, const struct rows *like,
		       struct perfctr_selection *selection, bool per_block);

/* "7", "others", "mixed", "further". Return: @text. */
char *stat_context_name(const struct stat_context *context, char *text, size_t size);
const char *stat_context_kind_name(enum stat_context_kind kind);

void stat_contexts_free(struct stat_contexts *contexts);
