// SPDX-License-Identifier: GPL-2.0
/*
 * The model of one PMU: what all kinds have in common.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "soc_model.h"

static bool soc_pmu_is_cspmu(const struct soc_pmu *pmu)
{
	return pmu->place.kind <= SOC_PCIE_TGT;
}

/*
 * Count traffic that passes the PMU. Context: process context, under the device's hw_lock.
 * @tag: the traffic's attributes; @amounts: by catalogue number.
 */
void soc_pmu_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts)
{
	unsigned long irq;

	soc_truth_add(pmu, tag, amounts);

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->count(pmu, tag, amounts);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	if (soc_pmu_is_cspmu(pmu))
		soc_irq_wait(pmu);
}

static void soc_pmu_before_read(struct soc_pmu *pmu)
{
	const struct soc_trouble *trouble;

	rcu_read_lock();
	trouble = rcu_dereference(pmu->trouble);
	if (trouble)
		trouble->before_read(trouble->data);
	rcu_read_unlock();
}

/* Access a 32-bit register. Any context. */
u32 soc_pmu_read(struct soc_pmu *pmu, unsigned int window, unsigned int offset)
{
	unsigned long irq;
	u32 value;

	soc_pmu_before_read(pmu);
	raw_spin_lock_irqsave(&pmu->lock, irq);
	value = pmu->ops->read(pmu, window, offset);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return value;
}

void soc_pmu_write(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u32 value)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->write(pmu, window, offset, value);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

/* Access 64 bits, which are a pair of 32-bit registers, at once. Any context. */
u64 soc_pmu_read64(struct soc_pmu *pmu, unsigned int window, unsigned int offset)
{
	unsigned long irq;
	u32 low, high;

	soc_pmu_before_read(pmu);
	raw_spin_lock_irqsave(&pmu->lock, irq);
	/* the cycle counter goes on between two reads */
	do {
		high = pmu->ops->read(pmu, window, offset + 4);
		low = pmu->ops->read(pmu, window, offset);
	} while (pmu->ops->read(pmu, window, offset + 4) != high);
	pmu->wide_accesses++;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return (u64)high << 32 | low;
}

void soc_pmu_write64(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u64 value)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->write(pmu, window, offset, lower_32_bits(value));
	pmu->ops->write(pmu, window, offset + 4, upper_32_bits(value));
	pmu->wide_accesses++;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

static void soc_pmu_name(struct soc_pmu *pmu)
{
	static const char * const kinds[SOC_KINDS] = {
		[SOC_UCF]		= "ucf",
		[SOC_PCIE]		= "pcie",
		[SOC_PCIE_TGT]		= "pcie_tgt",
		[SOC_CMEM_LATENCY]	= "cmem_latency",
		[SOC_NVLINK_C2C]	= "nvlink_c2c",
		[SOC_NVCLINK]		= "nvclink",
		[SOC_NVDLINK]		= "nvdlink",
	};
	const char *kind = kinds[pmu->place.kind];

	if (pmu->place.kind == SOC_PCIE || pmu->place.kind == SOC_PCIE_TGT)
		snprintf(pmu->name, sizeof(pmu->name), "nvidia_%s_pmu_%u_rc_%u", kind,
			 pmu->place.socket, pmu->place.root_complex);
	else
		snprintf(pmu->name, sizeof(pmu->name), "nvidia_%s_pmu_%u", kind,
			 pmu->place.socket);
}

/* Build a model. Returns the model or an error pointer. */
struct soc_pmu *soc_pmu_create(const struct soc_place *place, const struct soc_config *config)
{
	struct soc_pmu *pmu;

	pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);
	if (!pmu)
		return ERR_PTR(-ENOMEM);
	pmu->place = *place;
	raw_spin_lock_init(&pmu->lock);
	hash_init(pmu->truth.rows);
	soc_pmu_name(pmu);

	if (soc_pmu_is_cspmu(pmu))
		soc_cspmu_init(pmu, config);
	else
		soc_windows_init(pmu);
	pmu->cycles = soc_pmu_cycles(pmu);
	return pmu;
}

/* Free a model, which has no driver. */
void soc_pmu_destroy(struct soc_pmu *pmu)
{
	if (soc_pmu_is_cspmu(pmu))
		soc_cspmu_fini(pmu);
	soc_truth_fini(pmu);
	kfree(pmu);
}
