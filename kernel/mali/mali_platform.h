/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GPU's surroundings on a board: device tree, clock, regulator, platform device.
 */
#ifndef _MALI_PLATFORM_H_
#define _MALI_PLATFORM_H_

#include <linux/clk-provider.h>
#include <linux/of.h>

#include "mali.h"

struct clk_lookup;
struct platform_device;
struct regulator_dev;

#define MALI_DEVICE_NAME	"mali-gpu"
#define MALI_MICROVOLT		800000

struct mali_platform {
	struct mali_gpu *gpu;
	struct of_changeset changeset;
	struct device_node *gpu_node;	/* the GPU in the device tree */
	struct device_node *opp_node;	/* frequencies and voltages */
	struct clk_hw clock;
	struct clk_lookup *lookup;
	struct platform_device *regulator_device;	/* parent of the regulator */
	struct regulator_dev *regulator;
	struct platform_device *device;
};

/* mali_tree.c */
int mali_tree_init(struct mali_platform *platform);
void mali_tree_fini(struct mali_platform *platform);

#endif /* _MALI_PLATFORM_H_ */
