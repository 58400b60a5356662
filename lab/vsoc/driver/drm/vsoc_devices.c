// SPDX-License-Identifier: GPL-2.0
/*
 * The virtual SoCs: one described by the module's parameters, and those created through new_device.
 *
 * A device's shape belongs to its platform device: it persists across unbind and bind, until
 * del_device or module unload.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "engine/vsoc.h"
#include "source/csf/csf_perfctr.h"
#include "vsoc_devices.h"
#include "vsoc_drv.h"

/* described by the module's parameters */
#define DEFAULT_ID	0
#define MAX_ID		255
#define MAX_TEXT	512

static unsigned long long shader_present = 0x50005;
module_param(shader_present, ullong, 0444);
MODULE_PARM_DESC(shader_present, "mask of shader cores (0x50005)");

static unsigned int l2_slices = 2;
module_param(l2_slices, uint, 0444);
MODULE_PARM_DESC(l2_slices, "L2 slices, 1..16 (2)");

static unsigned int counters_per_block = 64;
module_param(counters_per_block, uint, 0444);
MODULE_PARM_DESC(counters_per_block, "counters of each block, 64 or 128 (64)");

static bool shader_dense;
module_param(shader_dense, bool, 0444);
MODULE_PARM_DESC(shader_dense, "firmware samples have no holes for absent cores (N)");

static unsigned int fw_slots = CSF_PERFCTR_DEFAULT_SLOTS;
module_param(fw_slots, uint, 0444);
MODULE_PARM_DESC(fw_slots, "slots of the firmware's sample ring, a power of two, 2..128 (32)");

static char *profile = "xavier";
module_param(profile, charp, 0444);
MODULE_PARM_DESC(profile, "how thread instructions count: xavier or documented (xavier)");

static char *product = "csf";
module_param(product, charp, 0444);
MODULE_PARM_DESC(product, "counters of the GPU: csf or nv50 (csf)");

static char *memory = "coarse";
module_param(memory, charp, 0444);
MODULE_PARM_DESC(memory, "simulation of the memory system: coarse or exact (coarse)");

static bool stepped;
module_param(stepped, bool, 0644);
MODULE_PARM_DESC(stepped, "a device that is bound begins with stepped time, always the same (N)");

/* a device, bound to the driver or not */
struct vsoc_instance {
	struct list_head node;	/* in instances */
	/* its platform data has a copy of the shape */
	struct platform_device *pdev;
	struct work_struct unplug;	/* vsoc_unplug_soon() */
	int error;			/* of the last probe; 0: none */
};

/* protects the list; serialises creation and removal of devices */
static DEFINE_MUTEX(instances_lock);
static LIST_HEAD(instances);

static struct vsoc_instance *find_instance(int id)
{
	struct vsoc_instance *instance;

	lockdep_assert_held(&instances_lock);
	list_for_each_entry(instance, &instances, node) {
		if (instance->pdev->id == id)
			return instance;
	}
	return NULL;
}

/* --- shapes -------------------------------------------------------------- */

static int product_by_name(const char *name)
{
	static const char * const names[VSOC_PRODUCTS] = {
		[VSOC_PRODUCT_CSF] = "csf",
		[VSOC_PRODUCT_NV50] = "nv50",
	};

	return match_string(names, VSOC_PRODUCTS, name);
}

static int memory_by_name(const char *name)
{
	static const char * const names[VSOC_MEMORIES] = {
		[VSOC_MEMORY_COARSE] = "coarse",
		[VSOC_MEMORY_EXACT] = "exact",
	};

	return match_string(names, VSOC_MEMORIES, name);
}

static int config_from_parameters(struct vsoc_config *config)
{
	int number = vsoc_profile_by_name(profile);

	*config = (struct vsoc_config) {
		.shader_present = shader_present,
		.l2_slices = l2_slices,
		.counters_per_block = counters_per_block,
		.fw_slots = fw_slots,
		.shader_dense = shader_dense,
		.profile = number,
		.product = product_by_name(product),
		.memory = memory_by_name(memory),
	};
	return number < 0 || config->product < 0 || config->memory < 0 ? -EINVAL : 0;
}

/*
 * Check a shape.
 * @config: the shape.
 * Return: a description of the first error; NULL if the shape is valid.
 */
const char *vsoc_config_fault(const struct vsoc_config *config)
{
	if (!config->shader_present)
		return "shader_present must not be zero";
	if (!config->l2_slices || config->l2_slices > VSOC_MAX_L2_SLICES)
		return "l2_slices must be 1..16";
	if (config->counters_per_block != 64 && config->counters_per_block != 128)
		return "counters_per_block must be 64 or 128";
	if (config->fw_slots < 2 || config->fw_slots > CSF_PERFCTR_MAX_SLOTS ||
	    config->fw_slots & (config->fw_slots - 1))
		return "fw_slots must be a power of two, 2..128";
	if (config->profile < 0)
		return "profile must be xavier or documented";
	if (config->product < 0)
		return "product must be csf or nv50";
	if (config->memory < 0)
		return "memory must be coarse or exact";
	return NULL;
}

/* parses one "key=value" of new_device */
static const char *parse_word(struct vsoc_config *config, char *word)
{
	char *value = strchr(word, '=');
	int ret = 0;

	if (!value)
		return "expected key=value";
	*value++ = '\0';
	if (!strcmp(word, "shader_present"))
		ret = kstrtou64(value, 0, &config->shader_present);
	else if (!strcmp(word, "l2_slices"))
		ret = kstrtou32(value, 0, &config->l2_slices);
	else if (!strcmp(word, "counters_per_block"))
		ret = kstrtou32(value, 0, &config->counters_per_block);
	else if (!strcmp(word, "fw_slots"))
		ret = kstrtou32(value, 0, &config->fw_slots);
	else if (!strcmp(word, "shader_dense"))
		ret = kstrtobool(value, &config->shader_dense);
	else if (!strcmp(word, "stepped"))
		ret = kstrtobool(value, &config->stepped);
	else if (!strcmp(word, "profile"))
		config->profile = vsoc_profile_by_name(value);
	else if (!strcmp(word, "product"))
		config->product = product_by_name(value);
	else if (!strcmp(word, "memory"))
		config->memory = memory_by_name(value);
	else
		return "unknown key";
	return ret ? "not a number" : NULL;
}

/* --- creation and removal ---------------------------------------------------- */

static void unplug_work(struct work_struct *work)
{
	struct vsoc_instance *instance = container_of(work, struct vsoc_instance, unplug);

	device_release_driver(&instance->pdev->dev);
}

/* Remove the device asynchronously. Context: any. */
void vsoc_unplug_soon(struct vsoc_device *vsoc)
{
	schedule_work(&vsoc->instance->unplug);
}

static void remove_instance(struct vsoc_instance *instance)
{
	lockdep_assert_held(&instances_lock);
	list_del(&instance->node);
	/* the driver is the only one that schedules the work */
	device_release_driver(&instance->pdev->dev);
	cancel_work_sync(&instance->unplug);
	platform_device_unregister(instance->pdev);
	kfree(instance);
}

static int add_instance(int id, const struct vsoc_config *config)
{
	struct vsoc_platform_data pdata = { .config = *config };
	struct vsoc_instance *instance;
	int ret = -ENOMEM;

	lockdep_assert_held(&instances_lock);
	if (find_instance(id))
		return -EEXIST;
	instance = kzalloc(sizeof(*instance), GFP_KERNEL);
	if (!instance)
		return -ENOMEM;
	INIT_WORK(&instance->unplug, unplug_work);
	pdata.instance = instance;

	instance->pdev = platform_device_alloc("vsoc", id);
	if (!instance->pdev)
		goto err_free;
	ret = platform_device_add_data(instance->pdev, &pdata, sizeof(pdata));
	if (!ret)
		ret = platform_device_add(instance->pdev);
	if (ret) {
		platform_device_put(instance->pdev);
		goto err_free;
	}
	list_add_tail(&instance->node, &instances);
	if (platform_get_drvdata(instance->pdev))
		return 0;
	/* remove a device that failed to probe */
	ret = instance->error ?: -ENODEV;
	remove_instance(instance);
	return ret;

err_free:
	kfree(instance);
	return ret;
}

static int parse_id(const char *word, int *id)
{
	int ret = kstrtoint(word, 10, id);

	return ret ?: *id < 0 || *id > MAX_ID ? -EINVAL : 0;
}

/* "ID [key=value]...": keys are the module's parameters, which also provide the defaults */
static ssize_t new_device_store(struct device_driver *driver, const char *buf, size_t count)
{
	struct vsoc_config config;
	char *text, *rest, *word;
	const char *wrong = NULL;
	int id, ret;

	if (count >= MAX_TEXT)
		return -E2BIG;
	text = kmemdup_nul(buf, count, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	rest = strim(text);
	config_from_parameters(&config);
	word = strsep(&rest, " \t\n");
	ret = parse_id(word, &id);
	if (ret)
		wrong = "the first word is the device's number, 0..255";
	while (!wrong && (word = strsep(&rest, " \t\n"))) {
		if (*word)
			wrong = parse_word(&config, word);
	}
	if (!wrong) {
		word = "shape";
		wrong = vsoc_config_fault(&config);
	}
	if (wrong) {
		pr_debug("vsoc: new_device: %s: %s\n", word, wrong);
		ret = -EINVAL;
	} else {
		mutex_lock(&instances_lock);
		ret = add_instance(id, &config);
		mutex_unlock(&instances_lock);
	}
	kfree(text);
	return ret ?: count;
}
static DRIVER_ATTR_WO(new_device);

static ssize_t del_device_store(struct device_driver *driver, const char *buf, size_t count)
{
	struct vsoc_instance *instance;
	char word[16];
	int id, ret;

	if (strscpy(word, buf, sizeof(word)) < 0)
		return -EINVAL;
	ret = parse_id(strim(word), &id);
	if (ret)
		return ret;
	mutex_lock(&instances_lock);
	instance = find_instance(id);
	if (instance)
		remove_instance(instance);
	mutex_unlock(&instances_lock);
	return instance ? count : -ENODEV;
}
static DRIVER_ATTR_WO(del_device);

static struct attribute *vsoc_driver_attrs[] = {
	&driver_attr_new_device.attr,
	&driver_attr_del_device.attr,
	NULL
};

static const struct attribute_group vsoc_driver_group = {
	.attrs = vsoc_driver_attrs,
};

const struct attribute_group *vsoc_devices_groups[] = {
	&vsoc_driver_group,
	NULL
};

/*
 * Shape of the device being probed.
 * @pdev: the platform device; @instance: set to the argument of vsoc_unplug_soon().
 * Return: the shape, with the current value of the parameter for stepped time.
 */
struct vsoc_config vsoc_devices_config(struct platform_device *pdev,
				       struct vsoc_instance **instance)
{
	const struct vsoc_platform_data *pdata = dev_get_platdata(&pdev->dev);
	struct vsoc_config config = pdata->config;

	config.stepped |= READ_ONCE(stepped);
	*instance = pdata->instance;
	return config;
}

/*
 * Record the result of a probe.
 * @pdev: the platform device; @error: 0 or -errno.
 * Return: the error for the driver core: -ENODEV, which is not logged, if no DRM minor is free. In
 * that case new_device returns -ENOSPC.
 */
int vsoc_devices_probed(struct platform_device *pdev, int error)
{
	const struct vsoc_platform_data *pdata = dev_get_platdata(&pdev->dev);

	pdata->instance->error = error;
	return error == -ENOSPC ? -ENODEV : error;
}

/*
 * Register the driver, and the device of the module's parameters.
 * @driver: the driver.
 * Return: 0 or -errno.
 */
int vsoc_devices_init(struct platform_driver *driver)
{
	struct vsoc_config config;
	bool registered;
	const char *wrong;
	int ret;

	config_from_parameters(&config);
	wrong = vsoc_config_fault(&config);
	if (wrong) {
		pr_err("vsoc: module parameter: %s\n", wrong);
		return -EINVAL;
	}
	/* new_device appears before the first device: its writers must wait */
	mutex_lock(&instances_lock);
	ret = platform_driver_register(driver);
	registered = !ret;
	if (!ret)
		ret = add_instance(DEFAULT_ID, &config);
	mutex_unlock(&instances_lock);
	if (ret && registered) {
		platform_driver_unregister(driver);
		vsoc_devices_exit();
	}
	return ret;
}

void vsoc_devices_exit(void)
{
	struct vsoc_instance *instance, *next;

	mutex_lock(&instances_lock);
	list_for_each_entry_safe(instance, next, &instances, node)
		remove_instance(instance);
	mutex_unlock(&instances_lock);
}
