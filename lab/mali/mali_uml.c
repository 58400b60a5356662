// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode Linux as host: the model's registers, and nodes for the GPU in its device tree, which
 * is empty.
 */
#include <linux/device.h>
#include <linux/of.h>
#include <linux/printk.h>

#include "mali.h"
#include "mali_mcu.h"
#include "mali_regs.h"

/* --- registers ----------------------------------------------------------- */

static u32 window_read(void *priv, u32 offset)
{
	struct mali_gpu *gpu = priv;

	if (offset == MALI_MCU_STATUS && gpu->mcu)
		mali_mcu_poll(gpu);
	return mali_register_read(gpu, offset);
}

static void window_write(void *gpu, u32 offset, u32 value)
{
	mali_register_write(gpu, offset, value);
}

static struct model_window window = {
	.read = window_read,
	.write = window_write,
};

int mali_host_add_window(struct mali_gpu *gpu)
{
	window.gpu = gpu;
	return model_add_window(&window, &gpu->window);
}

/* --- device tree --------------------------------------------------------- */

/* chosen not to clash with the small phandles of real trees */
#define OPP_PHANDLE	0x6d616c69

static struct of_changeset changeset;

static int add_frequency(struct device_node *opps, unsigned long hz)
{
	const u32 cells[] = { upper_32_bits(hz), lower_32_bits(hz) };
	struct device_node *node;
	char name[32];

	snprintf(name, sizeof(name), "opp-%lu", hz);
	node = of_changeset_create_node(&changeset, opps, name);
	if (!node)
		return -ENOMEM;
	return of_changeset_add_prop_u32_array(&changeset, node, "opp-hz", cells,
					       ARRAY_SIZE(cells)) ?:
	       of_changeset_add_prop_u32(&changeset, node, "opp-microvolt", MALI_MICROVOLT);
}

static int add_opps(struct device_node *opps)
{
	int err = of_changeset_add_prop_string(&changeset, opps, "compatible",
					       "operating-points-v2") ?:
		  of_changeset_add_prop_u32(&changeset, opps, "phandle", OPP_PHANDLE);

	for (int i = 0; !err && i < ARRAY_SIZE(mali_core_hz); i++)
		err = add_frequency(opps, mali_core_hz[i]);
	return err;
}

static const char *compatible(const struct mali_gpu *gpu)
{
	switch (gpu->product->layout) {
	case MALI_LAYOUT_V4:
		return "arm,mali-t720";
	case MALI_LAYOUT_V5:
		return "arm,mali-t860";
	case MALI_LAYOUT_V6:
		return mali_arch(gpu) < 9 ? "arm,mali-bifrost" : "arm,mali-valhall-jm";
	default:
		return "arm,mali-valhall-csf";
	}
}

static int add_gpu(struct device_node *node, const struct mali_gpu *gpu)
{
	int err = of_changeset_add_prop_string(&changeset, node, "compatible", compatible(gpu)) ?:
		  of_changeset_add_prop_u32(&changeset, node, "operating-points-v2", OPP_PHANDLE);

	if (!err && gpu->product->coherent)
		err = of_changeset_add_prop_bool(&changeset, node, "dma-coherent");
	/* prevents the OF core from creating a platform device for the node */
	of_node_set_flag(node, OF_POPULATED);
	return err;
}

static void tree_fini(void *unused)
{
	of_changeset_revert(&changeset);
	of_changeset_destroy(&changeset);
}

/* frequencies, voltages and the GPU, below the root that User-mode Linux always has */
int mali_host_init(struct mali_gpu *gpu)
{
	struct device_node *opps, *node;
	int err = -ENOMEM;

	of_changeset_init(&changeset);
	opps = of_changeset_create_node(&changeset, of_root, "mali-opp-table");
	node = of_changeset_create_node(&changeset, of_root, "mali-gpu");
	if (opps && node)
		err = add_opps(opps) ?: add_gpu(node, gpu) ?:
		      of_changeset_apply(&changeset);
	if (err) {
		pr_err("mali: cannot build the device tree: %d\n", err);
		of_changeset_destroy(&changeset);
		return err;
	}
	/* properties are added after the node is attached, but only attaching parses the phandle */
	opps->phandle = OPP_PHANDLE;
	gpu->fwnode = of_fwnode_handle(node);
	return devm_add_action_or_reset(gpu->model, tree_fini, NULL);
}
