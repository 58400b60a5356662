// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's contexts and their queues of jobs.
 */
#include <linux/slab.h>
#include <linux/wait.h>

#include "vsoc.h"
#include "vsoc_account.h"
#include "vsoc_csf_counters.h"
#include "vsoc_engine_state.h"

/* with the lock held: @ctx has jobs, and none of them runs */
void vsoc_engine_make_ready(struct vsoc_engine *e, struct vsoc_ctx *ctx)
{
	struct list_head *ready = ctx->concurrent ? &e->lanes.ready : &e->ready;

	list_move_tail(&ctx->ready, ctx->held && !e->stopped && !ctx->closed ? &e->held : ready);
}

/* ends @jobs, which were taken from the queue of @ctx */
void vsoc_engine_cancel_jobs(struct vsoc_device *vsoc, struct vsoc_ctx *ctx,
			     struct list_head *jobs)
{
	struct vsoc_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, node) {
		list_del_init(&job->node);
		vsoc->ops->job_finish(vsoc, job, -ECANCELED);
		spin_lock(&vsoc->engine->lock);
		ctx->unfinished--;
		spin_unlock(&vsoc->engine->lock);
		wake_up_all(&vsoc->engine->job_end);
		vsoc_ctx_put(ctx);
	}
}

/* nothing is running or queued */
bool vsoc_engine_idle(struct vsoc_device *vsoc)
{
	struct vsoc_engine *e = vsoc->engine;
	bool idle;

	spin_lock(&e->lock);
	idle = !e->running && list_empty(&e->ready) && list_empty(&e->held) &&
	       !vsoc_lanes_busy(&e->lanes);
	spin_unlock(&e->lock);
	return idle;
}

static void ctx_release(struct kref *ref)
{
	struct vsoc_ctx *ctx = container_of(ref, struct vsoc_ctx, ref);

	vsoc_account_close(ctx->account);
	kfree(ctx->mp);
	kfree(ctx);
}

void vsoc_ctx_put(struct vsoc_ctx *ctx)
{
	kref_put(&ctx->ref, ctx_release);
}

void vsoc_engine_ctx_init(struct vsoc_ctx *ctx)
{
	INIT_LIST_HEAD(&ctx->jobs);
	INIT_LIST_HEAD(&ctx->ready);
}

/*
 * Queues @job. Returns 0; after -ENODEV, -ENOENT (the context was closed) or -EAGAIN, the caller
 * still owns the job.
 */
int vsoc_engine_queue(struct vsoc_device *vsoc, struct vsoc_job *job, u32 max_unfinished)
{
	struct vsoc_engine *e = vsoc->engine;
	struct vsoc_ctx *ctx = job->ctx;
	int ret = 0;

	/* set the account before the job can run and end */
	mutex_lock(&vsoc->hw_lock);
	spin_lock(&e->lock);
	if (e->stopped) {
		ret = -ENODEV;
	} else if (ctx->closed) {
		ret = -ENOENT;
	} else if (ctx->unfinished >= max_unfinished) {
		ret = -EAGAIN;
	} else {
		ctx->unfinished++;
		list_add_tail(&job->node, &ctx->jobs);
		if (list_empty(&ctx->ready) && e->running != ctx && !vsoc_lanes_run(&e->lanes, ctx))
			vsoc_engine_make_ready(e, ctx);
	}
	if (!ret && !ctx->concurrent) {
		vsoc->gpu.account = ctx->account;
		vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_DOORBELLS, 1);
		vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_JOBS_SUBMITTED, 1);
		vsoc->gpu.account = NULL;
	}
	spin_unlock(&e->lock);
	mutex_unlock(&vsoc->hw_lock);

	if (!ret)
		wake_up(&e->wait);
	return ret;
}

static bool all_finished(struct vsoc_engine *e, const struct vsoc_ctx *ctx)
{
	bool finished;

	spin_lock(&e->lock);
	finished = !ctx->unfinished;
	spin_unlock(&e->lock);
	return finished;
}

/*
 * Ends all jobs of @ctx, to which the caller has a reference, and accepts no more. Waits for the
 * running one, which ends with its current slice, and for those that vsoc_engine_fini() is
 * cancelling: the caller may free the file afterwards.
 */
void vsoc_engine_close_ctx(struct vsoc_device *vsoc, struct vsoc_ctx *ctx)
{
	struct vsoc_engine *e = vsoc->engine;
	LIST_HEAD(jobs);

	spin_lock(&e->lock);
	ctx->closed = true;
	list_splice_init(&ctx->jobs, &jobs);
	list_del_init(&ctx->ready);
	if (e->running == ctx)
		WRITE_ONCE(e->cancel, true);
	if (vsoc_lanes_run(&e->lanes, ctx))
		WRITE_ONCE(e->lanes.cancel, true);
	spin_unlock(&e->lock);
	wake_up(&e->wait);

	vsoc_engine_cancel_jobs(vsoc, ctx, &jobs);
	wait_event(e->job_end, all_finished(e, ctx));
}

/* keep the jobs of @ctx from running, or let them run again */
void vsoc_engine_hold_ctx(struct vsoc_device *vsoc, struct vsoc_ctx *ctx, bool held)
{
	struct vsoc_engine *e = vsoc->engine;

	spin_lock(&e->lock);
	if (ctx->held != held) {
		WRITE_ONCE(ctx->held, held);
		if (!list_empty(&ctx->ready))
			vsoc_engine_make_ready(e, ctx);
		wake_up(&e->wait);
	}
	spin_unlock(&e->lock);
}
