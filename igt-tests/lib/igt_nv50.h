/* SPDX-License-Identifier: MIT */
/*
 * A virtual SoC of product nv50, one for a program: sessions of counters that are named, what they
 * counted, and the truth about it.
 */
#ifndef IGT_NV50_H
#define IGT_NV50_H

#include "igt_vsoc.h"

/* of the platform device; text for the driver's files */
#define IGT_NV50_NUMBER 11
#define IGT_NV50_NUMBER_TEXT "11"
/* shortest turn of a pass */
#define IGT_NV50_SLICE_NS 2000000ull
/* a period that is short enough to be recorded, and a ring with room for some batches of it */
#define IGT_NV50_RECORD_PERIOD_NS 100000ull
#define IGT_NV50_RECORD_SLOTS 1024

struct igt_nv50 {
	struct igt_perfctr_device dev;
	/* what was counted until two moments */
	struct igt_vsoc_truth before, after;
};

extern struct igt_nv50 igt_nv50;

/* it comes, instead of one that was left over; it goes; both fail if that does not happen */
void igt_nv50_come(void);
void igt_nv50_go(void);

/*
 * igt_subtest(), with a new device if the subtest before failed: that one left time standing still
 * and sessions that count, which go with their device.
 */
#define igt_nv50_subtest(name)                                                     \
	igt_subtest(name) for (igt_nv50_begin_subtest(); igt_nv50_is_in_subtest(); \
			       igt_nv50_end_subtest())

void igt_nv50_begin_subtest(void);
bool igt_nv50_is_in_subtest(void);
void igt_nv50_end_subtest(void);

/* sets igt_nv50.before, igt_nv50.after to what was counted until now */
void igt_nv50_read_before(void);
void igt_nv50_read_after(void);

struct igt_nv50_counter {
	uint16_t type, index; /* of the first block that has it */
	uint16_t position; /* bit of the mask */
};

/* all that take a name fail if there is no such counter */
struct igt_nv50_counter igt_nv50_counter(const char *name);
/* what was counted between before and after, in all blocks that have it */
uint64_t igt_nv50_truth(const char *name);

/* manual if @period_ns is 0; it has no requests yet; skips where records cannot be made in time */
void igt_nv50_session_init(struct igt_perfctr_session *s, uint64_t period_ns);
/* one more counter of the session, of all TPCs if it is theirs */
void igt_nv50_want(struct igt_perfctr_session *s, const char *name);
/* init, want each of @names, create; its ring has IGT_NV50_RECORD_SLOTS */
void igt_nv50_session_create(struct igt_perfctr_session *s, uint64_t period_ns,
			     const char *const *names, unsigned int count);

/* of the first block that has the counter; fails if the session does not have it */
const struct igt_perfctr_sum *igt_nv50_sum(const struct igt_perfctr_session *s, const char *name);
/* of that: the counts, and the ns in which it was this counter's turn */
uint64_t igt_nv50_value(const struct igt_perfctr_session *s, const char *name);
uint64_t igt_nv50_ran(const struct igt_perfctr_session *s, const char *name);
/* every sum of the session is exactly what was counted between before and after */
void igt_nv50_assert_conserved(const struct igt_perfctr_session *s);

/* a draw and a compute of odd amounts, done when it returns; @n makes them differ */
void igt_nv50_work(unsigned int n);
/* let stepped time pass */
void igt_nv50_step(uint64_t ns);
/* a number of the debugfs files "vsoc/pcounter" and "perfctr_sampler" */
uint64_t igt_nv50_sampler(const char *name);
/* "auto" or "on" */
void igt_nv50_power(const char *how);

#endif
