// SPDX-License-Identifier: GPL-2.0
/*
 * PCOUNTER: batches of packets from domains in RECORD mode.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <asm/barrier.h>

#include "pcounter_internal.h"

static int await_packet(struct pcounter *p, unsigned int d)
{
	unsigned int tries;

	for (tries = 0; tries < PCOUNTER_SWAP_TRIES; tries++)
		if (pcounter_record_position(&p->record[d],
					     pcounter_rd(p, PCOUNTER_RECORD_STATUS(d)) &
					     PCOUNTER_RECORD_POSITION))
			return 0;
	return -EIO;
}

/* keep the rate of packets when the clock frequency changes */
static void follow_frequency(struct pcounter *p, unsigned int d)
{
	const u32 ctrl = (p->ctrl[d] & ~(u32)PCOUNTER_CTRL_PERIODIC) |
			 PCOUNTER_CTRL_PERIODIC_OF(pcounter_periodic(p, d));

	if (ctrl != p->ctrl[d])
		pcounter_write_ctrl(p, d, ctrl);
}

/*
 * Makes a batch of all packets so far. A PERIODIC packet at the same time can be mistaken for that
 * of the trigger; the next batch then contains the few clocks between them.
 */
static int cut_batch(struct pcounter *p)
{
	const unsigned long recorded = p->recorded;
	u32 d;

	p->late = 0;

	for_each_set_bit(d, &recorded, PCOUNTER_DOMAINS) {
		struct pcounter_record *r = &p->record[d];

		if (!pcounter_record_flip(r))
			continue;
		/* LIMIT first: at most one packet is written before START, and it has room */
		pcounter_wr(p, PCOUNTER_RECORD_LIMIT(d), pcounter_record_limit(r));
		pcounter_wr(p, PCOUNTER_RECORD_START(d), pcounter_record_start(r));
	}
	pcounter_wr(p, PGRAPH_PM_TRIGGER, PGRAPH_PM_TRIGGER_PULSE);
	for_each_set_bit(d, &recorded, PCOUNTER_DOMAINS)
		if (await_packet(p, d))
			p->late |= BIT(d);
	/* read no domain: a new selection must not discard the packets of domains that responded */
	if (p->late) {
		p->late = recorded;
		return -EIO;
	}
	/* read the position before the packets */
	rmb();
	for_each_set_bit(d, &recorded, PCOUNTER_DOMAINS)
		pcounter_record_batch(&p->record[d], p->reached_ns[d], p->held_ns,
				      p->config.ops->hz(p->config.priv, d));
	for_each_set_bit(d, &recorded, PCOUNTER_DOMAINS)
		follow_frequency(p, d);
	p->batch_ns = p->held_ns;
	p->stats.batches++;
	return 0;
}

/* the domain whose packet ends first, or -1 */
static int next_packet(const struct pcounter *p, u64 *first_ns)
{
	const unsigned long recorded = p->recorded;
	int first = -1;
	u64 end_ns;
	u32 d;

	for_each_set_bit(d, &recorded, PCOUNTER_DOMAINS)
		if (pcounter_record_peek(&p->record[d], &end_ns) &&
		    (first < 0 || end_ns < *first_ns)) {
			first = d;
			*first_ns = end_ns;
		}
	return first;
}

static void take_packet(struct pcounter *p, unsigned int d)
{
	u64 *totals = drm_perfctr_block_totals(&p->source, d);
	const u64 begin_ns = p->reached_ns[d];
	struct pcounter_counts counts;
	unsigned int slot;
	bool saturated = false;

	if (!pcounter_record_take(&p->record[d], &counts))
		return;
	p->reached_ns[d] = counts.end_ns;
	p->pending.clock_cycles[d] += counts.cycles;
	for (slot = 0; slot < PCOUNTER_RECORD_SLOTS; slot++) {
		if (p->counter[d][slot] == PCOUNTER_NONE)
			continue;
		totals[p->counter[d][slot]] += counts.counters[slot];
		saturated |= counts.saturated & BIT(slot);
	}
	p->stats.packets++;
	p->stats.full += !counts.stops;
	p->stats.refused += counts.stops ? counts.stops - 1 : 0;
	if (!saturated)
		return;
	p->stats.saturated++;
	pcounter_lose(p, d, 0, DRM_PERFCTR_STATE_SATURATED);
	p->pending_lost_ns[d] += counts.end_ns - begin_ns;
}

/*
 * Takes packets of all domains up to the first one that ends at @until_ns or later, and sets
 * @reached_ns to its end. Returns a mask of the domains with packets.
 */
u8 pcounter_take_packets(struct pcounter *p, u64 until_ns, u64 *reached_ns)
{
	u64 end_ns;
	u8 taken = 0;
	int d;

	*reached_ns = 0;
	while ((d = next_packet(p, &end_ns)) >= 0) {
		if (taken && *reached_ns >= until_ns && end_ns > *reached_ns)
			break;
		take_packet(p, d);
		taken |= BIT(d);
		*reached_ns = end_ns;
	}
	p->in_batch = d >= 0;
	return taken;
}

static bool had_no_room(const struct pcounter *p)
{
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (p->recorded & BIT(d) && p->record[d].full)
			return true;
	return false;
}

/*
 * Begins a batch of everything up to now; the hardware is held. If both halves were full, some
 * counts are not in packets yet: take the packets, with the hardware released, and make a second
 * batch of the rest.
 */
int pcounter_begin_batch(struct pcounter *p)
{
	u64 reached_ns;
	int ret = cut_batch(p);

	if (ret || !had_no_room(p))
		return ret;
	pcounter_release(p);
	pcounter_take_packets(p, U64_MAX, &reached_ns);
	pcounter_hold(p);
	return cut_batch(p);
}

/* counts are lost at an unknown position in the batch, so it must not be divided */
static bool batch_is_saturated(const struct pcounter *p)
{
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (p->recorded & BIT(d) && p->record[d].saturated)
			return true;
	return false;
}

/* collect all domains up to the first packet that ends at until_ns or later */
int pcounter_collect_packets(struct pcounter *p, struct drm_perfctr_collection *c)
{
	struct pcounter_slice slice = { .members = pcounter_current_pass(p)->members };
	u32 states[PCOUNTER_DOMAINS + PCOUNTER_MAX_TPCS] = {};
	unsigned int i;
	u64 reached_ns;
	u8 taken;
	int ret;

	if (!p->in_batch) {
		pcounter_hold(p);
		ret = pcounter_begin_batch(p);
		pcounter_release(p);
		if (ret)
			return ret;
		p->clock_ns = p->held_clock_ns;
	}
	taken = pcounter_take_packets(p, batch_is_saturated(p) ? U64_MAX :
								  p->extension.until_ns,
				      &reached_ns);
	p->extension.more = p->in_batch;
	c->time_ns = p->in_batch ? reached_ns : p->batch_ns;
	pcounter_take_pending(p, c, states);
	for (i = 0; i < PCOUNTER_DOMAINS; i++) {
		/* one or two clocks may be shorter than 1 ns */
		slice.domain_ns[i] = max_t(u64, p->reached_ns[i] - p->reported_ns[i],
					   !!(taken & BIT(i)));
		p->reported_ns[i] = p->reached_ns[i];
	}
	for (i = 0; i < p->source.block_count; i++)
		pcounter_report(p, i, &slice, states[i]);
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		if (p->recorded & BIT(i))
			drm_perfctr_block_reached(&p->source, i, p->reached_ns[i]);
	p->pending_slice_count = 0;
	p->time_ns = c->time_ns;
	return 0;
}
