/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs beside the GPU's: those of contexts with DRM_VSOC_CTX_CONCURRENT, each on a lane of its own.
 */
#ifndef _VSOC_LANES_H_
#define _VSOC_LANES_H_

#include <linux/list.h>
#include <linux/spinlock.h>
#include "vsoc.h"
#include "vsoc_engine.h"

struct vsoc_lane {
	struct vsoc_ctx *ctx;	/* of the running job, or NULL; changes under the engine's lock */
	struct vsoc_job *job;
	struct vsoc_work work;	/* the running command */
};

struct vsoc_lanes {
	struct vsoc_engine *engine;
	struct vsoc_device *vsoc;
	spinlock_t *lock;		/* the engine's */
	struct list_head ready;		/* contexts with waiting jobs; under the lock */
	struct vsoc_lane lanes[VSOC_LANES - 1];	/* numbers 1.. */
	u32 running;			/* lanes with a job */
	bool cancel;			/* a lane's context was closed; under the lock */
};

void vsoc_lanes_init(struct vsoc_lanes *lanes, struct vsoc_engine *engine);

/* The rest is for the engine's thread. */
/*
 * ends finished commands and jobs, sets aside jobs of held contexts, and starts the next ones;
 * returns whether a lane became free
 */
bool vsoc_lanes_next(struct vsoc_lanes *lanes);
/* @ns, or less if a command may end before */
u64 vsoc_lanes_limit(const struct vsoc_lanes *lanes, u64 ns);
/* all lanes work for @ns; hw_lock held */
void vsoc_lanes_progress(struct vsoc_lanes *lanes, u64 ns);
/* ends all running jobs */
void vsoc_lanes_stop(struct vsoc_lanes *lanes);

/* a job runs or waits; needs no lock in the engine's thread */
static inline bool vsoc_lanes_busy(const struct vsoc_lanes *lanes)
{
	return lanes->running || !list_empty(&lanes->ready);
}

/* a lane runs a job of @ctx; with the lock held */
static inline bool vsoc_lanes_run(const struct vsoc_lanes *lanes, const struct vsoc_ctx *ctx)
{
	for (u32 i = 0; i < ARRAY_SIZE(lanes->lanes); i++)
		if (lanes->lanes[i].ctx == ctx)
			return true;
	return false;
}

#endif /* _VSOC_LANES_H_ */
