// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers to which jobs store MP counters.
 */
#include <linux/bitops.h>
#include <linux/iosys-map.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_print.h>
#include <drm/drm_vma_manager.h>

#include "compat.h"
#include "engine/vsoc.h"
#include "engine/vsoc_engine.h"
#include "vsoc_drv.h"
#include "vsoc_job.h"

#define MAX_BO_BYTES	SZ_1M

int vsoc_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vsoc_bo_create *args = data;
	struct drm_gem_shmem_object *shmem;
	int ret;

	if (!args->size || args->pad || args->size > MAX_BO_BYTES) {
		drm_dbg_driver(drm, "bo_create: size %llu or pad\n", args->size);
		return args->size > MAX_BO_BYTES ? -ERANGE : -EINVAL;
	}
	shmem = drm_gem_shmem_create(drm, PAGE_ALIGN(args->size));
	if (IS_ERR(shmem))
		/* -ENOSPC from shmem: no memory for an inode */
		return PTR_ERR(shmem) == -ENOSPC ? -ENOMEM : PTR_ERR(shmem);
	args->size = shmem->base.size;
	args->mmap_offset = drm_vma_node_offset_addr(&shmem->base.vma_node);
	ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	/* the handle owns the buffer from here on */
	drm_gem_object_put(&shmem->base);
	return ret;
}

/* size of records up to the last present TPC */
static u64 store_bytes(const struct vsoc_device *vsoc)
{
	return fls64(vsoc->shape.shader_present) * sizeof(struct drm_vsoc_mp_record);
}

/*
 * Look up and map the buffer of a command. The job references the memory, independently of the
 * handle, the file and the device.
 * @file: the file of the handle; @c: the command, checked except for the handle and its buffer;
 * @number: of the command in its job.
 * Return: 0, or as documented for SUBMIT.
 */
int vsoc_store_map(struct vsoc_device *vsoc, struct drm_file *file, struct vsoc_job_command *c,
		   u32 number)
{
	const struct drm_vsoc_cmd_mp_store *s = &c->cmd.mp_store;
	const char *wrong = NULL;
	struct iosys_map map;
	u64 end;
	int ret = 0;

	c->bo = drm_gem_object_lookup(file, s->handle);
	if (!c->bo) {
		drm_dbg_driver(&vsoc->drm, "submit: command %u: handle %u is no buffer\n", number,
			       s->handle);
		return -ENOENT;
	}
	/* the exporter may move or revoke it */
	if (c->bo->import_attach) {
		wrong = "is imported";
		ret = -EOPNOTSUPP;
	} else if (check_add_overflow(s->offset, store_bytes(vsoc), &end) || end > c->bo->size) {
		wrong = "is too small for the records of all TPCs from offset on";
		ret = -ENOSPC;
	} else {
		ret = perfctr_gem_vmap(c->bo, &map);
		wrong = ret ? "cannot be mapped" : NULL;
	}
	if (!ret) {
		c->vaddr = map.vaddr;
		return 0;
	}
	drm_dbg_driver(&vsoc->drm, "submit: command %u: buffer %u %s: %d\n", number, s->handle,
		       wrong, ret);
	drm_gem_object_put(c->bo);
	c->bo = NULL;
	return ret;
}

/* undoes vsoc_store_map() if it was called */
void vsoc_store_unmap(struct vsoc_job_command *c)
{
	struct iosys_map map;

	if (!c->bo)
		return;
	iosys_map_set_vaddr(&map, c->vaddr);
	perfctr_gem_vunmap(c->bo, &map);
	drm_gem_object_put(c->bo);
}
