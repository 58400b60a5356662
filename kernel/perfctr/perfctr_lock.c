// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler lock, for those for which fences wait.
 */
#include <linux/completion.h>
#include <linux/kthread.h>

#include "perfctr_internal.h"

/**
 * DOC: locking
 *
 * &drm_perfctr.lock, the sampler lock, serialises collections, START, STOP, SAMPLE, suspend, reset,
 * unplug. It is held while a source waits for its hardware; every source bounds these waits.
 *
 * It is an rt_mutex, so that an ordinary task which holds it inherits the priority of a waiting
 * SCHED_FIFO worker, although the task may be niced or its cgroup have used up its time. START,
 * SAMPLE and STOP run in their caller's time, and those of users without CAP_PERFMON one at a time:
 * users_lock. Jobs, reset, power and CLOSE have their part run by the worker if others hold the
 * lock, see drm_perfctr_run_urgent(). So they wait for one access to the hardware, however many
 * tasks issue commands in a loop. The second worker does the same after it has read perf events::
 *
 *     users' commands --> users_lock ----------------+
 *     other commands --------------------------------+--> sampler lock --> locks of sources
 *     SCHED_FIFO worker (jobs, power, CLOSE, perf) ---+
 *
 * Reset and in-stream SAMPLE take the sampler lock in a driver's fence-signalling sections, or
 * where fences depend on it. Reclaim may wait for fences. Code under the sampler lock, sources
 * included, must therefore not allocate memory with GFP_KERNEL, wait for a fence, or take a lock
 * under which other code does; drmm_perfctr_create() teaches lockdep this rule. perf does all of
 * that, so it is called without the sampler lock, see "perf events and fences".
 *
 * Order: driver's locks around suspend and reset -> sampler lock -> locks of sources; a session's
 * command_lock -> users_lock -> its pmu.lock -> sampler lock; prepare_lock -> sampler lock. The
 * first worker takes no other lock before the sampler lock, because fences wait for it. A source's
 * interrupt handler never takes the sampler lock. QUERY, STATUS and fdinfo take none of these
 * locks: they read copies.
 *
 * A session's file owns it, and there is no table of sessions to look it up in: a command's file
 * keeps it, and a job takes a reference while it holds the file. The file is installed when the
 * session is complete. Sessions of PERF_CONTROL have no file: the device has a table of them, an
 * xarray, and a lookup takes a reference under its lock. They enter it when they are complete.
 */

/*
 * Runs a request with the sampler lock held, for which fences wait: at once, or in the SCHED_FIFO
 * worker if others have the lock. Its holder inherits the worker's priority, even if its cgroup has
 * used up its time, and those that wait for the lock come later.
 */
void drm_perfctr_run_urgent(struct drm_perfctr *pc, struct perfctr_request *request)
{
	unsigned long flags;

	/* for lockdep, to which an attempt is no wait */
	might_lock(&pc->lock);
	if (rt_mutex_trylock(&pc->lock)) {
		request->run(pc, request);
		rt_mutex_unlock(&pc->lock);
		return;
	}
	init_completion(&request->done);
	raw_spin_lock_irqsave(&pc->requests.lock, flags);
	list_add_tail(&request->node, &pc->requests.lists[request->later]);
	raw_spin_unlock_irqrestore(&pc->requests.lock, flags);
	kthread_queue_work(pc->workers[PERFCTR_HARDWARE].thread, &pc->requests.work);
	wait_for_completion(&request->done);
}

static struct perfctr_request *take_request(struct drm_perfctr *pc)
{
	struct perfctr_request *request;
	unsigned long flags;

	/* one that is just being added has the worker come again */
	if (list_empty(&pc->requests.lists[false]) && list_empty(&pc->requests.lists[true]))
		return NULL;
	raw_spin_lock_irqsave(&pc->requests.lock, flags);
	request = list_first_entry_or_null(&pc->requests.lists[false], struct perfctr_request,
					   node) ?:
		  list_first_entry_or_null(&pc->requests.lists[true], struct perfctr_request,
					   node);
	if (request)
		list_del(&request->node);
	raw_spin_unlock_irqrestore(&pc->requests.lock, flags);
	return request;
}

/* takes the sampler lock in the SCHED_FIFO worker: requests come before its other work */
void drm_perfctr_lock_worker(struct drm_perfctr *pc)
{
	struct perfctr_request *request;

	rt_mutex_lock(&pc->lock);
	while ((request = take_request(pc))) {
		request->run(pc, request);
		complete(&request->done);
	}
}
