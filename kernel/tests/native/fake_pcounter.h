/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The source of PCOUNTER and MP counters between a fake core and the model of the hardware. The
 * test controls time, so that results are exact.
 */
#ifndef NATIVE_FAKE_PCOUNTER_H
#define NATIVE_FAKE_PCOUNTER_H

#include "kernel.h"
#include <drm/drm_perfctr_extension.h>
#include <drm/perfctr_nv50.h>
#include "nv50_counters.h"
#include "pcounter_perfctr.h"
#include "pm_model.h"

#define MAX_TPCS	3
#define MAX_BLOCKS	(PCOUNTER_DOMAINS + MAX_TPCS)
#define SECTIONS	DRM_PERFCTR_BLOCK_INFO_SECTIONS

extern struct pm_model pm;
/* packets of each domain: own allocations, so that the sanitizer finds an overrun */
extern u8 *record[PCOUNTER_DOMAINS];

struct fake_hw {
	u64 tpcs;
	struct pm_signals wires[PCOUNTER_DOMAINS];
	struct mp_state mp[MAX_TPCS];
	struct mp_signals mp_wires;
	u64 mp_missed_ns[MP_SLOTS];
	u64 time_ns;
	/* of each domain */
	u64 hz;
	/* between begin() and end() */
	bool held;
};

struct fake_core {
	struct drm_perfctr_source *source;
	struct drm_perfctr_extension *extension;
	u64 totals[MAX_BLOCKS][DRM_PERFCTR_SECTION_COUNTERS];
	u64 cycles[PCOUNTER_DOMAINS];
	u64 wanted[MAX_BLOCKS][SECTIONS];
	/* of the last collection */
	struct drm_perfctr_collection last;
	unsigned int reports[MAX_BLOCKS];
};

extern struct fake_hw hw;
extern struct fake_core core;
extern const struct pcounter_ops fake_pcounter_ops;

/* a source with @record_bytes of packets for each domain */
struct pcounter *fake_create(const struct pcounter_ops *ops, u64 tpcs, u32 record_bytes);
/* the hardware counts until now */
void fake_run(void);
void fake_select(void);
int fake_collect(u64 until_ns);

#endif /* NATIVE_FAKE_PCOUNTER_H */
