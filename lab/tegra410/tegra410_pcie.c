// SPDX-License-Identifier: GPL-2.0
/*
 * PCIE PMU: reads and writes of the devices behind a root complex.
 */
#include <linux/bitfield.h>

#include "tegra410_pmu.h"

#define PCIE_CONFIG_EVENT	GENMASK_ULL(32, 0)
/* a BDF filter's value, with its enable bit: 0 is no filter, not bus 0 */
#define PCIE_BDF_FILTER		(PCIE_SRC_BDF | PCIE_SRC_BDF_EN)

static bool pcie_is_cycles(const struct perf_event *event)
{
	return (event->attr.config & PCIE_CONFIG_EVENT) == TEGRA410_CSPMU_CYCLES;
}

static u32 pcie_bdf(const struct perf_event *event)
{
	return hw_filter(&event->hw) & PCIE_BDF_FILTER;
}

/* checks the source filter and fills in defaults */
static int pcie_source(struct tegra410_pmu *pmu, struct perf_event *event,
		       struct perf_event *leader, u32 *source)
{
	u32 filter = event->attr.config1 & PCIE_SRC;
	u32 leader_bdf = leader ? pcie_bdf(leader) : 0;
	u32 bdf;

	if ((filter & PCIE_SRC_BDF) && !(filter & PCIE_SRC_BDF_EN)) {
		tegra410_pmu_reject(pmu, "src_bdf without src_bdf_en would select nothing");
		return -EINVAL;
	}
	if ((filter & PCIE_SRC_RP_MASK) && (filter & PCIE_SRC_BDF_EN)) {
		tegra410_pmu_reject(pmu, "RP and BDF filtering are mutually exclusive");
		return -EINVAL;
	}
	if (!filter)
		filter = leader_bdf ?: PCIE_SRC_RP_MASK;

	bdf = filter & PCIE_BDF_FILTER;
	if (leader && bdf != leader_bdf) {
		tegra410_pmu_reject(pmu, "sibling and leader BDF value should be equal");
		return -EINVAL;
	}
	if (bdf && pmu->bdf_users && bdf != pmu->bdf) {
		tegra410_pmu_reject(pmu, "only one BDF value is supported, %#lx is in use",
				    FIELD_GET(PCIE_SRC_BDF, pmu->bdf));
		return -EINVAL;
	}

	*source = filter;
	return 0;
}

static int pcie_open(struct tegra410_pmu *pmu, struct perf_event *event,
		     struct perf_event *leader)
{
	u32 source;
	int ret;

	hw_event(&event->hw) = event->attr.config & U32_MAX;
	hw_filter2(&event->hw) = event->attr.config2 & PCIE_DST ?: PCIE_DST;
	if (pcie_is_cycles(event)) {
		if (!pmu->has_cycle_counter) {
			tegra410_pmu_reject(pmu, "no cycle counter");
			return -EINVAL;
		}
		hw_filter(&event->hw) = event->attr.config1 & PCIE_SRC ?: PCIE_SRC_RP_MASK;
		return 0;
	}

	ret = pcie_source(pmu, event, leader, &source);
	if (ret)
		return ret;

	hw_filter(&event->hw) = source;
	if (pcie_bdf(event)) {
		pmu->bdf = pcie_bdf(event);
		pmu->bdf_users++;
	}
	return 0;
}

static void pcie_close(struct tegra410_pmu *pmu, struct perf_event *event)
{
	if (!pcie_is_cycles(event) && pcie_bdf(event))
		pmu->bdf_users--;
}

/*
 * Events with and without the PMU's BDF filter cannot count at the same time. They are accepted;
 * perf multiplexes them.
 */
static bool pcie_conflict(const struct perf_event *a, const struct perf_event *b)
{
	if (pcie_is_cycles(a) || pcie_is_cycles(b))
		return false;
	return pcie_bdf(a) != pcie_bdf(b);
}

static void pcie_assign(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	if (idx == CSPMU_CYCLE_IDX) {
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCCFILTR, hw_filter(&event->hw));
		return;
	}
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVTYPER(idx), hw_event(&event->hw));
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILTR(idx), hw_filter(&event->hw));
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILT2R(idx), hw_filter2(&event->hw));
}

static void pcie_release(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	if (idx == CSPMU_CYCLE_IDX) {
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCCFILTR, 0);
		return;
	}
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILTR(idx), 0);
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILT2R(idx), 0);
}

static int pcie_init(struct tegra410_pmu *pmu, struct device *dev)
{
	return tegra410_cspmu_init(pmu, PCIE_PMIIDR_MODEL);
}

static struct attribute *pcie_event_attrs[] = {
	TEGRA410_EVENT(rd_bytes, PCIE_EVENT_RD_BYTES),
	TEGRA410_EVENT(wr_bytes, PCIE_EVENT_WR_BYTES),
	TEGRA410_EVENT(rd_req, PCIE_EVENT_RD_REQ),
	TEGRA410_EVENT(wr_req, PCIE_EVENT_WR_REQ),
	TEGRA410_EVENT(rd_cum_outs, PCIE_EVENT_RD_CUM_OUTS),
	TEGRA410_EVENT(cycles, TEGRA410_CSPMU_CYCLES),
	NULL
};

static struct attribute *pcie_format_attrs[] = {
	TEGRA410_FORMAT(event, "config:0-32"),
	TEGRA410_FORMAT(src_rp_mask, "config1:0-7"),
	TEGRA410_FORMAT(src_bdf, "config1:8-23"),
	TEGRA410_FORMAT(src_bdf_en, "config1:24"),
	TEGRA410_FORMAT(dst_loc_cmem, "config2:0"),
	TEGRA410_FORMAT(dst_loc_gmem, "config2:1"),
	TEGRA410_FORMAT(dst_loc_pcie_p2p, "config2:2"),
	TEGRA410_FORMAT(dst_loc_pcie_cxl, "config2:3"),
	TEGRA410_FORMAT(dst_rem, "config2:4"),
	NULL
};

TEGRA410_ATTR_GROUPS(pcie, pcie_event_attrs, pcie_format_attrs);

const struct tegra410_pmu_kind tegra410_pcie_kind = {
	.name_format = "nvidia_pcie_pmu_%u_rc_%u",
	.attr_groups = pcie_attr_groups,
	.task_errno = -EINVAL,
	.init = pcie_init,
	.open = pcie_open,
	.close = pcie_close,
	.is_cycles = pcie_is_cycles,
	.conflict = pcie_conflict,
	.assign = pcie_assign,
	.release = pcie_release,
	TEGRA410_CSPMU_OPS
};
