// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's device tree nodes, below the root that User-mode Linux always has.
 */
#include <linux/of.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "mali_platform.h"

/* chosen not to clash with the small phandles of real trees */
#define OPP_PHANDLE	0x6d616c69

static int add_frequency(struct mali_platform *platform, unsigned long hz)
{
	struct of_changeset *changeset = &platform->changeset;
	const u32 cells[] = { upper_32_bits(hz), lower_32_bits(hz) };
	const u32 microvolt = MALI_MICROVOLT;
	struct device_node *node;
	char name[32];
	int err;

	snprintf(name, sizeof(name), "opp-%lu", hz);
	node = of_changeset_create_node(changeset, platform->opp_node, name);
	if (!node)
		return -ENOMEM;
	err = of_changeset_add_prop_u32_array(changeset, node, "opp-hz", cells,
					      ARRAY_SIZE(cells));
	if (!err)
		err = of_changeset_add_prop_u32(changeset, node, "opp-microvolt", microvolt);
	return err;
}

static int add_opps(struct mali_platform *platform)
{
	struct of_changeset *changeset = &platform->changeset;
	int err, i;

	platform->opp_node = of_changeset_create_node(changeset, of_root, "mali-opp-table");
	if (!platform->opp_node)
		return -ENOMEM;
	err = of_changeset_add_prop_string(changeset, platform->opp_node, "compatible",
					   "operating-points-v2");
	if (!err)
		err = of_changeset_add_prop_u32(changeset, platform->opp_node, "phandle",
						OPP_PHANDLE);
	for (i = 0; !err && i < ARRAY_SIZE(mali_core_hz); i++)
		err = add_frequency(platform, mali_core_hz[i]);
	return err;
}

static int add_gpu(struct mali_platform *platform)
{
	struct of_changeset *changeset = &platform->changeset;
	int err;

	platform->gpu_node = of_changeset_create_node(changeset, of_root, "mali-gpu");
	if (!platform->gpu_node)
		return -ENOMEM;
	/* prevents the OF core from creating a platform device for the node */
	of_node_set_flag(platform->gpu_node, OF_POPULATED);
	err = of_changeset_add_prop_string(changeset, platform->gpu_node, "compatible",
					   "arm,mali-valhall-csf");
	if (!err)
		err = of_changeset_add_prop_u32(changeset, platform->gpu_node,
						"operating-points-v2", OPP_PHANDLE);
	if (!err && platform->gpu->product->coherent)
		err = of_changeset_add_prop_bool(changeset, platform->gpu_node, "dma-coherent");
	return err;
}

int mali_tree_init(struct mali_platform *platform)
{
	int err;

	of_changeset_init(&platform->changeset);
	err = add_opps(platform);
	if (!err)
		err = add_gpu(platform);
	if (!err)
		err = of_changeset_apply(&platform->changeset);
	if (err) {
		pr_err("mali: cannot build the device tree: %d\n", err);
		of_changeset_destroy(&platform->changeset);
		return err;
	}
	/* properties are added after the node is attached, but only attaching parses the phandle */
	platform->opp_node->phandle = OPP_PHANDLE;
	return 0;
}

void mali_tree_fini(struct mali_platform *platform)
{
	of_changeset_revert(&platform->changeset);
	of_changeset_destroy(&platform->changeset);
}
