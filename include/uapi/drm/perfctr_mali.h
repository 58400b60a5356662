/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * Counters of Mali GPUs with a command stream front end (CSF): names of block types, clock domains
 * and products for perfctr_drm.h. The counter database describes each counter.
 */
#ifndef _UAPI_PERFCTR_MALI_H_
#define _UAPI_PERFCTR_MALI_H_

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum drm_perfctr_mali_block - block types of Mali CSF devices, range 1-15
 */
enum drm_perfctr_mali_block {
	/** @DRM_PERFCTR_MALI_BLOCK_FW: GPU firmware (microcontroller) counters. */
	DRM_PERFCTR_MALI_BLOCK_FW = 1,
	/** @DRM_PERFCTR_MALI_BLOCK_CSHW: command stream hardware. */
	DRM_PERFCTR_MALI_BLOCK_CSHW = 2,
	/** @DRM_PERFCTR_MALI_BLOCK_TILER: tiler. */
	DRM_PERFCTR_MALI_BLOCK_TILER = 3,
	/** @DRM_PERFCTR_MALI_BLOCK_MEMSYS: memory system, one block per L2 slice. */
	DRM_PERFCTR_MALI_BLOCK_MEMSYS = 4,
	/** @DRM_PERFCTR_MALI_BLOCK_SHADER: shader core; index = physical core number. */
	DRM_PERFCTR_MALI_BLOCK_SHADER = 5,
};

/**
 * enum drm_perfctr_mali_clock - clock domains of Mali devices
 */
enum drm_perfctr_mali_clock {
	/** @DRM_PERFCTR_MALI_CLOCK_TOP: GPU top level (command stream, firmware). */
	DRM_PERFCTR_MALI_CLOCK_TOP = 0,
	/** @DRM_PERFCTR_MALI_CLOCK_COREGROUP: L2, MMU, tiler. */
	DRM_PERFCTR_MALI_CLOCK_COREGROUP = 1,
	/** @DRM_PERFCTR_MALI_CLOCK_SHADER: shader cores. */
	DRM_PERFCTR_MALI_CLOCK_SHADER = 2,
};

/**
 * enum drm_perfctr_mali_product - product numbers of family 0x02
 */
enum drm_perfctr_mali_product {
	/** @DRM_PERFCTR_MALI_PRODUCT_V10: Mali arch 10.x (G310, G510, G610, G710). */
	DRM_PERFCTR_MALI_PRODUCT_V10 = 0x020a,
	/** @DRM_PERFCTR_MALI_PRODUCT_V11: Mali arch 11.x (G615, G715). */
	DRM_PERFCTR_MALI_PRODUCT_V11 = 0x020b,
	/** @DRM_PERFCTR_MALI_PRODUCT_V12: Mali arch 12.x (G620, G720). */
	DRM_PERFCTR_MALI_PRODUCT_V12 = 0x020c,
	/** @DRM_PERFCTR_MALI_PRODUCT_V13: Mali arch 13.x (G625, G725). */
	DRM_PERFCTR_MALI_PRODUCT_V13 = 0x020d,
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_PERFCTR_MALI_H_ */
