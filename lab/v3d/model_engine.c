// SPDX-License-Identifier: GPL-2.0
/*
 * The units: bin, render, TFU and compute. A thread makes one step of each unit that works, in
 * turn, a packet of a list or a batch; the GPU's clock and the host's time advance with it. A unit
 * makes no steps while it hangs, or lacks memory.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math.h>
#include <linux/sched.h>
#include <linux/time64.h>

#include "v3d_model.h"

/* steps without giving up the lock, and time that a sleep is worth */
#define STEPS		16
#define SLEEP_US	100

/* a step of the TFU */
#define TFU_LINES	16
#define PIXEL_BYTES	4
#define BURST_BYTES	64

static bool can_step(const struct v3d_gpu *gpu, enum v3d_unit unit)
{
	const struct v3d_work *work = &gpu->work[unit];

	return work->running && !work->hung &&
	       !(unit == V3D_BIN && gpu->list[V3D_BIN].starved);
}

static bool has_work(const struct v3d_gpu *gpu)
{
	for (int unit = 0; unit < V3D_UNITS; unit++)
		if (can_step(gpu, unit))
			return true;
	return false;
}

/* --- TFU and compute ------------------------------------------------------- */

static u32 tfu_height(const struct v3d_gpu *gpu)
{
	return FIELD_GET(GENMASK(31, 16), gpu->hub[V3D_TFU_SIZE(gpu->version) / 4]);
}

/* pixels are not converted: memory is only looked up, and accesses are counted */
static void tfu_step(struct v3d_gpu *gpu)
{
	u32 width = FIELD_GET(GENMASK(15, 0), gpu->hub[V3D_TFU_SIZE(gpu->version) / 4]);
	u32 first = TFU_LINES * (DIV_ROUND_UP(tfu_height(gpu), TFU_LINES) -
				 gpu->work[V3D_TFU].left);
	u32 bytes = PIXEL_BYTES * width * min(TFU_LINES, tfu_height(gpu) - first);
	u32 offset = PIXEL_BYTES * width * first;

	if (!v3d_mem_check_locked(gpu, V3D_CLIENT_TFU,
				  gpu->hub[V3D_TFU_INPUT(gpu->version) / 4] + offset, false) ||
	    !v3d_mem_check_locked(gpu, V3D_CLIENT_TFU,
				  gpu->hub[V3D_TFU_OUTPUT(gpu->version) / 4] + offset, true)) {
		gpu->work[V3D_TFU].hung = true;
		return;
	}
	v3d_count_locked(gpu, V3D_READS, DIV_ROUND_UP(bytes, BURST_BYTES));
	v3d_count_locked(gpu, V3D_READ_BYTES, bytes);
	v3d_count_locked(gpu, V3D_WRITES, DIV_ROUND_UP(bytes, BURST_BYTES));
	v3d_count_locked(gpu, V3D_WRITE_BYTES, bytes);
}

/* how many batches are left is in the current configuration: the driver sees progress by it */
static void csd_step(struct v3d_gpu *gpu)
{
	gpu->core[V3D_CSD_CURRENT(gpu->version) / 4 + V3D_CSD_BATCHES]--;
	v3d_count_locked(gpu, V3D_COMPUTE_ACTIVE, V3D_STEP_CYCLES);
}

static void counted_step(struct v3d_gpu *gpu, enum v3d_unit unit)
{
	if (unit == V3D_TFU)
		tfu_step(gpu);
	else
		csd_step(gpu);
	if (!gpu->work[unit].hung && !--gpu->work[unit].left)
		v3d_done_locked(gpu, unit);
}

static u32 steps_of(const struct v3d_gpu *gpu, enum v3d_unit unit)
{
	if (unit == V3D_TFU)
		return DIV_ROUND_UP(tfu_height(gpu), TFU_LINES);
	/* 4.2 has the number minus 1 */
	return gpu->core[V3D_CSD_CURRENT(gpu->version) / 4 + V3D_CSD_BATCHES] +
	       (gpu->version < 71);
}

/* --- all units ------------------------------------------------------------- */

void v3d_start_locked(struct v3d_gpu *gpu, enum v3d_unit unit)
{
	struct v3d_work *work = &gpu->work[unit];

	*work = (struct v3d_work){ .running = true };
	if (gpu->hang) {
		gpu->hang--;
		work->hung = true;
	}
	if (unit <= V3D_RENDER) {
		v3d_list_start_locked(gpu, unit);
	} else {
		work->left = steps_of(gpu, unit);
		if (!work->left)
			v3d_done_locked(gpu, unit);
	}
	wake_up(&gpu->wait);
}

static void step_locked(struct v3d_gpu *gpu)
{
	unsigned int busy = 0;

	for (int unit = 0; unit < V3D_UNITS; unit++) {
		if (!can_step(gpu, unit))
			continue;
		busy++;
		if (unit <= V3D_RENDER)
			v3d_list_step_locked(gpu, unit);
		else
			counted_step(gpu, unit);
	}
	if (!busy)
		return;
	v3d_count_locked(gpu, V3D_CYCLES, V3D_STEP_CYCLES);
	v3d_count_locked(gpu, V3D_CORE_ACTIVE, V3D_STEP_CYCLES);
	v3d_count_locked(gpu, V3D_MAX_READS, busy);
}

void v3d_steps_locked(struct v3d_gpu *gpu, unsigned int steps)
{
	while (steps--)
		step_locked(gpu);
}

static int engine_thread(void *data)
{
	struct v3d_gpu *gpu = data;
	u64 ahead_ns = 0;

	while (!kthread_should_stop()) {
		wait_event_idle(gpu->wait, has_work(gpu) || kthread_should_stop());
		scoped_guard(spinlock_irqsave, &gpu->lock)
			v3d_steps_locked(gpu, STEPS);
		ahead_ns += (u64)STEPS * READ_ONCE(gpu->step_ns);
		if (ahead_ns >= SLEEP_US * NSEC_PER_USEC) {
			usleep_range(ahead_ns / NSEC_PER_USEC, ahead_ns / NSEC_PER_USEC + 10);
			ahead_ns = 0;
		}
		cond_resched();
	}
	return 0;
}

int v3d_engine_init(struct v3d_gpu *gpu)
{
	return model_thread(gpu->model, engine_thread, gpu, "v3d-engine");
}
