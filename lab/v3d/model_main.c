// SPDX-License-Identifier: GPL-2.0
/*
 * Versions, module parameters and set-up.
 *
 * The module cannot be unloaded: User-mode Linux's emulation of I/O memory cannot remove a region.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>

#include "v3d_model.h"

static unsigned int version = 42;
module_param(version, uint, 0444);
MODULE_PARM_DESC(version, "42 (Pi 4) or 71 (Pi 5)");

static int state_show(struct seq_file *file, void *unused)
{
	static const char * const units[] = { "bin", "render", "tfu", "csd" };
	struct v3d_gpu *gpu = file->private;

	guard(spinlock_irqsave)(&gpu->lock);
	seq_printf(file, "powered %d\n", v3d_is_powered(gpu));
	for (int i = 0; i < V3D_UNITS; i++)
		seq_printf(file, "%s running %d hung %d left %u\n", units[i],
			   gpu->work[i].running, gpu->work[i].hung, gpu->work[i].left);
	seq_printf(file, "starved %d\n", gpu->list[V3D_BIN].starved);
	for (int i = 0; i < V3D_BLOCKS; i++)
		seq_printf(file, "%s causes %#x masked %#x\n", i == V3D_HUB ? "hub" : "core",
			   gpu->cause[i], gpu->mask[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static void create_files(struct v3d_gpu *gpu)
{
	const struct {
		const char *name;
		u32 *value;
		umode_t mode;
	} files[] = {
		{ "mhz", &gpu->mhz, 0600 },
		{ "step_ns", &gpu->step_ns, 0600 },
		{ "race", &gpu->race, 0600 },
		{ "scale", &gpu->scale, 0600 },
		{ "tile_bytes", &gpu->tile_bytes, 0600 },
		{ "hang", &gpu->hang, 0600 },
		{ "fail_power_off", &gpu->fail_power_off, 0600 },
		{ "unpowered", &gpu->unpowered, 0400 },
		{ "resets", &gpu->resets, 0400 },
	};

	gpu->debugfs = debugfs_create_dir("v3d_model", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_u32(files[i].name, files[i].mode, gpu->debugfs, files[i].value);
	debugfs_create_file("state", 0400, gpu->debugfs, gpu, &state_fops);
	v3d_counters_init(gpu);
}

static struct v3d_gpu *create(struct device *model)
{
	struct v3d_gpu *gpu = devm_kzalloc(model, sizeof(*gpu), GFP_KERNEL);

	if (!gpu)
		return NULL;
	gpu->version = version;
	gpu->model = model;
	gpu->mhz = 500;
	gpu->step_ns = 1000;
	gpu->scale = 1;
	gpu->clock_ns = ktime_get_ns();
	spin_lock_init(&gpu->lock);
	init_waitqueue_head(&gpu->wait);
	return gpu;
}

/* a driver may bind at once */
static int add_device(struct v3d_gpu *gpu)
{
	const resource_size_t start = V3D_WINDOW_START;
	const struct resource resources[] = {
		DEFINE_RES_MEM_NAMED(start, V3D_HUB_BYTES, "hub"),
		DEFINE_RES_MEM_NAMED(start + V3D_CORE_OFFSET, V3D_CORE_BYTES, "core0"),
		DEFINE_RES_MEM_NAMED(start + V3D_BRIDGE_OFFSET, V3D_BRIDGE_BYTES, "bridge"),
		DEFINE_RES_IRQ(gpu->lines.first + V3D_HUB),
		/* 71 only */
		DEFINE_RES_MEM_NAMED(start + V3D_SMS_OFFSET, V3D_SMS_BYTES, "sms"),
		DEFINE_RES_IRQ(gpu->lines.first + V3D_CORE),
	};
	const struct platform_device_info info = {
		.name = "v3d",
		.id = PLATFORM_DEVID_NONE,
		.fwnode = gpu->fwnode,
		.res = resources,
		.num_res = gpu->version < 71 ? 4 : ARRAY_SIZE(resources),
		.dma_mask = DMA_BIT_MASK(36),
	};

	return PTR_ERR_OR_ZERO(platform_device_register_full(&info));
}

static int __init model_init(void)
{
	struct platform_device *model;
	struct v3d_gpu *gpu;
	int err;

	if (version != 42 && version != 71) {
		pr_err("v3d_model: no version %u: use 42 or 71\n", version);
		return -EINVAL;
	}
	model = platform_device_register_simple("v3d-model", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(model))
		return PTR_ERR(model);
	gpu = create(&model->dev);
	err = -ENOMEM;
	/* the host's window is last, because it cannot be undone */
	if (gpu)
		err = v3d_irq_init(gpu) ?: v3d_power_init(gpu) ?:
		      v3d_engine_init(gpu) ?: v3d_host_init(gpu);
	if (err) {
		platform_device_unregister(model);
		return err;
	}
	__module_get(THIS_MODULE);
	create_files(gpu);
	err = add_device(gpu);
	if (err)
		pr_err("v3d_model: there is a model, but no device: %d\n", err);
	return 0;
}
module_init(model_init);

MODULE_DESCRIPTION("Model of a Broadcom V3D GPU");
MODULE_LICENSE("GPL");
