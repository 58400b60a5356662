// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt registers and lines.
 *
 * The line of a block is high while an unmasked cause is set; writing the mask can raise it too.
 */
#include <linux/compiler.h>
#include <linux/container_of.h>

#include "mali.h"
#include "mali_counters.h"
#include "mali_regs.h"

static void update_line(struct mali_gpu *gpu, enum mali_irq_name name, u32 before)
{
	const struct mali_irq *irq = &gpu->irq[name];

	if (before || !(irq->rawstat & irq->mask))
		return;
	mali_event_locked(gpu, MALI_IRQ_COUNT, 1);
	model_line_rose(&gpu->lines, name);
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

static bool is_high(const struct model_lines *lines, unsigned int line)
{
	const struct mali_gpu *gpu = container_of(lines, struct mali_gpu, lines);
	const struct mali_irq *irq = &gpu->irq[line];

	return READ_ONCE(irq->rawstat) & READ_ONCE(irq->mask);
}

int mali_irq_init(struct mali_gpu *gpu)
{
	return model_lines_init(&gpu->lines, gpu->model, MALI_IRQS, is_high);
}
