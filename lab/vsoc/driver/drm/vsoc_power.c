// SPDX-License-Identifier: GPL-2.0
/*
 * Power, frequencies and reset of the GPU: the roles of the power controller and of the driver's
 * power management.
 *
 * Runtime power management is forbidden until userspace writes "auto" to power/control of the
 * platform device. Jobs keep the GPU powered; sessions do so only on request.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/pm_runtime.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <drm/drm_print.h>

#include "csf/vsoc_csf.h"
#include "engine/vsoc.h"
#include "engine/vsoc_engine.h"
#include "engine/vsoc_fault.h"
#include "nv50/vsoc_nv50.h"
#include "vsoc_drv.h"

#define AUTOSUSPEND_MS	50
#define MIN_HZ		1000000ULL
#define MAX_RESET_MS	10000
#define MAX_JOB_TIMEOUT_MS	3600000

static void set_clocks(struct vsoc_device *vsoc, bool on)
{
	mutex_lock(&vsoc->hw_lock);
	vsoc_gpu_update_clocks(vsoc);
	for (unsigned int i = 0; i < VSOC_CLOCKS; i++)
		vsoc->gpu.clocks[i].on = on && (i != VSOC_CLOCK_SHADER || vsoc->gpu.cores_on);
	mutex_unlock(&vsoc->hw_lock);
}

/*
 * Cores power down before the counters stop and power up after they restart, so that both
 * transitions are counted and sampled.
 */
static int vsoc_runtime_suspend(struct device *dev)
{
	struct vsoc_device *vsoc = dev_get_drvdata(dev);

	vsoc_fw_core_power(vsoc, 0);
	drm_perfctr_suspend(vsoc->pc);
	set_clocks(vsoc, false);
	return 0;
}

static int vsoc_runtime_resume(struct device *dev)
{
	struct vsoc_device *vsoc = dev_get_drvdata(dev);

	set_clocks(vsoc, true);
	drm_perfctr_resume(vsoc->pc);
	vsoc_fw_core_power(vsoc, vsoc->shape.shader_present);
	return 0;
}

static int vsoc_suspend(struct device *dev)
{
	struct vsoc_device *vsoc = dev_get_drvdata(dev);
	int ret;

	vsoc_engine_pause(vsoc, false);
	ret = pm_runtime_force_suspend(dev);
	if (ret)
		vsoc_engine_resume(vsoc);
	return ret;
}

static int vsoc_resume(struct device *dev)
{
	struct vsoc_device *vsoc = dev_get_drvdata(dev);
	int ret;

	ret = pm_runtime_force_resume(dev);
	vsoc_engine_resume(vsoc);
	return ret;
}

const struct dev_pm_ops vsoc_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(vsoc_suspend, vsoc_resume)
	RUNTIME_PM_OPS(vsoc_runtime_suspend, vsoc_runtime_resume, NULL)
};

void vsoc_reset_work(struct work_struct *work)
{
	vsoc_reset(container_of(work, struct vsoc_device, reset_work));
}

void vsoc_power_init(struct vsoc_device *vsoc)
{
	struct device *dev = vsoc->drm.dev;

	pm_runtime_set_active(dev);
	pm_runtime_set_autosuspend_delay(dev, AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_enable(dev);
	pm_runtime_forbid(dev);
}

/* powers the GPU and ends power management */
void vsoc_power_fini(struct vsoc_device *vsoc)
{
	struct device *dev = vsoc->drm.dev;

	pm_runtime_get_sync(dev);
	pm_runtime_dont_use_autosuspend(dev);
	pm_runtime_disable(dev);
	pm_runtime_allow(dev);
	pm_runtime_put_noidle(dev);
	pm_runtime_set_suspended(dev);
}

/* powers the GPU and keeps it powered; -ENODEV if the device is being removed */
int vsoc_power_get(struct vsoc_device *vsoc)
{
	int ret = pm_runtime_resume_and_get(vsoc->drm.dev);

	return ret == -EACCES ? -ENODEV : ret;
}

void vsoc_power_put(struct vsoc_device *vsoc)
{
	pm_runtime_mark_last_busy(vsoc->drm.dev);
	pm_runtime_put_autosuspend(vsoc->drm.dev);
}

/* @watchdog: only if the running job still hangs */
static int reset(struct vsoc_device *vsoc, bool watchdog)
{
	bool wanted = true;
	bool signalling;
	int ret;

	ret = down_write_killable(&vsoc->reset_sem);
	if (ret)
		return ret;
	ret = vsoc_power_get(vsoc);
	if (ret)
		goto out;

	/* fences of jobs wait for the reset */
	signalling = dma_fence_begin_signalling();
	if (watchdog)
		wanted = vsoc_engine_pause_hung(vsoc);
	else
		vsoc_engine_pause(vsoc, true);
	if (wanted) {
		drm_perfctr_pre_reset(vsoc->pc);
		msleep(READ_ONCE(vsoc->reset_ms));
		vsoc_fw_reset(vsoc);
		vsoc_nv50_reset(vsoc);
		drm_perfctr_post_reset(vsoc->pc);
		vsoc_engine_resume(vsoc);
	}
	dma_fence_end_signalling(signalling);
	vsoc_power_put(vsoc);
out:
	up_write(&vsoc->reset_sem);
	return ret;
}

/* resets the GPU: the running job is cancelled, counts since the last sample are lost */
int vsoc_reset(struct vsoc_device *vsoc)
{
	return reset(vsoc, false);
}

void vsoc_watchdog_work(struct work_struct *work)
{
	struct vsoc_device *vsoc = container_of(work, struct vsoc_device, watchdog_work);

	/* models a busy work queue: the job may have ended when the work runs */
	if (vsoc_fault(vsoc, VSOC_FAULT_WATCHDOG_LATE))
		msleep(vsoc_fault_delay_ms(vsoc));
	reset(vsoc, true);
}

/* --- debugfs ------------------------------------------------------------- */

static int reset_set(void *data, u64 value)
{
	return value == 1 ? vsoc_reset(data) : -EINVAL;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static int reset_ms_get(void *data, u64 *ms)
{
	struct vsoc_device *vsoc = data;

	*ms = READ_ONCE(vsoc->reset_ms);
	return 0;
}

static int reset_ms_set(void *data, u64 ms)
{
	struct vsoc_device *vsoc = data;

	if (ms > MAX_RESET_MS)
		return -ERANGE;
	WRITE_ONCE(vsoc->reset_ms, ms);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_ms_fops, reset_ms_get, reset_ms_set, "%llu\n");

static int job_timeout_get(void *data, u64 *ms)
{
	struct vsoc_device *vsoc = data;

	*ms = READ_ONCE(vsoc->job_timeout_ms);
	return 0;
}

static int job_timeout_set(void *data, u64 ms)
{
	struct vsoc_device *vsoc = data;

	if (!ms || ms > MAX_JOB_TIMEOUT_MS)
		return -ERANGE;
	WRITE_ONCE(vsoc->job_timeout_ms, ms);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(job_timeout_fops, job_timeout_get, job_timeout_set, "%llu\n");

static int cores_on_get(void *data, u64 *value)
{
	struct vsoc_device *vsoc = data;

	mutex_lock(&vsoc->hw_lock);
	*value = vsoc->gpu.cores_on;
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}

/* between jobs, with the GPU powered; -EBUSY during one */
static int set_cores(struct vsoc_device *vsoc, u64 cores,
		     void (*set)(struct vsoc_device *vsoc, u64 cores))
{
	int ret;

	if (cores & ~vsoc->shape.shader_present)
		return -EINVAL;
	ret = vsoc_power_get(vsoc);
	if (ret)
		return ret;
	vsoc_engine_pause(vsoc, false);
	if (vsoc_engine_busy(vsoc))
		ret = -EBUSY;
	else
		set(vsoc, cores);
	vsoc_engine_resume(vsoc);
	vsoc_power_put(vsoc);
	return ret;
}

/* a job powers up all cores */
static int cores_on_set(void *data, u64 value)
{
	return set_cores(data, value, vsoc_fw_core_power);
}
DEFINE_DEBUGFS_ATTRIBUTE(cores_on_fops, cores_on_get, cores_on_set, "0x%llx\n");

static int partition_get(void *data, u64 *value)
{
	struct vsoc_device *vsoc = data;

	mutex_lock(&vsoc->hw_lock);
	*value = vsoc->shape.assigned;
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}

static int partition_set(void *data, u64 value)
{
	struct vsoc_device *vsoc = data;

	if (vsoc->product_nv50)
		return -EOPNOTSUPP;
	return value ? set_cores(vsoc, value, vsoc_fw_assign) : -EINVAL;
}
DEFINE_DEBUGFS_ATTRIBUTE(partition_fops, partition_get, partition_set, "0x%llx\n");

static int protected_get(void *data, u64 *value)
{
	struct vsoc_device *vsoc = data;

	mutex_lock(&vsoc->hw_lock);
	*value = vsoc->gpu.protected;
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}

/* performed by firmware, which needs power */
static int protected_set(void *data, u64 value)
{
	struct vsoc_device *vsoc = data;
	int ret;

	if (value > 1)
		return -EINVAL;
	ret = vsoc_power_get(vsoc);
	if (ret)
		return ret;
	vsoc_fw_protected(vsoc, value);
	vsoc_power_put(vsoc);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(protected_fops, protected_get, protected_set, "%llu\n");

static int set_hz(struct vsoc_device *vsoc, enum vsoc_clock clock, u64 hz)
{
	/* above the nominal frequency, counters would exceed VSOC_MAX_COUNT_HZ */
	if (hz < MIN_HZ || hz > vsoc_nominal_hz[clock])
		return -ERANGE;
	mutex_lock(&vsoc->hw_lock);
	vsoc_gpu_set_hz(vsoc, clock, hz);
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}

static int get_hz(struct vsoc_device *vsoc, enum vsoc_clock clock, u64 *hz)
{
	mutex_lock(&vsoc->hw_lock);
	*hz = vsoc->gpu.clocks[clock].hz;
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}

#define HZ_FILE(name, clock) \
	static int name##_get(void *data, u64 *hz) \
	{ \
		return get_hz(data, clock, hz); \
	} \
	static int name##_set(void *data, u64 hz) \
	{ \
		return set_hz(data, clock, hz); \
	} \
	DEFINE_DEBUGFS_ATTRIBUTE(name##_fops, name##_get, name##_set, "%llu\n")

HZ_FILE(top_hz, VSOC_CLOCK_TOP);
HZ_FILE(coregroup_hz, VSOC_CLOCK_COREGROUP);
HZ_FILE(shader_hz, VSOC_CLOCK_SHADER);

void vsoc_power_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("reset", 0200, dir, vsoc, &reset_fops);
	debugfs_create_file("reset_ms", 0600, dir, vsoc, &reset_ms_fops);
	debugfs_create_file("job_timeout_ms", 0600, dir, vsoc, &job_timeout_fops);
	debugfs_create_file("cores_on", 0600, dir, vsoc, &cores_on_fops);
	debugfs_create_file("partition", 0600, dir, vsoc, &partition_fops);
	debugfs_create_file("protected", 0600, dir, vsoc, &protected_fops);
	debugfs_create_file("top_hz", 0600, dir, vsoc, &top_hz_fops);
	debugfs_create_file("coregroup_hz", 0600, dir, vsoc, &coregroup_hz_fops);
	debugfs_create_file("shader_hz", 0600, dir, vsoc, &shader_hz_fops);
}
