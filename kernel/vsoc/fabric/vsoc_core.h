/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The perf PMU of modelled cores; without perf events only the truth counts them.
 */
#ifndef _VSOC_CORE_H_
#define _VSOC_CORE_H_

#include "memory/memsim_core.h"

#ifdef CONFIG_PERF_EVENTS
int vsoc_core_pmu_init(void);
void vsoc_core_pmu_exit(void);
/* count what was added since the core's events were @before */
void vsoc_core_count(const struct memsim_core *core, const u64 *before);
#else
static inline int vsoc_core_pmu_init(void)
{
	return 0;
}

static inline void vsoc_core_pmu_exit(void) { }
static inline void vsoc_core_count(const struct memsim_core *core, const u64 *before) { }
#endif

#endif /* _VSOC_CORE_H_ */
