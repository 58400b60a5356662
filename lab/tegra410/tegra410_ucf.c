// SPDX-License-Identifier: GPL-2.0
/*
 * UCF PMU: the unified coherence fabric of a socket with its system level cache.
 */
#include "tegra410_pmu.h"

#define UCF_CONFIG_EVENT	GENMASK_ULL(32, 0)

static bool ucf_is_cycles(const struct perf_event *event)
{
	return (event->attr.config & UCF_CONFIG_EVENT) == TEGRA410_CSPMU_CYCLES;
}

static int ucf_open(struct tegra410_pmu *pmu, struct perf_event *event,
		    struct perf_event *leader)
{
	u64 config1 = event->attr.config1;

	hw_event(&event->hw) = event->attr.config & U32_MAX;
	if (ucf_is_cycles(event)) {
		if (!pmu->has_cycle_counter) {
			tegra410_pmu_reject(pmu, "no cycle counter, use bus_cycles");
			return -EINVAL;
		}
		hw_filter(&event->hw) = config1 & UCF_FILTER ?: UCF_SRC | UCF_DST;
		return 0;
	}

	/* a field that is zero means no filter: select everything */
	hw_filter(&event->hw) = (config1 & UCF_SRC ?: UCF_SRC) | (config1 & UCF_DST ?: UCF_DST);
	return 0;
}

static void ucf_assign(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	if (idx == CSPMU_CYCLE_IDX) {
		tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMCCFILTR, hw_filter(&event->hw));
		return;
	}
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVTYPER(idx), hw_event(&event->hw));
	tegra410_pmu_write32(pmu, CSPMU_PAGE0, CSPMU_PMEVFILTR(idx), hw_filter(&event->hw));
}

static int ucf_init(struct tegra410_pmu *pmu, struct device *dev)
{
	return tegra410_cspmu_init(pmu, UCF_PMIIDR_MODEL);
}

static struct attribute *ucf_event_attrs[] = {
	TEGRA410_EVENT(bus_cycles, UCF_EVENT_BUS_CYCLES),
	TEGRA410_EVENT(slc_allocate, UCF_EVENT_SLC_ALLOCATE),
	TEGRA410_EVENT(slc_wb, UCF_EVENT_SLC_WB),
	TEGRA410_EVENT(slc_refill_rd, UCF_EVENT_SLC_REFILL_RD),
	TEGRA410_EVENT(slc_refill_wr, UCF_EVENT_SLC_REFILL_WR),
	TEGRA410_EVENT(slc_hit_rd, UCF_EVENT_SLC_HIT_RD),
	TEGRA410_EVENT(slc_access_dataless, UCF_EVENT_SLC_ACCESS_DATALESS),
	TEGRA410_EVENT(slc_access_atomic, UCF_EVENT_SLC_ACCESS_ATOMIC),
	TEGRA410_EVENT(slc_access_rd, UCF_EVENT_SLC_ACCESS_RD),
	TEGRA410_EVENT(slc_access_wr, UCF_EVENT_SLC_ACCESS_WR),
	TEGRA410_EVENT(slc_bytes_rd, UCF_EVENT_SLC_BYTES_RD),
	TEGRA410_EVENT(slc_bytes_wr, UCF_EVENT_SLC_BYTES_WR),
	TEGRA410_EVENT(mem_access_rd, UCF_EVENT_MEM_ACCESS_RD),
	TEGRA410_EVENT(mem_access_wr, UCF_EVENT_MEM_ACCESS_WR),
	TEGRA410_EVENT(mem_bytes_rd, UCF_EVENT_MEM_BYTES_RD),
	TEGRA410_EVENT(mem_bytes_wr, UCF_EVENT_MEM_BYTES_WR),
	TEGRA410_EVENT(local_snoop, UCF_EVENT_LOCAL_SNOOP),
	TEGRA410_EVENT(ext_snp_access, UCF_EVENT_EXT_SNP_ACCESS),
	TEGRA410_EVENT(ext_snp_evict, UCF_EVENT_EXT_SNP_EVICT),
	TEGRA410_EVENT(cycles, TEGRA410_CSPMU_CYCLES),
	NULL
};

static struct attribute *ucf_format_attrs[] = {
	TEGRA410_FORMAT(event, "config:0-32"),
	TEGRA410_FORMAT(src_loc_noncpu, "config1:0"),
	TEGRA410_FORMAT(src_loc_cpu, "config1:1"),
	TEGRA410_FORMAT(src_rem, "config1:2"),
	TEGRA410_FORMAT(dst_loc_cmem, "config1:8"),
	TEGRA410_FORMAT(dst_loc_gmem, "config1:9"),
	TEGRA410_FORMAT(dst_loc_other, "config1:10"),
	TEGRA410_FORMAT(dst_rem, "config1:11"),
	NULL
};

TEGRA410_ATTR_GROUPS(ucf, ucf_event_attrs, ucf_format_attrs);

const struct tegra410_pmu_kind tegra410_ucf_kind = {
	.name_format = "nvidia_ucf_pmu_%u",
	.attr_groups = ucf_attr_groups,
	.task_errno = -EINVAL,
	.init = ucf_init,
	.open = ucf_open,
	.is_cycles = ucf_is_cycles,
	.assign = ucf_assign,
	TEGRA410_CSPMU_OPS
};
