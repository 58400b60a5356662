// SPDX-License-Identifier: GPL-2.0
/*
 * Fences for the end of a job. A sync_file can outlive the device and its files, so a fence
 * references the module only.
 */
#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "vsoc_job.h"

struct vsoc_fence {
	struct dma_fence base;
	spinlock_t lock;	/* protects base */
};

static const char *get_driver_name(struct dma_fence *fence)
{
	return "vsoc";
}

static const char *get_timeline_name(struct dma_fence *fence)
{
	return "vsoc-context";
}

static void release(struct dma_fence *fence)
{
	/* freed after a grace period without calling back into this module */
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = get_driver_name,
	.get_timeline_name = get_timeline_name,
	.release = release,
};

struct dma_fence *vsoc_fence_create(u64 context, u64 seqno)
{
	struct vsoc_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &fence_ops, &fence->lock, context, seqno);
	return &fence->base;
}
