// SPDX-License-Identifier: GPL-2.0
/*
 * Tegra410 uncore PMUs: devices, registration, CPU hotplug.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "tegra410_pmu.h"

/**
 * DOC: unbinding
 *
 * perf_pmu_unregister() of the supported kernels frees memory that open events, and even events
 * being closed, still use; there is no callback at the end of an event's life. Only the module's
 * reference count, of which each event holds one (pmu.module), shows that a PMU has no event left.
 * Therefore:
 *
 *  - A PMU that never had an event since it was registered is unregistered when its device is
 *    unbound.
 *  - Any other PMU stays registered without a device until the module is unloaded: the last values
 *    are read, cpumask becomes empty, opening fails with -ENODEV, add() fails, so that perf
 *    reports events as not running.
 *  - A new device of the same name and kind takes over the registered PMU. Events that were
 *    counting when the old one was unbound remain halted; others count like new ones.
 *  - The module cannot be unloaded while events are open.
 */

/* protects tegra410_pmus; serialises binding and unbinding */
static DEFINE_MUTEX(tegra410_pmus_lock);
static LIST_HEAD(tegra410_pmus);
static int tegra410_hotplug_state;

static const struct tegra410_pmu_kind *
tegra410_pmu_select(const struct tegra410_pmu_platform_data *pdata)
{
	switch (pdata->kind) {
	case TEGRA410_PMU_UCF:
		return &tegra410_ucf_kind;
	case TEGRA410_PMU_PCIE:
		return &tegra410_pcie_kind;
	case TEGRA410_PMU_PCIE_TGT:
		return &tegra410_pcie_tgt_kind;
	case TEGRA410_PMU_CMEM_LATENCY:
		return &tegra410_cmem_kind;
	case TEGRA410_PMU_NVLINK_C2C:
		return pdata->cpu_en_mask ? &tegra410_nvlink_c2c_cpu_kind :
					    &tegra410_nvlink_c2c_gpu_kind;
	case TEGRA410_PMU_NVCLINK:
		return &tegra410_nvclink_kind;
	case TEGRA410_PMU_NVDLINK:
		return &tegra410_nvdlink_kind;
	default:
		return NULL;
	}
}

/* --- CPU hotplug ---------------------------------------------------------- */

static void tegra410_pmu_set_affinity(struct tegra410_pmu *pmu, unsigned int cpu)
{
	if (pmu->pdata.irq_ops)
		pmu->pdata.irq_ops->set_affinity(pmu->pdata.irq_ctx, cpu);
}

/* the first associated CPU to come online owns the PMU */
static int tegra410_pmu_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct tegra410_pmu *pmu = hlist_entry_safe(node, struct tegra410_pmu, hotplug);
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	if (pmu->bound && cpumask_empty(&pmu->active_cpu) &&
	    cpumask_test_cpu(cpu, &pmu->pdata.cpus)) {
		cpumask_set_cpu(cpu, &pmu->active_cpu);
		tegra410_pmu_set_affinity(pmu, cpu);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return 0;
}

static int tegra410_pmu_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct tegra410_pmu *pmu = hlist_entry_safe(node, struct tegra410_pmu, hotplug);
	unsigned int target = nr_cpu_ids;
	unsigned long irq;
	bool owner;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	owner = cpumask_test_cpu(cpu, &pmu->active_cpu);
	if (owner) {
		for_each_cpu_and(target, &pmu->pdata.cpus, cpu_online_mask) {
			if (target != cpu)
				break;
		}
		if (target >= nr_cpu_ids)
			cpumask_clear(&pmu->active_cpu);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	if (target >= nr_cpu_ids)
		return 0;

	if (!tegra410_pmu_begin_migration(pmu, target))
		return 0;
	tegra410_pmu_set_affinity(pmu, target);
	perf_pmu_migrate_context(&pmu->pmu, cpu, target);
	tegra410_pmu_end_migration(pmu);
	return 0;
}

/* --- registration --------------------------------------------------------- */

static void tegra410_pmu_name(const struct tegra410_pmu_kind *kind,
			      const struct tegra410_pmu_platform_data *pdata, char *name)
{
	/* formats without a root complex ignore it */
	snprintf(name, TEGRA410_PMU_NAME_BYTES, kind->name_format, pdata->socket,
		 pdata->root_complex);
}

static struct tegra410_pmu *tegra410_pmu_find(const char *name)
{
	struct tegra410_pmu *pmu;

	list_for_each_entry(pmu, &tegra410_pmus, entry) {
		if (!strcmp(pmu->name, name))
			return pmu;
	}
	return NULL;
}

static struct tegra410_pmu *tegra410_pmu_alloc(const struct tegra410_pmu_kind *kind,
					       const char *name)
{
	struct tegra410_pmu *pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);

	if (!pmu)
		return NULL;
	pmu->pmu = tegra410_pmu_template;
	/* perf and the driver core do not modify the array */
	pmu->pmu.attr_groups = (const struct attribute_group **)kind->attr_groups;
	pmu->kind = kind;
	strscpy(pmu->name, name, sizeof(pmu->name));
	mutex_init(&pmu->open_lock);
	raw_spin_lock_init(&pmu->lock);
	return pmu;
}

static int tegra410_pmu_register(struct tegra410_pmu *pmu)
{
	int ret;

	ret = perf_pmu_register(&pmu->pmu, pmu->name, -1);
	if (ret)
		return ret;

	/* no event can be opened before there is an active CPU */
	ret = cpuhp_state_add_instance_nocalls(tegra410_hotplug_state, &pmu->hotplug);
	if (ret) {
		perf_pmu_unregister(&pmu->pmu);
		return ret;
	}
	list_add_tail(&pmu->entry, &tegra410_pmus);
	return 0;
}

static void tegra410_pmu_unregister(struct tegra410_pmu *pmu)
{
	list_del(&pmu->entry);
	cpuhp_state_remove_instance_nocalls(tegra410_hotplug_state, &pmu->hotplug);
	perf_pmu_unregister(&pmu->pmu);
	kfree(pmu);
}

/* events can be opened from here on */
static void tegra410_pmu_go(struct tegra410_pmu *pmu)
{
	unsigned long irq;
	unsigned int cpu;

	cpus_read_lock();
	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->bound = true;
	cpu = cpumask_any_and(&pmu->pdata.cpus, cpu_online_mask);
	cpumask_clear(&pmu->active_cpu);
	if (cpu < nr_cpu_ids) {
		cpumask_set_cpu(cpu, &pmu->active_cpu);
		tegra410_pmu_set_affinity(pmu, cpu);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	cpus_read_unlock();
}

static int tegra410_pmu_init(struct tegra410_pmu *pmu, struct device *dev)
{
	int ret;

	ret = pmu->kind->init(pmu, dev);
	if (ret) {
		dev_err(dev, "%s: the hardware is not what it should be (%d)\n", pmu->name, ret);
		return ret;
	}
	if (!pmu->pdata.irq_ops && pmu->counter_mask != U64_MAX) {
		dev_err(dev, "%s: counters of less than 64 bits need an interrupt\n", pmu->name);
		return -EINVAL;
	}
	if (pmu->pdata.irq_ops) {
		ret = pmu->pdata.irq_ops->request(pmu->pdata.irq_ctx, tegra410_pmu_handle_irq, pmu);
		if (ret)
			dev_err(dev, "%s: no interrupt (%d)\n", pmu->name, ret);
	}
	return ret;
}

static void tegra410_pmu_unbind(void *data)
{
	struct tegra410_pmu *pmu = data;

	mutex_lock(&tegra410_pmus_lock);
	/* a CPU going offline moves events and interrupt without the PMU's lock */
	cpus_read_lock();
	tegra410_pmu_detach(pmu);
	if (pmu->pdata.irq_ops)
		pmu->pdata.irq_ops->free(pmu->pdata.irq_ctx);
	cpus_read_unlock();
	if (pmu->pmu.dev)
		sysfs_remove_link(&pmu->pmu.dev->kobj, "device");
	/* does not change after detach */
	if (!pmu->was_opened)
		tegra410_pmu_unregister(pmu);
	mutex_unlock(&tegra410_pmus_lock);
}

static int tegra410_pmu_bind(struct device *dev, const struct tegra410_pmu_platform_data *pdata,
			     struct tegra410_pmu **bound)
{
	const struct tegra410_pmu_kind *kind = tegra410_pmu_select(pdata);
	char name[TEGRA410_PMU_NAME_BYTES];
	struct tegra410_pmu *pmu;
	bool fresh;
	int ret;

	lockdep_assert_held(&tegra410_pmus_lock);

	if (!kind || !pdata->regmap || !cpumask_intersects(&pdata->cpus, cpu_possible_mask)) {
		dev_err(dev, "platform data lack kind, regmap or associated CPUs\n");
		return !kind || !pdata->regmap ? -EINVAL : -ENODEV;
	}

	tegra410_pmu_name(kind, pdata, name);
	pmu = tegra410_pmu_find(name);
	if (pmu && (pmu->bound || pmu->kind != kind)) {
		dev_err(dev, "%s exists already\n", name);
		return -EEXIST;
	}

	fresh = !pmu;
	if (fresh) {
		pmu = tegra410_pmu_alloc(kind, name);
		if (!pmu)
			return -ENOMEM;
	}
	pmu->pdata = *pdata;

	ret = tegra410_pmu_init(pmu, dev);
	if (ret)
		goto free;
	if (fresh) {
		ret = tegra410_pmu_register(pmu);
		if (ret)
			goto free_irq;
	}
	tegra410_pmu_go(pmu);
	/* says whose PMU it is; a parent would have to outlive it */
	if (pmu->pmu.dev && sysfs_create_link(&pmu->pmu.dev->kobj, &dev->kobj, "device"))
		dev_warn(dev, "no link from %s\n", name);
	*bound = pmu;
	return 0;

free_irq:
	if (pdata->irq_ops)
		pdata->irq_ops->free(pdata->irq_ctx);
free:
	if (fresh)
		kfree(pmu);
	return ret;
}

static int tegra410_pmu_probe(struct platform_device *pdev)
{
	const struct tegra410_pmu_platform_data *pdata = dev_get_platdata(&pdev->dev);
	struct tegra410_pmu *pmu = NULL;
	int ret;

	if (!pdata)
		return -ENODEV;

	mutex_lock(&tegra410_pmus_lock);
	ret = tegra410_pmu_bind(&pdev->dev, pdata, &pmu);
	mutex_unlock(&tegra410_pmus_lock);
	if (ret)
		return ret;

	return devm_add_action_or_reset(&pdev->dev, tegra410_pmu_unbind, pmu);
}

static struct platform_driver tegra410_pmu_driver = {
	.driver = {
		.name = TEGRA410_PMU_DEVICE,
		.suppress_bind_attrs = true,
	},
	.probe = tegra410_pmu_probe,
};

static int __init tegra410_pmu_module_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/tegra410:online",
				      tegra410_pmu_cpu_online, tegra410_pmu_cpu_offline);
	if (ret < 0)
		return ret;
	tegra410_hotplug_state = ret;

	ret = platform_driver_register(&tegra410_pmu_driver);
	if (ret)
		cpuhp_remove_multi_state(tegra410_hotplug_state);
	return ret;
}

static void __exit tegra410_pmu_module_exit(void)
{
	struct tegra410_pmu *pmu, *next;

	platform_driver_unregister(&tegra410_pmu_driver);
	/* no event is left: each one held a module reference */
	list_for_each_entry_safe(pmu, next, &tegra410_pmus, entry)
		tegra410_pmu_unregister(pmu);
	cpuhp_remove_multi_state(tegra410_hotplug_state);
}

module_init(tegra410_pmu_module_init);
module_exit(tegra410_pmu_module_exit);

MODULE_DESCRIPTION("Tegra410 SoC uncore PMUs");
MODULE_LICENSE("GPL");
MODULE_ALIAS("platform:" TEGRA410_PMU_DEVICE);
