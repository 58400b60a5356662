// SPDX-License-Identifier: GPL-2.0
/*
 * Model of PCOUNTER. Its input is the state of a domain's wires for a number of clocks. It computes
 * all clocks without a change at once; the result equals that of single clocks.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "pm_model.h"

static u32 add_saturating(u32 a, u64 n)
{
	return n > U32_MAX - a ? U32_MAX : a + (u32)n;
}

static u64 mul_saturating(u64 clocks, u32 n)
{
	/* U32_MAX clocks saturate every counter */
	return min_t(u64, clocks, U32_MAX) * n;
}

void pm_init(struct pm_model *pm)
{
	memset(pm, 0, sizeof(*pm));
	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++) {
		pm->domains[d].trailer = pcounter_trailer(d);
		pm->domains[d].ctrl = PCOUNTER_MODE_OFF;
	}
}

void pm_set_memory(struct pm_model *pm, unsigned int domain, void *mem, u32 bytes)
{
	pm->domains[domain].mem = mem;
	pm->domains[domain].mem_bytes = bytes;
}

/* --- one clock ------------------------------------------------------------------ */

/* what a domain does in a clock */
struct pm_clock {
	u32 inc[PCOUNTER_SLOTS];
	bool swap;
};

static u32 mode_of(const struct pm_domain *d)
{
	return d->ctrl & PCOUNTER_CTRL_MODE;
}

/* bit n is the signal of source n of @input, from @first on */
static u32 source_bits(const struct pm_domain *d, unsigned int input, const struct pm_signals *now,
		       unsigned int first)
{
	u32 bits = 0;

	for (unsigned int i = first; i < 4; i++)
		bits |= pm_signal(now, PCOUNTER_SRC_SIGNAL(d->src[input], i)) << i;
	return bits;
}

static struct pm_clock clock_of(const struct pm_domain *d, const struct pm_signals *signals,
				bool periodic)
{
	const u32 mode = (d->ctrl & PCOUNTER_CTRL_COUNT) >> PCOUNTER_CTRL_COUNT_SHIFT;
	struct pm_signals now = *signals;
	struct pm_clock c;

	pm_signal_set(&now, d->trailer + PCOUNTER_TRAILER_ZERO, false);
	pm_signal_set(&now, d->trailer + PCOUNTER_TRAILER_PERIODIC, periodic);
	pm_signal_set(&now, d->trailer + PCOUNTER_TRAILER_PM_TRIGGER, d->trigger);
	for (unsigned int i = 0; i < PCOUNTER_SLOTS; i++)
		c.inc[i] = pm_table(d->op[i], source_bits(d, i, &now, 0));
	if (c.inc[PCOUNTER_EVENT] && mode != PCOUNTER_SIMPLE) {
		c.inc[PCOUNTER_EVENT] = source_bits(d, PCOUNTER_START, &now, 0);
		if (mode == PCOUNTER_EVENT_B6)
			c.inc[PCOUNTER_EVENT] |= source_bits(d, PCOUNTER_EVENT, &now, 2) << 2;
	}
	c.swap = pm_signal(&now, d->spec_src & 0xff);
	return c;
}

/* --- QUAD ------------------------------------------------------------------------ */

static void add_counters(struct pm_counters *c, const u32 inc[PCOUNTER_SLOTS], u64 clocks)
{
	for (unsigned int i = 0; i < PCOUNTER_SLOTS; i++)
		c->ctr[i] = add_saturating(c->ctr[i], mul_saturating(clocks, inc[i]));
	c->cycles = add_saturating(c->cycles, clocks);
}

/* called before the clock is counted: the clock belongs to the next period */
static void swap_counters(struct pm_domain *d)
{
	d->visible = d->shadow;
	memset(&d->shadow, 0, sizeof(d->shadow));
	d->status = min_t(u32, d->status + 1, PCOUNTER_QUAD_OVERFLOW);
}

/* a requested swap takes place before the next clock, even if that clock never comes */
static void settle_swap(struct pm_domain *d)
{
	if (d->swap)
		swap_counters(d);
	d->swap = false;
}

static void quad(struct pm_domain *d, const u32 inc[PCOUNTER_SLOTS], bool swap, u64 clocks)
{
	/* each clock is a period: the state does not change after the third */
	for (u64 n = swap ? min_t(u64, clocks, 3) : 0; n; n--) {
		swap_counters(d);
		add_counters(&d->shadow, inc, 1);
	}
	if (!swap)
		add_counters(&d->shadow, inc, clocks);
}

/* --- RECORD ---------------------------------------------------------------------- */

static void clear_record(struct pm_domain *d)
{
	memset(d->record, 0, sizeof(d->record));
	d->record_cycles = 0;
	d->record_stops = 0;
}

static bool can_write(const struct pm_domain *d)
{
	return !d->overrun && d->ctrl & PCOUNTER_CTRL_RECORD_SHORT &&
	       (u64)d->record_at + PCOUNTER_SHORT_BYTES <= d->mem_bytes;
}

static void write_packet(struct pm_domain *d)
{
	struct pcounter_packet packet = {};

	d->pending = true;
	if (!can_write(d))
		return;
	packet.cycles_stop =
		cpu_to_le64(d->record_cycles | (u64)d->record_stops << PCOUNTER_RECORD_STOP_SHIFT);
	for (unsigned int i = 0; i < PCOUNTER_STOP; i++)
		packet.counters[i] = cpu_to_le16(d->record[i]);
	memcpy(d->mem + d->record_at, &packet, PCOUNTER_SHORT_BYTES);
	/* the packet that passes the limit is written, none after it */
	d->overrun = d->record_at >= d->record_limit;
	d->record_at += PCOUNTER_SHORT_BYTES;
	d->pending = false;
	clear_record(d);
}

static bool record_full(const struct pm_domain *d)
{
	for (unsigned int i = 0; i < PCOUNTER_STOP; i++)
		if (d->record[i] >= PCOUNTER_RECORD_FULL)
			return true;
	return false;
}

/* clocks until a counter is full or all saturate, at least one */
static u64 record_room(const struct pm_domain *d, const u32 inc[PCOUNTER_SLOTS], u64 clocks)
{
	if (d->pending)
		return clocks;
	for (unsigned int i = 0; i < PCOUNTER_STOP; i++)
		if (inc[i])
			clocks = min_t(u64, clocks,
				       (PCOUNTER_RECORD_FULL - d->record[i] + inc[i] - 1) / inc[i]);
	return clocks;
}

static void count_stop(struct pm_domain *d)
{
	d->record_stops = min_t(u32, d->record_stops + 1, PCOUNTER_RECORD_STOP_MAX);
	d->pending = true;
}

/* returns the number of clocks consumed */
static u64 record(struct pm_domain *d, const u32 inc[PCOUNTER_SLOTS], u64 clocks)
{
	const bool stop = inc[PCOUNTER_STOP];
	u64 n;

	/* as for a swap: the clock of the pulse belongs to the next packet */
	if (stop && !d->stop_settled)
		count_stop(d);
	d->stop_settled = false;
	if (d->pending || record_full(d))
		write_packet(d);

	n = stop ? 1 : record_room(d, inc, clocks);
	for (unsigned int i = 0; i < PCOUNTER_STOP; i++)
		if (inc[i])
			d->record[i] =
				min_t(u64, d->record[i] + mul_saturating(n, inc[i]), U16_MAX);
	d->record_cycles = (d->record_cycles + n) & PCOUNTER_RECORD_CYCLES;
	return n;
}

/* STOP pulses in the next clock, regardless of other wires */
static bool stop_is_certain(const struct pm_domain *d)
{
	unsigned int args, i, high = 0;

	if (!d->trigger)
		return false;
	for (i = 0; i < 4; i++)
		if (PCOUNTER_SRC_SIGNAL(d->src[PCOUNTER_STOP], i) ==
		    d->trailer + PCOUNTER_TRAILER_PM_TRIGGER)
			high |= 1u << i;
	for (args = 0; args < 16; args++)
		if ((args & high) == high && !pm_table(d->op[PCOUNTER_STOP], args))
			return false;
	return high;
}

/*
 * As with a requested swap: the packet that PM_TRIGGER causes contains the clocks before it, and is
 * written even if the next clock never comes.
 */
static void settle_stop(struct pm_domain *d)
{
	if (mode_of(d) != PCOUNTER_MODE_RECORD || d->stop_settled || !stop_is_certain(d))
		return;
	count_stop(d);
	write_packet(d);
	d->stop_settled = true;
}

/* --- clocks ---------------------------------------------------------------------- */

/* 0: it never pulses */
static u32 period_of(const struct pm_model *pm, const struct pm_domain *d)
{
	const u32 k = (d->ctrl & PCOUNTER_CTRL_PERIODIC) >> PCOUNTER_CTRL_PERIODIC_SHIFT;

	if (!k || pm->gctrl & PCOUNTER_GCTRL_PERIODIC_RESET)
		return 0;
	return PCOUNTER_PERIODIC_CLOCKS(k - 1);
}

/* @clocks equal clocks; returns the number of clocks consumed */
static u64 run_equal(struct pm_domain *d, const struct pm_clock *c, u64 clocks)
{
	switch (mode_of(d)) {
	case PCOUNTER_MODE_QUAD:
		settle_swap(d);
		quad(d, c->inc, c->swap, clocks);
		break;
	case PCOUNTER_MODE_RECORD:
		return record(d, c->inc, clocks);
	}
	return clocks;
}

/*
 * Clock a domain.
 * @pm: the model; @domain: number of the domain; @signals: its wires, without the trailer's;
 * @clocks: number of clocks with these wires.
 */
void pm_run(struct pm_model *pm, unsigned int domain, const struct pm_signals *signals, u64 clocks)
{
	struct pm_domain *d = &pm->domains[domain];
	const u32 period = period_of(pm, d);
	struct pm_clock plain = {}, pulse = {};
	bool known = false;

	while (clocks) {
		/* overdue if the period was longer before */
		const bool pulses = period && d->periodic + 1 >= period;
		u64 n = clocks;

		if (!known) {
			plain = clock_of(d, signals, false);
			if (period)
				pulse = clock_of(d, signals, true);
			known = !d->trigger;
		}
		if (pulses || d->trigger)
			n = 1;
		else if (period)
			n = min_t(u64, n, period - 1 - d->periodic);
		n = run_equal(d, pulses ? &pulse : &plain, n);
		d->trigger = false;
		d->periodic = pulses || !period ? 0 : d->periodic + n;
		clocks -= n;
	}
}

/*
 * Clock a domain while its wires change.
 * @pm: the model; @domain: number of the domain; @idle: its wires outside of all waves; @waves:
 * changes of the wires; @count: elements of @waves, at most PM_WAVES_MAX; @clocks: number of
 * clocks; no wave ends later.
 */
void pm_run_waves(struct pm_model *pm, unsigned int domain, const struct pm_signals *idle,
		  const struct pm_wave *waves, unsigned int count, u64 clocks)
{
	u64 at = 0;

	while (at < clocks) {
		struct pm_signals now = *idle;
		u64 next = clocks;

		for (unsigned int i = 0; i < count; i++) {
			const struct pm_wave *wave = &waves[i];

			if (wave->from > at)
				next = min(next, wave->from);
			else if (wave->to > at)
				next = min(next, wave->to);
			if (wave->from > at || wave->to <= at)
				continue;
			for (unsigned int w = 0; w < PM_WORDS; w++)
				now.bits[w] = (now.bits[w] & ~wave->clear.bits[w]) |
					      wave->set.bits[w];
		}
		pm_run(pm, domain, &now, next - at);
		at = next;
	}
}

/* --- registers ------------------------------------------------------------------- */

static void write_ctrl(struct pm_domain *d, u32 value)
{
	const u32 before = mode_of(d);

	d->ctrl = value;
	if (mode_of(d) == before)
		return;
	d->status = 0;
	d->swap = false;
	d->pending = false;
	d->stop_settled = false;
	memset(&d->shadow, 0, sizeof(d->shadow));
	clear_record(d);
}

static void write_gctrl(struct pm_model *pm, u32 value)
{
	if (value & PCOUNTER_GCTRL_PERIODIC_RESET)
		for (unsigned int i = 0; i < PCOUNTER_DOMAINS; i++)
			pm->domains[i].periodic = 0;
	pm->gctrl = value;
}

static void trigger(struct pm_model *pm)
{
	for (unsigned int i = 0; i < PCOUNTER_DOMAINS; i++) {
		pm->domains[i].trigger = true;
		/* no clock may pass between two triggers: the model is slower than hardware */
		pm->domains[i].stop_settled = false;
	}
}

/* the register of a domain that occurs every 0x20 bytes; NULL: other registers */
static u32 *plain_register(struct pm_domain *d, u32 reg)
{
	unsigned int input = (reg - PCOUNTER_SRC(0, 0)) / 0x40;

	if (reg >= PCOUNTER_SRC(0, 0) && input < PCOUNTER_SLOTS)
		return reg & 0x20 ? &d->op[input] : &d->src[input];
	switch (reg) {
	case PCOUNTER_SPEC_SRC(0):
		return &d->spec_src;
	case PCOUNTER_CTR_CYCLES(0):
		return &d->visible.cycles;
	case PCOUNTER_CTR_PRE(0):
		return &d->visible.ctr[PCOUNTER_PRE];
	case PCOUNTER_CTR_START(0):
		return &d->visible.ctr[PCOUNTER_START];
	case PCOUNTER_CTR_EVENT(0):
		return &d->visible.ctr[PCOUNTER_EVENT];
	case PCOUNTER_CTR_STOP(0):
		return &d->visible.ctr[PCOUNTER_STOP];
	case PCOUNTER_RECORD_START(0):
		return &d->record_start;
	case PCOUNTER_RECORD_LIMIT(0):
		return &d->record_limit;
	case PCOUNTER_CTRL(0):
		return &d->ctrl;
	case PCOUNTER_STATUS(0):
		return &d->status;
	}
	return NULL;
}

/* read-only */
static bool is_counter(u32 reg)
{
	return reg == PCOUNTER_CTR_CYCLES(0) || reg == PCOUNTER_CTR_PRE(0) ||
	       reg == PCOUNTER_CTR_START(0) || reg == PCOUNTER_CTR_EVENT(0) ||
	       reg == PCOUNTER_CTR_STOP(0);
}

void pm_write(struct pm_model *pm, u32 reg, u32 value)
{
	struct pm_domain *d = &pm->domains[reg / 4 % PCOUNTER_DOMAINS];
	const u32 first = reg & ~0x1f;
	u32 *plain;

	settle_swap(d);
	if (reg == PGRAPH_PM_TRIGGER) {
		if (value & PGRAPH_PM_TRIGGER_PULSE)
			trigger(pm);
		return;
	}
	if (reg == PCOUNTER_GCTRL) {
		write_gctrl(pm, value);
		return;
	}
	switch (first) {
	case PCOUNTER_CTRL(0):
		write_ctrl(d, value);
		return;
	case PCOUNTER_QUAD_ACK(0):
		if (mode_of(d) == PCOUNTER_MODE_QUAD && d->status)
			d->status--;
		return;
	case PCOUNTER_STATUS(0):
	case PCOUNTER_RECORD_STATUS(0):
		return;
	case PCOUNTER_RECORD_START(0):
		d->record_at = value;
		d->overrun = false;
		break;
	}
	plain = plain_register(d, first);
	if (!plain || is_counter(first))
		return;
	*plain = value;
	/* a write to PRE's table pulses SWAP, on G84 and later */
	if (first == PCOUNTER_OP(0, PCOUNTER_PRE) && mode_of(d) == PCOUNTER_MODE_QUAD)
		d->swap = true;
}

u32 pm_read(struct pm_model *pm, u32 reg)
{
	struct pm_domain *d = &pm->domains[reg / 4 % PCOUNTER_DOMAINS];
	const u32 *plain;

	if (reg == PCOUNTER_GCTRL)
		return pm->gctrl;
	if ((reg & ~0x1f) == PCOUNTER_RECORD_STATUS(0)) {
		settle_stop(d);
		return d->record_at | (d->overrun ? PCOUNTER_RECORD_OVERRUN : 0);
	}
	settle_swap(d);
	plain = plain_register(d, reg & ~0x1f);
	return plain ? *plain : 0;
}

/* --- MP counters ------------------------------------------------------------------- */

void mp_method(struct mp_state *mp, u32 method, u32 value)
{
	unsigned int slot = method / 4 % MP_SLOTS;

	if ((method & ~0xf) == MP_PM_SET(0)) {
		mp->value[slot] = value;
	} else if ((method & ~0xf) == MP_PM_CONTROL(0)) {
		mp->control[slot] = value;
		mp->out &= ~(1u << slot);
	}
}

static bool mp_argument(const struct mp_state *mp, const struct mp_signals *signals,
			unsigned int slot)
{
	const u32 control = mp->control[slot];
	const u32 unit = (control & MP_CONTROL_UNIT) >> MP_CONTROL_UNIT_SHIFT;

	return unit < MP_UNITS &&
	       pm_signal(&signals->unit[unit], control >> MP_CONTROL_SIGNAL_SHIFT);
}

/*
 * Clock a TPC.
 * @mp: its counters, of the running context; @signals: its wires; @clocks: number of clocks with
 * these wires.
 */
void mp_run(struct mp_state *mp, const struct mp_signals *signals, u64 clocks)
{
	unsigned int slot, args = 0;
	u8 out = 0;

	if (!clocks)
		return;
	for (slot = 0; slot < MP_SLOTS; slot++)
		args |= mp_argument(mp, signals, slot) << slot;
	for (slot = 0; slot < MP_SLOTS; slot++) {
		const u32 control = mp->control[slot];
		u64 n = clocks;

		if (!pm_table((control & MP_CONTROL_FUNC) >> MP_CONTROL_FUNC_SHIFT, args))
			continue;
		out |= 1u << slot;
		if (control & MP_CONTROL_PULSE)
			n = !(mp->out >> slot & 1);
		mp->value[slot] = add_saturating(mp->value[slot], n);
	}
	mp->out = out;
}
