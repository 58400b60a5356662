// SPDX-License-Identifier: GPL-2.0
/*
 * Tegra410 uncore PMUs: counters of the CoreSight PMU architecture (Arm IHI 0091), which UCF, PCIE
 * and PCIE-TGT implement.
 */
#include <linux/bitfield.h>
#include <linux/device.h>

#include "tegra410_pmu.h"

/* event counters 0..30 and the cycle counter fit one enable register */
#define CSPMU_MAX_PROGRAMMABLE	CSPMU_CYCLE_IDX

/* identification registers; an unreadable one matches no model */
static u32 tegra410_cspmu_id(struct tegra410_pmu *pmu, unsigned int offset)
{
	u32 value;

	return tegra410_pmu_read32(pmu, CSPMU_PAGE0, offset, &value) ? 0 : value;
}

/* if PMIIDR reads as zero, it is derived from the CoreSight identification */
static u32 tegra410_cspmu_pmiidr(struct tegra410_pmu *pmu)
{
	u32 pmiidr = tegra410_cspmu_id(pmu, CSPMU_PMIIDR);
	u32 pidr[5];

	if (pmiidr)
		return pmiidr;

	pidr[0] = tegra410_cspmu_id(pmu, CSPMU_PMPIDR0);
	pidr[1] = tegra410_cspmu_id(pmu, CSPMU_PMPIDR1);
	pidr[2] = tegra410_cspmu_id(pmu, CSPMU_PMPIDR2);
	pidr[3] = tegra410_cspmu_id(pmu, CSPMU_PMPIDR3);
	pidr[4] = tegra410_cspmu_id(pmu, CSPMU_PMPIDR4);

	return FIELD_PREP(CSPMU_PMIIDR_PRODUCT,
			  FIELD_GET(CSPMU_PMPIDR1_PART_1, pidr[1]) << 8 |
			  FIELD_GET(CSPMU_PMPIDR0_PART_0, pidr[0])) |
	       FIELD_PREP(CSPMU_PMIIDR_VARIANT, FIELD_GET(CSPMU_PMPIDR2_REVISION, pidr[2])) |
	       FIELD_PREP(CSPMU_PMIIDR_REVISION, FIELD_GET(CSPMU_PMPIDR3_REVAND, pidr[3])) |
	       FIELD_PREP(CSPMU_PMIIDR_IMPLEMENTER,
			  FIELD_GET(CSPMU_PMPIDR4_DES_2, pidr[4]) << 8 |
			  FIELD_GET(CSPMU_PMPIDR2_DES_1, pidr[2]) << 4 |
			  FIELD_GET(CSPMU_PMPIDR1_DES_0, pidr[1]));
}

static unsigned int tegra410_cspmu_stride(struct tegra410_pmu *pmu)
{
	return pmu->counter_mask > U32_MAX ? 8 : 4;
}

/*
 * Identify a CoreSight PMU and stop it. Returns 0, -ENODEV for a different model, or the regmap's
 * error.
 * @model: expected product, variant and revision.
 */
int tegra410_cspmu_init(struct tegra410_pmu *pmu, u32 model)
{
	unsigned int counters;
	u32 pmcfgr;
	int ret;

	pmu->pmiidr = tegra410_cspmu_pmiidr(pmu);
	if ((pmu->pmiidr & CSPMU_PMIIDR_MODEL) != model ||
	    FIELD_GET(CSPMU_PMIIDR_IMPLEMENTER, pmu->pmiidr) != CSPMU_IMPLEMENTER_NVIDIA)
		return -ENODEV;

	ret = tegra410_pmu_read32(pmu, CSPMU_PAGE0, CSPMU_PMCFGR, &pmcfgr);
	if (ret)
		return ret;
	counters = FIELD_GET(CSPMU_PMCFGR_N, pmcfgr) + 1;
	pmu->counter_mask = GENMASK_ULL(FIELD_GET(CSPMU_PMCFGR_SIZE, pmcfgr), 0);
	pmu->has_cycle_counter = pmcfgr & CSPMU_PMCFGR_CC;
	if (pmu->has_cycle_counter)
		counters--;
	counters = min_t(unsigned int, counters, CSPMU_MAX_PROGRAMMABLE);
	pmu->programmable = counters ? GENMASK(counters - 1, 0) : 0;

	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCNTENCLR, U32_MAX);
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMINTENCLR, U32_MAX);
	tegra410_pmu_write32(pmu, CSPMU_PAGE1, CSPMU_PMOVSCLR, U32_MAX);
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCR, CSPMU_PMCR_P | CSPMU_PMCR_C);
	return 0;
}

/*
 * Counters for an event. Returns the cycle counter for cycles if there is one, else all others.
 * @event: the event.
 */
u32 tegra410_cspmu_slots(struct tegra410_pmu *pmu, const struct perf_event *event)
{
	if (pmu->kind->is_cycles(event) && pmu->has_cycle_counter)
		return BIT(CSPMU_CYCLE_IDX);
	return pmu->programmable;
}

/*
 * Start a counter from half its range. Leaves half of the range until the overflow interrupt, and
 * half until it is handled.
 * @event: its event; @idx: the counter.
 */
void tegra410_cspmu_preset(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	unsigned int stride = tegra410_cspmu_stride(pmu);
	u64 value = pmu->counter_mask >> 1;

	local64_set(&event->hw.prev_count, value);
	if (stride == 8)
		tegra410_pmu_write64(pmu, CSPMU_PAGE1, CSPMU_PMEVCNTR(idx, stride), value);
	else
		tegra410_pmu_write32(pmu, CSPMU_PAGE1, CSPMU_PMEVCNTR(idx, stride), value);
}

/* Start counters, all at once. */
void tegra410_cspmu_start(struct tegra410_pmu *pmu, u32 mask)
{
	if (!mask)
		return;
	if (pmu->pdata.irq_ops)
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMINTENSET, mask);
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCNTENSET, mask);
	if (!pmu->running)
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCR, CSPMU_PMCR_E);
}

/* Stop counters, all at once. */
void tegra410_cspmu_stop(struct tegra410_pmu *pmu, u32 mask)
{
	if (!mask)
		return;
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCNTENCLR, mask);
	if (pmu->pdata.irq_ops)
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMINTENCLR, mask);
	if (!pmu->running)
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCR, 0);
}

/*
 * Read a counter. Returns 0 or a negative errno.
 * @event: its event; @idx: the counter; @value: set to its value.
 */
int tegra410_cspmu_read(struct tegra410_pmu *pmu, struct perf_event *event, int idx, u64 *value)
{
	unsigned int stride = tegra410_cspmu_stride(pmu);
	u32 value32;
	int ret;

	if (stride == 8)
		return tegra410_pmu_read64(pmu, CSPMU_PAGE1, CSPMU_PMEVCNTR(idx, stride), value);

	ret = tegra410_pmu_read32(pmu, CSPMU_PAGE1, CSPMU_PMEVCNTR(idx, stride), &value32);
	if (!ret)
		*value = value32;
	return ret;
}

/* Read and clear the overflow status. Returns the counters that overflowed since the last call. */
u32 tegra410_cspmu_irq(struct tegra410_pmu *pmu)
{
	u32 mask;

	if (tegra410_pmu_read32(pmu, CSPMU_PAGE1, CSPMU_PMOVSCLR, &mask))
		return 0;
	tegra410_pmu_write32(pmu, CSPMU_PAGE1, CSPMU_PMOVSCLR, mask);
	return mask;
}
