// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode Linux as host: its emulation of I/O memory has the model's registers, its device tree a
 * node.
 */
#include <linux/device.h>
#include <linux/of.h>
#include <linux/printk.h>

#include "v3d_model.h"

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
	gpu->window = (struct resource)DEFINE_RES_MEM_NAMED(V3D_WINDOW_START, V3D_WINDOW_BYTES,
							    "v3d-model");
	window.gpu = gpu;
	return model_add_window(&window, &gpu->window);
}
