// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs beside the GPU's. They only move data, and no block of the GPU counts them.
 */
#include <linux/minmax.h>

#include "vsoc_engine_state.h"

void vsoc_lanes_init(struct vsoc_lanes *lanes, struct vsoc_engine *engine)
{
	struct vsoc_device *vsoc = engine->vsoc;

	lanes->engine = engine;
	lanes->vsoc = vsoc;
	lanes->lock = &engine->lock;
	INIT_LIST_HEAD(&lanes->ready);
	for (u32 i = 0; i < ARRAY_SIZE(lanes->lanes); i++) {
		/* without room for items: its commands count nothing */
		lanes->lanes[i].work.shape = &vsoc->shape;
		lanes->lanes[i].work.lane = i + 1;
	}
}

static void drain(struct vsoc_lanes *lanes, const struct vsoc_lane *lane)
{
	mutex_lock(&lanes->vsoc->hw_lock);
	lanes->vsoc->ops->drain(lanes->vsoc, lane->work.lane);
	mutex_unlock(&lanes->vsoc->hw_lock);
}

/* the lane becomes free; @aside: the job continues later at its next command */
static void leave(struct vsoc_lanes *lanes, struct vsoc_lane *lane, bool aside)
{
	struct vsoc_ctx *ctx = lane->ctx;

	spin_lock(lanes->lock);
	if (aside)
		list_add(&lane->job->node, &ctx->jobs);
	else
		ctx->unfinished--;
	lane->ctx = NULL;
	lane->job = NULL;
	lanes->running--;
	if (!list_empty(&ctx->jobs))
		vsoc_engine_make_ready(lanes->engine, ctx);
	spin_unlock(lanes->lock);
	if (!aside)
		vsoc_ctx_put(ctx);
}

static void end_job(struct vsoc_lanes *lanes, struct vsoc_lane *lane, int status)
{
	if (status)
		drain(lanes, lane);
	lanes->vsoc->ops->job_finish(lanes->vsoc, lane->job, status);
	leave(lanes, lane, false);
}

static bool begin_job(struct vsoc_lanes *lanes, struct vsoc_lane *lane)
{
	struct vsoc_ctx *ctx;

	spin_lock(lanes->lock);
	ctx = list_first_entry_or_null(&lanes->ready, struct vsoc_ctx, ready);
	if (ctx) {
		lane->job = list_first_entry(&ctx->jobs, struct vsoc_job, node);
		lane->ctx = ctx;
		list_del_init(&lane->job->node);
		/* requeued at the end of the job: the jobs of a context run in their order */
		list_del_init(&ctx->ready);
		lanes->running++;
	}
	spin_unlock(lanes->lock);
	lane->work.duration_ns = 0;
	lane->work.done_ns = 0;
	lane->work.stream_count = 0;
	return ctx;
}

static u64 backlog_ns(const struct vsoc_lanes *lanes, const struct vsoc_lane *lane)
{
	const bool all = lane->work.done_ns == lane->work.duration_ns;

	return lane->work.stream_count ?
	       lanes->vsoc->ops->backlog_ns(lanes->vsoc, lane->work.lane, all) : 0;
}

bool vsoc_lanes_next(struct vsoc_lanes *lanes)
{
	bool ended = false;

	/* what is cancelled from now on is noticed in the next slice */
	WRITE_ONCE(lanes->cancel, false);
	/* a context that arrives now is noticed in the next slice, too */
	for (u32 i = 0; vsoc_lanes_busy(lanes) && i < ARRAY_SIZE(lanes->lanes); i++) {
		struct vsoc_lane *lane = &lanes->lanes[i];
		bool cancelled, held;

		while (lane->job || begin_job(lanes, lane)) {
			spin_lock(lanes->lock);
			cancelled = lane->ctx->closed;
			held = lane->ctx->held;
			spin_unlock(lanes->lock);
			if (!cancelled && (lane->work.done_ns < lane->work.duration_ns ||
					   backlog_ns(lanes, lane)))
				break;
			if (!cancelled && !held && lane->job->next < lane->job->count) {
				const u32 next = lane->job->next++;

				vsoc_rules_command(&lane->work, &lane->job->commands[next].cmd,
						   NULL);
				continue;
			}
			if (!cancelled && lane->job->next < lane->job->count)
				leave(lanes, lane, true);
			else
				end_job(lanes, lane, cancelled ? -ECANCELED : 0);
			ended = true;
		}
	}
	return ended;
}

u64 vsoc_lanes_limit(const struct vsoc_lanes *lanes, u64 ns)
{
	for (u32 i = 0; lanes->running && i < ARRAY_SIZE(lanes->lanes); i++) {
		const struct vsoc_lane *lane = &lanes->lanes[i];

		if (lane->job)
			ns = min(ns, backlog_ns(lanes, lane) ?:
				     lane->work.duration_ns - lane->work.done_ns);
	}
	return ns;
}

void vsoc_lanes_progress(struct vsoc_lanes *lanes, u64 ns)
{
	struct vsoc_device *vsoc = lanes->vsoc;

	for (u32 i = 0; lanes->running && i < ARRAY_SIZE(lanes->lanes); i++) {
		struct vsoc_lane *lane = &lanes->lanes[i];

		if (!lane->job || backlog_ns(lanes, lane))
			continue;
		vsoc_gpu_progress(vsoc, &lane->work, ns, ns);
	}
}

void vsoc_lanes_stop(struct vsoc_lanes *lanes)
{
	for (u32 i = 0; i < ARRAY_SIZE(lanes->lanes); i++)
		if (lanes->lanes[i].job)
			end_job(lanes, &lanes->lanes[i], -ECANCELED);
}
