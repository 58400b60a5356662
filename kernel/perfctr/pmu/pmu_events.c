// SPDX-License-Identifier: GPL-2.0
/*
 * The perf events of a block: opening, reading, migration between CPUs, release.
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
#include "pmu_events.h"

/**
 * DOC: events and CPUs
 *
 * A counter of a SoC block is one perf event, or one for each CPU on which the PMU counts. Opening
 * the event determines these CPUs:
 *
 * - An uncore PMU accepts any CPU of its die or socket and moves the event to the one CPU that it
 *   has chosen. Opening it on every CPU and keeping one event for each resulting CPU gives one
 *   event for each die.
 * - A software, tracepoint or core PMU leaves the event on the requested CPU: one event for each
 *   CPU on which the PMU counts. On a heterogeneous machine each type of core has its own PMU,
 *   which rejects the other CPUs.
 *
 * A PMU that does not count on a CPU returns -ENOENT or -EINVAL, and -ENODEV while it is being
 * removed. Any other error means that a CPU would be missing from the sum: OPEN and START fail.
 * Later, when no call can fail, the counter is not valid and the block has DRM_PERFCTR_STATE_ERROR.
 *
 * Any task can open events, with the credentials of OPEN's caller: permission to count was checked
 * there and belongs to the session, as permission to write belongs to an open file.
 *
 * When a CPU goes offline, an uncore driver migrates its events. perf detaches other events and
 * keeps their counts, which the next read adds. When a CPU comes online, events that count on every
 * CPU are opened on it as well.
 *
 * The sum over all events that ever counted only grows, also across CPU hotplug.
 */

/* a counter of a SoC block */
struct perfctr_pmu_event {
	struct perfctr_pmu_block *pmu;
	struct perf_event_attr attr;
	/* open events, at most one for each possible CPU */
	struct perf_event **open;
	unsigned int open_count;
	/* the CPU requested, or DRM_PERFCTR_CPU_ANY */
	int wanted_cpu;
	/* open on the first CPU that the PMU accepts, only */
	bool single;
	/* between enable and disable */
	bool counting;
	/* opening failed on a CPU on which it should count */
	bool missing;
	/* of released events */
	u64 gone_count;
	u64 gone_enabled;
	u64 gone_running;
	/* sum over all events at the last read; times in ns */
	u64 count;
	u64 enabled;
	u64 running;
	/* ns that perf reports as running although the hardware was removed */
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
 * PMUs whose events do more than count: they read memory at a user-supplied address, or place a
 * probe there. A worker that reopens the event has a different address space.
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

/* -EOPNOTSUPP, or -ENOENT if the PMU's name does not match the request's block type */
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
	/* the PMU moved it to a CPU that already has one */
	if (is_open_on(event, perf->cpu)) {
		perf_event_release_kernel(perf);
		return 0;
	}

	event->open[event->open_count++] = perf;
	if (event->counting)
		perf_event_enable(perf);
	return 0;
}

/* the PMU does not count on that CPU, or the PMU or the CPU is being removed */
static bool is_elsewhere(int error)
{
	return error == -ENODEV || error == -ENOENT || error == -EINVAL;
}

/*
 * Selects the error to return if no CPU accepts the event. An error about the event takes
 * precedence over one about the CPU.
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

	/* the hotplug work handles CPUs that change state meanwhile */
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
		/* from an uncore PMU, -ENOENT refers to the event, not to the CPU */
		if (event->single && ret == -ENOENT)
			break;
	}
	return event->open_count ? 0 : error;
}

/*
 * Returns: 0 if the event is open on every CPU on which the PMU counts; an error that
 * is_elsewhere() accepts if there is no such CPU.
 */
static int open_where_wanted(struct drm_perfctr *pc, struct perfctr_pmu_event *event)
{
	int ret = 0;

	if (event->wanted_cpu == DRM_PERFCTR_CPU_ANY)
		ret = open_on_any(pc, event);
	else if (!event->open_count)
		ret = open_on(pc, event, event->wanted_cpu);
	/* the counts of the missing CPU until now are lost */
	event->pmu->fresh.states |= event->missing ? DRM_PERFCTR_STATE_LOST : 0;
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
 * If a PMU's hardware is removed, it stops its events, but perf still considers them active: their
 * counts would appear as measured zeroes. Checked before and after a read, because an event that is
 * being descheduled looks the same for a moment.
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
 * When a CPU goes offline, perf detaches its events permanently. A PMU driver that migrates events
 * detaches them as well, but under locks that a read waits for.
 */
static bool has_exited(struct perf_event *perf)
{
	u64 enabled, running;

	if (!is_detached(perf))
		return false;
	perf_event_read_value(perf, &enabled, &running);
	return is_detached(perf);
}

/* releases exited events and adds their counts to gone_count; returns true if there were any */
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
 * Follows CPU hotplug. Returns 0, or the first error of opening an event on a CPU on which it
 * should count; other events are opened nevertheless.
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

/* without the sampler lock, as all code that calls perf */
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

		if (event->missing)
			pmu->fresh.states |= DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_LOST;

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

/* makes values read available to samples; with the sampler lock */
void drm_perfctr_pmu_block_handover(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	for (i = 0; i < pmu->count; i++) {
		/* a sum that lacks a CPU: a later one has its counts */
		if (pmu->events[i].missing)
			continue;
		pmu->totals[i] = pmu->events[i].count;
		pmu->enabled[i] = pmu->events[i].enabled;
		pmu->running[i] = pmu->events[i].running;
	}
	pmu->states |= pmu->fresh.states;
	pmu->identity.cpu = pmu->fresh.cpu;
	pmu->time_ns = pmu->fresh.time_ns;
	pmu->fresh.states = 0;
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

/* returns 0, or the error of a CPU on which the PMU should count; nothing counts then */
int drm_perfctr_pmu_block_enable(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;
	int ret;

	/* CPUs may have changed state while the session was stopped */
	ret = drm_perfctr_pmu_block_follow(pc, pmu);
	if (ret)
		return perfctr_reject(pc, -ret, "START: block %u:%u: PMU %u refuses a CPU",
				      pmu->type, pmu->index, pmu->identity.pmu_type);
	for (i = 0; i < pmu->count; i++) {
		/* each one takes longer than the previous one: perf reschedules all of them */
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

/* releases the events of a block that has stopped */
void drm_perfctr_pmu_block_close(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	for (i = 0; pmu->events && i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];

		while (event->open_count)
			perf_event_release_kernel(event->open[--event->open_count]);
	}
}

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
					      "block %u:%u: perf needs CAP_PERFMON or sysctl %s",
					      request->type, request->index,
					      "kernel.perf_event_paranoid=0");
		if (ret)
			return perfctr_reject(pc, -ret, "block %u:%u: PMU %u refuses config 0x%llx",
					      request->type, request->index, request->pmu_type,
					      config);
	}
	return 0;
}

/*
 * Opens the events of a new block, which does not count yet. After an error of perf or of the PMU,
 * the caller must call drm_perfctr_pmu_free().
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
