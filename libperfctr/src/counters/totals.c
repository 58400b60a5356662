// SPDX-License-Identifier: MIT
/*
 * Totals: samples added up exactly, per block and per type of block.
 *
 * One pass over a sample collects its blocks in the pending members, of the block and of the sum of
 * its type. They are folded in after the last block: minimum and maximum of a type refer to its
 * sum, and a sample is added as a whole or not at all.
 */
#include "totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selection.h"

enum {
	GROUPS = DRM_PERFCTR_SECTION_COUNTERS / TOTALS_GROUP,
	ALL_OF_GROUP = (1 << TOTALS_GROUP) - 1,
};

/* Without the hint each counter of each sample pays for it. */
static inline bool is_rare(bool is)
{
	return __builtin_expect(is, false);
}

static int totals_alloc(struct perfctr_ctx *ctx, bool by_type, struct perfctr_totals **totals)
{
	struct perfctr_totals *t = calloc(1, sizeof(*t));

	if (t)
		t->formulas = calloc(1, sizeof(*t->formulas));
	if (!t || !t->formulas) {
		free(t);
		return perfctr_no_memory(ctx);
	}
	atomic_init(&t->refs, 1);
	t->ctx = perfctr_ctx_ref(ctx);
	t->by_type = by_type;
	t->shape = 1;
	*totals = t;
	return 0;
}

EXPORT int perfctr_totals_new(struct perfctr_ctx *ctx, struct perfctr_totals **totals)
{
	struct perfctr_totals *t = NULL;
	int error = totals_alloc(ctx, false, &t);

	if (error)
		return error;
	error = totals_alloc(ctx, true, &t->sums);
	if (error) {
		perfctr_totals_unref(t);
		return error;
	}
	*totals = t;
	return 0;
}

static void free_formulas(struct totals_formulas *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct totals_formula *f = &all->formulas[i];

		for (size_t n = 0; n < f->room; n++) {
			free(f->scopes[n] ? f->scopes[n]->operands : NULL);
			free(f->scopes[n]);
		}
		free(f->scopes);
		free(f->text);
		perfctr_expr_unref(f->expr);
	}
	free(all->formulas);
	free(all);
}

static void free_block(struct perfctr_totals_block *b)
{
	for (size_t n = 0; n < ARRAY_SIZE(b->groups); n++)
		free(b->groups[n]);
	free(b);
}

static void free_totals(struct perfctr_totals *totals)
{
	for (size_t n = 0; n < totals->block_count; n++)
		free_block(totals->blocks[n]);
	free(totals->blocks);
	free(totals->chains);
	free_formulas(totals->formulas);
	perfctr_selection_unref(totals->selection);
	perfctr_totals_unref(totals->sums);
	perfctr_ctx_unref(totals->ctx);
	free(totals);
}

DEFINE_REFS(EXPORT, perfctr_totals, free_totals)

/* Whether descriptions of counters may be of the selection, and end with it. */
static bool is_of_capture(const struct perfctr_selection *selection)
{
	return selection && selection->catalogue;
}

EXPORT int perfctr_totals_describe(struct perfctr_totals *totals,
				   struct perfctr_selection *selection)
{
	if (totals->block_count && (is_of_capture(totals->selection) || is_of_capture(selection)))
		return perfctr_fail(totals->ctx, -EBUSY, "the totals have blocks already");
	if (selection)
		perfctr_selection_ref(selection);
	perfctr_selection_unref(totals->selection);
	totals->selection = selection;
	return totals->sums ? perfctr_totals_describe(totals->sums, selection) : 0;
}

/* --- blocks -------------------------------------------------------------------- */

static bool is_block(const struct perfctr_totals_block *b, const struct perfctr_block *block,
		     unsigned int index, const struct perfctr_block_pmu *pmu)
{
	const struct perfctr_totals_block_info *i = &b->info;

	if (i->type != block->type || i->index != index || i->section != block->section ||
	    i->set != block->set || (block->product && i->product != block->product))
		return false;
	/* PCOUNTER's blocks are clock domains: cycles of different clocks do not add up */
	if (i->clock != block->clock)
		return false;
	return !i->is_pmu ||
	       (i->config == pmu->config && i->config1 == pmu->config1 &&
		i->config2 == pmu->config2 &&
		/* generic PMUs differ by name; other types have a name per instance */
		(i->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || !strcmp(b->pmu, pmu->name)));
}

static void describe(const struct perfctr_totals *totals, struct perfctr_totals_block *b,
		     const struct perfctr_block *block, unsigned int index,
		     const struct perfctr_block_pmu *pmu)
{
	struct perfctr_totals_block_info *i = &b->info;

	i->type = block->type;
	i->index = (uint16_t)index;
	i->section = block->section;
	i->format = block->format;
	i->product = (uint16_t)selection_product(totals->selection, block->product);
	i->set = block->set;
	i->clock = block->clock;
	i->is_pmu = !!(block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY);
	i->cpu = -1;
	if (i->is_pmu) {
		i->cpu = pmu->cpu;
		i->config = pmu->config;
		i->config1 = pmu->config1;
		i->config2 = pmu->config2;
		b->pmu_type = pmu->pmu_type;
		memcpy(b->pmu, pmu->name, sizeof(b->pmu));
	}
	if (block->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && b->pmu[0])
		snprintf(b->label, sizeof(b->label), "%s", b->pmu);
	else
		perfctr_block_label(block->type, index, b->label, sizeof(b->label));
	i->label = b->label;
	i->pmu = b->pmu;
}

static size_t counters_of_group(const struct perfctr_totals_block *b)
{
	return b->room < TOTALS_GROUP ? b->room : TOTALS_GROUP;
}

static size_t group_bytes(const struct perfctr_totals_block *b)
{
	return counters_of_group(b) * (sizeof(struct perfctr_total) + 2 * sizeof(uint64_t));
}

/* Counts of the current sample of a group that is there. */
static uint64_t *pending_of(const struct perfctr_totals_block *b, unsigned int group)
{
	return (uint64_t *)(b->groups[group] + counters_of_group(b));
}

static uint64_t *pending_ns_of(const struct perfctr_totals_block *b, unsigned int group)
{
	return pending_of(b, group) + counters_of_group(b);
}

/* Return: the memory of a new counter; NULL: there is none. */
static struct perfctr_total *new_counter(struct perfctr_totals_block *b, unsigned int n)
{
	struct perfctr_total **group = &b->groups[n / TOTALS_GROUP];

	if (!*group)
		*group = calloc(1, group_bytes(b));
	return *group ? totals_total(b, n) : NULL;
}

/* Describe counters that the block did not have before this sample. Return: false: no memory. */
static bool add_counters(const struct perfctr_totals *totals, struct perfctr_totals_block *b,
			 uint64_t mask)
{
	for (mask &= ~(b->mask | b->pending.seen); mask; mask &= mask - 1) {
		unsigned int bit = (unsigned int)__builtin_ctzll(mask);
		struct perfctr_total *t = new_counter(b, bit);
		struct counter_key key = {
			.type = b->info.type,
			.index = b->info.index,
			.product = b->info.product,
			.set = b->info.set,
			.position = b->info.section * DRM_PERFCTR_SECTION_COUNTERS + bit,
			.pmu = b->pmu,
			.config = b->info.config,
		};

		if (!t)
			return false;
		t->position = (uint16_t)key.position;
		t->desc = counter_key_desc(totals->selection, &key);
		if (t->desc && t->desc->kind == PERFCTR_KIND_LEVEL)
			b->levels |= UINT64_C(1) << bit;
		if (t->desc && t->desc->shift)
			b->shifted |= UINT64_C(1) << bit;
	}
	return true;
}

static struct perfctr_totals_block **chain_of(const struct perfctr_totals *t, uint16_t type,
					      uint16_t index)
{
	/* the indices of a type follow one another */
	return &t->chains[(type * 31u + index) & (t->chain_count - 1)];
}

struct perfctr_totals_block *totals_chain(const struct perfctr_totals *totals, uint16_t type,
					  uint16_t index)
{
	return totals->chain_count ? *chain_of(totals, type, index) : NULL;
}

static void append_to_chain(const struct perfctr_totals *t, struct perfctr_totals_block *b)
{
	struct perfctr_totals_block **end = chain_of(t, b->info.type, b->info.index);

	while (*end)
		end = &(*end)->next;
	b->next = NULL;
	*end = b;
}

/* Add a block, whose description is complete, behind the others. Return: false: no memory. */
static bool append_block(struct perfctr_totals *t, struct perfctr_totals_block *b)
{
	const size_t room = t->chain_count ? 2 * t->chain_count : 16;
	struct perfctr_totals_block **blocks, **chains;

	if (t->block_count == t->chain_count) {
		blocks = realloc(t->blocks, room * sizeof(struct perfctr_totals_block *));
		t->blocks = blocks ? blocks : t->blocks;
		chains = calloc(room, sizeof(struct perfctr_totals_block *));
		if (!blocks || !chains) {
			free(chains);
			return false;
		}
		free(t->chains);
		t->chains = chains;
		t->chain_count = room;
		for (size_t n = 0; n < t->block_count; n++)
			append_to_chain(t, t->blocks[n]);
	}
	b->number = t->block_count;
	t->blocks[t->block_count++] = b;
	t->shape++;
	append_to_chain(t, b);
	return true;
}

/* Counters that a block may have. A capture may claim that an event of a PMU has several. */
static unsigned int room_of(const struct perfctr_block *block)
{
	return block->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && block->enable_mask == 1 ?
		       1 :
		       DRM_PERFCTR_SECTION_COUNTERS;
}

/* Find or create the totals block for a block of a sample. */
static struct perfctr_totals_block *find_block(struct perfctr_totals *t,
					       const struct perfctr_block *block,
					       const struct perfctr_block_pmu *pmu, size_t *hint)
{
	uint16_t index = block->index;
	struct perfctr_totals_block *b;

	/* the index of a generic block only distinguishes events */
	if (t->by_type && block->type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
		index = DRM_PERFCTR_INDEX_ALL;

	/* samples of a session have their blocks in the same order */
	if (!t->by_type && *hint < t->block_count &&
	    is_block(t->blocks[*hint], block, index, pmu) &&
	    t->blocks[*hint]->room >= room_of(block))
		return t->blocks[(*hint)++];
	for (b = totals_chain(t, block->type, index); b; b = b->next)
		if (is_block(b, block, index, pmu) && b->room >= room_of(block))
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->room = room_of(block);
	describe(t, b, block, index, pmu);
	if (!append_block(t, b)) {
		free(b);
		return NULL;
	}
	*hint = t->block_count;
	return b;
}

/* --- adding ---------------------------------------------------------------------- */

static void add_block_span(struct totals_pending *p, const struct perfctr_block *block,
			   const struct perfctr_sample *sample)
{
	uint64_t start_ns = sample->start_ns, end_ns = sample->end_ns, apart_ns;

	perfctr_block_read_span(block, &start_ns, &end_ns);
	if (!p->end_ns || start_ns < p->start_ns)
		p->start_ns = start_ns;
	if (end_ns > p->end_ns)
		p->end_ns = end_ns;
	p->elapsed_ns += end_ns - start_ns;
	p->spans++;
	apart_ns = end_ns > sample->end_ns ? end_ns - sample->end_ns : sample->end_ns - end_ns;
	if (apart_ns > p->apart_ns)
		p->apart_ns = apart_ns;
}

/* Make a value of a sample that of the counter. Return: whether it overflows. */
static bool shift(const struct perfctr_total *t, uint64_t *value)
{
	return __builtin_mul_overflow(*value, UINT64_C(1) << t->desc->shift, value);
}

/* The part of a mask that is of a group, from bit 0 on. */
static unsigned int mask_of(uint64_t mask, unsigned int group)
{
	return mask >> group * TOTALS_GROUP & ALL_OF_GROUP;
}

/* Add values of a block from @n on to a group. Return: counters that overflow. */
static unsigned int add_group(uint64_t *pending, const struct perfctr_block *block, unsigned int n)
{
	unsigned int overflow = 0;

	for (unsigned int i = 0; i < TOTALS_GROUP; i++)
		if (is_rare(__builtin_add_overflow(pending[i], perfctr_block_value(block, n + i),
						   &pending[i])))
			overflow |= 1u << i;
	return overflow;
}

/* The same of some counters of a group, without those that were not measured. @n: moves on. */
static unsigned int add_some(struct perfctr_totals_block *b, const struct perfctr_block *block,
			     unsigned int group, unsigned int *n)
{
	const unsigned int valid = mask_of(block->valid_mask, group);
	const unsigned int shifted = mask_of(b->shifted, group);
	uint64_t *pending = pending_of(b, group);
	unsigned int overflow = 0;

	for (unsigned int mask = mask_of(block->enable_mask, group); mask; mask &= mask - 1) {
		const unsigned int i = (unsigned int)__builtin_ctz(mask);
		uint64_t value = perfctr_block_value(block, (*n)++);
		bool is_over;

		if (!(valid >> i & 1))
			continue;
		is_over = shifted >> i & 1 && shift(&b->groups[group][i], &value);
		is_over |= __builtin_add_overflow(pending[i], value, &pending[i]);
		overflow |= (unsigned int)is_over << i;
	}
	return overflow;
}

static void collect_counters(struct perfctr_totals_block *b, const struct perfctr_block *block)
{
	const uint64_t enabled = block->enable_mask, valid = block->valid_mask;
	const uint64_t plain = enabled & valid & ~b->shifted;
	unsigned int n = 0;

	for (unsigned int g = 0; g < GROUPS && enabled >> g * TOTALS_GROUP; g++) {
		uint64_t overflow = 0;

		if (mask_of(plain, g) == ALL_OF_GROUP) {
			overflow = add_group(pending_of(b, g), block, n);
			n += TOTALS_GROUP;
		} else if (mask_of(enabled, g)) {
			overflow = add_some(b, block, g, &n);
		}
		b->pending.overflow |= overflow << g * TOTALS_GROUP;
	}
	n = 0;
	for (uint64_t mask = block->running ? enabled : 0; mask; mask &= mask - 1) {
		const unsigned int bit = (unsigned int)__builtin_ctzll(mask);

		pending_ns_of(b, bit / TOTALS_GROUP)[bit % TOTALS_GROUP] +=
			perfctr_block_running(block, n++);
	}
	b->pending.has_running |= block->running != NULL;
	b->pending.measured |= valid;
	b->pending.missed |= enabled & ~valid;
}

/* Collect a block of a sample in the pending members. Return: false: no memory. */
static bool collect(const struct perfctr_totals *totals, struct perfctr_totals_block *b,
		    const struct perfctr_block *block, const struct perfctr_block_pmu *pmu,
		    const struct perfctr_sample *sample)
{
	struct totals_pending *p = &b->pending;
	uint64_t enabled_ns, running_ns;

	p->is_touched = true;
	if (!add_counters(totals, b, block->enable_mask))
		return false;
	p->seen |= block->enable_mask;
	p->states |= block->states;
	add_block_span(p, block, sample);
	/* what belongs to another partition is no part of a sum */
	if (totals->by_type && block->states & DRM_PERFCTR_STATE_UNAVAILABLE && !block->valid_mask)
		return true;
	collect_counters(b, block);
	p->blocks++;
	p->clock_cycles += block->clock_cycles;
	if (perfctr_block_read_times(block, &enabled_ns, &running_ns)) {
		p->time_enabled += enabled_ns;
		p->time_running += running_ns;
	}
	p->is_of_other_cpu |= b->info.is_pmu && b->info.cpu != pmu->cpu;
	return true;
}

static void fold_count(struct perfctr_total *t, uint64_t value)
{
	if (is_rare(value < t->min || !t->measured))
		t->min = value;
	if (is_rare(value > t->max))
		t->max = value;
	t->last = value;
	t->measured++;
	if (is_rare(__builtin_add_overflow(t->sum, value, &t->sum)))
		t->overflow = 1;
}

/* Levels are signed, and not added up. */
static void fold_level(struct perfctr_total *t, uint64_t value)
{
	if (!t->measured || (int64_t)value < (int64_t)t->min)
		t->min = value;
	if (!t->measured || (int64_t)value > (int64_t)t->max)
		t->max = value;
	t->last = value;
	t->measured++;
	t->sum = value;
}

/* Fold a counter in that may be a level, overflow, not be measured, or have a time of its own. */
static void fold_other(struct perfctr_totals_block *b, unsigned int bit, uint64_t value)
{
	uint64_t *pending_ns = &pending_ns_of(b, bit / TOTALS_GROUP)[bit % TOTALS_GROUP];
	const struct totals_pending *p = &b->pending;
	const uint64_t one = UINT64_C(1) << bit;
	struct perfctr_total *t = totals_total(b, bit);

	if (p->measured & b->levels & one)
		fold_level(t, value);
	else if (p->measured & one)
		fold_count(t, value);
	t->overflow |= (p->overflow & ~b->levels & one) != 0;
	t->missed += (p->missed & one) != 0;
	t->running_ns += *pending_ns;
	*pending_ns = 0;
}

static void fold_counters(struct perfctr_totals_block *b)
{
	const struct totals_pending *p = &b->pending;
	const uint64_t all = p->measured | p->missed;
	/* measured, and only so */
	const uint64_t plain =
		p->has_running ? 0 : p->measured & ~(p->missed | p->overflow | b->levels);

	for (unsigned int g = 0; g < GROUPS && all >> g * TOTALS_GROUP; g++) {
		const bool is_plain = mask_of(plain, g) == ALL_OF_GROUP;
		uint64_t *pending = is_plain ? pending_of(b, g) : NULL;

		for (unsigned int i = 0; is_plain && i < TOTALS_GROUP; i++) {
			fold_count(&b->groups[g][i], pending[i]);
			pending[i] = 0;
		}
		for (unsigned int mask = is_plain ? 0 : mask_of(all, g); mask; mask &= mask - 1) {
			const unsigned int i = (unsigned int)__builtin_ctz(mask);

			pending = pending_of(b, g);
			fold_other(b, g * TOTALS_GROUP + i, pending[i]);
			pending[i] = 0;
		}
	}
}

static void fold_block(struct perfctr_totals_block *b)
{
	struct perfctr_totals_block_info *i = &b->info;
	const struct totals_pending *p = &b->pending;

	fold_counters(b);
	b->mask |= p->seen;
	i->states |= p->states;
	i->clock_cycles += p->clock_cycles;
	i->time_enabled += p->time_enabled;
	i->time_running += p->time_running;
	if (!i->end_ns || p->start_ns < i->start_ns)
		i->start_ns = p->start_ns;
	if (p->end_ns > i->end_ns)
		i->end_ns = p->end_ns;
	if (p->apart_ns > i->apart_ns)
		i->apart_ns = p->apart_ns;
	/* the spans of each block follow each other, so the longest of each sample overlap */
	i->elapsed_ns += p->spans > 1 ? p->elapsed_ns / p->spans : p->elapsed_ns;
	if (p->blocks > i->blocks)
		i->blocks = p->blocks;
	if (p->is_of_other_cpu)
		i->cpu = -1;
}

/* Drop what is pending of a part of a sample. */
static void drop_counters(struct perfctr_totals_block *b)
{
	for (unsigned int g = 0; g < GROUPS; g++)
		if (b->groups[g])
			memset(pending_of(b, g), 0, 2 * counters_of_group(b) * sizeof(uint64_t));
}

/* Take the pending values of a whole sample into the totals, or drop those of a part of one. */
static void end_sample(struct perfctr_totals *t, bool is_whole)
{
	/* a copy takes fewer cycles than what compilers make of zeros */
	static const struct totals_pending nothing;

	for (size_t n = 0; n < t->block_count; n++) {
		struct perfctr_totals_block *b = t->blocks[n];

		if (!b->pending.is_touched)
			continue;
		t->shape += is_whole && b->pending.seen & ~b->mask;
		if (is_whole)
			fold_block(b);
		else
			drop_counters(b);
		b->pending = nothing;
	}
	if (t->sums)
		end_sample(t->sums, is_whole);
}

static void add_span(struct perfctr_totals *t, const struct perfctr_sample *sample)
{
	struct perfctr_span *s = &t->span;

	if (!s->samples || sample->start_ns < s->start_ns)
		s->start_ns = sample->start_ns;
	if (sample->end_ns > s->end_ns)
		s->end_ns = sample->end_ns;
	s->samples++;
	s->elapsed_ns += sample->end_ns - sample->start_ns;
	s->merged_periods += sample->merged_periods;
	s->lost_ns += sample->lost_ns;
	s->flags |= sample->flags;
	if (t->has_seq && sample->seq > t->next_seq)
		s->missing_samples += sample->seq - t->next_seq;
	t->has_seq = true;
	t->next_seq = sample->seq + 1;
	if (t->sums)
		add_span(t->sums, sample);
}

/* Find the blocks that a block of a sample belongs to, and collect it in them. */
static int collect_block(struct perfctr_totals *t, const struct perfctr_block *block,
			 const struct perfctr_block_pmu *pmu, const struct perfctr_sample *sample,
			 size_t *hint)
{
	struct perfctr_totals_block *b = find_block(t, block, pmu, hint);
	size_t from_first = 0;

	if (b && t->sums && (!b->sum || b->sum->room < b->room))
		b->sum = find_block(t->sums, block, pmu, &from_first);
	if (!b || (t->sums && !b->sum) || !collect(t, b, block, pmu, sample) ||
	    (t->sums && !collect(t->sums, b->sum, block, pmu, sample)))
		return perfctr_no_memory(t->ctx);
	return 0;
}

EXPORT int perfctr_totals_add(struct perfctr_totals *totals, struct perfctr_sample *sample)
{
	struct perfctr_block_pmu pmu = { 0 };
	struct perfctr_block block;
	size_t hint = 0;
	int result, error = 0;

	perfctr_decode_rewind(sample);
	while (!error && (result = perfctr_decode_block(sample, &block)) > 0) {
		perfctr_block_read_pmu(&block, &pmu);
		error = collect_block(totals, &block, &pmu, sample, &hint);
	}
	if (!error && result < 0)
		error = perfctr_fail(totals->ctx, -EBADMSG, "sample %llu has %s",
				     (unsigned long long)sample->seq,
				     perfctr_decode_error_text(result));
	end_sample(totals, !error);
	if (!error)
		add_span(totals, sample);
	return error;
}

static void reset_group(const struct perfctr_totals_block *b, struct perfctr_total *group)
{
	const struct perfctr_total *end = group + counters_of_group(b);

	for (struct perfctr_total *t = group; t < end; t++) {
		t->overflow = 0;
		/* the rest; a compiler would copy what stays, if all was assigned */
		memset(&t->sum, 0, sizeof(*t) - offsetof(struct perfctr_total, sum));
	}
}

EXPORT void perfctr_totals_reset(struct perfctr_totals *totals)
{
	for (size_t n = 0; n < totals->block_count; n++) {
		struct perfctr_totals_block *b = totals->blocks[n];

		for (unsigned int g = 0; g < GROUPS; g++)
			if (b->groups[g])
				reset_group(b, b->groups[g]);
		b->info.states = 0;
		b->info.clock_cycles = 0;
		b->info.time_enabled = 0;
		b->info.time_running = 0;
		b->info.blocks = 0;
		b->info.start_ns = b->info.end_ns = b->info.elapsed_ns = b->info.apart_ns = 0;
	}
	/* a gap in the sequence numbers is detected when the next sample is added */
	totals->span = (struct perfctr_span){ 0 };
	if (totals->sums)
		perfctr_totals_reset(totals->sums);
}

EXPORT const struct perfctr_totals *perfctr_totals_by_type(const struct perfctr_totals *totals)
{
	return totals->by_type ? totals : totals->sums;
}

/* Return: a block in no totals; NULL: no memory. */
static struct perfctr_totals_block *copy_block(const struct perfctr_totals_block *from)
{
	const size_t bytes = group_bytes(from);
	struct perfctr_totals_block *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	*b = *from;
	memset(b->groups, 0, sizeof(b->groups));
	b->info.label = b->label;
	b->info.pmu = b->pmu;
	for (size_t n = 0; n < ARRAY_SIZE(b->groups); n++) {
		if (!from->groups[n])
			continue;
		b->groups[n] = malloc(bytes);
		if (!b->groups[n]) {
			free_block(b);
			return NULL;
		}
		memcpy(b->groups[n], from->groups[n], bytes);
	}
	return b;
}

EXPORT int perfctr_totals_sum(const struct perfctr_totals *totals, struct perfctr_totals **sum)
{
	const struct perfctr_totals *from = perfctr_totals_by_type(totals);
	struct perfctr_totals *t = NULL;
	int error = totals_alloc(totals->ctx, true, &t);

	if (error)
		return error;
	t->span = from->span;
	t->selection = perfctr_selection_ref(from->selection);
	t->has_seq = from->has_seq;
	t->next_seq = from->next_seq;
	for (size_t n = 0; n < from->block_count; n++) {
		struct perfctr_totals_block *b = copy_block(from->blocks[n]);

		if (!b || !append_block(t, b)) {
			if (b)
				free_block(b);
			perfctr_totals_unref(t);
			return perfctr_no_memory(totals->ctx);
		}
	}
	*sum = t;
	return 0;
}

/* --- looking --------------------------------------------------------------------- */

EXPORT const struct perfctr_span *perfctr_totals_span(const struct perfctr_totals *totals)
{
	return &totals->span;
}

EXPORT size_t perfctr_totals_block_count(const struct perfctr_totals *totals)
{
	return totals->block_count;
}

EXPORT const struct perfctr_totals_block *perfctr_totals_block(const struct perfctr_totals *totals,
							       size_t n)
{
	return n < totals->block_count ? totals->blocks[n] : NULL;
}

EXPORT const struct perfctr_totals_block_info *
perfctr_totals_block_info(const struct perfctr_totals_block *block)
{
	return &block->info;
}

EXPORT size_t perfctr_totals_counter_count(const struct perfctr_totals_block *block)
{
	return (size_t)__builtin_popcountll(block->mask);
}

EXPORT const struct perfctr_total *perfctr_totals_counter(const struct perfctr_totals_block *block,
							  size_t n)
{
	uint64_t mask = block->mask;

	while (mask && n--)
		mask &= mask - 1;
	return mask ? totals_total(block, (unsigned int)__builtin_ctzll(mask)) : NULL;
}

EXPORT int perfctr_totals_label(const struct perfctr_selection *selection,
				const struct perfctr_totals_block *block, size_t n, char *text,
				size_t size)
{
	const struct perfctr_total *t = perfctr_totals_counter(block, n);
	struct counter_key key = {
		.type = block->info.type,
		.index = block->info.index,
		.product = block->info.product,
		.set = block->info.set,
		.pmu = block->pmu,
		.config = block->info.config,
		.config1 = block->info.config1,
		.config2 = block->info.config2,
	};

	if (!t)
		return snprintf(text, size, "%s", "");
	key.position = t->position;
	return selection_counter_label(selection, &key, text, size);
}

/* The event may not have run because the task was on other CPUs, where it counted zero. */
static bool is_part_of_task(const struct perfctr_totals_block_info *info)
{
	const uint32_t both = DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_UNAVAILABLE;

	return info->is_pmu && (info->states & both) == both;
}

/* Why a counter has no value. */
static enum perfctr_value_state state_of(const struct perfctr_totals_block_info *info,
					 const struct perfctr_total *total, double running)
{
	if (!total->measured && info->is_pmu && info->states & DRM_PERFCTR_STATE_UNAVAILABLE &&
	    !is_part_of_task(info))
		return PERFCTR_VALUE_NOT_SUPPORTED;
	if (!total->measured)
		return PERFCTR_VALUE_NOT_MEASURED;
	if (total->overflow)
		return PERFCTR_VALUE_OVERFLOW;
	return running > 0 ? PERFCTR_VALUE_OK : PERFCTR_VALUE_NOT_MEASURED;
}

EXPORT void perfctr_totals_value(const struct perfctr_totals_block *block, size_t n,
				 struct perfctr_value *value, double *running)
{
	const struct perfctr_totals_block_info *info = &block->info;
	const struct perfctr_total *total = perfctr_totals_counter(block, n);
	const bool is_level = total && total->desc && total->desc->kind == PERFCTR_KIND_LEVEL;
	double part = 1;

	*value = (struct perfctr_value){ .state = PERFCTR_VALUE_NOT_SELECTED };
	if (total && !is_level && info->states & DRM_PERFCTR_STATE_MULTIPLEXED &&
	    info->time_enabled && total->running_ns < info->time_enabled)
		part = (double)total->running_ns / (double)info->time_enabled;
	if (!total || !total->measured)
		part = 0;
	if (running)
		*running = part;
	if (!total)
		return;
	value->state = state_of(info, total, part);
	value->flags = total->missed ? PERFCTR_VALUE_PARTIAL : 0;
	if (value->state != PERFCTR_VALUE_OK)
		return;
	value->number = is_level ? (double)(int64_t)total->sum : (double)total->sum;
	if (part < 1 && is_part_of_task(info)) {
		value->flags |= PERFCTR_VALUE_PARTIAL;
	} else if (part < 1) {
		value->number /= part;
		value->flags |= PERFCTR_VALUE_ESTIMATED;
	} else if (is_level || total->sum <= INT64_MAX) {
		value->integer = (int64_t)total->sum;
		value->flags |= PERFCTR_VALUE_INTEGER;
	}
}

EXPORT void perfctr_totals_rate(const struct perfctr_totals *totals,
				const struct perfctr_total *total, struct perfctr_value *value)
{
	uint64_t elapsed_ns = 0;

	for (size_t n = 0; n < totals->block_count; n++) {
		const struct perfctr_totals_block *b = totals->blocks[n];

		const unsigned int bit = total->position % DRM_PERFCTR_SECTION_COUNTERS;

		if (b->mask >> bit & 1 && total == totals_total(b, bit))
			elapsed_ns = b->info.elapsed_ns;
	}
	*value = (struct perfctr_value){ 0 };
	if (!total->measured) {
		value->state = PERFCTR_VALUE_NOT_MEASURED;
	} else if (!elapsed_ns) {
		value->state = PERFCTR_VALUE_ZERO_DENOMINATOR;
	} else {
		value->number = (double)total->sum * NS_PER_S / (double)elapsed_ns;
		value->flags = total->missed ? PERFCTR_VALUE_PARTIAL : 0;
	}
}

EXPORT int perfctr_totals_unit(const struct perfctr_selection *selection,
			       const struct perfctr_totals_block *block, size_t n, char *text,
			       size_t size, double *scale)
{
	const struct perfctr_total *total = perfctr_totals_counter(block, n);
	const struct counter_key key = { .type = block->info.type, .index = block->info.index };

	return selection_unit(selection, &key, total ? total->desc : NULL, text, size, scale);
}
