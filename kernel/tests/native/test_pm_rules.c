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

enum { PRE, START, EVENT, STOP };
/* SINGLE, which would be 0, is not modelled */
enum { QUAD = 1, RECORD };

/* first trailer signal of domains 0 to 7 on G84 and later */
static const u8 trailer_base[DOMAINS] = { 0x00, 0xe0, 0x80, 0x20, 0x00, 0x00, 0x00, 0x00 };

static struct pm_model pm;
static u8 memory[DOMAINS][MEMORY_BYTES];

struct rule_domain {
	/* registers */
	u32 src[4], op[4], swap_src, ctrl, limit;
	/* wires */
	bool wires[256], trigger;
	u32 periodic;
	/* counters */
	u64 visible[4], shadow[4], cycles, shadow_cycles;
	u32 status;
	u64 record[3], record_cycles, record_stops;
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

	trailer[0x0c] = false;
	trailer[0x0d] = false;
	d->periodic++;
	if (!field || d->periodic >= 0x200u << field) {
		trailer[0x0d] = field;
		d->periodic = 0;
	}
	trailer[0x0f] = d->trigger;
	d->trigger = false;
}

static bool source(const struct rule_domain *d, unsigned int input, unsigned int n)
{
	return d->wires[d->src[input] >> 8 * n & 0xff];
}

static bool output(const struct rule_domain *d, unsigned int input)
{
	return d->op[input] >> (source(d, input, 0) + 2 * source(d, input, 1) +
				4 * source(d, input, 2) + 8 * source(d, input, 3)) & 1;
}

/* input of CTR_EVENT in a clock */
static u32 event_adds(const struct rule_domain *d, bool event)
{
	const u32 b4 = source(d, START, 0) + 2 * source(d, START, 1) + 4 * source(d, START, 2) +
		       8 * source(d, START, 3);

	switch (d->ctrl >> 4 & 7) {
	case 1:
		return event ? b4 : 0;
	case 2:
		return event ? b4 + 16 * source(d, EVENT, 2) + 32 * source(d, EVENT, 3) : 0;
	}
	return event;
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

static void quad(struct rule_domain *d, const u32 add[4])
{
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

static void record(struct rule_domain *d, const u32 add[4])
{
	unsigned int i;

	if (add[STOP]) {
		d->record_stops = saturated(d->record_stops + 1, 0xfff);
		d->pending = true;
	}
	for (i = 0; i < 3; i++)
		d->pending |= d->record[i] >= 0xf000;
	if (d->pending && !d->beyond && d->at + 16 <= MEMORY_BYTES) {
		put(d->memory + d->at, d->record_cycles, 6);
		put(d->memory + d->at + 6, d->record_stops, 2);
		for (i = 0; i < 3; i++)
			put(d->memory + d->at + 8 + 2 * i, d->record[i], 2);
		/* one may begin at the limit or behind it */
		d->beyond = d->at >= d->limit;
		d->at += 16;
		d->pending = false;
		memset(d->record, 0, sizeof(d->record));
		d->record_cycles = 0;
		d->record_stops = 0;
	}
	for (i = 0; i < 3; i++)
		d->record[i] = saturated(d->record[i] + add[i], 0xffff);
	d->record_cycles = (d->record_cycles + 1) & 0xffffffffffff;
}

static void clock_rules(unsigned int number)
{
	struct rule_domain *d = &rules[number];
	u32 add[4];
	unsigned int i;

	drive_trailer(number);
	for (i = 0; i < 4; i++)
		add[i] = output(d, i);
	add[EVENT] = event_adds(d, add[EVENT]);
	if ((d->ctrl & 3) == QUAD)
		quad(d, add);
	else
		record(d, add);
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
	static const u32 trailer[] = { 0x0c, 0x0d, 0x0f };
	u32 src = random_u64(r) & 0x07070707, i;

	/* above domain 3's trailer and below the others' */
	src += 0x48484848;
	for (i = 0; i < 4; i++) {
		if (random_below(r, 3))
			continue;
		/* a third are the trailer's: ZERO, PERIODIC and the trigger */
		src &= ~(0xffu << 8 * i);
		src |= (trailer_base[number] + trailer[random_below(r, 3)]) << 8 * i;
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
	for (i = 0; i < 4; i++) {
		d->op[i] = random_below(r, 3) ? tables[random_below(r, ARRAY_SIZE(tables))] :
						random_below(r, 0x10000);
		d->src[i] = random_sources(r, number);
		pm_write(&pm, 0xa400 + 0x40 * i + 4 * number, d->src[i]);
		if (i != PRE)
			pm_write(&pm, 0xa420 + 0x40 * i + 4 * number, d->op[i]);
	}
	d->swap_src = trailer_base[number] + 0x0d + 2 * random_below(r, 2);
	pm_write(&pm, 0xa560 + 4 * number, d->swap_src);
	d->limit = random_below(r, MEMORY_BYTES);
	pm_write(&pm, 0xa720 + 4 * number, d->limit);
	pm_write(&pm, 0xa760 + 4 * number, 0);
	/* count mode, SHORT packets, PERIODIC never or each 0x400 or 0x800 */
	d->ctrl = mode | random_below(r, 3) << 4 | 1u << 20 | random_below(r, 3) << 21;
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
		/* the model writes the packet of a trigger before its clock */
		if (d->trigger)
			return;
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
	unsigned long swaps, packets;
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
}
