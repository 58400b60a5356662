/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Platform data: the description of one PMU.
 *
 * It belongs to a platform device named TEGRA410_PMU_DEVICE. The virtual SoC creates these devices
 * with a regmap onto its register models. On hardware, an ACPI or device tree binding would create
 * them with a regmap whose reg_read and reg_write use readl() and writel() in the window's memory
 * resource.
 */
#ifndef _TEGRA410_PMU_PLATFORM_H_
#define _TEGRA410_PMU_PLATFORM_H_

#include <linux/cpumask.h>
#include <linux/types.h>

struct regmap;

#define TEGRA410_PMU_DEVICE	"tegra410-pmu"

/* GPUs behind the NVLink-C2C of a socket */
#define TEGRA410_PMU_MAX_GPUS	2

enum tegra410_pmu_kind_id {
	TEGRA410_PMU_UCF,
	TEGRA410_PMU_PCIE,
	TEGRA410_PMU_PCIE_TGT,
	TEGRA410_PMU_CMEM_LATENCY,
	TEGRA410_PMU_NVLINK_C2C,
	TEGRA410_PMU_NVCLINK,
	TEGRA410_PMU_NVDLINK,
	TEGRA410_PMU_KINDS
};

/**
 * struct tegra410_pmu_irq_ops - the overflow interrupt of a CoreSight PMU
 */
struct tegra410_pmu_irq_ops {
	/**
	 * @request: call @handler with @data, in hard interrupt context on the CPU set by
	 * @set_affinity, while the PMU signals an overflow. May sleep. Returns 0 or a negative
	 * errno.
	 */
	int (*request)(void *ctx, void (*handler)(void *data), void *data);
	/** @free: ensure that @handler is neither running nor called again. May sleep. */
	void (*free)(void *ctx);
	/** @set_affinity: move the interrupt; called from CPU hotplug callbacks. */
	void (*set_affinity)(void *ctx, unsigned int cpu);
};

/**
 * struct tegra410_pmu_platform_data - one PMU
 *
 * Copied with the platform device. Its pointers must remain valid until the platform device is
 * unregistered.
 */
struct tegra410_pmu_platform_data {
	/** @kind: one of the seven kinds. */
	enum tegra410_pmu_kind_id kind;
	/** @socket: number in the PMU's name. */
	unsigned int socket;
	/** @root_complex: number in the name of PCIE and PCIE_TGT. */
	unsigned int root_complex;
	/** @cpus: associated CPUs; at least one possible CPU. */
	cpumask_t cpus;
	/**
	 * @regmap: the registers as in tegra410_regs.h. Must be usable with
	 * interrupts off and raw spinlocks held: fast_io, use_raw_spinlock.
	 */
	struct regmap *regmap;
	/** @irq_ops: overflow interrupt, NULL if there is none. */
	const struct tegra410_pmu_irq_ops *irq_ops;
	/** @irq_ctx: passed to @irq_ops. */
	void *irq_ctx;
	/** @cpu_en_mask: NVLINK_C2C, NVCLINK: instances connected to another SoC. */
	u32 cpu_en_mask;
	/** @gpu_en_mask: NVLINK_C2C: instances connected to each GPU. */
	u32 gpu_en_mask[TEGRA410_PMU_MAX_GPUS];
};

#endif /* _TEGRA410_PMU_PLATFORM_H_ */
