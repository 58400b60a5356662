// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of RECORD mode: each packet of the model is read once and in order, and invalid memory is
 * read within bounds.
 */
#include "kernel.h"
#include "pcounter_record.h"
#include "pm_model.h"
#include "test.h"

#define DOMAIN		1
#define TRAILER		0xe0
#define PACKETS		64	/* of each half */
#define HALF_BYTES	(PACKETS * PCOUNTER_SHORT_BYTES)
/* length of a clock */
#define CLOCK_NS	7
#define CLOCK_HZ		(NSEC_PER_SEC / CLOCK_NS)

static struct pm_model pm;
static struct pcounter_record packets;
/* canaries before and after it */
static u8 memory[4 * HALF_BYTES];
#define MEMORY (memory + HALF_BYTES)

static struct {
	u64 counters[PCOUNTER_RECORD_SLOTS];
	u64 clocks, end_ns, packets, merged, saturated;
} sum, truth;

static void send_to(const struct pcounter_record *r)
{
	pm_write(&pm, PCOUNTER_RECORD_LIMIT(DOMAIN), pcounter_record_limit(r));
	pm_write(&pm, PCOUNTER_RECORD_START(DOMAIN), pcounter_record_start(r));
}

/* counters: wires 0, 1, and with EVENT_B4 the integer on wires 2..5 while wire 6 is 1 */
static void begin(u32 k)
{
	memset(&sum, 0, sizeof(sum));
	memset(&truth, 0, sizeof(truth));
	memset(memory, 0x5a, sizeof(memory));
	pcounter_record_init(&packets, MEMORY, 2 * HALF_BYTES);
	pm_init(&pm);
	pm_set_memory(&pm, DOMAIN, MEMORY, 2 * HALF_BYTES);
	pm_write(&pm, PCOUNTER_SRC(DOMAIN, PCOUNTER_PRE), 0);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_PRE), 0xaaaa);
	pm_write(&pm, PCOUNTER_SRC(DOMAIN, PCOUNTER_START), 0x05040302);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_START), 0xaaaa);
	pm_write(&pm, PCOUNTER_SRC(DOMAIN, PCOUNTER_EVENT), 6);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_EVENT), 0xaaaa);
	pm_write(&pm, PCOUNTER_SRC(DOMAIN, PCOUNTER_STOP),
		 (TRAILER + PCOUNTER_TRAILER_PERIODIC) |
		 (TRAILER + PCOUNTER_TRAILER_PM_TRIGGER) << 8);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_STOP), 0xeeee);
	send_to(&packets);
	pm_write(&pm, PCOUNTER_CTRL(DOMAIN),
		 PCOUNTER_MODE_RECORD | PCOUNTER_CTRL_RECORD_SHORT |
		 PCOUNTER_EVENT_B4 << PCOUNTER_CTRL_COUNT_SHIFT |
		 PCOUNTER_CTRL_PERIODIC_OF(k));
	pm_write(&pm, PCOUNTER_GCTRL, PCOUNTER_GCTRL_PERIODIC_RESET);
	pm_write(&pm, PCOUNTER_GCTRL, 0);
}

static void drive(u64 bits, u64 clocks)
{
	struct pm_signals s = { { bits } };

	pm_run(&pm, DOMAIN, &s, clocks);
	truth.counters[0] += (bits & 1) * clocks;
	truth.counters[1] += (bits >> 2 & 1) * clocks;
	truth.counters[2] += (bits >> 6 & 1) * (bits >> 2 & 15) * clocks;
	truth.clocks += clocks;
}

static void drive_randomly(struct random_state *r, u64 clocks)
{
	while (clocks) {
		const u64 n = min(clocks, 1 + random_u64(r) % (1 << random_below(r, 16)));

		drive(random_u64(r), n);
		clocks -= n;
	}
}

static void take_all(void)
{
	struct pcounter_counts c;
	u64 end_ns;
	u32 i;

	while (pcounter_record_peek(&packets, &end_ns)) {
		check(pcounter_record_take(&packets, &c));
		check_eq(c.end_ns, end_ns);
		check(c.end_ns >= sum.end_ns);
		sum.end_ns = c.end_ns;
		sum.clocks += c.cycles;
		sum.packets++;
		sum.merged += c.stops > 1;
		sum.saturated += c.saturated & 1;
		for (i = 0; i < PCOUNTER_RECORD_SLOTS; i++)
			sum.counters[i] += c.counters[i];
	}
	check(!pcounter_record_take(&packets, &c));
}

/* a packet with all clocks until now, and the hardware's position */
static void cut(void)
{
	pm_write(&pm, PGRAPH_PM_TRIGGER, PGRAPH_PM_TRIGGER_PULSE);
	check(pcounter_record_position(&packets, pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)) &
						 PCOUNTER_RECORD_POSITION));
}

/* as the source does */
static void collect(void)
{
	const u64 from_ns = sum.end_ns, to_ns = truth.clocks * CLOCK_NS;

	check(pcounter_record_flip(&packets));
	send_to(&packets);
	check(!pcounter_record_position(&packets, pcounter_record_start(&packets)));
	cut();
	pcounter_record_batch(&packets, from_ns, to_ns, CLOCK_HZ);
	take_all();
	check_eq(sum.end_ns, to_ns);
}

static void check_sums(void)
{
	u32 i;

	check_eq(sum.clocks, truth.clocks);
	for (i = 0; i < PCOUNTER_RECORD_SLOTS; i++)
		check_eq(sum.counters[i], truth.counters[i]);
}

static void check_canaries(void)
{
	u32 i, changed = 0;

	for (i = 0; i < HALF_BYTES; i++)
		changed += (memory[i] != 0x5a) + (memory[3 * HALF_BYTES + i] != 0x5a);
	check_eq(changed, 0);
}

TEST(packets_add_up_to_the_true_counts)
{
	struct random_state r = { test_seed() };
	unsigned long round, rounds = test_rounds(200);
	u32 n;

	for (round = 0; round < rounds; round++) {
		begin(random_below(&r, 4));
		for (n = 0; n < 20; n++) {
			drive_randomly(&r, random_below(&r, 20000));
			collect();
			check_sums();
		}
		check_canaries();
	}
	check(sum.packets > 20);
}

TEST(packets_last_one_period)
{
	struct pcounter_counts c;
	u64 clocks = 0;
	u32 i;

	begin(2);
	drive(1, 10 * PCOUNTER_PERIODIC_CLOCKS(2) + 100);
	pcounter_record_flip(&packets);
	send_to(&packets);
	cut();
	pcounter_record_batch(&packets, 5000, 5000 + truth.clocks * CLOCK_NS, CLOCK_HZ);
	for (i = 0; i < 10; i++) {
		check(pcounter_record_take(&packets, &c));
		/* the next packet has the clock of the pulse */
		check_eq(c.cycles, PCOUNTER_PERIODIC_CLOCKS(2) - !i);
		check_eq(c.stops, 1);
		clocks += c.cycles;
		check_eq(c.end_ns, 5000 + clocks * CLOCK_NS);
	}
	check(pcounter_record_take(&packets, &c));
	check_eq(c.cycles, 101);
	check_eq(c.end_ns, 5000 + truth.clocks * CLOCK_NS);
	check(!pcounter_record_take(&packets, &c));
}

TEST(packet_of_a_trigger_is_counted_once)
{
	u32 with_clocks;

	for (with_clocks = 0; with_clocks < 2; with_clocks++) {
		begin(6);
		drive(1, 100);
		pm_write(&pm, PGRAPH_PM_TRIGGER, PGRAPH_PM_TRIGGER_PULSE);
		if (!with_clocks)
			check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)),
				 PCOUNTER_SHORT_BYTES);
		drive(1, 10);
		check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), PCOUNTER_SHORT_BYTES);
		collect();
		check_sums();
		check_eq(sum.packets, 2);
	}
	/* twice between two clocks: the second packet is empty */
	begin(6);
	drive(1, 100);
	collect();
	collect();
	check_eq(sum.packets, 2);
	drive(1, 10);
	collect();
	check_eq(sum.packets, 3);
	check_sums();
	/* without a source of STOP, reading the position writes no packet */
	begin(6);
	pm_write(&pm, PCOUNTER_OP(DOMAIN, PCOUNTER_STOP), 0x8888);
	drive(1, 100);
	pm_write(&pm, PGRAPH_PM_TRIGGER, PGRAPH_PM_TRIGGER_PULSE);
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 0);
	drive(1, 10);
	check_eq(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)), 0);
}

TEST(packets_without_room_are_merged)
{
	begin(0);
	/* all packets of a half, and four more: their counts are far from saturation */
	drive(1, (PACKETS + 4) * PCOUNTER_PERIODIC_CLOCKS(0));
	check(pm_read(&pm, PCOUNTER_RECORD_STATUS(DOMAIN)) & PCOUNTER_RECORD_OVERRUN);
	collect();
	check_sums();
	check_eq(sum.packets, PACKETS + 1);
	check_eq(sum.merged, 1);
	check_eq(sum.saturated, 0);
	/* the next packets are not merged */
	drive(1, 3 * PCOUNTER_PERIODIC_CLOCKS(0));
	collect();
	check_sums();
	check_eq(sum.merged, 1);
	check_canaries();
}

TEST(saturation_without_room_is_reported)
{
	begin(0);
	drive(1, (PACKETS + 200) * PCOUNTER_PERIODIC_CLOCKS(0));
	collect();
	check_eq(sum.saturated, 1);
	check_eq(sum.clocks, truth.clocks);
	/* at least a full counter */
	check(sum.counters[0] < truth.counters[0]);
	check(sum.counters[0] >= 0xffff);
	truth = sum;
	drive(1, 3 * PCOUNTER_PERIODIC_CLOCKS(0));
	collect();
	check_sums();
	check_eq(sum.saturated, 1);
}

/* the hardware records between the end of a batch and its reading */
TEST(packets_after_the_batch_are_in_the_next)
{
	struct random_state r = { test_seed() + 1 };
	unsigned long round, rounds = test_rounds(200);
	u32 n;

	for (round = 0; round < rounds; round++) {
		begin(random_below(&r, 3));
		for (n = 0; n < 20; n++) {
			const u64 clocks = truth.clocks + random_below(&r, 5000);

			drive_randomly(&r, clocks - truth.clocks);
			pcounter_record_flip(&packets);
			send_to(&packets);
			cut();
			pcounter_record_batch(&packets, sum.end_ns, clocks * CLOCK_NS, CLOCK_HZ);
			drive_randomly(&r, random_below(&r, 3000));
			take_all();
			check_eq(sum.clocks, clocks);
			check_eq(sum.end_ns, clocks * CLOCK_NS);
		}
		collect();
		check_sums();
	}
}

/* after an unanswered trigger written packets are kept */
TEST(second_flip_keeps_unread_packets)
{
	begin(0);
	drive(1, 5 * PCOUNTER_PERIODIC_CLOCKS(0));
	pcounter_record_flip(&packets);
	send_to(&packets);
	drive(1, 5 * PCOUNTER_PERIODIC_CLOCKS(0));
	check(!pcounter_record_flip(&packets));
	cut();
	pcounter_record_batch(&packets, 0, truth.clocks * CLOCK_NS, CLOCK_HZ);
	take_all();
	check_sums();
}

/* no answer until both halves are full: later counts have their own batch and time */
TEST(counts_beyond_both_halves_are_in_the_next_batch)
{
	const u32 silent = PACKETS + 3;
	u64 full_ns;

	begin(0);
	drive(1, 5 * PCOUNTER_PERIODIC_CLOCKS(0));
	pcounter_record_flip(&packets);
	send_to(&packets);
	check(!packets.full);
	/* the first clocks of the new half are those of the last packet in the old one */
	drive(1, silent * PCOUNTER_PERIODIC_CLOCKS(0));
	check(!pcounter_record_flip(&packets));
	cut();
	check(packets.full);
	pcounter_record_batch(&packets, 1000, 1000 + truth.clocks * CLOCK_NS, CLOCK_HZ);
	take_all();
	check(sum.clocks < truth.clocks);
	full_ns = 1000 + sum.clocks * CLOCK_NS;
	/* CLOCK_HZ is rounded, so a clock is not exactly CLOCK_NS long */
	check(sum.end_ns <= full_ns + 1 && sum.end_ns + 1000 >= full_ns);
	collect();
	check(!packets.full);
	check_sums();
	check_eq(sum.merged, 1);
	check_canaries();
}

/* even if the clock is slower than stated, or its frequency is unknown */
TEST(full_batch_ends_by_now)
{
	static const u64 clocks_hz[] = { 0, 1, CLOCK_HZ / 2, CLOCK_HZ, 2 * CLOCK_HZ, U64_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks_hz); i++) {
		u64 now_ns;

		begin(0);
		pcounter_record_flip(&packets);
		send_to(&packets);
		drive(1, (PACKETS + 8) * PCOUNTER_PERIODIC_CLOCKS(0));
		cut();
		check(packets.full);
		now_ns = truth.clocks * CLOCK_NS;
		pcounter_record_batch(&packets, 0, now_ns, clocks_hz[i]);
		take_all();
		check(sum.end_ns > 0 && sum.end_ns <= now_ns);
		check_eq(sum.end_ns == now_ns, clocks_hz[i] < CLOCK_HZ);
	}
}

/* a device may have written the clocks of a packet and not yet its counters */
TEST(incomplete_packet_is_in_the_next_batch)
{
	struct pcounter_packet *late;

	begin(0);
	drive(1, 3 * PCOUNTER_PERIODIC_CLOCKS(0));
	pcounter_record_flip(&packets);
	send_to(&packets);
	cut();
	late = (struct pcounter_packet *)(MEMORY + pcounter_record_start(&packets) +
					  PCOUNTER_SHORT_BYTES);
	check_eq(late->cycles_stop, 0);
	late->cycles_stop = 1000 | 1ull << PCOUNTER_RECORD_STOP_SHIFT;
	pcounter_record_batch(&packets, 0, truth.clocks * CLOCK_NS, CLOCK_HZ);
	take_all();
	check_sums();
	late->counters[0] = 900;
	truth.counters[0] += 900;
	truth.clocks += 1000;
	pcounter_record_flip(&packets);
	send_to(&packets);
	cut();
	pcounter_record_batch(&packets, sum.end_ns, truth.clocks * CLOCK_NS, CLOCK_HZ);
	take_all();
	check_sums();
}

TEST(positions_outside_the_half_are_refused)
{
	u32 n, start;

	begin(0);
	for (n = 0; n < 2; n++) {
		pcounter_record_flip(&packets);
		start = pcounter_record_start(&packets);
		check(!pcounter_record_position(&packets, 0));
		check(!pcounter_record_position(&packets, start));
		check(!pcounter_record_position(&packets, start + PCOUNTER_SHORT_BYTES - 1));
		check(pcounter_record_position(&packets, start + PCOUNTER_SHORT_BYTES));
		check(pcounter_record_position(&packets, start + HALF_BYTES));
		check(!pcounter_record_position(&packets, start + HALF_BYTES + 1));
		check(!pcounter_record_position(&packets, U32_MAX));
		pcounter_record_batch(&packets, 0, 0, CLOCK_HZ);
		check(!pcounter_record_peek(&packets, &(u64){ 0 }));
	}
}

TEST(saturated_batch_is_marked_before_reading)
{
	begin(0);
	/* more than 64 packets, and then more than a counter has room for */
	drive(1, (PACKETS + 80) * PCOUNTER_PERIODIC_CLOCKS(0));
	pcounter_record_flip(&packets);
	send_to(&packets);
	cut();
	pcounter_record_batch(&packets, 0, truth.clocks * CLOCK_NS, CLOCK_HZ);
	check(packets.saturated);
	take_all();
	check_eq(sum.saturated, 1);
	check_eq(sum.clocks, truth.clocks);
	drive(1, PCOUNTER_PERIODIC_CLOCKS(0));
	pcounter_record_flip(&packets);
	send_to(&packets);
	cut();
	pcounter_record_batch(&packets, sum.end_ns, truth.clocks * CLOCK_NS, CLOCK_HZ);
	check(!packets.saturated);
}

static void spoil(struct random_state *r)
{
	packets.mem[random_below(r, 2 * packets.half_bytes)] = random_u64(r);
}

TEST(random_packets_are_read_within_bounds)
{
	struct random_state r = { test_seed() + 2 };
	unsigned long round, rounds = test_rounds(2000);

	for (round = 0; round < rounds; round++) {
		const u64 from_ns = random_u64(&r) >> 8, to_ns = from_ns + (random_u64(&r) >> 20);
		struct pcounter_counts c;
		u64 last_ns = from_ns;
		u32 i, n, taken = 0;

		/* also sizes that are no multiple of a packet */
		begin(0);
		pcounter_record_init(&packets, MEMORY, 2 * HALF_BYTES - random_below(&r, 64));
		for (n = 0; n < 4; n++) {
			const u32 junk = random_below(&r, 2 * HALF_BYTES);

			for (i = 0; i < junk; i++)
				spoil(&r);
			pcounter_record_flip(&packets);
			check(pcounter_record_limit(&packets) <=
			      2 * HALF_BYTES - PCOUNTER_SHORT_BYTES);
			check(pcounter_record_start(&packets) <= pcounter_record_limit(&packets));
			pcounter_record_position(&packets, random_below(&r, 2 * HALF_BYTES + 64));
			pcounter_record_batch(&packets, from_ns, to_ns, CLOCK_HZ);
			last_ns = from_ns;
			taken = 0;
			while (pcounter_record_take(&packets, &c)) {
				check(c.end_ns >= last_ns && c.end_ns <= to_ns);
				last_ns = c.end_ns;
				check(c.cycles <= PCOUNTER_RECORD_CYCLES);
				check(++taken <= 2 * PACKETS);
				/* memory changes while it is read */
				spoil(&r);
			}
		}
		check_canaries();
	}
	/* a batch that ends before it begins is empty */
	pcounter_record_init(&packets, MEMORY, 2 * HALF_BYTES);
	pcounter_record_flip(&packets);
	pcounter_record_batch(&packets, 100, 50, CLOCK_HZ);
	check(!pcounter_record_peek(&packets, &(u64){ 0 }));
}

TEST(periods_are_the_longest_that_fit)
{
	check_eq(pcounter_record_periodic(1000000000, 1024), 0);
	check_eq(pcounter_record_periodic(1000000000, 2047), 0);
	check_eq(pcounter_record_periodic(1000000000, 2048), 1);
	check_eq(pcounter_record_periodic(1000000000, 65535), 5);
	check_eq(pcounter_record_periodic(1000000000, 65536), 6);
	check_eq(pcounter_record_periodic(1000000000, 3600000000000ull), 6);
	/* the shortest period */
	check_eq(pcounter_record_periodic(1000000, 10000), 0);
	check_eq(pcounter_record_periodic(0, 10000), 0);
}

TEST(only_one_pass_without_mp_can_be_recorded)
{
	static struct pcounter_schedule s;

	check(!pcounter_record_fits(&s));
	s.count = 1;
	s.passes[0].simple[3] = PCOUNTER_RECORD_SLOTS;
	s.passes[0].integer[2] = 1;
	check(pcounter_record_fits(&s));
	s.passes[0].simple[3]++;
	check(!pcounter_record_fits(&s));
	s.passes[0].simple[3]--;
	s.passes[0].mp = 1;
	check(!pcounter_record_fits(&s));
	s.passes[0].mp = 0;
	s.count = 2;
	check(!pcounter_record_fits(&s));
}
