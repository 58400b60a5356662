// SPDX-License-Identifier: GPL-2.0
/*
 * Wake-ups: a session's eventfd is signalled when there is something to read.
 *
 * eventfd_signal() walks every waiter with interrupts off, and user space controls
 * how many there are. Under the sampler lock and at the sampler's priority it is
 * therefore called only while there are none; else publishing queues the session's
 * work item. Several samples may share one signal.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "perfctr_internal.h"

static void signal_eventfd(struct work_struct *work)
{
	struct drm_perfctr_session *session =
		container_of(work, struct drm_perfctr_session, wake_work);

	perfctr_eventfd_signal(session->eventfd);
}

struct eventfd_table {
	poll_table table;
	wait_queue_head_t *waiters;
};

static void find_waiters(struct file *file, wait_queue_head_t *waiters, poll_table *table)
{
	container_of(table, struct eventfd_table, table)->waiters = waiters;
}

/* a session gets its eventfd, -1: none; 0 or the errno of SETUP */
int drm_perfctr_wake_init(struct drm_perfctr_session *session, int fd)
{
	struct eventfd_table table = {};
	struct file *file;

	if (fd < 0)
		return 0;
	file = eventfd_fget(fd);
	if (IS_ERR(file))
		return perfctr_reject(session->pc, -PTR_ERR(file), "eventfd: %d is none", fd);
	init_poll_funcptr(&table.table, find_waiters);
	vfs_poll(file, &table.table);
	/* part of the eventfd, on which a reference is taken */
	session->waiters = table.waiters;
	session->eventfd = eventfd_ctx_fileget(file);
	INIT_WORK(&session->wake_work, signal_eventfd);
	fput(file);
	return 0;
}

/* the ring has something to read, which was written before; any context */
void drm_perfctr_wake(struct drm_perfctr_session *session)
{
	if (!session->eventfd)
		return;
	if (waitqueue_active(session->waiters))
		queue_work(perfctr_unbound_wq, &session->wake_work);
	else
		perfctr_eventfd_signal(session->eventfd);
}

/* undo drm_perfctr_wake_init(); a signal that is queued is sent first */
void drm_perfctr_wake_fini(struct drm_perfctr_session *session)
{
	if (!session->eventfd)
		return;
	flush_work(&session->wake_work);
	eventfd_ctx_put(session->eventfd);
}
