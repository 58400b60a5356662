/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What replaces functions of the kernel in panthor where mali_stock.c is the host. Kbuild includes
 * it before each of panthor's sources.
 */
#ifndef _MALI_REDIRECT_H_
#define _MALI_REDIRECT_H_

#include <linux/io.h>
#include <linux/io-pgtable.h>
#include <linux/platform_device.h>
#include <linux/pm_opp.h>

/* the kernel was built without this format; its source is compiled into the model's module */
extern struct io_pgtable_init_fns io_pgtable_arm_64_lpae_s1_init_fns;

u32 mali_readl(const void __iomem *address);
void mali_writel(u32 value, void __iomem *address);
void __iomem *mali_ioremap_resource(struct platform_device *device, unsigned int number,
				    struct resource **resource);
int mali_add_opps(struct device *device);
struct io_pgtable_ops *mali_alloc_pgtable(enum io_pgtable_fmt format,
					  struct io_pgtable_cfg *config, void *cookie);
void mali_free_pgtable(struct io_pgtable_ops *ops);

#undef readl
#undef readl_relaxed
#undef writel
#define readl mali_readl
#define readl_relaxed mali_readl
#define writel mali_writel
#define devm_platform_get_and_ioremap_resource mali_ioremap_resource
#define devm_pm_opp_of_add_table mali_add_opps
#define alloc_io_pgtable_ops mali_alloc_pgtable
#define free_io_pgtable_ops mali_free_pgtable

#endif /* _MALI_REDIRECT_H_ */
