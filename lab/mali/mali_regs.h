/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers of a Mali GPU, as offsets in its window. All accesses are 32 bits wide; a 64-bit
 * register is two words, the low one first.
 */
#ifndef _MALI_REGS_H_
#define _MALI_REGS_H_

#include <linux/bits.h>
#include <linux/kernel.h>

/* the window holds the doorbells of all group slots */
#define MALI_WINDOW_BYTES		0x200000

/* identity and features */
#define MALI_GPU_ID			0x000
#define MALI_L2_FEATURES		0x004
#define MALI_CORE_FEATURES		0x008
#define MALI_TILER_FEATURES		0x00c
#define MALI_MEM_FEATURES		0x010
#define MALI_MMU_FEATURES		0x014
#define MALI_AS_PRESENT			0x018
#define MALI_CSF_ID			0x01c
#define MALI_JS_PRESENT			0x01c	/* of a job manager */
#define MALI_THREAD_MAX_THREADS		0x0a0
#define MALI_THREAD_MAX_WORKGROUP	0x0a4
#define MALI_THREAD_MAX_BARRIER		0x0a8
#define MALI_THREAD_FEATURES		0x0ac
#define MALI_TEXTURE_FEATURES		0x0b0	/* four words */
#define MALI_JS_FEATURES		0x0c0	/* a word for each slot */
#define MALI_SHADER_PRESENT		0x100
#define MALI_TILER_PRESENT		0x110
#define MALI_L2_PRESENT			0x120
#define MALI_COHERENCY_FEATURES		0x300

/* the GPU block */
#define MALI_GPU_IRQ			0x020
#define MALI_GPU_COMMAND		0x030
#define MALI_CYCLE_COUNT		0x090
#define MALI_TIMESTAMP			0x098

#define MALI_COMMAND_CODE		GENMASK(7, 0)
#define MALI_COMMAND_NOP		0
#define MALI_COMMAND_RESET		1
#define MALI_COMMAND_FLUSH		4

#define MALI_GPU_IRQ_RESET_DONE		BIT(8)
#define MALI_GPU_IRQ_FLUSH_DONE		BIT(17)

/* the GPU block of a job manager's GPU */
#define MALI_JM_LATEST_FLUSH_ID		0x038
#define MALI_JM_PRFCNT_BASE		0x060
#define MALI_JM_PRFCNT_CONFIG		0x068
#define MALI_JM_PRFCNT_EN_JM		0x06c
#define MALI_JM_PRFCNT_EN_SHADER	0x070
#define MALI_JM_PRFCNT_EN_TILER		0x074
#define MALI_JM_PRFCNT_EN_MEMSYS	0x07c

#define MALI_JM_PRFCNT_MODE		GENMASK(3, 0)
#define MALI_JM_PRFCNT_MODE_MANUAL	1
#define MALI_JM_PRFCNT_AS		GENMASK(7, 4)
#define MALI_JM_PRFCNT_SET		GENMASK(9, 8)

#define MALI_JM_COMMAND_SOFT_RESET	1
#define MALI_JM_COMMAND_HARD_RESET	2
#define MALI_JM_COMMAND_PRFCNT_CLEAR	3
#define MALI_JM_COMMAND_PRFCNT_SAMPLE	4
#define MALI_JM_COMMAND_CYCLES_START	5
#define MALI_JM_COMMAND_CYCLES_STOP	6
#define MALI_JM_COMMAND_CLEAN		7
#define MALI_JM_COMMAND_CLEAN_INVALIDATE 8

#define MALI_GPU_IRQ_SAMPLE_DONE	BIT(16)

/* power: in each bank of registers, the three domains are 16 bytes apart */
#define MALI_POWER_READY		0x140
#define MALI_POWER_ON			0x180
#define MALI_POWER_OFF			0x1c0
#define MALI_POWER_ACTIVE		0x240
#define MALI_POWER_BANK_BYTES		0x30
#define MALI_POWER_DOMAIN_BYTES		0x10

/* the microcontroller */
#define MALI_MCU_CONTROL		0x700
#define MALI_MCU_STATUS			0x704

#define MALI_MCU_CONTROL_DISABLE	0

#define MALI_MCU_STATUS_DISABLED	0
#define MALI_MCU_STATUS_ENABLED		1
#define MALI_MCU_STATUS_HALTED		2
#define MALI_MCU_STATUS_FATAL		3

/* interrupt blocks; each begins with these four words */
#define MALI_JOB_IRQ			0x1000
#define MALI_MMU_IRQ			0x2000
#define MALI_IRQ_RAWSTAT		0x0
#define MALI_IRQ_CLEAR			0x4
#define MALI_IRQ_MASK			0x8
#define MALI_IRQ_STATUS			0xc
#define MALI_IRQ_BLOCK_BYTES		0x10

#define MALI_JOB_IRQ_GLOBAL		BIT(31)

/* a job manager's slots: done in the low half of interrupt causes, failed in the high half */
#define MALI_JM_STATE			0x1010
#define MALI_JS				0x1800
#define MALI_JS_BYTES			0x80
#define MALI_JS_HEAD			0x00
#define MALI_JS_TAIL			0x08
#define MALI_JS_AFFINITY		0x10
#define MALI_JS_CONFIG			0x18
#define MALI_JS_COMMAND			0x20
#define MALI_JS_STATUS			0x24
#define MALI_JS_NEXT			0x40	/* head, affinity and so on of the next chain */
#define MALI_JS_FLUSH_ID_NEXT		0x70
#define MALI_JS_DONE(n)			BIT(n)
#define MALI_JS_FAILED(n)		BIT((n) + 16)

#define MALI_JS_CONFIG_AS		GENMASK(3, 0)
#define MALI_JS_CONFIG_START_FLUSH	GENMASK(9, 8)
#define MALI_JS_CONFIG_CHAIN_FLAG	BIT(11)
#define MALI_JS_CONFIG_END_FLUSH	GENMASK(13, 12)
#define MALI_JS_CONFIG_FLUSH_REDUCTION	BIT(14)
#define MALI_JS_CONFIG_NO_WRITE_BACK	BIT(15)

#define MALI_JS_COMMAND_NOP		0
#define MALI_JS_COMMAND_START		1
#define MALI_JS_COMMAND_SOFT_STOP	2	/* the odd ones are hard stops */
#define MALI_JS_COMMAND_HARD_STOP	3
#define MALI_JS_COMMAND_SOFT_STOP_0	4	/* if MALI_JS_CONFIG_CHAIN_FLAG is clear */
#define MALI_JS_COMMAND_SOFT_STOP_1	6	/* if it is set */
#define MALI_JS_COMMAND_HARD_STOP_1	7

/* address spaces */
#define MALI_AS				0x2400
#define MALI_AS_TRANSTAB		0x00
#define MALI_AS_LOCKADDR		0x10
#define MALI_AS_COMMAND			0x18
#define MALI_AS_FAULTSTATUS		0x1c
#define MALI_AS_FAULTADDRESS		0x20
#define MALI_AS_TRANSCFG		0x30

#define MALI_AS_COMMAND_UPDATE		1
#define MALI_AS_COMMAND_FLUSH_PT	4
#define MALI_AS_COMMAND_FLUSH_MEM	5

/* the form of tables where TRANSCFG is 0 */
#define MALI_TRANSTAB_MODE		GENMASK_ULL(1, 0)
#define MALI_TRANSTAB_IDENTITY		2
#define MALI_TRANSTAB_TABLE		3

#define MALI_AS_FAULTSTATUS_TYPE	GENMASK(7, 0)
#define MALI_AS_FAULTSTATUS_ACCESS	GENMASK(9, 8)
#define MALI_AS_ACCESS_READ		2
#define MALI_AS_ACCESS_WRITE		3

#define MALI_TRANSCFG_MODE		GENMASK_ULL(3, 0)
#define MALI_TRANSCFG_INPUT_BITS	GENMASK_ULL(10, 6)	/* 55 minus the input bits */
#define MALI_TRANSCFG_NO_AF_FAULT	BIT_ULL(34)
#define MALI_MODE_UNMAPPED		1
#define MALI_MODE_IDENTITY		2
#define MALI_MODE_4K			6
#define MALI_MODE_TRANSTAB		15	/* no hardware has it: MALI_TRANSTAB_TABLE */

/* userspace maps this page */
#define MALI_FLUSH_ID			0x10000

#define MALI_DOORBELL			0x80000
#define MALI_DOORBELL_BYTES		0x10000

/* the word of a 64-bit register at @offset */
static inline u32 mali_half(u64 value, u32 offset)
{
	return offset & 4 ? upper_32_bits(value) : lower_32_bits(value);
}

/* exceptions: states of a job slot, why a command stream stopped or a translation failed */
#define MALI_EXCEPTION_DONE			0x01
#define MALI_EXCEPTION_STOPPED			0x03
#define MALI_EXCEPTION_TERMINATED		0x04
#define MALI_EXCEPTION_ACTIVE			0x08
#define MALI_EXCEPTION_JOB_CONFIG_FAULT		0x40
#define MALI_EXCEPTION_JOB_POWER_FAULT		0x41
#define MALI_EXCEPTION_JOB_AFFINITY_FAULT	0x44
#define MALI_EXCEPTION_JOB_BUS_FAULT		0x48
#define MALI_EXCEPTION_DATA_INVALID_FAULT	0x58
#define MALI_EXCEPTION_CS_CONFIG_FAULT		0x40
#define MALI_EXCEPTION_CS_UNRECOVERABLE		0x41
#define MALI_EXCEPTION_CS_BUS_FAULT		0x48
#define MALI_EXCEPTION_CS_INSTR_INVALID		0x49
#define MALI_EXCEPTION_CS_CALL_STACK_OVERFLOW	0x4a
#define MALI_EXCEPTION_CS_INHERIT_FAULT		0x4b

/* the level of the page table is added */
#define MALI_EXCEPTION_OOM			0x60
#define MALI_EXCEPTION_TRANSLATION		0xc0
#define MALI_EXCEPTION_PERMISSION		0xc8
#define MALI_EXCEPTION_ACCESS_FLAG		0xd8
#define MALI_EXCEPTION_ADDRESS_SIZE_IN		0xe0
#define MALI_EXCEPTION_ADDRESS_SIZE_OUT		0xe4

#endif /* _MALI_REGS_H_ */
