// SPDX-License-Identifier: GPL-2.0
/*
 * Power of cores, tiler and L2 cache; cache flushes; soft reset of all of them.
 *
 * A transition takes no time here: POWER_TRANS is always zero.
 */
#include <linux/bitfield.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include "mali.h"
#include "mali_counters.h"
#include "mali_mcu.h"
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

/* --- firmware's control of the shader cores ------------------------------ */

/* @on: before work; otherwise the host's timer has expired since the last one */
static void power_cores(struct mali_mcu *mcu, bool on)
{
	struct mali_gpu *gpu = mcu->gpu;
	u64 cores = mali_word64(&mcu->in->core_en_mask) & gpu->product->shader_present;

	if (on == !!READ_ONCE(gpu->powered[MALI_DOMAIN_SHADER]))
		return;
	mali_prfcnt_transition(mcu, on ? CSF_REASON_POWERON : CSF_REASON_POWEROFF);
	guard(spinlock_irqsave)(&gpu->lock);
	mali_power_set_locked(gpu, MALI_DOMAIN_SHADER, on ? cores : 0);
}

/* a timer of the host in firmware's interface */
u64 mali_timer_ns(struct mali_gpu *gpu, u32 timer)
{
	u64 ticks = (u64)FIELD_GET(MALI_TIMER_VALUE, timer) << MALI_TIMER_SHIFT;
	u64 hz = timer & MALI_TIMER_GPU_CYCLES ? READ_ONCE(gpu->core_hz) :
						 MALI_TIMESTAMP_HZ;

	return mul_u64_u64_div_u64(ticks, NSEC_PER_SEC, max_t(u64, hz, 1));
}

/* call before work for the shader cores */
void mali_cores_use(struct mali_mcu *mcu)
{
	u32 timer = mali_word(&mcu->in->poweroff_timer);

	power_cores(mcu, true);
	WRITE_ONCE(mcu->cores_off_ns, timer ? ktime_get_ns() + mali_timer_ns(mcu->gpu, timer) : 0);
}

/* returns when one of the two timers expires, or zero */
u64 mali_next_timer_ns(const struct mali_mcu *mcu)
{
	u64 idle_ns = READ_ONCE(mcu->idle_at_ns), cores_ns = READ_ONCE(mcu->cores_off_ns);

	return min_not_zero(idle_ns, cores_ns);
}

void mali_cores_check(struct mali_mcu *mcu)
{
	if (!mcu->cores_off_ns || ktime_get_ns() < mcu->cores_off_ns)
		return;
	WRITE_ONCE(mcu->cores_off_ns, 0);
	power_cores(mcu, false);
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
	mali_event_locked(gpu, MALI_CACHE_FLUSHES, 1);
}

/* interrupt masks keep their values */
void mali_power_reset_locked(struct mali_gpu *gpu)
{
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
