/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The MP counters of a GPU: those that contexts program with methods of their jobs, and those of
 * the driver, in slots that the running context leaves free. The caller serialises.
 */
#ifndef _NV50_MP_H_
#define _NV50_MP_H_

#include <linux/types.h>
#include "pm_model.h"
#include "engine/vsoc_rules.h"

/* saved MP counters of a context that is not running */
struct nv50_mp_context {
	struct mp_state tpc[VSOC_MAX_CORES];	/* by present core; @control is the same in all */
	u32 resets;				/* nv50_mp.resets when this was saved */
};

struct nv50_mp {
	struct mp_state tpc[VSOC_MAX_CORES];	/* the hardware, by present core */
	unsigned int cores;			/* elements of @tpc in use */
	u32 resets;				/* number of resets */
	struct nv50_mp_context *context;	/* the running context; NULL: none */
	/*
	 * mask of the slots that the running context owns. @tpc has their values, @context
	 * those of the others.
	 */
	u8 claimed;

	/* CONTROL of the driver's counters, as in slots of these numbers; 0: none */
	u32 wanted[MP_SLOTS];
	u8 slot[MP_SLOTS];	/* slot of each driver counter; MP_SLOTS: none */
	u64 saved[VSOC_MAX_CORES][MP_SLOTS]; /* driver's counts that are no longer in a register */
	u8 full[VSOC_MAX_CORES]; /* masks of driver counters that were saturated when saved */
	u64 missed_ns[MP_SLOTS]; /* time without a slot while a context ran, not yet reported */
	/* time without a slot since programmed; the largest one gets a slot first */
	u64 missed_total_ns[MP_SLOTS];
};

u8 nv50_mp_claimed(const u32 control[MP_SLOTS]);
bool nv50_mp_is_method(u32 method, u32 data);

void nv50_mp_init(struct nv50_mp *m, unsigned int cores);
void nv50_mp_reset(struct nv50_mp *m);

void nv50_mp_begin(struct nv50_mp *m, struct nv50_mp_context *context);
void nv50_mp_end(struct nv50_mp *m);
void nv50_mp_method(struct nv50_mp *m, u32 method, u32 data);
u32 nv50_mp_read(const struct nv50_mp *m, unsigned int core, unsigned int slot);

void nv50_mp_passed(struct nv50_mp *m, u64 ns);

void nv50_mp_program(struct nv50_mp *m, const u32 control[MP_SLOTS]);
u64 nv50_mp_take(struct nv50_mp *m, unsigned int core, unsigned int counter, bool *saturated);
u64 nv50_mp_take_missed_ns(struct nv50_mp *m, unsigned int counter);

#endif /* _NV50_MP_H_ */
