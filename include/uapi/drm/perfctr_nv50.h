/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * Counters of NVIDIA's nv50 family: names of block types and products for
 * perfctr_drm.h. Blocks have DRM_PERFCTR_FORMAT_RUNNING_TIMES, because PCOUNTER
 * and the MPs have fewer counters than signals and multiplex them.
 */
#ifndef _UAPI_PERFCTR_NV50_H_
#define _UAPI_PERFCTR_NV50_H_

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum drm_perfctr_nv50_block - block types of nv50 devices, range 16-31
 */
enum drm_perfctr_nv50_block {
	/**
	 * @DRM_PERFCTR_NV50_BLOCK_PCOUNTER: PCOUNTER; index = domain, which is also
	 * the number of its clock domain.
	 */
	DRM_PERFCTR_NV50_BLOCK_PCOUNTER = 16,
	/** @DRM_PERFCTR_NV50_BLOCK_MP: MP counters; index = TPC. */
	DRM_PERFCTR_NV50_BLOCK_MP = 17,
};

/** DRM_PERFCTR_NV50_PRODUCT - product number, family 0x04: PCOUNTER and MP. */
#define DRM_PERFCTR_NV50_PRODUCT	0x0400

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_PERFCTR_NV50_H_ */
