/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples as firmware writes them, and what of them is valid. Also built natively by kernel/tests.
 */
#ifndef _CSF_SAMPLE_H_
#define _CSF_SAMPLE_H_

#include <linux/types.h>
#include "csf_layout.h"
#include "csf_perfctr.h"

/** CSF_CLOCKS - clock domains with cycles in the metadata block. */
#define CSF_CLOCKS	3

/**
 * struct csf_block - one block of a firmware sample
 */
struct csf_block {
	/** @type: what it counts. */
	enum csf_perfctr_type type;
	/** @index: number within the type; for shader cores the physical one. */
	u16 index;
	/** @desc: index of the block that users see, or CSF_BLOCK_HIDDEN. */
	s16 desc;
	/** @written: PRFCNT_EN of its last good header, 0: not known yet. */
	u32 written;
	/** @counters: those that @written stands for. */
	u64 counters[CSF_PERFCTR_SECTIONS];
};

/** CSF_BLOCK_HIDDEN - an absent core or one that users must not see. */
#define CSF_BLOCK_HIDDEN	(-1)

/**
 * struct csf_block_span - what is known of a visible block since the last collection
 */
struct csf_block_span {
	/** @valid: counters that were measured. */
	u64 valid[CSF_PERFCTR_SECTIONS];
	/** @states: enum drm_perfctr_block_states. */
	u32 states;
};

/**
 * struct csf_reader - reads firmware samples one after the other
 */
struct csf_reader {
	/** @blocks: blocks in the order of the sample, without metadata. */
	struct csf_block *blocks;
	/** @block_count: elements of @blocks. */
	unsigned int block_count;
	/** @visible_count: of those, shown to users. */
	unsigned int visible_count;
	/** @counters_per_block: 32-bit words of a block. */
	u32 counters_per_block;
	/** @has_metadata: samples begin with a metadata block. */
	bool has_metadata;
	/** @extended_metadata: the metadata block carries enum csf_metadata_word. */
	bool extended_metadata;
	/** @shader_present: cores that can report. */
	u64 shader_present;
	/** @available: counters of each type in the set in use, header words left out. */
	u64 available[CSF_PERFCTR_TYPES][CSF_PERFCTR_SECTIONS];
	/** @enable: enable mask of each type as programmed. */
	u32 enable[CSF_PERFCTR_TYPES];

	/** @end_ticks: end of the last sample, 0: none yet. */
	u64 end_ticks;
	/** @seq: number of the last sample. */
	u32 seq;
	/** @seq_valid: @seq is known. */
	bool seq_valid;
	/** @protected: the last sample ended with entering protected mode. */
	bool protected;
	/** @shader_off: the last sample ended with the cores losing power. */
	bool shader_off;
	/** @cores_on: cores with power in the last sample, 0 if that is not known. */
	u64 cores_on;
	/** @power_down: the last sample was taken because cores lose power. */
	bool power_down;

	/* what follows is collected over several samples: csf_reader_begin() */

	/** @spans: one for each visible block. */
	struct csf_block_span *spans;
	/** @samples: samples read. */
	unsigned int samples;
	/** @reasons: all of their reasons, CSF_REASON_*. */
	u32 reasons;
	/** @unknown_reason: one of them has no reason. */
	bool unknown_reason;
	/** @transition: one of them was taken as power or protected mode changed. */
	bool transition;
	/** @corrupt: something in them is invalid. */
	bool corrupt;
	/** @gap: samples are missing between them. */
	bool gap;
	/** @lost_ticks: time in which something was not counted. */
	u64 lost_ticks;
	/** @lost_untimed: something was not counted for an unknown time. */
	bool lost_untimed;
	/** @cycles: clock cycles, indexed by enum drm_perfctr_mali_clock. */
	u64 cycles[CSF_CLOCKS];
};

unsigned int csf_reader_block_count(const struct csf_perfctr_config *config);
void csf_reader_init(struct csf_reader *reader, const struct csf_perfctr_config *config,
		     bool has_metadata);
void csf_reader_use_set(struct csf_reader *reader, const struct csf_perfctr_config *config,
			u8 set);
void csf_reader_restart(struct csf_reader *reader);
void csf_reader_begin(struct csf_reader *reader);
void csf_reader_clear_slot(const struct csf_reader *reader, void *slot);
int csf_reader_read(struct csf_reader *reader, void *slot, u64 now_ticks, u64 *const *totals);
void csf_reader_lost(struct csf_reader *reader, u32 states);

#endif /* _CSF_SAMPLE_H_ */
