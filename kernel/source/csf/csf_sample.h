/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decoding and validation of firmware's samples. It can be tested in user space.
 */
#ifndef _CSF_SAMPLE_H_
#define _CSF_SAMPLE_H_

#include <linux/types.h>
#include "csf_layout.h"
#include "csf_perfctr.h"

/** CSF_CLOCKS - clock domains with cycles in the metadata block. */
#define CSF_CLOCKS	3

/* one block of a firmware sample */
struct csf_block {
	enum csf_perfctr_type type;
	u16 index;	/* number within the type; for shader cores the physical number */
	s16 desc;	/* index of the visible block, or CSF_BLOCK_HIDDEN */
	u32 written;	/* PRFCNT_EN of its last valid header, 0: unknown */
	u32 offset;	/* first word in the sample */
	u64 counters[CSF_PERFCTR_SECTIONS];	/* counters in @written */
};

/** CSF_BLOCK_HIDDEN - a core that is hidden from users. */
#define CSF_BLOCK_HIDDEN	(-1)

/* state of a visible block since the last collection */
struct csf_block_span {
	u64 valid[CSF_PERFCTR_SECTIONS];	/* counters that were measured */
	bool written;				/* not only without power */
	bool skipped;				/* a sample of the span lacks it: not measured */
	u32 states;				/* enum drm_perfctr_block_states */
};

/* decodes consecutive firmware samples */
struct csf_reader {
	struct csf_block *blocks;	/* in the order of the sample, without absent cores */
	unsigned int block_count;	/* elements of @blocks */
	unsigned int visible_count;	/* visible elements of @blocks */
	u32 counters_per_block;		/* 32-bit words of a block */
	bool has_metadata;		/* samples begin with a metadata block */
	bool extended_metadata;		/* the metadata block carries enum csf_metadata_word */
	u64 shader_present;		/* cores that can report */
	/* counters of each type in the set in use, header words left out */
	u64 available[CSF_PERFCTR_TYPES][CSF_PERFCTR_SECTIONS];
	u32 enable[CSF_PERFCTR_TYPES];	/* enable mask of each type as programmed */

	u64 end_ticks;		/* end of the last sample, 0: none yet */
	u32 seq;		/* number of the last sample */
	bool seq_valid;		/* @seq is known */
	bool protected;		/* the last sample ended with entering protected mode */
	bool shader_off;	/* the last sample ended with the cores losing power */
	u64 cores_on;		/* cores with power in the last sample, 0: unknown */
	bool power_down;	/* the last sample was taken because cores lose power */

	/* results, accumulated over several samples since csf_reader_begin() */

	struct csf_block_span *spans;	/* one for each visible block */
	unsigned int samples;	/* samples read */
	u32 reasons;		/* union of their reasons, CSF_REASON_* */
	bool unknown_reason;	/* one of them has no reason */
	bool transition;	/* one of them was taken because power or protected mode changed */
	bool corrupt;		/* invalid data was found */
	bool gap;		/* samples are missing between them */
	u64 lost_ticks;		/* time in which something was not counted */
	bool lost_untimed;	/* something was not counted for an unknown time */
	u64 cycles[CSF_CLOCKS];	/* clock cycles, indexed by enum drm_perfctr_mali_clock */
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
