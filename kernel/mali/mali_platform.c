// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's surroundings on a board: clock, regulator, device tree nodes (below the root that
 * User-mode Linux always has), and the platform device that the driver binds to.
 */
#include <linux/clk-provider.h>
#include <linux/clkdev.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/regulator/driver.h>
#include <linux/regulator/machine.h>

#include "mali.h"
#include "mali_regs.h"

#define MALI_DEVICE_NAME	"mali-gpu"
#define MALI_MICROVOLT		800000

struct mali_platform {
	struct mali_gpu *gpu;
	struct of_changeset changeset;
	struct device_node *gpu_node;	/* the GPU in the device tree */
	struct device_node *opp_node;	/* frequencies and voltages */
	struct clk_hw clock;
	struct platform_device *device;
};

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

	for (unsigned int i = 0; i < ARRAY_SIZE(mali_core_hz); i++)
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
	struct device *model = platform->gpu->model;

	platform->clock.init = &init;
	/* one clock serves core, stacks and coregroup */
	return devm_clk_hw_register(model, &platform->clock) ?:
	       devm_clk_hw_register_clkdev(model, &platform->clock, NULL, MALI_DEVICE_NAME);
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
		.dev = platform->gpu->model,
		.init_data = &init_data,
	};

	return PTR_ERR_OR_ZERO(devm_regulator_register(config.dev, &regulator_desc, &config));
}

/* --- device tree --------------------------------------------------------- */

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
	int err;

	platform->opp_node = of_changeset_create_node(changeset, of_root, "mali-opp-table");
	if (!platform->opp_node)
		return -ENOMEM;
	err = of_changeset_add_prop_string(changeset, platform->opp_node, "compatible",
					   "operating-points-v2");
	if (!err)
		err = of_changeset_add_prop_u32(changeset, platform->opp_node, "phandle",
						OPP_PHANDLE);
	for (int i = 0; !err && i < ARRAY_SIZE(mali_core_hz); i++)
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

static void tree_fini(void *data)
{
	struct mali_platform *platform = data;

	of_changeset_revert(&platform->changeset);
	of_changeset_destroy(&platform->changeset);
}

static int tree_init(struct mali_platform *platform)
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
	return devm_add_action_or_reset(platform->gpu->model, tree_fini, platform);
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
	struct mali_platform *platform = devm_kzalloc(gpu->model, sizeof(*platform), GFP_KERNEL);

	if (!platform)
		return -ENOMEM;
	platform->gpu = gpu;
	gpu->platform = platform;
	return clock_init(platform) ?: regulator_init(platform) ?: tree_init(platform);
}
