// SPDX-License-Identifier: GPL-2.0
/*
 * PCOUNTER: counts of domains in QUAD mode and of MP counters; reports of both modes.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "pcounter_internal.h"

/* the register to which a swap copies the counter of a slot */
static u32 counter_register(unsigned int d, unsigned int slot)
{
	switch (slot) {
	case PCOUNTER_PRE:
		return PCOUNTER_CTR_PRE(d);
	case PCOUNTER_START:
		return PCOUNTER_CTR_START(d);
	case PCOUNTER_EVENT:
		return PCOUNTER_CTR_EVENT(d);
	}
	return PCOUNTER_CTR_STOP(d);
}

/* counts were lost during the last @ns */
void pcounter_lose(struct pcounter *p, unsigned int block, u64 ns, u32 states)
{
	p->pending_states[block] |= states | DRM_PERFCTR_STATE_LOST;
	p->pending.flags |= DRM_PERFCTR_SAMPLE_OVERFLOW;
	p->pending.lost_ns = max(p->pending.lost_ns, ns);
}

/* the clocks of a domain saturated; ignored if no sample contains them */
static void lose_clocks(struct pcounter *p, unsigned int d, u64 ns)
{
	unsigned int i;

	if (!(p->clocks_wanted & BIT(d)))
		return;
	pcounter_lose(p, d, ns, DRM_PERFCTR_STATE_SATURATED);
	for (i = 0; d == PCOUNTER_MP_DOMAIN && i < p->tpc_count; i++)
		pcounter_lose(p, PCOUNTER_DOMAINS + i, ns, DRM_PERFCTR_STATE_SATURATED);
}

/* reads the period that a swap has copied; @ns: since the last collection */
static void read_domain(struct pcounter *p, unsigned int d, u64 ns)
{
	u64 *totals = drm_perfctr_block_totals(&p->source, d);
	const u32 cycles = pcounter_rd(p, PCOUNTER_CTR_CYCLES(d));
	unsigned int slot;

	p->pending.clock_cycles[d] += cycles;
	if (cycles == U32_MAX)
		lose_clocks(p, d, ns);
	for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
		u32 value;

		if (p->counter[d][slot] == PCOUNTER_NONE)
			continue;
		value = pcounter_rd(p, counter_register(d, slot));
		totals[p->counter[d][slot]] += value;
		if (value == U32_MAX)
			pcounter_lose(p, d, ns, DRM_PERFCTR_STATE_SATURATED);
	}
	/* swapped twice: one period is lost */
	if (pcounter_rd(p, PCOUNTER_STATUS(d)) == PCOUNTER_QUAD_OVERFLOW) {
		pcounter_lose(p, d, ns, 0);
		pcounter_wr(p, PCOUNTER_QUAD_ACK(d), 0);
	}
	pcounter_wr(p, PCOUNTER_QUAD_ACK(d), 0);
}

static bool has_swapped(struct pcounter *p, unsigned int d)
{
	return pcounter_rd(p, PCOUNTER_STATUS(d)) != PCOUNTER_QUAD_EMPTY;
}

static int swap_domain(struct pcounter *p, unsigned int d, u64 ns)
{
	unsigned int tries;

	if (p->late & BIT(d) && has_swapped(p, d))
		read_domain(p, d, ns);
	p->late |= BIT(d);
	pcounter_wr(p, PCOUNTER_OP(d, PCOUNTER_PRE), pcounter_rd(p, PCOUNTER_OP(d, PCOUNTER_PRE)));
	for (tries = 0; tries < PCOUNTER_SWAP_TRIES; tries++)
		if (has_swapped(p, d)) {
			p->late &= ~BIT(d);
			return 0;
		}
	return -EIO;
}

static u64 counted_in(const struct pcounter_set *members, unsigned int block)
{
	return block < PCOUNTER_DOMAINS ? members->bits[0] & pcounter_domain_counters[block] :
					  members->bits[1];
}

/* MP counters that ran for more than @ns of a slice; @next_ns: the shortest of their times */
static u64 counted_longer(const struct pcounter_slice *slice, u64 ns, u64 *next_ns)
{
	unsigned int slot;
	u64 counted = 0;

	*next_ns = slice->ns;
	for (slot = 0; slot < MP_SLOTS; slot++) {
		const u64 ran_ns = slice->ns - min(slice->mp_missed_ns[slot], slice->ns);

		if (slice->mp_counter[slot] == PCOUNTER_NONE || ran_ns <= ns)
			continue;
		counted |= BIT_ULL(slice->mp_counter[slot] - PCOUNTER_MP_FIRST);
		*next_ns = min(*next_ns, ran_ns);
	}
	return counted;
}

/* adds to the running times of counters; returns the counters that counted in a slice */
static u64 ran(struct pcounter *p, unsigned int block, const struct pcounter_slice *slice)
{
	const bool is_domain = block < PCOUNTER_DOMAINS;
	const u64 slice_ns = is_domain ? slice->domain_ns[block] : slice->ns;
	u64 ns = 0, next_ns = slice_ns, all = 0;

	/* piecewise, because counters have different times; the order of pieces does not matter */
	for (; ns < slice_ns; ns = next_ns) {
		u64 counted[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = {};

		counted[0] = is_domain ? counted_in(&slice->members, block) :
					 counted_longer(slice, ns, &next_ns);
		all |= counted[0];
		drm_perfctr_block_ran(&p->source, block, next_ns - ns, counted);
	}
	return all;
}

void pcounter_report(struct pcounter *p, unsigned int block, const struct pcounter_slice *slice,
		     u32 states)
{
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { ran(p, block, slice) };
	unsigned int i;

	for (i = 0; i < p->pending_slice_count; i++)
		valid[0] |= ran(p, block, &p->pending_slices[i]);
	drm_perfctr_block_report(&p->source, block, states | DRM_PERFCTR_STATE_ON |
				 DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_NORMAL, valid);
}

void pcounter_take_pending(struct pcounter *p, struct drm_perfctr_collection *c, u32 *states)
{
	unsigned int i;
	u64 lost_ns = 0;

	for (i = 0; i < PCOUNTER_DOMAINS; i++) {
		c->clock_cycles[i] += p->pending.clock_cycles[i];
		lost_ns = max(lost_ns, p->pending_lost_ns[i]);
	}
	for (i = 0; i < p->source.block_count; i++)
		states[i] |= p->pending_states[i];
	c->flags |= p->pending.flags;
	c->lost_ns += p->pending.lost_ns + lost_ns;
	memset(&p->pending, 0, sizeof(p->pending));
	memset(p->pending_states, 0, sizeof(p->pending_states));
	memset(p->pending_lost_ns, 0, sizeof(p->pending_lost_ns));
}

/*
 * Swaps all domains before it reads any, so that their periods end together. A domain that does not
 * respond does not prevent others from being read.
 */
int pcounter_read_domains(struct pcounter *p, u64 ns)
{
	unsigned int d;
	int ret = 0;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (swap_domain(p, d, ns))
			ret = -EIO;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (!(p->late & BIT(d)))
			read_domain(p, d, ns);
	return ret;
}

void pcounter_read_mp(struct pcounter *p, u64 ns)
{
	unsigned int i, slot;

	for (i = 0; i < p->tpc_count; i++) {
		u64 *totals = drm_perfctr_block_totals(&p->source, PCOUNTER_DOMAINS + i);

		for (slot = 0; slot < MP_SLOTS; slot++) {
			bool saturated = false;

			if (p->mp_counter[slot] == PCOUNTER_NONE)
				continue;
			totals[p->mp_counter[slot] - PCOUNTER_MP_FIRST] +=
				p->config.ops->mp_take(p->config.priv, p->tpc[i], slot,
						       &saturated);
			if (saturated)
				pcounter_lose(p, PCOUNTER_DOMAINS + i, ns,
					      DRM_PERFCTR_STATE_SATURATED);
		}
	}
	for (slot = 0; slot < MP_SLOTS; slot++)
		p->mp_missed_ns[slot] += p->config.ops->mp_missed_ns(p->config.priv, slot);
}

/* the slice of @ns whose counts were just read */
struct pcounter_slice pcounter_end_slice(struct pcounter *p, const struct pcounter_set *members,
					 u64 ns)
{
	struct pcounter_slice slice = { .members = *members, .ns = ns };
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		slice.domain_ns[d] = ns;
	memcpy(slice.mp_counter, p->mp_counter, sizeof(slice.mp_counter));
	memcpy(slice.mp_missed_ns, p->mp_missed_ns, sizeof(slice.mp_missed_ns));
	memset(p->mp_missed_ns, 0, sizeof(p->mp_missed_ns));
	return slice;
}

void pcounter_report_all(struct pcounter *p, u64 ns, const u32 *states)
{
	/* one or two clocks may be shorter than 1 ns */
	const struct pcounter_slice slice =
		pcounter_end_slice(p, &pcounter_current_pass(p)->members, max(ns, 1ULL));
	unsigned int i;

	for (i = 0; i < p->source.block_count; i++)
		pcounter_report(p, i, &slice, states[i]);
	p->pending_slice_count = 0;
}
