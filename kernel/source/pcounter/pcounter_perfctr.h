/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCOUNTER and MP counters as a source of the counter core: what a driver of an
 * nv50 GPU calls.
 */
#ifndef _PCOUNTER_PERFCTR_H_
#define _PCOUNTER_PERFCTR_H_

#include <linux/types.h>
#include "pcounter_hw.h"

struct drm_device;
struct drm_perfctr;
struct pcounter;
struct seq_file;

/**
 * struct pcounter_ops - the hardware, as the driver reaches it
 *
 * Called with the core's sampler lock held: nothing of what it forbids.
 */
struct pcounter_ops {
	/**
	 * @begin: until @end nothing else touches the registers, and no clock passes
	 * that would not also pass on real hardware between two register accesses.
	 * Returns: CLOCK_MONOTONIC_RAW up to which the clocks have run; it never goes back.
	 */
	u64 (*begin)(void *priv);
	/** @end: undo @begin. */
	void (*end)(void *priv);
	/** @read: a register. */
	u32 (*read)(void *priv, u32 reg);
	/** @write: a register. */
	void (*write)(void *priv, u32 reg, u32 value);
	/** @set_mux: a multiplexer, enum nv50_mux. */
	void (*set_mux)(void *priv, unsigned int mux, u32 value);
	/**
	 * @mp_program: count with MP_PM_CONTROL of MP_SLOTS counters, 0: none, from now on
	 * in all contexts: by methods at the start of each job, and at once in the context
	 * that runs. Counters begin at 0. A context may need slots itself: then the driver
	 * puts counters into others, with the function for these, or has none for some.
	 */
	void (*mp_program)(void *priv, const u32 *control);
	/** @hz: current frequency of a domain. */
	u64 (*hz)(void *priv, unsigned int domain);
	/**
	 * @mp_take: what a counter of a TPC counted since it was taken or programmed;
	 * @saturated: set to true if it was at its maximum when it left its slot or now.
	 */
	u64 (*mp_take)(void *priv, unsigned int tpc, unsigned int counter, bool *saturated);
	/**
	 * @mp_missed_ns: of the time that @begin tells, how much since this was asked or the
	 * counter was programmed it had no slot in the contexts that ran.
	 */
	u64 (*mp_missed_ns)(void *priv, unsigned int counter);
};

/**
 * struct pcounter_config - description of a GPU
 */
struct pcounter_config {
	/** @ops: the hardware. */
	const struct pcounter_ops *ops;
	/** @priv: for @ops. */
	void *priv;
	/** @tpcs: mask of TPCs, not 0. */
	u64 tpcs;
	/**
	 * @record: memory of each domain for RECORD mode, 8-byte aligned, where 0 in
	 * RECORD_START is; must outlive the device's counters.
	 */
	void *record[PCOUNTER_DOMAINS];
	/** @record_bytes: bytes of each of them; 0: RECORD mode is not used. */
	u32 record_bytes;
};

struct pcounter *drmm_pcounter_create(struct drm_device *drm, struct drm_perfctr *pc,
				      const struct pcounter_config *config);
void pcounter_show(struct pcounter *p, struct seq_file *m);

#endif /* _PCOUNTER_PERFCTR_H_ */
