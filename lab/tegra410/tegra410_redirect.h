/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What replaces functions of the kernel in its drivers of Tegra410's PMUs, where
 * lab/vsoc/driver/fabric/soc_host.c is the host. Kbuild includes it before each of their sources,
 * after the headers that they include.
 */
#ifndef _TEGRA410_REDIRECT_H_
#define _TEGRA410_REDIRECT_H_

#include <linux/acpi.h>
#include <acpi/processor.h>
#include <linux/bitfield.h>
#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <linux/topology.h>

u32 tegra410_readl(const void __iomem *address);
void tegra410_writel(u32 value, void __iomem *address);
u64 tegra410_readq(const void __iomem *address);
void tegra410_writeq(u64 value, void __iomem *address);
void tegra410_lo_hi_writeq(u64 value, void __iomem *address);
void __iomem *tegra410_map(struct device *dev, const struct resource *resource);
void __iomem *tegra410_platform_map(struct platform_device *device, unsigned int number);
int tegra410_request_irq(struct device *dev, unsigned int irq, irq_handler_t handler,
			 unsigned long flags, const char *name, void *data);
int tegra410_irq_set_affinity(unsigned int irq, const struct cpumask *cpus);
void tegra410_before_clear_bit(void);
bool tegra410_is_in_container(struct acpi_device *cpu, const char *hid, u64 container);

#ifdef TEGRA410_DRIVER
#undef readl
#undef writel
#undef readq
#undef writeq
#undef lo_hi_writeq
#define readl tegra410_readl
#define writel tegra410_writel
#define readq tegra410_readq
#define writeq tegra410_writeq
#define lo_hi_writeq tegra410_lo_hi_writeq
#define devm_platform_ioremap_resource tegra410_platform_map
#define devm_ioremap_resource tegra410_map
#define devm_request_irq tegra410_request_irq
#define irq_set_affinity tegra410_irq_set_affinity
#endif

/* only where they give a counter back: what other CPUs do meanwhile */
#ifdef TEGRA410_CORESIGHT
#define clear_bit(bit, words) (tegra410_before_clear_bit(), (clear_bit)(bit, words))
#endif

/* the CoreSight drivers read ACPI's tables on arm64 only */
#ifdef TEGRA410_CORESIGHT
static inline struct acpi_device *tegra410_no_parent(struct acpi_device *device)
{
	return NULL;
}

/* not called for a PMU of a container; older kernels lack it */
static inline int tegra410_no_cpu_uid(unsigned int cpu, u32 *uid)
{
	return -ENODEV;
}

#define CONFIG_ARM64 1
#undef ACPI_COMPANION
#undef acpi_dev_hid_uid_match
/* what stands for a processor's ACPI device is the processor */
#define ACPI_COMPANION(cpu) ((struct acpi_device *)(cpu))
#define acpi_dev_hid_uid_match tegra410_is_in_container
#define acpi_dev_parent tegra410_no_parent
#define acpi_get_cpu_uid tegra410_no_cpu_uid
#endif

#endif /* _TEGRA410_REDIRECT_H_ */
