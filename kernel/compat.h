/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the supported kernels (6.1 to 7.3); the only file that checks versions.
 */
#ifndef _PERFCTR_COMPAT_H_
#define _PERFCTR_COMPAT_H_

#include <linux/capability.h>
#include <linux/eventfd.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

/* adds 1 and wakes every waiter */
static inline void perfctr_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}

/* creates a running worker */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define perfctr_run_worker	kthread_run_worker
#else
#define perfctr_run_worker	kthread_create_worker
#endif

static inline void perfctr_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

static inline void perfctr_vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

static inline void perfctr_hrtimer_setup(struct hrtimer *timer,
					 enum hrtimer_restart (*function)(struct hrtimer *),
					 clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/* up to 6.1 there is no vmap function for drivers, and vmap does not take the reservation lock */
static inline int perfctr_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return drm_gem_vmap(obj, map);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return drm_gem_vmap_unlocked(obj, map);
#else
	if (!obj->funcs->vmap)
		return -EOPNOTSUPP;
	return obj->funcs->vmap(obj, map);
#endif
}

static inline void perfctr_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	drm_gem_vunmap(obj, map);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	drm_gem_vunmap_unlocked(obj, map);
#else
	obj->funcs->vunmap(obj, map);
#endif
}

/* file operations of a driver without GEM; since 6.12 DRM rejects files without the flag */
#ifdef FOP_UNSIGNED_OFFSET
#define PERFCTR_FOP_FLAGS	.fop_flags = FOP_UNSIGNED_OFFSET,
#else
#define PERFCTR_FOP_FLAGS
#endif
#define PERFCTR_DRM_FOPS						\
	PERFCTR_FOP_FLAGS						\
	.open = drm_open,						\
	.release = drm_release,						\
	.unlocked_ioctl = drm_ioctl,					\
	.compat_ioctl = drm_compat_ioctl,				\
	.poll = drm_poll,						\
	.read = drm_read,						\
	.llseek = noop_llseek

/* date of a driver's interface, for DRM_IOCTL_VERSION up to 6.13 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define PERFCTR_DRM_DATE
#else
#define PERFCTR_DRM_DATE	.date = "20261122",
#endif

/* up to 6.10 the remove callback without a return value has a separate name */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define PERFCTR_PLATFORM_REMOVE	remove
#else
#define PERFCTR_PLATFORM_REMOVE	remove_new
#endif

/* up to 6.4 DRM itself reports nothing about a file; @id: unique among the driver's, 0: none */
static inline void perfctr_drm_show_fdinfo(struct seq_file *m, struct file *file, u64 id)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	drm_show_fdinfo(m, file);
#else
	const struct drm_file *drm_file = file->private_data;

	seq_printf(m, "drm-driver:\t%s\n", drm_file->minor->dev->driver->name);
	if (id)
		seq_printf(m, "drm-client-id:\t%llu\n", id);
#endif
}

static inline void perfctr_drm_show_memory(struct drm_printer *p, struct drm_file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	drm_show_memory_stats(p, file);
#else
	struct drm_gem_object *obj;
	size_t total = 0;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id)
		total += obj->size;
	spin_unlock(&file->table_lock);
	drm_printf(p, "drm-total-memory:\t%zu\n", total);
#endif
}

/*
 * perf's rule for counters of a whole machine. It is exported with 7.3, with the say of security
 * modules; before that the capability decides alone.
 */
static inline int perfctr_allow_cpu(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
	return perf_allow_cpu();
#else
	return perfmon_capable() ? 0 : -EACCES;
#endif
}

/* sysctl tables end with an empty entry up to 6.10, and must not since 6.11 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define PERFCTR_SYSCTL_END
#else
#define PERFCTR_SYSCTL_END	{ }
#endif

#endif /* _PERFCTR_COMPAT_H_ */
