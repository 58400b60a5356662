/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model of PCOUNTER and of MP counters: registers and clocks, nothing else. Pure,
 * also built natively by kernel/tests/native. The caller serialises.
 */
#ifndef _PM_MODEL_H_
#define _PM_MODEL_H_

#include <linux/types.h>
#include "source/pcounter/pcounter_hw.h"

#define PM_WORDS (PCOUNTER_SIGNALS / 64)

/**
 * struct pm_signals - the wires of a domain in a clock
 */
struct pm_signals {
	/** @bits: signal n is bit n % 64 of word n / 64. */
	u64 bits[PM_WORDS];
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

/**
 * struct pm_counters - the counters of a domain that SWAP copies
 */
struct pm_counters {
	/** @ctr: by slot; 32 bits, saturating. */
	u32 ctr[PCOUNTER_SLOTS];
	/** @cycles: clocks, saturating. */
	u32 cycles;
};

/**
 * struct pm_domain - a clock domain
 */
struct pm_domain {
	/** @trailer: first of the 32 signals that each domain has. */
	u8 trailer;
	/** @src: registers, by enum pcounter_slot. */
	u32 src[PCOUNTER_SLOTS];
	/** @op: registers. */
	u32 op[PCOUNTER_INPUTS];
	/** @spec_src: register. */
	u32 spec_src;
	/** @ctrl: register. */
	u32 ctrl;
	/** @threshold: register. */
	u32 threshold;
	/** @shadow: counting. */
	struct pm_counters shadow;
	/** @visible: what the registers read. */
	struct pm_counters visible;
	/** @status: enum pcounter_quad_status or enum pcounter_single_status. */
	u32 status;
	/** @swap: a write asked for a swap before the next clock. */
	bool swap;
	/** @trigger: PM_TRIGGER pulses in the next clock. */
	bool trigger;
	/** @last: signals of the last clock. */
	struct pm_signals last;
	/** @event: output of EVENT in the last clock. */
	bool event;
	/** @flag: the flag. */
	bool flag;
	/** @flag_wire: what FLAG is in the next clock: the flag a clock ago. */
	bool flag_wire;
	/** @edges: other domains' EVENT and FLAG that rose since the last clock; see import. */
	u16 edges;
	/**
	 * @import: what is on its way from other domains, EVENT of domain n is bit n, its FLAG
	 * bit 8 + n: of the last clock, of the one before.
	 */
	u16 import[2];
	/** @periodic: clocks since PERIODIC pulsed. */
	u32 periodic;
	/** @clocks: all clocks there were. */
	u64 clocks;

	/** @pre_init: SINGLE: CTR_PRE as it was written. */
	u32 pre_init;
	/** @stop_init: SINGLE: CTR_STOP as it was written. */
	u32 stop_init;

	/** @mem: RECORD: memory of the packets. */
	u8 *mem;
	/** @mem_bytes: bytes of @mem. */
	u32 mem_bytes;
	/** @record_start: register. */
	u32 record_start;
	/** @record_limit: register. */
	u32 record_limit;
	/** @record_at: where the next packet goes. */
	u32 record_at;
	/** @overrun: a packet was written at or behind the limit. */
	bool overrun;
	/** @pending: a packet is due and could not be written. */
	bool pending;
	/** @stop_settled: the STOP pulse of the next clock was counted already. */
	bool stop_settled;
	/** @record: counters of the next packet. */
	u16 record[PCOUNTER_LONG_COUNTERS];
	/** @record_cycles: since the last packet; 48 bits. */
	u64 record_cycles;
	/** @record_stops: STOP pulses since then. */
	u32 record_stops;
};

/**
 * struct pm_model - PCOUNTER of a GPU
 */
struct pm_model {
	/** @domains: the clock domains. */
	struct pm_domain domains[PCOUNTER_DOMAINS];
	/** @gctrl: register; bits that stay. */
	u32 gctrl;
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

/**
 * struct pm_wave - something that happens on some wires for a while
 */
struct pm_wave {
	/** @from: first clock. */
	u64 from;
	/** @to: clock behind the last one. */
	u64 to;
	/** @set: signals that are 1 meanwhile. */
	struct pm_signals set;
	/** @clear: signals that are 0 meanwhile. */
	struct pm_signals clear;
};

#define PM_WAVES_MAX 32

void pm_run_waves(struct pm_model *pm, unsigned int domain, const struct pm_signals *idle,
		  const struct pm_wave *waves, unsigned int count, u64 clocks);

/* --- MP counters -------------------------------------------------------------- */

/**
 * struct mp_state - the MP counters of a TPC in a context
 */
struct mp_state {
	/** @control: registers. */
	u32 control[MP_SLOTS];
	/** @value: registers; saturating. */
	u32 value[MP_SLOTS];
	/** @out: outputs of the last clock, a bit for each slot. */
	u8 out;
};

/**
 * struct mp_signals - the wires of a TPC in a clock
 */
struct mp_signals {
	/** @unit: by unit. */
	struct pm_signals unit[MP_UNITS];
};

void mp_method(struct mp_state *mp, u32 method, u32 value);
void mp_run(struct mp_state *mp, const struct mp_signals *signals, u64 clocks);

#endif /* _PM_MODEL_H_ */
