/* SPDX-License-Identifier: MIT */
/*
 * A virtual SoC that faults are done to: what can fail, until when it is busy, whether it is there.
 */
#ifndef IGT_TARGET_H
#define IGT_TARGET_H

#include "igt_vsoc_device.h"

#define IGT_TARGET_JOBS 48
/* a watchdog, a reset, some deadlines of firmware, on a machine that does other things too */
#define IGT_TARGET_PATIENCE_NS 8000000000ull

/* no number of troubles */
#define IGT_TARGET_EPOCH_UNKNOWN UINT64_MAX

struct igt_target {
	unsigned int number; /* of the platform device */
	bool present;
	bool nv50; /* product */
	bool recorded; /* of these, one whose sessions have nothing that cannot be */
	struct igt_perfctr_device dev;
	uint32_t contexts[3];
	uint64_t jobs[IGT_TARGET_JOBS];
	unsigned int job_count;
	uint64_t hits; /* faults that happened and were disarmed */
	/* faults may happen */
	bool armed;
	/* its PMUs may have gone */
	bool pmus_armed;
	/* its troubles when it last worked as if there had been none */
	uint64_t fault_free_epoch;
	/* a fault took it: what is open sees -ENODEV */
	bool gone;
};

/* what devices can fail at, and the PMUs behind this one */
void igt_target_find(const struct igt_target *d);
/* files of debugfs, in an order that does not depend on the directory's */
const char *igt_target_fault(uint32_t n);
unsigned int igt_target_fault_count(void);

/* both 0 or -errno */
int igt_target_debugfs(const struct igt_target *d, const char *file, const char *text);
int igt_target_power(const struct igt_target *d, const char *how);

/*
 * Faults that happened and resets since the device exists: while it stays the same nothing that is
 * to be blamed for a count has happened. IGT_TARGET_EPOCH_UNKNOWN: the device is gone.
 */
uint64_t igt_target_fault_epoch(const struct igt_target *d);
/* true if that is because the device has gone, which only a fault of one but the first does */
bool igt_target_is_gone(struct igt_target *d, int ret);
/*
 * The fault of that file does not happen from now on, returns how often it did; the same of those
 * that count while a sample is taken; of all: the device is there for good then, or gone.
 */
unsigned int igt_target_disarm_one(struct igt_target *d, const char *fault);
void igt_target_disarm_counting(struct igt_target *d);
void igt_target_disarm(struct igt_target *d);

/* the job ends, well or not, or the device has gone */
void igt_target_wait_job(struct igt_target *d, int fd, uint64_t job);
/*
 * Nothing runs, nothing will, and no power transition is to come, so that the truth stands still;
 * some faults count when a sample is taken. False: the device has gone.
 */
bool igt_target_quiesce(struct igt_target *d);

#endif
