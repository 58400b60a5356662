// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding and validation of firmware's samples.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>

#include "csf_sample.h"
#include "format/perfctr_mask.h"

/**
 * DOC: validation of a firmware sample
 *
 * Firmware, and possibly others in its address space, can write to a sample at any time.
 * Each word is read once; only the check for saturated counters reads some again, which changes
 * no count. Positions and sizes come from the driver's configuration alone, so the contents of a
 * sample cannot cause accesses outside of it. Checks:
 *
 * - PRFCNT_EN, which the driver zeroes after reading a slot: zero in all blocks means that
 *   firmware never wrote the slot. A header is invalid if it has a bit that was never enabled,
 *   bits that differ from the last sample's (enable masks do not change while counting), or a
 *   timestamp before the previous sample's or in the future.
 * - metadata: ordered timestamps, an increasing sequence number, only existing cores, at most as
 *   many cycles as any clock can provide, and cycles of at least one clock if time has advanced.
 *   Metadata that fails one check is not used at all.
 *
 * A CSG block that was not written is not measured, which loses nothing. A block with an invalid
 * header is lost for the span of its sample; the others are used::
 *
 *     sample n-1          sample n                      sample n+1
 *     ....end_ticks][start_ticks .......... end_ticks][....
 *                  ^^ a gap is lost time: samples were due here, the
 *                     ring was full and the sequence number shows how many
 *
 * Counters are relative to the previous sample (firmware clears them), so their values are added
 * to the totals. A counter at its maximum has saturated or was about to wrap; both are reported
 * as saturated.
 */

/* upper bound of cycles per tick of the GPU timestamp, for any clock */
#define CSF_CYCLES_PER_TICK_MAX		4096
/* taking a sample needs a clock: at least one cycle in this many ticks */
#define CSF_TICKS_PER_CYCLE_MAX		4096

struct csf_sample_span {
	u64 start_ticks;
	u64 end_ticks;
	u64 cores_on;
	u64 cores_off;
	u64 cores_due; /* cores that may have counted: power at the start, no sample of its end */
	/* cores whose block was written, which therefore had power */
	u64 cores_written;
	u32 reason;
	bool timed; /* start and end are known */
	u64 cores_mine; /* likewise, assigned to this system; both 0: unknown */
	u64 cores_away;
	bool cores_known; /* the masks are known */
	u32 written; /* PRFCNT_EN of any block */
	bool gap; /* preceding samples are missing */
	bool lost; /* a block of this sample could not be used */
};

static u32 read32(const __le32 *words, unsigned int word)
{
	return le32_to_cpu(READ_ONCE(words[word]));
}

static u64 read64(const __le32 *words, unsigned int word)
{
	u32 lo = read32(words, word);

	return lo | (u64)read32(words, word + 1) << 32;
}

/* blocks of a type in a sample, absent cores included */
static unsigned int blocks_of(const struct csf_perfctr_config *config, enum csf_perfctr_type type)
{
	if (type == CSF_PERFCTR_CSG)
		return config->csg_blocks;
	if (type == CSF_PERFCTR_MEMSYS)
		return config->l2_slices;
	if (type != CSF_PERFCTR_SHADER)
		return 1;
	return config->shader_dense ? hweight64(config->shader_present) :
				      fls64(config->shader_present);
}

/**
 * csf_reader_block_count() - blocks of a firmware sample without metadata
 * @config: geometry
 *
 * Returns: number of blocks, absent cores included.
 */
unsigned int csf_reader_block_count(const struct csf_perfctr_config *config)
{
	unsigned int type, blocks = 0;

	for (type = 0; type < CSF_PERFCTR_TYPES; type++)
		blocks += blocks_of(config, type);
	return blocks;
}

/* counters per bit of an enable mask */
static unsigned int counters_per_bit(u32 counters_per_block)
{
	return counters_per_block / 32;
}

static u32 compress_mask(const u64 *counters, u32 counters_per_block)
{
	unsigned int width = counters_per_bit(counters_per_block);
	u32 mask = 0;
	unsigned int i;

	for (i = 0; i < counters_per_block; i++)
		if (counters[i / 64] & BIT_ULL(i % 64))
			mask |= BIT(i / width);
	return mask;
}

static u64 expand_mask(u32 mask, unsigned int section, u32 counters_per_block)
{
	unsigned int width = counters_per_bit(counters_per_block);
	u64 group = GENMASK_ULL(width - 1, 0);
	u64 counters = 0;
	unsigned int bit;

	if (mask == U32_MAX)
		return U64_MAX;
	for (bit = 0; bit < 64 / width; bit++)
		if (mask & BIT_ULL(section * (64 / width) + bit))
			counters |= group << (bit * width);
	return counters;
}

/* @place: position in the sample, without metadata */
static void add_block(struct csf_reader *reader, unsigned int place, enum csf_perfctr_type type,
		      u16 index, bool visible)
{
	struct csf_block *block = &reader->blocks[reader->block_count++];

	block->type = type;
	block->index = index;
	block->offset = (reader->has_metadata + place) * reader->counters_per_block;
	block->desc = visible ? reader->visible_count++ : CSF_BLOCK_HIDDEN;
}

/**
 * csf_reader_use_set() - switch to another counter set
 * @reader: with its sizes known
 * @config: geometry, already checked
 * @set: enum drm_perfctr_set
 */
void csf_reader_use_set(struct csf_reader *reader, const struct csf_perfctr_config *config,
			u8 set)
{
	const u64 header = GENMASK_ULL(CSF_BLOCK_HEADER_WORDS - 1, 0);
	unsigned int type;

	for (type = 0; type < CSF_PERFCTR_TYPES; type++) {
		const struct csf_perfctr_type_config *t = &config->types[type];
		u64 *available = reader->available[type];

		if (set == DRM_PERFCTR_SET_PRIMARY) {
			memcpy(available, t->available, sizeof(t->available));
			if (!available[0] && !available[1])
				memset(available, 0xff, sizeof(t->available));
		} else {
			memcpy(available, t->set_available[set - 1], sizeof(t->available));
		}
		if (config->counters_per_block <= 64)
			available[1] = 0;
		/* the header shows that a block was written */
		available[0] |= header;
		reader->enable[type] = compress_mask(available, config->counters_per_block);
		available[0] &= ~header;
	}
}

/**
 * csf_reader_init() - derive the layout of samples
 * @reader: zeroed except for @blocks, which has room for csf_reader_block_count()
 * @config: geometry, already checked
 * @has_metadata: firmware puts a metadata block in front
 *
 * @reader->spans must be set to @reader->visible_count elements before the
 * first csf_reader_begin().
 */
void csf_reader_init(struct csf_reader *reader, const struct csf_perfctr_config *config,
		     bool has_metadata)
{
	unsigned int i, type, place = 0;

	reader->counters_per_block = config->counters_per_block;
	reader->has_metadata = has_metadata;
	reader->extended_metadata = has_metadata && config->extended_metadata;
	reader->shader_present = config->shader_present;

	csf_reader_use_set(reader, config, DRM_PERFCTR_SET_PRIMARY);

	for (type = 0; type < CSF_PERFCTR_SHADER; type++)
		for (i = 0; i < blocks_of(config, type); i++)
			add_block(reader, place++, type, i, true);
	for (i = 0; i < 64; i++) {
		bool present = config->shader_present & BIT_ULL(i);

		if (present)
			add_block(reader, place, CSF_PERFCTR_SHADER, i,
				  config->shader_visible & BIT_ULL(i));
		/* firmware leaves room for absent cores, unless it is dense */
		place += present || !config->shader_dense;
	}
	csf_reader_restart(reader);
}

/**
 * csf_reader_restart() - the next sample has no predecessor
 * @reader: the reader
 */
void csf_reader_restart(struct csf_reader *reader)
{
	unsigned int i;

	reader->end_ticks = 0;
	reader->seq_valid = false;
	reader->protected = false;
	reader->shader_off = false;
	reader->cores_on = 0;
	for (i = 0; i < reader->block_count; i++)
		reader->blocks[i].written = 0;
}

/**
 * csf_reader_begin() - clear the results of earlier samples
 * @reader: the reader
 */
void csf_reader_begin(struct csf_reader *reader)
{
	memset(reader->spans, 0, reader->visible_count * sizeof(*reader->spans));
	memset(reader->cycles, 0, sizeof(reader->cycles));
	reader->samples = 0;
	reader->reasons = 0;
	reader->unknown_reason = false;
	reader->transition = false;
	reader->corrupt = false;
	reader->gap = false;
	reader->lost_ticks = 0;
	reader->lost_untimed = false;
}

/**
 * csf_reader_clear_slot() - mark a slot as not written
 * @reader: the reader
 * @slot: memory of one sample
 */
void csf_reader_clear_slot(const struct csf_reader *reader, void *slot)
{
	__le32 *words = slot;
	unsigned int i;

	if (reader->has_metadata) {
		WRITE_ONCE(words[CSF_BLOCK_PRFCNT_EN], 0);
		WRITE_ONCE(words[CSF_BLOCK_SAMPLE_REASON], 0);
	}
	for (i = 0; i < reader->block_count; i++)
		WRITE_ONCE(words[reader->blocks[i].offset + CSF_BLOCK_PRFCNT_EN], 0);
}

/**
 * csf_reader_lost() - mark counts of all blocks as lost for a part of the span
 * @reader: the reader
 * @states: DRM_PERFCTR_STATE_LOST, _ERROR
 */
void csf_reader_lost(struct csf_reader *reader, u32 states)
{
	unsigned int i;

	for (i = 0; i < reader->visible_count; i++)
		reader->spans[i].states |= states;
}

static bool plausible_cycles(u64 cycles, u64 ticks)
{
	return cycles / CSF_CYCLES_PER_TICK_MAX <= ticks;
}

static bool read_extended(struct csf_reader *reader, const __le32 *words,
			  struct csf_sample_span *span)
{
	static const u8 cycle_words[CSF_CLOCKS] = {
		[DRM_PERFCTR_MALI_CLOCK_TOP] = CSF_METADATA_CYCLES_TOP,
		[DRM_PERFCTR_MALI_CLOCK_COREGROUP] = CSF_METADATA_CYCLES_COREGROUP,
		[DRM_PERFCTR_MALI_CLOCK_SHADER] = CSF_METADATA_CYCLES_SHADER,
	};
	u32 seq = read32(words, CSF_METADATA_SEQ);
	u32 missing = reader->seq_valid ? seq - reader->seq - 1 : 0;
	u64 cycles[CSF_CLOCKS];
	u64 all_cycles = 0;
	unsigned int i;

	span->start_ticks = read64(words, CSF_METADATA_START);
	span->cores_on = read64(words, CSF_METADATA_CORES_ON);
	span->cores_off = read64(words, CSF_METADATA_CORES_OFF);
	span->cores_mine = read64(words, CSF_METADATA_CORES_MINE);
	span->cores_away = read64(words, CSF_METADATA_CORES_AWAY);

	if (span->start_ticks > span->end_ticks || span->start_ticks < reader->end_ticks)
		return false;
	if ((span->cores_on | span->cores_off | span->cores_mine | span->cores_away) &
	    ~reader->shader_present)
		return false;
	if (missing > S32_MAX)
		return false;
	for (i = 0; i < CSF_CLOCKS; i++) {
		cycles[i] = read64(words, cycle_words[i]);
		if (!plausible_cycles(cycles[i], span->end_ticks - span->start_ticks + 1))
			return false;
		all_cycles |= cycles[i];
	}
	if (!all_cycles && span->end_ticks - span->start_ticks > CSF_TICKS_PER_CYCLE_MAX)
		return false;

	for (i = 0; i < CSF_CLOCKS; i++)
		reader->cycles[i] += cycles[i];
	if (reader->end_ticks) {
		u64 gap_ticks = span->start_ticks - reader->end_ticks;

		reader->lost_ticks += gap_ticks;
		span->gap = gap_ticks;
		if (missing)
			reader->gap |= gap_ticks;
		else	/* firmware did not count for a while, without a missing sample */
			reader->corrupt |= gap_ticks;
	}
	reader->seq = seq;
	reader->seq_valid = true;
	span->cores_known = true;
	return true;
}

static void read_metadata(struct csf_reader *reader, __le32 *words, u64 now_ticks,
			  struct csf_sample_span *span)
{
	span->end_ticks = read64(words, CSF_BLOCK_TIMESTAMP_LO);
	span->reason = read32(words, CSF_BLOCK_SAMPLE_REASON);
	WRITE_ONCE(words[CSF_BLOCK_PRFCNT_EN], 0);
	WRITE_ONCE(words[CSF_BLOCK_SAMPLE_REASON], 0);

	if (!reader->extended_metadata) {
		span->start_ticks = reader->end_ticks ?: span->end_ticks;
		span->timed = span->end_ticks >= reader->end_ticks &&
			      span->end_ticks <= now_ticks;
		reader->corrupt |= !span->timed;
		return;
	}

	span->timed = span->end_ticks <= now_ticks && read_extended(reader, words, span);
	if (!span->timed) {
		reader->corrupt = true;
		/* the sequence number of this sample or of the last one is wrong */
		reader->seq_valid = false;
		span->cores_known = false;
		span->reason = 0;
	}
}

static u32 mode_states(struct csf_reader *reader, u32 reason)
{
	bool was_protected = reader->protected || (reason & CSF_REASON_PROTM_EXIT);

	if (reason & CSF_REASON_PROTM_EXIT)
		reader->protected = false;
	if (reason & CSF_REASON_PROTM_ENTER)
		reader->protected = true;
	return was_protected ? DRM_PERFCTR_STATE_PROTECTED : DRM_PERFCTR_STATE_NORMAL;
}

static u32 power_states(const struct csf_reader *reader, const struct csf_block *block,
			const struct csf_sample_span *span, bool written)
{
	u32 states = 0;

	if (block->type != CSF_PERFCTR_SHADER)
		return DRM_PERFCTR_STATE_ON;

	if (span->cores_known) {
		if (span->cores_on & BIT_ULL(block->index))
			states |= DRM_PERFCTR_STATE_ON;
		if (span->cores_off & BIT_ULL(block->index))
			states |= DRM_PERFCTR_STATE_OFF;
		return states;
	}
	if (written)
		states |= DRM_PERFCTR_STATE_ON;
	if (!written || reader->shader_off || (span->reason & CSF_REASON_POWERON))
		states |= DRM_PERFCTR_STATE_OFF;
	return states;
}

static u32 assigned_states(const struct csf_block *block, const struct csf_sample_span *span)
{
	const bool known = block->type == CSF_PERFCTR_SHADER && span->cores_known;
	const bool mine = known && span->cores_mine & BIT_ULL(block->index);
	const bool away = known && span->cores_away & BIT_ULL(block->index);

	return (mine || !away ? DRM_PERFCTR_STATE_AVAILABLE : 0) |
	       (away ? DRM_PERFCTR_STATE_UNAVAILABLE : 0);
}

/* counts are lost if cores lost power without a preceding sample */
static void follow_cores(struct csf_reader *reader, struct csf_sample_span *span)
{
	const u64 cores_on = span->cores_known ? span->cores_on : 0;

	if (!span->gap && !reader->power_down)
		span->cores_due = reader->cores_on & ~cores_on;
	reader->cores_on = cores_on;
	reader->power_down = span->reason & CSF_REASON_POWEROFF;
}

/* adds adjacent counters; returns the OR of their values and @seen */
static u32 add_run(u64 *__restrict totals, const __le32 *words, unsigned int count, u32 seen)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < count; i++) {
		u32 value = read32(words, i);

		totals[i] += value;
		seen |= value;
	}
	return seen;
}

static bool any_at_maximum(const __le32 *words, u64 mask)
{
	for (; mask; mask &= mask - 1)
		if (read32(words, __ffs64(mask)) == U32_MAX)
			return true;
	return false;
}

/* returns true if a counter is at its maximum */
static bool accumulate(u64 *totals, const __le32 *words, u64 mask)
{
	u64 left = mask;
	u32 seen = 0;

	while (left) {
		unsigned int first, count = perfctr_mask_run(&left, &first);

		seen = add_run(totals + first, words + first, count, seen);
	}
	/* cheap test first: it rarely passes */
	return seen == U32_MAX && any_at_maximum(words, mask);
}

/* sets the block's counters from PRFCNT_EN of a valid header; 0: after an invalid one */
static noinline void expect_counters(const struct csf_reader *reader, struct csf_block *block,
				     u32 enabled)
{
	unsigned int section;

	block->written = enabled;
	for (section = 0; section < CSF_PERFCTR_SECTIONS; section++)
		block->counters[section] =
			expand_mask(enabled, section, reader->counters_per_block) &
			reader->available[block->type][section];
}

static bool believe_header(const struct csf_reader *reader, struct csf_block *block,
			   u32 enabled, u64 ticks, u64 now_ticks)
{
	bool good = enabled && !(enabled & ~reader->enable[block->type]) &&
		    (!block->written || enabled == block->written) &&
		    ticks >= reader->end_ticks && ticks <= now_ticks;

	/* after an invalid header, this mask or the previous one may be right */
	if (!good || !block->written)
		expect_counters(reader, block, good ? enabled : 0);
	return good;
}

static void read_counters(const struct csf_reader *reader, const struct csf_block *block,
			  const __le32 *words, u64 *totals, struct csf_block_span *span)
{
	unsigned int section;

	for (section = 0; section < reader->counters_per_block / 64; section++) {
		u64 mask = block->counters[section];

		if (!span->skipped)
			span->valid[section] |= mask;
		if (totals && accumulate(totals + 64 * section, words + 64 * section, mask))
			span->states |= DRM_PERFCTR_STATE_SATURATED;
	}
}

static void read_visible(struct csf_reader *reader, struct csf_block *block,
			 const __le32 *words, u32 enabled, u64 now_ticks, u32 mode,
			 struct csf_sample_span *sample, u64 *totals)
{
	struct csf_block_span *span = &reader->spans[block->desc];
	u64 ticks = read64(words, CSF_BLOCK_TIMESTAMP_LO);
	u32 states = power_states(reader, block, sample, enabled);
	u32 assigned = assigned_states(block, sample);

	span->states |= states | mode | assigned;
	/* what other systems count is not ours to see */
	if (!enabled && !(assigned & DRM_PERFCTR_STATE_AVAILABLE))
		return;

	if (!enabled && !(states & DRM_PERFCTR_STATE_ON) &&
	    !(sample->cores_due & BIT_ULL(block->index))) {
		/* without power all counts are zero, which is valid if they are never written */
		if (!span->written)
			memcpy(span->valid, reader->available[block->type],
			       sizeof(span->valid));
		return;
	}
	/* firmware decides which group slots it writes: nothing is known to be lost */
	span->skipped |= !enabled && block->type == CSF_PERFCTR_CSG;
	if (!span->written || span->skipped)
		memset(span->valid, 0, sizeof(span->valid));
	span->written = true;
	if (span->skipped && !enabled)
		return;
	if (!believe_header(reader, block, enabled, ticks, now_ticks)) {
		span->states |= DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_LOST;
		reader->corrupt = true;
		sample->lost = true;
		return;
	}
	read_counters(reader, block, words, totals, span);
	if (!sample->timed) {
		sample->start_ticks = reader->end_ticks ?: ticks;
		sample->end_ticks = ticks;
		sample->timed = true;
	}
}

/**
 * csf_reader_read() - decode the sample in a slot
 * @reader: the reader
 * @slot: memory of the sample, written by firmware before INSERT was read
 * @now_ticks: GPU timestamp read after INSERT, U64_MAX if unknown
 * @totals: for each visible block, where to add its counts; NULL: discard them
 *
 * Returns: 0, or -EIO if firmware has not written the slot: nothing was added.
 */
int csf_reader_read(struct csf_reader *reader, void *slot, u64 now_ticks, u64 *const *totals)
{
	struct csf_sample_span sample = {};
	u32 mode;
	unsigned int i;

	if (reader->has_metadata) {
		read_metadata(reader, slot, now_ticks, &sample);
		follow_cores(reader, &sample);
	}
	mode = mode_states(reader, sample.reason);

	for (i = 0; i < reader->block_count; i++) {
		struct csf_block *block = &reader->blocks[i];
		__le32 *words = (__le32 *)slot + block->offset;
		u32 enabled = read32(words, CSF_BLOCK_PRFCNT_EN);

		WRITE_ONCE(words[CSF_BLOCK_PRFCNT_EN], 0);
		sample.written |= enabled;
		if (enabled && block->type == CSF_PERFCTR_SHADER)
			sample.cores_written |= BIT_ULL(block->index);
		if (block->desc == CSF_BLOCK_HIDDEN)
			continue;
		read_visible(reader, block, words, enabled, now_ticks, mode, &sample,
			     totals ? totals[block->desc] : NULL);
	}
	if (!sample.written)
		return -EIO;

	/* the reason is unknown: these cores may still have power */
	if (reader->extended_metadata && !sample.cores_known)
		reader->cores_on = sample.cores_due | sample.cores_written;
	if (sample.reason & (CSF_REASON_POWERON | CSF_REASON_POWEROFF))
		reader->shader_off = sample.reason & CSF_REASON_POWEROFF;
	reader->samples++;
	reader->reasons |= sample.reason;
	reader->unknown_reason |= !sample.reason;
	reader->transition |= sample.reason & CSF_REASON_TRANSITIONS;
	if (sample.lost && sample.timed)
		reader->lost_ticks += sample.end_ticks - sample.start_ticks;
	reader->lost_untimed |= sample.lost && !sample.timed;
	if (sample.gap)
		csf_reader_lost(reader, DRM_PERFCTR_STATE_LOST);
	/* without a valid end, the next sample has no predecessor */
	reader->end_ticks = sample.timed ? sample.end_ticks : 0;
	return 0;
}
