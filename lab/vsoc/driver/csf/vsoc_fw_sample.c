// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: firmware reads and clears the counters and writes them to the sample ring.
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "vsoc_csf_counters.h"
#include "engine/vsoc_fault.h"
#include "vsoc_fw.h"

/* divides the number of header words and of counters in a block */
#define REGISTERS_AT_ONCE	4

void fw_log(struct vsoc_fw *fw, enum vsoc_log_kind kind, u32 detail, u64 counts)
{
	vsoc_log(fw->vsoc, &(struct vsoc_log_entry) {
		.kind = kind,
		.detail = detail,
		.counts = counts,
		.insert = fw->insert,
		.extract = fw_read(&fw->pages.input->prfcnt_extract),
		.req = fw_read(&fw->pages.input->req),
		.ack = fw->ack,
	});
}

static void put_u64(__le32 *words, u64 value)
{
	words[0] = cpu_to_le32(lower_32_bits(value));
	words[1] = cpu_to_le32(upper_32_bits(value));
}

/* stores @value of register @i at @word; counts it as dropped if @word is NULL */
static void sample_counter(struct vsoc_fw *fw, __le32 *word, size_t i, u32 value)
{
	fw->sample_counts += value;
	if (word)
		*word = cpu_to_le32(value);
	else
		fw->dropped[i] += value;
}

/*
 * Reads and clears the counters of @block. The counts are dropped if @words is NULL: no slot is
 * free.
 */
static void sample_block(struct vsoc_fw *fw, __le32 *words, u32 block, u32 enable, u64 ticks)
{
	const u32 counters = fw->vsoc->shape.counters_per_block;
	const u32 per_bit_shift = ilog2(counters / FW_ENABLE_BITS);
	const size_t first = fw_index(fw, block, 0);
	const u32 *reg = fw->vsoc->gpu.reg + first;
	const size_t saturated = fw->saturated - first;
	u32 *base = fw->base + first;

	if (words) {
		memset(words, 0, counters * sizeof(*words));
		put_u64(&words[CSF_BLOCK_TIMESTAMP_LO], ticks);
		words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(enable);
	}

	for (u32 some = CSF_BLOCK_HEADER_WORDS; some < counters; some += REGISTERS_AT_ONCE) {
		/* most registers do not change between two samples */
		if (!memcmp(reg + some, base + some, REGISTERS_AT_ONCE * sizeof(*reg)))
			continue;
		for (u32 c = some; c < some + REGISTERS_AT_ONCE; c++) {
			const u32 value = reg[c] - base[c];

			base[c] = reg[c];
			if (enable & BIT(c >> per_bit_shift) && c != saturated)
				sample_counter(fw, words ? &words[c] : NULL, first + c, value);
		}
	}
	if (saturated >= CSF_BLOCK_HEADER_WORDS && saturated < counters &&
	    enable & BIT(saturated >> per_bit_shift))
		sample_counter(fw, words ? &words[saturated] : NULL, first + saturated, U32_MAX);
}

static void sample_metadata(struct vsoc_fw *fw, __le32 *words, u32 reason, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const bool stopped = vsoc_fault(vsoc, VSOC_FAULT_CLOCK_STOP);

	memset(words, 0, fw_block_bytes(&vsoc->shape));
	put_u64(&words[CSF_BLOCK_TIMESTAMP_LO], ticks);
	/* the metadata block is always written in full */
	words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(U32_MAX);
	words[CSF_BLOCK_SAMPLE_REASON] = cpu_to_le32(reason);
	words[CSF_METADATA_SEQ] = cpu_to_le32(fw->seq);
	for (unsigned int i = 0; i < VSOC_CLOCKS; i++)
		put_u64(&words[CSF_METADATA_CYCLES_TOP + 2 * i],
			stopped ? 0 : vsoc_gpu_cycles(vsoc, i) - fw->cycles[i]);
	put_u64(&words[CSF_METADATA_START], fw->start_ticks);
	put_u64(&words[CSF_METADATA_CORES_ON], fw->cores_on);
	put_u64(&words[CSF_METADATA_CORES_OFF], fw->cores_off);
	put_u64(&words[CSF_METADATA_CORES_MINE], fw->cores_mine);
	put_u64(&words[CSF_METADATA_CORES_AWAY], fw->cores_away);
}

/* starts a time span at @ticks; the clocks must be up to date */
void fw_begin_span(struct vsoc_fw *fw, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const u64 present = vsoc->shape.shader_present;

	fw->start_ticks = ticks;
	for (unsigned int i = 0; i < VSOC_CLOCKS; i++)
		fw->cycles[i] = vsoc_gpu_cycles(vsoc, i);
	fw->cores_on = vsoc->gpu.cores_on;
	fw->cores_off = present & ~vsoc->gpu.cores_on;
	fw->cores_mine = vsoc->shape.assigned;
	fw->cores_away = present & ~vsoc->shape.assigned;
}

/* write all blocks to @slot, or drop the counts if it is NULL */
static void sample_hardware(struct vsoc_fw *fw, __le32 *slot, u32 reason)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const struct vsoc_shape *shape = &vsoc->shape;
	const u32 words = shape->counters_per_block;
	u32 block, core, number = 0;
	bool dark = false;
	u64 ticks, begin;

	vsoc_gpu_update_clocks(vsoc);
	begin = vsoc_gpu_timestamp(vsoc->gpu.clock_ns);
	ticks = begin;
	fw->backwards = vsoc_fault(vsoc, VSOC_FAULT_TIME_BACKWARDS);
	if (fw->backwards)
		ticks = fw->start_ticks - VSOC_TIMESTAMP_HZ;

	if (slot && fw->metadata) {
		sample_metadata(fw, slot, reason, ticks);
		slot += words;
	}

	for (block = 0; block < VSOC_BLOCK_MEMSYS + shape->l2_slices; block++) {
		u32 type = min_t(u32, block, FW_BLOCK_MEMSYS);

		sample_block(fw, slot, block, fw->enable[type], ticks);
		if (slot)
			slot += words;
	}

	if (fw->cores_on && vsoc_fault(vsoc, VSOC_FAULT_POWER_LOSS_MID_SAMPLE))
		dark = true;
	for (core = 0; core < fls64(shape->shader_present); core++) {
		bool present = shape->shader_present & BIT_ULL(core);
		bool on = fw->cores_on & BIT_ULL(core);
		bool mine = fw->cores_mine & BIT_ULL(core);

		if (!present && shape->shader_dense)
			continue;
		if (present && on && dark)
			/* the metadata still lists the core: it was powered a moment ago */
			sample_block(fw, NULL, block + number++, fw->enable[FW_BLOCK_SHADER],
				     ticks);
		else if (present)
			/* the mask is empty if no part of the span had power, or was ours */
			sample_block(fw, slot, block + number++, on && mine ?
				     fw->enable[FW_BLOCK_SHADER] : 0, ticks);
		/* like the slot of an absent core, which is zeroed when counting is enabled */
		if (slot && present && on && dark)
			memset(slot, 0, fw_block_bytes(shape));
		if (slot)
			slot += words;
	}

	if (dark) {
		vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_CORE_POWER_DOWNS,
			       hweight64(fw->cores_on));
		vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_CORE_POWER_UPS,
			       hweight64(fw->cores_on));
	}
	fw_begin_span(fw, begin);
}

/* --- faults -------------------------------------------------------------- */

#define SEQ_JUMP		5
#define WRAP_MARGIN		16		/* counts before a register wraps */
#define SATURATION_EXTRA	1000		/* counts beyond the maximum */
#define INSERT_BEYOND		5
#define INSERT_BACK		2

/*
 * Saturates a counter: the truth has the full count, the sample has the register's maximum, and the
 * difference is dropped.
 */
static void saturate(struct vsoc_fw *fw)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t i = fw_index(fw, VSOC_BLOCK_CSHW, VSOC_CSHW_GPU_ACTIVE);
	u32 pending = vsoc->gpu.reg[i] - fw->base[i];

	fw->saturated = 0;
	if (!vsoc_fault(vsoc, VSOC_FAULT_SATURATION))
		return;
	fw->saturated = i;
	vsoc_gpu_count_truth(vsoc, i, U32_MAX - (u64)pending + SATURATION_EXTRA);
	fw->dropped[i] += SATURATION_EXTRA;
}

/* moves all registers close to their maximum, so that they wrap soon */
static void wrap_soon(struct vsoc_fw *fw)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t counters = vsoc_gpu_registers(vsoc);

	for (size_t i = 0; i < counters; i++) {
		vsoc->gpu.reg[i] = U32_MAX - WRAP_MARGIN;
		fw->base[i] = U32_MAX - WRAP_MARGIN;
	}
}

/* hardware block at @position of a sample, or -1 for an absent core */
static int block_at(const struct vsoc_fw *fw, u32 position)
{
	const struct vsoc_shape *shape = &fw->vsoc->shape;
	const u32 first_core = VSOC_BLOCK_MEMSYS + shape->l2_slices;
	u32 core = position - first_core;

	if (position < first_core || shape->shader_dense)
		return position;
	if (!(shape->shader_present & BIT_ULL(core)))
		return -1;
	return first_core + hweight64(shape->shader_present & (BIT_ULL(core) - 1));
}

/* adds the counts of a block of ring slot @number, at @words, to @account, at most once */
static void settle_block(struct vsoc_fw *fw, u64 *account, u32 number, u32 position,
			 const __le32 *words)
{
	const int block = block_at(fw, position);

	if (block < 0 || __test_and_set_bit(block, fw->settled[number].blocks))
		return;
	for (u32 c = CSF_BLOCK_HEADER_WORDS; c < fw->vsoc->shape.counters_per_block; c++)
		account[fw_index(fw, block, c)] += le32_to_cpu(words[c]);
}

static u32 sample_blocks(const struct vsoc_fw *fw)
{
	const struct vsoc_shape *shape = &fw->vsoc->shape;

	return VSOC_BLOCK_MEMSYS + shape->l2_slices + fw_shader_slots(shape);
}

static __le32 *first_block(struct vsoc_fw *fw, u32 number)
{
	return fw->ring + number * fw_sample_bytes(fw) +
	       fw->metadata * fw_block_bytes(&fw->vsoc->shape);
}

/* the host may reject or not read the slot */
static void doubt_slot(struct vsoc_fw *fw, u32 number)
{
	const u32 words = fw->vsoc->shape.counters_per_block;
	const __le32 *first = first_block(fw, number);

	for (u32 position = 0; position < sample_blocks(fw); position++)
		settle_block(fw, fw->doubtful, number, position, first + position * words);
}

/* the ring is about to be abandoned: the host may still use its samples, or not */
static void doubt_unread(struct vsoc_fw *fw)
{
	const u32 extract = fw_read(&fw->pages.input->prfcnt_extract);

	if (fw->insert - extract > fw->slots)
		return;
	for (u32 i = extract; i != fw->insert; i++)
		doubt_slot(fw, i & (fw->slots - 1));
}

/* drop the counts since the last sample of @first_block up to @end_block */
static void lose_counts(struct vsoc_fw *fw, u32 first_block, u32 end_block)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t end = fw_index(fw, end_block, 0);

	/* the base of the other sets is taken when they are enabled */
	for (size_t i = fw_index(fw, first_block, 0); i < end; i++) {
		if (fw->enabled)
			fw->dropped[i] += vsoc->gpu.reg[i] - fw->base[i];
		fw->base[i] = vsoc->gpu.reg[i];
	}
}

/* as lose_counts(), for some cores */
void fw_lose_cores(struct vsoc_fw *fw, u64 cores)
{
	const struct vsoc_shape *shape = &fw->vsoc->shape;

	for (; cores; cores &= cores - 1) {
		const u64 before = shape->shader_present & (BIT_ULL(__ffs64(cores)) - 1);
		const u32 block = VSOC_BLOCK_MEMSYS + shape->l2_slices + hweight64(before);

		lose_counts(fw, block, block + 1);
	}
}

/* adds unread counts in the ring that are in no account, and counts that are not sampled yet */
void fw_add_pending(struct vsoc_fw *fw, u64 *pending)
{
	const u32 extract = fw_read(&fw->pages.input->prfcnt_extract);
	const u32 words = fw->vsoc->shape.counters_per_block;

	if (!fw->enabled)
		return;
	for (size_t i = fw_index(fw, 0, 0); i < fw_index(fw, fw->vsoc->shape.blocks, 0); i++)
		pending[i] += fw->vsoc->gpu.reg[i] - fw->base[i];
	if (fw->insert - extract > fw->slots)
		return;
	for (u32 n = extract; n != fw->insert; n++) {
		const u32 number = n & (fw->slots - 1);
		const __le32 *first = first_block(fw, number);
		const struct fw_settled settled = fw->settled[number];

		for (u32 position = 0; position < sample_blocks(fw); position++)
			settle_block(fw, pending, number, position, first + position * words);
		fw->settled[number] = settled;
	}
}

/* counting starts: earlier counts are in no sample */
void fw_begin_truth(struct vsoc_fw *fw)
{
	const u64 *truth = fw->vsoc->gpu.truth;

	for (size_t i = fw_index(fw, 0, 0); i < fw_index(fw, fw->vsoc->shape.blocks, 0); i++)
		fw->doubtful[i] += truth[i] - fw->stop_truth[i];
	fw->asked = false;
}

/*
 * Old counts may be in the registers when counting is enabled. The host therefore drops all
 * samples up to the first one that it requested, and has read that one when EXTRACT is past it.
 */
static bool before_baseline(const struct vsoc_fw *fw, u32 extract)
{
	return !fw->asked || (s32)(extract - fw->baseline) < 0;
}

/*
 * Counting stops, if it was enabled: counts that are not sampled yet and all later ones are lost.
 */
void fw_end_truth(struct vsoc_fw *fw)
{
	const size_t first = fw_index(fw, 0, 0);

	if (!fw->enabled)
		return;
	fw_log(fw, VSOC_LOG_GIVEN_UP, 0, 0);
	lose_counts(fw, VSOC_BLOCK_FW, fw->vsoc->shape.blocks);
	doubt_unread(fw);
	memcpy(fw->stop_truth + first, fw->vsoc->gpu.truth + first,
	       vsoc_gpu_index(fw->vsoc, fw->vsoc->shape.blocks, 0) * sizeof(*fw->stop_truth));
}

static void corrupt(struct vsoc_fw *fw, u32 number, __le32 *slot)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const struct vsoc_shape *shape = &vsoc->shape;
	const u32 words = shape->counters_per_block;
	const u32 blocks = sample_blocks(fw);
	__le32 *first = first_block(fw, number);
	u32 position;

	if (fw->metadata && vsoc_fault(vsoc, VSOC_FAULT_GARBAGE_METADATA))
		for (u32 i = 0; i < words; i++)
			slot[i] = cpu_to_le32(vsoc_fault_random(vsoc));

	if (vsoc_fault(vsoc, VSOC_FAULT_GARBAGE_HEADER)) {
		position = vsoc_fault_random(vsoc) % (VSOC_BLOCK_MEMSYS + shape->l2_slices);
		settle_block(fw, fw->dropped, number, position, first + position * words);
		for (u32 i = 0; i < CSF_BLOCK_HEADER_WORDS; i++)
			/* invalid both as a mask and as a timestamp */
			first[position * words + i] =
				cpu_to_le32(vsoc_fault_random(vsoc) | BIT(31) | BIT(0));
	}

	if (vsoc_fault(vsoc, VSOC_FAULT_TORN_WRITE)) {
		for (position = blocks / 2; position < blocks; position++) {
			settle_block(fw, fw->dropped, number, position, first + position * words);
			memset(first + position * words, 0, fw_block_bytes(shape));
		}
	}
}

static u32 announced_insert(struct vsoc_fw *fw)
{
	if (vsoc_fault(fw->vsoc, VSOC_FAULT_INSERT_BEYOND))
		return fw->insert + fw->slots + INSERT_BEYOND;
	if (vsoc_fault(fw->vsoc, VSOC_FAULT_INSERT_BACKWARDS))
		return fw->insert - INSERT_BACK;
	return fw->insert;
}

/* --- events and samples --------------------------------------------------- */

/* raises an event of firmware: it is pending while req and ack differ */
u32 fw_event(u32 req, u32 ack, u32 bit)
{
	return (req ^ ack) & bit ? ack : ack ^ bit;
}

/*
 * Takes a sample, with hw_lock held. Returns the acknowledge word with the sample's events; the
 * caller adds its own bits and writes it.
 */
u32 fw_take_sample(struct vsoc_fw *fw, u32 req, u32 ack, u32 reason)
{
	const u32 extract = fw_read(&fw->pages.input->prfcnt_extract);
	const u32 number = fw->insert & (fw->slots - 1);
	enum vsoc_log_kind kind = VSOC_LOG_SAMPLE;
	__le32 *slot = NULL;

	fw->sample_counts = 0;
	saturate(fw);
	if (vsoc_fault(fw->vsoc, VSOC_FAULT_SEQ_JUMP))
		fw->seq += SEQ_JUMP;
	if (fw->insert - extract < fw->slots && !vsoc_fault(fw->vsoc, VSOC_FAULT_OVERFLOW))
		slot = fw->ring + number * fw_sample_bytes(fw);

	sample_hardware(fw, slot, reason);
	fw->seq++;
	if (vsoc_fault(fw->vsoc, VSOC_FAULT_COUNTER_WRAP))
		wrap_soon(fw);

	if (slot) {
		fw->settled[number] = (struct fw_settled) {};
		corrupt(fw, number, slot);
		if (before_baseline(fw, extract) || fw->backwards) {
			doubt_slot(fw, number);
			kind = VSOC_LOG_DOUBTED;
		}
		fw->samples_written++;
		fw->insert++;
		if (reason & CSF_REASON_REQUEST && !fw->asked) {
			fw->asked = true;
			fw->baseline = fw->insert;
		}
		fw_write(&fw->pages.output->prfcnt_insert, announced_insert(fw));
	} else {
		kind = VSOC_LOG_DROPPED;
		fw->samples_dropped++;
		ack = fw_event(req, ack, CSF_GLB_PRFCNT_OVERFLOW);
	}
	fw_log(fw, kind, reason, fw->sample_counts);
	if (fw->insert - extract >= fw->slots / 2)
		ack = fw_event(req, ack, CSF_GLB_PRFCNT_THRESHOLD);
	return ack;
}
