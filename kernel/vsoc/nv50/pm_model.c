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

static u32 mode_of(const struct pm_domain *d)
{
	return d->ctrl & PCOUNTER_CTRL_MODE;
}

static u32 packet_bytes(const struct pm_domain *d)
{
	return d->ctrl & PCOUNTER_CTRL_RECORD_SHORT ? PCOUNTER_SHORT_BYTES : PCOUNTER_LONG_BYTES;
}

/* EVENT and STOP have different delays from the other inputs */
static bool is_event_like(unsigned int input)
{
	return input == PCOUNTER_EVENT || input == PCOUNTER_STOP;
}

/* the flag's inputs use the sources of PRE and START */
static u32 sources_of(const struct pm_domain *d, unsigned int input)
{
	const u32 pre = d->src[PCOUNTER_PRE], start = d->src[PCOUNTER_START];

	switch (input) {
	case PCOUNTER_SETFLAG:
		return start >> 16 | pre << 16;
	case PCOUNTER_CLRFLAG:
		return pre >> 16 | start << 16;
	}
	return d->src[input];
}

static bool macro(const struct pm_domain *d, unsigned int input, const struct pm_signals *now,
		  bool setflag)
{
	const u32 src = sources_of(d, input), op = d->op[input];
	const u8 s0 = PCOUNTER_SRC_SIGNAL(src, 0), s1 = PCOUNTER_SRC_SIGNAL(src, 1);
	const bool last0 = pm_signal(&d->last, s0), last1 = pm_signal(&d->last, s1);
	const bool event_like = is_event_like(input);
	bool arg[4] = {
		op & PCOUNTER_OP_ARG0_DELAY ? last0 : pm_signal(now, s0),
		op & PCOUNTER_OP_ARG1_DELAY ? last1 : pm_signal(now, s1),
		pm_signal(now, PCOUNTER_SRC_SIGNAL(src, 2)),
		pm_signal(now, PCOUNTER_SRC_SIGNAL(src, 3)),
	};

	if (op & (event_like ? PCOUNTER_OP_EVENT_ARG2_SRC0 : PCOUNTER_OP_ARG2_SRC0))
		arg[2] = last0;
	if (op & (event_like ? PCOUNTER_OP_EVENT_ARG3_SRC1 : PCOUNTER_OP_ARG3_SRC1))
		arg[3] = last1;
	if (event_like && op & PCOUNTER_OP_ARG3_SETFLAG)
		arg[3] = setflag;
	return pm_table(op, arg[0] | arg[1] << 1 | arg[2] << 2 | arg[3] << 3);
}

static u32 source_bits(const struct pm_domain *d, unsigned int input, const struct pm_signals *now,
		       unsigned int first, unsigned int count)
{
	u32 bits = 0;

	for (unsigned int i = 0; i < count; i++)
		bits |= pm_signal(now, PCOUNTER_SRC_SIGNAL(d->src[input], first + i)) << i;
	return bits;
}

/* increment of each counter of a domain in a clock */
static void increments(const struct pm_domain *d, const struct pm_signals *now,
		       const bool out[PCOUNTER_INPUTS], u32 inc[PCOUNTER_SLOTS])
{
	const u32 b4 = source_bits(d, PCOUNTER_START, now, 0, 4);
	const u32 b6 = b4 | source_bits(d, PCOUNTER_EVENT, now, 2, 2) << 4;

	for (unsigned int i = 0; i < PCOUNTER_SLOTS; i++)
		inc[i] = out[i];
	switch ((d->ctrl & PCOUNTER_CTRL_COUNT) >> PCOUNTER_CTRL_COUNT_SHIFT) {
	case PCOUNTER_EVENT_B4:
		inc[PCOUNTER_EVENT] = out[PCOUNTER_EVENT] ? b4 : 0;
		break;
	case PCOUNTER_EVENT_B6:
		inc[PCOUNTER_EVENT] = out[PCOUNTER_EVENT] ? b6 : 0;
		break;
	case PCOUNTER_EXTRA_B4:
		inc[PCOUNTER_START] = b4;
		break;
	case PCOUNTER_EXTRA_B6_EVENT_B2:
		inc[PCOUNTER_START] = b6;
		inc[PCOUNTER_EVENT] =
			out[PCOUNTER_EVENT] ? source_bits(d, PCOUNTER_EVENT, now, 0, 2) : 0;
		break;
	}
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
	return !d->overrun && (u64)d->record_at + packet_bytes(d) <= d->mem_bytes;
}

static void write_packet(struct pm_domain *d)
{
	struct pcounter_packet packet;

	d->pending = true;
	if (!can_write(d))
		return;
	packet.cycles_stop =
		cpu_to_le64(d->record_cycles | (u64)d->record_stops << PCOUNTER_RECORD_STOP_SHIFT);
	for (unsigned int i = 0; i < PCOUNTER_LONG_COUNTERS; i++)
		packet.counters[i] = cpu_to_le16(d->record[i]);
	memcpy(d->mem + d->record_at, &packet, packet_bytes(d));
	/* the packet that passes the limit is written, none after it */
	d->overrun = d->record_at >= d->record_limit;
	d->record_at += packet_bytes(d);
	d->pending = false;
	clear_record(d);
}

static bool record_full(const struct pm_domain *d)
{
	for (unsigned int i = 0; i < PCOUNTER_LONG_COUNTERS; i++)
		if (d->record[i] >= PCOUNTER_RECORD_FULL)
			return true;
	return false;
}

/* clocks until a counter is full or all saturate, at least one */
static u64 record_room(const struct pm_domain *d, const u32 inc[PCOUNTER_LONG_COUNTERS], u64 clocks)
{
	if (d->pending)
		return clocks;
	for (unsigned int i = 0; i < PCOUNTER_LONG_COUNTERS; i++)
		if (inc[i])
			clocks = min_t(u64, clocks,
				       (PCOUNTER_RECORD_FULL - d->record[i] + inc[i] - 1) / inc[i]);
	return clocks;
}

static void record_increments(const struct pm_domain *d, const struct pm_signals *now,
			      const u32 inc[PCOUNTER_SLOTS], u32 out[PCOUNTER_LONG_COUNTERS])
{
	for (unsigned int i = 0; i < PCOUNTER_LONG_COUNTERS; i++)
		out[i] = source_bits(d, i / 4, now, i % 4, 1);
	if (!(d->ctrl & PCOUNTER_CTRL_RECORD_SHORT))
		return;
	memset(out, 0, PCOUNTER_LONG_COUNTERS * sizeof(*out));
	for (unsigned int i = 0; i < PCOUNTER_STOP; i++)
		out[i] = inc[i];
	out[PCOUNTER_STOP] = d->flag_wire;
}

static void count_stop(struct pm_domain *d)
{
	d->record_stops = min_t(u32, d->record_stops + 1, PCOUNTER_RECORD_STOP_MAX);
	d->pending = true;
}

/* returns the number of clocks consumed */
static u64 record_clocks(struct pm_domain *d, const u32 add[PCOUNTER_LONG_COUNTERS], bool stop,
			 u64 clocks)
{
	u64 n;

	/* as for a swap: the clock of the pulse belongs to the next packet */
	if (stop && !d->stop_settled)
		count_stop(d);
	d->stop_settled = false;
	if (d->pending || record_full(d))
		write_packet(d);

	n = stop ? 1 : record_room(d, add, clocks);
	for (unsigned int i = 0; i < PCOUNTER_LONG_COUNTERS; i++)
		if (add[i])
			d->record[i] =
				min_t(u64, d->record[i] + mul_saturating(n, add[i]), U16_MAX);
	d->record_cycles = (d->record_cycles + n) & PCOUNTER_RECORD_CYCLES;
	return n;
}

static u64 record(struct pm_domain *d, const struct pm_signals *now, bool held, bool stop,
		  const u32 inc[PCOUNTER_SLOTS], u64 clocks)
{
	u32 add[PCOUNTER_LONG_COUNTERS];

	if (held) {
		clear_record(d);
		return clocks;
	}
	record_increments(d, now, inc, add);
	return record_clocks(d, add, stop, clocks);
}

/* --- clocks ---------------------------------------------------------------------- */

/* CLRFLAG takes precedence */
static bool next_flag(const struct pm_domain *d, bool setflag, bool clrflag)
{
	return (setflag || d->flag) && !clrflag;
}

/* sets EVENT and FLAG; passes rising edges on to other domains */
static void drive_wires(struct pm_model *pm, struct pm_domain *d, bool event, bool flag)
{
	const unsigned int number = d - pm->domains;
	const u16 edges = (event && !d->event) << number | (flag && !d->flag_wire)
								   << (PCOUNTER_DOMAINS + number);

	for (unsigned int i = 0; edges && i < PCOUNTER_DOMAINS; i++)
		if (i != number)
			pm->domains[i].edges |= edges;
	d->event = event;
	d->flag_wire = flag;
}

/* all wires are constant during @clocks clocks, and equal to those before unless @clocks is 1 */
static u64 run_constant(struct pm_model *pm, struct pm_domain *d, const struct pm_signals *now,
			u64 clocks)
{
	const bool setflag = macro(d, PCOUNTER_SETFLAG, now, false);
	bool out[PCOUNTER_INPUTS], flag;
	u32 inc[PCOUNTER_SLOTS];
	u64 n = clocks;

	for (unsigned int i = 0; i < PCOUNTER_INPUTS; i++)
		out[i] = macro(d, i, now, setflag);
	increments(d, now, out, inc);
	flag = next_flag(d, setflag, out[PCOUNTER_CLRFLAG]);
	/* EVENT drives its wire in the next clock, FLAG in the one after that */
	if (out[PCOUNTER_EVENT] != d->event || flag != d->flag || d->flag != d->flag_wire)
		n = 1;

	switch (mode_of(d)) {
	case PCOUNTER_MODE_QUAD:
		settle_swap(d);
		quad(d, inc, pm_signal(now, d->spec_src & 0xff), n);
		break;
	case PCOUNTER_MODE_RECORD:
		n = record(d, now, pm->gctrl & PCOUNTER_GCTRL_RECORD_CLEAR, out[PCOUNTER_STOP], inc,
			   n);
		break;
	}

	drive_wires(pm, d, out[PCOUNTER_EVENT], d->flag);
	d->flag = flag;
	d->last = *now;
	return n;
}

/* 0: it never pulses */
static u32 period_of(const struct pm_model *pm, const struct pm_domain *d)
{
	const u32 k = (d->ctrl & PCOUNTER_CTRL_PERIODIC) >> PCOUNTER_CTRL_PERIODIC_SHIFT;

	if (!k || pm->gctrl & PCOUNTER_GCTRL_PERIODIC_RESET)
		return 0;
	return PCOUNTER_PERIODIC_CLOCKS(k - 1);
}

static bool looks_at_periodic(const struct pm_domain *d, unsigned int input)
{
	const u32 src = sources_of(d, input);

	for (unsigned int n = 0; n < 4; n++)
		if (PCOUNTER_SRC_SIGNAL(src, n) == d->trailer + PCOUNTER_TRAILER_PERIODIC)
			return true;
	return false;
}

/* the domain uses PERIODIC; its pulses can be ignored otherwise */
static bool uses_periodic(const struct pm_model *pm, const struct pm_domain *d)
{
	if (mode_of(d) == PCOUNTER_MODE_OFF || !period_of(pm, d))
		return false;
	for (unsigned int i = 0; i < PCOUNTER_INPUTS; i++)
		if (looks_at_periodic(d, i))
			return true;
	return (d->spec_src & 0xff) == d->trailer + PCOUNTER_TRAILER_PERIODIC;
}

/* mask of imported signals that arrive as pulses */
static u16 import_pulses(const struct pm_domain *d)
{
	return (d->ctrl & PCOUNTER_CTRL_EVENT_PULSE ? 0x00ff : 0) |
	       (d->ctrl & PCOUNTER_CTRL_FLAG_PULSE ? 0xff00 : 0);
}

/* signals that leave other domains in this clock */
static u16 imported(const struct pm_model *pm, const struct pm_domain *d)
{
	const u16 pulses = import_pulses(d);
	u16 levels = 0;

	for (unsigned int i = 0; i < PCOUNTER_DOMAINS; i++)
		if (d != &pm->domains[i])
			levels |= pm->domains[i].event << i | pm->domains[i].flag_wire
								      << (PCOUNTER_DOMAINS + i);
	return (d->edges & pulses) | (levels & ~pulses);
}

/* imported signals remain the same in all future clocks, unless another domain is clocked */
static bool imports_settled(const struct pm_model *pm, const struct pm_domain *d)
{
	const u16 now = imported(pm, d);

	return !(d->edges & import_pulses(d)) && d->import[0] == now && d->import[1] == now;
}

static void shift_imports(struct pm_domain *d, u16 now)
{
	d->import[1] = d->import[0];
	d->import[0] = now;
}

/* adds the trailer's wires for the next clock */
static void add_trailer(const struct pm_model *pm, const struct pm_domain *d, bool periodic,
			struct pm_signals *now)
{
	const unsigned int own = d - pm->domains;

	pm_signal_set(now, d->trailer + PCOUNTER_TRAILER_ZERO, false);
	pm_signal_set(now, d->trailer + PCOUNTER_TRAILER_WRCACHE_FLUSH, false);
	pm_signal_set(now, d->trailer + PCOUNTER_TRAILER_PERIODIC, periodic);
	pm_signal_set(now, d->trailer + PCOUNTER_TRAILER_PM_TRIGGER, d->trigger);
	/* signals of other domains arrive two clocks later */
	for (unsigned int i = 0; i < PCOUNTER_DOMAINS; i++) {
		const bool event = i == own ? d->event : d->import[1] >> i & 1;
		const bool flag = i == own ? d->flag_wire :
					     d->import[1] >> (PCOUNTER_DOMAINS + i) & 1;

		pm_signal_set(now, d->trailer + PCOUNTER_TRAILER_EVENT(i), event);
		pm_signal_set(now, d->trailer + PCOUNTER_TRAILER_FLAG(i), flag);
	}
}

/* STOP pulses in the next clock, regardless of other wires */
static bool stop_is_certain(const struct pm_domain *d)
{
	const u32 op = d->op[PCOUNTER_STOP];
	unsigned int args, i, high = 0;

	if (!d->trigger || op & ~(u32)PCOUNTER_OP_TABLE)
		return false;
	for (i = 0; i < 4; i++)
		if (PCOUNTER_SRC_SIGNAL(d->src[PCOUNTER_STOP], i) ==
		    d->trailer + PCOUNTER_TRAILER_PM_TRIGGER)
			high |= 1u << i;
	for (args = 0; args < 16; args++)
		if ((args & high) == high && !pm_table(op, args))
			return false;
	return high;
}

/*
 * As with a requested swap: the packet that PM_TRIGGER causes contains the clocks before it, and is
 * written even if the next clock never comes.
 */
static void settle_stop(const struct pm_model *pm, struct pm_domain *d)
{
	if (mode_of(d) != PCOUNTER_MODE_RECORD || pm->gctrl & PCOUNTER_GCTRL_RECORD_CLEAR ||
	    d->stop_settled || !stop_is_certain(d))
		return;
	count_stop(d);
	write_packet(d);
	d->stop_settled = true;
}

/*
 * Fast path for typical use of RECORD: PERIODIC only causes packets, and no table depends on the
 * last clock. Then all clocks are equal except for the pulses, of which there are many. Returns
 * false if the conditions are not met.
 */
static bool run_recorded(struct pm_model *pm, struct pm_domain *d, const struct pm_signals *signals,
			 u64 clocks)
{
	const u32 period = period_of(pm, d);
	u32 inc[PCOUNTER_SLOTS], add[PCOUNTER_LONG_COUNTERS];
	struct pm_signals now = *signals, pulse;
	bool out[PCOUNTER_INPUTS], stop;

	if (mode_of(d) != PCOUNTER_MODE_RECORD || d->trigger ||
	    pm->gctrl & PCOUNTER_GCTRL_RECORD_CLEAR)
		return false;
	for (unsigned int i = 0; i < PCOUNTER_INPUTS; i++)
		if (d->op[i] & ~PCOUNTER_OP_TABLE ||
		    (i != PCOUNTER_STOP && looks_at_periodic(d, i)))
			return false;
	add_trailer(pm, d, false, &now);
	pulse = now;
	pm_signal_set(&pulse, d->trailer + PCOUNTER_TRAILER_PERIODIC, true);
	for (unsigned int i = 0; i < PCOUNTER_INPUTS; i++)
		out[i] = macro(d, i, &now, false);
	stop = macro(d, PCOUNTER_STOP, &pulse, false);
	/* event and flag are wires as well: they must be constant */
	if (out[PCOUNTER_STOP] || out[PCOUNTER_EVENT] != d->event ||
	    next_flag(d, out[PCOUNTER_SETFLAG], out[PCOUNTER_CLRFLAG]) != d->flag ||
	    d->flag != d->flag_wire)
		return false;

	increments(d, &now, out, inc);
	record_increments(d, &now, inc, add);
	d->edges = 0;
	d->clocks += clocks;
	while (clocks) {
		const bool pulses = d->periodic + 1 >= period;
		const u64 n =
			record_clocks(d, add, pulses && stop,
				      pulses ? 1 : min_t(u64, clocks, period - 1 - d->periodic));

		d->periodic = pulses ? 0 : d->periodic + n;
		clocks -= n;
	}
	d->last = d->periodic ? now : pulse;
	return true;
}

/*
 * Clock a domain.
 * @pm: the model; @domain: number of the domain; @signals: its wires, without the trailer's;
 * @clocks: number of clocks with these wires.
 */
void pm_run(struct pm_model *pm, unsigned int domain, const struct pm_signals *signals, u64 clocks)
{
	struct pm_domain *d = &pm->domains[domain];
	const bool periodic = uses_periodic(pm, d);
	const u32 period = period_of(pm, d);
	bool try_record = periodic;

	while (clocks) {
		/* overdue if the period was longer before */
		const bool pulse = period && d->periodic + 1 >= period;
		const bool settled = imports_settled(pm, d);
		const u16 now_imported = imported(pm, d);
		struct pm_signals now = *signals;
		u64 n;

		if (settled && try_record && run_recorded(pm, d, signals, clocks))
			return;
		/* the fast path was refused: it stays refused until the wires change */
		if (settled)
			try_record = false;
		add_trailer(pm, d, periodic && pulse, &now);
		/* delayed sources see a change one clock later */
		n = memcmp(&now, &d->last, sizeof(now)) ? 1 : clocks;
		if (periodic)
			n = pulse ? 1 : min_t(u64, n, period - 1 - d->periodic);
		if (d->trigger || !settled)
			n = 1;
		d->edges = 0;
		if (mode_of(d) == PCOUNTER_MODE_OFF)
			d->last = now;
		else
			n = run_constant(pm, d, &now, n);
		shift_imports(d, now_imported);
		d->trigger = false;
		/* periods are powers of two */
		if (period)
			d->periodic = pulse ? (n - 1) & (period - 1) :
					      (d->periodic + n) & (period - 1);
		d->clocks += n;
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
	d->event = false;
	d->flag = false;
	d->flag_wire = false;
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
	case PCOUNTER_SETFLAG_OP(0):
		return &d->op[PCOUNTER_SETFLAG];
	case PCOUNTER_CLRFLAG_OP(0):
		return &d->op[PCOUNTER_CLRFLAG];
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
		settle_stop(pm, d);
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
