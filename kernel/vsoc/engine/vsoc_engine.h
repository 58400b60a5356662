/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs and contexts, between the ioctls (vsoc_job.c) and the engine.
 */
#ifndef _VSOC_ENGINE_H_
#define _VSOC_ENGINE_H_

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

/**
 * struct vsoc_job_command - a checked command
 */
struct vsoc_job_command {
	/** @cmd: as user space gave it, checked. */
	struct drm_vsoc_command cmd;
	/** @session: for DRM_VSOC_CMD_SAMPLE, a reference. */
	struct drm_perfctr_session *session;
	/** @thread: for DRM_VSOC_CMD_COMPUTE with a listing: what a thread does. */
	struct vsoc_thread *thread;
	/** @bo: for DRM_VSOC_CMD_MP_STORE, a reference, mapped. */
	struct drm_gem_object *bo;
	/** @vaddr: of @bo. */
	void *vaddr;
};

/**
 * struct vsoc_ctx - a queue of jobs
 */
struct vsoc_ctx {
	/** @ref: the file's and one for each job. */
	struct kref ref;
	/** @file: constant until the context is closed. */
	struct vsoc_file *file;
	/** @account: what its jobs counted; set with its first job. */
	struct vsoc_account *account;
	/** @fence_context: for the jobs' fences. */
	u64 fence_context;
	/** @mp: its MP counters, under hw_lock; NULL: the product has none. */
	struct nv50_mp_context *mp;

	/* under the engine's lock */
	/** @jobs: waiting jobs, oldest first. */
	struct list_head jobs;
	/** @ready: in the engine's round robin if @jobs is not empty and none of them runs. */
	struct list_head ready;
	/** @unfinished: jobs, waiting and running. */
	u32 unfinished;
	/** @fence_seqno: of the last job. */
	u64 fence_seqno;
	/** @closed: takes no more jobs. */
	bool closed;
};

/**
 * struct vsoc_job - an array of commands
 */
struct vsoc_job {
	/** @ctx: a reference. */
	struct vsoc_ctx *ctx;
	/** @node: in the context's queue. */
	struct list_head node;
	/** @freed: in the file's list of jobs that are over. */
	struct llist_node freed;
	/** @id: for user space. */
	u64 id;
	/** @fence: signals the end; NULL if nobody asked for it. */
	struct dma_fence *fence;
	/** @sample_errors: SAMPLE commands that gave no sample. */
	u32 sample_errors;
	/** @sample_errno: of the first of them. */
	int sample_errno;
	/** @count: elements of @commands. */
	u32 count;
	/** @commands: what to do. */
	struct vsoc_job_command commands[] __counted_by(count);
};

/* vsoc_engine.c */
int vsoc_engine_queue(struct vsoc_device *vsoc, struct vsoc_job *job, u32 max_unfinished);
void vsoc_engine_ctx_init(struct vsoc_ctx *ctx);
void vsoc_engine_close_ctx(struct vsoc_device *vsoc, struct vsoc_ctx *ctx);

/* vsoc_job.c; vsoc_job_finish() tells the world and frees the job but for its context */
void vsoc_ctx_put(struct vsoc_ctx *ctx);
void vsoc_job_finish(struct vsoc_device *vsoc, struct vsoc_job *job, int status);
/* vsoc_fence.c */
struct dma_fence *vsoc_fence_create(u64 context, u64 seqno);

#endif /* _VSOC_ENGINE_H_ */
