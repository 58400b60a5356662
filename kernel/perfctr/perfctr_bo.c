// SPDX-License-Identifier: GPL-2.0
/*
 * DRM_IOCTL_PERFCTR_BO_CREATE: memory for rings, for drivers on GEM-SHMEM that
 * have no buffer ioctl of their own.
 */
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_vma_manager.h>

#include "perfctr_internal.h"

static_assert(sizeof(struct drm_perfctr_bo_create) == 32);

/**
 * drm_perfctr_bo_create_ioctl() - DRM_IOCTL_PERFCTR_BO_CREATE
 * @drm: a device whose buffers are GEM-SHMEM objects
 * @data: struct drm_perfctr_bo_create in kernel memory
 * @file: owner of the new handle
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int drm_perfctr_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_perfctr_bo_create *create = data;
	struct drm_gem_shmem_object *shmem;
	int ret;

	if (create->flags || create->pad || !create->size) {
		drm_dbg(drm, "perfctr: BO_CREATE: flags, pad or size\n");
		return -EINVAL;
	}
	if (create->size > PERFCTR_MAX_BO_BYTES) {
		drm_dbg(drm, "perfctr: BO_CREATE: size: %llu is above %llu\n", create->size,
			PERFCTR_MAX_BO_BYTES);
		return -ERANGE;
	}

	shmem = drm_gem_shmem_create(drm, PAGE_ALIGN(create->size));
	if (IS_ERR(shmem))
		/* shmem says -ENOSPC when there is no memory for an inode */
		return PTR_ERR(shmem) == -ENOSPC ? -ENOMEM : PTR_ERR(shmem);

	/* only CPUs use a ring; drivers of GPUs that are not coherent prefer write-combining */
	shmem->map_wc = false;

	create->size = shmem->base.size;
	create->mmap_offset = drm_vma_node_offset_addr(&shmem->base.vma_node);
	ret = drm_gem_handle_create(file, &shmem->base, &create->handle);
	/* the handle holds the buffer from here on */
	drm_gem_object_put(&shmem->base);
	return ret;
}
EXPORT_SYMBOL_GPL(drm_perfctr_bo_create_ioctl);
