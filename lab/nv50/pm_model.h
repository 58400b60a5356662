/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model of PCOUNTER and of MP counters: registers and clocks only. Free of kernel interfaces:
 * kernel/tests/native builds it, too. The caller serialises.
 */
#ifndef _PM_MODEL_H_
#define _PM_MODEL_H_

#include <linux/types.h>
#include "source/pcounter/pcounter_hw.h"

#define PM_WORDS (PCOUNTER_SIGNALS / 64)

/* the wires of a domain in a clock */
struct pm_signals {
	u64 bits[PM_WORDS];	/* signal n is bit n % 64 of word n / 64 */
};

static inline bool pm_signal(const struct pm_signals *s, u8 n)
{
	return s->bits[n / 64] >> (n % 64) & 1;
}

static inline void pm_signal_set(struct pm_signals *s, u8 n, bool on)
{
	const u64 bit = 1ull << (n % 64);

	s->bits[n / 64] = (s->bits[n / 64] & ~bit) | (on ? bit : 0);
}

/* counters of a domain that SWAP copies */
struct pm_counters {
	u32 ctr[PCOUNTER_SLOTS];	/* by slot; 32 bits, saturating */
	u32 cycles;			/* clocks, saturating */
};

struct pm_domain {
	u8 trailer;			/* first of the 32 signals that every domain has */
	u32 src[PCOUNTER_SLOTS];	/* registers, by enum pcounter_slot */
	u32 op[PCOUNTER_SLOTS];		/* registers */
	u32 spec_src;			/* register */
	u32 ctrl;			/* register */
	struct pm_counters shadow;	/* counting */
	struct pm_counters visible;	/* visible through the registers */
	u32 status;			/* enum pcounter_quad_status */
	bool swap;			/* swap requested before the next clock */
	bool trigger;			/* PM_TRIGGER pulses in the next clock */
	u32 periodic;	/* clocks since the last PERIODIC pulse */

	u8 *mem;		/* RECORD: memory of the packets */
	u32 mem_bytes;
	u32 record_start;	/* register */
	u32 record_limit;	/* register */
	u32 record_at;		/* offset of the next packet */
	bool overrun;		/* a packet was written at or beyond the limit */
	bool pending;		/* a packet is due and could not be written */
	bool stop_settled;	/* the STOP pulse of the next clock has been counted */
	u16 record[PCOUNTER_STOP];	/* counters of the next packet */
	u64 record_cycles;	/* since the last packet; 48 bits */
	u32 record_stops;	/* STOP pulses since the last packet */
};

struct pm_model {
	struct pm_domain domains[PCOUNTER_DOMAINS];
	u32 gctrl;					/* register; persistent bits */
};

void pm_init(struct pm_model *pm);
void pm_set_memory(struct pm_model *pm, unsigned int domain, void *mem, u32 bytes);
void pm_write(struct pm_model *pm, u32 reg, u32 value);
u32 pm_read(struct pm_model *pm, u32 reg);
void pm_run(struct pm_model *pm, unsigned int domain, const struct pm_signals *signals, u64 clocks);

/* the output of a table; @args: ARG0 | ARG1 << 1 | ... */
static inline bool pm_table(u32 op, unsigned int args)
{
	return (op & PCOUNTER_OP_TABLE) >> args & 1;
}

/* a temporary change of some wires */
struct pm_wave {
	u64 from;			/* first clock */
	u64 to;				/* first clock after it */
	struct pm_signals set;		/* signals that are 1 during the wave */
	struct pm_signals clear;	/* signals that are 0 during the wave */
};

#define PM_WAVES_MAX 32

void pm_run_waves(struct pm_model *pm, unsigned int domain, const struct pm_signals *idle,
		  const struct pm_wave *waves, unsigned int count, u64 clocks);

/* --- MP counters -------------------------------------------------------------- */

/* the MP counters of a TPC in a context */
struct mp_state {
	u32 control[MP_SLOTS];	/* registers */
	u32 value[MP_SLOTS];	/* registers; saturating */
	u8 out;			/* outputs of the last clock, a bit for each slot */
};

/* the wires of a TPC in a clock */
struct mp_signals {
	struct pm_signals unit[MP_UNITS];	/* by unit */
};

void mp_method(struct mp_state *mp, u32 method, u32 value);
void mp_run(struct mp_state *mp, const struct mp_signals *signals, u64 clocks);

#endif /* _PM_MODEL_H_ */
