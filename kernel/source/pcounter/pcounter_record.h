/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet memory of RECORD mode. kernel/tests builds it natively, too.
 */
#ifndef _PCOUNTER_RECORD_H_
#define _PCOUNTER_RECORD_H_

#include <linux/types.h>
#include "pcounter_hw.h"
#include "pcounter_sched.h"

/* counters of a domain in RECORD mode; the fourth, STOP, causes the packets */
#define PCOUNTER_RECORD_SLOTS	3
/* longest period to record for; above it, a timer is cheaper */
#define PCOUNTER_RECORD_PERIOD_NS_MAX	500000
/* fastest clock of a domain */
#define PCOUNTER_MAX_HZ		1500000000ULL

/* the packets of a domain */
struct pcounter_record {
	u8 *mem;	/* two halves of @half_bytes; the hardware writes it at any time */
	u32 half_bytes;	/* bytes of each half */
	u8 half;	/* half that the hardware writes */
	bool flipped;	/* the other half has unread packets */
	u32 written;	/* end of the packets in @half as last reported, in bytes */
	bool full;	/* packets have filled @half: later counts are not in a packet */
	u32 at[2];	/* position of the next unread packet in each half, in bytes */
	u32 end[2];	/* end of this batch in each half, in bytes */

	u64 from_ns;		/* start of the batch */
	u64 span_ns;		/* its duration */
	u64 cycles;		/* clocks of all packets in the batch */
	u64 done_cycles;	/* clocks of packets already read */
	bool saturated;		/* counts are lost in this batch */
};

/* contents of a packet */
struct pcounter_counts {
	u64 end_ns;	/* time of its last clock, interpolated in the batch */
	u64 cycles;	/* clocks */
	u16 stops;	/* STOP pulses; 0: a counter was full; above 1: packets without room */
	u16 counters[PCOUNTER_RECORD_SLOTS];	/* by enum pcounter_slot */
	u8 saturated;	/* mask of counters at their maximum: counts are lost */
};

bool pcounter_record_fits(const struct pcounter_schedule *s);
unsigned int pcounter_record_periodic(u64 hz, u64 period_ns);

void pcounter_record_init(struct pcounter_record *r, void *mem, u32 bytes);
u32 pcounter_record_start(const struct pcounter_record *r);
u32 pcounter_record_limit(const struct pcounter_record *r);
bool pcounter_record_flip(struct pcounter_record *r);
bool pcounter_record_position(struct pcounter_record *r, u32 position);
void pcounter_record_batch(struct pcounter_record *r, u64 from_ns, u64 now_ns, u64 hz);
bool pcounter_record_peek(const struct pcounter_record *r, u64 *end_ns);
bool pcounter_record_take(struct pcounter_record *r, struct pcounter_counts *counts);

#endif /* _PCOUNTER_RECORD_H_ */
