/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * SoC uncore PMUs of Tegra410: names of block types and of the events that the bits of their masks
 * select, for requests with DRM_PERFCTR_REQUEST_PMU of perfctr_drm.h. Source of numbers: the
 * kernel's Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst.
 */
#ifndef _UAPI_PERFCTR_TEGRA410_H_
#define _UAPI_PERFCTR_TEGRA410_H_

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum drm_perfctr_tegra410_block - block types of Tegra410, range 33-47
 */
enum drm_perfctr_tegra410_block {
	/** @DRM_PERFCTR_TEGRA410_BLOCK_UCF: unified coherence fabric; index = socket. */
	DRM_PERFCTR_TEGRA410_BLOCK_UCF = 33,
	/** @DRM_PERFCTR_TEGRA410_BLOCK_PCIE: PCIe source side; index = socket << 8 | RC. */
	DRM_PERFCTR_TEGRA410_BLOCK_PCIE = 34,
	/** @DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT: PCIe target side; index = socket << 8 | RC. */
	DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT = 35,
	/** @DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY: CPU memory latency; index = socket. */
	DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY = 36,
	/** @DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C: NVLink-C2C; index = socket. */
	DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C = 37,
	/** @DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK: NV-CLink; index = socket. */
	DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK = 38,
	/** @DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK: NV-DLink; index = socket. */
	DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK = 39,
};

/** DRM_PERFCTR_TEGRA410_PRODUCT - product number, family 0x03. */
#define DRM_PERFCTR_TEGRA410_PRODUCT	0x0300

/*
 * Bit n of a SoC block's masks is the event with value n below; section is always 0. In
 * parentheses: the event's number in perf's config. Filters are those of the PMU (see format/ in
 * sysfs), in config, config1 and config2 of the request; all zero: no filter.
 */

/**
 * enum drm_perfctr_tegra410_ucf_event - events of DRM_PERFCTR_TEGRA410_BLOCK_UCF
 *
 * SLC: system level cache. Unit: events, or bytes where the name says so.
 */
enum drm_perfctr_tegra410_ucf_event {
	/**
	 * @DRM_PERFCTR_TEGRA410_UCF_CYCLES: cycles of the fabric, dedicated counter (0x100000000).
	 */
	DRM_PERFCTR_TEGRA410_UCF_CYCLES = 0,
	/** @DRM_PERFCTR_TEGRA410_UCF_BUS_CYCLES: cycles of the fabric (0x1d). */
	DRM_PERFCTR_TEGRA410_UCF_BUS_CYCLES = 1,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_ALLOCATE: lines allocated in the SLC (0xf0). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_ALLOCATE = 2,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_WB: lines written back from the SLC (0xf3). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_WB = 3,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD: lines filled by reads (0x109). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD = 4,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_WR: lines filled by writes (0x10a). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_WR = 5,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD: reads that hit (0x119). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD = 6,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_DATALESS: accesses without data (0x183). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_DATALESS = 7,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_ATOMIC: atomic accesses (0x184). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_ATOMIC = 8,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_RD: reads (0x111). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_RD = 9,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_WR: writes (0x112). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_WR = 10,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD: bytes read (0x113). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD = 11,
	/** @DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR: bytes written (0x114). */
	DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR = 12,
	/** @DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_RD: reads that went to memory (0x121). */
	DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_RD = 13,
	/** @DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_WR: writes that went to memory (0x122). */
	DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_WR = 14,
	/** @DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD: bytes read from memory (0x123). */
	DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD = 15,
	/** @DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR: bytes written to memory (0x124). */
	DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR = 16,
	/** @DRM_PERFCTR_TEGRA410_UCF_LOCAL_SNOOP: snoops of local caches (0x180). */
	DRM_PERFCTR_TEGRA410_UCF_LOCAL_SNOOP = 17,
	/**
	 * @DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_ACCESS: snoops by another agent for an access (0x181).
	 */
	DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_ACCESS = 18,
	/**
	 * @DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT: snoops by another agent for an eviction (0x182).
	 */
	DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT = 19,
};

/**
 * enum drm_perfctr_tegra410_pcie_event - events of DRM_PERFCTR_TEGRA410_BLOCK_PCIE
 */
enum drm_perfctr_tegra410_pcie_event {
	/** @DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES: bytes that devices read (0x0). */
	DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES = 0,
	/** @DRM_PERFCTR_TEGRA410_PCIE_WR_BYTES: bytes that devices wrote (0x1). */
	DRM_PERFCTR_TEGRA410_PCIE_WR_BYTES = 1,
	/** @DRM_PERFCTR_TEGRA410_PCIE_RD_REQ: read requests (0x2). */
	DRM_PERFCTR_TEGRA410_PCIE_RD_REQ = 2,
	/** @DRM_PERFCTR_TEGRA410_PCIE_WR_REQ: write requests (0x3). */
	DRM_PERFCTR_TEGRA410_PCIE_WR_REQ = 3,
	/**
	 * @DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS: read requests in flight, summed per cycle (0x4).
	 */
	DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS = 4,
	/** @DRM_PERFCTR_TEGRA410_PCIE_CYCLES: cycles of the SoC fabric (0x100000000). */
	DRM_PERFCTR_TEGRA410_PCIE_CYCLES = 5,
};

/**
 * enum drm_perfctr_tegra410_pcie_tgt_event - events of DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT
 */
enum drm_perfctr_tegra410_pcie_tgt_event {
	/**
	 * @DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_BYTES: bytes read from PCIe BARs and CXL memory (0x0).
	 */
	DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_BYTES = 0,
	/** @DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_BYTES: bytes written there (0x1). */
	DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_BYTES = 1,
	/** @DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ: read requests (0x2). */
	DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ = 2,
	/** @DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ: write requests (0x3). */
	DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ = 3,
	/** @DRM_PERFCTR_TEGRA410_PCIE_TGT_CYCLES: cycles of the SoC fabric (0x4). */
	DRM_PERFCTR_TEGRA410_PCIE_TGT_CYCLES = 4,
};

/**
 * enum drm_perfctr_tegra410_cmem_latency_event - events of DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY
 */
enum drm_perfctr_tegra410_cmem_latency_event {
	/** @DRM_PERFCTR_TEGRA410_CMEM_LATENCY_CYCLES: cycles of the memory clock (0x0). */
	DRM_PERFCTR_TEGRA410_CMEM_LATENCY_CYCLES = 0,
	/**
	 * @DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ: reads of 32 bytes from local CPU memory (0x1).
	 */
	DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ = 1,
	/**
	 * @DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS: reads in flight, summed per cycle (0x2).
	 */
	DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS = 2,
};

/**
 * enum drm_perfctr_tegra410_c2c_event - events of NVLINK_C2C, NVCLINK and NVDLINK blocks
 *
 * in: from the remote device to this SoC; out: from this SoC to the remote
 * device. NVCLINK, and NVLINK_C2C between two SoCs, have no write events;
 * NVDLINK has CYCLES, IN_RD_CUM_OUTS and IN_RD_REQ only.
 */
enum drm_perfctr_tegra410_c2c_event {
	/** @DRM_PERFCTR_TEGRA410_C2C_CYCLES: cycles of the link (0x0). */
	DRM_PERFCTR_TEGRA410_C2C_CYCLES = 0,
	/** @DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS: incoming reads in flight, per cycle (0x1). */
	DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS = 1,
	/** @DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ: incoming reads (0x2). */
	DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ = 2,
	/** @DRM_PERFCTR_TEGRA410_C2C_IN_WR_CUM_OUTS: incoming writes in flight, per cycle (0x3). */
	DRM_PERFCTR_TEGRA410_C2C_IN_WR_CUM_OUTS = 3,
	/** @DRM_PERFCTR_TEGRA410_C2C_IN_WR_REQ: incoming writes (0x4). */
	DRM_PERFCTR_TEGRA410_C2C_IN_WR_REQ = 4,
	/** @DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS: outgoing reads in flight, per cycle (0x5). */
	DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS = 5,
	/** @DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ: outgoing reads (0x6). */
	DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ = 6,
	/**
	 * @DRM_PERFCTR_TEGRA410_C2C_OUT_WR_CUM_OUTS: outgoing writes in flight, per cycle (0x7).
	 */
	DRM_PERFCTR_TEGRA410_C2C_OUT_WR_CUM_OUTS = 7,
	/** @DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ: outgoing writes (0x8). */
	DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ = 8,
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_PERFCTR_TEGRA410_H_ */
