// SPDX-License-Identifier: GPL-2.0
/*
 * The register window: the kernel's emulation of I/O memory (User-mode Linux) calls the model for
 * each access. The window lies at the address of real memory: userspace maps the flush ID page.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/logic_iomem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "mali.h"
#include "mali_regs.h"

#define WINDOW_ORDER	get_order(MALI_WINDOW_BYTES)
/* up to 256 MiB of the resource tree are taken, and pages come at random addresses */
#define ATTEMPTS	130

/* the emulation's map callback has no context pointer */
static struct mali_gpu *window_gpu;

static unsigned long window_read(void *priv, unsigned int offset, int size)
{
	if (size != sizeof(u32))
		return 0;
	return mali_register_read(priv, offset);
}

static void window_write(void *priv, unsigned int offset, int size, unsigned long value)
{
	if (size == sizeof(u32))
		mali_register_write(priv, offset, value);
}

static const struct logic_iomem_ops window_ops = {
	.read = window_read,
	.write = window_write,
};

static long window_map(unsigned long offset, size_t size, const struct logic_iomem_ops **ops,
		       void **priv)
{
	*ops = &window_ops;
	*priv = window_gpu;
	return offset;
}

static const struct logic_iomem_region_ops region_ops = {
	.map = window_map,
};

/* the region can never be removed, so the module cannot be unloaded */
int __init mali_window_init(struct mali_gpu *gpu)
{
	static struct page *tried[ATTEMPTS] __initdata;
	int err = -ENOMEM;
	int i, n = 0;

	while (err && n < ATTEMPTS) {
		struct page *pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, WINDOW_ORDER);

		if (!pages)
			break;
		gpu->window = (struct resource) {
			.name = "mali",
			.start = page_to_phys(pages),
			.end = page_to_phys(pages) + MALI_WINDOW_BYTES - 1,
			.flags = IORESOURCE_MEM,
		};
		err = logic_iomem_add_region(&gpu->window, &region_ops);
		if (err)
			tried[n++] = pages;
		else
			gpu->window_pages = pages;
	}
	for (i = 0; i < n; i++)
		__free_pages(tried[i], WINDOW_ORDER);
	if (err)
		return err;
	window_gpu = gpu;
	*(u32 *)(page_address(gpu->window_pages) + MALI_FLUSH_ID) = gpu->flush_id;
	__module_get(THIS_MODULE);
	return 0;
}
