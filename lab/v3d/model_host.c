// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode Linux as host: the model's registers, a node in its device tree, and the platform
 * device that the driver binds to.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/printk.h>

#include "v3d_model.h"

/* free in the guest's resource tree: above its memory and its bus */
#define WINDOW_START	0x1002000000

static u32 window_read(void *gpu, u32 offset)
{
	return v3d_register_read(gpu, offset);
}

static void window_write(void *gpu, u32 offset, u32 value)
{
	v3d_register_write(gpu, offset, value);
}

static struct model_window window = {
	.read = window_read,
	.write = window_write,
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

int v3d_host_init(struct v3d_gpu *gpu)
{
	int err = add_node(gpu);

	if (err)
		return err;
	gpu->window = (struct resource)DEFINE_RES_MEM_NAMED(WINDOW_START, V3D_WINDOW_BYTES,
							    "v3d-model");
	window.gpu = gpu;
	return model_add_window(&window, &gpu->window);
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
