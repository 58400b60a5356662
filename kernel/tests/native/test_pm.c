// SPDX-License-Identifier: GPL-2.0
/*
 * The model of PCOUNTER and MP counters: known cases of the documented rules, and many clocks at
 * once against single clocks.
 */
#include "kernel.h"
#include "pm_model.h"
#include "test.h"

#define DOMAIN 1
#define ZERO 0xec

static struct pm_model pm, other;
static u8 memory[2][4096];

static struct pm_domain *dom(void)
{
	return &pm.domains[DOMAIN];
}

static void begin(u32 ctrl)
{
	pm_init(&pm);
	pm_set_memory(&pm, DOMAIN, memory[0], sizeof(memory[0]));
	memset(memory, 0, sizeof(memory));
	pm_write(&pm, PCOUNTER_SPEC_SRC(DOMAIN), ZERO & 0xff);
	pm_write(&pm, PCOUNTER_CTRL(DOMAIN), ctrl);
}

static void input(unsigned int slot, u32 src, u32 op)
{
	pm_write(&pm, PCOUNTER_SRC(DOMAIN, slot), src);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, slot), op);
	/* a write of PRE's table also swaps: acknowledge the empty period */
	while ((pm_read(&pm, PCOUNTER_CTRL(DOMAIN)) & PCOUNTER_CTRL_MODE) == PCOUNTER_MODE_QUAD &&
	       pm_read(&pm, PCOUNTER_STATUS(DOMAIN)))
		pm_write(&pm, PCOUNTER_QUAD_ACK(DOMAIN), 0);
}

/* wires 0..63 as in @bits, for @clocks clocks */
static void drive(u64 bits, u64 clocks)
{
	struct pm_signals s = { { bits } };

	pm_run(&pm, DOMAIN, &s, clocks);
}

static void swap_now(void)
{
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_PRE),
		 pm_read(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_PRE)));
}

static const u32 counter_register[PCOUNTER_SLOTS] = {
	PCOUNTER_CTR_PRE(DOMAIN),
	PCOUNTER_CTR_START(DOMAIN),
	PCOUNTER_CTR_EVENT(DOMAIN),
	PCOUNTER_CTR_STOP(DOMAIN),
};

/* --- tables ---------------------------------------------------------------------- */

TEST(every_table_gives_its_value_for_all_arguments)
{
	u32 table, args, slot;

	begin(PCOUNTER_MODE_QUAD);
	for (table = 0; table < 0x10000; table += PCOUNTER_SLOTS) {
		for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
			pm_write(&pm, PCOUNTER_SRC(DOMAIN, slot), 0x13121110);
			pm_write(&pm, PCOUNTER_OP(DOMAIN, slot), table + slot);
		}
		for (args = 0; args < 16; args++) {
			drive((u64)args << 0x10, 1);
			swap_now();
			for (slot = 0; slot < PCOUNTER_SLOTS; slot++)
				check_eq(pm_read(&pm, counter_register[slot]),
					 (table + slot) >> args & 1);
			check_eq(pm_read(&pm, PCOUNTER_CTR_CYCLES(DOMAIN)), 1);
		}
	}
}

/* --- many clocks and single clocks ---------------------------------------------------- */

#define CLOCKS 400

/* signals that the recipes use, and none of the trailer's, which begins at 0xe0 */
static u32 random_sources(struct random_state *r)
{
	return random_u64(r) & 0x1f1f1f1f;
}

/* wires that change in a quarter of the clocks */
static void random_waves(struct random_state *r, struct pm_signals *signals)
{
	u32 i;

	memset(signals, 0, CLOCKS * sizeof(*signals));
	for (i = 0; i < CLOCKS; i++) {
		if (i && random_below(r, 4))
			signals[i] = signals[i - 1];
		else
			signals[i].bits[0] = random_u64(r) & 0xffffffff;
	}
}

TEST(many_clocks_equal_single_clocks)
{
	static struct pm_signals signals[CLOCKS];
	struct random_state r = { test_seed() + 1 };
	unsigned long round, rounds = test_rounds(600);
	u32 i, n;

	for (round = 0; round < rounds; round++) {
		u32 ctrl = (PCOUNTER_MODE_QUAD + random_below(&r, 2)) | random_below(&r, 3) << 4 |
			   PCOUNTER_CTRL_RECORD_SHORT |
			   random_below(&r, 2) * PCOUNTER_CTRL_PERIODIC_OF(0);
		u32 done = 0, slot;

		begin(PCOUNTER_MODE_OFF);
		for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
			u32 src = random_sources(&r);

			if (!random_below(&r, 3))
				src = (src & ~0xff) | (0xe0 + PCOUNTER_TRAILER_PERIODIC);
			input(slot, src, random_below(&r, 0x10000));
		}
		pm_write(&pm, PCOUNTER_RECORD_LIMIT(DOMAIN), random_below(&r, 2000));
		pm_write(&pm, PCOUNTER_SPEC_SRC(DOMAIN), random_below(&r, 32));
		pm_write(&pm, PCOUNTER_CTRL(DOMAIN), ctrl);
		/* QUAD swaps */
		swap_now();
		dom()->periodic = random_below(&r, 0x400);
		random_waves(&r, signals);
		other = pm;
		pm_set_memory(&other, DOMAIN, memory[1], sizeof(memory[1]));
		memcpy(memory[1], memory[0], sizeof(memory[0]));

		for (i = 0; i < CLOCKS; i++)
			pm_run(&other, DOMAIN, &signals[i], 1);
		while (done < CLOCKS) {
			for (n = 1; done + n < CLOCKS && !memcmp(&signals[done + n], &signals[done],
								 sizeof(signals[0]));)
				n++;
			pm_run(&pm, DOMAIN, &signals[done], n);
			done += n;
		}
		check(!memcmp(memory[0], memory[1], sizeof(memory[0])));
		other.domains[DOMAIN].mem = memory[0];
		check(!memcmp(&pm, &other, sizeof(pm)));
	}
}

TEST(waves_drive_their_wires)
{
	const struct pm_signals idle = { { 0x8 } };
	struct pm_wave waves[3] = {
		{ .from = 0, .to = 10, .set = { { 0x1 } } },
		{ .from = 4, .to = 20, .set = { { 0x2 } } },
		{ .from = 5, .to = 25, .clear = { { 0x8 } } },
	};

	begin(PCOUNTER_MODE_QUAD);
	input(PCOUNTER_PRE, 0x03020100, 0xaaaa);
	input(PCOUNTER_START, 0x03020100, 0xcccc);
	input(PCOUNTER_EVENT, 0x03020100, 0x8888);
	input(PCOUNTER_STOP, 0x03020100, 0xff00);
	pm_run_waves(&pm, DOMAIN, &idle, waves, 3, 30);
	swap_now();
	check_eq(pm_read(&pm, PCOUNTER_CTR_PRE(DOMAIN)), 10);
	check_eq(pm_read(&pm, PCOUNTER_CTR_START(DOMAIN)), 16);
	check_eq(pm_read(&pm, PCOUNTER_CTR_EVENT(DOMAIN)), 6);
	check_eq(pm_read(&pm, PCOUNTER_CTR_STOP(DOMAIN)), 10);
	check_eq(pm_read(&pm, PCOUNTER_CTR_CYCLES(DOMAIN)), 30);
}

/* --- SWAP, status, saturation ------------------------------------------------------ */

TEST(status_follows_swaps_and_acks)
{
	begin(PCOUNTER_MODE_QUAD);
	input(PCOUNTER_EVENT, ZERO, 0x5555);
	check_eq(pm_read(&pm, PCOUNTER_STATUS(DOMAIN)), PCOUNTER_QUAD_EMPTY);
	drive(0, 3);
	swap_now();
	check_eq(pm_read(&pm, PCOUNTER_STATUS(DOMAIN)), PCOUNTER_QUAD_VALID);
	swap_now();
	check_eq(pm_read(&pm, PCOUNTER_STATUS(DOMAIN)), PCOUNTER_QUAD_OVERFLOW);
	swap_now();
	check_eq(pm_read(&pm, PCOUNTER_STATUS(DOMAIN)), PCOUNTER_QUAD_OVERFLOW);
	pm_write(&pm, PCOUNTER_QUAD_ACK(DOMAIN), 0);
	check_eq(pm_read(&pm, PCOUNTER_STATUS(DOMAIN)), PCOUNTER_QUAD_VALID);
	pm_write(&pm, PCOUNTER_QUAD_ACK(DOMAIN), 0);
	pm_write(&pm, PCOUNTER_QUAD_ACK(DOMAIN), 0);
	check_eq(pm_read(&pm, PCOUNTER_STATUS(DOMAIN)), PCOUNTER_QUAD_EMPTY);
}

TEST(counters_saturate)
{
	begin(PCOUNTER_MODE_QUAD | PCOUNTER_EVENT_B6 << 4);
	input(PCOUNTER_PRE, ZERO, 0x5555);
	input(PCOUNTER_START, 0x03020100, 0xffff);
	input(PCOUNTER_EVENT, 0x0504ecec, 0x5555);
	drive(0x3f, 0xffffffff / 63);
	check_eq(dom()->shadow.ctr[PCOUNTER_EVENT], 0xffffffff / 63 * 63);
	drive(0x3f, 1);
	check_eq(dom()->shadow.ctr[PCOUNTER_EVENT], 0xffffffff);
	check_eq(dom()->shadow.ctr[PCOUNTER_PRE], 0xffffffff / 63 + 1);
	drive(0x3f, 1ull << 40);
	swap_now();
	check_eq(pm_read(&pm, PCOUNTER_CTR_EVENT(DOMAIN)), 0xffffffff);
	check_eq(pm_read(&pm, PCOUNTER_CTR_PRE(DOMAIN)), 0xffffffff);
	check_eq(pm_read(&pm, PCOUNTER_CTR_CYCLES(DOMAIN)), 0xffffffff);
}

/* --- trailer ------------------------------------------------------------------------ */

/* CTR_EVENT of as many clocks of one wire */
static u32 count_wire(u8 wire, u64 clocks)
{
	pm_write(&pm, PCOUNTER_SRC(DOMAIN, PCOUNTER_EVENT), wire);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_EVENT), 0xaaaa);
	swap_now();
	drive(0, clocks);
	swap_now();
	return pm_read(&pm, PCOUNTER_CTR_EVENT(DOMAIN));
}

/* numbers are from the reference, not from our header */
TEST(trailer_is_at_the_documented_signals)
{
	u32 n;

	check_eq(pcounter_trailer(1), 0xe0);
	check_eq(pcounter_trailer(2), 0x80);
	check_eq(pcounter_trailer(3), 0x20);
	for (n = 0x0c; n < 0x20; n++) {
		begin(PCOUNTER_MODE_QUAD | 1u << 21);
		pm_write(&pm, PCOUNTER_GCTRL, PCOUNTER_GCTRL_PERIODIC_RESET);
		pm_write(&pm, PCOUNTER_GCTRL, 0);
		pm_write(&pm, PGRAPH_PM_TRIGGER, PGRAPH_PM_TRIGGER_PULSE);
		check_eq(count_wire(0xe0 + n, 0x800), n == 0x0d ? 2 : n == 0x0f);
	}
}

/* --- RECORD ----------------------------------------------------------------------- */

static void begin_record(u32 ctrl, u32 limit)
{
	begin(PCOUNTER_MODE_OFF);
	input(PCOUNTER_PRE, 0xececec00, 0xaaaa);
	input(PCOUNTER_START, 0xececec01, 0xaaaa);
	input(PCOUNTER_EVENT, 0xececec02, 0xaaaa);
	input(PCOUNTER_STOP, 0xececec03, 0xaaaa);
	pm_write(&pm, PCOUNTER_RECORD_LIMIT(DOMAIN), limit);
	pm_write(&pm, PCOUNTER_RECORD_START(DOMAIN), 0);
	pm_write(&pm, PCOUNTER_CTRL(DOMAIN), PCOUNTER_MODE_RECORD | ctrl);
}

static struct pcounter_packet packet(u32 at, u32 bytes)
{
	struct pcounter_packet p = { 0 };

	memcpy(&p, memory[0] + at, bytes);
	return p;
}

static u64 packet_cycles(const struct pcounter_packet *p)
{
	return p->cycles_stop & PCOUNTER_RECORD_CYCLES;
}

static u32 packet_stops(const struct pcounter_packet *p)
{
	return p->cycles_stop >> PCOUNTER_RECORD_STOP_SHIFT;
}

TEST(stop_pulse_writes_a_packet)
{
	struct pcounter_packet p;

	begin_record(PCOUNTER_CTRL_RECORD_SHORT, 1024);
	drive(BIT(0), 10);
	drive(BIT(1) | BIT(2), 5);
	/* the next packet has this clock */
	drive(BIT(0) | BIT(3), 1);
	drive(0, 7);
	drive(BIT(3), 1);
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 2 * PCOUNTER_SHORT_BYTES);
	p = packet(0, PCOUNTER_SHORT_BYTES);
	check_eq(packet_cycles(&p), 15);
	check_eq(packet_stops(&p), 1);
	check_eq(p.counters[0], 10);
	check_eq(p.counters[1], 5);
	check_eq(p.counters[2], 5);
	p = packet(PCOUNTER_SHORT_BYTES, PCOUNTER_SHORT_BYTES);
	check_eq(packet_cycles(&p), 8);
	check_eq(p.counters[0], 1);
	check_eq(p.counters[1], 0);
}

TEST(full_counter_writes_a_packet_without_stop)
{
	struct pcounter_packet p;

	begin_record(PCOUNTER_CTRL_RECORD_SHORT, 1024);
	drive(BIT(0), 2 * PCOUNTER_RECORD_FULL + 100);
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 2 * PCOUNTER_SHORT_BYTES);
	p = packet(PCOUNTER_SHORT_BYTES, PCOUNTER_SHORT_BYTES);
	check_eq(packet_stops(&p), 0);
	check_eq(p.counters[0], PCOUNTER_RECORD_FULL);
	check_eq(packet_cycles(&p), PCOUNTER_RECORD_FULL);
}

TEST(stops_beyond_the_limit_merge)
{
	struct pcounter_packet p;
	u32 i;

	begin_record(PCOUNTER_CTRL_RECORD_SHORT, PCOUNTER_SHORT_BYTES);
	for (i = 0; i < 5; i++) {
		drive(BIT(0), 10);
		drive(BIT(3), 1);
	}
	/* packets at 0 and, beyond the limit, at 16; then none */
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)),
		 2 * PCOUNTER_SHORT_BYTES | PCOUNTER_RECORD_OVERRUN);
	p = packet(2 * PCOUNTER_SHORT_BYTES, PCOUNTER_SHORT_BYTES);
	check_eq(p.cycles_stop, 0);
	/* the merged packet comes with the first clock after START is written */
	pm_write(&pm, PCOUNTER_RECORD_START(DOMAIN), 64);
	pm_write(&pm, PCOUNTER_RECORD_LIMIT(DOMAIN), 128);
	drive(0, 1);
	p = packet(64, PCOUNTER_SHORT_BYTES);
	check_eq(packet_stops(&p), 3);
	check_eq(p.counters[0], 30);
	/* from the second pulse, which is of this packet, to the end */
	check_eq(packet_cycles(&p), 1 + 3 * 11);
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 64 + PCOUNTER_SHORT_BYTES);
}

TEST(merged_counts_and_stops_saturate)
{
	struct pcounter_packet p;
	u32 i;

	begin_record(PCOUNTER_CTRL_RECORD_SHORT, 0);
	drive(BIT(3), 1);
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)),
		 PCOUNTER_SHORT_BYTES | PCOUNTER_RECORD_OVERRUN);
	for (i = 0; i < 5000; i++) {
		drive(BIT(0), 20);
		drive(BIT(3), 1);
	}
	pm_write(&pm, PCOUNTER_RECORD_START(DOMAIN), 64);
	drive(0, 1);
	p = packet(64, PCOUNTER_SHORT_BYTES);
	check_eq(packet_stops(&p), PCOUNTER_RECORD_STOP_MAX);
	check_eq(p.counters[0], 0xffff);
	check_eq(packet_cycles(&p), 5000 * 21 + 1);
}

TEST(periodic_writes_packets_at_its_rate)
{
	struct pcounter_packet p;
	u32 k;

	for (k = 0; k <= PCOUNTER_PERIODIC_MAX; k++) {
		begin_record(PCOUNTER_CTRL_RECORD_SHORT | (k + 1) << 21, 4000);
		input(PCOUNTER_STOP, 0xececec00 + 0xe0 + PCOUNTER_TRAILER_PERIODIC, 0xaaaa);
		input(PCOUNTER_PRE, ZERO, 0);
		/* while it is held, nothing pulses */
		pm_write(&pm, PCOUNTER_GCTRL, PCOUNTER_GCTRL_PERIODIC_RESET);
		drive(0, 3 * PCOUNTER_PERIODIC_CLOCKS(k));
		check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 0);
		pm_write(&pm, PCOUNTER_GCTRL, 0);
		drive(0, 10ull * PCOUNTER_PERIODIC_CLOCKS(k));
		check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 10 * PCOUNTER_SHORT_BYTES);
		p = packet(9 * PCOUNTER_SHORT_BYTES, PCOUNTER_SHORT_BYTES);
		check_eq(packet_cycles(&p), PCOUNTER_PERIODIC_CLOCKS(k));
	}
}

TEST(clocks_of_a_packet_have_48_bits)
{
	struct pcounter_packet p;

	begin_record(PCOUNTER_CTRL_RECORD_SHORT, 1024);
	/* wraps twice: one wrap would set the bit of the STOP pulse */
	drive(0, (2ull << 48) - 3);
	drive(BIT(0), 10);
	drive(BIT(3), 1);
	p = packet(0, PCOUNTER_SHORT_BYTES);
	check_eq(packet_cycles(&p), 7);
	check_eq(packet_stops(&p), 1);
	check_eq(p.counters[0], 10);
}

/* --- MP counters -------------------------------------------------------------------- */

TEST(mp_counters_follow_function_and_mode)
{
	struct random_state r = { test_seed() + 2 };
	unsigned long round, rounds = test_rounds(2000);

	for (round = 0; round < rounds; round++) {
		struct mp_state mp = { .out = 0 };
		u64 want[MP_SLOTS] = { 0 };
		bool was[MP_SLOTS] = { 0 };
		u32 slot, i;

		for (slot = 0; slot < MP_SLOTS; slot++)
			mp_method(&mp, MP_PM_CONTROL(slot),
				  random_below(&r, 2) | random_below(&r, MP_UNITS) << 4 |
					  random_below(&r, 0x10000) << 8 |
					  random_below(&r, 8) << 24);
		for (i = 0; i < 30; i++) {
			const u64 clocks = 1 + random_below(&r, 5);
			struct mp_signals s = { { { { 0 } } } };
			u32 args = 0, unit;

			for (unit = 0; unit < MP_UNITS; unit++)
				s.unit[unit].bits[0] = random_below(&r, 256);
			for (slot = 0; slot < MP_SLOTS; slot++)
				args |= (s.unit[mp.control[slot] >> 4 & 7].bits[0] >>
						 (mp.control[slot] >> 24) &
					 1)
					<< slot;
			for (slot = 0; slot < MP_SLOTS; slot++) {
				const bool on = mp.control[slot] >> 8 >> args & 1;

				want[slot] += mp.control[slot] & 1 ? on && !was[slot] : on * clocks;
				was[slot] = on;
			}
			mp_run(&mp, &s, clocks);
		}
		for (slot = 0; slot < MP_SLOTS; slot++)
			check_eq(mp.value[slot], want[slot]);
	}
}

TEST(mp_function_selects_its_own_signal)
{
	u32 slot, args;

	for (slot = 0; slot < MP_SLOTS; slot++)
		for (args = 0; args < 16; args++)
			check_eq(pm_table(mp_func_own(slot), args), args >> slot & 1);
}

TEST(mp_counters_saturate_and_can_be_set)
{
	struct mp_signals s = { { { { BIT(2) } } } };
	struct mp_state mp = { .out = 0 };

	mp_method(&mp, MP_PM_CONTROL(1), 2u << 24 | (u32)mp_func_own(1) << 8);
	mp_method(&mp, MP_PM_SET(1), 0xfffffff0);
	mp_run(&mp, &s, 10);
	check_eq(mp.value[1], 0xfffffffa);
	mp_run(&mp, &s, 10);
	check_eq(mp.value[1], 0xffffffff);
	mp_method(&mp, MP_PM_SET(1), 0);
	mp_run(&mp, &s, 10);
	check_eq(mp.value[1], 10);
	check_eq(mp.value[0], 0);
}
