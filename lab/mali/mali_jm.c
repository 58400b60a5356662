// SPDX-License-Identifier: GPL-2.0
/*
 * The job manager: its registers and slots.
 *
 * Register writes change a slot at once; a thread executes the jobs, one at a time, in the order of
 * their chain. A job's memory is written while it executes; its counts are added when it ends, if
 * its slot was not stopped or reset meanwhile. So each job counts once, however often it is
 * resumed.
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "mali_jm.h"
#include "mali_regs.h"

void mali_jm_kick(struct mali_jm *jm)
{
	WRITE_ONCE(jm->events, true);
	wake_up(&jm->wait);
}

/* --- slots, under mali_gpu.lock ------------------------------------------ */

static u32 number_of(const struct mali_jm *jm, const struct mali_slot *slot)
{
	return slot - jm->slot;
}

static void flush_locked(struct mali_gpu *gpu, const struct mali_slot *slot, u32 when)
{
	/* nothing was flushed since the host has read the flush ID */
	if (when == MALI_JS_CONFIG_START_FLUSH && slot->next_flush_id &&
	    slot->chain.config & MALI_JS_CONFIG_FLUSH_REDUCTION &&
	    slot->next_flush_id != gpu->flush_id)
		return;
	if (slot->chain.config & when)
		mali_flush_caches_locked(gpu);
}

static void start_locked(struct mali_jm *jm, struct mali_slot *slot)
{
	if (slot->active || slot->failed || !slot->next_start)
		return;
	slot->chain = slot->next;
	slot->next_start = false;
	slot->job = slot->chain.head;
	slot->status = MALI_EXCEPTION_ACTIVE;
	slot->active = true;
	slot->stalled = false;
	slot->changes++;
	bitmap_zero(slot->done, MALI_JOB_INDICES);
	flush_locked(jm->gpu, slot, MALI_JS_CONFIG_START_FLUSH);
	mali_jm_kick(jm);
}

/* @status: MALI_EXCEPTION_DONE, or why the chain ends before its last job */
static void end_locked(struct mali_jm *jm, struct mali_slot *slot, u32 status)
{
	const u32 n = number_of(jm, slot);

	slot->status = status;
	slot->active = false;
	slot->changes++;
	slot->failed = status != MALI_EXCEPTION_DONE;
	flush_locked(jm->gpu, slot, MALI_JS_CONFIG_END_FLUSH);
	mali_irq_raise_locked(jm->gpu, MALI_IRQ_JOB,
			      slot->failed ? MALI_JS_FAILED(n) : MALI_JS_DONE(n));
	start_locked(jm, slot);
}

static void command_locked(struct mali_jm *jm, struct mali_slot *slot, u32 command)
{
	const bool flag = slot->chain.config & MALI_JS_CONFIG_CHAIN_FLAG;
	const bool wanted = command >= MALI_JS_COMMAND_SOFT_STOP_1;

	if (!slot->active || command < MALI_JS_COMMAND_SOFT_STOP ||
	    command > MALI_JS_COMMAND_HARD_STOP_1)
		return;
	if (!(command & 1) && READ_ONCE(jm->gpu->fail[MALI_FAIL_SOFT_STOP]))
		return;
	/* commands for one of two chains */
	if (command >= MALI_JS_COMMAND_SOFT_STOP_0 && flag != wanted)
		return;
	end_locked(jm, slot, command & 1 ? MALI_EXCEPTION_TERMINATED : MALI_EXCEPTION_STOPPED);
}

/* registers of an address space were written: perhaps what faulted is mapped now */
void mali_jm_retry_locked(struct mali_gpu *gpu, u32 as)
{
	for (u32 i = 0; i < MALI_JM_SLOTS; i++) {
		struct mali_slot *slot = &gpu->jm->slot[i];

		if (slot->stalled && FIELD_GET(MALI_JS_CONFIG_AS, slot->chain.config) == as) {
			slot->stalled = false;
			mali_jm_kick(gpu->jm);
		}
	}
}

static void reset_locked(struct mali_jm *jm)
{
	for (u32 i = 0; i < MALI_JM_SLOTS; i++) {
		struct mali_slot *slot = &jm->slot[i];

		slot->active = false;
		slot->failed = false;
		slot->next_start = false;
		slot->status = 0;
		slot->changes++;
	}
	jm->state = 0;
	jm->cycle_count = false;
	mali_jm_prfcnt_reset_locked(jm);
	mali_power_reset_locked(jm->gpu);
}

/* --- execution ----------------------------------------------------------- */

static bool begin_job(struct mali_jm *jm, struct mali_slot *slot, struct mali_job *job,
		      unsigned int *changes)
{
	struct mali_gpu *gpu = jm->gpu;

	guard(spinlock_irqsave)(&gpu->lock);
	if (!slot->active || slot->stalled)
		return false;
	if (!gpu->powered[MALI_DOMAIN_SHADER] || !gpu->powered[MALI_DOMAIN_L2]) {
		end_locked(jm, slot, MALI_EXCEPTION_JOB_POWER_FAULT);
		return false;
	}
	if (!(slot->chain.affinity & gpu->powered[MALI_DOMAIN_SHADER])) {
		end_locked(jm, slot, MALI_EXCEPTION_JOB_AFFINITY_FAULT);
		return false;
	}
	job->va = slot->job;
	job->as = FIELD_GET(MALI_JS_CONFIG_AS, slot->chain.config);
	job->commands = gpu->as[job->as].commands;
	job->slot = number_of(jm, slot);
	*changes = slot->changes;
	return true;
}

/* @status: of mali_job_execute(). Returns whether the slot has more to do */
static bool end_job(struct mali_jm *jm, struct mali_slot *slot, const struct mali_job *job,
		    int status)
{
	struct mali_gpu *gpu = jm->gpu;
	u32 *fail = &gpu->fail[MALI_FAIL_JOB];

	if (status == -EFAULT && gpu->as[job->as].config != MALI_MODE_UNMAPPED) {
		slot->stalled = gpu->as[job->as].commands == job->commands;
		return !slot->stalled;
	}
	if (!status && READ_ONCE(*fail)) {
		status = *fail;
		WRITE_ONCE(*fail, 0);
	}
	if (status) {
		end_locked(jm, slot, status < 0 ? MALI_EXCEPTION_JOB_BUS_FAULT : status);
		return false;
	}
	for (u32 i = 0; i < MALI_EVENTS; i++)
		if (job->counts[i])
			mali_event_locked(gpu, i, job->counts[i]);
	set_bit(mali_job_index(job), slot->done);
	slot->job = mali_job_next(job);
	if (!slot->job)
		end_locked(jm, slot, MALI_EXCEPTION_DONE);
	return true;
}

/* a job ends with its exception status in its first word */
static int write_back(struct mali_gpu *gpu, struct mali_slot *slot, const struct mali_job *job,
		      int status)
{
	if (status < 0 || slot->chain.config & MALI_JS_CONFIG_NO_WRITE_BACK)
		return status;
	return mali_mem_store(gpu, job->as, job->va, sizeof(u32),
			      status ?: MALI_EXCEPTION_DONE) ?: status;
}

/* returns whether the slot may have more to do */
static bool run_slot(struct mali_jm *jm, struct mali_slot *slot)
{
	struct mali_gpu *gpu = jm->gpu;
	unsigned int changes;
	struct mali_job job;
	int status;

	if (!begin_job(jm, slot, &job, &changes))
		return false;
	status = mali_job_read(gpu, &job);
	/* jobs depend on earlier ones: a job that waits for any other waits forever */
	if (!status && !mali_job_ready(&job, slot->done))
		return false;
	status = write_back(gpu, slot, &job, status ?: mali_job_execute(gpu, &job));
	guard(spinlock_irqsave)(&gpu->lock);
	return slot->changes != changes || end_job(jm, slot, &job, status);
}

static int jm_thread(void *data)
{
	struct mali_jm *jm = data;

	while (!kthread_should_stop()) {
		wait_event_idle(jm->wait, READ_ONCE(jm->events) || kthread_should_stop());
		WRITE_ONCE(jm->events, false);
		/* pairs with the waker's lock: what it wrote is seen below */
		smp_mb();
		for (u32 i = 0; i < MALI_JM_SLOTS; i++)
			if (run_slot(jm, &jm->slot[i]))
				WRITE_ONCE(jm->events, true);
		mali_jm_prfcnt_work(jm);
		cond_resched();
	}
	return 0;
}

/* --- registers ----------------------------------------------------------- */

static u32 read_chain(const struct mali_chain *chain, u32 offset)
{
	switch (offset) {
	case MALI_JS_HEAD ... MALI_JS_HEAD + 4:
		return mali_half(chain->head, offset);
	case MALI_JS_AFFINITY ... MALI_JS_AFFINITY + 4:
		return mali_half(chain->affinity, offset);
	case MALI_JS_CONFIG:
		return chain->config;
	}
	return 0;
}

static u32 read_slot(const struct mali_slot *slot, u32 offset)
{
	switch (offset) {
	case MALI_JS_HEAD ... MALI_JS_TAIL + 4:
		return mali_half(slot->job, offset);
	case MALI_JS_STATUS:
		return slot->status;
	case MALI_JS_NEXT + MALI_JS_COMMAND:
		return slot->next_start ? MALI_JS_COMMAND_START : MALI_JS_COMMAND_NOP;
	}
	return offset < MALI_JS_NEXT ? read_chain(&slot->chain, offset) :
				       read_chain(&slot->next, offset - MALI_JS_NEXT);
}

static void set_half(u64 *value, u32 offset, u32 half)
{
	if (offset & 4)
		*value = (u64)half << 32 | lower_32_bits(*value);
	else
		*value = (*value & ~(u64)U32_MAX) | half;
}

static void write_slot(struct mali_jm *jm, struct mali_slot *slot, u32 offset, u32 value)
{
	switch (offset) {
	case MALI_JS_COMMAND:
		command_locked(jm, slot, value);
		break;
	case MALI_JS_NEXT + MALI_JS_HEAD ... MALI_JS_NEXT + MALI_JS_HEAD + 4:
		set_half(&slot->next.head, offset, value);
		break;
	case MALI_JS_NEXT + MALI_JS_AFFINITY ... MALI_JS_NEXT + MALI_JS_AFFINITY + 4:
		set_half(&slot->next.affinity, offset, value);
		break;
	case MALI_JS_NEXT + MALI_JS_CONFIG:
		slot->next.config = value;
		break;
	case MALI_JS_FLUSH_ID_NEXT:
		slot->next_flush_id = value;
		break;
	case MALI_JS_NEXT + MALI_JS_COMMAND:
		slot->next_start = value == MALI_JS_COMMAND_START;
		start_locked(jm, slot);
		break;
	}
}

/* what was active is visible to the host from now on; failed slots continue */
static void acknowledge(struct mali_jm *jm, u32 causes)
{
	mali_irq_write(jm->gpu, MALI_IRQ_JOB, MALI_IRQ_CLEAR, causes);
	for (u32 i = 0; i < MALI_JM_SLOTS; i++) {
		struct mali_slot *slot = &jm->slot[i];
		u32 bits = MALI_JS_DONE(i) | MALI_JS_FAILED(i);

		if (causes & MALI_JS_FAILED(i))
			slot->failed = false;
		start_locked(jm, slot);
		bits &= causes;
		jm->state &= ~bits;
		jm->state |= bits & ((slot->active ? MALI_JS_DONE(i) : 0) |
				     (slot->next_start ? MALI_JS_FAILED(i) : 0));
	}
}

static void gpu_command(struct mali_jm *jm, u32 command)
{
	struct mali_gpu *gpu = jm->gpu;

	switch (command) {
	case MALI_JM_COMMAND_SOFT_RESET:
		if (READ_ONCE(gpu->fail[MALI_FAIL_SOFT_RESET]))
			break;
		fallthrough;
	case MALI_JM_COMMAND_HARD_RESET:
		reset_locked(jm);
		break;
	case MALI_JM_COMMAND_PRFCNT_CLEAR:
		mali_jm_prfcnt_clear_locked(jm);
		break;
	case MALI_JM_COMMAND_PRFCNT_SAMPLE:
		mali_jm_prfcnt_request_locked(jm);
		mali_jm_kick(jm);
		break;
	case MALI_JM_COMMAND_CYCLES_START:
	case MALI_JM_COMMAND_CYCLES_STOP:
		mali_clock_update_locked(gpu);
		jm->cycle_count = command == MALI_JM_COMMAND_CYCLES_START;
		break;
	case MALI_JM_COMMAND_CLEAN:
	case MALI_JM_COMMAND_CLEAN_INVALIDATE:
		mali_flush_caches_locked(gpu);
		jm->clean_due = true;
		mali_jm_kick(jm);
		break;
	}
}

static struct mali_slot *slot_at(struct mali_jm *jm, u32 offset)
{
	if (offset < MALI_JS || offset >= MALI_JS + MALI_JM_SLOTS * MALI_JS_BYTES)
		return NULL;
	return &jm->slot[(offset - MALI_JS) / MALI_JS_BYTES];
}

/* returns false if the register at @offset is not one of a job manager */
bool mali_jm_read(struct mali_gpu *gpu, u32 offset, u32 *value)
{
	const struct mali_slot *slot = slot_at(gpu->jm, offset);

	if (slot)
		*value = read_slot(slot, offset % MALI_JS_BYTES);
	else if (offset == MALI_JM_STATE)
		*value = gpu->jm->state;
	else
		return false;
	return true;
}

bool mali_jm_write(struct mali_gpu *gpu, u32 offset, u32 value)
{
	struct mali_slot *slot = slot_at(gpu->jm, offset);

	if (slot)
		write_slot(gpu->jm, slot, offset % MALI_JS_BYTES, value);
	else if (offset == MALI_JOB_IRQ + MALI_IRQ_CLEAR)
		acknowledge(gpu->jm, value);
	else if (offset == MALI_GPU_COMMAND)
		gpu_command(gpu->jm, value);
	else
		return mali_jm_prfcnt_write(gpu->jm, offset, value);
	return true;
}

/* --- set-up -------------------------------------------------------------- */

static int state_show(struct seq_file *file, void *unused)
{
	struct mali_gpu *gpu = file->private;

	guard(spinlock_irqsave)(&gpu->lock);
	seq_printf(file, "product %s\n", gpu->product->name);
	for (u32 i = 0; i < MALI_JM_SLOTS; i++)
		seq_printf(file, "slot %u active %d stalled %d next %d\n", i,
			   gpu->jm->slot[i].active, gpu->jm->slot[i].stalled,
			   gpu->jm->slot[i].next_start);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

int mali_jm_init(struct mali_gpu *gpu)
{
	struct mali_jm *jm = devm_kzalloc(gpu->model, sizeof(*jm), GFP_KERNEL);

	if (!jm)
		return -ENOMEM;
	jm->gpu = gpu;
	init_waitqueue_head(&jm->wait);
	for (u32 i = 0; i < MALI_JM_SLOTS; i++) {
		jm->slot[i].done = devm_bitmap_zalloc(gpu->model, MALI_JOB_INDICES, GFP_KERNEL);
		if (!jm->slot[i].done)
			return -ENOMEM;
	}
	gpu->jm = jm;
	debugfs_create_file("state", 0444, gpu->debugfs, gpu, &state_fops);
	return mali_jm_prfcnt_init(gpu) ?: model_thread(gpu->model, jm_thread, jm, "mali-jm");
}
