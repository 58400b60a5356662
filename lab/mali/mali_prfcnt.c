// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware's side of the counter protocol, which csf_layout.h describes: samples of the primary
 * set on request, and automatically before shader cores get or lose power.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>

#include "source/csf/csf_layout.h"
#include "mali_counters.h"
#include "mali_mcu.h"
#include "mali_regs.h"

#define ENABLE_BITS	32		/* bits of an enable mask */

#define SETS			3	/* of counters */

enum block_type {
	TYPE_FW,
	TYPE_CSG,
	TYPE_CSHW,
	TYPE_TILER,
	TYPE_MEMSYS,
	TYPE_SHADER,
	TYPES,
};

/* under mali_mcu.lock */
struct mali_prfcnt {
	bool enabled;
	u64 ring_va;
	u32 slots;
	u32 set;
	u32 enable[TYPES];
	u32 csg_select;	/* mask of the CSG blocks that are written */
	u32 insert;	/* number of the next sample */
	u32 *base;	/* registers at the end of the last sample */
	__le32 words[CSF_BLOCK_COUNTERS_MAX];	/* the block being written to the ring */
	u64 taken;	/* samples written to the ring since the device exists */
	u64 automatic;	/* of them not requested */
	u64 lost;	/* samples dropped because no slot was free */
};

static u32 csg_blocks(const struct mali_gpu *gpu)
{
	return gpu->csg_blocks ? MALI_GROUPS : 0;
}

static u32 block_bytes(const struct mali_gpu *gpu)
{
	return gpu->product->counters_per_block * sizeof(u32);
}

/* without metadata; one for each core up to the highest, absent cores included */
static u32 sample_blocks(const struct mali_gpu *gpu)
{
	return mali_block_shader(fls64(gpu->product->shader_present)) + csg_blocks(gpu);
}

static u32 block_units(const struct mali_gpu *gpu)
{
	return block_bytes(gpu) / CSF_PRFCNT_SIZE_UNIT_BYTES;
}

/* control words: bytes of firmware's blocks and of the hardware's; of metadata */
u32 mali_prfcnt_size(const struct mali_gpu *gpu)
{
	const u32 fw = 1 + csg_blocks(gpu);

	return FIELD_PREP(CSF_PRFCNT_SIZE_FW_MASK, fw * block_units(gpu)) |
	       FIELD_PREP(CSF_PRFCNT_SIZE_HW_MASK,
			  (sample_blocks(gpu) - fw) * block_units(gpu));
}

u32 mali_prfcnt_features(const struct mali_gpu *gpu)
{
	return FIELD_PREP(CSF_PRFCNT_FEATURES_MD_MASK, gpu->metadata ? block_units(gpu) : 0);
}

/* --- samples ------------------------------------------------------------- */

/* the block at @position of a sample and its mask; -1: not written, e.g. a core without power */
static int block_at(const struct mali_gpu *gpu, u32 position, u32 *enable)
{
	const struct mali_prfcnt *prfcnt = gpu->prfcnt;
	const u32 first = mali_block_shader(0);

	*enable = prfcnt->enable[TYPE_FW];
	if (!position)
		return MALI_BLOCK_FW;
	if (position <= csg_blocks(gpu)) {
		*enable = prfcnt->enable[TYPE_CSG];
		return prfcnt->csg_select & BIT(position - 1) ?
		       mali_block_csg(gpu, position - 1) : -1;
	}
	position -= csg_blocks(gpu);
	if (position < first) {
		*enable = prfcnt->enable[TYPE_CSHW + min_t(u32, position, MALI_BLOCK_MEMSYS) - 1];
		return position;
	}
	*enable = prfcnt->enable[TYPE_SHADER];
	if (!(READ_ONCE(gpu->powered[MALI_DOMAIN_SHADER]) & BIT_ULL(position - first)))
		return -1;
	return mali_block_shader(hweight64(gpu->product->shader_present &
					   (BIT_ULL(position - first) - 1)));
}

static void set_header(struct mali_prfcnt *prfcnt, u64 ticks, u32 enable, u32 reason)
{
	memset(prfcnt->words, 0, sizeof(prfcnt->words));
	prfcnt->words[CSF_BLOCK_TIMESTAMP_LO] = cpu_to_le32(lower_32_bits(ticks));
	prfcnt->words[CSF_BLOCK_TIMESTAMP_HI] = cpu_to_le32(upper_32_bits(ticks));
	prfcnt->words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(enable);
	prfcnt->words[CSF_BLOCK_SAMPLE_REASON] = cpu_to_le32(reason);
}

/* read and clear the counters of @block into prfcnt->words */
static void take_block(struct mali_gpu *gpu, u32 block, u32 enable, u64 ticks)
{
	struct mali_prfcnt *prfcnt = gpu->prfcnt;
	const u32 words = gpu->product->counters_per_block;
	const u32 *reg = gpu->counters->reg + block * words;
	u32 *base = prfcnt->base + block * words;
	const u32 per_bit = words / ENABLE_BITS;
	/* of other sets the headers only */
	const u64 modelled = prfcnt->set ? GENMASK_ULL(CSF_BLOCK_HEADER_WORDS - 1, 0) :
					   mali_counters_modelled(gpu, block);
	unsigned long flags;

	for (u32 i = 0; i < ENABLE_BITS; i++)
		if (i * per_bit >= 64 || ~modelled >> i * per_bit & (BIT(per_bit) - 1))
			enable &= ~BIT(i);

	set_header(prfcnt, ticks, enable, 0);
	spin_lock_irqsave(&gpu->lock, flags);
	for (u32 i = CSF_BLOCK_HEADER_WORDS; i < words; i++) {
		if (enable & BIT(i / per_bit))
			prfcnt->words[i] = cpu_to_le32(reg[i] - base[i]);
		base[i] = reg[i];
	}
	spin_unlock_irqrestore(&gpu->lock, flags);
}

/* without a free slot (@write is false), the counts are lost */
static int take_blocks(struct mali_gpu *gpu, u64 va, bool write, u32 reason)
{
	struct mali_prfcnt *prfcnt = gpu->prfcnt;
	const u32 bytes = block_bytes(gpu);
	u64 ticks = mali_timestamp();
	int err = 0;

	if (gpu->metadata && write) {
		set_header(prfcnt, ticks, U32_MAX, reason);
		err = mali_mem_write(gpu, MALI_MCU_AS, va, prfcnt->words, bytes);
		va += bytes;
	}
	for (u32 position = 0; position < sample_blocks(gpu); position++, va += bytes) {
		u32 enable;
		int block = block_at(gpu, position, &enable);

		if (block < 0)
			memset(prfcnt->words, 0, sizeof(prfcnt->words));
		else
			take_block(gpu, block, enable, ticks);
		if (write && !err)
			err = mali_mem_write(gpu, MALI_MCU_AS, va, prfcnt->words, bytes);
	}
	return err;
}

static u32 event(u32 req, u32 ack, u32 bit)
{
	return (req ^ ack) & bit ? ack : ack ^ bit;
}

static u32 take_sample(struct mali_mcu *mcu, u32 req, u32 ack, u32 reason)
{
	struct mali_gpu *gpu = mcu->gpu;
	struct mali_prfcnt *prfcnt = gpu->prfcnt;
	const u32 extract = mali_word(&mcu->in->prfcnt_extract);
	const u64 sample_bytes = (u64)(gpu->metadata + sample_blocks(gpu)) * block_bytes(gpu);
	const bool room = !xchg(&gpu->fail[MALI_FAIL_OVERFLOW], 0) &&
			  prfcnt->insert - extract < prfcnt->slots;
	u64 va = prfcnt->ring_va + (prfcnt->insert & (prfcnt->slots - 1)) * sample_bytes;

	mali_cycles(gpu);
	if (take_blocks(gpu, va, room, reason)) {
		/* the ring is not mapped; the address space has reported the fault */
		mali_set_word(&mcu->out->prfcnt_status, CSF_PRFCNT_STATUS_FAILED);
		prfcnt->enabled = false;
		return ack;
	}
	if (!room) {
		prfcnt->lost++;
		return event(req, ack, MALI_GLB_PRFCNT_OVERFLOW);
	}
	prfcnt->taken++;
	prfcnt->automatic += !!(reason & CSF_REASON_TRANSITIONS);
	prfcnt->insert++;
	mali_set_word(&mcu->out->prfcnt_insert, prfcnt->insert);
	if (prfcnt->insert - extract >= prfcnt->slots / 2)
		ack = event(req, ack, MALI_GLB_PRFCNT_THRESHOLD);
	return ack;
}

/* --- requests ------------------------------------------------------------ */

static bool read_config(struct mali_mcu *mcu)
{
	struct mali_prfcnt *prfcnt = mcu->gpu->prfcnt;
	struct csf_glb_input *in = mcu->in;
	u32 config = mali_word(&in->prfcnt_config);

	prfcnt->ring_va = mali_word64(&in->prfcnt_base);
	prfcnt->slots = FIELD_GET(CSF_PRFCNT_CONFIG_SLOTS_MASK, config);
	prfcnt->set = FIELD_GET(CSF_PRFCNT_CONFIG_SET_MASK, config);
	prfcnt->csg_select = mali_word(&in->prfcnt_csg_select);
	prfcnt->enable[TYPE_FW] = mali_word(&in->prfcnt_fw_en);
	prfcnt->enable[TYPE_CSG] = mali_word(&in->prfcnt_csg_en);
	prfcnt->enable[TYPE_CSHW] = mali_word(&in->prfcnt_csf_en);
	prfcnt->enable[TYPE_TILER] = mali_word(&in->prfcnt_tiler_en);
	prfcnt->enable[TYPE_MEMSYS] = mali_word(&in->prfcnt_mmu_l2_en);
	prfcnt->enable[TYPE_SHADER] = mali_word(&in->prfcnt_shader_en);
	return is_power_of_2(prfcnt->slots) && !mali_word(&in->prfcnt_jasid) &&
	       prfcnt->set < SETS &&
	       !(config & CSF_PRFCNT_CONFIG_METADATA) == !mcu->gpu->metadata;
}

static void start(struct mali_mcu *mcu)
{
	struct mali_gpu *gpu = mcu->gpu;
	struct mali_prfcnt *prfcnt = gpu->prfcnt;
	struct mali_counters *counters = gpu->counters;
	unsigned long flags;

	mali_cycles(gpu);
	spin_lock_irqsave(&gpu->lock, flags);
	memcpy(prfcnt->base, counters->reg,
	       (size_t)counters->blocks * counters->words * sizeof(u32));
	spin_unlock_irqrestore(&gpu->lock, flags);
	prfcnt->insert = mali_word(&mcu->in->prfcnt_extract);
	prfcnt->enabled = true;
	mali_set_word(&mcu->out->prfcnt_insert, prfcnt->insert);
	mali_set_word(&mcu->out->prfcnt_status, 0);
}

/* returns @ack with the completed requests acknowledged */
u32 mali_prfcnt_requests(struct mali_mcu *mcu, u32 req, u32 ack)
{
	struct mali_prfcnt *prfcnt = mcu->gpu->prfcnt;
	const u32 pending = req ^ ack;

	if (READ_ONCE(mcu->gpu->fail[MALI_FAIL_COUNTERS]))
		return ack;
	if (pending & MALI_GLB_PRFCNT_SAMPLE) {
		/* sampled and disabled by one request word: take the sample first */
		if (prfcnt->enabled && req & MALI_GLB_PRFCNT_ENABLE)
			ack = take_sample(mcu, req, ack, CSF_REASON_REQUEST);
		ack ^= MALI_GLB_PRFCNT_SAMPLE;
	}
	if (!(pending & MALI_GLB_PRFCNT_ENABLE))
		return ack;
	if (!(req & MALI_GLB_PRFCNT_ENABLE)) {
		if (prfcnt->enabled)
			ack = take_sample(mcu, req, ack, CSF_REASON_DISABLE);
		prfcnt->enabled = false;
		ack &= ~MALI_GLB_PRFCNT_ENABLE;
	} else if (read_config(mcu)) {
		start(mcu);
		ack |= MALI_GLB_PRFCNT_ENABLE;
	} else {
		mali_set_word(&mcu->out->prfcnt_status, CSF_PRFCNT_STATUS_FAILED);
	}
	return ack;
}

/* an automatic sample */
void mali_prfcnt_transition(struct mali_mcu *mcu, u32 reason)
{
	u32 req = mali_word(&mcu->in->req);

	if (!mcu->gpu->prfcnt->enabled || READ_ONCE(mcu->gpu->fail[MALI_FAIL_COUNTERS]))
		return;
	mali_set_word(&mcu->out->ack, take_sample(mcu, req, mali_word(&mcu->out->ack), reason));
	mali_irq_raise(mcu->gpu, MALI_IRQ_JOB, MALI_JOB_IRQ_GLOBAL);
}

void mali_prfcnt_reset(struct mali_gpu *gpu)
{
	gpu->prfcnt->enabled = false;
	gpu->prfcnt->insert = 0;
}

/* --- set-up -------------------------------------------------------------- */

static int samples_show(struct seq_file *file, void *unused)
{
	struct mali_gpu *gpu = file->private;

	seq_printf(file, "taken %llu\nautomatic %llu\nlost %llu\n",
		   READ_ONCE(gpu->prfcnt->taken), READ_ONCE(gpu->prfcnt->automatic),
		   READ_ONCE(gpu->prfcnt->lost));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(samples);

int mali_prfcnt_init(struct mali_gpu *gpu)
{
	struct mali_prfcnt *prfcnt = devm_kzalloc(gpu->model, sizeof(*prfcnt), GFP_KERNEL);

	if (!prfcnt)
		return -ENOMEM;
	prfcnt->base = devm_kcalloc(gpu->model,
				    (size_t)gpu->counters->blocks * gpu->counters->words,
				    sizeof(*prfcnt->base), GFP_KERNEL);
	if (!prfcnt->base)
		return -ENOMEM;
	gpu->prfcnt = prfcnt;
	debugfs_create_file("samples", 0444, gpu->debugfs, gpu, &samples_fops);
	return 0;
}
