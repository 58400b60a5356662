// SPDX-License-Identifier: GPL-2.0
/*
 * The microcontroller: its thread, boot, halt, reset.
 *
 * Register writes wake the thread, which executes all of firmware and the command streams. It
 * calls no code of the host; its interrupts go through the interrupt thread.
 */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "mali_mcu.h"
#include "mali_regs.h"

/* any context, with or without gpu->lock */
void mali_mcu_kick(struct mali_gpu *gpu, unsigned int event)
{
	struct mali_mcu *mcu = gpu->mcu;

	/* pairs with xchg() in work(): the host's words are visible before the event */
	smp_mb__before_atomic();
	set_bit(event, &mcu->events);
	wake_up(&mcu->wait);
}

void mali_mcu_doorbell(struct mali_gpu *gpu, u32 number)
{
	mali_mcu_kick(gpu, number ? MALI_MCU_EVENT_STREAMS : MALI_MCU_EVENT_GLOBAL);
}

static void set_status(struct mali_gpu *gpu, u32 status)
{
	guard(spinlock_irqsave)(&gpu->lock);
	gpu->mcu_status = status;
}

/* firmware cannot continue: it answers nothing from now on */
static void die(struct mali_mcu *mcu)
{
	mcu->running = false;
	set_status(mcu->gpu, MALI_MCU_STATUS_FATAL);
}

/* the shared section may be gone already if firmware was not running */
static void stop_all(struct mali_mcu *mcu)
{
	mcu->idle_at_ns = 0;
	mcu->idle_reported = false;
	mcu->cores_off_ns = 0;
	mali_prfcnt_reset(mcu->gpu);
	if (!mcu->running)
		return;
	mcu->running = false;
	for (u32 i = 0; i < MALI_GROUPS; i++)
		mali_group_reset(&mcu->group[i]);
}

static bool find_shared(struct mali_mcu *mcu)
{
	for (u32 i = 0; i < MALI_SHARED_PAGES; i++) {
		mcu->shared[i] = mali_mem_page(mcu->gpu, MALI_MCU_AS,
					       MALI_SHARED_VA + i * PAGE_SIZE);
		if (!mcu->shared[i])
			return false;
	}
	return true;
}

static void boot(struct mali_mcu *mcu)
{
	struct mali_gpu *gpu = mcu->gpu;

	if (mcu->running || READ_ONCE(gpu->fail[MALI_FAIL_BOOT]))
		return;
	if (!find_shared(mcu)) {
		die(mcu);
		return;
	}
	mali_global_boot(mcu);
	mcu->running = true;
	guard(spinlock_irqsave)(&gpu->lock);
	gpu->mcu_status = MALI_MCU_STATUS_ENABLED;
	mali_power_set_locked(gpu, MALI_DOMAIN_TILER, mali_power_present(gpu, MALI_DOMAIN_TILER));
	mali_irq_raise_locked(gpu, MALI_IRQ_JOB, MALI_JOB_IRQ_GLOBAL);
}

static void control(struct mali_mcu *mcu)
{
	struct mali_gpu *gpu = mcu->gpu;

	if (READ_ONCE(gpu->mcu_control) != MALI_MCU_CONTROL_DISABLE) {
		boot(mcu);
		return;
	}
	stop_all(mcu);
	set_status(gpu, MALI_MCU_STATUS_DISABLED);
}

static void halt_mcu(struct mali_mcu *mcu)
{
	mali_set_word(&mcu->out->halt_status, 0);
	stop_all(mcu);
	set_status(mcu->gpu, MALI_MCU_STATUS_HALTED);
}

/* returns true if a stream has more to execute */
static bool work(struct mali_mcu *mcu)
{
	unsigned long events = xchg(&mcu->events, 0);
	bool more = false;

	if (test_bit(MALI_MCU_EVENT_RESET, &events)) {
		stop_all(mcu);
		scoped_guard(spinlock_irqsave, &mcu->gpu->lock)
			mali_power_reset_locked(mcu->gpu);
		/* the reset discards earlier writes to MCU_CONTROL */
		return false;
	}
	if (test_bit(MALI_MCU_EVENT_CONTROL, &events))
		control(mcu);
	if (!mcu->running)
		return false;
	if (test_bit(MALI_MCU_EVENT_GLOBAL, &events) &&
	    !READ_ONCE(mcu->gpu->fail[MALI_FAIL_ANSWERS])) {
		if (mali_global_requests(mcu)) {
			die(mcu);
			return false;
		}
		if (mali_word(&mcu->in->req) & MALI_GLB_HALT &&
		    !READ_ONCE(mcu->gpu->fail[MALI_FAIL_HALT])) {
			halt_mcu(mcu);
			return false;
		}
	}
	mcu->synced = false;
	for (u32 i = 0; i < MALI_GROUPS; i++)
		more |= mali_group_run(&mcu->group[i]);
	mali_cores_check(mcu);
	mali_global_check_idle(mcu);
	return more || mcu->synced;
}

/*
 * Handles pending events in the host's thread: Linux 7.3 polls for the halt without sleeping, which
 * keeps the thread from running on a single CPU.
 */
void mali_mcu_poll(struct mali_gpu *gpu)
{
	struct mali_mcu *mcu = gpu->mcu;

	if (!READ_ONCE(mcu->events) || !mutex_trylock(&mcu->lock))
		return;
	if (work(mcu))
		mali_mcu_kick(gpu, MALI_MCU_EVENT_STREAMS);
	mutex_unlock(&mcu->lock);
}

static long time_to_idle(const struct mali_mcu *mcu)
{
	u64 at = mali_next_timer_ns(mcu);
	u64 now = ktime_get_ns();

	if (!at)
		return MAX_SCHEDULE_TIMEOUT;
	return at > now ? nsecs_to_jiffies(at - now) + 1 : 1;
}

static int mcu_thread(void *data)
{
	struct mali_mcu *mcu = data;
	bool more = false;

	while (!kthread_should_stop()) {
		if (!more)
			wait_event_idle_timeout(mcu->wait,
						READ_ONCE(mcu->events) || kthread_should_stop(),
						time_to_idle(mcu));
		mutex_lock(&mcu->lock);
		more = work(mcu);
		mutex_unlock(&mcu->lock);
		cond_resched();
	}
	return 0;
}

int mali_mcu_init(struct mali_gpu *gpu)
{
	struct mali_mcu *mcu = devm_kzalloc(gpu->model, sizeof(*mcu), GFP_KERNEL);

	if (!mcu)
		return -ENOMEM;
	mcu->gpu = gpu;
	mutex_init(&mcu->lock);
	init_waitqueue_head(&mcu->wait);
	gpu->mcu = mcu;
	return model_thread(gpu->model, mcu_thread, mcu, "mali-mcu");
}
