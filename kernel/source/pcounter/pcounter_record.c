// SPDX-License-Identifier: GPL-2.0
/*
 * Packet memory of RECORD mode.
 */
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "pcounter_record.h"

/**
 * DOC: packets
 *
 * The hardware writes packets sequentially until it has passed the limit. The memory of a domain
 * has two halves. Before a batch is read, the hardware is switched to the half that is empty::
 *
 *     half 0   p p p p p p p . . .      written since the last batch
 *     half 1   . . . . . . . . . .      all zero
 *                                       RECORD_START := half 1, then PM_TRIGGER
 *     half 0   p p p p p p p . . .      complete: the packet below was written later
 *     half 1   T . . . . . . . . .      counts since the last p
 *
 *     the batch: all p, then T. Packets are zeroed after reading; the next batch begins
 *     after T and ends in half 0.
 *
 * A packet is thus never overwritten and always has room, even if the hardware writes one while
 * RECORD_START is written. A packet is never zero: it has clocks or a STOP pulse. The old half ends
 * with the first zero packet. The new half is read up to the position in RECORD_STATUS: a packet
 * that is being written there may have its clocks in memory but not its counters. Reads never leave
 * the halves, whatever memory or the register contains.
 *
 * If the hardware was switched too late, half 0 is full and T has everything since: several STOP
 * pulses, and counters that may have saturated.
 *
 * If the hardware does not report its position until half 1 is full as well, neither half is
 * empty. The batch then ends with the last packet in half 1, whose time follows from its clocks.
 * T is written into half 0 when all of it has been read, and is the next batch.
 *
 * A packet has clocks but no time. The start and end time of a batch are known; they are
 * interpolated by clocks. A change of frequency displaces packets by less than the length of the
 * batch, and never the batch itself.
 */

/**
 * pcounter_record_fits() - whether the counters of a schedule can be recorded
 * @s: the schedule
 *
 * MP counters have no such mode, and one of the four counters of a domain causes the packets.
 *
 * Returns: true if they can.
 */
bool pcounter_record_fits(const struct pcounter_schedule *s)
{
	const struct pcounter_pass *pass = &s->passes[0];
	unsigned int d;

	if (s->count != 1 || pass->mp)
		return false;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (pass->simple[d] > PCOUNTER_RECORD_SLOTS)
			return false;
	return true;
}

/**
 * pcounter_record_periodic() - choose the rate of packets
 * @hz: clock of the domain
 * @period_ns: the session's
 *
 * Returns: k of the longest PERIODIC that is not longer than @period_ns, or the shortest.
 */
unsigned int pcounter_record_periodic(u64 hz, u64 period_ns)
{
	const u64 clocks = mul_u64_u64_div_u64(hz, period_ns, NSEC_PER_SEC);
	unsigned int k = PCOUNTER_PERIODIC_MAX;

	while (k && PCOUNTER_PERIODIC_CLOCKS(k) > clocks)
		k--;
	return k;
}

/**
 * pcounter_record_init() - initialise with empty memory
 * @r: the packets
 * @mem: memory that the hardware does not write yet
 * @bytes: of @mem: two or more packets for each half
 */
void pcounter_record_init(struct pcounter_record *r, void *mem, u32 bytes)
{
	const u32 half_bytes = bytes / 2;

	*r = (struct pcounter_record) {
		.mem = mem,
		.half_bytes = half_bytes - half_bytes % PCOUNTER_SHORT_BYTES,
	};
	memset(mem, 0, bytes);
}

/**
 * pcounter_record_start() - start of the half that the hardware is to write
 * @r: the packets
 *
 * Returns: a value for PCOUNTER_RECORD_START.
 */
u32 pcounter_record_start(const struct pcounter_record *r)
{
	return r->half * r->half_bytes + r->at[r->half];
}

/**
 * pcounter_record_limit() - position of the last packet with room
 * @r: the packets
 *
 * Returns: a value for PCOUNTER_RECORD_LIMIT.
 */
u32 pcounter_record_limit(const struct pcounter_record *r)
{
	return (r->half + 1) * r->half_bytes - PCOUNTER_SHORT_BYTES;
}

/**
 * pcounter_record_flip() - switch the hardware to the other half
 * @r: the packets, with nothing left of the last batch
 *
 * Returns: true: write the limit, then the start; false: already done, and no batch was read since.
 */
bool pcounter_record_flip(struct pcounter_record *r)
{
	if (r->flipped)
		return false;
	r->half = !r->half;
	r->at[r->half] = 0;
	r->written = 0;
	r->full = false;
	r->flipped = true;
	return true;
}

/**
 * pcounter_record_position() - process the hardware's position
 * @r: the packets, after pcounter_record_flip()
 * @position: from RECORD_STATUS
 *
 * Returns: true if there is a packet after pcounter_record_start(), so that all earlier ones are in
 * memory. False: not yet, or the position is invalid.
 */
bool pcounter_record_position(struct pcounter_record *r, u32 position)
{
	const u32 start = pcounter_record_start(r);

	if (position < start + PCOUNTER_SHORT_BYTES ||
	    position > (r->half + 1) * r->half_bytes)
		return false;
	r->written = position - r->half * r->half_bytes;
	r->full = r->written == r->half_bytes;
	return true;
}

static struct pcounter_packet *packet_at(const struct pcounter_record *r, unsigned int half)
{
	return (struct pcounter_packet *)(r->mem + half * r->half_bytes + r->at[half]);
}

static u64 cycles_of(u64 cycles_stop)
{
	return cycles_stop & PCOUNTER_RECORD_CYCLES;
}

/* end of the packets in a half, at most @end; adds up their clocks */
static u32 scan(struct pcounter_record *r, unsigned int half, u32 end)
{
	u32 at;

	for (at = r->at[half]; at + PCOUNTER_SHORT_BYTES <= end; at += PCOUNTER_SHORT_BYTES) {
		const struct pcounter_packet *packet =
			(const struct pcounter_packet *)(r->mem + half * r->half_bytes + at);
		const u64 cycles_stop = le64_to_cpu(READ_ONCE(packet->cycles_stop));
		unsigned int i;

		if (!cycles_stop)
			break;
		r->cycles += cycles_of(cycles_stop);
		for (i = 0; i < PCOUNTER_RECORD_SLOTS; i++)
			r->saturated |= le16_to_cpu(READ_ONCE(packet->counters[i])) == U16_MAX;
	}
	return at;
}

/* duration of @cycles, at most @most_ns */
static u64 span_of_clocks(u64 cycles, u64 hz, u64 most_ns)
{
	hz = min_t(u64, hz, PCOUNTER_MAX_HZ);
	if (cycles >= mul_u64_u64_div_u64(most_ns, hz, NSEC_PER_SEC))
		return most_ns;
	return mul_u64_u64_div_u64(cycles, NSEC_PER_SEC, hz);
}

/**
 * pcounter_record_batch() - make a batch of all packets so far
 * @r: the packets, after pcounter_record_position() returned true
 * @from_ns: end of the last batch
 * @now_ns: current time, at which the batch ends if all packets had room
 * @hz: clock of the domain
 */
void pcounter_record_batch(struct pcounter_record *r, u64 from_ns, u64 now_ns, u64 hz)
{
	r->from_ns = from_ns;
	r->span_ns = now_ns - min(from_ns, now_ns);
	r->cycles = 0;
	r->done_cycles = 0;
	r->saturated = false;
	r->end[!r->half] = scan(r, !r->half, r->half_bytes);
	r->end[r->half] = scan(r, r->half, r->written);
	r->flipped = false;
	if (r->full)
		r->span_ns = span_of_clocks(r->cycles, hz, r->span_ns);
}

static bool is_read(const struct pcounter_record *r, unsigned int half)
{
	return r->at[half] >= r->end[half];
}

/* limited to the end of the batch, as memory may have changed since it was scanned */
static u64 time_of(const struct pcounter_record *r, u64 cycles)
{
	if (!r->cycles || cycles >= r->cycles)
		return r->from_ns + r->span_ns;
	return r->from_ns + mul_u64_u64_div_u64(r->span_ns, cycles, r->cycles);
}

/* the half with the next packet of the batch, or -1 */
static int next_half(const struct pcounter_record *r)
{
	if (!is_read(r, !r->half))
		return !r->half;
	return is_read(r, r->half) ? -1 : r->half;
}

/**
 * pcounter_record_peek() - end time of the batch's next packet
 * @r: the packets
 * @end_ns: set to its time
 *
 * Returns: false if there is none.
 */
bool pcounter_record_peek(const struct pcounter_record *r, u64 *end_ns)
{
	const int half = next_half(r);

	if (half < 0)
		return false;
	*end_ns = time_of(r, r->done_cycles +
			  cycles_of(le64_to_cpu(READ_ONCE(packet_at(r, half)->cycles_stop))));
	return true;
}

/**
 * pcounter_record_take() - take the batch's next packet
 * @r: the packets
 * @counts: its contents
 *
 * Returns: false if there is none.
 */
bool pcounter_record_take(struct pcounter_record *r, struct pcounter_counts *counts)
{
	const int half = next_half(r);
	struct pcounter_packet *packet;
	u64 cycles_stop;
	unsigned int i;

	if (half < 0)
		return false;
	packet = packet_at(r, half);
	cycles_stop = le64_to_cpu(READ_ONCE(packet->cycles_stop));
	*counts = (struct pcounter_counts) {
		.cycles = cycles_of(cycles_stop),
		.stops = cycles_stop >> PCOUNTER_RECORD_STOP_SHIFT,
	};
	for (i = 0; i < PCOUNTER_RECORD_SLOTS; i++) {
		counts->counters[i] = le16_to_cpu(READ_ONCE(packet->counters[i]));
		counts->saturated |= (counts->counters[i] == U16_MAX) << i;
	}
	memset(packet, 0, PCOUNTER_SHORT_BYTES);

	r->done_cycles += counts->cycles;
	counts->end_ns = time_of(r, r->done_cycles);
	r->at[half] += PCOUNTER_SHORT_BYTES;
	return true;
}
