// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of a DRM device: set-up and release. Module entry.
 */
#include <linux/debugfs.h>
#include <linux/dma-fence.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <drm/drm_managed.h>

#include "perfctr_internal.h"
#include "pmu/pmu.h"

#define CREATE_TRACE_POINTS
#include "perfctr_trace.h"

/**
 * DOC: overview
 *
 * A helper for DRM drivers. It owns sessions, the sampler, rings and ioctls; the driver owns the
 * hardware and describes it by sources::
 *
 *     hardware -> source -> sampler -> session -> slot of a ring -> userspace
 *
 * A driver adopts it in these steps:
 *
 * 1. probe: drmm_perfctr_create(), then drm_perfctr_add_source() for each kind
 *    of counter hardware, then drm_dev_register(): the device has the two generic ioctls.
 * 2. show_fdinfo, debugfs_init: drm_perfctr_show_fdinfo(), drm_perfctr_debugfs_init().
 * 3. power and reset: drm_perfctr_suspend(), drm_perfctr_resume(),
 *    drm_perfctr_pre_reset(), drm_perfctr_post_reset().
 * 4. remove: drm_perfctr_unplug(), then drm_dev_unplug().
 *
 * The core allocates the rings, see perfctr_memory.c: a driver needs no GEM for it. Every adopter
 * can sample perf PMUs without additional code.
 */

static void free_source(struct drm_perfctr_source *source)
{
	unsigned int i;

	for (i = 0; source->blocks && i < source->block_count; i++) {
		kvfree(source->blocks[i].totals);
		kvfree(source->blocks[i].valid);
		kvfree(source->blocks[i].running);
	}
	kvfree(source->blocks);
	kfree(source->state);
	source->blocks = NULL;
	source->state = NULL;
}

/* managed actions run in reverse order: the last source first, all before the device */
static void release_source(struct drm_device *drm, void *data)
{
	struct drm_perfctr_source *source = data;
	struct drm_perfctr *pc = source->pc;

	cancel_delayed_work_sync(&source->state->unprepare_work);
	rt_mutex_lock(&pc->lock);
	pc->source_count--;
	pc->block_count -= source->block_count;
	rt_mutex_unlock(&pc->lock);
	free_source(source);
}

/*
 * Jobs and resets take the sampler lock, and fences wait for these. Teach lockdep this order, so
 * that it reports a violation without both an allocation and a reset having occurred.
 */
static void prime_lock(struct drm_perfctr *pc)
{
	bool signalling = dma_fence_begin_signalling();

	might_lock(&pc->lock);
	dma_fence_end_signalling(signalling);

	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&pc->lock);
	fs_reclaim_release(GFP_KERNEL);
}

#ifdef PERFCTR_IN_TREE
static struct drm_perfctr *perfctr_of(struct drm_device *drm)
{
	return container_of(drm->perfctr, struct drm_perfctr, ioctls);
}

static int query_handler(struct drm_device *drm, void *data, struct drm_file *file)
{
	return drm_perfctr_query_ioctl(perfctr_of(drm), data);
}

static int open_handler(struct drm_device *drm, void *data, struct drm_file *file)
{
	return drm_perfctr_open_ioctl(perfctr_of(drm), data);
}
#endif

static void release_device(struct drm_device *drm, void *data)
{
	struct drm_perfctr *pc = data;

#ifdef PERFCTR_IN_TREE
	drm->perfctr = NULL;
#endif
	drm_perfctr_pmu_remove_device(pc);
	drm_perfctr_sampler_fini(pc);
	kfree(pc);
}

static void copy_config(struct drm_perfctr *pc, const struct drm_perfctr_config *config)
{
	pc->config = *config;
	strscpy(pc->name, config->name, sizeof(pc->name));
	pc->config.name = pc->name;
	pc->config.sets = (config->sets & PERFCTR_SETS_MASK) | BIT(DRM_PERFCTR_SET_PRIMARY);
	pc->config.features |= DRM_PERFCTR_FEATURE_PERIODIC;
	if (IS_ENABLED(CONFIG_DRM_PERFCTR_PMU))
		pc->config.features |= DRM_PERFCTR_FEATURE_PMU;
	if (config->timestamp_hz)
		pc->config.features |= DRM_PERFCTR_FEATURE_GPU_TIMESTAMP;
	if (config->ops && config->ops->wake && config->ops->relax)
		pc->config.features |= DRM_PERFCTR_FEATURE_KEEP_AWAKE;
}

/**
 * __drmm_perfctr_create() - give a DRM device counters; drivers call drmm_perfctr_create()
 * @drm: the device, not registered yet
 * @config: description
 * @owner: the driver's module
 *
 * Returns: the counters, released with @drm, or an ERR_PTR of -ENOMEM.
 */
struct drm_perfctr *__drmm_perfctr_create(struct drm_device *drm,
					  const struct drm_perfctr_config *config,
					  struct module *owner)
{
	struct drm_perfctr *pc;
	int ret;

#ifndef PERFCTR_IN_TREE
	if (config->ioctl_nr < DRM_COMMAND_BASE || config->ioctl_nr + 1 >= DRM_COMMAND_END)
		return ERR_PTR(-EINVAL);
#endif
	pc = kzalloc(sizeof(*pc), GFP_KERNEL);
	if (!pc)
		return ERR_PTR(-ENOMEM);

	pc->drm = drm;
	pc->owner = owner;
	rt_mutex_init(&pc->lock);
	prime_lock(pc);
	rt_mutex_init(&pc->users_lock);
	init_waitqueue_head(&pc->reset_wait);
	spin_lock_init(&pc->clock.lock);
	pc->clock.epoch = 1;
	INIT_LIST_HEAD(&pc->all);
	INIT_LIST_HEAD(&pc->pmu.node);
	xa_init_flags(&pc->controlled, XA_FLAGS_ALLOC1);
	copy_config(pc, config);

	ret = drm_perfctr_sampler_init(pc);
	if (ret) {
		kfree(pc);
		return ERR_PTR(ret);
	}
	drm_perfctr_pmu_add_device(pc);
#ifdef PERFCTR_IN_TREE
	pc->ioctls = (struct drm_perfctr_ioctls) { .query = query_handler, .open = open_handler };
	drm->perfctr = &pc->ioctls;
#endif

	ret = drmm_add_action_or_reset(drm, release_device, pc);
	return ret ? ERR_PTR(ret) : pc;
}
EXPORT_SYMBOL_GPL(__drmm_perfctr_create);

static int init_block(struct drm_perfctr_source *source, unsigned int i)
{
	struct drm_perfctr_block *block = &source->blocks[i];
	unsigned int sections;

	block->desc = source->descs[i];
	block->source = source;
	if (!block->desc.counters || block->desc.counters > PERFCTR_COUNTERS_MAX ||
	    block->desc.format & ~DRM_PERFCTR_FORMAT_RUNNING_TIMES)
		return -EINVAL;

	sections = perfctr_block_sections(&block->desc);
	/* whole sections, so that a view need not check the block's end */
	block->totals = kvcalloc(sections * DRM_PERFCTR_SECTION_COUNTERS,
				 sizeof(*block->totals), GFP_KERNEL);
	block->valid = kvcalloc(sections, sizeof(*block->valid), GFP_KERNEL);
	if (!block->totals || !block->valid)
		return -ENOMEM;
	if (!(block->desc.format & DRM_PERFCTR_FORMAT_RUNNING_TIMES))
		return 0;
	block->running = kvcalloc(sections * DRM_PERFCTR_SECTION_COUNTERS,
				  sizeof(*block->running), GFP_KERNEL);
	return block->running ? 0 : -ENOMEM;
}

/**
 * drm_perfctr_add_source() - add a kind of counter hardware
 * @pc: the counters, of a device not registered yet
 * @source: the source; its memory is managed by the device (drmm_kzalloc()) since before this
 *	call, or outlives the device
 *
 * Returns: 0; -EINVAL for an invalid description; -ENOSPC for too many sources; -ENOMEM.
 */
int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	unsigned int i;
	int ret;

	if (!source->ops || !source->block_count || !source->descs)
		return -EINVAL;
	if (pc->source_count == PERFCTR_MAX_SOURCES)
		return -ENOSPC;

	source->state = kzalloc(sizeof(*source->state), GFP_KERNEL);
	source->blocks = kvcalloc(source->block_count, sizeof(*source->blocks), GFP_KERNEL);
	ret = source->state && source->blocks ? 0 : -ENOMEM;
	for (i = 0; !ret && i < source->block_count; i++)
		ret = init_block(source, i);
	if (ret) {
		free_source(source);
		return ret;
	}

	drm_perfctr_source_prepare_init(source);
	source->pc = pc;
	source->id = pc->source_count;
	pc->sources[pc->source_count++] = source;
	pc->block_count += source->block_count;
	return drmm_add_action_or_reset(pc->drm, release_source, source);
}
EXPORT_SYMBOL_GPL(drm_perfctr_add_source);

static int sessions_show(struct seq_file *m, void *unused)
{
	struct drm_perfctr *pc = m->private;
	struct drm_perfctr_session *session;
	int ret;

	ret = rt_mutex_lock_interruptible(&pc->lock);
	if (ret)
		return ret;
	seq_puts(m, "    pid        uid active  set        KiB  period_ns command\n");
	list_for_each_entry(session, &pc->all, all_node) {
		char set[4] = "-";

		if (perfctr_uses_set(session))
			snprintf(set, sizeof(set), "%u", session->set);
		seq_printf(m, "%7d %10u %6s %4s %10llu %10llu ", pid_vnr(session->owner.pid),
			   from_kuid_munged(seq_user_ns(m), session->owner.uid),
			   session->active ? "yes" : "no", set,
			   session->memory->bytes / SZ_1K,
			   session->config.period_ns);
		/* escaped: a thread can choose any name */
		seq_printf(m, "%*pE\n", (int)strlen(session->owner.comm), session->owner.comm);
	}
	rt_mutex_unlock(&pc->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sessions);

static int sampler_show(struct seq_file *m, void *unused)
{
	struct drm_perfctr *pc = m->private;

	seq_printf(m, "timer_interrupts %lld\ncollections %llu\n",
		   atomic64_read(&pc->timer_interrupts), READ_ONCE(pc->collections));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sampler);

/**
 * drm_perfctr_debugfs_init() - create debugfs files with sessions and sampler statistics
 * @pc: the counters
 * @dir: of the device, from the driver's debugfs_init; it removes the files
 *
 * "perfctr_sessions" has a line for each session, with the process that created it. fdinfo does not
 * cover sessions whose descriptor is in flight between processes.
 */
void drm_perfctr_debugfs_init(struct drm_perfctr *pc, struct dentry *dir)
{
	debugfs_create_file("perfctr_sessions", 0400, dir, pc, &sessions_fops);
	debugfs_create_file("perfctr_sampler", 0400, dir, pc, &sampler_fops);
}
EXPORT_SYMBOL_GPL(drm_perfctr_debugfs_init);

static int __init perfctr_init(void)
{
	int ret;

	ret = drm_perfctr_sysctl_init();
	if (ret)
		return ret;
	drm_perfctr_wake_queue = alloc_workqueue("perfctr", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	ret = drm_perfctr_wake_queue ? drm_perfctr_pmu_init() : -ENOMEM;
	if (!ret)
		return 0;
	if (drm_perfctr_wake_queue)
		destroy_workqueue(drm_perfctr_wake_queue);
	drm_perfctr_sysctl_exit();
	return ret;
}

static void __exit perfctr_exit(void)
{
	drm_perfctr_pmu_exit();
	destroy_workqueue(drm_perfctr_wake_queue);
	drm_perfctr_sysctl_exit();
}

module_init(perfctr_init);
module_exit(perfctr_exit);

MODULE_DESCRIPTION("Performance counters for DRM drivers");
MODULE_LICENSE("GPL");
