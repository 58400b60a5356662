// SPDX-License-Identifier: GPL-2.0
/*
 * Registers: each access is dispatched to a part of the model. What has no part of its own keeps
 * what is written to it.
 */
#include <linux/bitfield.h>
#include <linux/kernel.h>

#include "v3d_model.h"

static bool within(u32 offset, u32 first, u32 bytes)
{
	return offset >= first && offset - first < bytes;
}

/* --- interrupts ----------------------------------------------------------- */

static bool is_irq(u32 offset)
{
	return within(offset, V3D_INT_STS, V3D_INT_MSK_CLR + 4 - V3D_INT_STS);
}

static u32 irq_read(const struct v3d_gpu *gpu, enum v3d_block block, u32 offset)
{
	switch (offset) {
	case V3D_INT_STS:
		return gpu->cause[block];
	case V3D_INT_MSK_STS:
		return gpu->mask[block];
	}
	return 0;
}

static void irq_write(struct v3d_gpu *gpu, enum v3d_block block, u32 offset, u32 value)
{
	switch (offset) {
	case V3D_INT_SET:
		v3d_raise_locked(gpu, block, value);
		break;
	case V3D_INT_CLR:
		gpu->cause[block] &= ~value;
		break;
	case V3D_INT_MSK_SET:
		v3d_mask_locked(gpu, block, gpu->mask[block] | value);
		break;
	case V3D_INT_MSK_CLR:
		v3d_mask_locked(gpu, block, gpu->mask[block] & ~value);
		break;
	}
}

/* --- hub ------------------------------------------------------------------- */

static u32 hub_read(const struct v3d_gpu *gpu, u32 offset)
{
	switch (offset) {
	case V3D_HUB_IDENT1:
		/* one core */
		return V3D_HUB_IDENT1_TFU | 1 << 8 | gpu->version % 10 << 4 | gpu->version / 10;
	case V3D_HUB_IDENT2:
		return V3D_HUB_IDENT2_MMU;
	case V3D_HUB_IDENT3:
		return 14 << 8;
	case V3D_MMU_DEBUG_INFO:
		/* addresses of 36 and of 32 bits */
		return (36 - 30) << 8 | (32 - 30) << 4;
	}
	return is_irq(offset) ? irq_read(gpu, V3D_HUB, offset) : gpu->hub[offset / 4];
}

static void hub_write(struct v3d_gpu *gpu, u32 offset, u32 value)
{
	if (is_irq(offset)) {
		irq_write(gpu, V3D_HUB, offset, value);
		return;
	}
	if (v3d_mmu_write_locked(gpu, offset, value))
		return;
	gpu->hub[offset / 4] = value;
	if (offset == V3D_TFU_CONFIG(gpu->version))
		v3d_start_locked(gpu, V3D_TFU);
}

/* --- core ------------------------------------------------------------------ */

static bool is_counter(u32 offset)
{
	return within(offset, V3D_PCTR_EN, V3D_PCTR + 4 * V3D_PCTR_SLOTS - V3D_PCTR_EN);
}

static u32 core_read(struct v3d_gpu *gpu, u32 offset)
{
	if (is_irq(offset))
		return irq_read(gpu, V3D_CORE, offset);
	if (is_counter(offset)) {
		/* while a driver reads, the GPU works on */
		v3d_steps_locked(gpu, gpu->race);
		return v3d_counter_read(gpu, offset);
	}
	switch (offset) {
	case V3D_IDENT0:
		return 'V' | '3' << 8 | 'D' << 16 | gpu->version / 10 << 24;
	case V3D_IDENT1:
		/* 8 QPUs, or 12 */
		return gpu->version < 71 ? 0x81001422 : 0x81001431;
	case V3D_IDENT2:
		return 0x40078121;
	case V3D_CT_CURRENT(V3D_BIN):
		return gpu->list[V3D_BIN].place;
	case V3D_CT_CURRENT(V3D_RENDER):
		return gpu->list[V3D_RENDER].place;
	}
	return gpu->core[offset / 4];
}

static void more_memory(struct v3d_gpu *gpu, u32 bytes)
{
	struct v3d_list *list = &gpu->list[V3D_BIN];

	if (!bytes)
		return;
	list->memory += bytes;
	list->starved = false;
	wake_up(&gpu->wait);
}

static void csd_write(struct v3d_gpu *gpu, u32 offset)
{
	if (offset != V3D_CSD_QUEUED(gpu->version))
		return;
	memcpy(&gpu->core[V3D_CSD_CURRENT(gpu->version) / 4],
	       &gpu->core[V3D_CSD_QUEUED(gpu->version) / 4],
	       4 * (V3D_CSD_WORDS - (gpu->version < 71)));
	v3d_start_locked(gpu, V3D_CSD);
}

static void core_write(struct v3d_gpu *gpu, u32 offset, u32 value)
{
	if (is_irq(offset)) {
		irq_write(gpu, V3D_CORE, offset, value);
		return;
	}
	if (is_counter(offset)) {
		v3d_counter_write(gpu, offset, value);
		return;
	}
	/* there are no caches: a flush is over at once, and its bits read as 0 */
	gpu->core[offset / 4] = offset == V3D_L2TCACTL ? 0 : value;
	switch (offset) {
	case V3D_CT_QUEUE_END(V3D_BIN):
		v3d_start_locked(gpu, V3D_BIN);
		break;
	case V3D_CT_QUEUE_END(V3D_RENDER):
		v3d_start_locked(gpu, V3D_RENDER);
		break;
	case V3D_PTB_BPOS:
		more_memory(gpu, value);
		break;
	default:
		csd_write(gpu, offset);
	}
}

/* --- the window ------------------------------------------------------------ */

/* hub and core can be accessed while they have power and a clock only */
static bool has_power(struct v3d_gpu *gpu)
{
	if (v3d_is_powered(gpu))
		return true;
	gpu->unpowered++;
	return false;
}

u32 v3d_register_read(struct v3d_gpu *gpu, u32 offset)
{
	guard(spinlock_irqsave)(&gpu->lock);
	if (offset >= V3D_SMS_OFFSET)
		return v3d_sms_read(gpu, offset - V3D_SMS_OFFSET);
	if (offset >= V3D_BRIDGE_OFFSET)
		return offset - V3D_BRIDGE_OFFSET == V3D_BRIDGE_REVISION ? 7 << 8 : 0;
	if (!has_power(gpu))
		return 0;
	if (within(offset, V3D_CORE_OFFSET, V3D_CORE_BYTES))
		return core_read(gpu, offset - V3D_CORE_OFFSET);
	return within(offset, 0, V3D_HUB_BYTES) ? hub_read(gpu, offset) : 0;
}

void v3d_register_write(struct v3d_gpu *gpu, u32 offset, u32 value)
{
	guard(spinlock_irqsave)(&gpu->lock);
	if (offset >= V3D_SMS_OFFSET) {
		v3d_sms_write(gpu, offset - V3D_SMS_OFFSET, value);
		return;
	}
	if (offset >= V3D_BRIDGE_OFFSET) {
		if (offset - V3D_BRIDGE_OFFSET == V3D_BRIDGE_RESET && value & 1)
			v3d_reset_locked(gpu);
		return;
	}
	if (!has_power(gpu))
		return;
	if (within(offset, V3D_CORE_OFFSET, V3D_CORE_BYTES))
		core_write(gpu, offset - V3D_CORE_OFFSET, value);
	else if (within(offset, 0, V3D_HUB_BYTES))
		hub_write(gpu, offset, value);
}
