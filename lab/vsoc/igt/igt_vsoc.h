/* SPDX-License-Identifier: MIT */
/* The virtual SoC for tests: jobs, and the truth of counters. */
#ifndef IGT_VSOC_H
#define IGT_VSOC_H

#include <drm/perfctr_nv50.h>
#include <drm/vsoc_drm.h>

#include "igt_known.h"

/* skips on other devices; functions that submit jobs, read true counts or arm faults call it */
void igt_vsoc_require(const struct igt_perfctr_device *dev);
/* the same, then @test */
void igt_vsoc_only(const struct igt_perfctr_device *dev, void (*test)(void));
/* a command that takes a sample of @s */
struct drm_vsoc_command igt_vsoc_sample(const struct igt_perfctr_session *s, uint64_t user_data);
/* commands for one job: a draw, a compute and a copy; @n makes jobs differ */
void igt_vsoc_mixed(struct drm_vsoc_command commands[3], unsigned int n);
uint64_t igt_vsoc_submit(const struct igt_perfctr_device *dev,
			 const struct drm_vsoc_command *commands, unsigned int count);
/* to a context of any file; 0 or -errno; @job and @fence are set on success, may be NULL */
int igt_vsoc_submit_to(int fd, uint32_t ctx, const struct drm_vsoc_command *commands,
		       unsigned int count, uint64_t *job, int *fence);
struct drm_vsoc_wait igt_vsoc_wait(const struct igt_perfctr_device *dev, uint64_t job);
/* 0 or -errno, -ETIME if the job has not ended by then */
int igt_vsoc_wait_for(int fd, uint64_t job, int64_t timeout_ns, struct drm_vsoc_wait *wait);
/* submit a mixed job and wait for it */
void igt_vsoc_work(const struct igt_perfctr_device *dev, unsigned int n);
/* a mapped buffer for stores of MP counters; never fails */
void *igt_vsoc_buffer(int fd, uint64_t bytes, uint32_t *handle, uint64_t *mapped);
void igt_vsoc_gem_close(int fd, uint32_t handle);
uint32_t igt_vsoc_ctx_create(int fd);
/* 0 or -errno */
int igt_vsoc_ctx_destroy(int fd, uint32_t ctx);
int igt_vsoc_ctx_hold(int fd, uint32_t ctx, uint32_t hold);

/*
 * Counts of a counter set at one moment: the truth, and the parts of it that firmware destroyed,
 * that a host need not have received, and that hardware still holds (lab/vsoc/README.md,
 * "debugfs"). Product nv50 has zero for all but the truth.
 */
struct igt_vsoc_totals {
	struct igt_truth truth;
	uint64_t dropped[IGT_TRUTH_MAX];
	uint64_t doubtful[IGT_TRUTH_MAX];
	uint64_t pending[IGT_TRUTH_MAX];
};

void igt_vsoc_totals(const struct igt_perfctr_device *dev, unsigned int set,
		     struct igt_vsoc_totals *totals);
/* the same, or false if the device is gone */
bool igt_vsoc_try_totals(const struct igt_perfctr_device *dev, unsigned int set,
			 struct igt_vsoc_totals *totals);
/* print the latest actions of firmware, and faults, to stderr */
void igt_vsoc_print_log(const struct igt_perfctr_device *dev);
void igt_vsoc_truth(const struct igt_perfctr_device *dev, struct igt_truth *truth);
/* the same for one counter set, enum drm_perfctr_set; the first function reads the primary one */
void igt_vsoc_truth_of_set(const struct igt_perfctr_device *dev, unsigned int set,
			   struct igt_truth *truth);
/* number of the counter with that name; fails if there is none */
uint16_t igt_vsoc_counter(const struct igt_truth *truth, uint16_t type, const char *name);
/* STOP, and read to the end: every sum is what the hardware counted since @before */
void igt_vsoc_stop_conserved(struct igt_perfctr_session *s, const struct igt_truth *before);
/* the truth before START */
void igt_vsoc_start(struct igt_perfctr_session *s, struct igt_truth *before);
/*
 * START, @jobs jobs with @step (or NULL) after each, STOP: every sum is what the hardware counted,
 * nothing was lost, and STATUS agrees.
 */
void igt_vsoc_conserve(struct igt_perfctr_session *s, unsigned int jobs,
		       void (*step)(struct igt_perfctr_session *s, unsigned int n));
/* bytes read from memory that the UCF PMU of socket 0 has counted; 0 without the fabric's file */
uint64_t igt_vsoc_ucf_bytes_read(const struct igt_perfctr_device *dev);
/* a number in the debugfs file "firmware" */
uint64_t igt_vsoc_firmware(const struct igt_perfctr_device *dev, const char *name);
/* wait until firmware has answered all requests */
void igt_vsoc_settle(const struct igt_perfctr_device *dev);
/* write a debugfs file of the device, the first returns 0 or -errno */
int igt_vsoc_debugfs_try(const struct igt_perfctr_device *dev, const char *file, const char *text);
void igt_vsoc_debugfs(const struct igt_perfctr_device *dev, const char *file, const char *text);
void igt_vsoc_debugfs_u64(const struct igt_perfctr_device *dev, const char *file, uint64_t value);

/* Create, remove and break virtual SoCs. */

#define IGT_VSOC_DRIVER "/sys/bus/platform/drivers/vsoc"

/* write one of the driver's files, new_device for example; 0 or -errno */
int igt_vsoc_driver(const char *file, const char *text);
/* create a device "NUMBER [key=value]..." and open it; fails if that fails */
void igt_vsoc_add(struct igt_perfctr_device *dev, const char *shape);
/* close it, if it is open, and remove it */
void igt_vsoc_remove(struct igt_perfctr_device *dev, unsigned int number);

/* the type of the test PMU (kernel/tests/pmu), which is loaded; skips without perf events */
uint32_t igt_test_pmu(void);
/* write a parameter of it */
void igt_test_pmu_set(const char *name, const char *value);

/* the fault @name (without "fail_") happens the next @times times that its code is reached */
void igt_fault_arm(const struct igt_perfctr_device *dev, const char *name, unsigned int times);
/* disarm it; returns how often it happened */
unsigned int igt_fault_disarm(const struct igt_perfctr_device *dev, const char *name);
/* how often it has happened since it was armed */
unsigned int igt_fault_hits(const struct igt_perfctr_device *dev, const char *name);

#endif
