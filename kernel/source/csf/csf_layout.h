/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers and memory of the Mali CSF firmware's counter interface.
 *
 * It needs nothing of the driver, so that a model of firmware can be built from it. Names
 * follow the public interface: PRFCNT_*, GLB_*.
 */
#ifndef _CSF_LAYOUT_H_
#define _CSF_LAYOUT_H_

#include <linux/bits.h>
#include <linux/types.h>

/* global control block, written by firmware at boot */
struct csf_glb_control {
	__le32 version;		/* interface version */
	__le32 features;	/* GLB features */
	__le32 input_va;	/* firmware address of struct csf_glb_input */
	__le32 output_va;	/* firmware address of struct csf_glb_output */
	__le32 group_num;	/* command stream groups */
	__le32 group_stride;	/* bytes between group control blocks */
	__le32 prfcnt_size;	/* see CSF_PRFCNT_SIZE_* */
	__le32 instr_features;	/* instrumentation features */
	__le32 prfcnt_features;	/* see CSF_PRFCNT_FEATURES_*; zero on old firmware */
};

/* prfcnt_size: bytes of a sample, in units of 256; FW: with the CSG blocks */
#define CSF_PRFCNT_SIZE_HW_MASK		GENMASK(15, 0)
#define CSF_PRFCNT_SIZE_FW_MASK		GENMASK(31, 16)
/* prfcnt_features: bytes of the metadata block, in units of 256 */
#define CSF_PRFCNT_FEATURES_MD_MASK	GENMASK(3, 0)
#define CSF_PRFCNT_SIZE_UNIT_BYTES	256

/* global input page, written by the host */
struct csf_glb_input {
	__le32 req;			/* requests, CSF_GLB_* */
	__le32 ack_irq_mask;		/* acknowledgments that raise an interrupt */
	__le32 doorbell_req;		/* group doorbells */
	__le32 reserved1;		/* not used here */
	__le32 progress_timer;		/* the driver's */
	__le32 poweroff_timer;		/* the driver's */
	__le64 core_en_mask;		/* the driver's */
	__le32 reserved2;		/* not used here */
	__le32 prfcnt_jasid;		/* address space of the sample ring */
	__le64 prfcnt_base;		/* GPU address of the sample ring */
	__le32 prfcnt_extract;	/* free-running index of the next sample the host will read */
	__le32 reserved3[3];		/* not used here */
	__le32 prfcnt_config;		/* see CSF_PRFCNT_CONFIG_* */
	/* public sources only name it: that it is a mask of CSG blocks is an assumption */
	__le32 prfcnt_csg_select;
	__le32 prfcnt_fw_en;		/* FW block; one bit = counters_per_block / 32 counters */
	__le32 prfcnt_csg_en;		/* CSG blocks */
	__le32 prfcnt_csf_en;		/* CSHW block */
	__le32 prfcnt_shader_en;	/* SHADER blocks */
	__le32 prfcnt_tiler_en;		/* TILER block */
	__le32 prfcnt_mmu_l2_en;	/* MEMSYS blocks */
	__le32 reserved4[8];		/* not used here */
	__le32 idle_timer;		/* the driver's */
};

/* prfcnt_config; the number of slots is a power of two, at most 128 */
#define CSF_PRFCNT_CONFIG_SLOTS_MASK	GENMASK(7, 0)
#define CSF_PRFCNT_CONFIG_SET_MASK	GENMASK(9, 8)
#define CSF_PRFCNT_CONFIG_METADATA	BIT(10)

/* global output page, written by firmware */
struct csf_glb_output {
	__le32 ack;		/* acknowledgments, CSF_GLB_* */
	__le32 reserved1;	/* not used here */
	__le32 doorbell_ack;	/* acknowledged group doorbells */
	__le32 reserved2;	/* not used here */
	__le32 halt_status;	/* the driver's */
	__le32 prfcnt_status;	/* see CSF_PRFCNT_STATUS_* */
	__le32 prfcnt_insert;	/* free-running index of the next sample firmware will write */
};

#define CSF_PRFCNT_STATUS_FAILED	BIT(0)
#define CSF_PRFCNT_STATUS_POWERON	BIT(1)
#define CSF_PRFCNT_STATUS_POWEROFF	BIT(2)
#define CSF_PRFCNT_STATUS_PROTSESSION	BIT(3)

/*
 * Bits of req and ack.
 *
 * PRFCNT_ENABLE is a level: req holds the requested state; done when ack equals it.
 * PRFCNT_SAMPLE toggles: the host flips req, firmware flips ack when the sample
 * is in the ring. THRESHOLD and OVERFLOW are raised by firmware: pending while
 * req and ack differ; the host copies ack into req to acknowledge.
 */
#define CSF_GLB_HALT			BIT(0)
#define CSF_GLB_PROTM_ENTER		BIT(4)
#define CSF_GLB_PRFCNT_ENABLE		BIT(5)
#define CSF_GLB_PRFCNT_SAMPLE		BIT(6)
#define CSF_GLB_PING			BIT(8)
#define CSF_GLB_PROTM_EXIT		BIT(23)
#define CSF_GLB_PRFCNT_THRESHOLD	BIT(24)
#define CSF_GLB_PRFCNT_OVERFLOW		BIT(25)
#define CSF_GLB_IDLE			BIT(26)

/*
 * Order of events
 *
 * Enable: the host programs base, jasid, config and enable masks, zeroes
 * EXTRACT, sets PRFCNT_ENABLE in req and rings the doorbell. Firmware sets
 * INSERT to EXTRACT, begins to count and copies the bit into ack.
 *
 * Sample: firmware writes the slot INSERT & (slots - 1), then INSERT + 1, then
 * (if a request was the reason) flips PRFCNT_SAMPLE in ack, then raises the
 * global interrupt. The host reads in the opposite order.
 *
 * THRESHOLD is raised when half the slots are unread. OVERFLOW is raised when
 * a sample is due and no slot is free: its counts are lost, which only the
 * metadata of the next one (sequence number, start of the span) shows.
 *
 * Disable: firmware takes a last sample (CSF_REASON_DISABLE), stops counting
 * and clears the bit in ack.
 */

/* firmware must acknowledge PRFCNT_ENABLE and PRFCNT_SAMPLE within this time */
#define CSF_PRFCNT_ACK_TIMEOUT_MS	100

/*
 * A sample: [metadata] FW [CSG × group slots] CSHW TILER MEMSYS × slices SHADER × shader slots,
 * each block counters_per_block words of 32 bits. Old firmware has no CSG blocks. Shader slots: one
 * for each bit up to the highest core present (the absent ones hold zeroes) up to arch 13, one for
 * each present core from arch 14 on.
 */
#define CSF_BLOCK_COUNTERS_MIN		64
#define CSF_BLOCK_COUNTERS_MAX		128

/* header words of each block; counters begin at CSF_BLOCK_HEADER_WORDS */
enum csf_block_word {
	/* GPU timestamp of the end of the block's counts */
	CSF_BLOCK_TIMESTAMP_LO = 0,
	CSF_BLOCK_TIMESTAMP_HI = 1,
	/*
	 * mask of counters written, in units of the enable masks. The host zeroes it; it remains
	 * zero if firmware does not write the block: an absent core, or one without power in the
	 * whole span
	 */
	CSF_BLOCK_PRFCNT_EN = 2,
	/* metadata block: reason of the sample; the host zeroes it */
	CSF_BLOCK_SAMPLE_REASON = 3,
	CSF_BLOCK_HEADER_WORDS = 4,
};

/* sample_reason of the metadata block */
#define CSF_REASON_REQUEST		BIT(0)
#define CSF_REASON_POWEROFF		BIT(1)
#define CSF_REASON_POWERON		BIT(2)
#define CSF_REASON_PROTM_ENTER		BIT(3)
#define CSF_REASON_PROTM_EXIT		BIT(4)
#define CSF_REASON_THRESHOLD		BIT(5)
#define CSF_REASON_DISABLE		BIT(6)
#define CSF_REASON_TRANSITIONS \
	(CSF_REASON_POWEROFF | CSF_REASON_POWERON | CSF_REASON_PROTM_ENTER | CSF_REASON_PROTM_EXIT)

/* further words of the metadata block */
enum csf_metadata_word {
	CSF_METADATA_SEQ = 4, /* sample number modulo 2^32; dropped samples count as well */
	/* 64-bit cycle counts since the previous sample, low word first */
	CSF_METADATA_CYCLES_TOP = 6,
	CSF_METADATA_CYCLES_COREGROUP = 8,
	CSF_METADATA_CYCLES_SHADER = 10,
	/* GPU timestamp of the start of this sample's span, low word first */
	CSF_METADATA_START = 12,
	/* shader cores with power for part of the span, 64 bits, low word first */
	CSF_METADATA_CORES_ON = 14,
	/* shader cores without power for part of the span, 64 bits, low word first */
	CSF_METADATA_CORES_OFF = 16,
	/*
	 * shader cores that worked for this system for part of the span, and those that worked for
	 * another one (virtualisation); all zero: firmware does not know
	 */
	CSF_METADATA_CORES_MINE = 18,
	CSF_METADATA_CORES_AWAY = 20,
};

#endif /* _CSF_LAYOUT_H_ */
