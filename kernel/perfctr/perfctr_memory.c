// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a ring: pages that only CPUs access, and files by which user space reads it and
 * waits for samples.
 *
 * It is not a GEM object: a driver's buffers may be write-combined, in which case a store-release
 * does not order, may move, and have a driver-specific type. These pages are ordinary cached memory
 * at fixed addresses. The kernel writes them through its own mapping.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "perfctr_internal.h"
#include "perfctr_sink.h"

/* the control area comes first; it is the only part that userspace may write */
#define CONTROL_PAGES	(PERFCTR_CONTROL_BYTES / PAGE_SIZE)

static_assert(sizeof(struct drm_perfctr_ring_control) <= PERFCTR_CONTROL_BYTES);

static void memory_release(struct kref *ref)
{
	struct perfctr_memory *memory = container_of(ref, struct perfctr_memory, refcount);

	drm_perfctr_wake_fini(memory);
	vunmap(memory->vaddr);
	while (memory->count)
		__free_page(memory->pages[--memory->count]);
	kvfree(memory->pages);
	drm_perfctr_uncharge(memory->charged, 0, memory->bytes);
	kfree(memory);
}

/* drops the reference of the session or of a file */
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
 * For a ring without pages of its own: the front end that has the memory initialises it. Its bytes
 * are charged to a user, or nobody, until this is freed. Returns it with one reference; -EDQUOT or
 * -ENOMEM.
 */
struct perfctr_memory *drm_perfctr_memory_describe(kuid_t charged,
						   const struct drm_perfctr_layout *layout)
{
	struct perfctr_memory *memory;
	int ret;

	memory = kzalloc(sizeof(*memory), PERFCTR_GFP_USER);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	kref_init(&memory->refcount);
	drm_perfctr_wake_init(memory);
	memory->layout = *layout;
	memory->charged = INVALID_UID;
	ret = drm_perfctr_charge(charged, 0, layout->map_bytes);
	if (ret) {
		drm_perfctr_memory_put(memory);
		return ERR_PTR(ret);
	}
	memory->charged = charged;
	memory->bytes = layout->map_bytes;
	return memory;
}

/* the same with an empty ring in pages of its own; also -EINTR */
struct perfctr_memory *drm_perfctr_memory_create(kuid_t charged,
						 const struct drm_perfctr_layout *layout)
{
	struct perfctr_memory *memory = drm_perfctr_memory_describe(charged, layout);
	int ret;

	if (IS_ERR(memory))
		return memory;
	ret = allocate(memory, layout->map_bytes >> PAGE_SHIFT);
	if (ret) {
		drm_perfctr_memory_put(memory);
		return ERR_PTR(ret);
	}
	drm_perfctr_ring_init(&memory->ring, memory->vaddr + PERFCTR_CONTROL_BYTES, memory->vaddr,
			      layout);
	return memory;
}

int drm_perfctr_memory_mmap(struct perfctr_memory *memory, struct vm_area_struct *vma)
{
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

__poll_t drm_perfctr_memory_poll(struct perfctr_memory *memory, struct file *file,
				 poll_table *wait)
{
	u32 state, unread;
	__poll_t events;

	poll_wait(file, &memory->wait, wait);
	/* pairs with wq_has_sleeper(): it sees this waiter, or the sample is seen here */
	smp_mb();
	/* before the samples, of which the last one comes before the end */
	state = smp_load_acquire(&memory->ring.state);
	unread = drm_perfctr_ring_unread(&memory->ring);
	events = state & DRM_PERFCTR_RING_DEAD ? EPOLLHUP : 0;
	if (unread >= memory->watermark || (unread && !(state & DRM_PERFCTR_RING_ACTIVE)))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

/* writes a structure in the size that user space has: cut, or filled with zeroes; 0 or -EFAULT */
int drm_perfctr_copy_out(void __user *dst, size_t dst_size, const void *src, size_t size)
{
	size_t known = min(dst_size, size);

	if (copy_to_user(dst, src, known) || clear_user(dst + known, dst_size - known))
		return -EFAULT;
	return 0;
}

/* the ioctls that sessions and readers have */
long drm_perfctr_memory_ioctl(struct perfctr_memory *memory, unsigned int cmd, unsigned long arg)
{
	if (PERFCTR_IOCTL_OF_ANY_SIZE(cmd) != PERFCTR_IOCTL_OF_ANY_SIZE(DRM_PERFCTR_IOCTL_LAYOUT))
		return -ENOTTY;
	return drm_perfctr_copy_out((void __user *)arg, _IOC_SIZE(cmd), &memory->layout,
				    sizeof(memory->layout));
}

static long reader_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return drm_perfctr_memory_ioctl(file->private_data, cmd, arg);
}

static int reader_mmap(struct file *file, struct vm_area_struct *vma)
{
	return drm_perfctr_memory_mmap(file->private_data, vma);
}

static __poll_t reader_poll(struct file *file, poll_table *wait)
{
	return drm_perfctr_memory_poll(file->private_data, file, wait);
}

static int reader_release(struct inode *inode, struct file *file)
{
	struct perfctr_memory *memory = file->private_data;

	atomic_dec(&memory->readers);
	drm_perfctr_memory_put(memory);
	return 0;
}

static const struct file_operations reader_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = reader_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = reader_mmap,
	.poll = reader_poll,
	.release = reader_release,
	.llseek = noop_llseek,
};

/* returns a file with its own reference, or an ERR_PTR */
struct file *drm_perfctr_memory_reader(struct perfctr_memory *memory)
{
	struct file *file;

	file = anon_inode_getfile("[perfctr-ring]", &reader_fops, memory, O_RDWR);
	if (!IS_ERR(file)) {
		kref_get(&memory->refcount);
		atomic_inc(&memory->readers);
	}
	return file;
}
