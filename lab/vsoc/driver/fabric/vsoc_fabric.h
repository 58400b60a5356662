/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric around the GPU: models of the SoC's PMUs, which count the engine's traffic.
 */
#ifndef _VSOC_FABRIC_H_
#define _VSOC_FABRIC_H_

#include <linux/types.h>
#include <linux/err.h>
#include <linux/kconfig.h>
#include "memory/memsim_core.h"

struct dentry;
struct vsoc_device;
struct vsoc_traffic;
struct vsoc_work;

/* Process context; vsoc_fabric_init() returns 0 or a negative errno. */
int vsoc_fabric_init(struct vsoc_device *vsoc);
void vsoc_fabric_fini(struct vsoc_device *vsoc);
/* no device is left */
void vsoc_fabric_exit(void);
void vsoc_fabric_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* Call with hw_lock held, never concurrently. They do not sleep long or call into the GPU model. */
/* @t is issued over the next @ns */
void vsoc_fabric_traffic(struct vsoc_device *vsoc, const struct vsoc_traffic *t, u64 ns);
/* let @ns pass in the memory system */
void vsoc_fabric_advance(struct vsoc_device *vsoc, u64 ns);
/* complete all requests of a lane */
void vsoc_fabric_drain(struct vsoc_device *vsoc, u32 lane);
/* requests of the GPU's L2 for reads that were in flight × time, since the last call */
u64 vsoc_fabric_take_l2_read_ps(struct vsoc_device *vsoc);

/* the core copies the next elements of @work in @ns */
void vsoc_fabric_core(struct vsoc_device *vsoc, const struct vsoc_work *work, u64 elements,
		      u64 ns);

/*
 * Time after which to look again whether all traffic of a lane was issued, or with @all completed;
 * 0 if it was. Only for the engine's thread.
 */
u64 vsoc_fabric_backlog_ns(struct vsoc_device *vsoc, u32 lane, bool all);

/*
 * Host bridges of the modelled root complexes, so that PCI tools see their root ports.
 */

struct device;
struct vsoc_pci;

#if IS_ENABLED(CONFIG_PCI) && defined(CONFIG_X86)
/* Process context. Returns an error pointer if a bridge cannot be added. */
struct vsoc_pci *vsoc_pci_add(struct device *parent);
void vsoc_pci_remove(struct vsoc_pci *pci);
#else
static inline struct vsoc_pci *vsoc_pci_add(struct device *parent)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void vsoc_pci_remove(struct vsoc_pci *pci) { }
#endif

/*
 * The perf PMU of modelled cores; without perf events only the truth counts them.
 */

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

#endif /* _VSOC_FABRIC_H_ */
