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

#include "compat.h"
#include "perfctr_internal.h"
#include "perfctr_sink.h"

/*
 * A walk that takes longer is followed by a rest of so many times its length, or the longest rest.
 * One more walk may have been queued during it.
 */
#define LONG_WALK_NS	(200ull * NSEC_PER_USEC)
#define REST_PER_WALK	19
#define REST_MAX	(HZ / 2)

struct workqueue_struct *drm_perfctr_wake_queue;

/* one signal more to come; the sample was published before; with the sampler lock held */
void drm_perfctr_count_signal(struct perfctr_memory *memory)
{
	/* more than that many samples cannot be unread */
	if (atomic_read(&memory->unsignalled) <= (int)memory->layout.slots)
		atomic_inc(&memory->unsignalled);
}

static void rest_after(struct perfctr_memory *memory, u64 ns)
{
	if (ns > LONG_WALK_NS)
		WRITE_ONCE(memory->wake_after,
			   jiffies + min_t(u64, nsecs_to_jiffies64(REST_PER_WALK * ns) + 1,
					   REST_MAX));
}

/* the signals to come, or until they have taken long: then the work item goes on after a rest */
static void signal_counted(struct perfctr_memory *memory)
{
	u64 begin_ns = ktime_get_ns(), ns = 0;

	while (ns <= LONG_WALK_NS && atomic_dec_if_positive(&memory->unsignalled) >= 0) {
		perfctr_eventfd_signal(memory->eventfd);
		ns = ktime_get_ns() - begin_ns;
	}
	rest_after(memory, ns);
	if (atomic_read(&memory->unsignalled))
		drm_perfctr_wake(memory);
}

/* signals at once; call without locks that other sessions wait for, in process context */
void drm_perfctr_signal(struct perfctr_memory *memory)
{
	if (memory->counted)
		signal_counted(memory);
	else if (memory->eventfd)
		perfctr_eventfd_signal(memory->eventfd);
	wake_up_interruptible_poll(&memory->wait, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

static void signal_readers(struct work_struct *work)
{
	struct perfctr_memory *memory =
		container_of(to_delayed_work(work), struct perfctr_memory, wake_work);
	u64 ns = ktime_get_ns();

	drm_perfctr_signal(memory);
	rest_after(memory, ktime_get_ns() - ns);
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

/* undoes drm_perfctr_wake_init(); sends a queued signal first */
void drm_perfctr_wake_fini(struct perfctr_memory *memory)
{
	flush_delayed_work(&memory->wake_work);
	/* it may have queued itself again */
	cancel_delayed_work_sync(&memory->wake_work);
	if (memory->eventfd)
		eventfd_ctx_put(memory->eventfd);
}
