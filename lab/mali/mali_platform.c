// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's surroundings on a board: clock, regulator, and the platform device that the driver
 * binds to.
 */
#include <linux/clk-provider.h>
#include <linux/clkdev.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/platform_device.h>
#include <linux/regulator/driver.h>
#include <linux/regulator/machine.h>

#include "mali.h"
#include "mali_regs.h"

/* of the driver too, which finds the device by it without a device tree */
static const char *device_name(const struct mali_gpu *gpu)
{
	return mali_has_jm(gpu) ? "panfrost" : "panthor";
}

/* --- clock --------------------------------------------------------------- */

static struct mali_gpu *gpu_of(struct clk_hw *hw)
{
	return container_of(hw, struct mali_gpu, clock);
}

static unsigned long clock_recalc_rate(struct clk_hw *hw, unsigned long parent_rate)
{
	return READ_ONCE(gpu_of(hw)->core_hz);
}

/* the highest supported frequency that does not exceed the requested one */
static int clock_determine_rate(struct clk_hw *hw, struct clk_rate_request *request)
{
	unsigned long best = mali_core_hz[0];

	for (unsigned int i = 0; i < ARRAY_SIZE(mali_core_hz); i++)
		if (mali_core_hz[i] <= request->rate)
			best = mali_core_hz[i];
	request->rate = best;
	return 0;
}

static int clock_set_rate(struct clk_hw *hw, unsigned long rate, unsigned long parent_rate)
{
	mali_clock_set(gpu_of(hw), rate);
	return 0;
}

static const struct clk_ops clock_ops = {
	.recalc_rate = clock_recalc_rate,
	.determine_rate = clock_determine_rate,
	.set_rate = clock_set_rate,
};

static int clock_init(struct mali_gpu *gpu)
{
	const struct clk_init_data init = {
		.name = "mali-core",
		.ops = &clock_ops,
		.flags = CLK_GET_RATE_NOCACHE,
	};

	gpu->clock.init = &init;
	/* one clock serves core, stacks and coregroup */
	return devm_clk_hw_register(gpu->model, &gpu->clock) ?:
	       devm_clk_hw_register_clkdev(gpu->model, &gpu->clock, NULL, device_name(gpu));
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

static int regulator_init(struct mali_gpu *gpu)
{
	static struct regulator_consumer_supply supply = { .supply = "mali" };
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
		.dev = gpu->model,
		.init_data = &init_data,
	};

	supply.dev_name = device_name(gpu);
	return PTR_ERR_OR_ZERO(devm_regulator_register(config.dev, &regulator_desc, &config));
}

/* --- the device ---------------------------------------------------------- */

/* call when the window has its address: a driver may bind at once */
int mali_platform_add_device(struct mali_gpu *gpu)
{
	const struct resource resources[] = {
		DEFINE_RES_MEM(gpu->window.start, MALI_WINDOW_BYTES),
		DEFINE_RES_IRQ_NAMED(gpu->lines.first + MALI_IRQ_JOB, "job"),
		DEFINE_RES_IRQ_NAMED(gpu->lines.first + MALI_IRQ_MMU, "mmu"),
		DEFINE_RES_IRQ_NAMED(gpu->lines.first + MALI_IRQ_GPU, "gpu"),
	};
	const struct platform_device_info info = {
		.name = device_name(gpu),
		.id = PLATFORM_DEVID_NONE,
		.fwnode = gpu->fwnode,
		.res = resources,
		.num_res = ARRAY_SIZE(resources),
		.dma_mask = DMA_BIT_MASK(40),
	};

	return PTR_ERR_OR_ZERO(platform_device_register_full(&info));
}

int mali_platform_prepare(struct mali_gpu *gpu)
{
	return clock_init(gpu) ?: regulator_init(gpu) ?: mali_host_init(gpu);
}
