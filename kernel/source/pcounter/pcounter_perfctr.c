// SPDX-License-Identifier: GPL-2.0
/*
 * PCOUNTER and MP counters of the nv50 family: a source of the counter core.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <drm/drm_managed.h>
#include <drm/drm_perfctr.h>
#include <drm/perfctr_nv50.h>

#include "nv50_counters.h"
#include "pcounter_perfctr.h"
#include "pcounter_record.h"
#include "pcounter_sched.h"

/**
 * DOC: overview
 *
 * The database says for each counter what the hardware must be set to. What all
 * sessions want is packed into passes (pcounter_sched.c). While one pass is enough,
 * everything counts all the time. Else a collection that ends a slice of time sets
 * the hardware up for the next pass, and each block tells how long each of its
 * counters ran.
 *
 * A collection swaps all domains (a write to PRE's table), which copies the counters
 * and clears them at one clock: nothing is lost between two periods. MP counters are
 * per context: the driver's methods set them at the start of each job, so that every
 * context counts the same, and their values are read when the job ends and when a
 * sample is taken in its command stream. What lies between two such samples is what
 * the job did between them, whoever else has work in the queue. A context that programs
 * MP counters itself keeps its slots: what has none left misses its jobs, and the time
 * that they ran is no time in which it was counted.
 *
 * Counters have 32 bits and saturate: max_interval_ns is shorter the more a counter
 * of the schedule can add in a clock.
 */

/**
 * DOC: recording
 *
 * For periods that are too short for a timer the hardware writes the counts of each period
 * to memory by itself (pcounter_record.c), and the core collects a batch of packets now and
 * then. A collection then ends at the packet that the core wants to have a sample of, and
 * tells that there are more. All sessions get exactly what they would get else, at a finer
 * grain: totals go from packet to packet.
 *
 * That needs one pass, no MP counters, at most three SIMPLE counters or an integer in each
 * domain, and a session with a period of at most PCOUNTER_RECORD_PERIOD_NS_MAX and nothing
 * but this source in its samples. Whenever that changes, all are collected and programmed
 * anew.
 *
 * Each domain has its own clock and its own packets. A block's counts go up to its last
 * packet before the end of the sample, which its capture time tells.
 *
 * If the hardware was silent for so long that packets had no room at all, a collection takes two
 * batches: the first one makes room for what the second one brings, up to now.
 */

/* most that an integer counter adds in a clock */
#define B4_MAX			15
#define B6_MAX			63
/* a pass has its turn for so long, at least */
#define SLICE_NS		(2 * NSEC_PER_MSEC)
/* the core collects after half of it: while there are several passes, after SLICE_NS */
#define ROTATE_INTERVAL_NS	(2 * SLICE_NS)
/* a swap takes a clock; the slowest one runs at some MHz */
#define SWAP_TRIES		100
#define MAX_TPCS		64
/* selections that hardware fails in, one after the other, until their time is not told */
#define REST_TURNS		8
/* at most so long until somebody sees a packet */
#define BATCH_NS		(10 * NSEC_PER_MSEC)

/**
 * struct pcounter_turn - a time in which the same counters were programmed
 */
struct pcounter_turn {
	/** @members: these. */
	struct pcounter_set members;
	/** @ns: how long, of MP counters. */
	u64 ns;
	/** @domain_ns: of each domain; 0: it had no turn. */
	u64 domain_ns[PCOUNTER_DOMAINS];
	/** @mp_counter: MP counters among them, NOBODY: none. */
	u8 mp_counter[MP_SLOTS];
	/** @mp_missed_ns: of @ns, when there was no slot for each of these. */
	u64 mp_missed_ns[MP_SLOTS];
};

struct pcounter {
	struct drm_perfctr_source source;
	struct pcounter_config config;
	struct pcounter_schedule schedule;
	/* what is wanted since the last select; the hardware may still be at the last pass */
	bool running;
	/* when the last collection was, the time of the clocks then, and how long its turn was */
	u64 time_ns;
	u64 clock_ns;
	u64 slice_ns;
	/* when the hardware was held, and the time of the clocks then */
	u64 held_ns;
	u64 held_clock_ns;
	/* MP_SLOTS and the domains' four counters: whose they are, PCOUNTER_COUNTERS: nobody's */
	u8 mp_counter[MP_SLOTS];
	/* how long the former had no slot since the last turn */
	u64 mp_missed_ns[MP_SLOTS];
	u8 counter[PCOUNTER_DOMAINS][PCOUNTER_SLOTS];
	/* CTRL of each domain */
	u32 ctrl[PCOUNTER_DOMAINS];
	unsigned int tpc_count;
	u8 tpc[MAX_TPCS];

	/*
	 * Of what was read and not reported yet: in a collection that failed, or between a
	 * collection and a new selection. All but the counts, which are in the totals.
	 */
	struct drm_perfctr_collection rest;
	u32 rest_states[PCOUNTER_DOMAINS + MAX_TPCS];
	/* of packets: what several domains lost at the same time is lost once */
	u64 rest_lost_ns[PCOUNTER_DOMAINS];
	/* ends of turns between a collection and a selection, for the next one that succeeds */
	struct pcounter_turn rest_turns[REST_TURNS];
	unsigned int rest_turn_count;
	/* mask of domains that were asked for their counts and not read yet, since when */
	u8 late;
	u64 late_ns;
	/* mask of domains whose clocks are in samples */
	u8 clocks_wanted;

	/* shortest period of those that recording is for, 0: record nothing */
	u64 period_ns;
	/* mask of domains that are in RECORD mode, 0: all are in QUAD mode */
	u8 recorded;
	/* a batch is being read, up to @batch_ns; how far each domain was, now and when reported */
	bool in_batch;
	u64 batch_ns;
	u64 reached_ns[PCOUNTER_DOMAINS];
	u64 told_ns[PCOUNTER_DOMAINS];
	struct pcounter_record record[PCOUNTER_DOMAINS];
	struct {
		u64 collections;
		u64 batches;
		u64 packets;
		u64 full;
		u64 refused;
		u64 saturated;
	} stats;
};

#define NOBODY	PCOUNTER_COUNTERS
/* domain whose clocks are those of the TPCs */
#define MP_DOMAIN	3
/* of STOP */
#define TABLE_ARG0_OR_ARG1	0xeeee

static const struct pcounter_recipe recipes[PCOUNTER_COUNTERS] = {
#define DOMAIN_RECIPE(position, d, m, e, eop, st, stop, m0, v0, m1, v1) \
	[(position)] = { .kind = PCOUNTER_KIND_DOMAIN, .domain = d, .mode = m, .event = e, \
			 .event_op = eop, .start = st, .start_op = stop, .mux = { m0, m1 }, \
			 .value = { v0, v1 } },
	NV50_PCOUNTER_RECIPES(DOMAIN_RECIPE)
#define MP_RECIPE(position, m, u, s, m0, v0, m1, v1) \
	[PCOUNTER_MP_FIRST + (position)] = { .kind = PCOUNTER_KIND_MP, .mode = m, .unit = u, \
					     .signal = s, .mux = { m0, m1 }, .value = { v0, v1 } },
	NV50_MP_RECIPES(MP_RECIPE)
};

static_assert(NV50_MUXES <= PCOUNTER_MUXES_MAX);

static const u64 domain_counters[PCOUNTER_DOMAINS] = {
	NV50_PCOUNTER_DOMAIN0, NV50_PCOUNTER_DOMAIN1, NV50_PCOUNTER_DOMAIN2, NV50_PCOUNTER_DOMAIN3,
	NV50_PCOUNTER_DOMAIN4, NV50_PCOUNTER_DOMAIN5, NV50_PCOUNTER_DOMAIN6, NV50_PCOUNTER_DOMAIN7,
};

static struct pcounter *to_pcounter(struct drm_perfctr_source *source)
{
	return container_of(source, struct pcounter, source);
}

static u32 rd(struct pcounter *p, u32 reg)
{
	return p->config.ops->read(p->config.priv, reg);
}

static void wr(struct pcounter *p, u32 reg, u32 value)
{
	p->config.ops->write(p->config.priv, reg, value);
}

/* nothing else touches the hardware until it is let go */
static void hold(struct pcounter *p)
{
	p->held_clock_ns = p->config.ops->begin(p->config.priv);
	p->held_ns = ktime_get_raw_ns();
}

static void let_go(struct pcounter *p)
{
	p->config.ops->end(p->config.priv);
}

/* --- programming ------------------------------------------------------------- */

static const struct pcounter_pass *current_pass(const struct pcounter *p)
{
	return &p->schedule.passes[p->schedule.current_pass];
}

static void set_muxes(struct pcounter *p, const struct pcounter_pass *pass)
{
	unsigned int mux;

	for (mux = NV50_MUX_NONE + 1; mux < NV50_MUXES; mux++)
		if (pass->mux_users[mux])
			p->config.ops->set_mux(p->config.priv, mux, pass->mux_value[mux]);
}

/* two packets for each sample at least, so that wherever it is cut, each domain has one in it */
static u32 periodic_of(const struct pcounter *p, unsigned int d)
{
	return pcounter_record_periodic(p->config.ops->hz(p->config.priv, d), p->period_ns / 2);
}

static u32 ctrl_of(const struct pcounter *p, unsigned int d, u32 count_mode)
{
	const u32 count = count_mode << PCOUNTER_CTRL_COUNT_SHIFT;

	if (!p->recorded)
		return PCOUNTER_MODE_QUAD | count;
	if (!(p->recorded & BIT(d)))
		return PCOUNTER_MODE_OFF;
	return PCOUNTER_MODE_RECORD | PCOUNTER_CTRL_RECORD_SHORT | count |
	       PCOUNTER_CTRL_PERIODIC_OF(periodic_of(p, d));
}

static void write_ctrl(struct pcounter *p, unsigned int d, u32 ctrl)
{
	wr(p, PCOUNTER_CTRL(d), ctrl);
	p->ctrl[d] = ctrl;
}

/* PERIODIC and PM_TRIGGER make packets, nothing else; begins at zero, as QUAD does */
static void enter_record(struct pcounter *p, unsigned int d)
{
	struct pcounter_record *r = &p->record[d];

	pcounter_record_init(r, p->config.record[d], p->config.record_bytes);
	wr(p, PCOUNTER_SRC(d, PCOUNTER_STOP),
	   (pcounter_trailer(d) + PCOUNTER_TRAILER_PERIODIC) |
	   (pcounter_trailer(d) + PCOUNTER_TRAILER_PM_TRIGGER) << 8);
	wr(p, PCOUNTER_OP(d, PCOUNTER_STOP), TABLE_ARG0_OR_ARG1);
	wr(p, PCOUNTER_RECORD_LIMIT(d), pcounter_record_limit(r));
	wr(p, PCOUNTER_RECORD_START(d), pcounter_record_start(r));
	p->reached_ns[d] = p->held_ns;
	p->told_ns[d] = p->held_ns;
}

/* which counter of a domain has which of @pass; returns how they count */
static u32 slots_of(const struct pcounter_pass *pass, unsigned int d, u8 counter[PCOUNTER_SLOTS])
{
	u64 mask = pass->members.bits[0] & domain_counters[d];
	u32 count_mode = PCOUNTER_SIMPLE;
	unsigned int slot;

	memset(counter, NOBODY, PCOUNTER_SLOTS);
	for (slot = 0; mask; mask &= mask - 1) {
		const unsigned int n = __ffs64(mask);

		if (recipes[n].mode != PCOUNTER_SIMPLE) {
			count_mode = recipes[n].mode;
			slot = PCOUNTER_EVENT;
		}
		counter[slot++] = n;
	}
	return count_mode;
}

/*
 * A domain that is to do what it does already goes on: hardware has no clock in which it did not.
 * Returns false then.
 */
static bool program_domain(struct pcounter *p, unsigned int d, const struct pcounter_pass *pass)
{
	u8 counter[PCOUNTER_SLOTS];
	const u32 ctrl = ctrl_of(p, d, slots_of(pass, d, counter));
	unsigned int slot;

	if (ctrl == p->ctrl[d] && !memcmp(counter, p->counter[d], sizeof(counter)))
		return false;
	/* counts that it did not give in time; of one that is left nobody is there to miss them */
	if (p->late & p->clocks_wanted & BIT(d)) {
		p->rest_states[d] |= DRM_PERFCTR_STATE_LOST;
		p->rest.lost_ns = max(p->rest.lost_ns, p->late_ns);
	}
	p->late &= ~BIT(d);
	memcpy(p->counter[d], counter, sizeof(counter));
	/* leaving QUAD forgets what was counted, so that entering it begins at zero */
	wr(p, PCOUNTER_CTRL(d), PCOUNTER_MODE_OFF);
	for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
		/* what nobody wants stays zero: else it would fill packets */
		static const struct pcounter_recipe nothing;
		const struct pcounter_recipe *r = counter[slot] == NOBODY ? &nothing :
						  &recipes[counter[slot]];

		wr(p, PCOUNTER_SRC(d, slot), r->event);
		wr(p, PCOUNTER_OP(d, slot), r->event_op);
		/* an integer is alone, and START is what is added */
		if (r->mode == PCOUNTER_SIMPLE)
			continue;
		wr(p, PCOUNTER_SRC(d, PCOUNTER_START), r->start);
		wr(p, PCOUNTER_OP(d, PCOUNTER_START), r->start_op);
	}
	if (p->recorded & BIT(d))
		enter_record(p, d);
	/* only a write swaps */
	wr(p, PCOUNTER_SPEC_SRC(d), pcounter_trailer(d) + PCOUNTER_TRAILER_ZERO);
	write_ctrl(p, d, ctrl);
	return true;
}

static void program_mp(struct pcounter *p, const struct pcounter_pass *pass)
{
	u64 mask = pass->members.bits[1];
	u32 control[MP_SLOTS] = {};
	unsigned int slot;

	memset(p->mp_counter, NOBODY, sizeof(p->mp_counter));
	memset(p->mp_missed_ns, 0, sizeof(p->mp_missed_ns));
	for (slot = 0; mask; slot++, mask &= mask - 1) {
		const unsigned int counter = PCOUNTER_MP_FIRST + __ffs64(mask);
		const struct pcounter_recipe *r = &recipes[counter];

		control[slot] = (r->mode == MP_LOGOP_PULSE ? MP_CONTROL_PULSE : 0) |
				r->unit << MP_CONTROL_UNIT_SHIFT |
				mp_func_own(slot) << MP_CONTROL_FUNC_SHIFT |
				(u32)r->signal << MP_CONTROL_SIGNAL_SHIFT;
		p->mp_counter[slot] = counter;
	}
	p->config.ops->mp_program(p->config.priv, control);
}

/* hardware held; returns a mask of the domains that begin at zero */
static u8 program(struct pcounter *p)
{
	const struct pcounter_pass *pass = current_pass(p);
	unsigned int d;
	u8 begun = 0;

	p->recorded = 0;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (p->period_ns && pass->members.bits[0] & domain_counters[d])
			p->recorded |= BIT(d);
	set_muxes(p, pass);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (program_domain(p, d, pass))
			begun |= BIT(d);
	program_mp(p, pass);
	if (p->recorded) {
		wr(p, PCOUNTER_GCTRL, PCOUNTER_GCTRL_PERIODIC_RESET);
		wr(p, PCOUNTER_GCTRL, 0);
	}
	p->slice_ns = 0;
	return begun;
}

/* --- collecting ---------------------------------------------------------------- */

/* the counters that a period is copied to, by slot */
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

/* counts of the last @ns are gone; when in this time is not known */
static void lose(struct pcounter *p, unsigned int block, u64 ns, u32 states)
{
	p->rest_states[block] |= states | DRM_PERFCTR_STATE_LOST;
	p->rest.flags |= DRM_PERFCTR_SAMPLE_OVERFLOW;
	p->rest.lost_ns = max(p->rest.lost_ns, ns);
}

/* clocks that nobody is told may saturate */
static void lose_clocks(struct pcounter *p, unsigned int d, u64 ns)
{
	unsigned int i;

	if (!(p->clocks_wanted & BIT(d)))
		return;
	lose(p, d, ns, DRM_PERFCTR_STATE_SATURATED);
	for (i = 0; d == MP_DOMAIN && i < p->tpc_count; i++)
		lose(p, PCOUNTER_DOMAINS + i, ns, DRM_PERFCTR_STATE_SATURATED);
}

/* the period that a swap has copied; @ns: since the last collection */
static void read_domain(struct pcounter *p, unsigned int d, u64 ns)
{
	u64 *totals = drm_perfctr_block_totals(&p->source, d);
	const u32 cycles = rd(p, PCOUNTER_CTR_CYCLES(d));
	unsigned int slot;

	p->rest.clock_cycles[d] += cycles;
	if (cycles == U32_MAX)
		lose_clocks(p, d, ns);
	for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
		u32 value;

		if (p->counter[d][slot] == NOBODY)
			continue;
		value = rd(p, counter_register(d, slot));
		totals[p->counter[d][slot]] += value;
		if (value == U32_MAX)
			lose(p, d, ns, DRM_PERFCTR_STATE_SATURATED);
	}
	/* swapped twice: one period is gone */
	if (rd(p, PCOUNTER_STATUS(d)) == PCOUNTER_QUAD_OVERFLOW) {
		lose(p, d, ns, 0);
		wr(p, PCOUNTER_QUAD_ACK(d), 0);
	}
	wr(p, PCOUNTER_QUAD_ACK(d), 0);
}

static bool has_swapped(struct pcounter *p, unsigned int d)
{
	return rd(p, PCOUNTER_STATUS(d)) != PCOUNTER_QUAD_EMPTY;
}

static int swap_domain(struct pcounter *p, unsigned int d, u64 ns)
{
	unsigned int tries;

	if (p->late & BIT(d) && has_swapped(p, d))
		read_domain(p, d, ns);
	p->late |= BIT(d);
	wr(p, PCOUNTER_OP(d, PCOUNTER_PRE), rd(p, PCOUNTER_OP(d, PCOUNTER_PRE)));
	for (tries = 0; tries < SWAP_TRIES; tries++)
		if (has_swapped(p, d)) {
			p->late &= ~BIT(d);
			return 0;
		}
	return -EIO;
}

static u64 counted_in(const struct pcounter_set *members, unsigned int block)
{
	return block < PCOUNTER_DOMAINS ? members->bits[0] & domain_counters[block] :
					  members->bits[1];
}

/* MP counters that counted for more than @ns of a turn; @next_ns: then some of them had enough */
static u64 counted_longer(const struct pcounter_turn *turn, u64 ns, u64 *next_ns)
{
	unsigned int slot;
	u64 counted = 0;

	*next_ns = turn->ns;
	for (slot = 0; slot < MP_SLOTS; slot++) {
		const u64 ran_ns = turn->ns - min(turn->mp_missed_ns[slot], turn->ns);

		if (turn->mp_counter[slot] == NOBODY || ran_ns <= ns)
			continue;
		counted |= BIT_ULL(turn->mp_counter[slot] - PCOUNTER_MP_FIRST);
		*next_ns = min(*next_ns, ran_ns);
	}
	return counted;
}

/* returns the counters that counted in a turn */
static u64 ran(struct pcounter *p, unsigned int block, const struct pcounter_turn *turn)
{
	const bool is_domain = block < PCOUNTER_DOMAINS;
	const u64 turn_ns = is_domain ? turn->domain_ns[block] : turn->ns;
	u64 ns = 0, next_ns = turn_ns, all = 0;

	/* pieces whose length is right for each counter: when it was is not told */
	for (; ns < turn_ns; ns = next_ns) {
		u64 counted[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = {};

		counted[0] = is_domain ? counted_in(&turn->members, block) :
					 counted_longer(turn, ns, &next_ns);
		all |= counted[0];
		drm_perfctr_block_ran(&p->source, block, next_ns - ns, counted);
	}
	return all;
}

static void report(struct pcounter *p, unsigned int block, const struct pcounter_turn *turn,
		   u32 states)
{
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { ran(p, block, turn) };
	unsigned int i;

	for (i = 0; i < p->rest_turn_count; i++)
		valid[0] |= ran(p, block, &p->rest_turns[i]);
	drm_perfctr_block_report(&p->source, block, states | DRM_PERFCTR_STATE_ON |
				 DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_NORMAL, valid);
}

static void take_rest(struct pcounter *p, struct drm_perfctr_collection *c, u32 *states)
{
	unsigned int i;
	u64 lost_ns = 0;

	for (i = 0; i < PCOUNTER_DOMAINS; i++) {
		c->clock_cycles[i] += p->rest.clock_cycles[i];
		lost_ns = max(lost_ns, p->rest_lost_ns[i]);
	}
	for (i = 0; i < p->source.block_count; i++)
		states[i] |= p->rest_states[i];
	c->flags |= p->rest.flags;
	c->lost_ns += p->rest.lost_ns + lost_ns;
	memset(&p->rest, 0, sizeof(p->rest));
	memset(p->rest_states, 0, sizeof(p->rest_states));
	memset(p->rest_lost_ns, 0, sizeof(p->rest_lost_ns));
}

/*
 * All domains swap before any is read: their periods end together. What those that answer
 * have is not lost because another does not.
 */
static int read_domains(struct pcounter *p, u64 ns)
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

static void read_mp(struct pcounter *p, u64 ns)
{
	unsigned int i, slot;

	for (i = 0; i < p->tpc_count; i++) {
		u64 *totals = drm_perfctr_block_totals(&p->source, PCOUNTER_DOMAINS + i);

		for (slot = 0; slot < MP_SLOTS; slot++) {
			bool saturated = false;

			if (p->mp_counter[slot] == NOBODY)
				continue;
			totals[p->mp_counter[slot] - PCOUNTER_MP_FIRST] +=
				p->config.ops->mp_take(p->config.priv, p->tpc[i], slot,
						       &saturated);
			if (saturated)
				lose(p, PCOUNTER_DOMAINS + i, ns, DRM_PERFCTR_STATE_SATURATED);
		}
	}
	for (slot = 0; slot < MP_SLOTS; slot++)
		p->mp_missed_ns[slot] += p->config.ops->mp_missed_ns(p->config.priv, slot);
}

/* what @members have counted, just read, for @ns */
static struct pcounter_turn end_turn(struct pcounter *p, const struct pcounter_set *members, u64 ns)
{
	struct pcounter_turn turn = { .members = *members, .ns = ns };
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		turn.domain_ns[d] = ns;
	memcpy(turn.mp_counter, p->mp_counter, sizeof(turn.mp_counter));
	memcpy(turn.mp_missed_ns, p->mp_missed_ns, sizeof(turn.mp_missed_ns));
	memset(p->mp_missed_ns, 0, sizeof(p->mp_missed_ns));
	return turn;
}

static void report_all(struct pcounter *p, u64 ns, const u32 *states)
{
	/* a clock or two may take no time at all */
	const struct pcounter_turn turn = end_turn(p, &current_pass(p)->members, max(ns, 1ULL));
	unsigned int i;

	for (i = 0; i < p->source.block_count; i++)
		report(p, i, &turn, states[i]);
	p->rest_turn_count = 0;
}

/* --- recording ------------------------------------------------------------------- */

static int await_packet(struct pcounter *p, unsigned int d)
{
	unsigned int tries;

	for (tries = 0; tries < SWAP_TRIES; tries++)
		if (pcounter_record_position(&p->record[d],
					     rd(p, PCOUNTER_RECORD_STATUS(d)) &
					     PCOUNTER_RECORD_POSITION))
			return 0;
	return -EIO;
}

/* packets come as often as they should, whatever the clock does */
static void follow_frequency(struct pcounter *p, unsigned int d)
{
	const u32 ctrl = (p->ctrl[d] & ~(u32)PCOUNTER_CTRL_PERIODIC) |
			 PCOUNTER_CTRL_PERIODIC_OF(periodic_of(p, d));

	if (ctrl != p->ctrl[d])
		write_ctrl(p, d, ctrl);
}

/*
 * All packets up to now become a batch. A PERIODIC packet of the same moment may be taken for
 * that of the trigger; the few clocks between come with the next batch then.
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
		/* in this order: at most one packet comes between, and it still has room */
		wr(p, PCOUNTER_RECORD_LIMIT(d), pcounter_record_limit(r));
		wr(p, PCOUNTER_RECORD_START(d), pcounter_record_start(r));
	}
	wr(p, PGRAPH_PM_TRIGGER, PGRAPH_PM_TRIGGER_PULSE);
	for_each_set_bit(d, &recorded, PCOUNTER_DOMAINS)
		if (await_packet(p, d))
			p->late |= BIT(d);
	/* nobody's packets are read: a selection must not forget those of domains that answered */
	if (p->late) {
		p->late = recorded;
		return -EIO;
	}
	/* packets are read after the position that says they are there */
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

/* the domain whose packet ends first, -1: there is none */
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
	p->rest.clock_cycles[d] += counts.cycles;
	for (slot = 0; slot < PCOUNTER_RECORD_SLOTS; slot++) {
		if (p->counter[d][slot] == NOBODY)
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
	lose(p, d, 0, DRM_PERFCTR_STATE_SATURATED);
	p->rest_lost_ns[d] += counts.end_ns - begin_ns;
}

/*
 * Packets of all domains up to the first one that ends at @until_ns or later; @reached_ns: set
 * to its end. Returns a mask of the domains that had any.
 */
static u8 take_packets(struct pcounter *p, u64 until_ns, u64 *reached_ns)
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
 * All up to now, hardware held. What is in no packet as both halves were full gets into one when
 * the packets are taken, which takes its time: the hardware is let go meanwhile.
 */
static int begin_batch(struct pcounter *p)
{
	u64 reached_ns;
	int ret = cut_batch(p);

	if (ret || !had_no_room(p))
		return ret;
	let_go(p);
	take_packets(p, U64_MAX, &reached_ns);
	hold(p);
	return cut_batch(p);
}

/* counts are lost somewhere in the batch: a sample of a part of it could not tell how long */
static bool batch_is_saturated(const struct pcounter *p)
{
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (p->recorded & BIT(d) && p->record[d].saturated)
			return true;
	return false;
}

/* counts of all domains up to the first packet that ends at until_ns or later */
static int collect_packets(struct pcounter *p, struct drm_perfctr_collection *c)
{
	struct pcounter_turn turn = { .members = current_pass(p)->members };
	u32 states[PCOUNTER_DOMAINS + MAX_TPCS] = {};
	unsigned int i;
	u64 reached_ns;
	u8 taken;
	int ret;

	if (!p->in_batch) {
		hold(p);
		ret = begin_batch(p);
		let_go(p);
		if (ret)
			return ret;
		p->clock_ns = p->held_clock_ns;
	}
	taken = take_packets(p, batch_is_saturated(p) ? U64_MAX : c->until_ns, &reached_ns);
	c->more = p->in_batch;
	c->time_ns = c->more ? reached_ns : p->batch_ns;
	take_rest(p, c, states);
	for (i = 0; i < PCOUNTER_DOMAINS; i++) {
		/* a clock or two may take no time at all */
		turn.domain_ns[i] = max_t(u64, p->reached_ns[i] - p->told_ns[i],
					  !!(taken & BIT(i)));
		p->told_ns[i] = p->reached_ns[i];
	}
	for (i = 0; i < p->source.block_count; i++)
		report(p, i, &turn, states[i]);
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		if (p->recorded & BIT(i))
			drm_perfctr_block_reached(&p->source, i, p->reached_ns[i]);
	p->rest_turn_count = 0;
	p->time_ns = c->time_ns;
	return 0;
}

/* --- the source ------------------------------------------------------------------ */

static int pcounter_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	u32 states[PCOUNTER_DOMAINS + MAX_TPCS] = {};
	struct pcounter *p = to_pcounter(source);
	u64 ns;
	int ret;

	p->stats.collections += !p->in_batch;
	if (p->recorded)
		return collect_packets(p, c);
	hold(p);
	ret = read_domains(p, p->held_ns - p->time_ns);
	if (!ret) {
		read_mp(p, p->held_ns - p->time_ns);
		take_rest(p, c, states);
		/* turns are as long as what was counted in them, however late somebody looks */
		ns = p->held_clock_ns - p->clock_ns;
		report_all(p, ns, states);
		pcounter_schedule_ran(&p->schedule, ns);
		p->time_ns = p->held_ns;
		p->clock_ns = p->held_clock_ns;
		p->slice_ns += ns;
		if (p->slice_ns >= SLICE_NS && pcounter_schedule_rotate(&p->schedule))
			program(p);
	}
	let_go(p);
	return ret;
}

static u64 saturation_ns(const struct pcounter *p)
{
	unsigned int d, pass, most = 1;

	for (pass = 0; pass < p->schedule.count; pass++)
		for (d = 0; d < PCOUNTER_DOMAINS; d++) {
			u64 mask = p->schedule.passes[pass].members.bits[0] & domain_counters[d];

			for (; mask; mask &= mask - 1) {
				const u8 mode = recipes[__ffs64(mask)].mode;

				if (mode == PCOUNTER_EVENT_B6)
					most = B6_MAX;
				else if (mode == PCOUNTER_EVENT_B4)
					most = max_t(unsigned int, most, B4_MAX);
			}
		}
	return div_u64(U32_MAX * (u64)NSEC_PER_SEC / PCOUNTER_MAX_HZ, most);
}

static u32 packet_clocks(const struct pcounter *p, unsigned int d)
{
	return PCOUNTER_PERIODIC_CLOCKS(periodic_of(p, d));
}

/* until the packets of a half are full, by the fastest clock there is */
static u64 record_room_ns(const struct pcounter *p)
{
	const struct pcounter_pass *pass = &p->schedule.passes[0];
	u64 most_packets = 1;
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++) {
		const u32 most = pass->integer[d] ? B6_MAX : 1;

		if (pass->simple[d] || pass->integer[d])
			most_packets = max(most_packets,
					   PCOUNTER_MAX_HZ / packet_clocks(p, d) +
					   PCOUNTER_MAX_HZ * most / PCOUNTER_RECORD_FULL);
	}
	return div64_u64(p->config.record_bytes / 2 / PCOUNTER_SHORT_BYTES * (u64)NSEC_PER_SEC,
			 most_packets);
}

/*
 * The hardware counted on since the collection before a selection, and forgets it when it is
 * programmed: these are still counts of those who were there.
 */
static void save_rest(struct pcounter *p)
{
	const u64 ns = p->held_ns - p->time_ns;
	u64 end_ns;
	int ret;

	if (p->recorded) {
		ret = begin_batch(p);
		if (!ret)
			take_packets(p, U64_MAX, &end_ns);
	} else {
		ret = read_domains(p, ns);
		read_mp(p, ns);
	}
	/* what did not answer and is programmed anew is lost */
	p->late_ns = p->held_ns - p->time_ns;
	p->rest.flags |= ret ? DRM_PERFCTR_SAMPLE_ERROR : 0;
}

/* @members: what was counted until now */
static void select_now(struct pcounter *p, const struct pcounter_set *members)
{
	const u8 was_recorded = p->recorded;
	u64 told_ns[PCOUNTER_DOMAINS], ns;
	struct pcounter_turn turn;
	unsigned int d;
	u8 begun;

	hold(p);
	save_rest(p);
	ns = p->held_clock_ns - min(p->clock_ns, p->held_clock_ns);
	turn = end_turn(p, members, was_recorded ? 0 : ns);
	if (!p->late)
		p->time_ns = p->held_ns;
	memcpy(told_ns, p->told_ns, sizeof(told_ns));
	begun = was_recorded & program(p);
	/* packets of a domain that goes on tell all of its time themselves, read by now or not */
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (begun & BIT(d))
			turn.domain_ns[d] = p->held_ns - told_ns[d];
	if ((turn.ns || begun) && p->rest_turn_count < REST_TURNS)
		p->rest_turns[p->rest_turn_count++] = turn;
	p->clock_ns = p->held_clock_ns;
	let_go(p);
}

static void pcounter_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct pcounter *p = to_pcounter(source);
	const struct pcounter_set before = current_pass(p)->members;
	struct pcounter_set set = {};
	unsigned int i;

	p->clocks_wanted = 0;
	for (i = 0; i < source->block_count; i++) {
		const u64 mask = wanted[i * DRM_PERFCTR_BLOCK_INFO_SECTIONS];

		set.bits[i >= PCOUNTER_DOMAINS] |= mask;
		if (mask)
			p->clocks_wanted |= BIT(i < PCOUNTER_DOMAINS ? i : MP_DOMAIN);
	}
	pcounter_schedule_make(&p->schedule, recipes, &set);
	source->max_interval_ns = p->schedule.count > 1 ? ROTATE_INTERVAL_NS : saturation_ns(p);
	p->period_ns = 0;
	if (p->config.record_bytes && pcounter_record_fits(&p->schedule) &&
	    source->period_ns <= PCOUNTER_RECORD_PERIOD_NS_MAX)
		p->period_ns = source->period_ns;
	/* half: the worker may come late */
	source->batch_ns = p->period_ns ? min_t(u64, BATCH_NS, record_room_ns(p) / 2) : 0;
	if (p->running)
		select_now(p, &before);
}

static int pcounter_start(struct drm_perfctr_source *source, u8 set)
{
	struct pcounter *p = to_pcounter(source);
	unsigned int d;

	hold(p);
	p->clock_ns = p->held_clock_ns;
	p->time_ns = p->held_ns;
	p->late = 0;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		write_ctrl(p, d, PCOUNTER_MODE_OFF);
	program(p);
	p->running = true;
	let_go(p);
	return 0;
}

static void pcounter_stop(struct drm_perfctr_source *source)
{
	static const u32 nothing[MP_SLOTS];
	struct pcounter *p = to_pcounter(source);
	unsigned int d;

	hold(p);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		write_ctrl(p, d, PCOUNTER_MODE_OFF);
	p->config.ops->mp_program(p->config.priv, nothing);
	p->recorded = 0;
	p->running = false;
	let_go(p);
}

static void pcounter_reset(struct drm_perfctr_source *source)
{
	struct pcounter *p = to_pcounter(source);

	p->recorded = 0;
	p->running = false;
}

static const struct drm_perfctr_source_ops source_ops = {
	.start = pcounter_start,
	.stop = pcounter_stop,
	.collect = pcounter_collect,
	.reset = pcounter_reset,
	.select = pcounter_select,
};

/* --- set-up --------------------------------------------------------------------- */

static struct drm_perfctr_block_desc domain_desc(unsigned int d)
{
	return (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_NV50_BLOCK_PCOUNTER,
		.index = d,
		.counters = PCOUNTER_POSITIONS,
		.product = DRM_PERFCTR_NV50_PRODUCT,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = d,
		.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES,
		.available = { domain_counters[d] },
	};
}

static struct drm_perfctr_block_desc mp_desc(unsigned int tpc)
{
	return (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_NV50_BLOCK_MP,
		.index = tpc,
		.counters = PCOUNTER_POSITIONS,
		.product = DRM_PERFCTR_NV50_PRODUCT,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = MP_DOMAIN,
		.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES,
		.available = { NV50_MP_AVAILABLE },
	};
}

/**
 * drmm_pcounter_create() - add PCOUNTER and MP counters to a device's counters
 * @drm: the device, not registered yet
 * @pc: its counters
 * @config: the hardware
 *
 * The core's clock n is that of domain n.
 *
 * Returns: the counters, freed with the device; or ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM), or an
 * error of drm_perfctr_add_source().
 */
struct pcounter *drmm_pcounter_create(struct drm_device *drm, struct drm_perfctr *pc,
				      const struct pcounter_config *config)
{
	struct drm_perfctr_block_desc *descs;
	struct pcounter *p;
	unsigned int d;
	u64 tpcs;
	int ret;

	if (!config->tpcs)
		return ERR_PTR(-EINVAL);
	p = drmm_kzalloc(drm, sizeof(*p), GFP_KERNEL);
	descs = drmm_kcalloc(drm, PCOUNTER_DOMAINS + hweight64(config->tpcs), sizeof(*descs),
			     GFP_KERNEL);
	if (!p || !descs)
		return ERR_PTR(-ENOMEM);

	p->config = *config;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		descs[d] = domain_desc(d);
	for (tpcs = config->tpcs; tpcs; tpcs &= tpcs - 1) {
		descs[PCOUNTER_DOMAINS + p->tpc_count] = mp_desc(__ffs64(tpcs));
		p->tpc[p->tpc_count++] = __ffs64(tpcs);
	}
	p->source.name = "pcounter";
	p->source.ops = &source_ops;
	p->source.descs = descs;
	p->source.block_count = PCOUNTER_DOMAINS + p->tpc_count;
	p->source.max_interval_ns = saturation_ns(p);
	ret = drm_perfctr_add_source(pc, &p->source);
	return ret ? ERR_PTR(ret) : p;
}
EXPORT_SYMBOL_GPL(drmm_pcounter_create);

/**
 * pcounter_show() - how the hardware is read now, and how often it was, for debugfs
 * @p: the counters
 * @m: where to
 */
void pcounter_show(struct pcounter *p, struct seq_file *m)
{
	seq_printf(m, "mode %s\n", READ_ONCE(p->recorded) ? "record" : "quad");
	seq_printf(m, "collections %llu\n", READ_ONCE(p->stats.collections));
	seq_printf(m, "batches %llu\n", READ_ONCE(p->stats.batches));
	seq_printf(m, "packets %llu\n", READ_ONCE(p->stats.packets));
	seq_printf(m, "full %llu\n", READ_ONCE(p->stats.full));
	seq_printf(m, "refused %llu\n", READ_ONCE(p->stats.refused));
	seq_printf(m, "saturated %llu\n", READ_ONCE(p->stats.saturated));
}
EXPORT_SYMBOL_GPL(pcounter_show);

MODULE_DESCRIPTION("PCOUNTER and MP counters of NVIDIA's nv50 family");
MODULE_LICENSE("GPL");
