// SPDX-License-Identifier: GPL-2.0
/*
 * PCOUNTER: register programming.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "pcounter_internal.h"

/* table of STOP */
#define TABLE_ARG0_OR_ARG1	0xeeee

const struct pcounter_recipe pcounter_recipes[PCOUNTER_COUNTERS] = {
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

const u64 pcounter_domain_counters[PCOUNTER_DOMAINS] = {
	NV50_PCOUNTER_DOMAIN0, NV50_PCOUNTER_DOMAIN1, NV50_PCOUNTER_DOMAIN2, NV50_PCOUNTER_DOMAIN3,
	NV50_PCOUNTER_DOMAIN4, NV50_PCOUNTER_DOMAIN5, NV50_PCOUNTER_DOMAIN6, NV50_PCOUNTER_DOMAIN7,
};

/* exclude all other hardware accesses until pcounter_release() */
void pcounter_hold(struct pcounter *p)
{
	p->held_clock_ns = p->config.ops->begin(p->config.priv);
	p->held_ns = ktime_get_raw_ns();
}

void pcounter_release(struct pcounter *p)
{
	p->config.ops->end(p->config.priv);
}

static void set_muxes(struct pcounter *p, const struct pcounter_pass *pass)
{
	unsigned int mux;

	for (mux = NV50_MUX_NONE + 1; mux < NV50_MUXES; mux++)
		if (pass->mux_users[mux])
			p->config.ops->set_mux(p->config.priv, mux, pass->mux_value[mux]);
}

/* at least two packets for each sample, so that each sample contains the end of a packet */
unsigned int pcounter_periodic(const struct pcounter *p, unsigned int d)
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
	       PCOUNTER_CTRL_PERIODIC_OF(pcounter_periodic(p, d));
}

void pcounter_write_ctrl(struct pcounter *p, unsigned int d, u32 ctrl)
{
	pcounter_wr(p, PCOUNTER_CTRL(d), ctrl);
	p->ctrl[d] = ctrl;
}

/* only PERIODIC and PM_TRIGGER cause packets; counters start at zero, as in QUAD mode */
static void enter_record(struct pcounter *p, unsigned int d)
{
	struct pcounter_record *r = &p->record[d];

	pcounter_record_init(r, p->config.record[d], p->config.record_bytes);
	pcounter_wr(p, PCOUNTER_SRC(d, PCOUNTER_STOP),
		    (pcounter_trailer(d) + PCOUNTER_TRAILER_PERIODIC) |
		    (pcounter_trailer(d) + PCOUNTER_TRAILER_PM_TRIGGER) << 8);
	pcounter_wr(p, PCOUNTER_OP(d, PCOUNTER_STOP), TABLE_ARG0_OR_ARG1);
	pcounter_wr(p, PCOUNTER_RECORD_LIMIT(d), pcounter_record_limit(r));
	pcounter_wr(p, PCOUNTER_RECORD_START(d), pcounter_record_start(r));
	p->reached_ns[d] = p->held_ns;
	p->reported_ns[d] = p->held_ns;
}

/* assigns the counters of @pass to the slots of a domain; returns enum pcounter_count_mode */
static u32 slots_of(const struct pcounter_pass *pass, unsigned int d, u8 counter[PCOUNTER_SLOTS])
{
	u64 mask = pass->members.bits[0] & pcounter_domain_counters[d];
	u32 count_mode = PCOUNTER_SIMPLE;
	unsigned int slot;

	memset(counter, PCOUNTER_NONE, PCOUNTER_SLOTS);
	for (slot = 0; mask; mask &= mask - 1) {
		const unsigned int n = __ffs64(mask);

		if (pcounter_recipes[n].mode != PCOUNTER_SIMPLE) {
			count_mode = pcounter_recipes[n].mode;
			slot = PCOUNTER_EVENT;
		}
		counter[slot++] = n;
	}
	return count_mode;
}

/*
 * A domain whose programming is unchanged continues without losing a clock. Returns true if it was
 * reprogrammed and starts at zero.
 */
static bool program_domain(struct pcounter *p, unsigned int d, const struct pcounter_pass *pass)
{
	u8 counter[PCOUNTER_SLOTS];
	const u32 ctrl = ctrl_of(p, d, slots_of(pass, d, counter));
	unsigned int slot;

	if (ctrl == p->ctrl[d] && !memcmp(counter, p->counter[d], sizeof(counter)))
		return false;
	/* counts of a domain that has not responded are lost, if any sample needs them */
	if (p->late & p->clocks_wanted & BIT(d)) {
		p->pending_states[d] |= DRM_PERFCTR_STATE_LOST;
		p->pending.lost_ns = max(p->pending.lost_ns, p->late_ns);
	}
	p->late &= ~BIT(d);
	memcpy(p->counter[d], counter, sizeof(counter));
	/* leaving QUAD clears the counters */
	pcounter_wr(p, PCOUNTER_CTRL(d), PCOUNTER_MODE_OFF);
	for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
		/* an unused counter must stay zero, or it would fill packets */
		static const struct pcounter_recipe nothing;
		const struct pcounter_recipe *r = counter[slot] == PCOUNTER_NONE ? &nothing :
						  &pcounter_recipes[counter[slot]];

		pcounter_wr(p, PCOUNTER_SRC(d, slot), r->event);
		pcounter_wr(p, PCOUNTER_OP(d, slot), r->event_op);
		/* an integer counter, alone in its domain, also uses START */
		if (r->mode == PCOUNTER_SIMPLE)
			continue;
		pcounter_wr(p, PCOUNTER_SRC(d, PCOUNTER_START), r->start);
		pcounter_wr(p, PCOUNTER_OP(d, PCOUNTER_START), r->start_op);
	}
	if (p->recorded & BIT(d))
		enter_record(p, d);
	/* only a write swaps, no signal */
	pcounter_wr(p, PCOUNTER_SPEC_SRC(d), pcounter_trailer(d) + PCOUNTER_TRAILER_ZERO);
	pcounter_write_ctrl(p, d, ctrl);
	return true;
}

static void program_mp(struct pcounter *p, const struct pcounter_pass *pass)
{
	u64 mask = pass->members.bits[1];
	u32 control[MP_SLOTS] = {};
	unsigned int slot;

	memset(p->mp_counter, PCOUNTER_NONE, sizeof(p->mp_counter));
	memset(p->mp_missed_ns, 0, sizeof(p->mp_missed_ns));
	for (slot = 0; mask; slot++, mask &= mask - 1) {
		const unsigned int counter = PCOUNTER_MP_FIRST + __ffs64(mask);
		const struct pcounter_recipe *r = &pcounter_recipes[counter];

		control[slot] = (r->mode == MP_LOGOP_PULSE ? MP_CONTROL_PULSE : 0) |
				r->unit << MP_CONTROL_UNIT_SHIFT |
				mp_func_own(slot) << MP_CONTROL_FUNC_SHIFT |
				(u32)r->signal << MP_CONTROL_SIGNAL_SHIFT;
		p->mp_counter[slot] = counter;
	}
	p->config.ops->mp_program(p->config.priv, control);
}

/* programs the current pass, hardware held; returns a mask of the domains that start at zero */
u8 pcounter_program(struct pcounter *p)
{
	const struct pcounter_pass *pass = pcounter_current_pass(p);
	unsigned int d;
	u8 begun = 0;

	p->recorded = 0;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (p->period_ns && pass->members.bits[0] & pcounter_domain_counters[d])
			p->recorded |= BIT(d);
	set_muxes(p, pass);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (program_domain(p, d, pass))
			begun |= BIT(d);
	program_mp(p, pass);
	if (p->recorded) {
		pcounter_wr(p, PCOUNTER_GCTRL, PCOUNTER_GCTRL_PERIODIC_RESET);
		pcounter_wr(p, PCOUNTER_GCTRL, 0);
	}
	p->slice_ns = 0;
	return begun;
}
