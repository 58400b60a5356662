// SPDX-License-Identifier: GPL-2.0
/*
 * The overflow interrupt of a register model.
 *
 * Raised under the model's lock, so irq_work carries it out of there, and from
 * its handler a call function interrupt to the CPU that the driver chose. It is
 * a level: as long as an enabled overflow bit is set, the handler is called again.
 */
#include <linux/delay.h>

#include "soc_model.h"

/* how long traffic waits for the driver: longer, and counts are lost as on silicon */
#define IRQ_PATIENCE_MS		200

static bool irq_level(const struct soc_pmu *pmu)
{
	return pmu->cs.overflow & pmu->cs.irq_enabled;
}

/* hard interrupt, on the right CPU */
static void irq_deliver(struct soc_pmu *pmu)
{
	void (*handler)(void *data);
	unsigned long irq;
	void *data;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	while (irq_level(pmu) && pmu->irq.handler) {
		handler = pmu->irq.handler;
		data = pmu->irq.data;
		raw_spin_unlock_irqrestore(&pmu->lock, irq);
		handler(data);
		raw_spin_lock_irqsave(&pmu->lock, irq);
	}
	pmu->irq.busy = false;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

static void irq_csd(void *data)
{
	irq_deliver(data);
}

static void irq_work_handler(struct irq_work *work)
{
	struct soc_pmu *pmu = container_of(work, struct soc_pmu, irq.work);
	unsigned int cpu = READ_ONCE(pmu->irq.cpu);

	/* -EBUSY: on its way already. No such CPU any more: any will do */
	if (cpu == smp_processor_id() ||
	    smp_call_function_single_async(cpu, &pmu->irq.csd) == -ENXIO)
		irq_deliver(pmu);
}

/**
 * soc_irq_raise - an enabled overflow bit was set
 * @pmu: the PMU; with its lock
 */
void soc_irq_raise(struct soc_pmu *pmu)
{
	lockdep_assert_held(&pmu->lock);
	if (!pmu->irq.handler || pmu->irq.busy)
		return;
	pmu->irq.busy = true;
	pmu->irq.count++;
	irq_work_queue(&pmu->irq.work);
}

/**
 * soc_irq_wait - traffic stands still until the driver has handled the interrupt
 * @pmu: the PMU
 *
 * Between two pieces of traffic much less time passes here than on silicon.
 * Process context.
 */
void soc_irq_wait(struct soc_pmu *pmu)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(IRQ_PATIENCE_MS);

	while (READ_ONCE(pmu->irq.busy) && time_before(jiffies, deadline))
		usleep_range(20, 50);
}

static int soc_irq_request(void *ctx, void (*handler)(void *data), void *data)
{
	struct soc_pmu *pmu = ctx;
	unsigned long irq;
	int ret = -EBUSY;

	/* as request_irq(): it must be freed before it is requested again */
	raw_spin_lock_irqsave(&pmu->lock, irq);
	if (!pmu->irq.handler) {
		pmu->irq.data = data;
		pmu->irq.handler = handler;
		ret = 0;
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return ret;
}

static void soc_irq_free(void *ctx)
{
	struct soc_pmu *pmu = ctx;
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->irq.handler = NULL;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	irq_work_sync(&pmu->irq.work);
	/* what is on its way to another CPU always arrives or was turned back above */
	while (READ_ONCE(pmu->irq.busy))
		usleep_range(20, 50);
}

static void soc_irq_set_affinity(void *ctx, unsigned int cpu)
{
	struct soc_pmu *pmu = ctx;

	if (pmu->before_affinity)
		pmu->before_affinity(pmu, pmu->before_data);
	/* what the kernel's interrupts would say of one that was freed meanwhile */
	WARN_ONCE(!READ_ONCE(pmu->irq.handler), "%s: affinity of a free interrupt\n", pmu->name);
	WRITE_ONCE(pmu->irq.cpu, cpu);
}

const struct tegra410_pmu_irq_ops soc_irq_ops = {
	.request = soc_irq_request,
	.free = soc_irq_free,
	.set_affinity = soc_irq_set_affinity,
};

/**
 * soc_irq_init - without a handler
 * @pmu: the PMU
 */
void soc_irq_init(struct soc_pmu *pmu)
{
	pmu->irq.work = IRQ_WORK_INIT_HARD(irq_work_handler);
	INIT_CSD(&pmu->irq.csd, irq_csd, pmu);
}
