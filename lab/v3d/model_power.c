// SPDX-License-Identifier: GPL-2.0
/*
 * Clock, power, reset.
 *
 * Without a clock or power, registers and counters lose what they have: a driver that stops the
 * clock lets its power domain go, too. The reset state masks all interrupts.
 */
#include <linux/bitfield.h>
#include <linux/clk-provider.h>
#include <linux/clkdev.h>
#include <linux/device.h>
#include <linux/string.h>

#include "v3d_model.h"

/* --- power and reset ------------------------------------------------------- */

/* all that runs ends without an interrupt */
static void forget(struct v3d_gpu *gpu)
{
	v3d_counters_reset_locked(gpu);
	memset(gpu->hub, 0, sizeof(gpu->hub));
	memset(gpu->core, 0, sizeof(gpu->core));
	memset(gpu->work, 0, sizeof(gpu->work));
	memset(gpu->list, 0, sizeof(gpu->list));
	for (int i = 0; i < V3D_BLOCKS; i++) {
		gpu->cause[i] = 0;
		gpu->mask[i] = U32_MAX;
	}
}

void v3d_reset_locked(struct v3d_gpu *gpu)
{
	gpu->resets++;
	forget(gpu);
}

u32 v3d_sms_read(const struct v3d_gpu *gpu, u32 offset)
{
	/* a reset is over at once */
	return offset == V3D_SMS_TEE ? gpu->sms_state : 0;
}

void v3d_sms_write(struct v3d_gpu *gpu, u32 offset, u32 value)
{
	if (offset == V3D_SMS_REE && FIELD_GET(V3D_SMS_STATE, value) == V3D_SMS_REE_RESET)
		forget(gpu);
	if (offset != V3D_SMS_TEE)
		return;
	v3d_clock_update_locked(gpu);
	if (value & V3D_SMS_POWER_OFF && !gpu->fail_power_off) {
		gpu->sms_state = V3D_SMS_POWERED_OFF;
		forget(gpu);
	}
	if (value & V3D_SMS_POWER_ON)
		gpu->sms_state = 0;
}

/* --- clock ----------------------------------------------------------------- */

static struct v3d_gpu *gpu_of(struct clk_hw *hw)
{
	return container_of(hw, struct v3d_gpu, clock);
}

static int clock_enable(struct clk_hw *hw)
{
	struct v3d_gpu *gpu = gpu_of(hw);

	guard(spinlock_irqsave)(&gpu->lock);
	v3d_clock_update_locked(gpu);
	gpu->clocked = true;
	return 0;
}

static void clock_disable(struct clk_hw *hw)
{
	struct v3d_gpu *gpu = gpu_of(hw);

	guard(spinlock_irqsave)(&gpu->lock);
	v3d_clock_update_locked(gpu);
	gpu->clocked = false;
	forget(gpu);
}

static int clock_is_enabled(struct clk_hw *hw)
{
	return READ_ONCE(gpu_of(hw)->clocked);
}

static unsigned long clock_recalc_rate(struct clk_hw *hw, unsigned long parent_rate)
{
	return READ_ONCE(gpu_of(hw)->mhz) * 1000000ul;
}

static const struct clk_ops clock_ops = {
	.enable = clock_enable,
	.disable = clock_disable,
	.is_enabled = clock_is_enabled,
	.recalc_rate = clock_recalc_rate,
};

int v3d_power_init(struct v3d_gpu *gpu)
{
	static const struct clk_init_data init = {
		.name = "v3d",
		.ops = &clock_ops,
		.flags = CLK_GET_RATE_NOCACHE,
	};

	scoped_guard(spinlock_irqsave, &gpu->lock)
		forget(gpu);
	gpu->clock.init = &init;
	return devm_clk_hw_register(gpu->model, &gpu->clock) ?:
	       devm_clk_hw_register_clkdev(gpu->model, &gpu->clock, NULL, "v3d");
}
