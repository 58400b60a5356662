// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel without emulation of I/O memory as host: Debian's for x86-64. The driver is compiled
 * with v3d_redirect.h, which replaces the functions that such a kernel does not have for it.
 */
#include <linux/err.h>
#include <linux/module.h>

#include "v3d_model.h"
#include "v3d_redirect.h"

/* registers have no context pointer */
static struct v3d_gpu *the_gpu;

int v3d_host_init(struct v3d_gpu *gpu)
{
	the_gpu = gpu;
	return 0;
}

static u32 offset_of(const void __iomem *address)
{
	return (__force uintptr_t)address - V3D_WINDOW_START;
}

u32 v3d_model_readl(const void __iomem *address)
{
	return v3d_register_read(the_gpu, offset_of(address));
}
EXPORT_SYMBOL_GPL(v3d_model_readl);

void v3d_model_writel(u32 value, void __iomem *address)
{
	v3d_register_write(the_gpu, offset_of(address), value);
}
EXPORT_SYMBOL_GPL(v3d_model_writel);

/* addresses that only the two functions above get */
void __iomem *v3d_model_ioremap(struct platform_device *device, const char *name)
{
	const struct resource *place =
		platform_get_resource_byname(device, IORESOURCE_MEM, name);

	return place ? (__force void __iomem *)(uintptr_t)place->start : IOMEM_ERR_PTR(-EINVAL);
}
EXPORT_SYMBOL_GPL(v3d_model_ioremap);

/* the driver's enumeration of versions has their numbers */
const void *v3d_model_match_data(const struct device *device)
{
	return (const void *)(uintptr_t)the_gpu->version;
}
EXPORT_SYMBOL_GPL(v3d_model_match_data);
