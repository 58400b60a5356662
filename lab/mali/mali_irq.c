// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt registers and lines.
 *
 * The line of a block is high while an unmasked cause is set; writing the mask can raise it too.
 * A thread calls the handler when it rises, and again if it is still high afterwards: a driver
 * writes registers with interrupts off and its locks held. It is not irq_work, which User-mode
 * Linux delays until its next tick.
 */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/kthread.h>

#include "mali.h"
#include "mali_counters.h"
#include "mali_regs.h"

/* User-mode Linux uses the numbers below */
#define FIRST_NUMBER	16

static void update_line(struct mali_gpu *gpu, enum mali_irq_name name, u32 before)
{
	const struct mali_irq *irq = &gpu->irq[name];

	if (before || !(irq->rawstat & irq->mask))
		return;
	set_bit(name, &gpu->irq_due);
	mali_event_locked(gpu, MALI_IRQ_COUNT, 1);
	wake_up(&gpu->irq_wait);
}

void mali_irq_raise_locked(struct mali_gpu *gpu, enum mali_irq_name name, u32 causes)
{
	struct mali_irq *irq = &gpu->irq[name];
	u32 before = irq->rawstat & irq->mask;

	mali_clock_update_locked(gpu);
	irq->rawstat |= causes;
	update_line(gpu, name, before);
}

void mali_irq_raise(struct mali_gpu *gpu, enum mali_irq_name name, u32 causes)
{
	guard(spinlock_irqsave)(&gpu->lock);
	mali_irq_raise_locked(gpu, name, causes);
}

u32 mali_irq_read(struct mali_gpu *gpu, enum mali_irq_name name, u32 offset)
{
	const struct mali_irq *irq = &gpu->irq[name];

	switch (offset) {
	case MALI_IRQ_RAWSTAT:
		return irq->rawstat;
	case MALI_IRQ_MASK:
		return irq->mask;
	case MALI_IRQ_STATUS:
		return irq->rawstat & irq->mask;
	}
	return 0;
}

void mali_irq_write(struct mali_gpu *gpu, enum mali_irq_name name, u32 offset, u32 value)
{
	struct mali_irq *irq = &gpu->irq[name];
	u32 before = irq->rawstat & irq->mask;

	mali_clock_update_locked(gpu);
	switch (offset) {
	case MALI_IRQ_RAWSTAT:
		irq->rawstat |= value;
		break;
	case MALI_IRQ_CLEAR:
		irq->rawstat &= ~value;
		break;
	case MALI_IRQ_MASK:
		irq->mask = value;
		break;
	}
	update_line(gpu, name, before);
}

static int irq_thread(void *data)
{
	struct mali_gpu *gpu = data;
	unsigned long due;
	unsigned int name;

	while (!kthread_should_stop()) {
		wait_event_idle(gpu->irq_wait, READ_ONCE(gpu->irq_due) || kthread_should_stop());
		due = xchg(&gpu->irq_due, 0);
		for_each_set_bit(name, &due, MALI_IRQS) {
			generic_handle_irq_safe(gpu->irq[name].number);
			if (READ_ONCE(gpu->irq[name].rawstat) & READ_ONCE(gpu->irq[name].mask))
				set_bit(name, &gpu->irq_due);
		}
		cond_resched();
	}
	return 0;
}

static void stop(void *thread)
{
	kthread_stop(thread);
}

/* a thread that ends with the model */
int mali_thread(struct mali_gpu *gpu, int (*run)(void *), void *data, const char *name)
{
	struct task_struct *thread = kthread_run(run, data, "%s", name);

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	return devm_add_action_or_reset(gpu->model, stop, thread);
}

int mali_irq_init(struct mali_gpu *gpu)
{
	int first = devm_irq_alloc_descs(gpu->model, -1, FIRST_NUMBER, MALI_IRQS, NUMA_NO_NODE);

	if (first < 0)
		return first;
	for (int i = 0; i < MALI_IRQS; i++) {
		gpu->irq[i].number = first + i;
		irq_set_chip_and_handler(first + i, &dummy_irq_chip, handle_simple_irq);
		irq_modify_status(first + i, IRQ_NOREQUEST, IRQ_NOPROBE);
	}
	init_waitqueue_head(&gpu->irq_wait);
	return mali_thread(gpu, irq_thread, gpu, "mali-irq");
}
