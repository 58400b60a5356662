// SPDX-License-Identifier: MIT
/* Which counters have their turn, and for how long each has counted. */
#include "turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/catalogue.h"
#include "kernel.h"

static size_t words(const struct host_source *hs)
{
	return (size_t)hs->source.block_count * PERFCTR_SECTIONS_MAX;
}

static unsigned int count_of(const u64 *masks)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < PERFCTR_SECTIONS_MAX; i++)
		count += hweight64(masks[i]);
	return count;
}

int host_turns_init(struct host_source *hs)
{
	struct host_turns *t = &hs->state.turns;

	t->wanted = calloc(4 * words(hs), sizeof(*t->wanted));
	t->next = calloc(hs->source.block_count, sizeof(*t->next));
	if (!t->wanted || !t->next)
		return -ENOMEM;
	/* at once with the first: see host_turns_gather() */
	t->exact = t->wanted + words(hs);
	t->chosen = t->exact + words(hs);
	t->counted = t->chosen + words(hs);
	return 0;
}

void host_turns_free(struct host_source *hs)
{
	free(hs->state.turns.wanted);
	free(hs->state.turns.next);
}

/* --- sessions ------------------------------------------------------------------------ */

static void add_wanted(struct host_source *hs, const struct host_views *views)
{
	struct host_turns *t = &hs->state.turns;

	for (size_t n = 0; n < views->count; n++) {
		const struct perfctr_view *view = &views->blocks[n].view;
		size_t word;

		if (!view->block || view->block->source != &hs->source)
			continue;
		word = (size_t)(view->block - hs->source.blocks) * PERFCTR_SECTIONS_MAX +
		       view->header.section;
		t->wanted[word] |= view->header.enable_mask;
		if (!view->running)
			t->exact[word] |= view->header.enable_mask;
	}
}

static int refuse(struct host_source *hs, unsigned int block, unsigned int exact)
{
	struct host_turns *t = &hs->state.turns;
	const struct drm_perfctr_block_desc *desc = &hs->source.descs[block];

	snprintf(t->why, sizeof(t->why),
		 "of %s at most %u counters count at a time, and sessions that count now, with "
		 "this one, want %u of them all the time: leave some out, or end others",
		 perfctr_block_type_name(desc->type), hs->limits[block], exact);
	hs->why = t->why;
	return -E2BIG;
}

int host_turns_gather(struct host_source *hs, const struct host_views *first)
{
	struct host_turns *t = &hs->state.turns;

	memset(t->wanted, 0, 2 * words(hs) * sizeof(*t->wanted));
	hs->extension.period_ns = 0;
	t->active = false;
	for (const struct host_views *v = first; v; v = v->next) {
		add_wanted(hs, v);
		if (v->period_ns &&
		    (!hs->extension.period_ns || v->period_ns < hs->extension.period_ns))
			hs->extension.period_ns = v->period_ns;
	}
	for (unsigned int b = 0; hs->limits && b < hs->source.block_count; b++) {
		const unsigned int exact = count_of(t->exact + b * PERFCTR_SECTIONS_MAX);
		const bool waits = count_of(t->wanted + b * PERFCTR_SECTIONS_MAX) > exact;

		/* one place at least for those that take turns */
		if (exact + waits > hs->limits[b])
			return refuse(hs, b, exact);
		t->active |= waits;
	}
	return 0;
}

/* --- turns --------------------------------------------------------------------------- */

/* All exact counters of a block, and of the others as many as have room, from the next one on. */
static void choose_of(struct host_source *hs, unsigned int block)
{
	struct host_turns *t = &hs->state.turns;
	const u64 *wanted = t->wanted + block * PERFCTR_SECTIONS_MAX;
	const u64 *exact = t->exact + block * PERFCTR_SECTIONS_MAX;
	u64 *chosen = t->chosen + block * PERFCTR_SECTIONS_MAX;
	unsigned int room = hs->limits ? hs->limits[block] - count_of(exact) : PERFCTR_COUNTERS_MAX;
	unsigned int at = t->next[block];

	memcpy(chosen, exact, PERFCTR_SECTIONS_MAX * sizeof(*chosen));
	for (unsigned int i = 0; room && i < PERFCTR_COUNTERS_MAX; i++) {
		const unsigned int section = at / DRM_PERFCTR_SECTION_COUNTERS;
		const u64 bit = BIT_ULL(at % DRM_PERFCTR_SECTION_COUNTERS);

		if (wanted[section] & ~chosen[section] & bit) {
			chosen[section] |= bit;
			room--;
		}
		at = (at + 1) % PERFCTR_COUNTERS_MAX;
	}
	t->next[block] = at;
}

const u64 *host_turns_choose(struct host_source *hs)
{
	for (unsigned int b = 0; b < hs->source.block_count; b++)
		choose_of(hs, b);
	hs->state.turns.began_ns = perfctr_time_raw_ns();
	return hs->state.turns.chosen;
}

void host_turns_report(struct host_source *hs, unsigned int block, u32 states, const u64 *valid)
{
	struct host_turns *t = &hs->state.turns;
	u64 *counted = t->counted + block * PERFCTR_SECTIONS_MAX;
	const u64 *available = perfctr_block_available(&hs->source.descs[block], hs->state.set);

	if (!t->active)
		return;
	/* nothing of a block without power could be counted, in anybody's turn */
	t->was_off = perfctr_block_was_off(states);
	for (unsigned int i = 0; i < perfctr_block_sections(&hs->source.descs[block]); i++)
		counted[i] = valid ? valid[i] & available[i] : 0;
}

u64 host_turns_left_ns(const struct host_source *hs)
{
	const struct host_turns *t = &hs->state.turns;
	u64 since_ns;

	if (!t->active)
		return U64_MAX;
	since_ns = perfctr_time_raw_ns() - t->began_ns;
	return hs->turn_ns - min(since_ns, hs->turn_ns);
}

void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted)
{
	struct drm_perfctr_block *b = &source->blocks[block];

	if (!b->running)
		return;
	b->enabled += ns;
	for (unsigned int i = 0; i < perfctr_block_sections(&b->desc); i++)
		for (u64 mask = counted[i]; mask; mask &= mask - 1)
			b->running[i * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask)] += ns;
}

void host_turns_count(struct host_source *hs, u64 ns)
{
	struct host_turns *t = &hs->state.turns;

	if (!t->active || t->was_off)
		return;
	for (unsigned int b = 0; b < hs->source.block_count; b++)
		drm_perfctr_block_ran(&hs->source, b, ns, t->counted + b * PERFCTR_SECTIONS_MAX);
}
