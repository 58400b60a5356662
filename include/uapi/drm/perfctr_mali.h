/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * Counters of Mali GPUs with a command stream front end (CSF) or a job manager: names of block
 * types, clock domains and products for perfctr_drm.h. The counter database describes each counter.
 */
#ifndef _UAPI_PERFCTR_MALI_H_
#define _UAPI_PERFCTR_MALI_H_

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum drm_perfctr_mali_block - block types of Mali devices, range 1-15
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
	/** @DRM_PERFCTR_MALI_BLOCK_NEURAL: neural engine, since arch 15. */
	DRM_PERFCTR_MALI_BLOCK_NEURAL = 6,
	/** @DRM_PERFCTR_MALI_BLOCK_JM: job manager, up to arch 9. */
	DRM_PERFCTR_MALI_BLOCK_JM = 7,
	/** @DRM_PERFCTR_MALI_BLOCK_CSG: firmware's counters of a slot for command stream groups. */
	DRM_PERFCTR_MALI_BLOCK_CSG = 8,
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
	/** @DRM_PERFCTR_MALI_PRODUCT_V14: Mali arch 14.x (G1). */
	DRM_PERFCTR_MALI_PRODUCT_V14 = 0x020e,
	/** @DRM_PERFCTR_MALI_PRODUCT_V15: Mali arch 15.x (G2). */
	DRM_PERFCTR_MALI_PRODUCT_V15 = 0x020f,
	/** @DRM_PERFCTR_MALI_PRODUCT_T720: Mali T720. */
	DRM_PERFCTR_MALI_PRODUCT_T720 = 0x0240,
	/** @DRM_PERFCTR_MALI_PRODUCT_T760: Mali T760. */
	DRM_PERFCTR_MALI_PRODUCT_T760 = 0x0250,
	/** @DRM_PERFCTR_MALI_PRODUCT_T830: Mali T820, T830. */
	DRM_PERFCTR_MALI_PRODUCT_T830 = 0x0251,
	/** @DRM_PERFCTR_MALI_PRODUCT_T880: Mali T860, T880. */
	DRM_PERFCTR_MALI_PRODUCT_T880 = 0x0252,
	/** @DRM_PERFCTR_MALI_PRODUCT_G71: Mali G71. */
	DRM_PERFCTR_MALI_PRODUCT_G71 = 0x0260,
	/** @DRM_PERFCTR_MALI_PRODUCT_G72: Mali G72. */
	DRM_PERFCTR_MALI_PRODUCT_G72 = 0x0261,
	/** @DRM_PERFCTR_MALI_PRODUCT_G31: Mali G31. */
	DRM_PERFCTR_MALI_PRODUCT_G31 = 0x0270,
	/** @DRM_PERFCTR_MALI_PRODUCT_G51: Mali G51. */
	DRM_PERFCTR_MALI_PRODUCT_G51 = 0x0271,
	/** @DRM_PERFCTR_MALI_PRODUCT_G52: Mali G52. */
	DRM_PERFCTR_MALI_PRODUCT_G52 = 0x0272,
	/** @DRM_PERFCTR_MALI_PRODUCT_G76: Mali G76. */
	DRM_PERFCTR_MALI_PRODUCT_G76 = 0x0273,
	/** @DRM_PERFCTR_MALI_PRODUCT_G77: Mali G57, G77. */
	DRM_PERFCTR_MALI_PRODUCT_G77 = 0x0290,
	/** @DRM_PERFCTR_MALI_PRODUCT_G78: Mali G68, G78, G78AE. */
	DRM_PERFCTR_MALI_PRODUCT_G78 = 0x0291,
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_PERFCTR_MALI_H_ */
