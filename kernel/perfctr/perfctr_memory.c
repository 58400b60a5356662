// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a ring: pages that only CPUs access, and a file for userspace to map.
 *
 * It is not a GEM object: a driver's buffers may be write-combined, in which case a store-release
 * does not order, may move, and have a driver-specific type. These pages are ordinary cached memory
 * at fixed addresses. The kernel writes them through its own mapping.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "perfctr_internal.h"

/* the control area comes first; it is the only part that userspace may write */
#define CONTROL_PAGES	(PERFCTR_CONTROL_BYTES / PAGE_SIZE)

static_assert(sizeof(struct drm_perfctr_ring_control) <= PERFCTR_CONTROL_BYTES);

static void memory_release(struct kref *ref)
{
	struct perfctr_memory *memory = container_of(ref, struct perfctr_memory, refcount);

	vunmap(memory->vaddr);
	while (memory->count)
		__free_page(memory->pages[--memory->count]);
	kvfree(memory->pages);
	drm_perfctr_uncharge(memory->charged, 0, 0, memory->bytes);
	kfree(memory);
}

/* drops the reference of the session or of the file */
void drm_perfctr_memory_put(struct perfctr_memory *memory)
{
	if (memory)
		kref_put(&memory->refcount, memory_release);
}

static int allocate(struct perfctr_memory *memory, unsigned long count)
{
	memory->pages = kvcalloc(count, sizeof(*memory->pages), PERFCTR_GFP_USER);
	if (!memory->pages)
		return -ENOMEM;
	while (memory->count < count) {
		struct page *page = alloc_page(PERFCTR_GFP_USER | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		memory->pages[memory->count++] = page;
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	memory->vaddr = vmap(memory->pages, count, VM_MAP, PAGE_KERNEL);
	return memory->vaddr ? 0 : -ENOMEM;
}

/*
 * Allocates zeroed memory for a control area and slots, charged to a user, or nobody, until it is
 * freed. Returns it with one reference; -EDQUOT, -ENOMEM or -EINTR.
 */
struct perfctr_memory *drm_perfctr_memory_create(kuid_t charged, u64 ring_bytes)
{
	unsigned long count = CONTROL_PAGES + (PAGE_ALIGN(ring_bytes) >> PAGE_SHIFT);
	u64 bytes = (u64)count << PAGE_SHIFT;
	struct perfctr_memory *memory;
	int ret;

	memory = kzalloc(sizeof(*memory), PERFCTR_GFP_USER);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	kref_init(&memory->refcount);
	memory->charged = INVALID_UID;
	ret = drm_perfctr_charge(charged, 0, 0, bytes);
	if (!ret) {
		memory->charged = charged;
		memory->bytes = bytes;
		ret = allocate(memory, count);
	}
	if (ret) {
		drm_perfctr_memory_put(memory);
		return ERR_PTR(ret);
	}
	return memory;
}

static int memory_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct perfctr_memory *memory = file->private_data;
	unsigned long first = vma->vm_pgoff;
	unsigned long count = vma_pages(vma);
	unsigned long i;
	int ret;

	if (!(vma->vm_flags & VM_SHARED) || first >= memory->count ||
	    count > memory->count - first)
		return -EINVAL;
	if (first + count > CONTROL_PAGES) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		perfctr_vm_flags_clear(vma, VM_MAYWRITE);
	}
	/* pages that could be pinned would stay in use after they are no longer charged */
	perfctr_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	for (i = 0; i < count; i++) {
		ret = remap_pfn_range(vma, vma->vm_start + (i << PAGE_SHIFT),
				      page_to_pfn(memory->pages[first + i]), PAGE_SIZE,
				      vma->vm_page_prot);
		if (ret)
			return ret;
	}
	return 0;
}

static int memory_file_release(struct inode *inode, struct file *file)
{
	drm_perfctr_memory_put(file->private_data);
	return 0;
}

/* lets a broker that passed the file on check whether it is still in use */
static void memory_show_fdinfo(struct seq_file *m, struct file *file)
{
	/* excludes the reference of procfs itself */
	seq_printf(m, "users:\t%ld\n", (long)file_count(file) - 1);
}

static const struct file_operations memory_fops = {
	.owner = THIS_MODULE,
	.show_fdinfo = memory_show_fdinfo,
	.mmap = memory_mmap,
	.release = memory_file_release,
	.llseek = noop_llseek,
};

/* returns a file with its own reference, or an ERR_PTR */
struct file *drm_perfctr_memory_file(struct perfctr_memory *memory)
{
	struct file *file;

	file = anon_inode_getfile("[perfctr-ring]", &memory_fops, memory, O_RDWR);
	if (!IS_ERR(file))
		kref_get(&memory->refcount);
	return file;
}
