// SPDX-License-Identifier: GPL-2.0
/*
 * A DRM device without a GPU: offers the machine's perf PMUs through the counter interface of
 * perfctr_drm.h.
 *
 * All counters come from the core's PMU source; this driver has no hardware of its own.
 * lab/tegra410/README.md describes its use.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_perfctr.h>
#include <drm/drm_print.h>

#include "compat.h"

#define PERFCTR_SOC_NAME	"perfctr_soc"

struct perfctr_soc {
	struct drm_device drm;
	struct drm_perfctr *pc;
};

static struct perfctr_soc *to_perfctr_soc(struct drm_device *drm)
{
	return container_of(drm, struct perfctr_soc, drm);
}

/* another number than other drivers have: user space takes it from fdinfo */
#define IOCTL_NR	0x40

DRM_PERFCTR_IOCTL_HANDLERS(to_perfctr_soc(drm)->pc)

static const struct drm_ioctl_desc perfctr_soc_ioctls[] = {
	DRM_PERFCTR_IOCTLS(IOCTL_NR),
};

static void show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file = filp->private_data;

	perfctr_drm_show_fdinfo(m, filp, 0);
	drm_perfctr_show_fdinfo(&p, to_perfctr_soc(file->minor->dev)->pc);
}

static const struct file_operations perfctr_soc_fops = {
	.owner = THIS_MODULE,
	PERFCTR_DRM_FOPS,
	.show_fdinfo = show_fdinfo,
};

static void perfctr_soc_debugfs_init(struct drm_minor *minor)
{
	drm_perfctr_debugfs_init(to_perfctr_soc(minor->dev)->pc, minor->debugfs_root);
}

static const struct drm_driver perfctr_soc_drm_driver = {
	.driver_features = DRIVER_RENDER,
	.ioctls = perfctr_soc_ioctls,
	.num_ioctls = ARRAY_SIZE(perfctr_soc_ioctls),
	.fops = &perfctr_soc_fops,
	.debugfs_init = perfctr_soc_debugfs_init,

	.name = PERFCTR_SOC_NAME,
	.desc = "PMUs of this machine",
	PERFCTR_DRM_DATE
	.major = 1,
	.minor = 0,
};

static void perfctr_soc_remove(void *data)
{
	struct perfctr_soc *soc = data;

	/* first let sessions take their last sample */
	drm_perfctr_unplug(soc->pc);
	drm_dev_unplug(&soc->drm);
}

static int perfctr_soc_probe(struct platform_device *pdev)
{
	const struct drm_perfctr_config config = {
		.name = "PMUs of this machine",
		.product = DRM_PERFCTR_PRODUCT_PERF_PMU,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.features = DRM_PERFCTR_FEATURE_STATES,
		.ioctl_nr = IOCTL_NR,
	};
	struct perfctr_soc *soc;
	int ret;

	soc = devm_drm_dev_alloc(&pdev->dev, &perfctr_soc_drm_driver, struct perfctr_soc, drm);
	if (IS_ERR(soc))
		return PTR_ERR(soc);
	soc->pc = drmm_perfctr_create(&soc->drm, &config);
	if (IS_ERR(soc->pc))
		return PTR_ERR(soc->pc);
	ret = drm_dev_register(&soc->drm, 0);
	if (ret)
		return ret;
	return devm_add_action_or_reset(&pdev->dev, perfctr_soc_remove, soc);
}

static struct platform_driver perfctr_soc_platform_driver = {
	.probe = perfctr_soc_probe,
	.driver = {
		.name = PERFCTR_SOC_NAME,
	},
};

static struct platform_device *perfctr_soc_pdev;

static int __init perfctr_soc_init(void)
{
	int ret = platform_driver_register(&perfctr_soc_platform_driver);

	if (ret)
		return ret;
	perfctr_soc_pdev = platform_device_register_simple(PERFCTR_SOC_NAME, -1, NULL, 0);
	if (IS_ERR(perfctr_soc_pdev)) {
		platform_driver_unregister(&perfctr_soc_platform_driver);
		return PTR_ERR(perfctr_soc_pdev);
	}
	return 0;
}

static void __exit perfctr_soc_exit(void)
{
	platform_device_unregister(perfctr_soc_pdev);
	platform_driver_unregister(&perfctr_soc_platform_driver);
}

module_init(perfctr_soc_init);
module_exit(perfctr_soc_exit);

/* catalogues of PMUs that have their own block types */
MODULE_SOFTDEP("pre: tegra410_perfctr");
MODULE_DESCRIPTION("Counters of the machine's perf PMUs on a DRM node");
MODULE_LICENSE("GPL");
