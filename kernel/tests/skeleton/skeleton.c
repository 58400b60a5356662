// SPDX-License-Identifier: GPL-2.0
/*
 * The smallest driver that offers counters: kernel/README.md explains it, and its numbers are the
 * steps there. The hardware, a few 32-bit counters that wrap, is memory; writing a number to the
 * device's attribute "work" lets it count.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_perfctr.h>
#include <drm/perfctr_mali.h>

#include "compat.h"

#define COUNTERS	4
/* of the fastest counter: four counts per cycle at 1 GHz */
#define MAX_COUNT_HZ	4000000000ull
/* of the first counter, which is the slowest one by COUNTERS */
#define WORK_PER_US	((u32)(MAX_COUNT_HZ / COUNTERS / USEC_PER_SEC))
#define PIECE_US	10000

struct skeleton {
	struct drm_device drm;
	u32 reg[COUNTERS];	/* the hardware */
	struct mutex engine;	/* it does one piece of work at a time */
	struct drm_perfctr *pc;
	struct drm_perfctr_source source;
	u32 last[COUNTERS];	/* registers at the last collection */
};

static struct skeleton *to_skeleton(struct drm_device *drm)
{
	return container_of(drm, struct skeleton, drm);
}

/* --- 1: the source ------------------------------------------------------- */

static int start(struct drm_perfctr_source *source, u8 set)
{
	struct skeleton *skeleton = container_of(source, struct skeleton, source);

	memcpy(skeleton->last, skeleton->reg, sizeof(skeleton->last));
	return 0;
}

static void stop(struct drm_perfctr_source *source)
{
}

static int collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct skeleton *skeleton = container_of(source, struct skeleton, source);
	u64 *totals = drm_perfctr_block_totals(source, 0);
	const u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { GENMASK_ULL(COUNTERS - 1, 0) };

	for (int i = 0; i < COUNTERS; i++) {
		u32 now = READ_ONCE(skeleton->reg[i]);

		totals[i] += now - skeleton->last[i];
		skeleton->last[i] = now;
	}
	drm_perfctr_block_report(source, 0, DRM_PERFCTR_STATE_ON, valid);
	return 0;
}

static const struct drm_perfctr_source_ops source_ops = {
	.start = start,
	.stop = stop,
	.collect = collect,
};

static const struct drm_perfctr_block_desc block = {
	.type = DRM_PERFCTR_MALI_BLOCK_TILER,
	.counters = COUNTERS,
	.product = DRM_PERFCTR_PRODUCT_UNKNOWN,
	.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
	.clock = DRM_PERFCTR_CLOCK_NONE,
	.available = { GENMASK_ULL(COUNTERS - 1, 0) },
};

/* --- 2: ioctls and fdinfo ------------------------------------------------ */

static void skeleton_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file = filp->private_data;

	drm_perfctr_show_fdinfo(&p, to_skeleton(file->minor->dev)->pc);
}

static void skeleton_debugfs_init(struct drm_minor *minor)
{
	drm_perfctr_debugfs_init(to_skeleton(minor->dev)->pc, minor->debugfs_root);
}

DRM_PERFCTR_IOCTL_HANDLERS(to_skeleton(drm)->pc)

static const struct drm_ioctl_desc ioctls[] = {
	DRM_PERFCTR_IOCTLS(DRM_PERFCTR_IOCTL_NR),
};

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	PERFCTR_DRM_FOPS,
	.show_fdinfo = skeleton_show_fdinfo,
};

static const struct drm_driver drm_driver = {
	.driver_features = DRIVER_RENDER,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &fops,
	.debugfs_init = skeleton_debugfs_init,
	.name = "skeleton",
	.desc = "The smallest driver with counters",
	PERFCTR_DRM_DATE
};

/* --- 3: power and reset -------------------------------------------------- */

static int runtime_suspend(struct device *dev)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);

	drm_perfctr_suspend(skeleton->pc);
	/* the hardware loses its state */
	memset(skeleton->reg, 0, sizeof(skeleton->reg));
	return 0;
}

static int runtime_resume(struct device *dev)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);

	drm_perfctr_resume(skeleton->pc);
	return 0;
}

/* for sessions that keep the device awake */
static int wake(struct drm_device *drm)
{
	return pm_runtime_resume_and_get(drm->dev);
}

static void relax(struct drm_device *drm)
{
	pm_runtime_mark_last_busy(drm->dev);
	pm_runtime_put_autosuspend(drm->dev);
}

static const struct drm_perfctr_driver_ops driver_ops = {
	.wake = wake,
	.relax = relax,
};

static ssize_t work_store(struct device *dev, struct device_attribute *attribute, const char *text,
			  size_t length)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);
	u32 amount, piece, us;
	int err = kstrtou32(text, 0, &amount) ?: mutex_lock_interruptible(&skeleton->engine);

	if (err)
		return err;
	err = pm_runtime_resume_and_get(dev);
	if (err)
		goto unlock;
	/* it takes its time, as no counter may be faster than MAX_COUNT_HZ */
	for (; amount && !err; amount -= piece) {
		piece = min(amount, PIECE_US * WORK_PER_US);
		us = DIV_ROUND_UP(piece, WORK_PER_US);
		usleep_range(us, us + PIECE_US / 10);
		/* the second counter is twice as fast as the first one */
		for (int i = 0; i < COUNTERS; i++)
			skeleton->reg[i] += piece * (i + 1);
		err = signal_pending(current) ? -EINTR : 0;
	}
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
unlock:
	mutex_unlock(&skeleton->engine);
	return err ?: length;
}
static DEVICE_ATTR_WO(work);

static ssize_t reset_store(struct device *dev, struct device_attribute *attribute,
			   const char *text, size_t length)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);

	mutex_lock(&skeleton->engine);
	drm_perfctr_pre_reset(skeleton->pc);
	memset(skeleton->reg, 0, sizeof(skeleton->reg));
	drm_perfctr_post_reset(skeleton->pc);
	mutex_unlock(&skeleton->engine);
	return length;
}
static DEVICE_ATTR_WO(reset);

static struct attribute *skeleton_attrs[] = {
	&dev_attr_work.attr,
	&dev_attr_reset.attr,
	NULL,
};
ATTRIBUTE_GROUPS(skeleton);

/* --- 4: probe and remove ------------------------------------------------- */

static int skeleton_probe(struct platform_device *pdev)
{
	static const struct drm_perfctr_config config = {
		.name = "skeleton",
		.ioctl_nr = DRM_PERFCTR_IOCTL_NR,
		.ops = &driver_ops,
	};
	struct device *dev = &pdev->dev;
	struct skeleton *skeleton;
	int err;

	skeleton = devm_drm_dev_alloc(dev, &drm_driver, struct skeleton, drm);
	if (IS_ERR(skeleton))
		return PTR_ERR(skeleton);
	platform_set_drvdata(pdev, skeleton);
	mutex_init(&skeleton->engine);
	skeleton->pc = drmm_perfctr_create(&skeleton->drm, &config);
	if (IS_ERR(skeleton->pc))
		return PTR_ERR(skeleton->pc);
	skeleton->source.name = "skeleton";
	skeleton->source.ops = &source_ops;
	skeleton->source.descs = &block;
	skeleton->source.block_count = 1;
	skeleton->source.max_interval_ns = U32_MAX * (u64)NSEC_PER_SEC / MAX_COUNT_HZ / 2;
	skeleton->source.collect_at_reset = true;
	err = drm_perfctr_add_source(skeleton->pc, &skeleton->source);
	if (err)
		return err;
	pm_runtime_set_autosuspend_delay(dev, 50);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_set_active(dev);
	err = devm_pm_runtime_enable(dev);
	return err ?: drm_dev_register(&skeleton->drm, 0);
}

static void skeleton_remove(struct platform_device *pdev)
{
	struct skeleton *skeleton = platform_get_drvdata(pdev);

	drm_perfctr_unplug(skeleton->pc);
	drm_dev_unplug(&skeleton->drm);
}

static const struct dev_pm_ops pm_ops = {
	SET_RUNTIME_PM_OPS(runtime_suspend, runtime_resume, NULL)
};

static struct platform_driver skeleton_driver = {
	.probe = skeleton_probe,
	.PERFCTR_PLATFORM_REMOVE = skeleton_remove,
	.driver = {
		.name = "skeleton",
		.pm = &pm_ops,
		.dev_groups = skeleton_groups,
	},
};

static struct platform_device *device;

static int __init skeleton_init(void)
{
	int err = platform_driver_register(&skeleton_driver);

	if (err)
		return err;
	device = platform_device_register_simple("skeleton", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		platform_driver_unregister(&skeleton_driver);
	return PTR_ERR_OR_ZERO(device);
}
module_init(skeleton_init);

static void __exit skeleton_exit(void)
{
	platform_device_unregister(device);
	platform_driver_unregister(&skeleton_driver);
}
module_exit(skeleton_exit);

MODULE_DESCRIPTION("The smallest driver with counters");
MODULE_LICENSE("GPL");
