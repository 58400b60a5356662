/* SPDX-License-Identifier: MIT */
/*
 * A virtual SoC of product nv50, one for a program: sessions of named counters, what they counted,
 * and the truth.
 */
#ifndef IGT_NV50_H
#define IGT_NV50_H

#include "igt_vsoc.h"

/* number of the platform device; buffer for the driver's files */
#define IGT_NV50_NUMBER 11
#define IGT_NV50_NUMBER_TEXT "11"
/* shortest multiplexing slot of a pass */
#define IGT_NV50_SLICE_NS 2000000ull
/* a period short enough to be recorded, and a ring with room for some batches of it */
#define IGT_NV50_RECORD_PERIOD_NS 100000ull
#define IGT_NV50_RECORD_SLOTS 1024

struct igt_nv50 {
	struct igt_perfctr_device dev;
	/* the truth at two moments */
	struct igt_truth before, after;
};

extern struct igt_nv50 igt_nv50;

/* create the device in place of a leftover one, and remove it; failure fails the test */
void igt_nv50_add(void);
void igt_nv50_remove(void);

/*
 * igt_subtest(), with a new device if the previous subtest failed, because it may have left stepped
 * time and active sessions.
 */
#define igt_nv50_subtest(name)                                                     \
	igt_subtest(name) for (igt_nv50_begin_subtest(); igt_nv50_is_in_subtest(); \
			       igt_nv50_end_subtest())

void igt_nv50_begin_subtest(void);
bool igt_nv50_is_in_subtest(void);
void igt_nv50_end_subtest(void);

/* set igt_nv50.before and igt_nv50.after to the truth at this moment */
void igt_nv50_read_before(void);
void igt_nv50_read_after(void);
/* the same with START, and with STOP and drain */
void igt_nv50_start(struct igt_perfctr_session *s);
void igt_nv50_finish(struct igt_perfctr_session *s);

struct igt_nv50_counter {
	uint16_t type, index; /* type of the first block that has it */
	uint16_t position; /* bit of the mask */
};

/* functions with the name of a counter fail if there is none of that name */
struct igt_nv50_counter igt_nv50_counter(const char *name);
/* counts between the two reads, over all blocks that have the counter */
uint64_t igt_nv50_truth(const char *name);

/* no requests; @period_ns 0: manual; skips if packets cannot be made in time */
void igt_nv50_session_init(struct igt_perfctr_session *s, uint64_t period_ns);
/* adds a counter to the session; an MP counter on all TPCs */
void igt_nv50_want(struct igt_perfctr_session *s, const char *name);
/* init, want each of @names, create; the ring has IGT_NV50_RECORD_SLOTS */
void igt_nv50_session_create(struct igt_perfctr_session *s, uint64_t period_ns,
			     const char *const *names, unsigned int count);

/* of the first block that has the counter; fails if the session does not have it */
const struct igt_perfctr_sum *igt_nv50_sum(const struct igt_perfctr_session *s, const char *name);
/* the counts, and the ns in which the counter ran */
uint64_t igt_nv50_value(const struct igt_perfctr_session *s, const char *name);
uint64_t igt_nv50_ran(const struct igt_perfctr_session *s, const char *name);
/* every sum of the session is exactly what was counted between before and after */
void igt_nv50_assert_conserved(const struct igt_perfctr_session *s);

/* a draw and a compute of odd amounts, finished on return; @n makes them differ */
void igt_nv50_work(unsigned int n);
/* let stepped time pass */
void igt_nv50_step(uint64_t ns);
/* a number of the debugfs files "vsoc/pcounter" and "perfctr_sampler" */
uint64_t igt_nv50_sampler(const char *name);

#endif
