/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A driver that is not vsoc: a device without GEM objects on the core's module with sources
 * that do what a test wants, and the commands of its user. Structures and rings of user space
 * lie in memory of user space.
 */
#ifndef KUNIT_DRIVER_H
#define KUNIT_DRIVER_H

#include <linux/completion.h>
#include <linux/types.h>
#include <drm/drm_device.h>
#include <drm/drm_perfctr.h>
#include <drm/perfctr_mali.h>
#include <kunit/test.h>

#define MAX_SOURCES		8
#define SLOTS			4
#define MAX_STRIDE		1024
#define PATIENCE		(20 * HZ)
#define TIMESTAMP_HZ		25000000ull
#define TIMESTAMP_BITS		56

struct fake_source {
	struct drm_perfctr_source base;
	struct drm_perfctr_block_desc descs[2];
	/* what it answers */
	int prepare_error;
	int start_error;
	int collect_error;
	struct drm_perfctr_collection next;
	/* what the next collections find in each counter */
	u64 add;
	/* what it was asked for */
	unsigned int prepares;
	unsigned int unprepares;
	unsigned int starts;
	unsigned int stops;
	unsigned int collects;
	unsigned int resets;
	u64 wanted;
	u64 period_ns;
	/* it counts; calls that came in the wrong state */
	bool counting;
	unsigned int wrong_calls;
	/* pieces of each batch that it has beside the last one, a step of time and @add in each */
	unsigned int pieces;
	unsigned int left;
	u64 step_ns;
	u64 time_ns;
	/* how long a collection takes; when a batch was over, 0: not yet, and the shortest rest */
	unsigned int busy_ms;
	u64 over_ns;
	u64 rest_ns;
	/* collections wait here */
	bool gated;
	struct completion entered;
	struct completion leave;
};

struct core {
	struct kunit *test;
	struct drm_device *drm;
	struct drm_perfctr *pc;
	struct drm_perfctr_file pf;
	/* commands are this file's, @pf unless a test changes it */
	struct drm_perfctr_file *file;
	struct fake_source sources[MAX_SOURCES];
	unsigned int source_count;
	u8 __user *user;
	/* the ring of the session that was set up last, and copies of what is in it */
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
/* what is optional is left out */
extern const struct drm_perfctr_source_ops plain_ops;
extern const struct drm_perfctr_config core_config;
/* a device without any feature */
extern const struct drm_perfctr_config plain_config;

/* of a suite: test->priv is a struct core */
int core_init(struct kunit *test);
void core_exit(struct kunit *test);

/* the device's next source: one block of a type of its own with 64 counters of which 8 exist */
struct fake_source *new_source(struct core *core, const struct drm_perfctr_source_ops *ops);
/* the same, and the device has it */
struct fake_source *add_source(struct core *core, const struct drm_perfctr_source_ops *ops);
/* the counters of a device of its own in the place of those from core_init() */
void use_config(struct core *core, const struct drm_perfctr_config *config);

/* CONTROL with a structure, or one that is user_data only: 0 or -errno */
int command(struct core *core, u32 cmd, u32 *handle, void *data, size_t size);
int tagged(struct core *core, u32 cmd, u32 handle, u64 user_data);
struct drm_perfctr_setup setup_of(struct core *core, u32 flags);
/* one request for each bit of @sources, of counter 0 and those of @mask */
int setup_with(struct core *core, struct drm_perfctr_setup *setup, unsigned long sources,
	       u64 mask, u32 *handle);
/* the same, and ring_fd is the caller's */
int setup_unmapped(struct core *core, struct drm_perfctr_setup *setup, unsigned long sources,
		   u64 mask, u32 *handle);
u32 session_of(struct core *core, u32 flags, unsigned long sources, u64 mask);
u32 periodic_of(struct core *core, u64 period_ns, unsigned long sources);
struct drm_perfctr_status status_of(struct core *core, u32 handle);

/* a copy of a sample of the session that was set up last */
const struct drm_perfctr_sample_header *sample_at(struct core *core, u64 index);
const struct drm_perfctr_block_header *block_at(const struct drm_perfctr_sample_header *s,
						unsigned int nth);
/* the first counter of a block */
u64 value_at(const struct drm_perfctr_sample_header *s, unsigned int nth);
/* a copy of its control area */
const struct drm_perfctr_ring_control *ring_of(struct core *core);
/* false: not reached in time */
bool wait_for(const unsigned int *counter, unsigned int at_least);

#endif /* KUNIT_DRIVER_H */
