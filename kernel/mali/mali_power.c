// SPDX-License-Identifier: GPL-2.0
/*
 * Power of cores, tiler and L2 cache; cache flushes; soft reset of all of them.
 *
 * A transition takes no time here: POWER_TRANS is always zero.
 */
#include <linux/mm.h>
#include <linux/string.h>

#include "mali.h"
#include "mali_counters.h"
#include "mali_regs.h"

u64 mali_power_present(const struct mali_gpu *gpu, enum mali_domain domain)
{
	return domain == MALI_DOMAIN_SHADER ? gpu->product->shader_present : BIT_ULL(0);
}

/* @offset: of a register in one of the banks */
u32 mali_power_read(struct mali_gpu *gpu, u32 offset)
{
	u32 within = (offset - MALI_POWER_READY) % (MALI_POWER_ON - MALI_POWER_READY);
	u32 bank = offset - within;
	u32 domain = within / MALI_POWER_DOMAIN_BYTES;

	if (domain >= MALI_DOMAINS || within % MALI_POWER_DOMAIN_BYTES >= sizeof(u64))
		return 0;
	if (bank == MALI_POWER_READY || bank == MALI_POWER_ACTIVE)
		return mali_half(gpu->powered[domain], offset);
	return 0;
}

void mali_power_write(struct mali_gpu *gpu, u32 offset, u32 value)
{
	u32 within = (offset - MALI_POWER_READY) % (MALI_POWER_ON - MALI_POWER_READY);
	u32 bank = offset - within;
	u32 domain = within / MALI_POWER_DOMAIN_BYTES;
	u64 units;

	if (domain >= MALI_DOMAINS || within % MALI_POWER_DOMAIN_BYTES >= sizeof(u64))
		return;
	units = offset & 4 ? (u64)value << 32 : value;
	units &= mali_power_present(gpu, domain);
	if (bank == MALI_POWER_ON)
		mali_power_set_locked(gpu, domain, gpu->powered[domain] | units);
	else if (bank == MALI_POWER_OFF)
		mali_power_set_locked(gpu, domain, gpu->powered[domain] & ~units);
}

void mali_power_set_locked(struct mali_gpu *gpu, enum mali_domain domain, u64 ready)
{
	mali_clock_update_locked(gpu);
	gpu->powered[domain] = ready;
}

/* --- caches and reset ---------------------------------------------------- */

/* the model has no caches, only the flush ID, which userspace reads */
void mali_flush_caches_locked(struct mali_gpu *gpu)
{
	u32 *page = page_address(gpu->window_pages) + MALI_FLUSH_ID;

	lockdep_assert_held(&gpu->lock);
	/* a flush ID of zero means "always flush" */
	if (!++gpu->flush_id)
		gpu->flush_id = 1;
	WRITE_ONCE(*page, gpu->flush_id);
	mali_count_locked(gpu, MALI_BLOCK_CSHW, MALI_CSHW_CACHE_FLUSH, 1);
}

/* interrupt masks keep their values */
void mali_power_reset(struct mali_gpu *gpu)
{
	guard(spinlock_irqsave)(&gpu->lock);
	mali_clock_update_locked(gpu);
	for (unsigned int i = 0; i < MALI_DOMAINS; i++)
		gpu->powered[i] = 0;
	for (unsigned int i = 0; i < MALI_IRQS; i++)
		gpu->irq[i].rawstat = 0;
	mali_as_reset_locked(gpu);
	gpu->mcu_control = MALI_MCU_CONTROL_DISABLE;
	gpu->mcu_status = MALI_MCU_STATUS_DISABLED;
	gpu->cycles = 0;
	mali_irq_raise_locked(gpu, MALI_IRQ_GPU, MALI_GPU_IRQ_RESET_DONE);
}
