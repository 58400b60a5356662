/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A driver for tests of the core's module: a device without GEM objects, fake
 * sources, and commands of its user. Structures and rings of user space are in user memory.
 */
#ifndef KUNIT_DRIVER_H
#define KUNIT_DRIVER_H

#include <linux/completion.h>
#include <linux/types.h>
#include <drm/drm_device.h>
#ifdef PERFCTR_IN_TREE
#include <drm/drm_perfctr.h>
#else
#include <drm/drm_perfctr_extension.h>
#endif
#include <drm/perfctr_mali.h>
#include <kunit/test.h>

#define MAX_SOURCES		8
#define MAX_SESSIONS		8
#define SLOTS			4
#define MAX_STRIDE		1024
#define TIMEOUT		(20 * HZ)
#define TIMESTAMP_HZ		25000000ull
#define TIMESTAMP_BITS		56

struct fake_source {
	struct drm_perfctr_source base;
#ifndef PERFCTR_IN_TREE
	struct drm_perfctr_extension extension;
#endif
	struct drm_perfctr_block_desc descs[2];
	/* its return values */
	int prepare_error;
	int start_error;
	int collect_error;
	struct drm_perfctr_collection next;
	/* added to each counter by each collection */
	u64 add;
	/* counters that it does not measure */
	u64 unmeasured;
	/* calls of the core */
	unsigned int prepares;
	unsigned int unprepares;
	unsigned int starts;
	unsigned int stops;
	unsigned int collects;
	unsigned int fifo_collects;
	unsigned int resets;
	unsigned int collects_at_reset;
#ifndef PERFCTR_IN_TREE
	u64 wanted;
	u64 period_ns;
	/* a task; what it selected last */
	struct task_struct *caller;
	u64 caller_wanted;
#endif
	/* whether it counts; calls in the wrong state */
	bool counting;
	unsigned int wrong_calls;
#ifndef PERFCTR_IN_TREE
	/* pieces of a batch, those left of it; each has @piece_add and takes @step_ns */
	unsigned int pieces;
	unsigned int left;
	u64 piece_add;
	u64 piece_sum;
	/* number of collections that falsely report more of a batch */
	unsigned int lies;
	u64 step_ns;
	u64 time_ns;
#endif
	/* duration of a collection; end of the last one, or 0; shortest pause */
	unsigned int busy_ms;
	u64 ended_ns;
	u64 min_pause_ns;
	/* if gated, a collection completes @entered and waits for @leave */
	bool gated;
	struct completion entered;
	struct completion leave;
};

struct core {
	struct kunit *test;
	struct drm_device *drm;
	struct drm_perfctr *pc;
	/* descriptors of its sessions, -1: none */
	int sessions[MAX_SESSIONS];
	struct fake_source sources[MAX_SOURCES];
	unsigned int source_count;
	u8 __user *user;
	/* the ring of the latest session, and copies of its contents */
	u8 __user *ring;
	u8 __user *slots;
	u32 stride;
	struct drm_perfctr_ring_control control;
	u8 sample[SLOTS][MAX_STRIDE] __aligned(8);
	/* of the test's thread */
	struct mm_struct *mm;
	int wake_error;
	unsigned int wakes;
	unsigned int relaxes;
	unsigned int frequencies;
};

extern const struct drm_perfctr_source_ops fake_ops;
/* without the optional operations */
extern const struct drm_perfctr_source_ops plain_ops;
extern const struct drm_perfctr_config core_config;
/* a device without any feature */
extern const struct drm_perfctr_config plain_config;

/* init and exit of a suite: test->priv is a struct core */
int core_init(struct kunit *test);
void core_exit(struct kunit *test);

/* initializes a source: one block of its own type, 64 counters of which 8 exist */
struct fake_source *new_source(struct core *core, const struct drm_perfctr_source_ops *ops);
/* the same, and adds it to the device */
struct fake_source *add_source(struct core *core, const struct drm_perfctr_source_ops *ops);
/* replaces the device of core_init() */
void use_config(struct core *core, const struct drm_perfctr_config *config);

/* START, SAMPLE or STOP of a session's descriptor; 0 or -errno */
int command(struct core *core, unsigned int cmd, int fd, u64 user_data);
struct drm_perfctr_open open_of(struct core *core, u32 flags);
/*
 * One request for each bit of @sources, of counter 0 and those of @mask. 0 and a descriptor, which
 * is -1 with CHECK; or -errno.
 */
int open_with(struct core *core, struct drm_perfctr_open *open, unsigned long sources,
	      u64 mask, int *fd);
int session_of(struct core *core, u32 flags, unsigned long sources, u64 mask);
int periodic_of(struct core *core, u64 period_ns, unsigned long sources);
struct drm_perfctr_status status_of(struct core *core, int fd);
/* closes a session's descriptor; 0 */
int close_session(struct core *core, int fd);

/* a copy of a sample of the latest session */
const struct drm_perfctr_sample_header *sample_at(struct core *core, u64 index);
const struct drm_perfctr_block_header *block_at(const struct drm_perfctr_sample_header *s,
						unsigned int nth);
/* the first counter of a block */
u64 value_at(const struct drm_perfctr_sample_header *s, unsigned int nth);
/* a copy of its control area */
const struct drm_perfctr_ring_control *ring_of(struct core *core);
/* false: timeout */
bool wait_for(const unsigned int *counter, unsigned int least);

#endif /* KUNIT_DRIVER_H */
