// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a job manager's GPU: a command takes a sample of all of them and clears them. The
 * sample is in memory when caches have been cleaned.
 *
 * The model counts continuously, so it remembers what counters had when they were cleared or turned
 * off. Blocks of cores that are absent or have no power are zero, header included.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/device.h>

#include "mali_jm.h"
#include "mali_regs.h"

#define BLOCK_WORDS		64
#define ENABLE_WORDS		4	/* of a bit of an enable mask */
#define HEADER_ENABLE		2

/* groups of blocks in the samples of the oldest ones */
#define V4_GROUP		8
#define V4_TILER		4
#define V4_MEMSYS		5
#define V4_JM			7

/* of every counter after a reset: only a clear sets it to zero */
#define UNDEFINED_BYTE		0x55
/* value of fail_sample: cores' blocks are not written */
#define FAIL_CORES		2

static u32 cores(const struct mali_gpu *gpu)
{
	return fls64(gpu->product->shader_present);
}

/* blocks in a sample */
static u32 blocks(const struct mali_gpu *gpu)
{
	if (gpu->product->layout == MALI_LAYOUT_V4)
		return V4_GROUP;
	return MALI_BLOCK_MEMSYS - MALI_BLOCK_FRONT + MALI_L2_SLICES + cores(gpu);
}

/* the block at @position, or that of core 0 plus the core's number, which may be absent */
static int block_at(const struct mali_gpu *gpu, u32 position)
{
	if (gpu->product->layout != MALI_LAYOUT_V4)
		return MALI_BLOCK_FRONT + position;
	switch (position) {
	case V4_TILER:
		return MALI_BLOCK_TILER;
	case V4_MEMSYS:
		return MALI_BLOCK_MEMSYS;
	case V4_JM:
		return MALI_BLOCK_FRONT;
	}
	return position < V4_TILER ? mali_block_shader(position) : -1;
}

static bool counting(const struct mali_jm *jm)
{
	return FIELD_GET(MALI_JM_PRFCNT_MODE, jm->prfcnt_config) == MALI_JM_PRFCNT_MODE_MANUAL;
}

static u32 count_of(const struct mali_jm *jm, u32 i)
{
	return counting(jm) ? jm->gpu->counters->reg[i] - jm->base[i] : jm->base[i];
}

static u32 enabled(const struct mali_jm *jm, u32 block)
{
	u64 modelled = mali_counters_modelled(jm->gpu, block);
	u32 mask = jm->prfcnt_enable[min_t(u32, block, MALI_BLOCK_MEMSYS)], i;

	if (block >= mali_block_shader(0))
		mask = jm->prfcnt_enable[MALI_BLOCK_MEMSYS + 1];
	/* of other sets the headers only */
	if (FIELD_GET(MALI_JM_PRFCNT_SET, jm->prfcnt_config))
		modelled = GENMASK(MALI_COUNTER_HEADER - 1, 0);
	for (i = 0; i < BLOCK_WORDS / ENABLE_WORDS; i++)
		if (~modelled >> i * ENABLE_WORDS & GENMASK(ENABLE_WORDS - 1, 0))
			mask &= ~BIT(i);
	return mask & GENMASK(BLOCK_WORDS / ENABLE_WORDS - 1, 0);
}

static void take_block(struct mali_jm *jm, u32 block, u32 *words)
{
	const u64 present = jm->gpu->product->shader_present;
	const u64 ticks = mali_timestamp();
	u32 enable;

	if (block >= mali_block_shader(0)) {
		const u64 core = BIT_ULL(block - mali_block_shader(0));

		if (!(jm->gpu->powered[MALI_DOMAIN_SHADER] & core) ||
		    READ_ONCE(jm->gpu->fail[MALI_FAIL_SAMPLE]) == FAIL_CORES)
			return;
		block = mali_block_shader(hweight64(present & (core - 1)));
	}
	enable = enabled(jm, block);
	words[0] = lower_32_bits(ticks);
	words[1] = upper_32_bits(ticks);
	words[HEADER_ENABLE] = enable;
	for (u32 i = MALI_COUNTER_HEADER; i < BLOCK_WORDS; i++)
		if (enable & BIT(i / ENABLE_WORDS))
			words[i] = count_of(jm, block * BLOCK_WORDS + i);
}

/* all counters are zero from now on */
void mali_jm_prfcnt_clear_locked(struct mali_jm *jm)
{
	const size_t bytes = jm->gpu->counters->blocks * BLOCK_WORDS * sizeof(u32);

	mali_clock_update_locked(jm->gpu);
	if (counting(jm))
		memcpy(jm->base, jm->gpu->counters->reg, bytes);
	else
		memset(jm->base, 0, bytes);
}

void mali_jm_prfcnt_reset_locked(struct mali_jm *jm)
{
	jm->sample_due = false;
	jm->sample_held = false;
	jm->clean_due = false;
	jm->prfcnt_config = 0;
	memset(jm->prfcnt_enable, 0, sizeof(jm->prfcnt_enable));
	memset(jm->base, UNDEFINED_BYTE, jm->gpu->counters->blocks * BLOCK_WORDS * sizeof(u32));
}

static void configure(struct mali_jm *jm, u32 config)
{
	const bool was = counting(jm);

	jm->prfcnt_config = config;
	if (counting(jm) == was)
		return;
	mali_clock_update_locked(jm->gpu);
	for (u32 i = 0; i < jm->gpu->counters->blocks * BLOCK_WORDS; i++)
		jm->base[i] = jm->gpu->counters->reg[i] - jm->base[i];
}

/* it goes where the registers pointed then, even if counting is turned off meanwhile */
void mali_jm_prfcnt_request_locked(struct mali_jm *jm)
{
	if (!counting(jm))
		return;
	jm->sample_due = true;
	jm->sample_va = jm->prfcnt_base;
	jm->sample_as = FIELD_GET(MALI_JM_PRFCNT_AS, jm->prfcnt_config);
}

static bool take_sample(struct mali_jm *jm)
{
	struct mali_gpu *gpu = jm->gpu;

	guard(spinlock_irqsave)(&gpu->lock);
	if (!jm->sample_due || READ_ONCE(gpu->fail[MALI_FAIL_SAMPLE]) == 1)
		return false;
	jm->sample_due = false;
	jm->sample_held = true;
	mali_clock_update_locked(gpu);
	memset(jm->sample, 0, blocks(gpu) * BLOCK_WORDS * sizeof(u32));
	for (u32 i = 0; i < blocks(gpu); i++) {
		int block = block_at(gpu, i);

		if (block >= 0)
			take_block(jm, block, jm->sample + i * BLOCK_WORDS);
	}
	mali_jm_prfcnt_clear_locked(jm);
	return true;
}

static bool take_flag(struct mali_gpu *gpu, bool *flag)
{
	bool was;

	guard(spinlock_irqsave)(&gpu->lock);
	was = *flag;
	*flag = false;
	return was;
}

/* samples, and cleans of caches, which write them; a fault of the address space loses one */
void mali_jm_prfcnt_work(struct mali_jm *jm)
{
	struct mali_gpu *gpu = jm->gpu;

	if (take_sample(jm))
		mali_irq_raise(gpu, MALI_IRQ_GPU, MALI_GPU_IRQ_SAMPLE_DONE);
	if (!take_flag(gpu, &jm->clean_due))
		return;
	if (take_flag(gpu, &jm->sample_held))
		mali_mem_write(gpu, jm->sample_as, jm->sample_va, jm->sample,
			       blocks(gpu) * BLOCK_WORDS * sizeof(u32));
	mali_irq_raise(gpu, MALI_IRQ_GPU, MALI_GPU_IRQ_FLUSH_DONE);
}

bool mali_jm_prfcnt_write(struct mali_jm *jm, u32 offset, u32 value)
{
	switch (offset) {
	case MALI_JM_PRFCNT_BASE:
		jm->prfcnt_base = (jm->prfcnt_base & ~(u64)U32_MAX) | value;
		break;
	case MALI_JM_PRFCNT_BASE + 4:
		jm->prfcnt_base = (u64)value << 32 | lower_32_bits(jm->prfcnt_base);
		break;
	case MALI_JM_PRFCNT_CONFIG:
		configure(jm, value);
		break;
	case MALI_JM_PRFCNT_EN_JM:
		jm->prfcnt_enable[MALI_BLOCK_FRONT] = value;
		break;
	case MALI_JM_PRFCNT_EN_TILER:
		jm->prfcnt_enable[MALI_BLOCK_TILER] = value;
		break;
	case MALI_JM_PRFCNT_EN_MEMSYS:
		jm->prfcnt_enable[MALI_BLOCK_MEMSYS] = value;
		break;
	case MALI_JM_PRFCNT_EN_SHADER:
		jm->prfcnt_enable[MALI_BLOCK_MEMSYS + 1] = value;
		break;
	default:
		return false;
	}
	return true;
}

int mali_jm_prfcnt_init(struct mali_gpu *gpu)
{
	struct mali_jm *jm = gpu->jm;

	jm->base = devm_kcalloc(gpu->model, gpu->counters->blocks * BLOCK_WORDS, sizeof(u32),
				GFP_KERNEL);
	jm->sample = devm_kcalloc(gpu->model, blocks(gpu) * BLOCK_WORDS, sizeof(u32), GFP_KERNEL);
	if (!jm->base || !jm->sample)
		return -ENOMEM;
	mali_jm_prfcnt_reset_locked(jm);
	return 0;
}
