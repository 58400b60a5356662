/* SPDX-License-Identifier: MIT */
/*
 * Work of a GPU that a driver's tests know, and what it counted. Other GPUs get no work, and
 * nothing is compared: START, STOP, drain and STATUS are done and checked on all.
 */
#ifndef IGT_KNOWN_H
#define IGT_KNOWN_H

#include "igt_perfctr.h"

#define IGT_TRUTH_MAX 4096

/* exact totals of all counters at one moment */
struct igt_truth {
	unsigned int count;
	struct igt_true_counter {
		uint16_t type, index, counter;
		uint64_t value;
		char name[40];
	} at[IGT_TRUTH_MAX];
};

/* what a driver's tests add, before main() */
struct igt_known {
	const char *driver;
	unsigned long submit; /* its ioctl that starts work */
	/* starts work, which differs by @n, and waits for its end */
	void (*work)(const struct igt_perfctr_device *dev, unsigned int n);
	void (*truth)(const struct igt_perfctr_device *dev, struct igt_truth *truth);
	/* as those of igt_control.h, if PERF_CONTROL is not that of panthor; 0 or -errno */
	int (*control_query)(const struct igt_perfctr_device *dev, void *info, uint32_t *bytes);
	int (*create_buffer)(int fd, uint64_t *bytes, uint32_t *handle, uint64_t *offset);
};

extern const struct igt_known *igt_known; /* NULL: none */

/* every sum of the session is exactly what the hardware counted in between */
void igt_assert_conserved(const struct igt_perfctr_session *s, const struct igt_truth *before,
			  const struct igt_truth *after);
void igt_known_work(const struct igt_perfctr_device *dev, unsigned int n);
void igt_known_truth(const struct igt_perfctr_device *dev, struct igt_truth *truth);
void igt_known_compare(const struct igt_perfctr_session *s, const struct igt_truth *before,
		       const struct igt_truth *after);
/* the truth before START */
void igt_known_start(struct igt_perfctr_session *s, struct igt_truth *before);
/* STOP, and read to the end: every sum is what the hardware counted since @before */
void igt_known_stop(struct igt_perfctr_session *s, const struct igt_truth *before);
/*
 * START, @jobs times work with @step (or NULL) after each, STOP: every sum is what the hardware
 * counted, nothing was lost, and STATUS agrees.
 */
void igt_known_conserve(struct igt_perfctr_session *s, unsigned int jobs,
			void (*step)(struct igt_perfctr_session *s, unsigned int n));
/* a @step: SAMPLE with tag @n, and read it */
void igt_known_step_sample(struct igt_perfctr_session *s, unsigned int n);

#endif
