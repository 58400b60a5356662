/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers of V3D 4.2 and 7.1 that the model has; offsets in bytes in a window, all of 32 bits.
 * Names and places are those of the kernel's v3d_regs.h.
 */
#ifndef _MODEL_REGS_H_
#define _MODEL_REGS_H_

#include <linux/bits.h>

/* --- hub ------------------------------------------------------------------ */

#define V3D_HUB_IDENT1		0x000c	/* technology 3:0, revision 7:4, cores 11:8, units */
#define V3D_HUB_IDENT1_TFU	BIT(17)
#define V3D_HUB_IDENT2		0x0010
#define V3D_HUB_IDENT2_MMU	BIT(8)
#define V3D_HUB_IDENT3		0x0014	/* revision of the IP 15:8 */

#define V3D_HUB_INT_TFU_DONE	BIT(1)
#define V3D_HUB_INT_PT_INVALID	BIT(4)
#define V3D_HUB_INT_WRITE	BIT(5)

#define V3D_MMUC_CONTROL	0x1000
#define V3D_MMUC_FLUSH		BIT(1)
#define V3D_MMU_CTL		0x1200
#define V3D_MMU_ENABLE		BIT(0)
#define V3D_MMU_TLB_CLEAR	BIT(2)
#define V3D_MMU_WRITE_INT	BIT(10)
#define V3D_MMU_WRITE_FAULT	BIT(12)
#define V3D_MMU_PT_INVALID_INT	BIT(18)
#define V3D_MMU_PT_INVALID	BIT(20)
#define V3D_MMU_CAP_EXCEEDED	BIT(27)
#define V3D_MMU_PT_PA_BASE	0x1204	/* page number of the table */
#define V3D_MMU_VIO_ID		0x122c
#define V3D_MMU_VIO_ADDR	0x1234	/* address >> (width of addresses - 32) */
#define V3D_MMU_DEBUG_INFO	0x1238	/* physical width - 30 in 11:8, virtual in 7:4 */

/* --- hub and core: interrupts ---------------------------------------------- */

#define V3D_INT_STS		0x0050
#define V3D_INT_SET		0x0054
#define V3D_INT_CLR		0x0058
#define V3D_INT_MSK_STS		0x005c	/* a set bit is masked */
#define V3D_INT_MSK_SET		0x0060
#define V3D_INT_MSK_CLR		0x0064

/* --- core ------------------------------------------------------------------ */

#define V3D_IDENT0		0x0000
#define V3D_IDENT1		0x0004	/* revision 3:0, slices 7:4, QPUs of a slice 11:8 */
#define V3D_IDENT2		0x0008
#define V3D_L2TCACTL		0x0030

#define V3D_INT_RENDER_DONE	BIT(0)
#define V3D_INT_BIN_DONE	BIT(1)
#define V3D_INT_OUT_OF_MEMORY	BIT(2)
#define V3D_INT_PCTR(version)	((version) >= 71 ? BIT(5) : BIT(6))
#define V3D_INT_CSD_DONE(version) ((version) >= 71 ? BIT(6) : BIT(7))

/* control lists: 0 bin, 1 render */
#define V3D_CT_CURRENT(n)	(0x0110 + 4 * (n))
#define V3D_CT_RETURN(n)	(0x0118 + 4 * (n))
#define V3D_CT_QUEUE_START(n)	(0x0160 + 4 * (n))
#define V3D_CT_QUEUE_END(n)	(0x0168 + 4 * (n))
#define V3D_CT0QMA		0x0170	/* memory for lists of tiles, its address and bytes */
#define V3D_CT0QMS		0x0174
#define V3D_PTB_BPOA		0x0308	/* more of it */
#define V3D_PTB_BPOS		0x030c

#define V3D_PCTR_EN		0x0650	/* a bit for each slot, in the next two too */
#define V3D_PCTR_CLR		0x0654
#define V3D_PCTR_OVERFLOW	0x0658
#define V3D_PCTR_SRC		0x0660	/* events of four slots */
#define V3D_PCTR		0x0680
#define V3D_PCTR_SLOTS		32

#define V3D_CSD_WORDS		8	/* configuration of a dispatch */
#define V3D_CSD_BATCHES		4
#define V3D_CSD_QUEUED(version)	((version) >= 71 ? 0x0930 : 0x0904)
#define V3D_CSD_CURRENT(version) ((version) >= 71 ? 0x0958 : 0x0920)

/* --- hub: TFU -------------------------------------------------------------- */

#define V3D_TFU_CONFIG(version)	((version) >= 71 ? 0x0708 : 0x0408)	/* the write starts it */
#define V3D_TFU_INPUT(version)	((version) >= 71 ? 0x070c : 0x040c)
#define V3D_TFU_OUTPUT(version)	((version) >= 71 ? 0x0720 : 0x041c)
#define V3D_TFU_SIZE(version)	((version) >= 71 ? 0x0724 : 0x0420)	/* height 31:16, width */

/* --- reset and power ------------------------------------------------------- */

#define V3D_BRIDGE_REVISION	0x0000	/* major 15:8 */
#define V3D_BRIDGE_RESET	0x000c

#define V3D_SMS_REE		0x0000	/* state 3:0; the write of 4 resets */
#define V3D_SMS_REE_RESET	4
#define V3D_SMS_TEE		0x0400
#define V3D_SMS_STATE		GENMASK(3, 0)
#define V3D_SMS_POWERED_OFF	0xd
#define V3D_SMS_POWER_ON	BIT(29)
#define V3D_SMS_POWER_OFF	BIT(30)

#endif /* _MODEL_REGS_H_ */
