/* SPDX-License-Identifier: MIT */
/*
 * Numbers of V3D, whose counters are known to user space only: as those of the families in
 * include/uapi/drm, never reused. Positions are the driver's numbers of events.
 */
#pragma once

/* block types, range 48-63 */
enum perfctr_v3d_block {
	DRM_PERFCTR_V3D_BLOCK_V3D = 48,
};

/* products, family 0x06 */
enum perfctr_v3d_product {
	DRM_PERFCTR_V3D_PRODUCT_42 = 0x0642,
	DRM_PERFCTR_V3D_PRODUCT_71 = 0x0671,
};
