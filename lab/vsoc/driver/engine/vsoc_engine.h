/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs and contexts, between the ioctls (vsoc_job.c) and the engine.
 */
#ifndef _VSOC_ENGINE_H_
#define _VSOC_ENGINE_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <drm/vsoc_drm.h>

struct dma_fence;
struct drm_gem_object;
struct drm_perfctr_session;
struct nv50_mp_context;
struct vsoc_account;
struct vsoc_device;
struct vsoc_file;
struct vsoc_thread;

/* a checked command */
struct vsoc_job_command {
	struct drm_vsoc_command cmd;		/* as submitted, checked */
	struct drm_perfctr_session *session;	/* for DRM_VSOC_CMD_SAMPLE, a reference */
	/* for DRM_VSOC_CMD_COMPUTE with a listing: counts of a thread */
	struct vsoc_thread *thread;
	struct drm_gem_object *bo;	/* for DRM_VSOC_CMD_MP_STORE, a reference, mapped */
	void *vaddr;			/* of @bo */
};

/* what all jobs of a file took; fdinfo shows it */
struct vsoc_usage {
	atomic64_t busy_ns;	/* device time */
	atomic64_t cycles;	/* of the top clock */
};

/* a queue of jobs */
struct vsoc_ctx {
	struct kref ref;		/* one for the file and one for each job */
	struct vsoc_usage *usage;	/* of @file */
	struct vsoc_file *file;		/* constant until the context is closed */
	struct vsoc_account *account;	/* what its jobs count; set with its first job */
	u64 fence_context;		/* for the jobs' fences */
	u64 heap;			/* address of the memory of its shaders; constant */
	bool concurrent;		/* its jobs run beside the GPU's; constant */
	struct nv50_mp_context *mp; /* MP counters, under hw_lock; NULL if the product has none */

	/* under the engine's lock */
	struct list_head jobs;	/* queued jobs, oldest first */
	/* in the engine's list of ready or held contexts if it has jobs and none of them runs */
	struct list_head ready;
	u32 unfinished;		/* jobs, queued and running */
	u64 fence_seqno;	/* of the last job */
	bool closed;		/* accepts no more jobs */
	bool held;		/* its jobs wait */
};

struct vsoc_job {
	struct vsoc_ctx *ctx;		/* a reference */
	struct list_head node;		/* in the context's queue */
	struct llist_node freed;	/* in the file's list of ended jobs */
	u64 id;				/* for userspace */
	struct dma_fence *fence;	/* signals the end; NULL if not requested */
	u32 sample_errors;		/* SAMPLE commands that failed */
	int sample_errno;		/* of the first failure */
	bool started;			/* its start was executed */
	u64 device_ns;			/* device time until it was set aside */
	u32 next;			/* first command not executed */
	u32 count;			/* elements of @commands */
	struct vsoc_job_command commands[];
};

int vsoc_engine_queue(struct vsoc_device *vsoc, struct vsoc_job *job, u32 max_unfinished);
void vsoc_engine_ctx_init(struct vsoc_ctx *ctx);
void vsoc_engine_close_ctx(struct vsoc_device *vsoc, struct vsoc_ctx *ctx);
void vsoc_engine_hold_ctx(struct vsoc_device *vsoc, struct vsoc_ctx *ctx, bool held);
void vsoc_ctx_put(struct vsoc_ctx *ctx);

int vsoc_engine_init(struct vsoc_device *vsoc);
void vsoc_engine_fini(struct vsoc_device *vsoc);
bool vsoc_engine_idle(struct vsoc_device *vsoc);
bool vsoc_engine_busy(struct vsoc_device *vsoc);
void vsoc_engine_pause(struct vsoc_device *vsoc, bool cancel);
bool vsoc_engine_pause_hung(struct vsoc_device *vsoc);
void vsoc_engine_resume(struct vsoc_device *vsoc);
int vsoc_engine_step(struct vsoc_device *vsoc, u64 ns);
int vsoc_engine_set_stepped(struct vsoc_device *vsoc, bool on);

#endif /* _VSOC_ENGINE_H_ */
