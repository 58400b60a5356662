// SPDX-License-Identifier: GPL-2.0
/*
 * The uncore PMUs of Tegra410 as block types of the counter core: names of the PMUs, and the event
 * for each bit of a mask.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <drm/drm_perfctr_extension.h>
#include <drm/perfctr_tegra410.h>

/* the dedicated cycle counter of the CoreSight-style PMUs */
#define CYCLES_CONFIG	BIT_ULL(32)

static const u64 ucf_events[] = {
	[DRM_PERFCTR_TEGRA410_UCF_CYCLES] = CYCLES_CONFIG,
	[DRM_PERFCTR_TEGRA410_UCF_BUS_CYCLES] = 0x1d,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ALLOCATE] = 0xf0,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_WB] = 0xf3,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD] = 0x109,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_WR] = 0x10a,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD] = 0x119,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_DATALESS] = 0x183,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_ATOMIC] = 0x184,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_RD] = 0x111,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_WR] = 0x112,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD] = 0x113,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR] = 0x114,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_RD] = 0x121,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_WR] = 0x122,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD] = 0x123,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR] = 0x124,
	[DRM_PERFCTR_TEGRA410_UCF_LOCAL_SNOOP] = 0x180,
	[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_ACCESS] = 0x181,
	[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT] = 0x182,
};

static const u64 pcie_events[] = {
	[DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES] = 0x0,
	[DRM_PERFCTR_TEGRA410_PCIE_WR_BYTES] = 0x1,
	[DRM_PERFCTR_TEGRA410_PCIE_RD_REQ] = 0x2,
	[DRM_PERFCTR_TEGRA410_PCIE_WR_REQ] = 0x3,
	[DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS] = 0x4,
	[DRM_PERFCTR_TEGRA410_PCIE_CYCLES] = CYCLES_CONFIG,
};

static const u64 pcie_tgt_events[] = {
	[DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_BYTES] = 0x0,
	[DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_BYTES] = 0x1,
	[DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ] = 0x2,
	[DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ] = 0x3,
	[DRM_PERFCTR_TEGRA410_PCIE_TGT_CYCLES] = 0x4,
};

static const u64 cmem_latency_events[] = {
	[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_CYCLES] = 0x0,
	[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ] = 0x1,
	[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS] = 0x2,
};

static const u64 c2c_events[] = {
	[DRM_PERFCTR_TEGRA410_C2C_CYCLES] = 0x0,
	[DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS] = 0x1,
	[DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ] = 0x2,
	[DRM_PERFCTR_TEGRA410_C2C_IN_WR_CUM_OUTS] = 0x3,
	[DRM_PERFCTR_TEGRA410_C2C_IN_WR_REQ] = 0x4,
	[DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS] = 0x5,
	[DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ] = 0x6,
	[DRM_PERFCTR_TEGRA410_C2C_OUT_WR_CUM_OUTS] = 0x7,
	[DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ] = 0x8,
};

/* events are the bits of a 64-bit mask */
static_assert(ARRAY_SIZE(ucf_events) <= DRM_PERFCTR_SECTION_COUNTERS);
static_assert(ARRAY_SIZE(pcie_events) <= DRM_PERFCTR_SECTION_COUNTERS);
static_assert(ARRAY_SIZE(pcie_tgt_events) <= DRM_PERFCTR_SECTION_COUNTERS);
static_assert(ARRAY_SIZE(cmem_latency_events) <= DRM_PERFCTR_SECTION_COUNTERS);
static_assert(ARRAY_SIZE(c2c_events) <= DRM_PERFCTR_SECTION_COUNTERS);

#define KIND(_type, _prefix, _high, _events)			\
	.type = DRM_PERFCTR_TEGRA410_BLOCK_##_type,		\
	.product = DRM_PERFCTR_TEGRA410_PRODUCT,		\
	.prefix = _prefix,					\
	.config_mask = GENMASK_ULL(_high, 0),			\
	.events = _events,					\
	.event_count = ARRAY_SIZE(_events)

static const struct drm_perfctr_pmu_kind kinds[] = {
	{
		KIND(UCF, "nvidia_ucf_pmu_", 32, ucf_events),
		.filter = { 0, GENMASK_ULL(11, 8) | GENMASK_ULL(2, 0), 0 },
	}, {
		KIND(PCIE, "nvidia_pcie_pmu_", 32, pcie_events),
		.infix = "_rc_",
		.filter = { 0, GENMASK_ULL(24, 0), GENMASK_ULL(4, 0) },
	}, {
		KIND(PCIE_TGT, "nvidia_pcie_tgt_pmu_", 2, pcie_tgt_events),
		.infix = "_rc_",
		.filter = { GENMASK_ULL(11, 3), U64_MAX, U64_MAX },
		.filter_enable = BIT_ULL(11),
	}, {
		KIND(CMEM_LATENCY, "nvidia_cmem_latency_pmu_", 1, cmem_latency_events),
	}, {
		KIND(NVLINK_C2C, "nvidia_nvlink_c2c_pmu_", 3, c2c_events),
		.filter = { 0, GENMASK_ULL(1, 0), 0 },
	}, {
		KIND(NVCLINK, "nvidia_nvclink_pmu_", 3, c2c_events),
	}, {
		KIND(NVDLINK, "nvidia_nvdlink_pmu_", 3, c2c_events),
	},
};

static struct drm_perfctr_pmu_kinds table = {
	.kinds = kinds,
	.count = ARRAY_SIZE(kinds),
	.owner = THIS_MODULE,
};

static int __init tegra410_kinds_init(void)
{
	drm_perfctr_register_pmu_kinds(&table);
	return 0;
}

static void __exit tegra410_kinds_exit(void)
{
	drm_perfctr_unregister_pmu_kinds(&table);
}

module_init(tegra410_kinds_init);
module_exit(tegra410_kinds_exit);

MODULE_DESCRIPTION("Block types of Tegra410's uncore PMUs for the counter core");
MODULE_LICENSE("GPL");
