/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCOUNTER and MP counters as a source of the counter core: interface for drivers of nv50 GPUs.
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
 * struct pcounter_ops - hardware access, provided by the driver
 *
 * Called with the core's sampler lock held.
 */
struct pcounter_ops {
	/**
	 * @begin: exclude all other register accesses until @end.
	 * Returns: CLOCK_MONOTONIC_RAW until which the clocks have run; never decreases.
	 */
	u64 (*begin)(void *priv);
	/** @end: undo @begin. */
	void (*end)(void *priv);
	/** @read: read a register. */
	u32 (*read)(void *priv, u32 reg);
	/** @write: write a register. */
	void (*write)(void *priv, u32 reg, u32 value);
	/** @set_mux: set a multiplexer, enum nv50_mux. */
	void (*set_mux)(void *priv, unsigned int mux, u32 value);
	/**
	 * @mp_program: count in all contexts with MP_PM_CONTROL of MP_SLOTS counters, 0: none.
	 * Programmed by methods at the start of each job, and at once in the running context.
	 * Counters begin at 0. If a context uses slots itself, the driver moves counters to free
	 * slots, adapting their function, or omits them.
	 */
	void (*mp_program)(void *priv, const u32 *control);
	/** @hz: current frequency of a domain. */
	u64 (*hz)(void *priv, unsigned int domain);
	/**
	 * @mp_take: read a counter of a TPC: its counts since the last call or since it was
	 * programmed; @saturated: set to true if it was at its maximum now or when it left a slot.
	 */
	u64 (*mp_take)(void *priv, unsigned int tpc, unsigned int counter, bool *saturated);
	/**
	 * @mp_missed_ns: time that the counter had no slot in the running contexts, on the clock
	 * of @begin, since the last call or since it was programmed.
	 */
	u64 (*mp_missed_ns)(void *priv, unsigned int counter);
};

/**
 * struct pcounter_config - description of a GPU
 */
struct pcounter_config {
	/** @ops: the hardware. */
	const struct pcounter_ops *ops;
	/** @priv: passed to @ops. */
	void *priv;
	/** @tpcs: mask of TPCs, not 0. */
	u64 tpcs;
	/**
	 * @record: RECORD mode memory of each domain, 8-byte aligned, which is offset 0 of
	 * RECORD_START; must outlive the device's counters.
	 */
	void *record[PCOUNTER_DOMAINS];
	/** @record_bytes: bytes of each of them; 0: RECORD mode is not used. */
	u32 record_bytes;
};

struct pcounter *drmm_pcounter_create(struct drm_device *drm, struct drm_perfctr *pc,
				      const struct pcounter_config *config);
void pcounter_show(struct pcounter *p, struct seq_file *m);

#endif /* _PCOUNTER_PERFCTR_H_ */
