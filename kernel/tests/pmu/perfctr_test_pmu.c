// SPDX-License-Identifier: GPL-2.0
/*
 * A perf PMU that counts ns on every CPU, and refuses CPUs as a test says: with
 * -ENOENT as the PMU of the other cores of a heterogeneous machine, with -EBUSY
 * as one whose counters somebody else has, ...
 *
 *     echo 2,0 > /sys/module/perfctr_test_pmu/parameters/refuse	# CPU 0: -ENOENT
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>

#define MAX_CPUS 64

static int refuse[MAX_CPUS];
module_param_array(refuse, int, NULL, 0644);
MODULE_PARM_DESC(refuse, "errno with which new events of CPU 0, 1, ... are refused, 0: taken");

static struct pmu test_pmu;

static int test_event_init(struct perf_event *event)
{
	int error;

	if (event->attr.type != test_pmu.type)
		return -ENOENT;
	if (event->cpu < 0 || event->cpu >= MAX_CPUS)
		return -EINVAL;
	error = READ_ONCE(refuse[event->cpu]);
	return error > 0 && error <= MAX_ERRNO ? -error : 0;
}

static void test_read(struct perf_event *event)
{
	u64 now = local_clock();
	u64 last = local64_xchg(&event->hw.prev_count, now);

	local64_add(now - last, &event->count);
}

static void test_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, local_clock());
	event->hw.state = 0;
}

static void test_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	test_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int test_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		test_start(event, 0);
	return 0;
}

static void test_del(struct perf_event *event, int flags)
{
	test_stop(event, 0);
}

static struct pmu test_pmu = {
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_invalid_context,
	.capabilities	= PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init	= test_event_init,
	.add		= test_add,
	.del		= test_del,
	.start		= test_start,
	.stop		= test_stop,
	.read		= test_read,
};

static int __init test_pmu_init(void)
{
	return perf_pmu_register(&test_pmu, "perfctr_test", -1);
}

static void __exit test_pmu_exit(void)
{
	perf_pmu_unregister(&test_pmu);
}

module_init(test_pmu_init);
module_exit(test_pmu_exit);

MODULE_DESCRIPTION("A perf PMU for tests of refusals");
MODULE_LICENSE("GPL");
