/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of the workload engine, for its own files.
 */
#ifndef _VSOC_ENGINE_STATE_H_
#define _VSOC_ENGINE_STATE_H_

#include "vsoc_engine.h"
#include "vsoc_lanes.h"

struct task_struct;

/* executes the jobs of one device */
struct vsoc_engine {
	struct vsoc_device *vsoc;
	struct task_struct *task;	/* the thread, which executes jobs */
	wait_queue_head_t wait;		/* the idle thread sleeps here */
	wait_queue_head_t job_end;	/* woken at the end of each job and when the thread parks */

	spinlock_t lock;	/* the queues: everything up to the next line, and the contexts' */
	struct list_head ready;	/* contexts with waiting jobs, next one first */
	struct list_head held;	/* the same, but they must wait */
	struct vsoc_ctx *running;	/* context of the job in execution */
	bool cancel;		/* the running job must end with its slice */
	bool hung;	/* the watchdog requests a GPU reset because of the running job */
	u64 last_context;	/* fence context of the last job started */
	bool stopped;		/* accepts no more jobs */
	unsigned int pauses;	/* vsoc_engine_pause() calls not yet undone */
	bool parked;		/* the thread is stopped until @pauses is zero */
	struct vsoc_lanes lanes;	/* jobs beside the GPU's */

	/* private to the thread */
	struct vsoc_work work;	/* the running command */
	u64 time_ns;		/* CLOCK_MONOTONIC_RAW up to which work was done */
	u64 job_ns;		/* device time that the running job has taken */
};

void vsoc_engine_make_ready(struct vsoc_engine *e, struct vsoc_ctx *ctx);
void vsoc_engine_cancel_jobs(struct vsoc_device *vsoc, struct vsoc_ctx *ctx,
			     struct list_head *jobs);

#endif /* _VSOC_ENGINE_STATE_H_ */
