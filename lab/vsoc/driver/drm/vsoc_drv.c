// SPDX-License-Identifier: GPL-2.0
/*
 * The virtual SoC: a DRM device on a platform device that the module creates.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/uaccess.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_perfctr_control.h>
#include <drm/drm_print.h>
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>

#include "compat.h"
#include "csf/vsoc_csf.h"
#include "engine/vsoc.h"
#include "engine/vsoc_engine.h"
#include "engine/vsoc_fault.h"
#include "engine/vsoc_log.h"
#include "fabric/vsoc_fabric.h"
#include "nv50/vsoc_nv50.h"
#include "source/csf/csf_perfctr.h"
#include "vsoc_devices.h"
#include "vsoc_drv.h"
#include "vsoc_job.h"

#define VSOC_GPU_ID		0x765350c0ULL
#define GET_INFO_MAX_BYTES	4096

/* --- ioctls -------------------------------------------------------------- */

static void fill_info(const struct vsoc_device *vsoc, struct drm_vsoc_info *info)
{
	*info = (struct drm_vsoc_info) {
		.version = 8,
		.counters_per_block = vsoc->shape.counters_per_block,
		.shader_present = vsoc->shape.shader_present,
		.l2_slices = vsoc->shape.l2_slices,
		.max_commands = VSOC_MAX_COMMANDS,
		.max_contexts = VSOC_MAX_CONTEXTS,
		.max_queued_jobs = VSOC_MAX_QUEUED_JOBS,
		.max_units = VSOC_MAX_UNITS,
		.top_hz = VSOC_TOP_HZ,
		.coregroup_hz = VSOC_COREGROUP_HZ,
		.shader_hz = VSOC_SHADER_HZ,
		.max_wait_ns = VSOC_MAX_WAIT_NS,
		.sockets = VSOC_SOCKETS,
		.root_complexes = VSOC_ROOT_COMPLEXES,
		.root_ports = VSOC_ROOT_PORTS,
		.gpus = VSOC_GPUS,
		.max_listing = VSOC_MAX_LISTING,
		.max_steps = VSOC_MAX_STEPS,
		.max_job_steps = VSOC_MAX_JOB_STEPS,
	};
}

/* the rules of GET_INFO, for @known bytes at @info */
static int copy_info(struct drm_device *drm, struct drm_vsoc_get_info *args, const void *info,
		     u32 known)
{
	void __user *to = u64_to_user_ptr(args->pointer);
	u32 size = args->size;

	if (args->pad) {
		drm_dbg_driver(drm, "get_info: pad must be zero\n");
		return -EINVAL;
	}
	args->size = known;
	if (!args->pointer)
		return 0;
	if (!size || size % 8 || size > GET_INFO_MAX_BYTES) {
		drm_dbg_driver(drm, "get_info: size must be a multiple of 8, 8..4096\n");
		return -EINVAL;
	}

	if (copy_to_user(to, info, min(size, known)))
		return -EFAULT;
	if (size > known && clear_user(to + known, size - known))
		return -EFAULT;
	return 0;
}

static int vsoc_get_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vsoc_info info;

	fill_info(to_vsoc(drm), &info);
	return copy_info(drm, data, &info, sizeof(info));
}

DRM_PERFCTR_IOCTL_HANDLERS(to_vsoc(drm)->pc)

#ifdef CONFIG_DRM_PERFCTR_CONTROL
static int vsoc_control_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_perfctr_control_info info;
	int ret = drm_perfctr_control_describe(to_vsoc(drm)->pc, &info);

	return ret ?: copy_info(drm, data, &info, sizeof(info));
}

static int vsoc_control_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return drm_perfctr_control_ioctl(to_vsoc(drm)->pc, data, file);
}
#endif

static const struct drm_ioctl_desc vsoc_ioctls[] = {
	DRM_IOCTL_DEF_DRV(VSOC_GET_INFO, vsoc_get_info_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VSOC_SUBMIT, vsoc_submit_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VSOC_WAIT, vsoc_wait_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VSOC_CTX_CREATE, vsoc_ctx_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VSOC_CTX_DESTROY, vsoc_ctx_destroy_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VSOC_BO_CREATE, vsoc_bo_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VSOC_CTX_HOLD, vsoc_ctx_hold_ioctl, DRM_RENDER_ALLOW),
	DRM_PERFCTR_IOCTLS(DRM_PERFCTR_IOCTL_NR),
#ifdef CONFIG_DRM_PERFCTR_CONTROL
	DRM_IOCTL_DEF_DRV(VSOC_CONTROL_INFO, vsoc_control_info_ioctl, DRM_RENDER_ALLOW),
	DRM_PERFCTR_CONTROL_IOCTL(vsoc_control_ioctl),
#endif
};

static void postclose(struct drm_device *drm, struct drm_file *file)
{
#ifdef CONFIG_DRM_PERFCTR_CONTROL
	drm_perfctr_control_close(to_vsoc(drm)->pc, file);
#endif
	vsoc_postclose(drm, file);
}

/* --- debugfs ------------------------------------------------------------- */

/* stepped time: "stepped" switches it on; "step_ns" advances it and reads the time */

static int stepped_get(void *data, u64 *on)
{
	struct vsoc_device *vsoc = data;

	*on = READ_ONCE(vsoc->stepped.on);
	return 0;
}

static int stepped_set(void *data, u64 on)
{
	return on > 1 ? -EINVAL : vsoc_engine_set_stepped(data, on);
}
DEFINE_DEBUGFS_ATTRIBUTE(stepped_fops, stepped_get, stepped_set, "%llu\n");

static int step_get(void *data, u64 *now_ns)
{
	*now_ns = vsoc_now_ns(data);
	return 0;
}

static int step_set(void *data, u64 ns)
{
	return vsoc_engine_step(data, ns);
}
DEFINE_DEBUGFS_ATTRIBUTE(step_fops, step_get, step_set, "%llu\n");

static void step_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("stepped", 0600, dir, vsoc, &stepped_fops);
	debugfs_create_file("step_ns", 0600, dir, vsoc, &step_fops);
}

static void vsoc_debugfs_init(struct drm_minor *minor)
{
	struct vsoc_device *vsoc = to_vsoc(minor->dev);
	struct dentry *dir = debugfs_create_dir("vsoc", minor->debugfs_root);

	vsoc_truth_debugfs(vsoc, dir);
	vsoc_profile_debugfs(vsoc, dir);
	step_debugfs(vsoc, dir);
	vsoc_fw_debugfs(vsoc, dir);
	vsoc_power_debugfs(vsoc, dir);
	vsoc_faults_debugfs(vsoc, dir);
	vsoc_log_debugfs(vsoc, dir);
	vsoc_fabric_debugfs(vsoc, dir);
	vsoc_nv50_debugfs(vsoc, dir);
	drm_perfctr_debugfs_init(vsoc->pc, minor->debugfs_root);
}

/* --- device -------------------------------------------------------------- */

static void vsoc_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file = filp->private_data;

	perfctr_drm_show_fdinfo(m, filp, vsoc_client_id(file));
	vsoc_show_usage(&p, file);
	perfctr_drm_show_memory(&p, file);
	drm_perfctr_show_fdinfo(&p, to_vsoc(file->minor->dev)->pc);
}

static const struct file_operations vsoc_fops = {
	.owner = THIS_MODULE,
	DRM_GEM_FOPS,
	.show_fdinfo = vsoc_show_fdinfo,
};

static const struct drm_driver vsoc_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.open = vsoc_open,
	.postclose = postclose,
	.release = vsoc_release,
	.ioctls = vsoc_ioctls,
	.num_ioctls = ARRAY_SIZE(vsoc_ioctls),
	.fops = &vsoc_fops,
	.debugfs_init = vsoc_debugfs_init,
	DRM_GEM_SHMEM_DRIVER_OPS,

	.name = "vsoc",
	.desc = "Virtual SoC",
	PERFCTR_DRM_DATE
	.major = 1,
	.minor = 0,
};

/* must not take hw_lock, which the models hold for long */
static u64 frequency_hz(struct drm_device *drm, u8 clock)
{
	struct vsoc_device *vsoc = to_vsoc(drm);

	return vsoc->nv50 ? vsoc_nv50_hz(vsoc, clock) : READ_ONCE(vsoc->gpu.clocks[clock].hz);
}

static int wake(struct drm_device *drm)
{
	return vsoc_power_get(to_vsoc(drm));
}

static void relax(struct drm_device *drm)
{
	vsoc_power_put(to_vsoc(drm));
}

static const struct drm_perfctr_driver_ops perfctr_driver_ops = {
	.frequency_hz = frequency_hz,
	.wake = wake,
	.relax = relax,
};

/* enum vsoc_clock has the values of enum drm_perfctr_mali_clock */
static const struct drm_perfctr_clock_desc clock_descs[] = {
	{ DRM_PERFCTR_MALI_CLOCK_TOP, "top", VSOC_TOP_HZ },
	{ DRM_PERFCTR_MALI_CLOCK_COREGROUP, "coregroup", VSOC_COREGROUP_HZ },
	{ DRM_PERFCTR_MALI_CLOCK_SHADER, "shader", VSOC_SHADER_HZ },
};

/* with NVIDIA-style counters: clock n is that of PCOUNTER's domain n */
static const struct drm_perfctr_clock_desc nv50_clock_descs[] = {
	{ 0, "host", 200000000 },
	{ 1, "core-a", VSOC_COREGROUP_HZ },
	{ 2, "core-b", VSOC_COREGROUP_HZ },
	{ 3, "shader", VSOC_SHADER_HZ },
	{ 4, "memory", 400000000 },
	{ 5, "core-c", VSOC_COREGROUP_HZ },
	{ 6, "vdec", 400000000 },
	{ 7, "core-d", VSOC_COREGROUP_HZ },
};

static int perfctr_init_nv50(struct vsoc_device *vsoc)
{
	const struct drm_perfctr_config config = {
		.name = "Virtual SoC, nv50",
		.gpu_id = VSOC_GPU_ID,
		.product = DRM_PERFCTR_NV50_PRODUCT,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.features = DRM_PERFCTR_FEATURE_STATES | DRM_PERFCTR_FEATURE_IN_STREAM,
		.clocks = nv50_clock_descs,
		.clock_count = ARRAY_SIZE(nv50_clock_descs),
		.ops = &perfctr_driver_ops,
		.ioctl_nr = DRM_PERFCTR_IOCTL_NR,
	};

	vsoc->pc = drmm_perfctr_create(&vsoc->drm, &config);
	return PTR_ERR_OR_ZERO(vsoc->pc);
}

/* the GPU counts as one of Arm's, and its samples have the cycles of all clocks */
static const struct drm_perfctr_control_config control_config = {
	.types = {
		DRM_PERFCTR_MALI_BLOCK_FW, DRM_PERFCTR_MALI_BLOCK_CSHW,
		DRM_PERFCTR_MALI_BLOCK_TILER, DRM_PERFCTR_MALI_BLOCK_MEMSYS,
		DRM_PERFCTR_MALI_BLOCK_SHADER, DRM_PERFCTR_MALI_BLOCK_NEURAL,
	},
	.clocks = BIT(DRM_PERFCTR_MALI_CLOCK_TOP) | BIT(DRM_PERFCTR_MALI_CLOCK_COREGROUP) |
		  BIT(DRM_PERFCTR_MALI_CLOCK_SHADER),
};

static int perfctr_init(struct vsoc_device *vsoc)
{
	const struct drm_perfctr_config config = {
		.name = "Virtual SoC",
		.gpu_id = VSOC_GPU_ID,
		.product = DRM_VSOC_PRODUCT_CSF,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY) | BIT(DRM_PERFCTR_SET_SECONDARY) |
			BIT(DRM_PERFCTR_SET_TERTIARY),
		.features = DRM_PERFCTR_FEATURE_STATES | DRM_PERFCTR_FEATURE_AUTOMATIC |
			    DRM_PERFCTR_FEATURE_IN_STREAM,
		.clocks = clock_descs,
		.clock_count = ARRAY_SIZE(clock_descs),
		.timestamp_hz = VSOC_TIMESTAMP_HZ,
		.timestamp_bits = 64,
		.ops = &perfctr_driver_ops,
		.ioctl_nr = DRM_PERFCTR_IOCTL_NR,
		.control = &control_config,
	};

	vsoc->pc = drmm_perfctr_create(&vsoc->drm, &config);
	return PTR_ERR_OR_ZERO(vsoc->pc);
}

static const struct vsoc_ops vsoc_ops = {
	.job_finish = vsoc_job_finish,
	.unplug_soon = vsoc_unplug_soon,
	.core_power = vsoc_fw_core_power,
	.traffic = vsoc_fabric_traffic,
	.advance = vsoc_fabric_advance,
	.drain = vsoc_fabric_drain,
	.backlog_ns = vsoc_fabric_backlog_ns,
	.take_l2_read_ps = vsoc_fabric_take_l2_read_ps,
	.core = vsoc_fabric_core,
	.idle = vsoc_nv50_idle,
	.job = vsoc_nv50_job,
	.command = vsoc_nv50_command,
	.progress = vsoc_nv50_progress,
	.methods = vsoc_nv50_methods,
	.store = vsoc_nv50_store,
};

/* stops everything asynchronous, callers first */
static void stop_models(struct vsoc_device *vsoc)
{
	vsoc_engine_fini(vsoc);
	vsoc_fw_fini(vsoc);
	vsoc_fabric_fini(vsoc);
}

static int probe_device(struct platform_device *pdev)
{
	struct vsoc_instance *instance;
	struct vsoc_config config = vsoc_devices_config(pdev, &instance);
	struct vsoc_device *vsoc;
	int ret;

	vsoc = devm_drm_dev_alloc(&pdev->dev, &vsoc_drm_driver, struct vsoc_device, drm);
	if (IS_ERR(vsoc))
		return PTR_ERR(vsoc);
	vsoc->ops = &vsoc_ops;
	vsoc->pdev = pdev;
	vsoc->instance = instance;
	vsoc->fw_slots = config.fw_slots;
	spin_lock_init(&vsoc->req_lock);
	init_rwsem(&vsoc->reset_sem);
	INIT_LIST_HEAD(&vsoc->open_files);
	ret = drmm_mutex_init(&vsoc->drm, &vsoc->groups_lock);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&vsoc->drm, &vsoc->hw_lock);
	if (ret)
		return ret;
	vsoc_shape_init(&vsoc->shape, config.shader_present, config.l2_slices,
			config.counters_per_block);
	vsoc->shape.shader_dense = config.shader_dense;
	vsoc->counting.profile = config.profile;
	vsoc->product_nv50 = config.product == VSOC_PRODUCT_NV50;
	vsoc->memory_exact = config.memory == VSOC_MEMORY_EXACT;

	INIT_WORK(&vsoc->reset_work, vsoc_reset_work);
	INIT_WORK(&vsoc->watchdog_work, vsoc_watchdog_work);
	if (config.stepped) {
		vsoc->stepped.on = true;
		vsoc->stepped.now_ns = VSOC_STEPPED_START_NS;
		vsoc->stepped.target_ns = VSOC_STEPPED_START_NS;
	}
	ret = vsoc_log_init(vsoc);
	if (!ret)
		ret = vsoc_faults_init(vsoc);
	if (ret)
		return ret;
	ret = vsoc_gpu_init(vsoc);
	if (!ret)
		ret = vsoc_nv50_init(vsoc);
	if (ret)
		return ret;
	ret = vsoc_fabric_init(vsoc);
	if (ret)
		return ret;
	ret = vsoc_fw_init(vsoc);
	if (!ret)
		ret = vsoc_engine_init(vsoc);
	if (!ret)
		ret = vsoc->nv50 ? perfctr_init_nv50(vsoc) : perfctr_init(vsoc);
	if (!ret)
		ret = vsoc->nv50 ? vsoc_nv50_counters_init(vsoc) : vsoc_csf_init(vsoc);
	if (ret)
		goto err_models;

	platform_set_drvdata(pdev, vsoc);
	vsoc_power_init(vsoc);
	ret = drm_dev_register(&vsoc->drm, 0);
	if (ret)
		goto err_power;
	return 0;

err_power:
	vsoc_power_fini(vsoc);
	platform_set_drvdata(pdev, NULL);
err_models:
	stop_models(vsoc);
	return ret;
}

static int vsoc_probe(struct platform_device *pdev)
{
	return vsoc_devices_probed(pdev, probe_device(pdev));
}

static void vsoc_remove(struct platform_device *pdev)
{
	struct vsoc_device *vsoc = platform_get_drvdata(pdev);

	/* sessions take their last sample while the hardware still responds */
	vsoc_power_fini(vsoc);
	drm_perfctr_unplug(vsoc->pc);
	drm_dev_unplug(&vsoc->drm);
	stop_models(vsoc);
	/* nothing can schedule them from here on */
	cancel_work_sync(&vsoc->reset_work);
	cancel_work_sync(&vsoc->watchdog_work);
}

static struct platform_driver vsoc_platform_driver = {
	.probe = vsoc_probe,
	.PERFCTR_PLATFORM_REMOVE = vsoc_remove,
	.driver = {
		.name = "vsoc",
		/* so that new_device and module loading return the error */
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
		.pm = pm_ptr(&vsoc_pm_ops),
		.groups = vsoc_devices_groups,
	},
};

static int __init vsoc_init(void)
{
	int ret = vsoc_core_pmu_init();

	if (ret)
		return ret;
	ret = vsoc_devices_init(&vsoc_platform_driver);
	if (ret) {
		vsoc_fabric_exit();
		vsoc_core_pmu_exit();
	}
	return ret;
}

static void __exit vsoc_exit(void)
{
	/* this also removes new_device and del_device */
	platform_driver_unregister(&vsoc_platform_driver);
	vsoc_devices_exit();
	vsoc_fabric_exit();
	vsoc_core_pmu_exit();
}

module_init(vsoc_init);
module_exit(vsoc_exit);

/* it provides the blocks of the modelled fabric */
MODULE_SOFTDEP("pre: tegra410_perfctr");
MODULE_DESCRIPTION("Virtual SoC with performance counters");
MODULE_LICENSE("GPL");
