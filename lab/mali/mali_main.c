// SPDX-License-Identifier: GPL-2.0
/*
 * Products, module parameters and set-up.
 *
 * The module cannot be unloaded, as the kernel's emulation of I/O memory cannot remove a region.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>

#include "mali.h"
#include "mali_counters.h"
#include "mali_jm.h"
#include "mali_mcu.h"

const unsigned long mali_core_hz[3] = { 300000000, 500000000, 1000000000 };

static const struct mali_product products[] = {
	{ "g310", 0xac740000, 64, 0x1, MALI_LAYOUT_CSF10, true },
	/* as in the RK3588: four cores */
	{ "g610", 0xa8670005, 64, 0x50005, MALI_LAYOUT_CSF10, true },
	{ "g610-incoherent", 0xa8670005, 64, 0x50005, MALI_LAYOUT_CSF10, false },
	{ "g710", 0xa8620000, 64, 0x50777, MALI_LAYOUT_CSF10, true },
	{ "g615", 0xb8030000, 128, 0x10015, MALI_LAYOUT_CSF10, true },
	{ "g720", 0xc8700000, 128, 0x30077, MALI_LAYOUT_CSF10, true },
	{ "g725", 0xd8300000, 128, 0x70077, MALI_LAYOUT_CSF13, true },
	/* with a job manager; cores as in Allwinner's H6, RK3399, S905X3, S922X, MT8192 */
	{ "t720", 0x07201100, 64, 0x3, MALI_LAYOUT_V4, false },
	{ "t860", 0x08602000, 64, 0xf, MALI_LAYOUT_V5, false },
	{ "g31", 0x70930000, 64, 0x3, MALI_LAYOUT_V6, true },
	{ "g52", 0x72120000, 64, 0x7, MALI_LAYOUT_V6, true },
	{ "g57", 0x90910000, 64, 0x10055, MALI_LAYOUT_V6, true },
};

static char *product = "g610";
module_param(product, charp, 0444);
MODULE_PARM_DESC(product, "name of the GPU, see README.md");

static bool csg;
module_param(csg, bool, 0444);
MODULE_PARM_DESC(csg, "firmware's samples have a block for each group slot");

static bool metadata;
module_param(metadata, bool, 0444);
MODULE_PARM_DESC(metadata, "firmware's samples begin with a metadata block");

/* returns NULL if there is no product of this name */
static const struct mali_product *find_product(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(products); i++)
		if (!strcmp(products[i].name, name))
			return &products[i];
	return NULL;
}

static int state_show(struct seq_file *file, void *unused)
{
	struct mali_gpu *gpu = file->private;
	struct mali_mcu *mcu = gpu->mcu;

	mutex_lock(&mcu->lock);
	seq_printf(file, "product %s\nmcu_status %u\ninstructions %llu\n", gpu->product->name,
		   READ_ONCE(gpu->mcu_status), mcu->instructions);
	for (u32 i = 0; i < MALI_GROUPS; i++)
		if (mali_group_active(&mcu->group[i]))
			seq_printf(file, "group %u as %u idle %d\n", i, mcu->group[i].as,
				   mcu->group[i].idle);
	mutex_unlock(&mcu->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static void create_files(struct mali_gpu *gpu)
{
	static const char * const names[MALI_FAILS] = {
		[MALI_FAIL_BOOT] = "fail_boot",
		[MALI_FAIL_ANSWERS] = "fail_answers",
		[MALI_FAIL_HALT] = "fail_halt",
		[MALI_FAIL_COUNTERS] = "fail_counters",
		[MALI_FAIL_OVERFLOW] = "fail_overflow",
		[MALI_FAIL_UNRECOVERABLE] = "fail_unrecoverable",
		[MALI_FAIL_SOFT_RESET] = "fail_soft_reset",
		[MALI_FAIL_SOFT_STOP] = "fail_soft_stop",
		[MALI_FAIL_SAMPLE] = "fail_sample",
		[MALI_FAIL_JOB] = "fail_job",
	};
	const int first = mali_has_jm(gpu) ? MALI_FAIL_SOFT_RESET : 0;
	const int end = mali_has_jm(gpu) ? MALI_FAILS : MALI_FAIL_SOFT_RESET;

	for (int i = first; i < end; i++)
		debugfs_create_u32(names[i], 0600, gpu->debugfs, &gpu->fail[i]);
	if (mali_has_jm(gpu))
		return;
	debugfs_create_u32("tiler_bytes", 0600, gpu->debugfs, &gpu->tiler_bytes);
	debugfs_create_file("state", 0444, gpu->debugfs, gpu, &state_fops);
}

static struct mali_gpu *create(const struct mali_product *which, struct device *model)
{
	struct mali_gpu *gpu = devm_kzalloc(model, sizeof(*gpu), GFP_KERNEL);

	if (!gpu)
		return NULL;
	gpu->product = which;
	gpu->csg_blocks = csg;
	gpu->metadata = metadata;
	gpu->model = model;
	gpu->core_hz = mali_core_hz[0];
	gpu->clock_ns = ktime_get_ns();
	gpu->flush_id = 1;
	spin_lock_init(&gpu->lock);
	gpu->debugfs = debugfs_create_dir("mali", NULL);
	guard(spinlock_irqsave)(&gpu->lock);
	mali_as_reset_locked(gpu);
	return gpu;
}

static int __init mali_init(void)
{
	const struct mali_product *which = find_product(product);
	struct platform_device *model;
	struct mali_gpu *gpu;
	int err;

	if (!which) {
		pr_err("mali: no product is called '%s'\n", product);
		return -EINVAL;
	}
	model = platform_device_register_simple("mali-model", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(model))
		return PTR_ERR(model);
	gpu = create(which, &model->dev);
	err = -ENOMEM;
	/* the window is last, because it cannot be undone */
	if (gpu)
		err = mali_counters_init(gpu) ?: mali_irq_init(gpu) ?:
		      (mali_has_jm(gpu) ? mali_jm_init(gpu) :
					  mali_prfcnt_init(gpu) ?: mali_mcu_init(gpu)) ?:
		      mali_platform_prepare(gpu) ?: mali_window_init(gpu);
	if (err) {
		debugfs_lookup_and_remove("mali", NULL);
		platform_device_unregister(model);
		return err;
	}
	create_files(gpu);
	err = mali_platform_add_device(gpu);
	if (err)
		pr_err("mali: there is a model, but no device: %d\n", err);
	return 0;
}
module_init(mali_init);

MODULE_DESCRIPTION("Model of a Mali GPU");
MODULE_LICENSE("GPL");
