// SPDX-License-Identifier: GPL-2.0
/*
 * The C2C family: NVLink-C2C to GPUs or another SoC, NV-CLink to another SoC, NV-DLink to CXL
 * memory. They share one register layout; the peer determines which counters count.
 */
#include <linux/bitfield.h>

#include "tegra410_pmu.h"

#define C2C_CONFIG_EVENT	GENMASK_ULL(7, 0)
#define C2C_CONFIG1_GPU_MASK	GENMASK_ULL(1, 0)

#define C2C_GPU_EVENTS		GENMASK(C2C_EVENTS - 1, 0)
#define C2C_CPU_EVENTS		(BIT(C2C_EVENT_CYCLES) | \
				 BIT(C2C_EVENT_IN_RD_CUM_OUTS) | BIT(C2C_EVENT_IN_RD_REQ) | \
				 BIT(C2C_EVENT_OUT_RD_CUM_OUTS) | BIT(C2C_EVENT_OUT_RD_REQ))
#define C2C_CXLMEM_EVENTS	(BIT(C2C_EVENT_CYCLES) | \
				 BIT(C2C_EVENT_IN_RD_CUM_OUTS) | BIT(C2C_EVENT_IN_RD_REQ))

static const unsigned int c2c_registers[C2C_EVENTS] = {
	[C2C_EVENT_CYCLES]		= C2C_CYCLE,
	[C2C_EVENT_IN_RD_CUM_OUTS]	= C2C_IN_RD_CUM_OUTS,
	[C2C_EVENT_IN_RD_REQ]		= C2C_IN_RD_REQ,
	[C2C_EVENT_IN_WR_CUM_OUTS]	= C2C_IN_WR_CUM_OUTS,
	[C2C_EVENT_IN_WR_REQ]		= C2C_IN_WR_REQ,
	[C2C_EVENT_OUT_RD_CUM_OUTS]	= C2C_OUT_RD_CUM_OUTS,
	[C2C_EVENT_OUT_RD_REQ]		= C2C_OUT_RD_REQ,
	[C2C_EVENT_OUT_WR_CUM_OUTS]	= C2C_OUT_WR_CUM_OUTS,
	[C2C_EVENT_OUT_WR_REQ]		= C2C_OUT_WR_REQ,
};

static void c2c_control(struct tegra410_pmu *pmu, u32 value)
{
	tegra410_pmu_write32(pmu, pmu->instances, C2C_CTRL, value);
}

static int c2c_init(struct tegra410_pmu *pmu, unsigned int instances)
{
	pmu->instances = instances;
	pmu->counter_mask = U64_MAX;
	c2c_control(pmu, C2C_CTRL_DISABLE);
	return 0;
}

static int c2c_cpu_init(struct tegra410_pmu *pmu, struct device *dev, unsigned int instances)
{
	if (!pmu->pdata.cpu_en_mask || pmu->pdata.cpu_en_mask >> instances) {
		dev_err(dev, "cpu_en_mask %#x is not a set of the %u instances\n",
			pmu->pdata.cpu_en_mask, instances);
		return -EINVAL;
	}
	return c2c_init(pmu, instances);
}

static int nvlink_c2c_cpu_init(struct tegra410_pmu *pmu, struct device *dev)
{
	return c2c_cpu_init(pmu, dev, NVLINK_C2C_INSTANCES);
}

static int nvclink_init(struct tegra410_pmu *pmu, struct device *dev)
{
	return c2c_cpu_init(pmu, dev, NVCLINK_INSTANCES);
}

static int nvdlink_init(struct tegra410_pmu *pmu, struct device *dev)
{
	return c2c_init(pmu, NVDLINK_INSTANCES);
}

static int nvlink_c2c_gpu_init(struct tegra410_pmu *pmu, struct device *dev)
{
	unsigned int gpu;

	/* a bit is the number of a GPU, independent of which GPUs exist */
	pmu->gpus = 0;
	for (gpu = 0; gpu < TEGRA410_PMU_MAX_GPUS; gpu++) {
		if (pmu->pdata.gpu_en_mask[gpu] >> NVLINK_C2C_INSTANCES) {
			dev_err(dev, "gpu_en_mask[%u] %#x has more than %u instances\n", gpu,
				pmu->pdata.gpu_en_mask[gpu], NVLINK_C2C_INSTANCES);
			return -EINVAL;
		}
		if (pmu->pdata.gpu_en_mask[gpu])
			pmu->gpus |= BIT(gpu);
	}
	if (!pmu->gpus) {
		dev_err(dev, "No GPU is enabled\n");
		return -EINVAL;
	}
	return c2c_init(pmu, NVLINK_C2C_INSTANCES);
}

static int c2c_decode(struct tegra410_pmu *pmu, struct perf_event *event, u32 events,
		      u32 instances)
{
	u64 id = event->attr.config & C2C_CONFIG_EVENT;

	if (id >= C2C_EVENTS || !(events & BIT(id))) {
		tegra410_pmu_reject(pmu, "no event %#llx on this link", id);
		return -ENOENT;
	}
	hw_event(&event->hw) = id;
	hw_filter(&event->hw) = instances;
	return 0;
}

static int c2c_cpu_open(struct tegra410_pmu *pmu, struct perf_event *event,
			struct perf_event *leader)
{
	return c2c_decode(pmu, event, C2C_CPU_EVENTS, pmu->pdata.cpu_en_mask);
}

static int nvdlink_open(struct tegra410_pmu *pmu, struct perf_event *event,
			struct perf_event *leader)
{
	return c2c_decode(pmu, event, C2C_CXLMEM_EVENTS, GENMASK(NVDLINK_INSTANCES - 1, 0));
}

static int nvlink_c2c_gpu_open(struct tegra410_pmu *pmu, struct perf_event *event,
			       struct perf_event *leader)
{
	u32 mask = FIELD_GET(C2C_CONFIG1_GPU_MASK, event->attr.config1);
	u32 instances = 0;
	unsigned int gpu;

	mask = mask ?: pmu->gpus;
	if (!(mask & pmu->gpus)) {
		tegra410_pmu_reject(pmu, "gpu_mask %#x selects no GPU, there are %#x", mask,
				    pmu->gpus);
		return -EINVAL;
	}
	for (gpu = 0; gpu < TEGRA410_PMU_MAX_GPUS; gpu++) {
		if (mask & BIT(gpu))
			instances |= pmu->pdata.gpu_en_mask[gpu];
	}
	return c2c_decode(pmu, event, C2C_GPU_EVENTS, instances);
}

static void c2c_start(struct tegra410_pmu *pmu, u32 mask)
{
	if (!pmu->running)
		c2c_control(pmu, C2C_CTRL_ENABLE);
}

static void c2c_stop(struct tegra410_pmu *pmu, u32 mask)
{
	if (!pmu->running)
		c2c_control(pmu, C2C_CTRL_DISABLE);
}

static int c2c_read(struct tegra410_pmu *pmu, struct perf_event *event, int idx, u64 *value)
{
	unsigned int offset = c2c_registers[hw_event(&event->hw)];
	u32 instances = hw_filter(&event->hw);

	/* instances share one clock */
	if (hw_event(&event->hw) == C2C_EVENT_CYCLES)
		return tegra410_pmu_read64(pmu, __ffs(instances), offset, value);

	*value = 0;
	return tegra410_windows_sum(pmu, instances, offset, value);
}

/* --- sysfs ---------------------------------------------------------------- */

static struct attribute *c2c_gpu_event_attrs[] = {
	TEGRA410_EVENT(cycles, C2C_EVENT_CYCLES),
	TEGRA410_EVENT(in_rd_cum_outs, C2C_EVENT_IN_RD_CUM_OUTS),
	TEGRA410_EVENT(in_rd_req, C2C_EVENT_IN_RD_REQ),
	TEGRA410_EVENT(in_wr_cum_outs, C2C_EVENT_IN_WR_CUM_OUTS),
	TEGRA410_EVENT(in_wr_req, C2C_EVENT_IN_WR_REQ),
	TEGRA410_EVENT(out_rd_cum_outs, C2C_EVENT_OUT_RD_CUM_OUTS),
	TEGRA410_EVENT(out_rd_req, C2C_EVENT_OUT_RD_REQ),
	TEGRA410_EVENT(out_wr_cum_outs, C2C_EVENT_OUT_WR_CUM_OUTS),
	TEGRA410_EVENT(out_wr_req, C2C_EVENT_OUT_WR_REQ),
	NULL
};

static struct attribute *c2c_cpu_event_attrs[] = {
	TEGRA410_EVENT(cycles, C2C_EVENT_CYCLES),
	TEGRA410_EVENT(in_rd_cum_outs, C2C_EVENT_IN_RD_CUM_OUTS),
	TEGRA410_EVENT(in_rd_req, C2C_EVENT_IN_RD_REQ),
	TEGRA410_EVENT(out_rd_cum_outs, C2C_EVENT_OUT_RD_CUM_OUTS),
	TEGRA410_EVENT(out_rd_req, C2C_EVENT_OUT_RD_REQ),
	NULL
};

static struct attribute *c2c_cxlmem_event_attrs[] = {
	TEGRA410_EVENT(cycles, C2C_EVENT_CYCLES),
	TEGRA410_EVENT(in_rd_cum_outs, C2C_EVENT_IN_RD_CUM_OUTS),
	TEGRA410_EVENT(in_rd_req, C2C_EVENT_IN_RD_REQ),
	NULL
};

static struct attribute *c2c_gpu_format_attrs[] = {
	TEGRA410_FORMAT(event, "config:0-3"),
	TEGRA410_FORMAT(gpu_mask, "config1:0-1"),
	NULL
};

static struct attribute *c2c_format_attrs[] = {
	TEGRA410_FORMAT(event, "config:0-3"),
	NULL
};

static ssize_t gpu_peer_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(dev_get_drvdata(dev));

	return sysfs_emit(page, "nr_gpu=%u\n", hweight32(pmu->gpus));
}

static struct device_attribute c2c_gpu_peer = __ATTR(peer, 0444, gpu_peer_show, NULL);

static struct attribute *c2c_gpu_peer_attrs[] = {
	&c2c_gpu_peer.attr,
	NULL
};

static const struct attribute_group c2c_gpu_peer_group = {
	.attrs = c2c_gpu_peer_attrs,
};

/* a file of the same form as those in format/ */
static struct attribute *c2c_cpu_peer_attrs[] = {
	TEGRA410_FORMAT(peer, "nr_cpu=1"),
	NULL
};

static const struct attribute_group c2c_cpu_peer_group = {
	.attrs = c2c_cpu_peer_attrs,
};

static struct attribute *c2c_cxlmem_peer_attrs[] = {
	TEGRA410_FORMAT(peer, "nr_cxlmem=1"),
	NULL
};

static const struct attribute_group c2c_cxlmem_peer_group = {
	.attrs = c2c_cxlmem_peer_attrs,
};

TEGRA410_ATTR_GROUPS(c2c_gpu, c2c_gpu_event_attrs, c2c_gpu_format_attrs, &c2c_gpu_peer_group);
TEGRA410_ATTR_GROUPS(c2c_cpu, c2c_cpu_event_attrs, c2c_format_attrs, &c2c_cpu_peer_group);
TEGRA410_ATTR_GROUPS(c2c_cxlmem, c2c_cxlmem_event_attrs, c2c_format_attrs,
		     &c2c_cxlmem_peer_group);

#define C2C_COMMON					\
	.task_errno = -EINVAL,				\
	.slots = tegra410_windows_slots,		\
	.preset = tegra410_windows_preset,		\
	.start = c2c_start,				\
	.stop = c2c_stop,				\
	.read = c2c_read

const struct tegra410_pmu_kind tegra410_nvlink_c2c_gpu_kind = {
	.name_format = "nvidia_nvlink_c2c_pmu_%u",
	.attr_groups = c2c_gpu_attr_groups,
	.identifier = "NVDA2023",
	.init = nvlink_c2c_gpu_init,
	.open = nvlink_c2c_gpu_open,
	C2C_COMMON
};

const struct tegra410_pmu_kind tegra410_nvlink_c2c_cpu_kind = {
	.name_format = "nvidia_nvlink_c2c_pmu_%u",
	.attr_groups = c2c_cpu_attr_groups,
	.identifier = "NVDA2023",
	.init = nvlink_c2c_cpu_init,
	.open = c2c_cpu_open,
	C2C_COMMON
};

const struct tegra410_pmu_kind tegra410_nvclink_kind = {
	.name_format = "nvidia_nvclink_pmu_%u",
	.attr_groups = c2c_cpu_attr_groups,
	.identifier = "NVDA2022",
	.init = nvclink_init,
	.open = c2c_cpu_open,
	C2C_COMMON
};

const struct tegra410_pmu_kind tegra410_nvdlink_kind = {
	.name_format = "nvidia_nvdlink_pmu_%u",
	.attr_groups = c2c_cxlmem_attr_groups,
	.identifier = "NVDA2020",
	.init = nvdlink_init,
	.open = nvdlink_open,
	C2C_COMMON
};
