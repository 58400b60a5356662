// SPDX-License-Identifier: GPL-2.0
/*
 * The model of one PMU: regmap, clock, and the device that the driver binds to.
 */
#include <linux/platform_device.h>
#include <linux/regmap.h>
#include <linux/slab.h>

#include "soc_model.h"
#include "tegra410/tegra410_regs.h"

/*
 * Count traffic that passes the PMU. Context: process context, under the device's hw_lock.
 * @tag: the traffic's attributes; @amounts: by catalogue number.
 */
void soc_pmu_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts)
{
	unsigned long irq;

	soc_truth_add(pmu, tag, amounts);

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->count(pmu, tag, amounts);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	if (pmu->pdata.irq_ops)
		soc_irq_wait(pmu);
}

static int soc_reg_read(void *context, unsigned int reg, unsigned int *value)
{
	struct soc_pmu *pmu = context;
	unsigned long irq;

	pmu->before_read(pmu, pmu->before_data);
	raw_spin_lock_irqsave(&pmu->lock, irq);
	*value = pmu->ops->read(pmu, reg >> TEGRA410_WINDOW_SHIFT,
				reg & (BIT(TEGRA410_WINDOW_SHIFT) - 1));
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return 0;
}

static int soc_reg_write(void *context, unsigned int reg, unsigned int value)
{
	struct soc_pmu *pmu = context;
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->write(pmu, reg >> TEGRA410_WINDOW_SHIFT,
			reg & (BIT(TEGRA410_WINDOW_SHIFT) - 1), value);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return 0;
}

static bool soc_pmu_is_cspmu(const struct soc_pmu *pmu)
{
	return pmu->pdata.kind <= TEGRA410_PMU_PCIE_TGT;
}

static void soc_pmu_name(struct soc_pmu *pmu)
{
	static const char * const kinds[TEGRA410_PMU_KINDS] = {
		[TEGRA410_PMU_UCF]		= "ucf",
		[TEGRA410_PMU_PCIE]		= "pcie",
		[TEGRA410_PMU_PCIE_TGT]		= "pcie_tgt",
		[TEGRA410_PMU_CMEM_LATENCY]	= "cmem_latency",
		[TEGRA410_PMU_NVLINK_C2C]	= "nvlink_c2c",
		[TEGRA410_PMU_NVCLINK]		= "nvclink",
		[TEGRA410_PMU_NVDLINK]		= "nvdlink",
	};
	const char *kind = kinds[pmu->pdata.kind];

	if (pmu->pdata.kind == TEGRA410_PMU_PCIE || pmu->pdata.kind == TEGRA410_PMU_PCIE_TGT)
		snprintf(pmu->name, sizeof(pmu->name), "nvidia_%s_pmu_%u_rc_%u", kind,
			 pmu->pdata.socket, pmu->pdata.root_complex);
	else
		snprintf(pmu->name, sizeof(pmu->name), "nvidia_%s_pmu_%u", kind,
			 pmu->pdata.socket);
}

static int soc_pmu_map(struct soc_pmu *pmu, struct device *parent)
{
	const struct regmap_config config = {
		.name = pmu->name,
		.reg_bits = 32,
		.reg_stride = 4,
		.val_bits = 32,
		.reg_read = soc_reg_read,
		.reg_write = soc_reg_write,
		/* perf programs and reads counters under raw spinlocks */
		.fast_io = true,
		.use_raw_spinlock = true,
		.cache_type = REGCACHE_NONE,
	};

	pmu->regmap = regmap_init(parent, NULL, pmu, &config);
	if (IS_ERR(pmu->regmap))
		return PTR_ERR(pmu->regmap);
	pmu->pdata.regmap = pmu->regmap;
	return 0;
}

/*
 * Build a model. Returns the model or an error pointer.
 * @parent: of the regmap; @pdata: which PMU, its CPUs and peers; the rest is filled in.
 */
struct soc_pmu *soc_pmu_create(struct device *parent,
			       const struct tegra410_pmu_platform_data *pdata,
			       const struct soc_config *config)
{
	struct soc_pmu *pmu;
	int ret;

	pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);
	if (!pmu)
		return ERR_PTR(-ENOMEM);
	pmu->pdata = *pdata;
	pmu->before_read = config->before_read;
	pmu->before_affinity = config->before_affinity;
	pmu->before_data = config->before_data;
	raw_spin_lock_init(&pmu->lock);
	hash_init(pmu->truth.rows);
	soc_pmu_name(pmu);

	ret = soc_pmu_map(pmu, parent);
	if (ret) {
		kfree(pmu);
		return ERR_PTR(ret);
	}

	if (soc_pmu_is_cspmu(pmu))
		soc_cspmu_init(pmu, config);
	else
		soc_windows_init(pmu);
	pmu->cycles = soc_pmu_cycles(pmu);
	return pmu;
}

/* Create the device for a driver. Returns 0 or a negative errno. */
int soc_pmu_plug(struct soc_pmu *pmu, struct device *parent)
{
	const struct platform_device_info info = {
		.parent = parent,
		.name = TEGRA410_PMU_DEVICE,
		.id = PLATFORM_DEVID_AUTO,
		.data = &pmu->pdata,
		.size_data = sizeof(pmu->pdata),
	};

	pmu->pdev = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(pmu->pdev);
}

/* Remove the device. The regmap is unused afterwards. @pmu: the PMU; plugged or not. */
void soc_pmu_unplug(struct soc_pmu *pmu)
{
	if (!IS_ERR_OR_NULL(pmu->pdev))
		platform_device_unregister(pmu->pdev);
	pmu->pdev = NULL;
}

/* Free a model. @pmu: the PMU, unplugged. */
void soc_pmu_destroy(struct soc_pmu *pmu)
{
	if (soc_pmu_is_cspmu(pmu))
		soc_cspmu_fini(pmu);
	regmap_exit(pmu->regmap);
	soc_truth_fini(pmu);
	kfree(pmu);
}
