/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CSF source on working firmware, and the expected results.
 */
#ifndef NATIVE_CSF_FIXTURE_H
#define NATIVE_CSF_FIXTURE_H

#include "csf_internal.h"
#include "fake_core.h"
#include "test.h"

#define MS			NSEC_PER_MSEC
#define ACK_TIMEOUT_NS		(CSF_PRFCNT_ACK_TIMEOUT_MS * MS)
/* longest collection: four steps, each with two answers in time and one pending poll */
#define COLLECT_MAX_NS		(4 * (ACK_TIMEOUT_NS + 2 * CSF_MIN_POLLS * CSF_POLL_MS * MS))

/* shapes of the GPU */
struct fixture_shape {
	u64 present;
	u32 l2_slices;
	u32 counters;
	bool dense;
	bool metadata;
	bool extended;
	u32 csg_blocks;
};

#define FIXTURE_SHAPES		10
extern const struct fixture_shape fixture_shapes[FIXTURE_SHAPES];
/* the default configuration, but with shape @s */
void fixture_use_shape(unsigned int s);

/* the source, ERR_PTR if its configuration was rejected */
extern struct csf_perfctr *csf;

void fixture_irq(void);
/* a source on fw.config, without running firmware */
void fixture_create(void);
/* boot firmware, create, start: 0 or the first error */
int fixture_start(void);
/* @n counts in some counters of each block, with some time before and after */
void fixture_count(u32 n);
/* macros, so that a failing check reports the line of its test */
#define fixture_begin() \
	do { \
		firmware_default_config(); \
		check_eq(fixture_start(), 0); \
	} while (0)
/* a test of a source that fixture_begin() has started */
#define FIXTURE_TEST(name) \
	static void begun_##name(void); \
	TEST(name) \
	{ \
		fixture_begin(); \
		begun_##name(); \
	} \
	static void begun_##name(void)
#define fixture_collect(n) \
	do { \
		fixture_count(n); \
		check_eq(core_collect(), 0); \
	} while (0)
#define collect_clean() \
	do { \
		check_eq(core_collect(), 0); \
		check_eq(got.flags, 0); \
	} while (0)
#define collect_error() \
	do { \
		check_eq(core_collect(), 0); \
		check(got.flags & DRM_PERFCTR_SAMPLE_ERROR); \
	} while (0)
#define fixture_collect_clean(n) \
	do { \
		fixture_count(n); \
		collect_clean(); \
	} while (0)
static inline int shader(unsigned int core)
{
	return core_block(DRM_PERFCTR_MALI_BLOCK_SHADER, core);
}

/* whether totals equal the counts that firmware has not dropped */
bool fixture_conserved(void);

#endif /* NATIVE_CSF_FIXTURE_H */
