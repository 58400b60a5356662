/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interfaces between the parts of the driver.
 */
#ifndef _VSOC_DRV_H_
#define _VSOC_DRV_H_

#include <linux/pm.h>
#include <linux/types.h>

struct dentry;
struct drm_device;
struct drm_file;
struct drm_printer;
struct vsoc_device;
struct vsoc_job;
struct work_struct;

/* vsoc_devices.c: remove the device later; any context */
void vsoc_unplug_soon(struct vsoc_device *vsoc);

/* vsoc_job.c: files, contexts, jobs and their ioctls */
int vsoc_open(struct drm_device *drm, struct drm_file *file);
void vsoc_postclose(struct drm_device *drm, struct drm_file *file);
void vsoc_release(struct drm_device *drm);
u64 vsoc_client_id(struct drm_file *file);
void vsoc_show_usage(struct drm_printer *p, struct drm_file *file);
void vsoc_job_finish(struct vsoc_device *vsoc, struct vsoc_job *job, int status);
int vsoc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vsoc_ctx_hold_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* vsoc_store.c: buffers for MP counters */
int vsoc_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* vsoc_power.c: runtime and system power, reset, frequencies */
extern const struct dev_pm_ops vsoc_pm_ops;
void vsoc_power_init(struct vsoc_device *vsoc);
void vsoc_power_fini(struct vsoc_device *vsoc);
int vsoc_power_get(struct vsoc_device *vsoc);
void vsoc_power_put(struct vsoc_device *vsoc);
int vsoc_reset(struct vsoc_device *vsoc);
void vsoc_reset_work(struct work_struct *work);
void vsoc_watchdog_work(struct work_struct *work);
void vsoc_power_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_truth.c: exact counts, in debugfs */
void vsoc_truth_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_profile.c: counter logic of the shader cores */
int vsoc_profile_by_name(const char *name);
void vsoc_profile_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

#endif /* _VSOC_DRV_H_ */
