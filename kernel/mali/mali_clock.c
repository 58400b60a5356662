// SPDX-License-Identifier: GPL-2.0
/*
 * Clock, cycle count and timestamp.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "mali.h"
#include "mali_counters.h"

/* accounts the elapsed time; call before frequency or power changes */
void mali_clock_update_locked(struct mali_gpu *gpu)
{
	u64 now = ktime_get_ns();
	u64 cycles = 0;

	lockdep_assert_held(&gpu->lock);
	if (gpu->powered[MALI_DOMAIN_L2])
		cycles = mul_u64_u64_div_u64(now - gpu->clock_ns, gpu->core_hz, NSEC_PER_SEC);
	/* leave a fraction of a cycle for the next call */
	if (gpu->powered[MALI_DOMAIN_L2] && !cycles)
		return;
	gpu->cycles += cycles;
	gpu->clock_ns = now;
	mali_count_cycles_locked(gpu, cycles);
}

void mali_clock_set(struct mali_gpu *gpu, unsigned long hz)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	mali_clock_update_locked(gpu);
	gpu->core_hz = hz;
	spin_unlock_irqrestore(&gpu->lock, flags);
}

u64 mali_cycles_locked(struct mali_gpu *gpu)
{
	mali_clock_update_locked(gpu);
	return gpu->cycles;
}

u64 mali_cycles(struct mali_gpu *gpu)
{
	unsigned long flags;
	u64 cycles;

	spin_lock_irqsave(&gpu->lock, flags);
	cycles = mali_cycles_locked(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
	return cycles;
}

u64 mali_timestamp(void)
{
	return mul_u64_u64_div_u64(ktime_get_raw_ns(), MALI_TIMESTAMP_HZ, NSEC_PER_SEC);
}
