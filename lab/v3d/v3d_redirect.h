/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What replaces functions of the kernel in v3d where model_stock.c is the host. Kbuild includes it
 * before each of the driver's sources.
 */
#ifndef _V3D_REDIRECT_H_
#define _V3D_REDIRECT_H_

#include <linux/io.h>
#include <linux/of.h>
#include <linux/platform_device.h>

u32 v3d_model_readl(const void __iomem *address);
void v3d_model_writel(u32 value, void __iomem *address);
void __iomem *v3d_model_ioremap(struct platform_device *device, const char *name);
const void *v3d_model_match_data(const struct device *device);

#undef readl
#undef writel
#define readl v3d_model_readl
#define writel v3d_model_writel
#define devm_platform_ioremap_resource_byname v3d_model_ioremap
#define of_device_get_match_data v3d_model_match_data

#endif /* _V3D_REDIRECT_H_ */
