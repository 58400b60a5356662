// SPDX-License-Identifier: GPL-2.0
/*
 * SoC blocks: counters of any perf PMU, through perf events that the core owns.
 */
#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "perfctr_internal.h"
#include "perfctr_pmu.h"

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
 * sum: SETUP and START fail then, and later, when nobody can be told, the
 * counter is not valid and the block has DRM_PERFCTR_STATE_ERROR.
 *
 * Events are opened with the credentials of whoever did SETUP, by whatever task:
 * the right to count was checked there and is part of the session, as the right
 * to write is part of an open file.
 *
 * When a CPU goes offline an uncore driver moves its events itself. Other events
 * die there: perf detaches them and keeps their count, which the next read takes
 * over. When a CPU comes online, events that want every CPU are opened on it too.
 *
 * The sum over all events that ever counted only grows, whatever happens to CPUs.
 */

/**
 * struct perfctr_pmu_event - one counter of a SoC block
 */
struct perfctr_pmu_event {
	/** @attr: how to open it. */
	struct perf_event_attr attr;
	/** @open: events that count, at most one for each possible CPU. */
	struct perf_event **open;
	/** @open_count: elements of @open in use. */
	unsigned int open_count;
	/** @wanted_cpu: the CPU asked for, or DRM_PERFCTR_CPU_ANY. */
	int wanted_cpu;
	/** @single: the first CPU that the PMU accepts is enough. */
	bool single;
	/** @counting: between enable and disable. */
	bool counting;
	/** @missing: a CPU that is wanted could not be opened. */
	bool missing;
	/** @index: expected index of the block, for the check of the PMU's name. */
	u16 index;
	/** @kind: of the block. */
	const struct perfctr_pmu_kind *kind;
	/** @cred: whose rights open it, see @cred of the block. */
	const struct cred *cred;
	/** @gone_count: what events counted that are gone. */
	u64 gone_count;
	/** @gone_enabled: ns for which they were enabled. */
	u64 gone_enabled;
	/** @gone_running: ns for which they ran. */
	u64 gone_running;
	/** @count: all that was counted, as of the last read. */
	u64 count;
	/** @enabled: ns for which it was enabled, as of then. */
	u64 enabled;
	/** @running: ns for which it ran, as of then. */
	u64 running;
	/** @halted_running: ns that perf calls running, while their hardware was gone. */
	u64 halted_running;
};

static enum cpuhp_state perfctr_cpuhp_state;
static DEFINE_MUTEX(perfctr_devices_lock);
static LIST_HEAD(perfctr_devices);

static bool is_open_on(const struct perfctr_pmu_event *event, int cpu)
{
	unsigned int i;

	for (i = 0; i < event->open_count; i++)
		if (READ_ONCE(event->open[i]->cpu) == cpu)
			return true;
	return false;
}

/*
 * PMUs that do more than counting when an event is opened: they read memory at an
 * address of the user, or put a probe there. Built into the kernel, so that their
 * numbers are known for good.
 */
static const char * const refused_names[] = { "breakpoint", "kprobe", "uprobe" };
static u32 refused_types[ARRAY_SIZE(refused_names)];

static const char *refused_name(u32 type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused_types); i++)
		if (refused_types[i] == type)
			return refused_names[i];
	return NULL;
}

/* perf's PMUs are devices of a bus that any of them leads to */
static int learn_refused_types(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	struct perf_event *perf;
	unsigned int i;

	perf = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(), NULL, NULL, NULL);
	if (IS_ERR(perf))
		return PTR_ERR(perf);
	for (i = 0; i < ARRAY_SIZE(refused_names); i++) {
		struct device *dev = NULL;

		/* nobody's, if the kernel has no such PMU */
		refused_types[i] = U32_MAX;
		if (perf->pmu->dev)
			dev = bus_find_device_by_name(perf->pmu->dev->bus, NULL, refused_names[i]);
		if (!dev)
			continue;
		refused_types[i] = ((struct pmu *)dev_get_drvdata(dev))->type;
		put_device(dev);
	}
	perf_event_release_kernel(perf);
	return 0;
}

static struct perf_event *create_on(struct perfctr_pmu_event *event, int cpu)
{
	const struct cred *caller = override_creds(event->cred);
	struct perf_event *perf;

	perf = perf_event_create_kernel_counter(&event->attr, cpu, NULL, NULL, NULL);
	revert_creds(caller);
	return perf;
}

static int open_on(struct drm_perfctr *pc, struct perfctr_pmu_event *event, int cpu)
{
	struct perf_event *perf;
	const char *name;

	name = refused_name(event->attr.type);
	if (name)
		return perfctr_reject(pc, EOPNOTSUPP, "pmu_type: %s does not count", name);
	perf = create_on(event, cpu);
	if (IS_ERR(perf))
		return PTR_ERR(perf);

	name = perf->pmu->name ?: "";
	if (!perfctr_pmu_kind_matches(event->kind, name, event->index)) {
		int ret = perfctr_reject(pc, ENOENT, "pmu_type: %s is not block %u:%u", name,
					 event->kind->type, event->index);

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
 * If no CPU takes the event, the error that tells most: where one says that the
 * PMU has no such event and another that it is not associated, the former.
 */
static int more_telling(int error, int other)
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
		error = more_telling(error, ret);
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
static bool has_died(struct perf_event *perf)
{
	u64 enabled, running;

	if (!is_detached(perf))
		return false;
	perf_event_read_value(perf, &enabled, &running);
	return is_detached(perf);
}

/* keep what dead events counted; true if there were any */
static bool bury_dead(struct perfctr_pmu_event *event)
{
	unsigned int i = 0;
	bool any = false;

	while (i < event->open_count) {
		struct perf_event *perf = event->open[i];

		if (!has_died(perf)) {
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

/**
 * perfctr_pmu_follow_cpus() - CPUs came or went: count where it is wanted
 * @pc: the device
 * @pmu: the block
 *
 * Returns: 0, or the first error that keeps an event from a CPU that it should
 * count on. The others were opened all the same.
 */
int perfctr_pmu_follow_cpus(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];
		unsigned int before;
		int ret;

		if (bury_dead(event))
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

/**
 * perfctr_pmu_read() - read all events of a block
 * @pc: the device
 * @pmu: the block
 *
 * With the session's pmu_lock and without the sampler lock, as everything that
 * calls perf.
 */
void perfctr_pmu_read(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;

	for (i = 0; i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];
		u64 count, enabled, running;
		bool halted = false;

		if (bury_dead(event)) {
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

/**
 * perfctr_pmu_hand_over() - let samples have what was read
 * @pmu: the block
 *
 * With the session's pmu_lock and the sampler lock.
 */
void perfctr_pmu_hand_over(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	for (i = 0; i < pmu->count; i++) {
		pmu->totals[i] = pmu->events[i].count;
		pmu->enabled[i] = pmu->events[i].enabled;
		pmu->running[i] = pmu->events[i].running;
	}
	pmu->states |= pmu->fresh.states;
	pmu->incomplete |= pmu->fresh.incomplete;
	pmu->cpu = pmu->fresh.cpu;
	pmu->time_ns = pmu->fresh.time_ns;
	pmu->fresh.states = 0;
	pmu->fresh.incomplete = 0;
}

/**
 * perfctr_pmu_disable() - stop counting
 * @pmu: the block
 */
void perfctr_pmu_disable(struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;

	for (i = 0; i < pmu->count; i++) {
		pmu->events[i].counting = false;
		for (e = 0; e < pmu->events[i].open_count; e++)
			perf_event_disable(pmu->events[i].open[e]);
	}
}

/**
 * perfctr_pmu_enable() - begin counting
 * @pc: the device
 * @pmu: the block
 *
 * Returns: 0, or why the PMU does not count on a CPU on which it should; nothing
 * counts then.
 */
int perfctr_pmu_enable(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	unsigned int i, e;
	int ret;

	/* CPUs may have come and gone while the session was stopped */
	ret = perfctr_pmu_follow_cpus(pc, pmu);
	if (ret)
		return perfctr_reject(pc, -ret, "START: block %u:%u: PMU %u refuses a CPU",
				      pmu->type, pmu->index, pmu->pmu_type);
	for (i = 0; i < pmu->count; i++) {
		/* each one takes longer than the one before: perf schedules them all anew */
		if (fatal_signal_pending(current)) {
			perfctr_pmu_disable(pmu);
			return -EINTR;
		}
		cond_resched();
		pmu->events[i].counting = true;
		for (e = 0; e < pmu->events[i].open_count; e++)
			perf_event_enable(pmu->events[i].open[e]);
	}
	return 0;
}

/**
 * perfctr_pmu_close() - release the events of a block
 * @pmu: the block, which counts no more
 */
void perfctr_pmu_close(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	for (i = 0; pmu->events && i < pmu->count; i++) {
		struct perfctr_pmu_event *event = &pmu->events[i];

		while (event->open_count)
			perf_event_release_kernel(event->open[--event->open_count]);
	}
}

/**
 * perfctr_pmu_destroy() - release a block and its events
 * @pmu: the block
 */
void perfctr_pmu_destroy(struct perfctr_pmu_block *pmu)
{
	unsigned int i;

	perfctr_pmu_close(pmu);
	for (i = 0; pmu->events && i < pmu->count; i++)
		kfree(pmu->events[i].open);
	kfree(pmu->events);
	kfree(pmu->totals);
	put_cred(pmu->cred);
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
		       const struct perfctr_pmu_kind *kind,
		       const struct drm_perfctr_block_request *request)
{
	u64 mask = request->mask;
	unsigned int i;
	int ret;

	for (i = 0; i < pmu->count; i++, mask &= mask - 1) {
		struct perfctr_pmu_event *event = &pmu->events[i];
		u64 config = request->config;

		if (kind->events)
			config |= kind->events[__ffs64(mask)];
		event->attr = (struct perf_event_attr) {
			.type = request->pmu_type,
			.size = sizeof(event->attr),
			.config = config,
			.config1 = request->config1,
			.config2 = request->config2,
			.disabled = 1,
		};
		event->kind = kind;
		event->cred = pmu->cred;
		event->index = request->index;
		event->wanted_cpu = request->cpu;
		event->single = kind->prefix;
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = open_where_wanted(pc, event);
		if (ret == -EACCES || ret == -EPERM)
			return perfctr_reject(pc, -ret,
					      "block %u:%u: perf wants CAP_PERFMON or sysctl kernel.perf_event_paranoid=0",
					      request->type, request->index);
		if (ret)
			return perfctr_reject(pc, -ret, "block %u:%u: PMU %u refuses config 0x%llx",
					      request->type, request->index, request->pmu_type,
					      config);
	}
	return 0;
}

/**
 * perfctr_pmu_create() - open the events of a block
 * @pc: the device
 * @request: checked by the ioctl layer
 * @out: the block, not counting
 *
 * Returns: 0, -EACCES, or what perf or the PMU says to the events.
 */
int perfctr_pmu_create(struct drm_perfctr *pc, const struct drm_perfctr_block_request *request,
		       struct perfctr_pmu_block **out)
{
	const struct perfctr_pmu_kind *kind = perfctr_pmu_kind(request->type);
	const u64 configs[] = { request->config, request->config1, request->config2 };
	struct perfctr_pmu_block *pmu;
	const char *name;
	unsigned int i;
	int ret;

	/* kernel.perf_event_paranoid is perf's policy and not ours to relax */
	if (!kind->prefix && !perfmon_capable())
		return perfctr_reject(pc, EACCES, "block %u:%u: any PMU needs CAP_PERFMON",
				      request->type, request->index);
	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		u64 refused = perfctr_pmu_kind_refuses(kind, i, configs[0], configs[i]);

		/* what selects the event has a message of its own */
		if (!i)
			refused &= ~kind->config_mask;
		if (refused)
			return perfctr_reject(pc, EINVAL,
					      "block %u:%u: config%u: 0x%llx is no filter",
					      request->type, request->index, i, refused);
	}
	if (request->config & kind->config_mask)
		return perfctr_reject(pc, EINVAL, "block %u:%u: config 0x%llx: events are in mask",
				      request->type, request->index, request->config);
	if (request->cpu != DRM_PERFCTR_CPU_ANY &&
	    (request->cpu >= nr_cpu_ids || !cpu_online(request->cpu)))
		return perfctr_reject(pc, EINVAL, "block %u:%u: cpu %d is not online",
				      request->type, request->index, request->cpu);

	pmu = kzalloc(sizeof(*pmu), PERFCTR_GFP_USER);
	if (!pmu)
		return -ENOMEM;
	pmu->type = request->type;
	pmu->index = request->index;
	pmu->product = kind->product;
	pmu->config = request->config;
	pmu->config1 = request->config1;
	pmu->config2 = request->config2;
	pmu->pmu_type = request->pmu_type;
	pmu->cpu = request->cpu;
	pmu->count = hweight64(request->mask);
	pmu->cred = get_current_cred();

	ret = alloc_arrays(pmu);
	if (!ret)
		ret = open_events(pc, pmu, kind, request);
	if (ret) {
		perfctr_pmu_destroy(pmu);
		return ret;
	}
	name = pmu->events[0].open[0]->pmu->name ?: "";
	strscpy(pmu->name, name, sizeof(pmu->name));
	*out = pmu;
	return 0;
}

/**
 * perfctr_pmu_events() - bits that the mask of a block type can have
 * @type: enum drm_perfctr_block_type
 *
 * Returns: number of events, 0 if no PMU counts such blocks.
 */
unsigned int perfctr_pmu_events(u16 type)
{
	const struct perfctr_pmu_kind *kind = perfctr_pmu_kind(type);

	return kind ? kind->event_count : 0;
}

/* opening events takes locks that the hotplug code holds: later, elsewhere */
static int perfctr_cpu_change(unsigned int cpu)
{
	struct drm_perfctr *pc;

	mutex_lock(&perfctr_devices_lock);
	list_for_each_entry(pc, &perfctr_devices, node) {
		atomic_inc(&pc->cpu_changes);
		kthread_queue_work(pc->worker, &pc->hotplug_work);
	}
	mutex_unlock(&perfctr_devices_lock);
	return 0;
}

/**
 * perfctr_pmu_add_device() - have a device follow CPU hotplug
 * @pc: the device, with its worker
 */
void perfctr_pmu_add_device(struct drm_perfctr *pc)
{
	mutex_lock(&perfctr_devices_lock);
	list_add_tail(&pc->node, &perfctr_devices);
	mutex_unlock(&perfctr_devices_lock);
}

/**
 * perfctr_pmu_remove_device() - undo perfctr_pmu_add_device()
 * @pc: the device
 */
void perfctr_pmu_remove_device(struct drm_perfctr *pc)
{
	mutex_lock(&perfctr_devices_lock);
	list_del_init(&pc->node);
	mutex_unlock(&perfctr_devices_lock);
}

/**
 * perfctr_pmu_init() - begin following CPU hotplug
 *
 * Returns: 0 or a negative errno.
 */
int perfctr_pmu_init(void)
{
	int ret;

	ret = learn_refused_types();
	if (ret)
		return ret;
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "drm/perfctr:online",
					perfctr_cpu_change, perfctr_cpu_change);
	if (ret < 0)
		return ret;
	perfctr_cpuhp_state = ret;
	return 0;
}

/**
 * perfctr_pmu_exit() - undo perfctr_pmu_init()
 */
void perfctr_pmu_exit(void)
{
	cpuhp_remove_state_nocalls(perfctr_cpuhp_state);
}
