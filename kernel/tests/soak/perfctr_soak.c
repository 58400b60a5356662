// SPDX-License-Identifier: GPL-2.0
/*
 * Uses up the idle time of a CPU, and has a minimal sampler for comparison.
 *
 * A write of N to "soak" loops for N milliseconds in the writer's context; "result" then has "LOOPS
 * NS", in time of the CPU. The loops missing while a session samples are the kernel's cost of the
 * session, with timers, interrupts and thread switches. The writer must be SCHED_IDLE.
 *
 * A write of N to "bare" starts a minimal sampler of N samples a second: a timer, a thread, and a
 * second interrupt that answers; 0 stops it. "bare_model" has a thread as the hardware, as the
 * virtual GPU's firmware is: the difference is the scheduling cost of a model.
 */
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "compat.h"

#define SOAK_MAX_MS	10000
#define BARE_MAX_HZ	100000
/* loops between two reads of the clock */
#define SOAK_STEP	256

static struct dentry *soak_dir;
static DEFINE_MUTEX(soak_lock);
static u64 soak_loops, soak_ns;

/*
 * Time of this CPU. User-mode Linux is a thread of the host, and no function of its kernel excludes
 * the time that the host gave to other threads.
 */
static u64 soak_clock_ns(void)
{
#if defined(CONFIG_UML) && defined(CONFIG_X86_64)
	struct { s64 sec, nsec; } ts = {};
	long ret = 228;	/* clock_gettime of the host */

	asm volatile("syscall" : "+a" (ret) : "D" (3 /* CLOCK_THREAD_CPUTIME_ID */), "S" (&ts) :
		     "rcx", "r11", "memory");
	if (!ret)
		return ts.sec * NSEC_PER_SEC + ts.nsec;
#endif
	return ktime_get_raw_ns();
}

static int soak_set(void *data, u64 ms)
{
	u64 begin_ns, clock_ns, loops = 0;

	if (!ms || ms > SOAK_MAX_MS)
		return -EINVAL;
	begin_ns = ktime_get_raw_ns();
	clock_ns = soak_clock_ns();
	do {
		unsigned int i;

		for (i = 0; i < SOAK_STEP; i++)
			barrier();
		loops += SOAK_STEP;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (ktime_get_raw_ns() - begin_ns < ms * NSEC_PER_MSEC);
	clock_ns = soak_clock_ns() - clock_ns;
	mutex_lock(&soak_lock);
	soak_loops = loops;
	soak_ns = clock_ns;
	mutex_unlock(&soak_lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(soak_fops, NULL, soak_set, "%llu\n");

static int result_show(struct seq_file *m, void *unused)
{
	mutex_lock(&soak_lock);
	seq_printf(m, "%llu %llu\n", soak_loops, soak_ns);
	mutex_unlock(&soak_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

/* --- the bare sampler ------------------------------------------------------ */

static struct {
	/* one writer starts or stops at a time */
	struct mutex lock;
	struct hrtimer period, answer_timer;
	struct irq_work answer_work;
	struct kthread_worker *worker, *model;
	struct kthread_work work, model_work;
	struct completion answered;
	u64 period_ns, samples;
} bare;

static enum hrtimer_restart bare_period(struct hrtimer *timer)
{
	kthread_queue_work(bare.worker, &bare.work);
	hrtimer_forward_now(timer, ns_to_ktime(bare.period_ns));
	return HRTIMER_RESTART;
}

static void answer_from_work(struct irq_work *work)
{
	complete(&bare.answered);
}

static enum hrtimer_restart answer_from_timer(struct hrtimer *timer)
{
	complete(&bare.answered);
	return HRTIMER_NORESTART;
}

/* an interrupt as the virtual GPU raises it */
static void bare_answer(struct kthread_work *work)
{
	if (arch_irq_work_has_interrupt())
		irq_work_queue(&bare.answer_work);
	else
		hrtimer_start(&bare.answer_timer, 0, HRTIMER_MODE_REL_HARD);
}

static void bare_sample(struct kthread_work *work)
{
	reinit_completion(&bare.answered);
	if (bare.model)
		kthread_queue_work(bare.model, &bare.model_work);
	else
		bare_answer(NULL);
	wait_for_completion(&bare.answered);
	bare.samples++;
}

static void bare_stop(void)
{
	if (!bare.worker)
		return;
	hrtimer_cancel(&bare.period);
	kthread_destroy_worker(bare.worker);
	if (bare.model)
		kthread_destroy_worker(bare.model);
	irq_work_sync(&bare.answer_work);
	hrtimer_cancel(&bare.answer_timer);
	bare.worker = NULL;
	bare.model = NULL;
}

static int bare_start(u64 hz, bool with_model)
{
	struct kthread_worker *worker, *model = NULL;

	worker = kthread_create_worker(0, "perfctr-bare");
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	if (with_model) {
		model = kthread_create_worker(0, "perfctr-model");
		if (IS_ERR(model)) {
			kthread_destroy_worker(worker);
			return PTR_ERR(model);
		}
	}
	/* a kthread_work remembers the worker it was last queued on */
	kthread_init_work(&bare.work, bare_sample);
	kthread_init_work(&bare.model_work, bare_answer);
	sched_set_fifo_low(worker->task);
	/* as the virtual GPU's firmware, which continues after its interrupt: one switch */
	if (model)
		sched_set_fifo(model->task);
	bare.worker = worker;
	bare.model = model;
	bare.samples = 0;
	bare.period_ns = div64_u64(NSEC_PER_SEC, hz);
	hrtimer_start(&bare.period, ns_to_ktime(bare.period_ns), HRTIMER_MODE_REL);
	return 0;
}

static int bare_set(u64 hz, bool with_model)
{
	int ret = 0;

	if (hz > BARE_MAX_HZ)
		return -EINVAL;
	mutex_lock(&bare.lock);
	bare_stop();
	if (hz)
		ret = bare_start(hz, with_model);
	mutex_unlock(&bare.lock);
	return ret;
}

static int bare_without_model(void *data, u64 hz)
{
	return bare_set(hz, false);
}

static int bare_with_model(void *data, u64 hz)
{
	return bare_set(hz, true);
}

/* samples since it was started */
static int bare_get(void *data, u64 *samples)
{
	*samples = READ_ONCE(bare.samples);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(bare_fops, bare_get, bare_without_model, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(bare_model_fops, bare_get, bare_with_model, "%llu\n");

static int __init soak_init(void)
{
	mutex_init(&bare.lock);
	init_completion(&bare.answered);
	perfctr_hrtimer_setup(&bare.period, bare_period, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	perfctr_hrtimer_setup(&bare.answer_timer, answer_from_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_HARD);
	init_irq_work(&bare.answer_work, answer_from_work);
	soak_dir = debugfs_create_dir("perfctr_soak", NULL);
	debugfs_create_file_unsafe("soak", 0200, soak_dir, NULL, &soak_fops);
	debugfs_create_file("result", 0400, soak_dir, NULL, &result_fops);
	debugfs_create_file_unsafe("bare", 0600, soak_dir, NULL, &bare_fops);
	debugfs_create_file_unsafe("bare_model", 0600, soak_dir, NULL, &bare_model_fops);
	return 0;
}
module_init(soak_init);

static void __exit soak_exit(void)
{
	debugfs_remove(soak_dir);
	bare_stop();
}
module_exit(soak_exit);

MODULE_DESCRIPTION("perfctr benchmark: idle time of a CPU");
MODULE_LICENSE("GPL");
