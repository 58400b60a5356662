// SPDX-License-Identifier: GPL-2.0
/*
 * The second worker: reads perf events that are due, that a job wants, or whose CPUs have changed.
 */
#include <linux/atomic.h>
#include <linux/cpuhotplug.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "pmu.h"

/*
 * Sessions of users without CAP_PERFMON are read one at a time, in turn, while no other is due; and
 * then rest for so many times as long as that took: their events take at most 2 % of a CPU. So the
 * worker can have the highest ordinary priority for all sessions.
 */
#define USERS_REST	49

static enum cpuhp_state cpuhp_state;
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);
/* woken when the worker has finished with a session */
static DECLARE_WAIT_QUEUE_HEAD(served);

/* on the stack of the worker, and run by it or by the first one */
struct tick_request {
	struct perfctr_request base;
	ktime_t begin;
	/* sessions of holders of CAP_PERFMON are read, or else one of a user */
	bool privileged;
	bool users;
	/* the one being read, NULL: none is left; its CPUs have changed; it was unplugged */
	struct drm_perfctr_session *session;
	bool follow;
	bool dead;
};

static struct tick_request *to_tick(struct perfctr_request *base)
{
	return container_of(base, struct tick_request, base);
}

/* makes active sessions follow CPUs that changed state */
static void look_at_cpus(struct drm_perfctr *pc)
{
	int changes = atomic_read(&pc->pmu.cpu_changes);
	struct drm_perfctr_session *session;

	if (pc->pmu.cpu_changes_seen == changes)
		return;
	pc->pmu.cpu_changes_seen = changes;
	list_for_each_entry(session, &pc->workers[PERFCTR_PMU].active, node) {
		session->pmu.wanted = true;
		session->pmu.follow = true;
	}
}

/* puts a due session in the tick; following opens events: after those that are only read */
static void choose(struct drm_perfctr *pc, struct drm_perfctr_session *session)
{
	session->pending.in_tick = true;
	session->pmu.wanted = false;
	if (list_empty(&session->pmu.node))
		list_add(&session->pmu.node,
			 session->pmu.follow ? pc->pmu.todo.prev : &pc->pmu.todo);
}

static void begin_tick(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct perfctr_worker *worker = &pc->workers[PERFCTR_PMU];
	struct drm_perfctr_session *session, *user = NULL;
	struct tick_request *tick = to_tick(base);

	tick->begin = ktime_get();
	look_at_cpus(pc);
	list_for_each_entry(session, &worker->active, node) {
		session->pending.in_tick = false;
		if (ktime_before(tick->begin, drm_perfctr_sampler_due(worker, session)))
			continue;
		if (session->privileged) {
			choose(pc, session);
			tick->privileged = true;
		} else if (!user) {
			user = session;
		}
	}
	tick->users = user && !tick->privileged;
	if (tick->users) {
		choose(pc, user);
		list_move_tail(&user->node, &worker->active);
	}
}

static void take_next(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct drm_perfctr_session *session =
		list_first_entry_or_null(&pc->pmu.todo, struct drm_perfctr_session, pmu.node);
	struct tick_request *tick = to_tick(base);

	tick->session = session;
	if (!session)
		return;
	tick->follow = session->pmu.follow;
	tick->dead = session->dead;
	session->pmu.follow = false;
	list_del_init(&session->pmu.node);
	/* only its CLOSE waits for that */
	WRITE_ONCE(pc->pmu.serving, session);
}

static void hand_over(struct drm_perfctr *pc, struct perfctr_request *base)
{
	drm_perfctr_pmu_handover(to_tick(base)->session);
}

/* a command of the session has its events: it hands them over, but follows no CPUs */
static void give_back(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct drm_perfctr_session *session = to_tick(base)->session;

	session->pmu.follow |= to_tick(base)->follow;
	session->pmu.wanted |= session->pmu.follow;
}

static void run_with_lock(struct drm_perfctr *pc, struct tick_request *tick,
			  void (*run)(struct drm_perfctr *pc, struct perfctr_request *base))
{
	tick->base.run = run;
	drm_perfctr_run_urgent(pc, &tick->base);
}

/*
 * A user's command may hold its pmu.lock for as long as a scheduler stops its task: no tick waits
 * for that, but unplug does.
 */
static bool lock_events(struct drm_perfctr *pc, struct tick_request *tick)
{
	struct rt_mutex *lock = &tick->session->pmu.lock;

	if (!tick->session->privileged && !READ_ONCE(pc->ending))
		return rt_mutex_trylock(lock);
	rt_mutex_lock(lock);
	return true;
}

static void serve(struct drm_perfctr *pc, struct tick_request *tick)
{
	struct drm_perfctr_session *session = tick->session;

	if (!lock_events(pc, tick)) {
		run_with_lock(pc, tick, give_back);
	} else {
		if (tick->follow)
			drm_perfctr_pmu_follow(session);
		drm_perfctr_pmu_read(session);
		/* unplugged: no STOP will follow */
		if (tick->dead)
			drm_perfctr_pmu_stop(session);
		run_with_lock(pc, tick, hand_over);
		rt_mutex_unlock(&session->pmu.lock);
	}
	/* pairs with CLOSE's acquire: the last access to the session */
	smp_store_release(&pc->pmu.serving, NULL);
	wake_up_all(&served);
}

static void end_tick(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct perfctr_worker *worker = &pc->workers[PERFCTR_PMU];
	struct tick_request *tick = to_tick(base);

	drm_perfctr_sampler_publish(worker, tick->begin, 0);
	drm_perfctr_sampler_rest(worker, tick->begin, tick->privileged,
				 tick->users ? USERS_REST : 0);
	drm_perfctr_sampler_arm(worker);
}

/*
 * Reads without the sampler lock, however long that takes; then one collection is enough for all
 * sessions in the tick. Waiting for the sampler lock behind callers would keep CLOSE waiting.
 */
void drm_perfctr_pmu_tick(struct kthread_work *work)
{
	struct perfctr_worker *worker = container_of(work, struct perfctr_worker, tick_work);
	struct tick_request tick = { .base.later = true };
	struct drm_perfctr *pc = worker->pc;

	run_with_lock(pc, &tick, begin_tick);
	for (;;) {
		run_with_lock(pc, &tick, take_next);
		if (!tick.session)
			break;
		serve(pc, &tick);
	}
	run_with_lock(pc, &tick, end_tick);
}

void drm_perfctr_pmu_close(struct drm_perfctr_session *session)
{
	if (!session->pmu.present)
		return;
	/* pairs with the worker's release: it has finished with the session */
	wait_event(served, smp_load_acquire(&session->pc->pmu.serving) != session);
	drm_perfctr_pmu_end(session);
}

void drm_perfctr_pmu_read_all(struct drm_perfctr *pc)
{
	struct perfctr_worker *worker = &pc->workers[PERFCTR_PMU];
	struct drm_perfctr_session *session;

	rt_mutex_lock(&pc->lock);
	list_for_each_entry(session, &pc->all, all_node)
		if (session->pmu.present && list_empty(&session->pmu.node))
			list_add_tail(&session->pmu.node, &pc->pmu.todo);
	rt_mutex_unlock(&pc->lock);
	kthread_queue_work(worker->thread, &worker->tick_work);
	kthread_flush_worker(worker->thread);
}

/* --- CPU hotplug --------------------------------------------------------- */

/* opening events takes locks that the hotplug code holds: defer to the worker */
static int cpu_change(unsigned int cpu)
{
	struct drm_perfctr *pc;

	mutex_lock(&devices_lock);
	list_for_each_entry(pc, &devices, pmu.node) {
		struct perfctr_worker *worker = &pc->workers[PERFCTR_PMU];

		atomic_inc(&pc->pmu.cpu_changes);
		kthread_queue_work(worker->thread, &worker->tick_work);
	}
	mutex_unlock(&devices_lock);
	return 0;
}

void drm_perfctr_pmu_add_device(struct drm_perfctr *pc)
{
	mutex_lock(&devices_lock);
	list_add_tail(&pc->pmu.node, &devices);
	mutex_unlock(&devices_lock);
}

void drm_perfctr_pmu_remove_device(struct drm_perfctr *pc)
{
	mutex_lock(&devices_lock);
	list_del_init(&pc->pmu.node);
	mutex_unlock(&devices_lock);
}

int drm_perfctr_pmu_init(void)
{
	int ret;

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "drm/perfctr:online", cpu_change,
					cpu_change);
	if (ret < 0)
		return ret;
	cpuhp_state = ret;
	return 0;
}

void drm_perfctr_pmu_exit(void)
{
	cpuhp_remove_state_nocalls(cpuhp_state);
}
