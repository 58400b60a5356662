// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode Linux as host: its emulation of I/O memory calls the model for each access to a
 * register, its device tree gets a node, and the platform device is what the driver binds to.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/logic_iomem.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/printk.h>

#include "v3d_model.h"

/* free in the guest's resource tree: above its memory and its bus */
#define WINDOW_START	0x1002000000

/* the emulation's map callback has no context pointer */
static struct v3d_gpu *the_gpu;

static unsigned long window_read(void *priv, unsigned int offset, int size)
{
	return size == sizeof(u32) ? v3d_register_read(priv, offset) : 0;
}

static void window_write(void *priv, unsigned int offset, int size, unsigned long value)
{
	if (size == sizeof(u32))
		v3d_register_write(priv, offset, value);
}

static const struct logic_iomem_ops window_ops = {
	.read = window_read,
	.write = window_write,
};

static long window_map(unsigned long offset, size_t size, const struct logic_iomem_ops **ops,
		       void **priv)
{
	*ops = &window_ops;
	*priv = the_gpu;
	return offset;
}

static const struct logic_iomem_region_ops region_ops = {
	.map = window_map,
};

static struct of_changeset changeset;

static void tree_fini(void *unused)
{
	of_changeset_revert(&changeset);
	of_changeset_destroy(&changeset);
}

static int add_node(struct v3d_gpu *gpu)
{
	struct device_node *node;
	int err = -ENOMEM;

	of_changeset_init(&changeset);
	node = of_changeset_create_node(&changeset, of_root, "v3d-gpu");
	if (node) {
		/* prevents the OF core from creating a platform device for the node */
		of_node_set_flag(node, OF_POPULATED);
		err = of_changeset_add_prop_string(&changeset, node, "compatible",
						   gpu->version < 71 ? "brcm,2711-v3d" :
								       "brcm,2712-v3d") ?:
		      of_changeset_apply(&changeset);
	}
	if (err) {
		pr_err("v3d_model: cannot build the device tree: %d\n", err);
		of_changeset_destroy(&changeset);
		return err;
	}
	gpu->fwnode = of_fwnode_handle(node);
	return devm_add_action_or_reset(gpu->model, tree_fini, NULL);
}

/* the region can never be removed, so the module cannot be unloaded afterwards */
int v3d_host_init(struct v3d_gpu *gpu)
{
	int err = add_node(gpu);

	if (err)
		return err;
	gpu->window = (struct resource)DEFINE_RES_MEM_NAMED(WINDOW_START, V3D_WINDOW_BYTES,
							    "v3d-model");
	the_gpu = gpu;
	return logic_iomem_add_region(&gpu->window, &region_ops);
}

/* a driver may bind at once */
int v3d_host_add_device(struct v3d_gpu *gpu)
{
	const struct resource resources[] = {
		DEFINE_RES_MEM_NAMED(WINDOW_START, V3D_HUB_BYTES, "hub"),
		DEFINE_RES_MEM_NAMED(WINDOW_START + V3D_CORE_OFFSET, V3D_CORE_BYTES, "core0"),
		DEFINE_RES_MEM_NAMED(WINDOW_START + V3D_BRIDGE_OFFSET, V3D_BRIDGE_BYTES, "bridge"),
		DEFINE_RES_IRQ(gpu->lines.first + V3D_HUB),
		/* 71 only */
		DEFINE_RES_MEM_NAMED(WINDOW_START + V3D_SMS_OFFSET, V3D_SMS_BYTES, "sms"),
		DEFINE_RES_IRQ(gpu->lines.first + V3D_CORE),
	};
	const struct platform_device_info info = {
		.name = "v3d",
		.id = PLATFORM_DEVID_NONE,
		.fwnode = gpu->fwnode,
		.res = resources,
		.num_res = gpu->version < 71 ? 4 : ARRAY_SIZE(resources),
		.dma_mask = DMA_BIT_MASK(36),
	};

	return PTR_ERR_OR_ZERO(platform_device_register_full(&info));
}
