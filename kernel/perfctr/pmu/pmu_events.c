// SPDX-License-Identifier: GPL-2.0
/*
 * The perf events of a block: opened, read, moved to other CPUs, released.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "../perfctr_internal.h"
#include "pmu_block.h"

/**
 * DOC: events and CPUs
 *
 * A counter of a SoC block is one perf event, or one for each CPU that the PMU
 * counts on. Which CPUs these are is found out by opening the event:
 *
 * - An uncore PMU accepts any CPU of its die or socket and moves the event to
 *   the one CPU that it has chosen. Opening it on every CPU and keeping one
 *   event for each CPU where it ended up gives one event for each die.
 * - A software, tracepoint or core PMU leaves the event where it was put: one
 *   event for each CPU that the PMU counts on. Each type of core of a
 *   heterogeneous machine has a PMU of its own, which refuses the others' CPUs.
 *
 * A PMU that does not count on a CPU says -ENOENT or -EINVAL, and one that is
 * going -ENODEV. Every other refusal means that a CPU would be missing from the
 * sum: SETUP and START fail then. Later, when no call can fail, the
 * counter is not valid and the block has DRM_PERFCTR_STATE_ERROR.
 *
 * Events are opened with the credentials of the task that did SETUP, by any task:
 * the right to count was checked there and is part of the session, as the right
 * to write is part of an open file.
 *
 * When a CPU goes offline an uncore driver moves its events itself. Other events
 * die there: perf detaches them and keeps their count, which the next read takes
 * over. When a CPU comes online, events that want every CPU are opened on it too.
 *
 * The sum over all events that ever counted only grows, whatever happens to CPUs.
 */

/* one counter of a SoC block */
struct perfctr_pmu_event {
	struct perfctr_pmu_block *pmu;
	struct perf_event_attr attr;
	/* events that count, at most one for each possible CPU */
	struct perf_event **open;
	unsigned int open_count;
	/* the CPU requested, or DRM_PERFCTR_CPU_ANY */
	int wanted_cpu;
	/* the first CPU that the PMU accepts is enough */
	bool single;
	/* between enable and disable */
	bool counting;
	/* a CPU that is wanted could not be opened */
	bool missing;
	/* of events that are gone */
	u64 gone_count;
	u64 gone_enabled;
	u64 gone_running;
	/* of all events as of the last read; times in ns */
	u64 count;
	u64 enabled;
	u64 running;
	/* ns that perf calls running while the hardware was gone */
	u64 halted_running;
};

static bool is_open_on(const struct perfctr_pmu_event *event, int cpu)
{
	unsigned int i;

	for (i = 0; i < event->open_count; i++)
		if (READ_ONCE(event->open[i]->cpu) == cpu)
			return true;
	return false;
}

/*
 * PMUs that do more than counting when an event is opened: they read memory at an address of
 * the user, or put a probe there, and a worker that opens the event again has other memory.
 */
static bool is_refused(const char *name)
{
	return !strcmp(name, "breakpoint") || !strcmp(name, "kprobe") || !strcmp(name, "uprobe");
}

static struct perf_event *create_on(struct perfctr_pmu_event *event, int cpu)
{
	const struct cred *caller = override_creds(event->pmu->cred);
	struct perf_event *perf;

	perf = perf_event_create_kernel_counter(&event->attr, cpu, NULL, NULL, NULL);
	revert_creds(caller);
	return perf;
}

/* -EOPNOTSUPP, or -ENOENT for a PMU that is not what the request calls it */
static int check_name(struct drm_perfctr *pc, const struct perfctr_pmu_event *event,
		      const char *name)
{
	const struct perfctr_pmu_block *pmu = event->pmu;

	if (is_refused(name))
		return perfctr_reject(pc, EOPNOTSUPP, "pmu_type: %s does not count", name);
	if (!drm_perfctr_pmu_kind_matches(pmu->kind, name, pmu->index))
		return perfctr_reject(pc, ENOENT, "pmu_type: %s is not block %u:%u", name,
				      pmu->type, pmu->index);
	return 0;
}

static int open_on(struct drm_perfctr *pc, struct perfctr_pmu_event *event, int cpu)
{
	struct perf_event *perf;
	int ret;

	perf = create_on(event, cpu);
	if (IS_ERR(perf))
		return PTR_ERR(perf);
	ret = check_name(pc, event, perf->pmu->name ?: "");
	if (ret) {
		perf_event_release_kernel(perf);
		return ret;
	}
	/* the PMU moved it to where we already count */
	if (is_open_on(event, perf->cpu)) {
		perf_event_release_kernel(perf);
		return 0;
	}

	event->open[event->open_count++] = perf;
	if (event->counting)
		perf_event_enable(perf);
	return 0;
}

/* the PMU does not count on that CPU, or it or the CPU is going */
static bool is_elsewhere(int error)
{
	return error == -ENODEV || error == -ENOENT || error == -EINVAL;
}

/*
 * If no CPU takes the event, the error that explains most: where one says that the
 * PMU has no such event and another that it is not associated, the former.
 */
static int better_error(int error, int other)
{
	if (error == -ENOENT || other == -ENOENT)
		return -ENOENT;
	return error == -ENODEV ? other : error;
}

static int open_on_any(struct drm_perfctr *pc, struct perfctr_pmu_event *event)
{
	int cpu, error = -ENODEV;

	/* a CPU that comes or goes meanwhile is the hotplug work's business */
	for_each_online_cpu(cpu) {
		int ret;

		if (event->single && event->open_count)
			break;
		if (is_open_on(event, cpu) || event->open_count >= nr_cpu_ids)
			continue;
		ret = open_on(pc, event, cpu);
		if (!ret)
			continue;
		drm_dbg(pc->drm, "perfctr: PMU %u refuses CPU %d: %d\n", event->attr.type, cpu,
			ret);
		if (!is_elsewhere(ret))
			return ret;
		error = better_error(error, ret);
		/* an uncore PMU means the event, not the CPU */
		if (event->single && ret == -ENOENT)
			break;
	}
	return event->open_count ? 0 : error;
}

/*
 * Returns: 0 if every CPU that the PMU counts on is open; an error that is
 * is_elsewhere() if none of them is there.
 */
static int open_where_wanted(struct drm_perfctr *pc, struct perfctr_pmu_event *event)
{
	int ret = 0;

	if (event->wanted_cpu == DRM_PERFCTR_CPU_ANY)
		ret = open_on_any(pc, event);
	else if (!event->open_count)
		ret = open_on(pc, event, event->wanted_cpu);
	event->missing = ret && !is_elsewhere(ret);
	return ret;
}

static void add_reading(struct perf_event *perf, u64 *count, u64 *enabled, u64 *running)
{
	u64 e, r;

	*count += perf_event_read_value(perf, &e, &r);
	*enabled += e;
	*running += r;
}

/*
 * A PMU whose hardware disappears stops its events, but perf goes on to call them
 * active: without this, what nobody counted would be a measured zero. Seen before
 * and after a reading, so that an event on its way out is not taken for one.
 */
static bool is_halted(const struct perf_event *perf)
{
	return READ_ONCE(perf->state) == PERF_EVENT_STATE_ACTIVE &&
	       READ_ONCE(perf->hw.state) & PERF_HES_STOPPED;
}

static bool is_detached(const struct perf_event *perf)
{
	return !(READ_ONCE(perf->attach_state) & PERF_ATTACH_CONTEXT);
}

/*
 * perf detaches the events of a CPU that went offline, for good and whether they
 * count or not. A PMU driver that moves its events to another CPU detaches them
 * too, but under locks that a reading waits for.
 */
static bool has_exited(struct perf_event *perf)
{
	u64 enabled, running;

	if (!is_detached(perf))
		return false;
	perf_event_read_value(perf, &enabled, &running);
	return is_detached(perf);
}

/* release exited events and keep what they counted; true if there were any */
static bool drop_exited(struct perfctr_pmu_event *event)
{
	unsigned int i = 0;
	bool any = false;

	while (i < event->open_count) {
		struct perf_event *perf = event->open[i];

		if (!has_exited(perf)) {
			i++;
			continue;
		}
		add_reading(perf, &event->gone_count, &event->gone_enabled, &event->gone_running);
		perf_event_release_kernel(perf);
		event->open[i] = event->open[--event->open_count];
		any = true;
	}
	return any;
}

/*
 * CPUs came or went: count where it is wanted. 0, or the first error that keeps an event from
 * a CPU that it should count on; the others were opened all the same.
 */
int drm_perfctr_pmu_block_follow(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];
		unsigned int before;
		int ret;

		if (drop_exited(event))
			pmu->fresh.states |= DRM_PERFCTR_STATE_MIGRATED;
		before = event->open_count;
		ret = open_where_wanted(pc, event);
		if (event->missing && !error)
			error = ret;
		if (event->open_count != before)
			pmu->fresh.states |= DRM_PERFCTR_STATE_MIGRATED;
	}
	return error;
}

/* without the sampler lock, as everything that calls perf */
void drm_perfctr_pmu_block_read(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;

	for (i = 0; i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];
		u64 count, enabled, running;
		bool halted = false;

		if (drop_exited(event)) {
			pmu->fresh.states |= DRM_PERFCTR_STATE_MIGRATED;
			open_where_wanted(pc, event);
		}
		count = event->gone_count;
		enabled = event->gone_enabled;
		running = event->gone_running;
		for (e = 0; e < event->open_count; e++) {
			bool before = is_halted(event->open[e]);

			add_reading(event->open[e], &count, &enabled, &running);
			halted |= before && is_halted(event->open[e]);
		}
		if (halted) {
			event->halted_running = running - event->running;
			pmu->fresh.states |= DRM_PERFCTR_STATE_ERROR;
		}

		if (event->missing) {
			pmu->fresh.incomplete |= BIT_ULL(i);
			pmu->fresh.states |= DRM_PERFCTR_STATE_ERROR;
		}

		event->count = count;
		event->enabled = enabled;
		event->running = running - event->halted_running;
		if (!event->open_count)
			pmu->fresh.states |= DRM_PERFCTR_STATE_OFF;
		else
			pmu->fresh.states |= DRM_PERFCTR_STATE_ON;
	}
	pmu->fresh.cpu = pmu->events[0].open_count == 1 ?
			 READ_ONCE(pmu->events[0].open[0]->cpu) : DRM_PERFCTR_CPU_ANY;
	pmu->fresh.time_ns = ktime_get_raw_ns();
}

/* let samples have what was read; with the sampler lock */
void drm_perfctr_pmu_block_handover(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	for (i = 0; i < pmu->count; i++) {
		pmu->totals[i] = pmu->events[i].count;
		pmu->enabled[i] = pmu->events[i].enabled;
		pmu->running[i] = pmu->events[i].running;
	}
	pmu->states |= pmu->fresh.states;
	pmu->incomplete |= pmu->fresh.incomplete;
	pmu->identity.cpu = pmu->fresh.cpu;
	pmu->time_ns = pmu->fresh.time_ns;
	pmu->fresh.states = 0;
	pmu->fresh.incomplete = 0;
}

void drm_perfctr_pmu_block_disable(struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;

	for (i = 0; i < pmu->count; i++) {
		pmu->events[i].counting = false;
		for (e = 0; e < pmu->events[i].open_count; e++)
			perf_event_disable(pmu->events[i].open[e]);
	}
}

/* 0, or why the PMU does not count on a CPU on which it should; nothing counts then */
int drm_perfctr_pmu_block_enable(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;
	int ret;

	/* CPUs may have come and gone while the session was stopped */
	ret = drm_perfctr_pmu_block_follow(pc, pmu);
	if (ret)
		return perfctr_reject(pc, -ret, "START: block %u:%u: PMU %u refuses a CPU",
				      pmu->type, pmu->index, pmu->identity.pmu_type);
	for (i = 0; i < pmu->count; i++) {
		/* each one takes longer than the one before: perf schedules them all anew */
		if (fatal_signal_pending(current)) {
			drm_perfctr_pmu_block_disable(pmu);
			return -EINTR;
		}
		cond_resched();
		pmu->events[i].counting = true;
		for (e = 0; e < pmu->events[i].open_count; e++)
			perf_event_enable(pmu->events[i].open[e]);
	}
	return 0;
}

/* release the events of a block that counts no more */
void drm_perfctr_pmu_block_close(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	for (i = 0; pmu->events && i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];

		while (event->open_count)
			perf_event_release_kernel(event->open[--event->open_count]);
	}
}

/* release a block and its events */
void drm_perfctr_pmu_free(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	drm_perfctr_pmu_block_close(pmu);
	for (i = 0; pmu->events && i < pmu->count; i++)
		kfree(pmu->events[i].open);
	kfree(pmu->events);
	kfree(pmu->totals);
	put_cred(pmu->cred);
	module_put(pmu->owner);
	kfree(pmu);
}

static int alloc_arrays(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	pmu->totals = kcalloc(pmu->count, 5 * sizeof(u64), PERFCTR_GFP_USER);
	pmu->events = kcalloc(pmu->count, sizeof(*pmu->events), PERFCTR_GFP_USER);
	if (!pmu->totals || !pmu->events)
		return -ENOMEM;
	pmu->enabled = pmu->totals + pmu->count;
	pmu->running = pmu->enabled + pmu->count;
	pmu->base_enabled = pmu->running + pmu->count;
	pmu->base_running = pmu->base_enabled + pmu->count;

	for (i = 0; i < pmu->count; i++) {
		pmu->events[i].open = kcalloc(nr_cpu_ids, sizeof(*pmu->events[i].open),
					      PERFCTR_GFP_USER);
		if (!pmu->events[i].open)
			return -ENOMEM;
	}
	return 0;
}

static int open_events(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu,
		       const struct drm_perfctr_block_request *request)
{
	u64 mask = request->mask;
	unsigned int i;
	int ret;

	for (i = 0; i < pmu->count; i++, mask &= mask - 1) {
		struct perfctr_pmu_event *event = &pmu->events[i];
		u64 config = request->config;

		if (pmu->kind)
			config |= pmu->kind->events[__ffs64(mask)];
		event->attr = (struct perf_event_attr) {
			.type = request->pmu_type,
			.size = sizeof(event->attr),
			.config = config,
			.config1 = request->config1,
			.config2 = request->config2,
			.disabled = 1,
		};
		event->pmu = pmu;
		event->wanted_cpu = request->cpu;
		event->single = pmu->kind;
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = open_where_wanted(pc, event);
		if (ret == -EACCES || ret == -EPERM)
			return perfctr_reject(pc, -ret,
					      "block %u:%u: perf wants CAP_PERFMON or sysctl %s",
					      request->type, request->index,
					      "kernel.perf_event_paranoid=0");
		if (ret)
			return perfctr_reject(pc, -ret, "block %u:%u: PMU %u refuses config 0x%llx",
					      request->type, request->index, request->pmu_type,
					      config);
	}
	return 0;
}

/**
 * drm_perfctr_pmu_open() - open the events of a new block
 * @pc: the device
 * @pmu: the block, but for arrays, events and the PMU's name
 * @request: checked
 *
 * Returns: 0, the block does not count yet; or the error of perf or of the PMU, after
 * which drm_perfctr_pmu_free() has to release what there is.
 */
int drm_perfctr_pmu_open(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu,
			 const struct drm_perfctr_block_request *request)
{
	int ret;

	ret = alloc_arrays(pmu);
	if (!ret)
		ret = open_events(pc, pmu, request);
	if (!ret)
		strscpy(pmu->identity.pmu_name, pmu->events[0].open[0]->pmu->name ?: "",
			sizeof(pmu->identity.pmu_name));
	return ret;
}
