// SPDX-License-Identifier: GPL-2.0
/*
 * Register model of PMUs with instance windows: CMEM latency, NVLink-C2C, NV-CLink, NV-DLink.
 */
#include <linux/bitops.h>

#include "soc_model.h"
#include "tegra410/tegra410_regs.h"

/* counters of an instance: cycles; then, on CMEM, REQ and AOR of each channel */
#define CYCLES			0
#define CMEM_REQ(mc)		(1 + (mc))
#define CMEM_AOR(mc)		(1 + CMEM_CHANNELS + (mc))

static bool windows_is_cmem(const struct soc_pmu *pmu)
{
	return pmu->place.kind == SOC_CMEM_LATENCY;
}

static void windows_sync(struct soc_pmu *pmu)
{
	u64 now = soc_pmu_cycles(pmu);
	u64 passed = now - pmu->cycles;

	pmu->cycles = now;
	if (!pmu->win.enabled)
		return;
	for (unsigned int i = 0; i < pmu->win.instances; i++)
		pmu->win.counter[i][CYCLES] += passed;
	pmu->cycles_counted += passed;
}

/* distributes @amount over the instances of @mask, whose channels are @counters apart */
static void windows_spread(struct soc_windows *win, u32 mask, unsigned int first,
			   unsigned int channels, u64 amount)
{
	unsigned int parts = hweight32(mask) * channels, part = 0, i, c;
	unsigned long bits = mask;
	u64 share = div_u64(amount, parts);
	unsigned int rest = amount - share * parts;

	for_each_set_bit(i, &bits, SOC_INSTANCES) {
		for (c = 0; c < channels; c++)
			win->counter[i][first + c] += share + (part++ < rest);
	}
}

/* instances on the path of this traffic */
static u32 windows_route(const struct soc_pmu *pmu, const struct soc_tag *tag)
{
	switch (pmu->place.kind) {
	case SOC_NVLINK_C2C:
		return pmu->place.cpu_en_mask ?: pmu->place.gpu_en_mask[tag->gpu];
	case SOC_NVCLINK:
		return pmu->place.cpu_en_mask;
	default:
		return GENMASK(pmu->win.instances - 1, 0);
	}
}

static void windows_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts)
{
	struct soc_windows *win = &pmu->win;
	u32 mask = windows_route(pmu, tag);

	if (!win->enabled || !mask)
		return;
	if (windows_is_cmem(pmu)) {
		windows_spread(win, mask, CMEM_REQ(0), CMEM_CHANNELS,
			       amounts[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ]);
		windows_spread(win, mask, CMEM_AOR(0), CMEM_CHANNELS,
			       amounts[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS]);
		return;
	}
	for (u32 event = DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS; event < SOC_INSTANCE_COUNTERS;
	     event++)
		windows_spread(win, mask, event, 1, amounts[event]);
}

static void windows_clear(struct soc_windows *win)
{
	memset(win->counter, 0, sizeof(win->counter));
}

/* --- registers ------------------------------------------------------------ */

static int cmem_counter(unsigned int offset)
{
	if (offset == CMEM_CYCLE)
		return CYCLES;
	for (unsigned int mc = 0; mc < CMEM_CHANNELS; mc++) {
		if (offset == CMEM_MC_REQ(mc))
			return CMEM_REQ(mc);
		if (offset == CMEM_MC_AOR(mc))
			return CMEM_AOR(mc);
	}
	return -1;
}

static int c2c_counter(unsigned int offset)
{
	static const unsigned int offsets[] = {
		[DRM_PERFCTR_TEGRA410_C2C_CYCLES]		= C2C_CYCLE,
		[DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS]	= C2C_IN_RD_CUM_OUTS,
		[DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ]		= C2C_IN_RD_REQ,
		[DRM_PERFCTR_TEGRA410_C2C_IN_WR_CUM_OUTS]	= C2C_IN_WR_CUM_OUTS,
		[DRM_PERFCTR_TEGRA410_C2C_IN_WR_REQ]		= C2C_IN_WR_REQ,
		[DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS]	= C2C_OUT_RD_CUM_OUTS,
		[DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ]		= C2C_OUT_RD_REQ,
		[DRM_PERFCTR_TEGRA410_C2C_OUT_WR_CUM_OUTS]	= C2C_OUT_WR_CUM_OUTS,
		[DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ]		= C2C_OUT_WR_REQ,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
		if (offsets[i] == offset)
			return i;
	}
	return -1;
}

/* overflows: counters of 64 bits have none */
static bool windows_is_status(const struct soc_pmu *pmu, unsigned int offset)
{
	/* the drivers' C2C_OUT_STATUS is the high word of a counter, see tegra410_regs.h */
	return windows_is_cmem(pmu) ? offset == CMEM_STATUS || offset == CMEM_STATUS + 4 :
				      offset == C2C_IN_STATUS;
}

static u32 windows_read(struct soc_pmu *pmu, unsigned int window, unsigned int offset)
{
	struct soc_windows *win = &pmu->win;
	int (*counter_of)(unsigned int offset) = windows_is_cmem(pmu) ? cmem_counter : c2c_counter;
	bool high = false;
	int n;

	windows_sync(pmu);
	n = counter_of(offset);
	if (n < 0) {
		n = counter_of(offset - 4);
		high = true;
	}
	/* the broadcast window cannot be read; CMEM cannot be read without its clock */
	if (window >= win->instances || (windows_is_cmem(pmu) && !win->gate)) {
		pmu->bad_accesses++;
		return 0;
	}
	if (n < 0) {
		pmu->bad_accesses += !windows_is_status(pmu, offset);
		return 0;
	}
	return high ? upper_32_bits(win->counter[window][n]) :
		      lower_32_bits(win->counter[window][n]);
}

static void cmem_control(struct soc_pmu *pmu, u32 value)
{
	struct soc_windows *win = &pmu->win;

	/* without a clock there is nothing to stop or to clear, which drivers ask for */
	if (!win->gate) {
		pmu->bad_accesses += value != CMEM_CTRL_DISABLE && value != CMEM_CTRL_CLEAR;
		return;
	}
	switch (value) {
	case CMEM_CTRL_ENABLE:
	case CMEM_CTRL_DISABLE:
		win->enabled = value;
		break;
	case CMEM_CTRL_CLEAR:
		windows_clear(win);
		break;
	default:
		pmu->bad_accesses++;
	}
}

static void c2c_control(struct soc_pmu *pmu, u32 value)
{
	struct soc_windows *win = &pmu->win;

	if (value == C2C_CTRL_ENABLE && !win->enabled)
		windows_clear(win);
	win->enabled = value == C2C_CTRL_ENABLE;
}

static void windows_write(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u32 value)
{
	struct soc_windows *win = &pmu->win;

	windows_sync(pmu);
	/* the model has one control state for all instances, so it must be broadcast */
	if (window != win->instances)
		pmu->bad_accesses++;
	else if (windows_is_cmem(pmu) && offset == CMEM_CG_CTRL)
		win->gate = value == CMEM_CG_CTRL_ENABLE;
	else if (windows_is_cmem(pmu) && offset == CMEM_CTRL)
		cmem_control(pmu, value);
	else if (windows_is_cmem(pmu) && (offset == CMEM_CG_CTRL + 4 || offset == CMEM_CTRL + 4))
		pmu->bad_accesses += value != 0;
	else if (!windows_is_cmem(pmu) && offset == C2C_CTRL)
		c2c_control(pmu, value);
	else
		pmu->bad_accesses++;
}

static const struct soc_pmu_ops windows_ops = {
	.read = windows_read,
	.write = windows_write,
	.count = windows_count,
	.sync = windows_sync,
};

/* Set registers to their reset values. */
void soc_windows_init(struct soc_pmu *pmu)
{
	pmu->ops = &windows_ops;
	switch (pmu->place.kind) {
	case SOC_CMEM_LATENCY:
		pmu->win.instances = CMEM_INSTANCES;
		pmu->hz = SOC_CMEM_HZ;
		break;
	case SOC_NVLINK_C2C:
		pmu->win.instances = NVLINK_C2C_INSTANCES;
		pmu->hz = SOC_LINK_HZ;
		break;
	case SOC_NVCLINK:
		pmu->win.instances = NVCLINK_INSTANCES;
		pmu->hz = SOC_LINK_HZ;
		break;
	default:
		pmu->win.instances = NVDLINK_INSTANCES;
		pmu->hz = SOC_LINK_HZ;
		break;
	}
}
