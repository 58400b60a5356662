/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the perf PMUs of Tegra241 ("Grace"), which user space counts only: as those of the
 * families in include/uapi/drm, never reused. Source of the pages' numbers: the kernel's
 * drivers/perf/arm_cspmu/nvidia_cspmu.c and
 * Documentation/admin-guide/perf/nvidia-tegra241-pmu.rst.
 */
#pragma once

/* block types, range 112-127; index = socket */
enum perfctr_tegra241_block {
	DRM_PERFCTR_TEGRA241_BLOCK_SCF = 112,
	DRM_PERFCTR_TEGRA241_BLOCK_GRACE_PCIE = 113,
	DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C0 = 114,
	DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C1 = 115,
	DRM_PERFCTR_TEGRA241_BLOCK_CNVLINK = 116,
};

/* product, family 0x09 */
enum perfctr_tegra241_product {
	DRM_PERFCTR_TEGRA241_PRODUCT = 0x0900,
};
