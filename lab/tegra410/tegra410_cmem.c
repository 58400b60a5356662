// SPDX-License-Identifier: GPL-2.0
/*
 * CMEM latency PMU: reads from the edge of the fabric to a socket's own DRAM.
 */
#include "tegra410_pmu.h"

#define CMEM_CONFIG_EVENT	GENMASK_ULL(1, 0)

static void cmem_broadcast(struct tegra410_pmu *pmu, unsigned int offset, u64 value)
{
	tegra410_pmu_write64(pmu, CMEM_INSTANCES, offset, value);
}

static int cmem_init(struct tegra410_pmu *pmu, struct device *dev)
{
	pmu->instances = CMEM_INSTANCES;
	pmu->counter_mask = U64_MAX;

	/* the registers only work with their clock on */
	cmem_broadcast(pmu, CMEM_CG_CTRL, CMEM_CG_CTRL_ENABLE);
	cmem_broadcast(pmu, CMEM_CTRL, CMEM_CTRL_CLEAR);
	cmem_broadcast(pmu, CMEM_CG_CTRL, CMEM_CG_CTRL_DISABLE);
	return 0;
}

static int cmem_open(struct tegra410_pmu *pmu, struct perf_event *event,
		     struct perf_event *leader)
{
	u64 id = event->attr.config & CMEM_CONFIG_EVENT;

	if (id > CMEM_EVENT_RD_CUM_OUTS) {
		tegra410_pmu_reject(pmu, "no event %llu", id);
		return -ENOENT;
	}
	hw_event(&event->hw) = id;
	return 0;
}

static void cmem_start(struct tegra410_pmu *pmu, u32 mask)
{
	if (pmu->running)
		return;
	cmem_broadcast(pmu, CMEM_CG_CTRL, CMEM_CG_CTRL_ENABLE);
	cmem_broadcast(pmu, CMEM_CTRL, CMEM_CTRL_ENABLE);
}

static void cmem_stop(struct tegra410_pmu *pmu, u32 mask)
{
	if (!pmu->running)
		cmem_broadcast(pmu, CMEM_CTRL, CMEM_CTRL_DISABLE);
}

static void cmem_idle(struct tegra410_pmu *pmu)
{
	cmem_broadcast(pmu, CMEM_CTRL, CMEM_CTRL_CLEAR);
	cmem_broadcast(pmu, CMEM_CG_CTRL, CMEM_CG_CTRL_DISABLE);
}

static int cmem_read(struct tegra410_pmu *pmu, struct perf_event *event, int idx, u64 *value)
{
	u32 all = GENMASK(pmu->instances - 1, 0);
	unsigned int mc;
	int ret;

	/* instances share one clock */
	if (hw_event(&event->hw) == CMEM_EVENT_CYCLES)
		return tegra410_pmu_read64(pmu, 0, CMEM_CYCLE, value);

	*value = 0;
	for (mc = 0; mc < CMEM_CHANNELS; mc++) {
		ret = tegra410_windows_sum(pmu, all, hw_event(&event->hw) == CMEM_EVENT_RD_REQ ?
					   CMEM_MC_REQ(mc) : CMEM_MC_AOR(mc), value);
		if (ret)
			return ret;
	}
	return 0;
}

static struct attribute *cmem_event_attrs[] = {
	TEGRA410_EVENT(cycles, CMEM_EVENT_CYCLES),
	TEGRA410_EVENT(rd_req, CMEM_EVENT_RD_REQ),
	TEGRA410_EVENT(rd_cum_outs, CMEM_EVENT_RD_CUM_OUTS),
	NULL
};

static struct attribute *cmem_format_attrs[] = {
	TEGRA410_FORMAT(event, "config:0-1"),
	NULL
};

TEGRA410_ATTR_GROUPS(cmem, cmem_event_attrs, cmem_format_attrs);

const struct tegra410_pmu_kind tegra410_cmem_kind = {
	.name_format = "nvidia_cmem_latency_pmu_%u",
	.attr_groups = cmem_attr_groups,
	.task_errno = -EOPNOTSUPP,
	.identifier = "NVDA2021",
	.init = cmem_init,
	.open = cmem_open,
	.slots = tegra410_windows_slots,
	.preset = tegra410_windows_preset,
	.start = cmem_start,
	.stop = cmem_stop,
	.read = cmem_read,
	.idle = cmem_idle,
};
