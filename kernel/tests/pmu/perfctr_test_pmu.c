// SPDX-License-Identifier: GPL-2.0
/*
 * A perf PMU that counts on every CPU: ns (config 0), or the hits that tests write (config 1), for
 * kernels without tracepoints of system calls. A test sets the errno with which it refuses events
 * of a CPU: -ENOENT as on a heterogeneous machine, -EBUSY if all counters are in use, and so on.
 *
 *     echo 2,0 > /sys/module/perfctr_test_pmu/parameters/refuse	# CPU 0: -ENOENT
 *     echo 1 > /sys/module/perfctr_test_pmu/parameters/hit	# one more on this CPU
 *     echo Y > /sys/module/perfctr_test_pmu/parameters/gone	# the hardware is removed
 *
 * With ucf=1 a second PMU has the name of Tegra410's first UCF, of which kernel/catalogue makes
 * blocks of many events: on one CPU, with 8 counters, and each event counts ns. It is for the rules
 * of such blocks on kernels that have no driver of the virtual SoC's PMUs.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>

#define MAX_CPUS	64
#define MAX_EVENTS	256
#define CONFIG_HITS	1
#define UCF_CPU		0
#define UCF_COUNTERS	8

static int refuse[MAX_CPUS];
module_param_array(refuse, int, NULL, 0644);
MODULE_PARM_DESC(refuse, "errno with which new events of CPU 0, 1, ... are refused, 0: taken");

static DEFINE_PER_CPU(u64, hits);

static int hit_set(const char *value, const struct kernel_param *kp)
{
	u64 n;
	int ret = kstrtou64(value, 0, &n);

	if (!ret)
		this_cpu_add(hits, n);
	return ret;
}

static const struct kernel_param_ops hit_ops = {
	.set = hit_set,
};
module_param_cb(hit, &hit_ops, NULL, 0200);
MODULE_PARM_DESC(hit, "adds a number to what this CPU has counted");

/* scheduled events, and how often their hardware was removed */
static DEFINE_RAW_SPINLOCK(lock);
static struct perf_event *scheduled[MAX_EVENTS];
static unsigned long removals;
static bool gone;

/* The events stop, and count no more when it comes back: what they missed is unknown. */
static int gone_set(const char *value, const struct kernel_param *kp)
{
	unsigned long irq;
	bool now;
	int ret = kstrtobool(value, &now);

	if (ret)
		return ret;
	raw_spin_lock_irqsave(&lock, irq);
	if (now && !gone) {
		removals++;
		for (unsigned int i = 0; i < MAX_EVENTS; i++) {
			if (scheduled[i])
				scheduled[i]->hw.state |= PERF_HES_STOPPED;
		}
	}
	gone = now;
	raw_spin_unlock_irqrestore(&lock, irq);
	return 0;
}

static const struct kernel_param_ops gone_ops = {
	.set = gone_set,
	.get = param_get_bool,
};
module_param_cb(gone, &gone_ops, &gone, 0644);
MODULE_PARM_DESC(gone, "Y: the hardware is removed, N: it is back, for new events");

static struct pmu test_pmu;

static bool is_halted(const struct perf_event *event)
{
	return READ_ONCE(gone) || event->hw.config != READ_ONCE(removals);
}

static int test_event_init(struct perf_event *event)
{
	int error;

	if (event->attr.type != test_pmu.type)
		return -ENOENT;
	if (READ_ONCE(gone))
		return -ENODEV;
	if (event->cpu < 0 || event->cpu >= MAX_CPUS || event->attr.config > CONFIG_HITS)
		return -EINVAL;
	event->hw.config = READ_ONCE(removals);
	error = READ_ONCE(refuse[event->cpu]);
	return error > 0 && error <= MAX_ERRNO ? -error : 0;
}

/* the hardware register; runs on the event's CPU */
static u64 test_now(const struct perf_event *event)
{
	return event->attr.config == CONFIG_HITS ? this_cpu_read(hits) : local_clock();
}

static void test_read(struct perf_event *event)
{
	u64 now = test_now(event);
	u64 last;

	if (is_halted(event))
		return;
	last = local64_xchg(&event->hw.prev_count, now);
	local64_add(now - last, &event->count);
}

static void test_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, test_now(event));
	event->hw.state = is_halted(event) ? PERF_HES_STOPPED : 0;
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
	int ret = -EAGAIN;

	raw_spin_lock(&lock);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	for (unsigned int i = 0; ret && i < MAX_EVENTS; i++) {
		if (scheduled[i])
			continue;
		scheduled[i] = event;
		event->hw.idx = i;
		ret = 0;
	}
	if (!ret && flags & PERF_EF_START)
		test_start(event, 0);
	raw_spin_unlock(&lock);
	return ret;
}

static void test_del(struct perf_event *event, int flags)
{
	raw_spin_lock(&lock);
	test_stop(event, 0);
	scheduled[event->hw.idx] = NULL;
	raw_spin_unlock(&lock);
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

static bool ucf;
module_param(ucf, bool, 0444);
MODULE_PARM_DESC(ucf, "a second PMU, nvidia_ucf_pmu_0");

static struct pmu ucf_pmu;
/* on one CPU, under perf's lock */
static unsigned int ucf_scheduled;

static int ucf_event_init(struct perf_event *event)
{
	if (event->attr.type != ucf_pmu.type)
		return -ENOENT;
	if (event->cpu != UCF_CPU)
		return -EINVAL;
	event->hw.config = READ_ONCE(removals);
	return 0;
}

static int ucf_add(struct perf_event *event, int flags)
{
	int ret = ucf_scheduled < UCF_COUNTERS ? test_add(event, flags) : -EAGAIN;

	ucf_scheduled += !ret;
	return ret;
}

static void ucf_del(struct perf_event *event, int flags)
{
	test_del(event, flags);
	ucf_scheduled--;
}

static struct pmu ucf_pmu = {
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_invalid_context,
	.capabilities	= PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init	= ucf_event_init,
	.add		= ucf_add,
	.del		= ucf_del,
	.start		= test_start,
	.stop		= test_stop,
	.read		= test_read,
};

static int __init test_pmu_init(void)
{
	int ret = perf_pmu_register(&test_pmu, "perfctr_test", -1);

	if (ret || !ucf)
		return ret;
	ret = perf_pmu_register(&ucf_pmu, "nvidia_ucf_pmu_0", -1);
	if (ret)
		perf_pmu_unregister(&test_pmu);
	return ret;
}

static void __exit test_pmu_exit(void)
{
	if (ucf)
		perf_pmu_unregister(&ucf_pmu);
	perf_pmu_unregister(&test_pmu);
}

module_init(test_pmu_init);
module_exit(test_pmu_exit);

MODULE_DESCRIPTION("A perf PMU for tests of refusals and removal");
MODULE_LICENSE("GPL");
