/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The job manager: slots that execute chains of jobs, and the sampling of counters into memory.
 * mali_gpu.lock protects all of it.
 */
#ifndef _MALI_JM_H_
#define _MALI_JM_H_

#include <linux/wait.h>

#include "mali_counters.h"

#define MALI_JM_SLOTS		3
#define MALI_JOB_INDICES	BIT(16)

/* registers of a chain, in the current set and in the one that is next */
struct mali_chain {
	u64 head;
	u64 affinity;
	u32 config;
};

struct mali_slot {
	struct mali_chain chain;
	struct mali_chain next;
	u32 next_flush_id;
	bool next_start;	/* @next is to be executed after @chain */

	u64 job;	/* address of the job in execution */
	u32 status;	/* MALI_EXCEPTION_* */
	bool active;
	bool stalled;	/* until the address space that faulted gets a command */
	bool failed;	/* @next waits until the host has cleared the interrupt */
	unsigned int changes;	/* a job whose slot has changed meanwhile counts nothing */
	unsigned long *done;	/* indices of the chain's jobs that have ended */
};

struct mali_jm {
	struct mali_gpu *gpu;
	struct mali_slot slot[MALI_JM_SLOTS];
	u32 state;	/* JS_STATE: slots that were active when their interrupts were cleared */
	bool cycle_count;	/* the cycle counter counts */

	u64 prfcnt_base;
	u32 prfcnt_config;
	u32 prfcnt_enable[MALI_BLOCK_MEMSYS + 2];	/* last: cores */
	u32 *base;	/* counters that do not count; else what is to be subtracted */
	u32 *sample;	/* as written to memory */
	u64 sample_va;
	u32 sample_as;
	bool sample_due;	/* was requested */
	bool sample_held;	/* was taken, and is in caches */
	bool clean_due;

	bool events;
	wait_queue_head_t wait;
};

/* a job, and what it would count */
struct mali_job {
	u64 va;
	u32 as;
	unsigned int slot;
	unsigned int commands;	/* that the address space had got before */
	u32 words[16];
	u64 counts[MALI_EVENTS];
};

/* mali_jm.c */
int mali_jm_init(struct mali_gpu *gpu);
bool mali_jm_read(struct mali_gpu *gpu, u32 offset, u32 *value);
bool mali_jm_write(struct mali_gpu *gpu, u32 offset, u32 value);
void mali_jm_retry_locked(struct mali_gpu *gpu, u32 as);
void mali_jm_kick(struct mali_jm *jm);

/* mali_job.c */
int mali_job_read(struct mali_gpu *gpu, struct mali_job *job);
int mali_job_execute(struct mali_gpu *gpu, struct mali_job *job);
u16 mali_job_index(const struct mali_job *job);
u64 mali_job_next(const struct mali_job *job);
bool mali_job_ready(const struct mali_job *job, const unsigned long *done);

/* mali_jm_prfcnt.c */
int mali_jm_prfcnt_init(struct mali_gpu *gpu);
bool mali_jm_prfcnt_write(struct mali_jm *jm, u32 offset, u32 value);
void mali_jm_prfcnt_clear_locked(struct mali_jm *jm);
void mali_jm_prfcnt_reset_locked(struct mali_jm *jm);
void mali_jm_prfcnt_request_locked(struct mali_jm *jm);
void mali_jm_prfcnt_work(struct mali_jm *jm);

#endif /* _MALI_JM_H_ */
