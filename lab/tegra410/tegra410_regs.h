/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers of the Tegra410 uncore PMUs.
 *
 * For the register models (lab/vsoc/driver/fabric/); the drivers have definitions of their own. A
 * window is one memory resource of a device. 64-bit registers are pairs, low word first.
 */
#ifndef _TEGRA410_REGS_H_
#define _TEGRA410_REGS_H_

#include <linux/bits.h>

/* --- CoreSight PMU architecture (Arm IHI 0091): UCF, PCIE, PCIE-TGT ------- */

/* windows */
#define CSPMU_PAGE0			0
/* counters and overflow status */
#define CSPMU_PAGE1			1
/* PCIE-TGT only: target address filters */
#define CSPMU_ADDRESS_FILTER		2

/* page 1; stride 4 for counters of up to 32 bits, else 8 */
#define CSPMU_PMOVSCLR			0xc80
/* page 0 */
#define CSPMU_PMEVTYPER(n)		(0x400 + (n) * 4)
#define CSPMU_PMCCFILTR			0x47c
#define CSPMU_PMEVFILT2R(n)		(0x800 + (n) * 4)
#define CSPMU_PMEVFILTR(n)		(0xa00 + (n) * 4)
#define CSPMU_PMCNTENSET		0xc00
#define CSPMU_PMCNTEN			0xc10	/* registers of 64 bits only */
#define CSPMU_PMCNTENCLR		0xc20
#define CSPMU_PMINTENSET		0xc40
#define CSPMU_PMINTENCLR		0xc60
#define CSPMU_PMOVSSET			0xcc0
#define CSPMU_PMCFGR			0xe00
#define CSPMU_PMCR			0xe04
#define CSPMU_PMIIDR			0xe08
#define CSPMU_PMDEVARCH			0xfbc
#define CSPMU_PMPIDR4			0xfd0
#define CSPMU_PMPIDR0			0xfe0
#define CSPMU_PMPIDR1			0xfe4
#define CSPMU_PMPIDR2			0xfe8
#define CSPMU_PMPIDR3			0xfec

/* PMCFGR */
#define CSPMU_PMCFGR_N			GENMASK(7, 0)	/* counters - 1, cycle counter included */
#define CSPMU_PMCFGR_SIZE		GENMASK(13, 8)	/* bits of a counter - 1 */
#define CSPMU_PMCFGR_CC			BIT(14)		/* has a dedicated cycle counter */
/* PMCR */
#define CSPMU_PMCR_E			BIT(0)		/* enable */
#define CSPMU_PMCR_P			BIT(1)		/* write: clear event counters */
#define CSPMU_PMCR_C			BIT(2)		/* write: clear the cycle counter */
/* PMIIDR */
#define CSPMU_PMIIDR_PRODUCT		GENMASK(31, 20)
#define CSPMU_PMIIDR_VARIANT		GENMASK(19, 16)
#define CSPMU_PMIIDR_REVISION		GENMASK(15, 12)
#define CSPMU_PMIIDR_IMPLEMENTER	GENMASK(11, 0)
#define CSPMU_IMPLEMENTER_NVIDIA	0x36b
/* product, variant and revision, which identify the kind */
#define UCF_PMIIDR_MODEL		0x2cf20000
#define PCIE_PMIIDR_MODEL		0x10301000
#define PCIE_TGT_PMIIDR_MODEL		0x10700000
/* PMPIDR0-4, from which PMIIDR is derived if it reads as zero */
#define CSPMU_PMPIDR0_PART_0		GENMASK(7, 0)
#define CSPMU_PMPIDR1_PART_1		GENMASK(3, 0)
#define CSPMU_PMPIDR1_DES_0		GENMASK(7, 4)
#define CSPMU_PMPIDR2_DES_1		GENMASK(2, 0)
#define CSPMU_PMPIDR2_REVISION		GENMASK(7, 4)
#define CSPMU_PMPIDR3_REVAND		GENMASK(7, 4)
#define CSPMU_PMPIDR4_DES_2		GENMASK(3, 0)

/* index of the dedicated cycle counter */
#define CSPMU_CYCLE_IDX			31

/* UCF: PMEVFILTR, and PMCCFILTR for the cycle counter */
#define UCF_SRC_LOC_NONCPU		BIT(0)
#define UCF_SRC_LOC_CPU			BIT(1)
#define UCF_SRC_REM			BIT(2)
#define UCF_DST_LOC_CMEM		BIT(8)
#define UCF_DST_LOC_GMEM		BIT(9)
#define UCF_DST_LOC_OTHER		BIT(10)
#define UCF_DST_REM			BIT(11)

/* PCIE: PMEVFILTR */
#define PCIE_SRC_RP_MASK		GENMASK(7, 0)
#define PCIE_SRC_BDF			GENMASK(23, 8)
#define PCIE_SRC_BDF_EN			BIT(24)
/* PCIE: PMEVFILT2R */
#define PCIE_DST_LOC_CMEM		BIT(0)
#define PCIE_DST_LOC_GMEM		BIT(1)
#define PCIE_DST_LOC_PCIE_P2P		BIT(2)
#define PCIE_DST_LOC_PCIE_CXL		BIT(3)
#define PCIE_DST_REM			BIT(4)

/* PCIE-TGT: PMEVFILT2R */
#define PCIE_TGT_RP_MASK		GENMASK(7, 0)
#define PCIE_TGT_SLOT			GENMASK(15, 8)	/* one-hot */
/* PCIE-TGT: target address filters */
#define PCIE_TGT_SLOT_STRIDE		20
#define PCIE_TGT_SLOT_CTRL(n)		(0xd38 + (n) * PCIE_TGT_SLOT_STRIDE)
#define PCIE_TGT_SLOT_CTRL_E		BIT(0)

/* event numbers */
#define UCF_EVENT_BUS_CYCLES		0x1d
#define UCF_EVENT_SLC_ALLOCATE		0xf0
#define UCF_EVENT_SLC_WB		0xf3
#define UCF_EVENT_SLC_REFILL_RD		0x109
#define UCF_EVENT_SLC_REFILL_WR		0x10a
#define UCF_EVENT_SLC_ACCESS_RD		0x111
#define UCF_EVENT_SLC_ACCESS_WR		0x112
#define UCF_EVENT_SLC_BYTES_RD		0x113
#define UCF_EVENT_SLC_BYTES_WR		0x114
#define UCF_EVENT_SLC_HIT_RD		0x119
#define UCF_EVENT_MEM_ACCESS_RD		0x121
#define UCF_EVENT_MEM_ACCESS_WR		0x122
#define UCF_EVENT_MEM_BYTES_RD		0x123
#define UCF_EVENT_MEM_BYTES_WR		0x124
#define UCF_EVENT_LOCAL_SNOOP		0x180
#define UCF_EVENT_EXT_SNP_ACCESS	0x181
#define UCF_EVENT_EXT_SNP_EVICT		0x182
#define UCF_EVENT_SLC_ACCESS_DATALESS	0x183
#define UCF_EVENT_SLC_ACCESS_ATOMIC	0x184
#define PCIE_EVENT_WR_REQ		0x3
#define PCIE_EVENT_RD_CUM_OUTS		0x4
#define PCIE_TGT_EVENT_CYCLES		0x4

/* --- CMEM latency --------------------------------------------------------- */

/* windows 0..13: instances; then a write-only broadcast window */
#define CMEM_INSTANCES			14
#define CMEM_CHANNELS			3
#define CMEM_CG_CTRL			0x800
#define CMEM_CTRL			0x808
#define CMEM_STATUS			0x810
#define CMEM_CYCLE			0x818
#define CMEM_MC_REQ(mc)			(0x820 + (mc) * 0x18)
#define CMEM_MC_AOR(mc)			(0x830 + (mc) * 0x18)

#define CMEM_CG_CTRL_ENABLE		1
#define CMEM_CTRL_DISABLE		0
#define CMEM_CTRL_ENABLE		1
#define CMEM_CTRL_CLEAR			2

/* size of a read request */
#define CMEM_REQUEST_BYTES		32

/* --- C2C family: NVLink-C2C, NV-CLink, NV-DLink --------------------------- */

/* windows 0..n-1: instances; then a write-only broadcast window */
#define NVLINK_C2C_INSTANCES		14
#define NVCLINK_INSTANCES		12
#define NVDLINK_INSTANCES		16
#define C2C_CTRL			0x864
#define C2C_IN_STATUS			0x868
#define C2C_CYCLE			0x86c
#define C2C_IN_RD_CUM_OUTS		0x874
#define C2C_IN_RD_REQ			0x87c
#define C2C_IN_WR_CUM_OUTS		0x884
#define C2C_IN_WR_REQ			0x88c
#define C2C_OUT_STATUS			0x890	/* so the driver: in C2C_IN_WR_REQ, 0x88c..0x893 */
#define C2C_OUT_RD_CUM_OUTS		0x898
#define C2C_OUT_RD_REQ			0x8a0
#define C2C_OUT_WR_CUM_OUTS		0x8a8
#define C2C_OUT_WR_REQ			0x8b0

#define C2C_CTRL_ENABLE			1

#endif /* _TEGRA410_REGS_H_ */
