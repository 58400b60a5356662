// SPDX-License-Identifier: GPL-2.0
/* Threads and interrupt lines of a model: model.h. */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "model.h"

/* User-mode Linux uses the numbers below */
#define FIRST_NUMBER	16

static void stop(void *thread)
{
	kthread_stop(thread);
}

int model_thread(struct device *model, int (*run)(void *), void *data, const char *name)
{
	struct task_struct *thread = kthread_run(run, data, "%s", name);

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	return devm_add_action_or_reset(model, stop, thread);
}
EXPORT_SYMBOL_GPL(model_thread);

static int lines_thread(void *data)
{
	struct model_lines *lines = data;
	unsigned long due;
	unsigned int line;

	while (!kthread_should_stop()) {
		wait_event_idle(lines->wait, READ_ONCE(lines->due) || kthread_should_stop());
		due = xchg(&lines->due, 0);
		for_each_set_bit(line, &due, lines->count) {
			generic_handle_irq_safe(lines->first + line);
			if (lines->is_high(lines, line))
				set_bit(line, &lines->due);
		}
		cond_resched();
	}
	return 0;
}

void model_line_rose(struct model_lines *lines, unsigned int line)
{
	set_bit(line, &lines->due);
	wake_up(&lines->wait);
}
EXPORT_SYMBOL_GPL(model_line_rose);

int model_lines_init(struct model_lines *lines, struct device *model, unsigned int count,
		     bool (*is_high)(const struct model_lines *lines, unsigned int line))
{
	lines->first = devm_irq_alloc_descs(model, -1, FIRST_NUMBER, count, NUMA_NO_NODE);
	if (lines->first < 0)
		return lines->first;
	for (unsigned int i = 0; i < count; i++) {
		irq_set_chip_and_handler(lines->first + i, &dummy_irq_chip, handle_simple_irq);
		irq_modify_status(lines->first + i, IRQ_NOREQUEST, IRQ_NOPROBE);
	}
	lines->count = count;
	lines->is_high = is_high;
	init_waitqueue_head(&lines->wait);
	return model_thread(model, lines_thread, lines, "gpu-irq");
}
EXPORT_SYMBOL_GPL(model_lines_init);

MODULE_DESCRIPTION("Shared part of the models of GPUs");
MODULE_LICENSE("GPL");
