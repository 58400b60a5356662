// SPDX-License-Identifier: GPL-2.0
/*
 * A DRM driver named msm of an Adreno that is a model: the kernel's msm_perfcntr.c, unmodified,
 * over registers in memory. The truth is in the work that /sys/kernel/debug/msm_model/work is
 * given, lines "GROUP COUNTABLE COUNT"; a reader gets the sums. "reset" in it resets the GPU as
 * after a hang.
 */
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <uapi/drm/msm_drm.h>

#include "msm_model.h"
#include "msm_perfcntr.h"

#define MAX_REGISTERS 1024
#define MAX_TRUTHS 64
#define TIMER_HZ 19200000

static unsigned int generation = 7;
module_param(generation, uint, 0444);
MODULE_PARM_DESC(generation, "6, 7 (default) or 8: which tables of groups the GPU has");

static unsigned int autosuspend_ms = 66;
module_param(autosuspend_ms, uint, 0444);
MODULE_PARM_DESC(autosuspend_ms, "how long the GPU stays powered without work (default 66)");

struct model {
	struct drm_device drm;
	struct msm_drm_private private;
	struct msm_gpu gpu;
	struct adreno_gpu adreno;
	struct msm_ringbuffer ring;
	struct msm_rbmemptrs memptrs;
	struct dentry *debugfs;

	/* protects all below */
	spinlock_t lock;
	u64 suspends;
	struct {
		u32 reg;
		unsigned int group, countable;
		u64 value;
	} registers[MAX_REGISTERS];
	unsigned int register_count;
	struct {
		unsigned int group, countable;
		u64 sum;
	} truths[MAX_TRUTHS];
	unsigned int truth_count;
};

static struct model *to_model(struct msm_gpu *gpu)
{
	return container_of(gpu, struct model, gpu);
}

struct adreno_gpu *to_adreno_gpu(struct msm_gpu *gpu)
{
	return &to_model(gpu)->adreno;
}

static u64 get_timestamp(struct msm_gpu *gpu)
{
	return mul_u64_u32_div(ktime_get_raw_ns(), TIMER_HZ, NSEC_PER_SEC);
}

u64 gpu_read64(struct msm_gpu *gpu, u32 reg)
{
	struct model *m = to_model(gpu);

	WARN_ON(!pm_runtime_active(&gpu->pdev->dev));
	guard(spinlock)(&m->lock);
	for (unsigned int n = 0; n < m->register_count; n++)
		if (m->registers[n].reg == reg)
			return m->registers[n].value;
	WARN_ON(1);
	return 0;
}

/* the registers keep their values when they are set to count something else */
static void configure(struct msm_gpu *gpu, struct msm_ringbuffer *ring,
		      const struct msm_perfcntr_stream *stream)
{
	struct model *m = to_model(gpu);

	guard(spinlock)(&m->lock);
	for (unsigned int i = 0; i < stream->nr_groups; i++) {
		const unsigned int group = msm_perfcntr_group_idx(stream, i);
		const unsigned int base = msm_perfcntr_counter_base(stream, group);
		const struct msm_perfcntr_group_state *state = gpu->perfcntrs->groups[group];

		for (unsigned int j = 0; j < state->allocated_counters; j++) {
			const struct msm_perfcntr_counter *counter =
				&gpu->perfcntr_groups[group].counters[base + j];

			for (unsigned int n = 0; n < m->register_count; n++)
				if (m->registers[n].reg == counter->counter_reg_lo)
					m->registers[n].countable = state->countables[j];
		}
	}
	WRITE_ONCE(ring->memptrs->perfcntr_fence, stream->sel_fence);
}

static const struct msm_gpu_funcs gpu_funcs = { .perfcntr_configure = configure };
static const struct adreno_gpu_funcs adreno_funcs = { .get_timestamp = get_timestamp };

/* --- power ----------------------------------------------------------------------------- */

/* under the lock: after a loss of power nothing is counted until it is configured */
static void clear_registers(struct model *m)
{
	const struct msm_gpu *gpu = &m->gpu;

	m->register_count = 0;
	for (unsigned int group = 0; group < gpu->num_perfcntr_groups; group++)
		for (unsigned int i = 0; i < gpu->perfcntr_groups[group].num_counters; i++) {
			if (WARN_ON(m->register_count == MAX_REGISTERS))
				return;
			m->registers[m->register_count].reg =
				gpu->perfcntr_groups[group].counters[i].counter_reg_lo;
			m->registers[m->register_count].group = group;
			m->registers[m->register_count].countable = U32_MAX;
			m->registers[m->register_count++].value = 0;
		}
}

static void lose_power(struct model *m)
{
	msm_perfcntr_suspend(&m->gpu);
	guard(spinlock)(&m->lock);
	m->suspends++;
	clear_registers(m);
}

static int runtime_suspend(struct device *dev)
{
	lose_power(dev_get_drvdata(dev));
	return 0;
}

static int runtime_resume(struct device *dev)
{
	struct model *m = dev_get_drvdata(dev);

	return msm_perfcntr_resume(&m->gpu);
}

static const struct dev_pm_ops pm_ops = {
	RUNTIME_PM_OPS(runtime_suspend, runtime_resume, NULL)
};

/* --- work ------------------------------------------------------------------------------ */

static int find_group(const struct msm_gpu *gpu, const char *name)
{
	for (unsigned int n = 0; n < gpu->num_perfcntr_groups; n++)
		if (!strcmp(gpu->perfcntr_groups[n].name, name))
			return n;
	return -EINVAL;
}

static int add_work(struct model *m, unsigned int group, unsigned int countable, u64 count)
{
	unsigned int n = 0;

	guard(spinlock)(&m->lock);
	while (n < m->truth_count &&
	       (m->truths[n].group != group || m->truths[n].countable != countable))
		n++;
	if (n == MAX_TRUTHS)
		return -ENOSPC;
	if (n == m->truth_count) {
		m->truths[n].group = group;
		m->truths[n].countable = countable;
		m->truth_count++;
	}
	m->truths[n].sum += count;
	for (n = 0; n < m->register_count; n++)
		if (m->registers[n].group == group && m->registers[n].countable == countable)
			m->registers[n].value += count;
	return 0;
}

static int do_line(struct model *m, char *line)
{
	struct device *dev = &m->gpu.pdev->dev;
	unsigned int countable;
	int group, err;
	char name[32];
	u64 count;

	if (*line && strcmp(line, "reset") &&
	    (sscanf(line, "%31s %u %llu", name, &countable, &count) != 3 ||
	     find_group(&m->gpu, name) < 0))
		return -EINVAL;
	err = pm_runtime_resume_and_get(dev);
	if (err)
		return err;
	if (!strcmp(line, "reset")) {
		guard(mutex)(&m->gpu.lock);
		lose_power(m);
		msm_perfcntr_resume(&m->gpu);
	} else if (*line) {
		group = find_group(&m->gpu, name);
		err = add_work(m, group, countable, count);
	}
	pm_runtime_put_autosuspend(dev);
	return err;
}

static ssize_t work_write(struct file *file, const char __user *bytes, size_t size, loff_t *at)
{
	struct model *m = file_inode(file)->i_private;
	char *rest, *line;
	int err;

	if (size > PAGE_SIZE)
		return -E2BIG;

	char *text __free(kfree) = memdup_user_nul(bytes, size);

	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		err = do_line(m, line);
		if (err)
			return err;
	}
	return size;
}

static int work_show(struct seq_file *file, void *unused)
{
	struct model *m = file->private;

	guard(spinlock)(&m->lock);
	for (unsigned int n = 0; n < m->truth_count; n++)
		seq_printf(file, "%s %u %llu\n", m->gpu.perfcntr_groups[m->truths[n].group].name,
			   m->truths[n].countable, m->truths[n].sum);
	return 0;
}

static int work_open(struct inode *inode, struct file *file)
{
	return single_open(file, work_show, inode->i_private);
}

static const struct file_operations work_fops = {
	.owner = THIS_MODULE,
	.open = work_open,
	.read = seq_read,
	.write = work_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* --- the driver ------------------------------------------------------------------------ */

static u64 chip_id(void)
{
	/* Adreno 660, X1-85 and X2-85 */
	return generation == 6 ? 0x06060001 : generation == 7 ? 0x43050c01 : 0x44070001;
}

static int get_param(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct model *m = container_of(drm, struct model, drm);
	struct drm_msm_param *args = data;

	if (args->pipe != MSM_PIPE_3D0 || args->pad)
		return -EINVAL;
	switch (args->param) {
	case MSM_PARAM_CHIP_ID:
		args->value = chip_id();
		return 0;
	case MSM_PARAM_MAX_FREQ:
		args->value = 1000000000;
		return 0;
	case MSM_PARAM_SUSPENDS:
		guard(spinlock)(&m->lock);
		args->value = m->suspends;
		return 0;
	default:
		return -EINVAL;
	}
}

/* 2 keeps the GPU powered; under the lock of the GPU */
static void set_sysprof(struct msm_gpu *gpu, struct msm_context *context, u64 value)
{
	if (value == 2)
		pm_runtime_get_sync(&gpu->pdev->dev);
	if (context->sysprof == 2)
		pm_runtime_put_autosuspend(&gpu->pdev->dev);
	context->sysprof = value;
}

static int set_param(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct model *m = container_of(drm, struct model, drm);
	struct drm_msm_param *args = data;

	if (args->pipe != MSM_PIPE_3D0 || args->pad || args->param != MSM_PARAM_SYSPROF ||
	    args->value > 2)
		return -EINVAL;
	if (!perfmon_capable())
		return -EPERM;
	guard(mutex)(&m->gpu.lock);
	set_sysprof(&m->gpu, file->driver_priv, args->value);
	return 0;
}

static int context_open(struct drm_device *drm, struct drm_file *file)
{
	struct msm_context *context = kzalloc(sizeof(*context), GFP_KERNEL);

	file->driver_priv = context;
	return context ? 0 : -ENOMEM;
}

static void context_close(struct drm_device *drm, struct drm_file *file)
{
	struct model *m = container_of(drm, struct model, drm);
	struct msm_context *context = file->driver_priv;

	scoped_guard(mutex, &m->gpu.lock)
		set_sysprof(&m->gpu, context, 0);
	kfree(context->perfctx);
	kfree(context);
}

static const struct drm_ioctl_desc ioctls[] = {
	DRM_IOCTL_DEF_DRV(MSM_GET_PARAM, get_param, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(MSM_SET_PARAM, set_param, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(MSM_PERFCNTR_CONFIG, msm_ioctl_perfcntr_config, DRM_RENDER_ALLOW),
};

DEFINE_DRM_GEM_FOPS(fops);

static const struct drm_driver drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.open = context_open,
	.postclose = context_close,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &fops,
	.name = "msm",
	.desc = "model of an Adreno",
	.major = 1,
	.minor = 14,
};

static int init_gpu(struct model *m, struct platform_device *pdev)
{
	struct msm_gpu *gpu = &m->gpu;

	spin_lock_init(&m->lock);
	mutex_init(&gpu->lock);
	mutex_init(&gpu->perfcntr_lock);
	m->private.gpu = gpu;
	m->drm.dev_private = &m->private;
	m->adreno.funcs = &adreno_funcs;
	m->ring.memptrs = &m->memptrs;
	gpu->pdev = pdev;
	gpu->dev = &m->drm;
	gpu->rb[0] = &m->ring;
	gpu->funcs = &gpu_funcs;
	switch (generation) {
	case 6:
		gpu->perfcntr_groups = a6xx_perfcntr_groups;
		gpu->num_perfcntr_groups = a6xx_num_perfcntr_groups;
		break;
	case 7:
		gpu->perfcntr_groups = a7xx_perfcntr_groups;
		gpu->num_perfcntr_groups = a7xx_num_perfcntr_groups;
		break;
	case 8:
		gpu->perfcntr_groups = a8xx_perfcntr_groups;
		gpu->num_perfcntr_groups = a8xx_num_perfcntr_groups;
		break;
	default:
		dev_err(&pdev->dev, "generation=%u: use 6, 7 or 8\n", generation);
		return -EINVAL;
	}
	clear_registers(m);
	gpu->perfcntrs = msm_perfcntr_init(gpu);
	return PTR_ERR_OR_ZERO(gpu->perfcntrs);
}

static void probe_undo(struct model *m)
{
	if (!IS_ERR_OR_NULL(m->gpu.worker))
		kthread_destroy_worker(m->gpu.worker);
	if (m->ring.sched.submit_wq)
		destroy_workqueue(m->ring.sched.submit_wq);
}

static int probe(struct platform_device *pdev)
{
	struct model *m = devm_drm_dev_alloc(&pdev->dev, &drm_driver, struct model, drm);
	int err;

	if (IS_ERR(m))
		return PTR_ERR(m);
	platform_set_drvdata(pdev, m);
	err = init_gpu(m, pdev);
	if (err)
		return err;
	m->ring.sched.submit_wq = alloc_ordered_workqueue("msm_model", 0);
	m->gpu.worker = kthread_run_worker(0, "msm_model");
	if (!m->ring.sched.submit_wq || IS_ERR(m->gpu.worker)) {
		err = -ENOMEM;
		goto undo;
	}
	pm_runtime_set_autosuspend_delay(&pdev->dev, autosuspend_ms);
	pm_runtime_use_autosuspend(&pdev->dev);
	err = devm_pm_runtime_enable(&pdev->dev) ?: drm_dev_register(&m->drm, 0);
	if (err)
		goto undo;
	m->debugfs = debugfs_create_dir("msm_model", NULL);
	debugfs_create_file("work", 0600, m->debugfs, m, &work_fops);
	return 0;
undo:
	probe_undo(m);
	return err;
}

/* only when the module goes, which nobody uses then */
static void model_remove(struct platform_device *pdev)
{
	struct model *m = platform_get_drvdata(pdev);

	debugfs_remove(m->debugfs);
	drm_dev_unregister(&m->drm);
	msm_perfcntr_suspend(&m->gpu);
	probe_undo(m);
	msm_perfcntr_cleanup(&m->gpu);
}

static const struct platform_device_id ids[] = {
	{ .name = "3d00000.gpu" },
	{ }
};

static struct platform_driver driver = {
	.probe = probe,
	.remove = model_remove,
	.id_table = ids,
	.driver = {
		.name = "adreno",
		.pm = pm_ptr(&pm_ops),
		.suppress_bind_attrs = true,
	},
};

static struct platform_device *device;

static int __init model_init(void)
{
	int err = platform_driver_register(&driver);

	if (err)
		return err;
	device = platform_device_register_simple(ids[0].name, PLATFORM_DEVID_NONE, NULL, 0);
	err = PTR_ERR_OR_ZERO(device);
	if (err)
		platform_driver_unregister(&driver);
	return err;
}
module_init(model_init);

static void __exit model_exit(void)
{
	platform_device_unregister(device);
	platform_driver_unregister(&driver);
}
module_exit(model_exit);

MODULE_DESCRIPTION("The kernel's streams of msm on a model of an Adreno");
MODULE_LICENSE("GPL");
