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

int vsoc_engine_queue(struct vsoc_device *vsoc, struct vsoc_job *job, u32 max_unfinished);
void vsoc_engine_ctx_init(struct vsoc_ctx *ctx);
void vsoc_engine_close_ctx(struct vsoc_device *vsoc, struct vsoc_ctx *ctx);
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
