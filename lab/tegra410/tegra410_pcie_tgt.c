// SPDX-License-Identifier: GPL-2.0
/*
 * PCIE-TGT PMU: accesses to PCIe BARs and CXL memory behind a root complex.
 */
#include <linux/bitfield.h>

#include "tegra410_pmu.h"

#define PCIE_TGT_CONFIG_EVENT	GENMASK_ULL(2, 0)
#define PCIE_TGT_CONFIG_RP_MASK	GENMASK_ULL(10, 3)
#define PCIE_TGT_CONFIG_ADDR_EN	BIT_ULL(11)

static bool pcie_tgt_is_cycles(const struct perf_event *event)
{
	return (event->attr.config & PCIE_TGT_CONFIG_EVENT) == PCIE_TGT_EVENT_CYCLES;
}

/* the address slot of an event, or NULL */
static struct tegra410_pmu_slot *pcie_tgt_slot(struct tegra410_pmu *pmu,
					       const struct perf_event *event)
{
	u32 select = FIELD_GET(PCIE_TGT_SLOT, (u32)hw_filter2(&event->hw));

	return select ? &pmu->address_slots[__ffs(select)] : NULL;
}

/*
 * Slots are reserved while an event is open, so that opening fails when none is free. An existing
 * slot with the same base and mask is shared.
 */
static struct tegra410_pmu_slot *pcie_tgt_reserve(struct tegra410_pmu *pmu, u64 base, u64 mask)
{
	struct tegra410_pmu_slot *slot, *unused = NULL;

	for (slot = pmu->address_slots; slot < pmu->address_slots + PCIE_TGT_SLOTS; slot++) {
		if (!slot->opened) {
			unused = unused ?: slot;
		} else if (slot->base == base && slot->mask == mask) {
			slot->opened++;
			return slot;
		}
	}
	if (unused) {
		unused->base = base;
		unused->mask = mask;
		unused->opened = 1;
	}
	return unused;
}

static int pcie_tgt_open(struct tegra410_pmu *pmu, struct perf_event *event,
			 struct perf_event *leader)
{
	u64 config = event->attr.config;
	u32 rp_mask = FIELD_GET(PCIE_TGT_CONFIG_RP_MASK, config);
	struct tegra410_pmu_slot *slot;

	hw_event(&event->hw) = FIELD_GET(PCIE_TGT_CONFIG_EVENT, config);
	hw_filter2(&event->hw) = 0;
	if (pcie_tgt_is_cycles(event))
		return 0;

	if (!(config & PCIE_TGT_CONFIG_ADDR_EN)) {
		hw_filter2(&event->hw) = rp_mask ?: PCIE_TGT_RP_MASK;
		return 0;
	}

	slot = pcie_tgt_reserve(pmu, event->attr.config1, event->attr.config2);
	if (!slot) {
		tegra410_pmu_reject(pmu, "all %d target address filters are in use",
				    PCIE_TGT_SLOTS);
		return -EINVAL;
	}
	hw_filter2(&event->hw) = rp_mask | FIELD_PREP(PCIE_TGT_SLOT,
						      BIT(slot - pmu->address_slots));
	return 0;
}

static void pcie_tgt_close(struct tegra410_pmu *pmu, struct perf_event *event)
{
	struct tegra410_pmu_slot *slot = pcie_tgt_slot(pmu, event);

	if (slot)
		slot->opened--;
}

/* the first counter that uses the slot programs it */
static void pcie_tgt_slot_get(struct tegra410_pmu *pmu, struct tegra410_pmu_slot *slot)
{
	unsigned int n = slot - pmu->address_slots;

	if (slot->counting++)
		return;
	tegra410_pmu_write64(pmu, CSPMU_ADDRESS_FILTER, PCIE_TGT_SLOT_BASE(n), slot->base);
	tegra410_pmu_write64(pmu, CSPMU_ADDRESS_FILTER, PCIE_TGT_SLOT_MASK(n), slot->mask);
	tegra410_pmu_write32(pmu, CSPMU_ADDRESS_FILTER, PCIE_TGT_SLOT_CTRL(n),
			     PCIE_TGT_SLOT_CTRL_E);
}

/* the last counter that uses the slot clears it */
static void pcie_tgt_slot_put(struct tegra410_pmu *pmu, struct tegra410_pmu_slot *slot)
{
	unsigned int n = slot - pmu->address_slots;

	if (--slot->counting)
		return;
	tegra410_pmu_write32(pmu, CSPMU_ADDRESS_FILTER, PCIE_TGT_SLOT_CTRL(n), 0);
	tegra410_pmu_write64(pmu, CSPMU_ADDRESS_FILTER, PCIE_TGT_SLOT_BASE(n), 0);
	tegra410_pmu_write64(pmu, CSPMU_ADDRESS_FILTER, PCIE_TGT_SLOT_MASK(n), 0);
}

static void pcie_tgt_assign(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	struct tegra410_pmu_slot *slot = pcie_tgt_slot(pmu, event);

	if (idx == CSPMU_CYCLE_IDX) {
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCCFILTR, 0);
		return;
	}
	if (slot)
		pcie_tgt_slot_get(pmu, slot);
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVTYPER(idx), hw_event(&event->hw));
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILT2R(idx), hw_filter2(&event->hw));
}

static void pcie_tgt_release(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	struct tegra410_pmu_slot *slot = pcie_tgt_slot(pmu, event);

	if (idx == CSPMU_CYCLE_IDX)
		return;
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILT2R(idx), 0);
	if (slot)
		pcie_tgt_slot_put(pmu, slot);
}

static int pcie_tgt_init(struct tegra410_pmu *pmu, struct device *dev)
{
	return tegra410_cspmu_init(pmu, PCIE_TGT_PMIIDR_MODEL);
}

static struct attribute *pcie_tgt_event_attrs[] = {
	TEGRA410_EVENT(rd_bytes, PCIE_EVENT_RD_BYTES),
	TEGRA410_EVENT(wr_bytes, PCIE_EVENT_WR_BYTES),
	TEGRA410_EVENT(rd_req, PCIE_EVENT_RD_REQ),
	TEGRA410_EVENT(wr_req, PCIE_EVENT_WR_REQ),
	TEGRA410_EVENT(cycles, PCIE_TGT_EVENT_CYCLES),
	NULL
};

static struct attribute *pcie_tgt_format_attrs[] = {
	TEGRA410_FORMAT(event, "config:0-2"),
	TEGRA410_FORMAT(dst_rp_mask, "config:3-10"),
	TEGRA410_FORMAT(dst_addr_en, "config:11"),
	TEGRA410_FORMAT(dst_addr_base, "config1:0-63"),
	TEGRA410_FORMAT(dst_addr_mask, "config2:0-63"),
	NULL
};

TEGRA410_ATTR_GROUPS(pcie_tgt, pcie_tgt_event_attrs, pcie_tgt_format_attrs);

const struct tegra410_pmu_kind tegra410_pcie_tgt_kind = {
	.name_format = "nvidia_pcie_tgt_pmu_%u_rc_%u",
	.attr_groups = pcie_tgt_attr_groups,
	.task_errno = -EINVAL,
	.init = pcie_tgt_init,
	.open = pcie_tgt_open,
	.close = pcie_tgt_close,
	.is_cycles = pcie_tgt_is_cycles,
	.assign = pcie_tgt_assign,
	.release = pcie_tgt_release,
	TEGRA410_CSPMU_OPS
};
