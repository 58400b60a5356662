// SPDX-License-Identifier: GPL-2.0
/*
 * Tegra410 uncore PMUs: sysfs files common to all kinds.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "tegra410_pmu.h"

/*
 * Show a file in events/. Returns the length of the text.
 * @dev: the PMU's device; @attr: its attribute, a struct perf_pmu_events_attr.
 */
ssize_t tegra410_pmu_event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_attr *event = container_of(attr, struct perf_pmu_events_attr, attr);

	return sysfs_emit(page, "event=%#llx\n", event->id);
}

/*
 * Show a file in format/. Returns the length of the text.
 * @dev: the PMU's device; @attr: its attribute, a struct dev_ext_attribute.
 */
ssize_t tegra410_pmu_text_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct dev_ext_attribute *text = container_of(attr, struct dev_ext_attribute, attr);

	return sysfs_emit(page, "%s\n", (const char *)text->var);
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(dev_get_drvdata(dev));
	unsigned long irq;
	unsigned int cpu;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	cpu = cpumask_first(&pmu->active_cpu);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(cpu < nr_cpu_ids ? cpumask_of(cpu) :
								  cpu_none_mask));
}
static DEVICE_ATTR_RO(cpumask);

static ssize_t associated_cpus_show(struct device *dev, struct device_attribute *attr,
				    char *page)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(dev_get_drvdata(dev));

	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(&pmu->pdata.cpus));
}
static DEVICE_ATTR_RO(associated_cpus);

static struct attribute *tegra410_pmu_cpumask_attrs[] = {
	&dev_attr_cpumask.attr,
	&dev_attr_associated_cpus.attr,
	NULL
};

const struct attribute_group tegra410_pmu_cpumask_group = {
	.attrs = tegra410_pmu_cpumask_attrs,
};

static ssize_t identifier_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(dev_get_drvdata(dev));

	if (pmu->kind->identifier)
		return sysfs_emit(page, "%s\n", pmu->kind->identifier);
	return sysfs_emit(page, "%08x\n", pmu->pmiidr);
}
static DEVICE_ATTR_RO(identifier);

static struct attribute *tegra410_pmu_identifier_attrs[] = {
	&dev_attr_identifier.attr,
	NULL
};

const struct attribute_group tegra410_pmu_identifier_group = {
	.attrs = tegra410_pmu_identifier_attrs,
};
