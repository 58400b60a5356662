// SPDX-License-Identifier: GPL-2.0
/*
 * Wake-ups: signals to readers, by the eventfd of OPEN and by poll(), that there are samples.
 *
 * Both walk every waiter with interrupts off, and userspace controls how many there are. They are
 * therefore never called under the sampler lock or at the sampler's priority: the caller of SAMPLE
 * signals when it holds no lock but its session's, for all other samples publishing queues the
 * ring's work item. Several samples may share one signal. The queue has WQ_MEM_RECLAIM, because a
 * job scheduler waits for it when a job drops the last reference to a session.
 *
 * 20,000 waiters take milliseconds, with interrupts off each time. So after a long walk the work
 * item rests, and the walks of a ring take at most a tenth of a CPU.
 *
 * The eventfd of PERF_CONTROL counts: one signal for each sample, and one for the end of a session,
 * as its client waits without a time-out. There are at most as many to come as slots, and one.
 */
#include <linux/eventfd.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "compat.h"
#include "perfctr_internal.h"
#include "perfctr_sink.h"

/*
 * Two walks in a row that take longer are followed by a rest of so many times the shorter one, or
 * the longest rest: one alone may have been interrupted by something else. One more walk may have
 * been queued during it.
 */
#define LONG_WALK_NS	(200ull * NSEC_PER_USEC)
#define REST_PER_WALK	19
#define REST_MAX	(HZ / 2)
#define END_MAX_NS	NSEC_PER_SEC

struct workqueue_struct *drm_perfctr_wake_queue;

/* one signal more to come; the sample was published before; with the sampler lock held */
void drm_perfctr_count_signal(struct perfctr_memory *memory)
{
	/* more than that many samples cannot be unread */
	if (atomic_read(&memory->unsignalled) <= (int)memory->layout.slots)
		atomic_inc(&memory->unsignalled);
}

static bool take_counted(struct perfctr_memory *memory)
{
	return atomic_dec_if_positive(&memory->unsignalled) >= 0;
}

static void rest_after(struct perfctr_memory *memory, u64 ns)
{
	u64 shorter_ns = min(ns, READ_ONCE(memory->walk_ns));

	WRITE_ONCE(memory->walk_ns, ns);
	if (shorter_ns > LONG_WALK_NS)
		WRITE_ONCE(memory->wake_after,
			   jiffies + min_t(u64,
					   nsecs_to_jiffies64(REST_PER_WALK * shorter_ns) + 1,
					   REST_MAX));
}

/* signals at once; call without locks that other sessions wait for, in process context */
void drm_perfctr_signal(struct perfctr_memory *memory)
{
	u64 begin_ns = ktime_get_ns();

	/* what is still to come when they have taken long comes after a rest */
	if (memory->counted)
		while (ktime_get_ns() - begin_ns <= LONG_WALK_NS && take_counted(memory))
			perfctr_eventfd_signal(memory->eventfd);
	else if (memory->eventfd)
		perfctr_eventfd_signal(memory->eventfd);
	wake_up_interruptible_poll(&memory->wait, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
	rest_after(memory, ktime_get_ns() - begin_ns);
	if (memory->counted && atomic_read(&memory->unsignalled))
		drm_perfctr_wake(memory);
}

static void signal_readers(struct work_struct *work)
{
	drm_perfctr_signal(container_of(to_delayed_work(work), struct perfctr_memory, wake_work));
}

void drm_perfctr_wake_init(struct perfctr_memory *memory)
{
	init_waitqueue_head(&memory->wait);
	INIT_DELAYED_WORK(&memory->wake_work, signal_readers);
	memory->wake_after = jiffies;
}

/* sets the eventfd, -1: none; returns 0 or the errno of OPEN */
int drm_perfctr_set_eventfd(struct drm_perfctr_session *session, int fd)
{
	struct eventfd_ctx *eventfd;

	if (fd < 0)
		return 0;
	eventfd = eventfd_ctx_fdget(fd);
	if (IS_ERR(eventfd))
		return perfctr_reject(session->pc, -PTR_ERR(eventfd), "eventfd: %d is none", fd);
	session->memory->eventfd = eventfd;
	return 0;
}

/* queues a signal; whatever is to be read must have been written before; any context */
void drm_perfctr_wake(struct perfctr_memory *memory)
{
	unsigned long after = READ_ONCE(memory->wake_after), now = jiffies;
	/* jiffies may have wrapped since a walk of long ago */
	unsigned long rest = time_in_range(after, now, now + REST_MAX) ? after - now : 0;

	if (memory->eventfd || wq_has_sleeper(&memory->wait))
		queue_delayed_work(drm_perfctr_wake_queue, &memory->wake_work, rest);
}

/*
 * Undoes drm_perfctr_wake_init(). All signals to come are sent first, for at most END_MAX_NS: only
 * one with so many waiters that this is too short can lose any. No reader waits by poll().
 */
void drm_perfctr_wake_fini(struct perfctr_memory *memory)
{
	bool queued = cancel_delayed_work_sync(&memory->wake_work);
	u64 end_ns = ktime_get_ns() + END_MAX_NS;

	if (!memory->eventfd)
		return;
	if (!memory->counted && queued)
		perfctr_eventfd_signal(memory->eventfd);
	while (memory->counted && ktime_get_ns() < end_ns && take_counted(memory)) {
		perfctr_eventfd_signal(memory->eventfd);
		cond_resched();
	}
	eventfd_ctx_put(memory->eventfd);
}
