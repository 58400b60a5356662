// SPDX-License-Identifier: GPL-2.0
/*
 * The perf events of a session: created by OPEN, read without the sampler lock, handed over with
 * it.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/slab.h>

#include "pmu.h"
#include "pmu_events.h"

/**
 * DOC: perf events and fences
 *
 * Every perf operation on an event holds the mutex of the event's CPU, and perf_event_open()
 * allocates memory under it. Reclaim can wait for a fence of the GPU. Therefore neither GPU reset
 * nor a job may wait for perf, or for a lock that is held during a perf call:
 *
 * - &drm_perfctr_session.pmu.lock is held during all perf calls, and never taken by reset, suspend,
 *   resume or a job;
 * - values read are handed over with &drm_perfctr.lock held as well, so that publishing a sample
 *   needs only that lock::
 *
 *     START, STOP, SAMPLE        second worker (period, event, CPU hotplug)
 *       pmu.lock                   pmu.lock
 *         perf: read                 perf: open, read
 *         sampler lock               sampler lock, hand over
 *           hand over              unlock pmu.lock
 *           collect sources        collect sources, publish
 *           publish
 *
 *     reset, SAMPLE in a job
 *       sampler lock
 *         collect sources, publish: perf events as they were handed over last
 *
 * START enables the events first and reads them once more after its collection: that is their base,
 * so that no block has counts from before the span, and time_enabled begins with them.
 *
 * The worker holds no reference to the session that it serves: CLOSE removes the session from
 * the worker's list, or waits until the worker has finished with it. It does not wait for the
 * pmu.lock of users, whose commands a scheduler may stop.
 */

static struct perfctr_pmu_block *next_pmu(const struct drm_perfctr_session *session,
					  unsigned int *i)
{
	for (; *i < session->view_count; (*i)++)
		if (session->views[*i].pmu)
			return session->views[*i].pmu;
	return NULL;
}

#define for_each_pmu(session, i, pmu_) \
	for ((i) = 0; ((pmu_) = next_pmu(session, &(i))); (i)++)

/* --- OPEN ---------------------------------------------------------------- */

int drm_perfctr_pmu_check(struct drm_perfctr *pc, const struct drm_perfctr_block_request *r,
			  unsigned int i)
{
	if (r->section)
		return perfctr_reject(pc, ENXIO, "requests[%u].section: %u", i, r->section);
	if (r->set)
		return perfctr_reject(pc, EINVAL, "requests[%u].set: %u", i, r->set);
	if (r->index == DRM_PERFCTR_INDEX_ALL)
		return perfctr_reject(pc, EINVAL, "requests[%u].index: all is not for PMUs", i);
	if (r->flags & DRM_PERFCTR_REQUEST_AVAILABLE)
		return perfctr_reject(pc, EINVAL, "requests[%u].flags: AVAILABLE is not for PMUs",
				      i);
	if (r->cpu < DRM_PERFCTR_CPU_ANY ||
	    (r->cpu != DRM_PERFCTR_CPU_ANY && (r->cpu >= nr_cpu_ids || !cpu_online(r->cpu))))
		return perfctr_reject(pc, EINVAL, "requests[%u].cpu: %d is not online", i, r->cpu);
	return 0;
}

/* checks that only bits which a kind's catalogue and filters permit are set */
static int check_kind(struct drm_perfctr *pc, const struct drm_perfctr_pmu_kind *kind,
		      const struct drm_perfctr_block_request *r)
{
	const u64 configs[] = { r->config, r->config1, r->config2 };
	unsigned int events = kind ? kind->event_count : 1;
	unsigned int i;

	if (r->mask & ~GENMASK_ULL(events - 1, 0))
		return perfctr_reject(pc, EINVAL, "block %u:%u: mask 0x%llx: type has %u events",
				      r->type, r->index, r->mask, events);
	if (kind && r->config & kind->config_mask)
		return perfctr_reject(pc, EINVAL, "block %u:%u: config 0x%llx: events are in mask",
				      r->type, r->index, r->config);
	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		u64 refused = drm_perfctr_pmu_kind_invalid_bits(kind, i, configs[0], configs[i]);

		if (refused)
			return perfctr_reject(pc, EINVAL,
					      "block %u:%u: config%u: 0x%llx is no filter",
					      r->type, r->index, i, refused);
	}
	/* do not relax perf's policy, kernel.perf_event_paranoid */
	if (!kind && !perfmon_capable())
		return perfctr_reject(pc, EACCES, "block %u:%u: any PMU needs CAP_PERFMON",
				      r->type, r->index);
	return 0;
}

/* a block of a kind is identified by index and filters, a block of any PMU by index only */
static bool is_same(const struct perfctr_pmu_block *pmu,
		    const struct drm_perfctr_block_request *request)
{
	if (!pmu || pmu->type != request->type || pmu->index != request->index)
		return false;
	return !pmu->kind || (pmu->identity.config == request->config &&
			      pmu->identity.config1 == request->config1 &&
			      pmu->identity.config2 == request->config2);
}

static struct perfctr_pmu_block *create_block(const struct drm_perfctr_block_request *request,
					      const struct drm_perfctr_pmu_kind *kind,
					      struct module *owner)
{
	struct perfctr_pmu_block *pmu = kzalloc(sizeof(*pmu), PERFCTR_GFP_USER);

	if (!pmu)
		return NULL;
	pmu->type = request->type;
	pmu->index = request->index;
	pmu->identity.config = request->config;
	pmu->identity.config1 = request->config1;
	pmu->identity.config2 = request->config2;
	pmu->identity.pmu_type = request->pmu_type;
	pmu->identity.cpu = request->cpu;
	pmu->kind = kind;
	pmu->owner = owner;
	pmu->count = hweight64(request->mask);
	pmu->cred = get_current_cred();
	return pmu;
}

int drm_perfctr_pmu_view(struct drm_perfctr_session *session,
			 const struct drm_perfctr_block_request *request)
{
	struct perfctr_view *view = &session->views[session->view_count];
	const struct drm_perfctr_pmu_kind *kind;
	struct drm_perfctr *pc = session->pc;
	struct perfctr_pmu_block *pmu;
	struct module *owner;
	unsigned int i;
	int ret;

	for (i = 0; i < session->view_count; i++)
		if (is_same(session->views[i].pmu, request))
			return perfctr_reject(pc, EEXIST, "block %u:%u requested twice",
					      request->type, request->index);
	ret = drm_perfctr_pmu_kind_get(request->type, &kind, &owner);
	if (ret)
		return perfctr_reject(pc, -ret, "block %u:%u: no catalogue for that type",
				      request->type, request->index);
	ret = check_kind(pc, kind, request);
	pmu = ret ? NULL : create_block(request, kind, owner);
	if (!pmu) {
		module_put(owner);
		return ret ?: -ENOMEM;
	}
	ret = drm_perfctr_pmu_open(pc, pmu, request);
	if (ret) {
		drm_perfctr_pmu_free(pmu);
		return ret;
	}
	view->pmu = pmu;
	view->header = (struct drm_perfctr_block_header) {
		.type = pmu->type,
		.index = pmu->index,
		.product = kind ? kind->product : DRM_PERFCTR_PRODUCT_PERF_PMU,
		.format = PERFCTR_PMU_FORMAT,
		.clock = DRM_PERFCTR_CLOCK_NONE,
		.enable_mask = request->mask,
	};
	view->totals = pmu->totals;
	session->pmu.present = true;
	session->view_count++;
	return 0;
}

void drm_perfctr_pmu_destroy(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;

	for_each_pmu(session, i, pmu)
		drm_perfctr_pmu_free(pmu);
}

/* --- commands ------------------------------------------------------------ */

void drm_perfctr_pmu_read(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;

	lockdep_assert_held(&session->pmu.lock);
	lockdep_assert_not_held(&session->pc->lock);
	for_each_pmu(session, i, pmu)
		drm_perfctr_pmu_block_read(session->pc, pmu);
}

void drm_perfctr_pmu_stop(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;

	lockdep_assert_held(&session->pmu.lock);
	lockdep_assert_not_held(&session->pc->lock);
	for_each_pmu(session, i, pmu)
		drm_perfctr_pmu_block_disable(pmu);
}

void drm_perfctr_pmu_disable(struct drm_perfctr_session *session)
{
	rt_mutex_lock(&session->pmu.lock);
	drm_perfctr_pmu_stop(session);
	rt_mutex_unlock(&session->pmu.lock);
}

/* starts the events; returns 0, or an error with all of them stopped */
int drm_perfctr_pmu_enable(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;
	int ret;

	ret = rt_mutex_lock_interruptible(&session->pmu.lock);
	if (ret)
		return ret;
	/* before opening: hotplug of later CPUs may find the session not active yet */
	session->pmu.cpu_changes = atomic_read(&session->pc->pmu.cpu_changes);
	for_each_pmu(session, i, pmu) {
		/* CLOSE, which closes the events, sets it before it waits for the lock */
		ret = READ_ONCE(session->dead) ? -ENODEV :
		      drm_perfctr_pmu_block_enable(session->pc, pmu);
		if (ret)
			break;
	}
	if (ret)
		drm_perfctr_pmu_stop(session);
	rt_mutex_unlock(&session->pmu.lock);
	return ret;
}

void drm_perfctr_pmu_handover(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;

	/* pmu.lock is the caller's, for which the first worker may do it */
	lockdep_assert_held(&session->pc->lock);
	for_each_pmu(session, i, pmu)
		drm_perfctr_pmu_block_handover(pmu);
}

void drm_perfctr_pmu_want(struct drm_perfctr_session *session, bool follow)
{
	struct perfctr_worker *worker = &session->pc->workers[PERFCTR_PMU];

	lockdep_assert_held(&session->pc->lock);
	if (!session->pmu.present)
		return;
	session->pmu.wanted = true;
	session->pmu.follow |= follow;
	kthread_queue_work(worker->thread, &worker->tick_work);
}

void drm_perfctr_pmu_begin(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i;

	/* a CPU changed state after START opened the events */
	if (session->pmu.present && session->pmu.cpu_changes != atomic_read(&pc->pmu.cpu_changes))
		drm_perfctr_pmu_want(session, true);
	/* without sources the span began with the last read, else with their collection */
	if (!session->pmu.present || !session->source_count)
		return;
	rt_mutex_unlock(&pc->lock);
	drm_perfctr_pmu_read(session);
	rt_mutex_lock(&pc->lock);
	drm_perfctr_pmu_handover(session);
	for (i = 0; i < session->view_count; i++)
		if (session->views[i].pmu)
			drm_perfctr_pmu_baseline(&session->views[i]);
}

void drm_perfctr_pmu_follow(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;

	lockdep_assert_held(&session->pmu.lock);
	for_each_pmu(session, i, pmu)
		drm_perfctr_pmu_block_follow(session->pc, pmu);
}

void drm_perfctr_pmu_end(struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	unsigned int i;

	rt_mutex_lock(&session->pmu.lock);
	for_each_pmu(session, i, pmu)
		drm_perfctr_pmu_block_close(pmu);
	rt_mutex_unlock(&session->pmu.lock);
}

u64 drm_perfctr_pmu_time(const struct drm_perfctr_session *session)
{
	struct perfctr_pmu_block *pmu;
	u64 time_ns = 0;
	unsigned int i;

	if (!session->pmu.present)
		return 0;
	for_each_pmu(session, i, pmu)
		time_ns = max(time_ns, pmu->time_ns);
	return time_ns;
}
