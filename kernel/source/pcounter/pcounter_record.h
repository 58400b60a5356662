/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that RECORD mode fills with packets. Also built natively by kernel/tests.
 */
#ifndef _PCOUNTER_RECORD_H_
#define _PCOUNTER_RECORD_H_

#include <linux/types.h>
#include "pcounter_hw.h"
#include "pcounter_sched.h"

/* counters of a domain in RECORD mode: STOP makes the packets */
#define PCOUNTER_RECORD_SLOTS	3
/* longest period to record for: above, collecting by timer costs less */
#define PCOUNTER_RECORD_PERIOD_NS_MAX	500000
/* fastest clock of a domain */
#define PCOUNTER_MAX_HZ		1500000000ULL

/* the packets of a domain */
struct pcounter_record {
	u8 *mem;	/* two halves of @half_bytes; the hardware writes it at any time */
	u32 half_bytes;	/* bytes of each half */
	u8 half;	/* the one that the hardware writes */
	bool flipped;	/* the other half is full of packets that were not read yet */
	u32 written;	/* where the packets in @half ended when the hardware was asked, in bytes */
	bool full;	/* that was the end of @half: later counts are in no packet */
	u32 at[2];	/* of each half, the next packet to read, in bytes */
	u32 end[2];	/* of each half, where this batch ends, in bytes */

	u64 from_ns;		/* when the batch begins */
	u64 span_ns;		/* how long it is */
	u64 cycles;		/* clocks of all its packets */
	u64 done_cycles;	/* clocks of those that were read */
	bool saturated;		/* counts are lost in this batch */
};

/* contents of a packet */
struct pcounter_counts {
	u64 end_ns;	/* when its last clock was, between those of its batch */
	u64 cycles;	/* clocks */
	u16 stops;	/* STOP pulses; 0: a counter was full; above 1: packets that had no room */
	u16 counters[PCOUNTER_RECORD_SLOTS];	/* by enum pcounter_slot */
	u8 saturated;	/* mask of those that are at their maximum: counts are lost */
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
