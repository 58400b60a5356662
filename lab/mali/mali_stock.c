// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel without emulation of I/O memory as host: Debian's for x86-64. Panthor is compiled with
 * mali_redirect.h, which replaces the functions that such a kernel does not have for it.
 */
#include <linux/device.h>
#include <linux/io-pgtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_opp.h>

#include "mali.h"
#include "mali_redirect.h"

/* registers have no context pointer */
static struct mali_gpu *the_gpu;

int mali_host_add_window(struct mali_gpu *gpu)
{
	the_gpu = gpu;
	return 0;
}

int mali_host_init(struct mali_gpu *gpu)
{
	return 0;
}

static u32 offset_of(const void __iomem *address)
{
	return (__force const void *)address - page_address(the_gpu->window_pages);
}

u32 mali_readl(const void __iomem *address)
{
	return mali_register_read(the_gpu, offset_of(address));
}
EXPORT_SYMBOL_GPL(mali_readl);

void mali_writel(u32 value, void __iomem *address)
{
	mali_register_write(the_gpu, offset_of(address), value);
}
EXPORT_SYMBOL_GPL(mali_writel);

/* x86 maps no memory as I/O memory */
void __iomem *mali_ioremap_resource(struct platform_device *device, unsigned int number,
				    struct resource **resource)
{
	*resource = platform_get_resource(device, IORESOURCE_MEM, number);
	return (__force void __iomem *)page_address(the_gpu->window_pages);
}
EXPORT_SYMBOL_GPL(mali_ioremap_resource);

static void remove_opps(void *device)
{
	dev_pm_opp_remove_all_dynamic(device);
}

/* there is no device tree that could have a table */
int mali_add_opps(struct device *device)
{
	int err = 0;

	for (int i = 0; !err && i < ARRAY_SIZE(mali_core_hz); i++)
		err = dev_pm_opp_add(device, mali_core_hz[i], MALI_MICROVOLT);
	return err ?: devm_add_action_or_reset(device, remove_opps, device);
}
EXPORT_SYMBOL_GPL(mali_add_opps);

struct io_pgtable_ops *mali_alloc_pgtable(enum io_pgtable_fmt format,
					  struct io_pgtable_cfg *config, void *cookie)
{
	struct io_pgtable *table = io_pgtable_arm_64_lpae_s1_init_fns.alloc(config, cookie);

	if (!table)
		return NULL;
	table->fmt = format;
	table->cookie = cookie;
	table->cfg = *config;
	return &table->ops;
}
EXPORT_SYMBOL_GPL(mali_alloc_pgtable);

void mali_free_pgtable(struct io_pgtable_ops *ops)
{
	struct io_pgtable *table = io_pgtable_ops_to_pgtable(ops);

	io_pgtable_tlb_flush_all(table);
	io_pgtable_arm_64_lpae_s1_init_fns.free(table);
}
EXPORT_SYMBOL_GPL(mali_free_pgtable);
