/* SPDX-License-Identifier: MIT */
/* A fault target: a virtual SoC, the faults that it has, and its state. */
#ifndef IGT_TARGET_H
#define IGT_TARGET_H

#include "igt_vsoc.h"

#define IGT_TARGET_JOBS 48
/* covers a watchdog, a reset and several time-outs of firmware on a busy machine */
#define IGT_TARGET_PATIENCE_NS 8000000000ull

/* no fault epoch */
#define IGT_TARGET_EPOCH_UNKNOWN UINT64_MAX

struct igt_target {
	unsigned int number; /* number of the platform device */
	bool present;
	bool nv50; /* product */
	bool recorded; /* product nv50 with sessions of recordable counters only */
	struct igt_perfctr_device dev;
	uint32_t contexts[3];
	uint64_t jobs[IGT_TARGET_JOBS];
	unsigned int job_count;
	uint64_t hits; /* faults that happened and were disarmed */
	/* faults may happen */
	bool armed;
	/* its PMUs may have been removed */
	/* fault epoch in which it last worked without a fault */
	uint64_t fault_free_epoch;
	/* a fault removed it: open files return -ENODEV */
	bool gone;
};

/* find the faults of devices, and the PMUs of this one */
void igt_target_find(const struct igt_target *d);
/* debugfs files, in an order that does not depend on the directory's */
const char *igt_target_fault(uint32_t n);
unsigned int igt_target_fault_count(void);

/*
 * Number of faults and resets of the device. While it is constant, no count can be lost.
 * IGT_TARGET_EPOCH_UNKNOWN: the device is gone.
 */
uint64_t igt_target_fault_epoch(const struct igt_target *d);
/* true if the device is gone, which only faults of devices after the first cause */
bool igt_target_is_gone(struct igt_target *d, int ret);
/*
 * Disarm a fault (returns how often it happened), the faults that count while a sample is taken, or
 * all faults. After the last call the device stays present or stays removed.
 */
unsigned int igt_target_disarm_one(struct igt_target *d, const char *fault);
void igt_target_disarm_counting(struct igt_target *d);
void igt_target_disarm(struct igt_target *d);

/* returns when the job has ended with any status, or the device is gone */
void igt_target_wait_job(struct igt_target *d, int fd, uint64_t job);
/*
 * Wait until nothing runs or is queued and no power transition is due. The truth is constant from
 * then on, except that saturation is counted when a sample is taken. False: the device is gone.
 */
bool igt_target_quiesce(struct igt_target *d);

#endif
