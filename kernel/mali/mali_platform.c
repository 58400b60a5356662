// SPDX-License-Identifier: GPL-2.0
/*
 * Clock, regulator and the platform device that the driver binds to.
 */
#include <linux/clk-provider.h>
#include <linux/clkdev.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/platform_device.h>
#include <linux/regulator/driver.h>
#include <linux/regulator/machine.h>
#include <linux/slab.h>

#include "mali_platform.h"
#include "mali_regs.h"

/* --- clock --------------------------------------------------------------- */

static struct mali_platform *of_clock(struct clk_hw *hw)
{
	return container_of(hw, struct mali_platform, clock);
}

static unsigned long clock_recalc_rate(struct clk_hw *hw, unsigned long parent_rate)
{
	return READ_ONCE(of_clock(hw)->gpu->core_hz);
}

/* the highest supported frequency that does not exceed the requested one */
static int clock_determine_rate(struct clk_hw *hw, struct clk_rate_request *request)
{
	unsigned long best = mali_core_hz[0];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mali_core_hz); i++)
		if (mali_core_hz[i] <= request->rate)
			best = mali_core_hz[i];
	request->rate = best;
	return 0;
}

static int clock_set_rate(struct clk_hw *hw, unsigned long rate, unsigned long parent_rate)
{
	mali_clock_set(of_clock(hw)->gpu, rate);
	return 0;
}

static const struct clk_ops clock_ops = {
	.recalc_rate = clock_recalc_rate,
	.determine_rate = clock_determine_rate,
	.set_rate = clock_set_rate,
};

static int clock_init(struct mali_platform *platform)
{
	const struct clk_init_data init = {
		.name = "mali-core",
		.ops = &clock_ops,
		.flags = CLK_GET_RATE_NOCACHE,
	};
	int err;

	platform->clock.init = &init;
	err = clk_hw_register(NULL, &platform->clock);
	if (err)
		return err;
	/* one clock serves core, stacks and coregroup */
	platform->lookup = clkdev_hw_create(&platform->clock, NULL, MALI_DEVICE_NAME);
	if (platform->lookup)
		return 0;
	clk_hw_unregister(&platform->clock);
	return -ENOMEM;
}

static void clock_fini(struct mali_platform *platform)
{
	clkdev_drop(platform->lookup);
	clk_hw_unregister(&platform->clock);
}

/* --- regulator ----------------------------------------------------------- */

static const struct regulator_ops regulator_ops;

static const struct regulator_desc regulator_desc = {
	.name = "mali",
	.type = REGULATOR_VOLTAGE,
	.owner = THIS_MODULE,
	.ops = &regulator_ops,
	.n_voltages = 1,
	.fixed_uV = MALI_MICROVOLT,
};

static int regulator_init(struct mali_platform *platform)
{
	static struct regulator_consumer_supply supply =
		REGULATOR_SUPPLY("mali", MALI_DEVICE_NAME);
	static const struct regulator_init_data init_data = {
		.constraints = {
			.min_uV = MALI_MICROVOLT,
			.max_uV = MALI_MICROVOLT,
			.always_on = true,
		},
		.num_consumer_supplies = 1,
		.consumer_supplies = &supply,
	};
	struct regulator_config config = {
		.init_data = &init_data,
	};

	platform->regulator_device =
		platform_device_register_simple("mali-regulator", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(platform->regulator_device))
		return PTR_ERR(platform->regulator_device);
	config.dev = &platform->regulator_device->dev;
	platform->regulator = regulator_register(config.dev, &regulator_desc, &config);
	if (!IS_ERR(platform->regulator))
		return 0;
	platform_device_unregister(platform->regulator_device);
	return PTR_ERR(platform->regulator);
}

static void regulator_fini(struct mali_platform *platform)
{
	regulator_unregister(platform->regulator);
	platform_device_unregister(platform->regulator_device);
}

/* --- the device ---------------------------------------------------------- */

/* call when the window has its address: a driver may bind at once */
int mali_platform_add_device(struct mali_gpu *gpu)
{
	struct mali_platform *platform = gpu->platform;
	const struct resource resources[] = {
		DEFINE_RES_MEM(gpu->window.start, MALI_WINDOW_BYTES),
		DEFINE_RES_IRQ_NAMED(gpu->irq[MALI_IRQ_JOB].number, "job"),
		DEFINE_RES_IRQ_NAMED(gpu->irq[MALI_IRQ_MMU].number, "mmu"),
		DEFINE_RES_IRQ_NAMED(gpu->irq[MALI_IRQ_GPU].number, "gpu"),
	};
	const struct platform_device_info info = {
		.name = MALI_DEVICE_NAME,
		.id = PLATFORM_DEVID_NONE,
		.fwnode = of_fwnode_handle(platform->gpu_node),
		.res = resources,
		.num_res = ARRAY_SIZE(resources),
		.dma_mask = DMA_BIT_MASK(40),
	};

	platform->device = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(platform->device);
}

int mali_platform_prepare(struct mali_gpu *gpu)
{
	struct mali_platform *platform = kzalloc(sizeof(*platform), GFP_KERNEL);
	int err;

	if (!platform)
		return -ENOMEM;
	platform->gpu = gpu;
	gpu->platform = platform;
	err = clock_init(platform);
	if (err)
		goto free;
	err = regulator_init(platform);
	if (err)
		goto no_regulator;
	err = mali_tree_init(platform);
	if (err)
		goto no_tree;
	return 0;

no_tree:
	regulator_fini(platform);
no_regulator:
	clock_fini(platform);
free:
	kfree(platform);
	gpu->platform = NULL;
	return err;
}

/* undoes mali_platform_prepare(); the platform device is never removed */
void mali_platform_fini(struct mali_gpu *gpu)
{
	struct mali_platform *platform = gpu->platform;

	mali_tree_fini(platform);
	regulator_fini(platform);
	clock_fini(platform);
	kfree(platform);
	gpu->platform = NULL;
}
