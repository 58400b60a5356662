/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's msm_perfcntr.c needs of the kernel, in a program: memory, copies, timers and
 * work that gpu.c runs, all under one lock; and a GPU of which gpu.c has the registers.
 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned int __poll_t;

#define __user
#define GFP_KERNEL 0
#define EPOLLIN 1u
#define THIS_MODULE NULL
#define SZ_128M (128u << 20)
#define HRTIMER_MODE_REL 0
#define HRTIMER_MODE_REL_PINNED 1

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define struct_size(p, member, n) (sizeof(*(p)) + sizeof((p)->member[0]) * (n))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define const_ilog2(n) (31 - __builtin_clz(n))
#define u64_to_user_ptr(value) ((void *)(uintptr_t)(value))
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define READ_ONCE(x) (x)
#define WARN_ON(wrong) assert(!(wrong))
#define WARN_ON_ONCE(wrong) assert(!(wrong))
#define UERR(error, dev, ...) (gpu_note(__VA_ARGS__), -(error))

/* one lock serialises all */
#define guard(kind) (void)
#define scoped_guard(kind, lock) for (bool once_ = true; once_; once_ = false)
struct mutex {
	int none;
};
#define mutex_init(lock) ((void)(lock))

/* --- memory --- */
#define kzalloc(size, flags) calloc(1, size)
#define kmalloc(size, flags) malloc(size)
#define kzalloc_obj(object) ((__typeof__(&(object)))calloc(1, sizeof(object)))
#define kzalloc_objs(type, n) ((type *)calloc((n) ? (n) : 1, sizeof(type)))
#define kfree(pointer) free(pointer)
#define devm_kzalloc(dev, size, flags) calloc(1, size)
#define devm_kfree(dev, pointer) free(pointer)
#define ERR_PTR(error) ((void *)(intptr_t)(error))
#define __free(function) __attribute__((cleanup(free_at)))
#define no_free_ptr(pointer)                      \
	({                                        \
		__typeof__(pointer) p_ = pointer; \
		pointer = NULL;                   \
		p_;                               \
	})
static inline void free_at(void *pointer)
{
	free(*(void **)pointer);
}

static inline int copy_from_user(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return 0;
}

static inline int copy_to_user(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return 0;
}

/* --- files --- */
struct inode;
struct file {
	const struct file_operations *ops;
	void *private_data;
	unsigned int f_flags;
};
typedef struct {
	int none;
} poll_table;
struct file_operations {
	void *owner;
	int (*release)(struct inode *inode, struct file *file);
	__poll_t (*poll)(struct file *file, poll_table *wait);
	ssize_t (*read)(struct file *file, char *buffer, size_t count, loff_t *position);
};
/* a file that has no number yet, and is freed if it gets none */
struct prepared {
	struct file *file;
	int err;
};
struct prepared gpu_prepare_file(const struct file_operations *ops, void *data);
void gpu_drop_file(struct prepared *prepared);
int gpu_publish_file(struct prepared *prepared);
#define anon_inode_getfile(name, ops, data, flags) gpu_prepare_file(ops, data)
#define FD_PREPARE(name, flags, prepare) \
	struct prepared name __attribute__((cleanup(gpu_drop_file))) = prepare
#define fd_publish(name) gpu_publish_file(&(name))

/* --- waits, timers, work --- */
typedef struct {
	int none;
} wait_queue_head_t;
#define init_waitqueue_head(queue) ((void)(queue))
#define wake_up_all(queue) gpu_wake()
#define poll_wait(file, queue, wait) ((void)(wait))
/* nobody may wait under the lock */
#define wait_event_interruptible(queue, condition) (assert(condition), 0)

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	bool active;
};
#define hrtimer_setup(timer, f, clock, mode) ((timer)->function = (f))
#define hrtimer_start(timer, time, mode) gpu_start_timer(timer, time)
#define hrtimer_cancel(timer) ((timer)->active = false)
#define hrtimer_forward_now(timer, time) ((void)(time))
#define ns_to_ktime(ns) (ns)

struct kthread_worker {
	int none;
};
struct kthread_work {
	void (*function)(struct kthread_work *work);
};
#define kthread_init_work(work, f) ((work)->function = (f))
#define kthread_queue_work(worker, work) ((work)->function(work))
#define kthread_cancel_work_sync(work) ((void)(work))

struct work_struct {
	void (*function)(struct work_struct *work);
	bool pending;
};
#define INIT_WORK(work, f) ((work)->function = (f), (work)->pending = false)
#define queue_work(queue, work) gpu_queue_work(work)
#define cancel_work(work) ((work)->pending = false)
#define cancel_work_sync(work) gpu_cancel_work(work)

/* --- DRM --- */
struct list_head {
	struct list_head *next, *previous;
};
#define list_for_each_entry(at, head, member)                              \
	for ((at) = container_of((head)->next, __typeof__(*(at)), member); \
	     &(at)->member != (head);                                      \
	     (at) = container_of((at)->member.next, __typeof__(*(at)), member))
struct drm_device {
	void *dev_private;
	struct mutex filelist_mutex;
	struct list_head filelist;
};
struct drm_file {
	void *driver_priv;
	struct list_head lhead;
};
bool perfmon_capable(void);

/* --- the driver's headers --- */
enum adreno_pipe { PIPE_NONE, PIPE_BR, PIPE_BV };
struct device {
	bool active;
};
#define pm_runtime_barrier(dev) ((void)(dev))
#define pm_runtime_get_if_active(dev) ((dev)->active)
#define pm_runtime_put_autosuspend(dev) ((void)(dev))
struct platform_device {
	struct device dev;
};
struct msm_rbmemptrs {
	uint32_t perfcntr_fence;
};
struct msm_ringbuffer {
	struct {
		void *submit_wq;
	} sched;
	struct msm_rbmemptrs *memptrs;
};
struct msm_gpu;
struct msm_perfcntr_stream;
struct msm_perfcntr_group;
struct msm_perfcntr_context_state;
struct msm_gpu_funcs {
	void (*sysprof_setup)(struct msm_gpu *gpu, bool force_on);
	void (*perfcntr_configure)(struct msm_gpu *gpu, struct msm_ringbuffer *ring,
				   const struct msm_perfcntr_stream *stream);
	void (*perfcntr_flush)(struct msm_gpu *gpu);
};
struct msm_perfcntr_group_state {
	unsigned allocated_counters;
	uint32_t countables[];
};
struct msm_perfcntr_state {
	struct msm_perfcntr_stream *stream;
	uint32_t sel_seqno;
	struct msm_perfcntr_group_state *groups[];
};
struct msm_gpu {
	struct platform_device *pdev;
	struct drm_device *dev;
	struct msm_ringbuffer *rb[1];
	struct kthread_worker *worker;
	const struct msm_gpu_funcs *funcs;
	struct mutex lock, perfcntr_lock;
	const struct msm_perfcntr_group *perfcntr_groups;
	unsigned num_perfcntr_groups;
	struct msm_perfcntr_state *perfcntrs;
};
struct msm_context {
	struct msm_perfcntr_context_state *perfctx;
};
struct msm_drm_private {
	struct msm_gpu *gpu;
};
struct adreno_gpu_funcs {
	uint64_t (*get_timestamp)(struct msm_gpu *gpu);
};
struct adreno_gpu {
	const struct adreno_gpu_funcs *funcs;
};
struct adreno_gpu *to_adreno_gpu(struct msm_gpu *gpu);
uint64_t gpu_read64(struct msm_gpu *gpu, uint32_t reg);
#define msm_gpu_hw_init(gpu) ((void)(gpu))
int msm_perfcntr_resume(struct msm_gpu *gpu);
void msm_perfcntr_suspend(struct msm_gpu *gpu);
int msm_ioctl_perfcntr_config(struct drm_device *dev, void *data, struct drm_file *file);
struct msm_perfcntr_state *msm_perfcntr_init(struct msm_gpu *gpu);
void msm_perfcntr_cleanup(struct msm_gpu *gpu);

/* --- of gpu.c --- */
void gpu_note(const char *format, ...);
void gpu_wake(void);
void gpu_start_timer(struct hrtimer *timer, uint64_t period_ns);
void gpu_queue_work(struct work_struct *work);
void gpu_cancel_work(struct work_struct *work);
