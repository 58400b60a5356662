/* SPDX-License-Identifier: MIT */
/*
 * Numbers of Intel's GPUs, whose counters are known to user space only: as those of the families in
 * include/uapi/drm, never reused. Positions mean the same for all products.
 */
#pragma once

/* block types, range 96-111 */
enum perfctr_intel_block {
	DRM_PERFCTR_INTEL_BLOCK_OA = 96,
};

/* products, family 0x08: generations */
enum perfctr_intel_product {
	DRM_PERFCTR_INTEL_PRODUCT_GEN12 = 0x0812,
	DRM_PERFCTR_INTEL_PRODUCT_XE_LPG = 0x0813,
	DRM_PERFCTR_INTEL_PRODUCT_XE2 = 0x0820,
};
