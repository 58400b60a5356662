// SPDX-License-Identifier: GPL-2.0
/*
 * The model of PCOUNTER against a second one, which follows the documented rules clock by clock in
 * all eight domains. Positions, bits and states are numbers here, as in envytools'
 * docs/hw/pcounter/intro.rst. docs/pcounter.md lists the cases that the reference leaves open.
 */
#include "kernel.h"
#include "pm_model.h"
#include "test.h"

#define DOMAINS 8
#define MEMORY_BYTES 2048
#define CLOCKS 3000

enum { PRE, START, EVENT, STOP, SETFLAG, CLRFLAG };
/* SINGLE, which would be 0, is not modelled */
enum { QUAD = 1, RECORD };

/* first trailer signal of domains 0 to 7 on G84 and later */
static const u8 trailer_base[DOMAINS] = { 0x00, 0xe0, 0x80, 0x20, 0x00, 0x00, 0x00, 0x00 };

static struct pm_model pm;
static u8 memory[DOMAINS][MEMORY_BYTES];

struct rule_domain {
	/* registers */
	u32 src[4], op[6], swap_src, ctrl, limit;
	/* wires */
	bool wires[256], last[256], trigger;
	bool event, flag, flag_wire;
	/* wires of other domains arrive two clocks later */
	bool event_before[2][DOMAINS], flag_before[2][DOMAINS];
	bool event_rose[DOMAINS], flag_rose[DOMAINS];
	u32 periodic;
	/* counters */
	u64 visible[4], shadow[4], cycles, shadow_cycles;
	u32 status;
	u64 record[12], record_cycles, record_stops;
	u32 at;
	bool beyond, pending;
	u8 memory[MEMORY_BYTES];
};

static struct rule_domain rules[DOMAINS];

static u64 saturated(u64 n, u64 most)
{
	return n < most ? n : most;
}

/* --- wires ------------------------------------------------------------------------ */

static void drive_trailer(unsigned int number)
{
	struct rule_domain *d = &rules[number];
	const u32 field = d->ctrl >> 21 & 7;
	bool *trailer = d->wires + trailer_base[number];
	unsigned int i;

	trailer[0x0c] = false;
	trailer[0x0d] = false;
	d->periodic++;
	if (!field || d->periodic >= 0x200u << field) {
		trailer[0x0d] = field;
		d->periodic = 0;
	}
	/* WRCACHE_FLUSH is not driven */
	trailer[0x0e] = false;
	trailer[0x0f] = d->trigger;
	d->trigger = false;
	for (i = 0; i < DOMAINS; i++) {
		trailer[0x17 - i] = i == number ? d->event : d->event_before[1][i];
		trailer[0x1f - i] = i == number ? d->flag_wire : d->flag_before[1][i];
	}
}

static void import(unsigned int number)
{
	struct rule_domain *d = &rules[number];
	unsigned int i;

	for (i = 0; i < DOMAINS; i++) {
		d->event_before[1][i] = d->event_before[0][i];
		d->flag_before[1][i] = d->flag_before[0][i];
		d->event_before[0][i] = d->ctrl >> 11 & 1 ? d->event_rose[i] : rules[i].event;
		d->flag_before[0][i] = d->ctrl >> 13 & 1 ? d->flag_rose[i] : rules[i].flag_wire;
		d->event_rose[i] = false;
		d->flag_rose[i] = false;
	}
}

static bool source(const struct rule_domain *d, const bool *wires, unsigned int input,
		   unsigned int n)
{
	static const u8 of_setflag[4][2] = { { START, 2 }, { START, 3 }, { PRE, 0 }, { PRE, 1 } };
	static const u8 of_clrflag[4][2] = { { PRE, 2 }, { PRE, 3 }, { START, 0 }, { START, 1 } };

	if (input == SETFLAG)
		return source(d, wires, of_setflag[n][0], of_setflag[n][1]);
	if (input == CLRFLAG)
		return source(d, wires, of_clrflag[n][0], of_clrflag[n][1]);
	return wires[d->src[input] >> 8 * n & 0xff];
}

static bool output(const struct rule_domain *d, unsigned int input)
{
	const u32 op = d->op[input];
	const bool event_or_stop = input == EVENT || input == STOP;
	bool arg[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		arg[i] = source(d, d->wires, input, i);
	if (op & 1u << 16)
		arg[0] = source(d, d->last, input, 0);
	if (op & 1u << 17)
		arg[1] = source(d, d->last, input, 1);
	if (op & 1u << (event_or_stop ? 19 : 18))
		arg[2] = source(d, d->last, input, 0);
	if (op & 1u << (event_or_stop ? 20 : 19))
		arg[3] = source(d, d->last, input, 1);
	if (event_or_stop && op & 1u << 18)
		arg[3] = output(d, SETFLAG);
	return op >> (arg[0] + 2 * arg[1] + 4 * arg[2] + 8 * arg[3]) & 1;
}

static u32 b4(const struct rule_domain *d)
{
	return source(d, d->wires, START, 0) + 2 * source(d, d->wires, START, 1) +
	       4 * source(d, d->wires, START, 2) + 8 * source(d, d->wires, START, 3);
}

static u32 b6(const struct rule_domain *d)
{
	return b4(d) + 16 * source(d, d->wires, EVENT, 2) + 32 * source(d, d->wires, EVENT, 3);
}

static u32 b2(const struct rule_domain *d)
{
	return source(d, d->wires, EVENT, 0) + 2 * source(d, d->wires, EVENT, 1);
}

/* input of CTR_EVENT in a clock */
static u32 event_adds(const struct rule_domain *d, bool event)
{
	switch (d->ctrl >> 4 & 7) {
	case 1:
		return event ? b4(d) : 0;
	case 2:
		return event ? b6(d) : 0;
	case 4:
		return event ? b2(d) : 0;
	}
	return event;
}

/* added to another counter in each clock by the EXTRA modes, or @otherwise */
static u32 extra_adds(const struct rule_domain *d, u32 otherwise)
{
	switch (d->ctrl >> 4 & 7) {
	case 3:
		return b4(d);
	case 4:
		return b6(d);
	}
	return otherwise;
}

/* --- modes ------------------------------------------------------------------------ */

static void quad_swaps(struct rule_domain *d)
{
	memcpy(d->visible, d->shadow, sizeof(d->visible));
	d->cycles = d->shadow_cycles;
	memset(d->shadow, 0, sizeof(d->shadow));
	d->shadow_cycles = 0;
	d->status = saturated(d->status + 1, 2);
}

static void quad(struct rule_domain *d, const bool out[6])
{
	const u32 add[4] = { out[PRE], extra_adds(d, out[START]), event_adds(d, out[EVENT]),
			     out[STOP] };
	unsigned int i;

	if (d->wires[d->swap_src & 0xff])
		quad_swaps(d);
	for (i = 0; i < 4; i++)
		d->shadow[i] = saturated(d->shadow[i] + add[i], 0xffffffff);
	d->shadow_cycles = saturated(d->shadow_cycles + 1, 0xffffffff);
}

static void put(u8 *p, u64 value, unsigned int bytes)
{
	while (bytes--) {
		*p++ = value;
		value >>= 8;
	}
}

static void record(struct rule_domain *d, const bool out[6])
{
	const bool is_short = d->ctrl & 1u << 20;
	const unsigned int bytes = is_short ? 16 : 32;
	unsigned int i;

	if (out[STOP]) {
		d->record_stops = saturated(d->record_stops + 1, 0xfff);
		d->pending = true;
	}
	for (i = 0; i < 12; i++)
		d->pending |= d->record[i] >= 0xf000;
	if (d->pending && !d->beyond && d->at + bytes <= MEMORY_BYTES) {
		put(d->memory + d->at, d->record_cycles, 6);
		put(d->memory + d->at + 6, d->record_stops, 2);
		for (i = 0; i < (is_short ? 4 : 12); i++)
			put(d->memory + d->at + 8 + 2 * i, d->record[i], 2);
		/* one may begin at the limit or behind it */
		d->beyond = d->at >= d->limit;
		d->at += bytes;
		d->pending = false;
		memset(d->record, 0, sizeof(d->record));
		d->record_cycles = 0;
		d->record_stops = 0;
	}
	for (i = 0; i < 12; i++) {
		u32 add = source(d, d->wires, i / 4, i % 4);

		if (is_short) {
			const u32 macros[4] = { out[PRE], extra_adds(d, out[START]),
						event_adds(d, out[EVENT]), d->flag_wire };

			add = i < 4 ? macros[i] : 0;
		}
		d->record[i] = saturated(d->record[i] + add, 0xffff);
	}
	d->record_cycles = (d->record_cycles + 1) & 0xffffffffffff;
}

static void clock_rules(unsigned int number)
{
	struct rule_domain *d = &rules[number];
	const u32 mode = d->ctrl & 3;
	bool out[6], flag = d->flag, flag_wire = d->flag;
	unsigned int i;

	drive_trailer(number);
	import(number);
	for (i = 0; i < 6; i++)
		out[i] = output(d, i);
	if (out[SETFLAG])
		flag = true;
	if (out[CLRFLAG])
		flag = false;
	if (mode == QUAD)
		quad(d, out);
	else
		record(d, out);
	/* other domains see an edge for one of their clocks */
	for (i = 0; i < DOMAINS; i++) {
		if (i == number)
			continue;
		rules[i].event_rose[number] |= out[EVENT] && !d->event;
		rules[i].flag_rose[number] |= flag_wire && !d->flag_wire;
	}
	d->event = out[EVENT];
	d->flag = flag;
	d->flag_wire = flag_wire;
	memcpy(d->last, d->wires, sizeof(d->last));
}

/* --- both models --------------------------------------------------------------------- */

static void clock_both(unsigned int number, const struct pm_signals *s)
{
	struct rule_domain *d = &rules[number];
	unsigned int i;

	for (i = 0; i < 256; i++)
		d->wires[i] = s->bits[i / 64] >> (i % 64) & 1;
	clock_rules(number);
	pm_run(&pm, number, s, 1);
}

static u32 random_sources(struct random_state *r, unsigned int number)
{
	u32 src = random_u64(r) & 0x07070707, i;

	/* above domain 3's trailer and below the others' */
	src += 0x48484848;
	for (i = 0; i < 4; i++) {
		if (random_below(r, 3))
			continue;
		/* a third are the trailer's: any, or EVENT and FLAG of the first domains */
		src &= ~(0xffu << 8 * i);
		src |= (trailer_base[number] +
			(random_below(r, 2) ?
				 0x0c + random_below(r, 20) :
				 0x10 + 8 * random_below(r, 2) + 4 + random_below(r, 4)))
		       << 8 * i;
	}
	return src;
}

static void begin_domain(struct random_state *r, unsigned int number, u32 mode)
{
	static const u16 tables[] = { 0xaaaa, 0xcccc, 0x8888, 0xeeee, 0x5555,
				      0x4444, 0x8000, 0x0000, 0xffff };
	struct rule_domain *d = &rules[number];
	unsigned int i;

	memset(d, 0, sizeof(*d));
	memset(memory[number], 0, sizeof(memory[number]));
	pm_set_memory(&pm, number, memory[number], MEMORY_BYTES);
	for (i = 0; i < 6; i++) {
		d->op[i] = random_below(r, 3) ? tables[random_below(r, ARRAY_SIZE(tables))] :
						random_below(r, 0x10000);
		d->op[i] |= random_below(r, 2) ? random_below(r, 32) << 16 : 0;
		if (i < 4) {
			d->src[i] = random_sources(r, number);
			pm_write(&pm, 0xa400 + 0x40 * i + 4 * number, d->src[i]);
		}
	}
	for (i = 1; i < 4; i++)
		pm_write(&pm, 0xa420 + 0x40 * i + 4 * number, d->op[i]);
	pm_write(&pm, 0xa500 + 4 * number, d->op[SETFLAG]);
	pm_write(&pm, 0xa520 + 4 * number, d->op[CLRFLAG]);
	d->swap_src = trailer_base[number] + 0x0d + random_below(r, 11);
	pm_write(&pm, 0xa560 + 4 * number, d->swap_src);
	d->limit = random_below(r, MEMORY_BYTES);
	pm_write(&pm, 0xa720 + 4 * number, d->limit);
	pm_write(&pm, 0xa760 + 4 * number, 0);
	/* count mode, imports, format, PERIODIC never or each 0x400 or 0x800 */
	d->ctrl = mode | random_below(r, 5) << 4 | random_below(r, 2) << 11 |
		  random_below(r, 2) << 13 | random_below(r, 2) << 20 |
		  random_below(r, 3) << 21;
	pm_write(&pm, 0xa7c0 + 4 * number, d->ctrl);
	/* swaps QUAD, before a clock was counted */
	pm_write(&pm, 0xa420 + 4 * number, d->op[PRE]);
	pm_read(&pm, 0xa600 + 4 * number);
	pm_write(&pm, 0xa7e0 + 4 * number, 1);
}

static void check_domain(unsigned int number)
{
	static const u16 counter[4] = { 0xa700, 0xa6c0, 0xa680, 0xa740 };
	const struct rule_domain *d = &rules[number];
	unsigned int i;

	if ((d->ctrl & 3) == RECORD) {
		check_eq(pm_read(&pm, 0xa6e0 + 4 * number), d->at | (u32)d->beyond << 31);
		check(!memcmp(memory[number], d->memory, MEMORY_BYTES));
		return;
	}
	for (i = 0; i < 4; i++)
		check_eq(pm_read(&pm, counter[i] + 4 * number), d->visible[i]);
	check_eq(pm_read(&pm, 0xa600 + 4 * number), d->cycles);
	check_eq(pm_read(&pm, PCOUNTER_STATUS(number)), d->status);
}

static struct {
	unsigned long swaps, packets, flags;
} seen;

static void run_randomly(struct random_state *r, const u8 modes[DOMAINS])
{
	struct pm_signals s[DOMAINS] = { { { 0 } } };
	unsigned int number, n;

	pm_init(&pm);
	for (number = 0; number < DOMAINS; number++)
		begin_domain(r, number, modes[number]);
	for (n = 0; n < CLOCKS; n++) {
		if (!random_below(r, 50)) {
			pm_write(&pm, 0x400084, 0x20);
			for (number = 0; number < DOMAINS; number++)
				rules[number].trigger = true;
		}
		for (number = 0; number < DOMAINS; number++) {
			/* domains have their own clocks */
			if (!random_below(r, 8))
				continue;
			if (!random_below(r, 3))
				s[number].bits[1] = random_u64(r);
			clock_both(number, &s[number]);
			seen.flags += rules[number].flag_wire;
		}
		if (!(n % 16))
			for (number = 0; number < DOMAINS; number++)
				check_domain(number);
	}
	for (number = 0; number < DOMAINS; number++) {
		check_domain(number);
		seen.swaps += modes[number] == QUAD && rules[number].status == 2;
		seen.packets += rules[number].at > 0;
	}
}

TEST(all_modes_follow_the_reference)
{
	struct random_state r = { test_seed() };
	unsigned long round, rounds = test_rounds(60);
	u8 modes[DOMAINS];
	unsigned int i;

	memset(&seen, 0, sizeof(seen));
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < DOMAINS; i++)
			modes[i] = QUAD + random_below(&r, 2);
		run_randomly(&r, modes);
	}
	/* each mode has worked */
	check(seen.swaps > rounds);
	check(seen.packets > rounds);
	check(seen.flags > rounds);
}
