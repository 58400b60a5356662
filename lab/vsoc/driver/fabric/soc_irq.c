// SPDX-License-Identifier: GPL-2.0
/*
 * The overflow interrupt of a register model.
 *
 * It is raised under the model's lock, so irq_work defers it, and a function call IPI takes it to
 * the CPU that the driver chose. It is level-triggered: the handler is called again as long as an
 * enabled overflow bit is set.
 */
#include <linux/delay.h>

#include "soc_model.h"

/* traffic waits this long for the driver; afterwards counts are lost, as in hardware */
#define IRQ_PATIENCE_MS		200

static bool irq_level(const struct soc_pmu *pmu)
{
	return pmu->cs.overflow & pmu->cs.irq_enabled;
}

/* in hard interrupt context, on the chosen CPU */
static void irq_deliver(struct soc_pmu *pmu)
{
	irq_handler_t handler;
	unsigned long irq;
	void *data;
	int number;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	while (irq_level(pmu) && pmu->irq.handler) {
		handler = pmu->irq.handler;
		number = pmu->irq.number;
		data = pmu->irq.data;
		raw_spin_unlock_irqrestore(&pmu->lock, irq);
		handler(number, data);
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

	/* -EBUSY: already pending. -ENXIO: the CPU is offline, so use this one. */
	if (cpu == smp_processor_id() ||
	    smp_call_function_single_async(cpu, &pmu->irq.csd) == -ENXIO)
		irq_deliver(pmu);
}

/* Raise the interrupt after an enabled overflow bit was set. @pmu: the PMU, locked. */
void soc_irq_raise(struct soc_pmu *pmu)
{
	lockdep_assert_held(&pmu->lock);
	if (!pmu->irq.handler || pmu->irq.busy)
		return;
	pmu->irq.busy = true;
	pmu->irq.count++;
	irq_work_queue(&pmu->irq.work);
}

/*
 * Block traffic until the driver has handled the interrupt. Traffic is much denser here than in
 * hardware. Process context.
 */
void soc_irq_wait(struct soc_pmu *pmu)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(IRQ_PATIENCE_MS);

	while (READ_ONCE(pmu->irq.busy) && time_before(jiffies, deadline))
		usleep_range(20, 50);
}

/* Have @handler called as interrupt @number of the PMU. Returns 0 or -EBUSY. */
int soc_irq_request(struct soc_pmu *pmu, int number, irq_handler_t handler, void *data)
{
	unsigned long irq;
	int ret = -EBUSY;

	/* as with request_irq(), the previous handler must have been freed */
	raw_spin_lock_irqsave(&pmu->lock, irq);
	if (!pmu->irq.handler) {
		pmu->irq.number = number;
		pmu->irq.data = data;
		pmu->irq.handler = handler;
		ret = 0;
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return ret;
}

/* Afterwards the handler neither runs nor is called again. */
void soc_irq_free(struct soc_pmu *pmu)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->irq.handler = NULL;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	irq_work_sync(&pmu->irq.work);
	/* a pending interrupt either reaches its CPU or is cancelled above */
	while (READ_ONCE(pmu->irq.busy))
		usleep_range(20, 50);
}

/* Move the interrupt to another CPU. */
void soc_irq_set_affinity(struct soc_pmu *pmu, unsigned int cpu)
{
	const struct soc_trouble *trouble;

	rcu_read_lock();
	trouble = rcu_dereference(pmu->trouble);
	if (trouble)
		trouble->before_affinity(trouble->data);
	rcu_read_unlock();
	/* as the kernel's interrupts warn about a freed one */
	WARN_ONCE(!READ_ONCE(pmu->irq.handler), "%s: affinity of a free interrupt\n", pmu->name);
	WRITE_ONCE(pmu->irq.cpu, cpu);
}

/* Initialise without a handler. */
void soc_irq_init(struct soc_pmu *pmu)
{
	pmu->irq.work = IRQ_WORK_INIT_HARD(irq_work_handler);
	INIT_CSD(&pmu->irq.csd, irq_csd, pmu);
}
