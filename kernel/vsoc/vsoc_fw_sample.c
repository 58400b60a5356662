// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware reads and clears the counters and writes them to the sample ring.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "vsoc_counters.h"
#include "vsoc_fault.h"
#include "vsoc_fw.h"

static void put_u64(__le32 *words, u64 value)
{
	words[0] = cpu_to_le32(lower_32_bits(value));
	words[1] = cpu_to_le32(upper_32_bits(value));
}

/*
 * Read and clear the counters of @block. @words is NULL if there is no slot to
 * write to: the counts are gone.
 */
static void sample_block(struct vsoc_fw *fw, __le32 *words, u32 block, u32 enable, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const u32 counters = vsoc->shape.counters_per_block;
	const u32 per_bit = counters / FW_ENABLE_BITS;
	u32 c;

	if (words) {
		put_u64(&words[CSF_BLOCK_TIMESTAMP_LO], ticks);
		words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(enable);
		words[CSF_BLOCK_HEADER_WORDS - 1] = 0;
	}

	for (c = CSF_BLOCK_HEADER_WORDS; c < counters; c++) {
		const size_t i = fw_index(fw, block, c);
		u32 value = vsoc->gpu.reg[i] - fw->base[i];

		fw->base[i] = vsoc->gpu.reg[i];
		if (!(enable & BIT(c / per_bit)))
			value = 0;
		else if (i == fw->saturated)
			value = U32_MAX;
		if (words)
			words[c] = cpu_to_le32(value);
		else
			fw->dropped[i] += value;
	}
}

static void sample_metadata(struct vsoc_fw *fw, __le32 *words, u32 reason, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const bool stopped = vsoc_fault(vsoc, VSOC_FAULT_CLOCK_STOP);
	unsigned int i;

	memset(words, 0, fw_block_bytes(&vsoc->shape));
	put_u64(&words[CSF_BLOCK_TIMESTAMP_LO], ticks);
	/* the metadata block is always written in full */
	words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(U32_MAX);
	words[CSF_BLOCK_SAMPLE_REASON] = cpu_to_le32(reason);
	words[CSF_METADATA_SEQ] = cpu_to_le32(fw->seq);
	for (i = 0; i < VSOC_CLOCKS; i++)
		put_u64(&words[CSF_METADATA_CYCLES_TOP + 2 * i],
			stopped ? 0 : vsoc_gpu_cycles(vsoc, i) - fw->cycles[i]);
	put_u64(&words[CSF_METADATA_START], fw->start_ticks);
	put_u64(&words[CSF_METADATA_CORES_ON], fw->cores_on);
	put_u64(&words[CSF_METADATA_CORES_OFF], fw->cores_off);
}

/* the span that begins at @ticks; called with the clocks up to date */
void fw_begin_span(struct vsoc_fw *fw, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const u64 present = vsoc->shape.shader_present;
	unsigned int i;

	fw->start_ticks = ticks;
	for (i = 0; i < VSOC_CLOCKS; i++)
		fw->cycles[i] = vsoc_gpu_cycles(vsoc, i);
	fw->cores_on = vsoc->gpu.cores_on;
	fw->cores_off = present & ~vsoc->gpu.cores_on;
}

/* write all blocks to @slot, or drop the counts if it is NULL */
static void sample_hardware(struct vsoc_fw *fw, __le32 *slot, u32 reason)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const struct vsoc_shape *shape = &vsoc->shape;
	const u32 words = shape->counters_per_block;
	u32 block, core, number = 0;
	u64 ticks, begin;

	vsoc_gpu_update_clocks(vsoc);
	begin = vsoc_gpu_timestamp(vsoc->gpu.clock_ns);
	ticks = begin;
	if (vsoc_fault(vsoc, VSOC_FAULT_TIME_BACKWARDS))
		ticks -= VSOC_TIMESTAMP_HZ;

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

	for (core = 0; core < fls64(shape->shader_present); core++) {
		bool present = shape->shader_present & BIT_ULL(core);
		bool on = fw->cores_on & BIT_ULL(core);

		if (!present && shape->shader_dense)
			continue;
		if (present)
			/* a core without power in the whole span writes no mask */
			sample_block(fw, slot, block + number++,
				     on ? fw->enable[FW_BLOCK_SHADER] : 0, ticks);
		else if (slot)
			memset(slot, 0, fw_block_bytes(shape));
		if (slot)
			slot += words;
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
 * A counter that counts more than its register holds and stays at the maximum:
 * the truth has it all, the sample the maximum, the rest is dropped.
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

/* shift all registers so that the next counts wrap them */
static void wrap_soon(struct vsoc_fw *fw)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t counters = vsoc_gpu_registers(vsoc);
	size_t i;

	for (i = 0; i < counters; i++) {
		vsoc->gpu.reg[i] = U32_MAX - WRAP_MARGIN;
		fw->base[i] = U32_MAX - WRAP_MARGIN;
	}
}

/* hardware block behind block number @position of a sample, or -1 for an absent core */
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

/* what @words holds will reach nobody */
static void drop_block(struct vsoc_fw *fw, u32 position, const __le32 *words)
{
	const int block = block_at(fw, position);
	u32 c;

	if (block < 0)
		return;
	for (c = CSF_BLOCK_HEADER_WORDS; c < fw->vsoc->shape.counters_per_block; c++)
		fw->dropped[fw_index(fw, block, c)] += le32_to_cpu(words[c]);
}

static void corrupt(struct vsoc_fw *fw, __le32 *slot)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const struct vsoc_shape *shape = &vsoc->shape;
	const u32 words = shape->counters_per_block;
	const u32 blocks = VSOC_BLOCK_MEMSYS + shape->l2_slices + fw_shader_slots(shape);
	__le32 *first = slot + fw->metadata * words;
	u32 i, position;

	if (fw->metadata && vsoc_fault(vsoc, VSOC_FAULT_GARBAGE_METADATA))
		for (i = 0; i < words; i++)
			slot[i] = cpu_to_le32(vsoc_fault_random(vsoc));

	if (vsoc_fault(vsoc, VSOC_FAULT_GARBAGE_HEADER)) {
		position = vsoc_fault_random(vsoc) % (VSOC_BLOCK_MEMSYS + shape->l2_slices);
		drop_block(fw, position, first + position * words);
		for (i = 0; i < CSF_BLOCK_HEADER_WORDS; i++)
			/* neither a mask nor a time that could be right */
			first[position * words + i] =
				cpu_to_le32(vsoc_fault_random(vsoc) | BIT(31) | BIT(0));
	}

	if (vsoc_fault(vsoc, VSOC_FAULT_TORN_WRITE)) {
		for (position = blocks / 2; position < blocks; position++) {
			drop_block(fw, position, first + position * words);
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

/* counts since the last sample, from @first_block on, that nobody will get */
void fw_lose_counts(struct vsoc_fw *fw, u32 first_block)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t end = fw_index(fw, vsoc->shape.blocks, 0);
	size_t i;

	/* the base of the other sets is taken when they are enabled */
	for (i = fw_index(fw, first_block, 0); i < end; i++) {
		if (fw->enabled)
			fw->dropped[i] += vsoc->gpu.reg[i] - fw->base[i];
		fw->base[i] = vsoc->gpu.reg[i];
	}
}

/* --- events and samples --------------------------------------------------- */

/* an event of firmware's own: pending while req and ack differ */
u32 fw_event(u32 req, u32 ack, u32 bit)
{
	return (req ^ ack) & bit ? ack : ack ^ bit;
}

/*
 * Take a sample, with hw_lock held. Returns the acknowledge word that tells the
 * host of it, to be written after whatever else is to be acknowledged is in it.
 */
u32 fw_take_sample(struct vsoc_fw *fw, u32 req, u32 ack, u32 reason)
{
	const u32 extract = fw_read(&fw->pages.input->prfcnt_extract);
	__le32 *slot = NULL;

	saturate(fw);
	if (vsoc_fault(fw->vsoc, VSOC_FAULT_SEQ_JUMP))
		fw->seq += SEQ_JUMP;
	if (fw->insert - extract < fw->slots && !vsoc_fault(fw->vsoc, VSOC_FAULT_OVERFLOW))
		slot = fw->ring + (fw->insert & (fw->slots - 1)) * fw_sample_bytes(fw);

	sample_hardware(fw, slot, reason);
	fw->seq++;
	if (vsoc_fault(fw->vsoc, VSOC_FAULT_COUNTER_WRAP))
		wrap_soon(fw);

	if (slot) {
		corrupt(fw, slot);
		fw->samples_written++;
		fw->insert++;
		fw_write(&fw->pages.output->prfcnt_insert, announced_insert(fw));
	} else {
		fw->samples_dropped++;
		ack = fw_event(req, ack, CSF_GLB_PRFCNT_OVERFLOW);
	}
	if (fw->insert - extract >= fw->slots / 2)
		ack = fw_event(req, ack, CSF_GLB_PRFCNT_THRESHOLD);
	return ack;
}
