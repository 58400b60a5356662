/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake core for the CSF source: holds totals and records reports.
 */
#ifndef NATIVE_FAKE_CORE_H
#define NATIVE_FAKE_CORE_H

#include "firmware.h"

struct fake_core {
	struct drm_perfctr_source *source;
	u64 totals[FIRMWARE_MAX_BLOCKS][128];
	u32 states[FIRMWARE_MAX_BLOCKS];
	u64 valid[FIRMWARE_MAX_BLOCKS][2];
	/* reports since the last collection began */
	unsigned int reports[FIRMWARE_MAX_BLOCKS];
	unsigned int events;
	unsigned int transitions;
	unsigned int add_errno;
};

extern struct fake_core core;
extern struct drm_perfctr_collection got;

void core_reset(void);
/* into @got */
int core_collect(void);
/* index in the source's descs, -1 if there is none */
int core_block(u16 type, u16 index);

#endif /* NATIVE_FAKE_CORE_H */
