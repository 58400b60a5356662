// SPDX-License-Identifier: GPL-2.0
/*
 * The perf PMU "vsoc_core": events of the modelled core that copies. It belongs to the module: the
 * cores of all virtual SoCs count in it.
 */
#include <linux/module.h>
#include <linux/perf_event.h>

#include "vsoc_fabric.h"

/* the CPU on which events are opened: the counters belong to no CPU */
#define CPU	0

static atomic64_t counters[MEMSIM_EVENTS];

void vsoc_core_count(const struct memsim_core *core, const u64 *before)
{
	for (u32 i = 0; i < MEMSIM_EVENTS; i++)
		atomic64_add(core->events[i] - before[i], &counters[i]);
}

static struct pmu core_pmu;

static int core_event_init(struct perf_event *event)
{
	if (event->attr.type != core_pmu.type)
		return -ENOENT;
	if (event->attr.config >= MEMSIM_EVENTS)
		return -ENOENT;
	if (is_sampling_event(event))
		return -EOPNOTSUPP;
	return event->cpu == CPU ? 0 : -EINVAL;
}

static void core_read(struct perf_event *event)
{
	u64 now = atomic64_read(&counters[event->attr.config]);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void core_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, atomic64_read(&counters[event->attr.config]));
	event->hw.state = 0;
}

static void core_stop(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		core_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int core_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		core_start(event, 0);
	return 0;
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", CPU);
}
static DEVICE_ATTR_RO(cpumask);
PMU_FORMAT_ATTR(event, "config:0-3");

static struct attribute *core_attrs[] = { &dev_attr_cpumask.attr, NULL };
static struct attribute *core_formats[] = { &format_attr_event.attr, NULL };
static const struct attribute_group core_group = { .attrs = core_attrs };
static const struct attribute_group core_format_group = {
	.name = "format", .attrs = core_formats,
};

#define EVENT(number, name) \
	(&((struct perf_pmu_events_attr) { \
		.attr = __ATTR(name, 0444, perf_event_sysfs_show, NULL), \
		.id = number, .event_str = "event=" #number, \
	}).attr.attr)

static struct attribute *core_events[] = {
	EVENT(0, l1d_cache_refill),
	EVENT(1, l1d_cache),
	EVENT(2, ld_retired),
	EVENT(3, st_retired),
	EVENT(4, inst_retired),
	EVENT(5, mem_accesses),
	EVENT(6, l2d_cache),
	EVENT(7, l2d_cache_refill),
	EVENT(8, bus_access),
	NULL
};

static const struct attribute_group core_event_group = { .name = "events", .attrs = core_events };

static const struct attribute_group *core_groups[] = {
	&core_group, &core_format_group, &core_event_group, NULL
};

static struct pmu core_pmu = {
	.module		= THIS_MODULE,
	.attr_groups	= core_groups,
	.task_ctx_nr	= perf_invalid_context,
	.capabilities	= PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init	= core_event_init,
	.add		= core_add,
	.del		= core_stop,
	.start		= core_start,
	.stop		= core_stop,
	.read		= core_read,
};

int vsoc_core_pmu_init(void)
{
	return perf_pmu_register(&core_pmu, "vsoc_core", -1);
}

void vsoc_core_pmu_exit(void)
{
	perf_pmu_unregister(&core_pmu);
}
