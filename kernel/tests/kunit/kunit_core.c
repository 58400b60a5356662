// SPDX-License-Identifier: GPL-2.0
/*
 * The core with a driver for tests: several sources, failing sources, and callbacks in orders that
 * no hardware has. The tests call only functions that drm_perfctr.ko exports. Structures of user
 * space are in user memory.
 */
#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "kunit_driver.h"
#include "perfctr_internal.h"

/* --- sources --- */

static void invalid_source_is_refused(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = new_source(core, &plain_ops);
	struct drm_perfctr_source *source = &fake->base;

	source->ops = NULL;
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, source), -EINVAL);
	source->ops = &fake_ops;
	source->descs = NULL;
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, source), -EINVAL);
	source->descs = fake->descs;
	source->block_count = 0;
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, source), -EINVAL);
	source->block_count = 2;
	/* the second block has no counters */
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, source), -EINVAL);
	source->block_count = 1;
	fake->descs[0].counters = DRM_PERFCTR_BLOCK_INFO_SECTIONS * 64 + 1;
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, source), -EINVAL);
	KUNIT_EXPECT_NULL(test, source->state);
	KUNIT_EXPECT_NULL(test, source->blocks);

	fake->descs[0].counters = DRM_PERFCTR_BLOCK_INFO_SECTIONS * 64;
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, source), 0);
}

static void source_beyond_the_limit_is_refused(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *more = drmm_kzalloc(core->drm, sizeof(*more), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, more);
	for (i = 0; i < MAX_SOURCES; i++)
		add_source(core, &plain_ops);
	more->base = core->sources[0].base;
	KUNIT_EXPECT_EQ(test, drm_perfctr_add_source(core->pc, &more->base), -ENOSPC);
}

/* suite kunit-nomem */
#ifdef CONFIG_FAULT_INJECTION
/* the n-th allocation of this thread from now on fails; 0: none */
static void fail_nth(unsigned int n)
{
	WRITE_ONCE(current->fail_nth, n);
}

/* whether an allocation has failed since fail_nth() */
static bool has_failed(void)
{
	bool failed = !READ_ONCE(current->fail_nth);

	fail_nth(0);
	return failed;
}

static bool can_fail(void)
{
	void *memory;

	fail_nth(1);
	memory = kmalloc(8, GFP_KERNEL | __GFP_NOWARN);
	kfree(memory);
	return has_failed() && !memory;
}

/* drm_perfctr_add_source() with each of its allocations failing; returns the number of errors */
static unsigned int fail_add_source(struct kunit *test, struct fake_source **fake)
{
	struct core *core = test->priv;
	unsigned int n = 0, errors = 0;
	struct fake_source *more;
	struct drm_perfctr *pc;
	bool failed;
	int ret;

	do {
		pc = drmm_perfctr_create(core->drm, &core_config);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pc);
		fail_nth(++n);
		ret = drm_perfctr_add_source(pc, &(*fake)->base);
		failed = has_failed();
		if (ret) {
			KUNIT_ASSERT_TRUE(test, failed);
			KUNIT_ASSERT_EQ(test, ret, -ENOMEM);
			KUNIT_ASSERT_NULL(test, (*fake)->base.state);
			KUNIT_ASSERT_NULL(test, (*fake)->base.blocks);
			errors++;
			continue;
		}
		/* the device owns this source: the next attempt needs another one */
		more = drmm_kzalloc(core->drm, sizeof(*more), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, more);
		more->descs[0] = (*fake)->descs[0];
		more->base.name = (*fake)->base.name;
		more->base.ops = (*fake)->base.ops;
		more->base.descs = more->descs;
		more->base.block_count = 1;
		*fake = more;
	} while (failed);
	return errors;
}

static unsigned int fail_create(struct kunit *test)
{
	struct core *core = test->priv;
	unsigned int n = 0, errors = 0;
	struct drm_perfctr *pc;
	bool failed;

	do {
		fail_nth(++n);
		pc = drmm_perfctr_create(core->drm, &core_config);
		failed = has_failed();
		if (IS_ERR(pc)) {
			KUNIT_ASSERT_TRUE(test, failed);
			KUNIT_ASSERT_EQ(test, PTR_ERR(pc), -ENOMEM);
			errors++;
		}
	} while (failed);
	return errors;
}

/*
 * Each allocation of a driver's probe fails in turn. The suite restricts failslab to the kmalloc
 * caches, because the number of allocations of debugging code varies.
 */
static void failed_allocation_is_reported(struct kunit *test)
{
	struct fake_source *fake = new_source(test->priv, &fake_ops);

	if (!can_fail())
		kunit_skip(test, "allocations do not fail: write N to failslab/ignore-gfp-wait");
	/* adds one array */
	fake->descs[0].format = DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	/* state, blocks, totals, valid, running, wanted, DRM's action */
	KUNIT_EXPECT_GE(test, fail_add_source(test, &fake), 7);
	/* the structure, the worker, DRM's action */
	KUNIT_EXPECT_GE(test, fail_create(test), 3);
}
#endif

static void sources_run_while_their_sessions_do(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *a = add_source(core, &fake_ops);
	struct fake_source *b = add_source(core, &plain_ops);
	struct drm_perfctr_block_info info[3] = { };
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_BLOCKS,
		.stride = sizeof(info[0]),
		.count = ARRAY_SIZE(info),
		.pointer = (uintptr_t)core->user,
	};
	const struct drm_perfctr_sample_header *sample;
	int both, second;

	KUNIT_ASSERT_EQ(test, drm_perfctr_query_ioctl(core->pc, &query), 0);
	KUNIT_ASSERT_EQ(test, copy_from_user(info, core->user, sizeof(info)), 0ul);
	KUNIT_EXPECT_EQ(test, query.count, 2 + IS_ENABLED(CONFIG_DRM_PERFCTR_PMU));
	KUNIT_EXPECT_EQ(test, info[0].type, DRM_PERFCTR_MALI_BLOCK_FW);
	KUNIT_EXPECT_EQ(test, info[1].type, DRM_PERFCTR_MALI_BLOCK_FW + 1);

	second = session_of(core, 0, BIT(1), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, second, 0), 0);
	KUNIT_EXPECT_EQ(test, a->starts, 0);
	KUNIT_EXPECT_EQ(test, b->starts, 1);

	both = session_of(core, 0, BIT(0) | BIT(1), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, both, 0), 0);
	KUNIT_EXPECT_EQ(test, a->starts, 1);
	KUNIT_EXPECT_EQ(test, b->starts, 1);
	a->add = 5;
	b->add = 7;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, both, 42), 0);
	sample = sample_at(core, 0);
	KUNIT_EXPECT_EQ(test, sample->block_count, 2);
	KUNIT_EXPECT_EQ(test, sample->user_data, 42);
	KUNIT_EXPECT_EQ(test, value_at(sample, 0), 5);
	KUNIT_EXPECT_EQ(test, value_at(sample, 1), 7);
	KUNIT_EXPECT_TRUE(test, wait_for(&a->stops, 1));
	KUNIT_EXPECT_EQ(test, b->stops, 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, second, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for(&b->stops, 1));
	KUNIT_EXPECT_EQ(test, a->stops, 1);
}

/* only a session that counts by itself wakes the CPU */
static void timers_run_for_active_sessions(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	const struct perfctr_worker *worker = &core->pc->workers[PERFCTR_HARDWARE];
	int manual = session_of(core, 0, BIT(0), 0);
	int fd = periodic_of(core, NSEC_PER_MSEC, BIT(0));
	s64 interrupts;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, manual, 0), 0);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&worker->timer));
	KUNIT_EXPECT_EQ(test, atomic64_read(&core->pc->timer_interrupts), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->collects, fake->collects + 3));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, manual, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->stops, 1));
	/* one may have been on its way */
	msleep(20);
	interrupts = atomic64_read(&core->pc->timer_interrupts);
	KUNIT_EXPECT_GT(test, interrupts, 0);
	msleep(50);
	KUNIT_EXPECT_EQ(test, atomic64_read(&core->pc->timer_interrupts), interrupts);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&worker->timer));
}

#ifndef PERFCTR_IN_TREE
/* the worker drops counters after a session has ended */
static bool wait_until(const u64 *value, u64 wanted)
{
	unsigned long end = jiffies + TIMEOUT;

	while (READ_ONCE(*value) != wanted && time_before(jiffies, end))
		usleep_range(500, 1000);
	return READ_ONCE(*value) == wanted;
}

static void source_counts_for_all_sessions(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int one = session_of(core, 0, BIT(0), BIT(1));
	int other = session_of(core, 0, BIT(0), BIT(2));

	fake->caller = current;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, one, 0), 0);
	KUNIT_EXPECT_EQ(test, fake->wanted, BIT(0) | BIT(1));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, other, 0), 0);
	KUNIT_EXPECT_EQ(test, fake->wanted, BIT(0) | BIT(1) | BIT(2));
	KUNIT_EXPECT_EQ(test, fake->caller_wanted, BIT(0) | BIT(1) | BIT(2));
	/* STOP drops its counters itself */
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, one, 0), 0);
	KUNIT_EXPECT_EQ(test, fake->caller_wanted, BIT(0) | BIT(2));
	/* closing does not touch the hardware: the worker drops them */
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, one, 0), 0);
	KUNIT_ASSERT_EQ(test, close_session(core, one), 0);
	KUNIT_EXPECT_EQ(test, fake->caller_wanted, BIT(0) | BIT(1) | BIT(2));
	KUNIT_EXPECT_TRUE(test, wait_until(&fake->wanted, BIT(0) | BIT(2)));
}

/* beside others, START and STOP collect once each, also a source that selects */
static void start_and_stop_collect_once(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int other = session_of(core, 0, BIT(0), BIT(2));
	int one = session_of(core, 0, BIT(0), BIT(1));
	unsigned int before;

	fake->add = 1;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, other, 0), 0);
	before = fake->collects;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, one, 0), 0);
	KUNIT_EXPECT_EQ(test, fake->collects, before + 1);
	KUNIT_EXPECT_EQ(test, fake->wanted, BIT(0) | BIT(1) | BIT(2));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, one, 0), 0);
	KUNIT_EXPECT_EQ(test, fake->collects, before + 2);
	KUNIT_EXPECT_EQ(test, fake->wanted, BIT(0) | BIT(2));
	KUNIT_EXPECT_EQ(test, value_at(sample_at(core, 0), 0), 1);
}

/* only periodic sessions with this source alone get batches */
static void shortest_period_selects_the_batch(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *a = add_source(core, &fake_ops);
	int manual, fast, slow, mixed;

	add_source(core, &plain_ops);
	a->pieces = 1;
	manual = session_of(core, 0, BIT(0), 0);
	slow = periodic_of(core, NSEC_PER_SEC, BIT(0));
	fast = periodic_of(core, NSEC_PER_SEC / 2, BIT(0));
	mixed = periodic_of(core, NSEC_PER_SEC / 4, BIT(0) | BIT(1));

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, manual, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, mixed, 0), 0);
	KUNIT_EXPECT_EQ(test, a->period_ns, 0);
	KUNIT_EXPECT_EQ(test, status_of(core, mixed).flags, DRM_PERFCTR_STATUS_ACTIVE);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, slow, 0), 0);
	KUNIT_EXPECT_EQ(test, a->period_ns, NSEC_PER_SEC);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fast, 0), 0);
	KUNIT_EXPECT_EQ(test, a->period_ns, NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, status_of(core, slow).flags,
			DRM_PERFCTR_STATUS_ACTIVE | DRM_PERFCTR_STATUS_BATCHED);
	KUNIT_EXPECT_EQ(test, status_of(core, manual).flags, DRM_PERFCTR_STATUS_ACTIVE);
	KUNIT_EXPECT_EQ(test, status_of(core, mixed).flags, DRM_PERFCTR_STATUS_ACTIVE);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fast, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_until(&a->period_ns, NSEC_PER_SEC));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, slow, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_until(&a->period_ns, 0));
}

/* keeps a worker from other work */
struct pause {
	struct kthread_work work;
	struct completion over;
};

static void pause_worker(struct kthread_work *work)
{
	wait_for_completion(&container_of(work, struct pause, work)->over);
}

/* a piece that reaches a period becomes a sample; a full ring merges the others */
static void pieces_of_a_batch_become_samples(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	const u64 period_ns = NSEC_PER_MSEC;
	const struct drm_perfctr_sample_header *sample;
	struct drm_perfctr_status status;
	struct pause pause;
	u64 value = 0, i;
	int fd;

	/* five periods of two pieces each, in the past */
	fake->pieces = 10;
	fake->step_ns = period_ns / 2;
	fd = periodic_of(core, period_ns, BIT(0));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 7), 0);
	fake->piece_add = 3;
	fsleep(10 * period_ns / NSEC_PER_USEC);
	/* the worker that stops the source is late; nothing may be collected meanwhile */
	init_completion(&pause.over);
	kthread_init_work(&pause.work, pause_worker);
	kthread_queue_work(core->pc->workers[PERFCTR_HARDWARE].thread, &pause.work);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 8), 0);
	fsleep(3 * period_ns / NSEC_PER_USEC);
	complete(&pause.over);
	kthread_flush_work(&pause.work);

	status = status_of(core, fd);
	KUNIT_ASSERT_EQ(test, status.published, SLOTS);
	KUNIT_EXPECT_GT(test, status.merged_periods, 0);
	for (i = 0; i < SLOTS; i++) {
		sample = sample_at(core, i);
		KUNIT_EXPECT_EQ(test, sample->seq, i);
		value += value_at(sample, 0);
		if (i < SLOTS - 1)
			KUNIT_EXPECT_EQ(test, sample->flags & ~DRM_PERFCTR_SAMPLE_STRETCHED,
					DRM_PERFCTR_SAMPLE_PERIODIC);
		KUNIT_EXPECT_EQ(test, sample->user_data, i < SLOTS - 1 ? 7 : 8);
		KUNIT_EXPECT_LT(test, block_at(sample, 0)->capture_ns, 0);
		if (i)
			KUNIT_EXPECT_EQ(test, sample->start_ns, sample_at(core, i - 1)->end_ns);
	}
	KUNIT_EXPECT_TRUE(test, sample_at(core, SLOTS - 1)->flags & DRM_PERFCTR_SAMPLE_FINAL);
	/* all pieces since START */
	KUNIT_EXPECT_GT(test, value, 0);
	KUNIT_EXPECT_EQ(test, value, fake->piece_sum);
}

/* the core does not trust a source that always reports more of its batch */
static void endless_batch_ends(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	unsigned int before;
	int fd;

	fake->pieces = 1;
	fd = periodic_of(core, NSEC_PER_SEC, BIT(0));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	before = fake->collects;
	fake->lies = 1000;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	/* what is due, and the rest, of which something is missing */
	KUNIT_EXPECT_LE(test, fake->collects, before + 2);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	KUNIT_EXPECT_TRUE(test, block_at(sample_at(core, 1), 0)->states & DRM_PERFCTR_STATE_LOST);
}

#endif

/* the shortest pause between collections of an active session */
static u64 shortest_pause_ns(struct core *core, struct fake_source *fake, int fd)
{
	unsigned int collects;
	u64 pause_ns;

	KUNIT_ASSERT_EQ(core->test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	/* from now on only the worker collects */
	WRITE_ONCE(fake->ended_ns, 0);
	WRITE_ONCE(fake->min_pause_ns, U64_MAX);
	collects = READ_ONCE(fake->collects);
	KUNIT_EXPECT_TRUE(core->test, wait_for(&fake->collects, collects + 5));
	pause_ns = READ_ONCE(fake->min_pause_ns);
	KUNIT_EXPECT_NE(core->test, pause_ns, U64_MAX);
	return pause_ns;
}

#ifndef PERFCTR_IN_TREE
/* other threads run even if reading a batch takes longer than the next batch takes to fill */
static void slow_batch_is_followed_by_a_pause(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	const u64 period_ns = 10 * NSEC_PER_MSEC;
	int fd;

	fake->pieces = 1;
	fake->busy_ms = 30;
	fd = periodic_of(core, period_ns, BIT(0));
	/* a batch is half of the ring; the pause is half of a batch */
	KUNIT_EXPECT_GE(test, shortest_pause_ns(core, fake, fd), SLOTS / 2 * period_ns / 2);
}

#endif

/* other callers get the sampler lock even if a collection takes longer than the period */
static void slow_period_is_followed_by_a_pause(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	struct drm_perfctr_open open = open_of(core, 0);
	unsigned int collects;
	int fd, other;

	fake->busy_ms = 10;
	open.period_ns = NSEC_PER_MSEC;
	open.slots = 128;
	KUNIT_ASSERT_EQ(test, open_with(core, &open, BIT(0), 0, &fd), 0);
	KUNIT_EXPECT_GE(test, shortest_pause_ns(core, fake, fd), 10 * NSEC_PER_MSEC);
	collects = READ_ONCE(fake->collects);
	other = session_of(core, 0, BIT(0), 0);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, other, 0), 0);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, other, 0), 0);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, other, 0), 0);
	KUNIT_EXPECT_EQ(test, close_session(core, other), 0);
	/* their own four collections, and one or two between two of the five calls */
	KUNIT_EXPECT_LE(test, READ_ONCE(fake->collects), collects + 16);
}

static void frequency_is_not_read_after_unplug(struct kunit *test)
{
	struct core *core = test->priv;
	struct drm_perfctr_clock_info info = { };
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_CLOCKS,
		.stride = sizeof(info),
		.count = 1,
		.pointer = (uintptr_t)core->user,
	};

	KUNIT_ASSERT_EQ(test, drm_perfctr_query_ioctl(core->pc, &query), 0);
	KUNIT_ASSERT_EQ(test, copy_from_user(&info, core->user, sizeof(info)), 0ul);
	KUNIT_EXPECT_EQ(test, info.frequency_hz, 1000 + DRM_PERFCTR_MALI_CLOCK_TOP);
	KUNIT_EXPECT_EQ(test, info.max_frequency_hz, 5000);
	KUNIT_EXPECT_STREQ(test, info.name, "top");

	KUNIT_EXPECT_EQ(test, core->frequencies, 1);
	drm_perfctr_unplug(core->pc);
	drm_dev_unplug(core->drm);
	KUNIT_EXPECT_EQ(test, drm_perfctr_query_ioctl(core->pc, &query), -ENODEV);
	KUNIT_EXPECT_EQ(test, core->frequencies, 1);
}

/* --- failing sources --- */

/* if the second source does not start, the first one stops and drops its counters */
static void failed_start_stops_its_sources(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *a = add_source(core, &fake_ops);
	struct fake_source *b = add_source(core, &fake_ops);
	int other = session_of(core, 0, BIT(0), 0);
	int fd = session_of(core, DRM_PERFCTR_OPEN_KEEP_AWAKE, BIT(0) | BIT(1), BIT(3));

	b->start_error = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, a->starts, 1);
	KUNIT_EXPECT_TRUE(test, wait_for(&a->stops, 1));
	KUNIT_EXPECT_EQ(test, core->wakes, 1);
	KUNIT_EXPECT_EQ(test, core->relaxes, 1);

	/* while another session is active */
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, other, 0), 0);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, a->starts, 2);
#ifndef PERFCTR_IN_TREE
	KUNIT_EXPECT_TRUE(test, wait_until(&a->wanted, BIT(0)));
#endif
	KUNIT_EXPECT_EQ(test, a->stops, 1);

	/* the source starts, but its baseline fails */
	b->start_error = 0;
	b->collect_error = -EIO;
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), -EIO);
	KUNIT_EXPECT_EQ(test, b->starts, 1);
	KUNIT_EXPECT_TRUE(test, wait_for(&b->stops, 1));
	KUNIT_EXPECT_EQ(test, a->stops, 1);
	KUNIT_EXPECT_EQ(test, core->relaxes, core->wakes);

	/* as runtime PM's after a failed resume: no mistake of the caller */
	core->wake_error = -EINVAL;
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), -EIO);
	KUNIT_EXPECT_EQ(test, core->relaxes, core->wakes);
	core->wake_error = 0;
	b->collect_error = 0;
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, core->relaxes + 1, core->wakes);
	/* a session that is torn down releases its source */
	KUNIT_EXPECT_EQ(test, close_session(core, fd), 0);
	KUNIT_EXPECT_EQ(test, core->relaxes, core->wakes);
}

static void failed_start_leaves_other_sessions(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int other = session_of(core, 0, BIT(0), 0);
	int fd = session_of(core, 0, BIT(0), BIT(3));

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, other, 0), 0);
	drm_perfctr_pre_reset(core->pc);
	fake->start_error = -EIO;
	drm_perfctr_post_reset(core->pc);
	/* START retries the failed source */
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), -EIO);
#ifndef PERFCTR_IN_TREE
	KUNIT_EXPECT_TRUE(test, wait_until(&fake->wanted, BIT(0)));
#endif
	KUNIT_EXPECT_EQ(test, fake->stops, 0);
}

/* a failing source affects only its own blocks */
static void failed_collection_affects_its_source(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *a = add_source(core, &fake_ops);
	struct fake_source *b = add_source(core, &plain_ops);
	int fd = session_of(core, 0, BIT(0) | BIT(1), 0);
	const struct drm_perfctr_sample_header *sample;
	struct drm_perfctr_status status;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	a->add = 3;
	a->collect_error = -ETIMEDOUT;
	b->add = 4;
	b->collect_error = -EIO;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	sample = sample_at(core, 0);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_ERROR);
	KUNIT_EXPECT_EQ(test, block_at(sample, 0)->valid_mask, 0);
	KUNIT_EXPECT_EQ(test, block_at(sample, 1)->valid_mask, 0);
	KUNIT_EXPECT_EQ(test, value_at(sample, 0), 0);

	a->collect_error = 0;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	sample = sample_at(core, 1);
	KUNIT_EXPECT_EQ(test, value_at(sample, 0), 3);
	KUNIT_EXPECT_EQ(test, block_at(sample, 0)->valid_mask, 1);
	/* unread counts are lost when the session ends */
	KUNIT_EXPECT_EQ(test, block_at(sample, 1)->valid_mask, 0);
	KUNIT_EXPECT_TRUE(test, block_at(sample, 1)->states & DRM_PERFCTR_STATE_LOST);
	KUNIT_EXPECT_GT(test, sample->lost_ns, 0);
	status = status_of(core, fd);
	KUNIT_EXPECT_EQ(test, status.errors, 2);
	KUNIT_EXPECT_EQ(test, status.lost_ns, sample->lost_ns);
}

/* future and past times, and more lost time than elapsed */
static void impossible_times_are_limited(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = session_of(core, 0, BIT(0), 0);
	const struct drm_perfctr_sample_header *sample;
	u64 end;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	fake->next.time_ns = U64_MAX;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	sample = sample_at(core, 0);
	end = sample->end_ns;
	KUNIT_EXPECT_LE(test, end, ktime_get_raw_ns());
	fake->next.time_ns = 1;
	fake->next.lost_ns = U64_MAX;
	fake->next.flags = DRM_PERFCTR_SAMPLE_OVERFLOW;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	sample = sample_at(core, 1);
	KUNIT_EXPECT_EQ(test, sample->start_ns, end);
	KUNIT_EXPECT_GE(test, sample->end_ns, end);
	KUNIT_EXPECT_LE(test, sample->lost_ns, sample->end_ns - sample->start_ns);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	KUNIT_EXPECT_EQ(test, status_of(core, fd).overflows, 1);
}

/* --- transitions --- */

/* a source that reports a transition in each collection does not keep a CPU busy */
static void repeated_transitions_give_one_sample(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &plain_ops);
	int fd = session_of(core, DRM_PERFCTR_OPEN_AUTOMATIC, BIT(0), 0);
	struct drm_perfctr_status status;
	unsigned int before;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	fake->next.transition = true;
	before = fake->collects;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	/* the sample of the command, and one for sessions with AUTOMATIC */
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->collects, before + 2));
	msleep(50);
	KUNIT_EXPECT_EQ(test, fake->collects, before + 2);
	status = status_of(core, fd);
	KUNIT_EXPECT_EQ(test, status.published, 2);
	KUNIT_EXPECT_TRUE(test, sample_at(core, 1)->flags & DRM_PERFCTR_SAMPLE_AUTOMATIC);

	/* only the slot of STOP is free: the next events are merged */
	drm_perfctr_source_event(&fake->base);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->collects, before + 3));
	drm_perfctr_source_event(&fake->base);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->collects, before + 4));
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, sample_at(core, 3)->merged_others, 1);
	KUNIT_EXPECT_TRUE(test, sample_at(core, 3)->flags & DRM_PERFCTR_SAMPLE_STRETCHED);
}

/* without AUTOMATIC, transitions cause no collections */
static void unrequested_transitions_are_ignored(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &plain_ops);
	int fd = session_of(core, 0, BIT(0), 0);
	unsigned int before, i;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	fake->next.transition = true;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	before = fake->collects;
	for (i = 0; i < 100; i++)
		drm_perfctr_source_transition(&fake->base);
	msleep(50);
	KUNIT_EXPECT_EQ(test, fake->collects, before);
	/* an event means a buffer that fills up: it is read */
	drm_perfctr_source_event(&fake->base);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->collects, before + 1));
}

/* --- power --- */

static void repeated_power_changes_are_harmless(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &plain_ops);
	int fd = session_of(core, 0, BIT(0), 0);
	const struct drm_perfctr_sample_header *sample;

	/* without sessions there are no calls */
	drm_perfctr_resume(core->pc);
	drm_perfctr_suspend(core->pc);
	drm_perfctr_resume(core->pc);
	drm_perfctr_pre_reset(core->pc);
	drm_perfctr_post_reset(core->pc);
	KUNIT_EXPECT_EQ(test, fake->starts + fake->stops + fake->collects, 0);

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	drm_perfctr_suspend(core->pc);
	drm_perfctr_suspend(core->pc);
	KUNIT_EXPECT_EQ(test, fake->stops, 1);
	/* a reset while the power is off does not start the source */
	drm_perfctr_pre_reset(core->pc);
	drm_perfctr_post_reset(core->pc);
	KUNIT_EXPECT_EQ(test, fake->starts, 1);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	sample = sample_at(core, 0);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	KUNIT_EXPECT_EQ(test, sample->lost_ns, 0);
	KUNIT_EXPECT_EQ(test, block_at(sample, 0)->valid_mask, 1);
	drm_perfctr_resume(core->pc);
	drm_perfctr_resume(core->pc);
	KUNIT_EXPECT_EQ(test, fake->starts, 2);

	/* the source fails to start after the reset */
	drm_perfctr_pre_reset(core->pc);
	fake->start_error = -EIO;
	drm_perfctr_post_reset(core->pc);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	sample = sample_at(core, 1);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_RESET);
	KUNIT_EXPECT_GT(test, sample->lost_ns, 0);
	KUNIT_EXPECT_EQ(test, status_of(core, fd).resets, 1);
	/* counts are lost until suspend only */
	drm_perfctr_suspend(core->pc);
	fake->start_error = 0;
	drm_perfctr_resume(core->pc);
	KUNIT_EXPECT_EQ(test, fake->starts, 3);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, block_at(sample_at(core, 2), 0)->valid_mask, 1);
}

/* time without power does not make a counter valid that hardware did not measure before it */
static void only_a_span_without_power_is_known_to_be_zero(struct kunit *test)
{
	static const u64 valid[] = { BIT(0), BIT(0) | BIT(1), BIT(0), BIT(0) };
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &plain_ops);
	int fd = session_of(core, 0, BIT(0), BIT(1));
	unsigned int i;

	fake->unmeasured = BIT(1);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	drm_perfctr_suspend(core->pc);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	drm_perfctr_resume(core->pc);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	for (i = 0; i < ARRAY_SIZE(valid); i++)
		KUNIT_EXPECT_EQ(test, block_at(sample_at(core, i), 0)->valid_mask, valid[i]);
}

static void last_collection_before_a_reset(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = session_of(core, 0, BIT(0), 0);
	unsigned int collects, i;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	for (i = 0; i < 2; i++) {
		fake->base.collect_at_reset = i;
		collects = fake->collects;
		drm_perfctr_pre_reset(core->pc);
		KUNIT_EXPECT_EQ(test, fake->collects, collects + i);
		/* it is gone, whatever the source says */
		drm_perfctr_pre_reset(core->pc);
		KUNIT_EXPECT_EQ(test, fake->collects, collects + i);
		drm_perfctr_post_reset(core->pc);
	}
}

static void unplug_ends_all_sessions(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int stopped = session_of(core, 0, BIT(0), 0);
	int sleepy = session_of(core, DRM_PERFCTR_OPEN_KEEP_AWAKE, BIT(0), 0);
	int fd = session_of(core, DRM_PERFCTR_OPEN_KEEP_AWAKE, BIT(0), 0);
	const struct drm_perfctr_sample_header *sample;
	struct drm_perfctr_open open;
	unsigned int collects, wakes;
	int none;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 9), 0);
	fake->add = 11;
	drm_perfctr_unplug(core->pc);
	sample = sample_at(core, 0);
	KUNIT_EXPECT_EQ(test, ring_of(core)->insert_idx, DRM_PERFCTR_RING_FIRST + 1);
	KUNIT_EXPECT_EQ(test, ring_of(core)->state, DRM_PERFCTR_RING_DEAD);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_FINAL);
	KUNIT_EXPECT_EQ(test, sample->user_data, 9);
	KUNIT_EXPECT_EQ(test, value_at(sample, 0), 11);
	KUNIT_EXPECT_EQ(test, fake->stops, 1);

	/* no access to the hardware after unplug */
	collects = fake->collects;
	drm_perfctr_unplug(core->pc);
	drm_perfctr_suspend(core->pc);
	drm_perfctr_resume(core->pc);
	drm_perfctr_pre_reset(core->pc);
	drm_perfctr_post_reset(core->pc);
	drm_perfctr_source_event(&fake->base);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, stopped, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), -ENODEV);
	open = open_of(core, 0);
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(0), 0, &none), -ENODEV);
	KUNIT_EXPECT_EQ(test, fake->collects, collects);
	KUNIT_EXPECT_EQ(test, fake->starts, 1);

	/* no wake-up after the driver is gone */
	drm_dev_unplug(core->drm);
	wakes = core->wakes;
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, sleepy, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, core->wakes, wakes);

	/* closing a session with KEEP_AWAKE releases the device */
	KUNIT_EXPECT_EQ(test, core->relaxes + 1, core->wakes);
	KUNIT_EXPECT_EQ(test, close_session(core, fd), 0);
	KUNIT_EXPECT_EQ(test, core->relaxes, core->wakes);
}

#ifndef PERFCTR_IN_TREE
static void jobs_sample_active_sessions_only(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = session_of(core, 0, BIT(0), 0);
	struct drm_perfctr_session *in_job = drm_perfctr_session_get(core->pc, fd);

	KUNIT_ASSERT_NOT_NULL(test, in_job);
	KUNIT_EXPECT_NULL(test, drm_perfctr_session_get(core->pc, 12345));
	drm_perfctr_session_put(NULL);
	KUNIT_EXPECT_EQ(test, drm_perfctr_session_sample(in_job, 1), -ENOENT);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 9), 0);
	fake->add = 11;
	KUNIT_EXPECT_EQ(test, drm_perfctr_session_sample(in_job, 1), 0);
	KUNIT_EXPECT_EQ(test, value_at(sample_at(core, 0), 0), 11);
	drm_perfctr_unplug(core->pc);
	KUNIT_EXPECT_EQ(test, drm_perfctr_session_sample(in_job, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, close_session(core, fd), 0);
	drm_perfctr_session_put(in_job);
}
#endif

/* the last sample has the periods that end during the last collection */
static void periods_during_unplug_are_counted(struct kunit *test)
{
	const u64 period_ns = 20 * NSEC_PER_MSEC;
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = periodic_of(core, period_ns, BIT(0));
	const struct drm_perfctr_sample_header *sample;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	fake->busy_ms = 100;
	drm_perfctr_unplug(core->pc);
	KUNIT_ASSERT_NE(test, ring_of(core)->insert_idx, DRM_PERFCTR_RING_FIRST);
	sample = sample_at(core, ring_of(core)->insert_idx - 1);
	KUNIT_EXPECT_TRUE(test, sample->flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	/* a period at the start or the end of the span may belong to another sample */
	KUNIT_EXPECT_GE(test, sample->merged_periods + 1,
			div64_u64(sample->end_ns - sample->start_ns, period_ns));
	KUNIT_EXPECT_GE(test, sample->end_ns - sample->start_ns, 5 * period_ns);
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(invalid_source_is_refused),
	KUNIT_CASE(source_beyond_the_limit_is_refused),
#ifdef CONFIG_FAULT_INJECTION
	KUNIT_CASE(failed_allocation_is_reported),
#endif
	KUNIT_CASE(sources_run_while_their_sessions_do),
	KUNIT_CASE(timers_run_for_active_sessions),
#ifndef PERFCTR_IN_TREE
	KUNIT_CASE(source_counts_for_all_sessions),
	KUNIT_CASE(start_and_stop_collect_once),
	KUNIT_CASE(shortest_period_selects_the_batch),
	KUNIT_CASE(pieces_of_a_batch_become_samples),
	KUNIT_CASE(endless_batch_ends),
	KUNIT_CASE(slow_batch_is_followed_by_a_pause),
#endif
	KUNIT_CASE(slow_period_is_followed_by_a_pause),
	KUNIT_CASE(frequency_is_not_read_after_unplug),
	KUNIT_CASE(failed_start_stops_its_sources),
	KUNIT_CASE(failed_start_leaves_other_sessions),
	KUNIT_CASE(failed_collection_affects_its_source),
	KUNIT_CASE(impossible_times_are_limited),
	KUNIT_CASE(repeated_transitions_give_one_sample),
	KUNIT_CASE(unrequested_transitions_are_ignored),
	KUNIT_CASE(repeated_power_changes_are_harmless),
	KUNIT_CASE(only_a_span_without_power_is_known_to_be_zero),
	KUNIT_CASE(last_collection_before_a_reset),
	KUNIT_CASE(unplug_ends_all_sessions),
#ifndef PERFCTR_IN_TREE
	KUNIT_CASE(jobs_sample_active_sessions_only),
#endif
	KUNIT_CASE(periods_during_unplug_are_counted),
	{ }
};

static struct kunit_suite core_suite = {
	.name = "perfctr_core",
	.init = core_init,
	.exit = core_exit,
	.test_cases = core_cases,
};

kunit_test_suite(core_suite);

MODULE_DESCRIPTION("Tests of the counter core");
MODULE_LICENSE("GPL");
