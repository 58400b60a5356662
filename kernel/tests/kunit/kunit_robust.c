// SPDX-License-Identifier: GPL-2.0
/*
 * The core while hardware hangs, clocks stand still, or with unprivileged sessions: bounded work,
 * reports that do not wait for hardware, callbacks in order, missing features refused.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mount.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "kunit_driver.h"

/* --- time --- */

/* a source whose own clock stands still is polled at the same interval */
static void still_clock_keeps_the_poll_interval(struct kunit *test)
{
	const unsigned int interval_ms = 20, test_ms = 200;
	struct core *core = test->priv;
	struct fake_source *fake = new_source(core, &fake_ops);
	unsigned int before;
	int fd;

	fake->base.max_interval_ns = interval_ms * NSEC_PER_MSEC;
	KUNIT_ASSERT_EQ(test, drm_perfctr_add_source(core->pc, &fake->base), 0);
	fd = session_of(core, 0, BIT(0), 0);
	fake->next.time_ns = ktime_get_raw_ns();
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	before = READ_ONCE(fake->collects);
	msleep(test_ms);
	KUNIT_EXPECT_GT(test, READ_ONCE(fake->collects), before);
	/* msleep() may take longer than requested */
	KUNIT_EXPECT_LE(test, READ_ONCE(fake->collects), before + 5 * test_ms / interval_ms);
}

static struct drm_perfctr_clock_info query_timestamp(struct core *core)
{
	struct drm_perfctr_clock_info info[2] = { };
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_CLOCKS,
		.stride = sizeof(info[0]),
		.count = ARRAY_SIZE(info),
		.pointer = (uintptr_t)core->user,
	};

	KUNIT_ASSERT_EQ(core->test, drm_perfctr_query_ioctl(core->pc, &query), 0);
	KUNIT_ASSERT_EQ(core->test, copy_from_user(info, core->user, sizeof(info)), 0ul);
	KUNIT_EXPECT_EQ(core->test, query.count, 2);
	KUNIT_EXPECT_EQ(core->test, info[1].clock, DRM_PERFCTR_CLOCK_TIMESTAMP);
	KUNIT_EXPECT_EQ(core->test, info[1].valid_bits, TIMESTAMP_BITS);
	KUNIT_EXPECT_EQ(core->test, info[1].frequency_hz, TIMESTAMP_HZ);
	KUNIT_EXPECT_STREQ(core->test, info[1].name, "timestamp");
	return info[1];
}

/* --- set-up --- */

/* Covers: open -EBUSY */
static void source_is_prepared_while_sessions_exist(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	struct drm_perfctr_open open = open_of(core, DRM_PERFCTR_OPEN_CHECK);
	int first, second;

	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(0), 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first, -1);
	KUNIT_EXPECT_EQ(test, fake->prepares, 0);
	open = open_of(core, 0);
	fake->prepare_error = -EBUSY;
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(0), 0, &first), -EBUSY);
	fake->prepare_error = 0;

	first = session_of(core, 0, BIT(0), 0);
	second = session_of(core, 0, BIT(0), 0);
	KUNIT_EXPECT_EQ(test, fake->prepares, 1);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, second, 0), 0);
	KUNIT_EXPECT_EQ(test, close_session(core, first), 0);
	KUNIT_EXPECT_EQ(test, fake->unprepares, 0);
	/* the last session ends while it counts; core_exit() checks the order of calls */
	KUNIT_EXPECT_EQ(test, close_session(core, second), 0);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->unprepares, 1));
	KUNIT_EXPECT_EQ(test, fake->stops, 1);

	/* a new session, until unplug */
	first = session_of(core, 0, BIT(0), 0);
	KUNIT_EXPECT_EQ(test, fake->prepares, 2);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, first, 0), 0);
	drm_perfctr_unplug(core->pc);
	KUNIT_EXPECT_EQ(test, fake->unprepares, 2);
	KUNIT_EXPECT_EQ(test, close_session(core, first), 0);
	KUNIT_EXPECT_EQ(test, fake->unprepares, 2);
}

static void missing_features_are_refused(struct kunit *test)
{
	struct core *core = test->priv;
	struct drm_perfctr_open open;
	int fd;

	add_source(core, &plain_ops);
	open = open_of(core, DRM_PERFCTR_OPEN_AUTOMATIC | DRM_PERFCTR_OPEN_KEEP_AWAKE);
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(0), 0, &fd), 0);

	use_config(core, &plain_config);
	add_source(core, &plain_ops);
	open = open_of(core, DRM_PERFCTR_OPEN_AUTOMATIC);
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(1), 0, &fd), -EOPNOTSUPP);
	open = open_of(core, DRM_PERFCTR_OPEN_KEEP_AWAKE);
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(1), 0, &fd), -EOPNOTSUPP);
	open = open_of(core, 0);
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(1), 0, &fd), 0);
}

#ifndef PERFCTR_IN_TREE
static void block_size_follows_its_format(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = new_source(core, &plain_ops);
	const struct drm_perfctr_block_header *block;
	const struct drm_perfctr_running_times *times;
	int fd;

	fake->descs[0].format = DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	KUNIT_ASSERT_EQ(test, drm_perfctr_add_source(core->pc, &fake->base), 0);
	add_source(core, &plain_ops);
	fd = session_of(core, 0, BIT(0) | BIT(1), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	block = block_at(sample_at(core, 0), 0);
	KUNIT_EXPECT_EQ(test, block->format, DRM_PERFCTR_FORMAT_RUNNING_TIMES);
	KUNIT_EXPECT_EQ(test, block->header_size, sizeof(*block) + sizeof(*times));
	KUNIT_EXPECT_EQ(test, block->size, block->header_size + 2 * sizeof(u64));
	times = (const void *)(block + 1);
	KUNIT_EXPECT_EQ(test, times->time_enabled, 1000);
	KUNIT_EXPECT_EQ(test, times->time_running, 1000);
	block = block_at(sample_at(core, 0), 1);
	KUNIT_EXPECT_EQ(test, block->format, 0);
	KUNIT_EXPECT_EQ(test, block->header_size, sizeof(*block));
	KUNIT_EXPECT_EQ(test, block->size, block->header_size + sizeof(u64));
}

#endif

/* --- unprivileged sessions --- */

/* the root file system of kernel threads may have no /proc */
static void set_paranoid(struct kunit *test, char value)
{
	struct file_system_type *type = get_fs_type("proc");
	struct vfsmount *proc;
	struct file *file;
	loff_t pos = 0;

	KUNIT_ASSERT_NOT_NULL(test, type);
	proc = kern_mount(type);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, proc);
	file = file_open_root_mnt(proc, "sys/dev/perfctr/paranoid", O_WRONLY, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	KUNIT_EXPECT_EQ(test, kernel_write(file, &value, 1, &pos), 1);
	filp_close(file, NULL);
	kern_unmount(proc);
}

/* OPEN of an unprivileged user */
static int open_as_user(struct core *core, struct drm_perfctr_open *open, int *fd)
{
	struct cred *cred = prepare_creds();
	const struct cred *old;
	int ret;

	KUNIT_ASSERT_NOT_NULL(core->test, cred);
	cap_clear(cred->cap_effective);
	old = override_creds(cred);
	ret = open_with(core, open, BIT(0), 0, fd);
	revert_creds(old);
	put_cred(cred);
	return ret;
}

/* Covers: open -EPERM, open -EDQUOT */
/* that is why the SCHED_FIFO worker can serve them */
static void unprivileged_sessions_are_few_and_slow(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = new_source(core, &plain_ops);
	struct drm_perfctr_open open = open_of(core, 0);
	unsigned int i;
	int fd, other;

	fake->base.max_interval_ns = 20 * NSEC_PER_MSEC;
	KUNIT_ASSERT_EQ(test, drm_perfctr_add_source(core->pc, &fake->base), 0);
	set_paranoid(test, '0');
	open.period_ns = 10 * NSEC_PER_MSEC - 1;
	KUNIT_EXPECT_EQ(test, open_as_user(core, &open, &fd), -EPERM);
	open = open_of(core, DRM_PERFCTR_OPEN_AUTOMATIC);
	KUNIT_EXPECT_EQ(test, open_as_user(core, &open, &fd), -EPERM);
	open = open_of(core, 0);
	open.period_ns = 10 * NSEC_PER_MSEC;
	KUNIT_ASSERT_EQ(test, open_as_user(core, &open, &fd), 0);
	for (i = 0; i < 3; i++) {
		open = open_of(core, 0);
		KUNIT_EXPECT_EQ(test, open_as_user(core, &open, &other), 0);
	}
	KUNIT_EXPECT_EQ(test, open_as_user(core, &open, &other), -EDQUOT);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->fifo_collects, 3));
	/* root has no limit */
	open = open_of(core, DRM_PERFCTR_OPEN_AUTOMATIC);
	open.period_ns = NSEC_PER_MSEC;
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(0), 0, &other), 0);
	set_paranoid(test, '1');
}

/* --- reset --- */

static void resume_during_reset_is_no_error(struct kunit *test)
{
	struct core *core = test->priv;
	int fd, flags;

	add_source(core, &fake_ops);
	fd = session_of(core, 0, BIT(0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	drm_perfctr_suspend(core->pc);
	drm_perfctr_pre_reset(core->pc);
	drm_perfctr_resume(core->pc);
	drm_perfctr_post_reset(core->pc);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	flags = sample_at(core, 0)->flags;
	KUNIT_EXPECT_TRUE(test, flags & DRM_PERFCTR_SAMPLE_RESET);
	KUNIT_EXPECT_FALSE(test, flags & DRM_PERFCTR_SAMPLE_ERROR);
}

/* the resume fails to start the source, a later SAMPLE does: its counters must not wrap unread */
static void late_restart_sets_the_timer(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = new_source(core, &plain_ops);
	int fd;

	fake->base.max_interval_ns = 20 * NSEC_PER_MSEC;
	KUNIT_ASSERT_EQ(test, drm_perfctr_add_source(core->pc, &fake->base), 0);
	fd = session_of(core, 0, BIT(0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	drm_perfctr_suspend(core->pc);
	fake->start_error = -EIO;
	drm_perfctr_resume(core->pc);
	fake->start_error = 0;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for(&fake->collects, fake->collects + 3));
}

/* neither one that goes back nor that of an earlier collection is the end of the last sample */
static void wrong_timestamp_is_omitted(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = session_of(core, 0, BIT(0), 0);

	fake->next.has_gpu_timestamp = true;
	fake->next.gpu_timestamp = 5;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	KUNIT_EXPECT_NE(test, sample_at(core, 0)->gpu_epoch, 0);
	fake->next.gpu_timestamp = 4;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, sample_at(core, 1)->gpu_epoch, 0);
	fake->next.gpu_timestamp = 5;
	fake->next.incomplete = true;
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, sample_at(core, 2)->gpu_epoch, 0);
}

/* the source still counts when the reset comes, because it is stopped later than its session */
static void reset_before_release_ends_counting(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = session_of(core, 0, BIT(0), 0);

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	drm_perfctr_pre_reset(core->pc);
	drm_perfctr_post_reset(core->pc);
	KUNIT_EXPECT_EQ(test, fake->stops + fake->resets, 1);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, fake->starts, 2);
}

/* --- hardware that does not answer --- */

struct caller {
	struct core *core;
	unsigned int cmd;
	struct file *file;
	struct completion done;
};

static int call_once(void *data)
{
	struct caller *caller = data;

	kthread_use_mm(caller->core->mm);
	caller->file->f_op->unlocked_ioctl(caller->file, caller->cmd,
					   (__force unsigned long)caller->core->user);
	kthread_unuse_mm(caller->core->mm);
	complete(&caller->done);
	return 0;
}

static int reset_device(void *data)
{
	struct caller *caller = data;

	drm_perfctr_pre_reset(caller->core->pc);
	complete(&caller->done);
	return 0;
}

static int unplug_device(void *data)
{
	struct caller *caller = data;

	drm_perfctr_unplug(caller->core->pc);
	complete(&caller->done);
	return 0;
}

static void run_caller(struct core *core, struct caller *caller, int (*run)(void *data),
		       const char *name)
{
	struct task_struct *task;

	caller->core = core;
	init_completion(&caller->done);
	task = kthread_run(run, caller, "%s", name);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(core->test, task);
	/* until it waits for the sampler lock */
	msleep(100);
}

/* SAMPLE of the active session @fd holds the sampler lock until the hardware answers */
static void hang(struct core *core, struct fake_source *fake, int fd, struct caller *holder)
{
	const struct drm_perfctr_command zero = { };

	holder->file = fget(fd);
	KUNIT_ASSERT_NOT_NULL(core->test, holder->file);
	holder->cmd = DRM_PERFCTR_IOCTL_SAMPLE;
	KUNIT_ASSERT_EQ(core->test, copy_to_user(core->user, &zero, sizeof(zero)), 0ul);
	fake->gated = true;
	run_caller(core, holder, call_once, "perfctr-holder");
	KUNIT_EXPECT_GT(core->test, wait_for_completion_timeout(&fake->entered, TIMEOUT), 0ul);
}

static void end_hang(struct core *core, struct fake_source *fake, struct caller *holder)
{
	fake->gated = false;
	complete(&fake->leave);
	KUNIT_EXPECT_GT(core->test, wait_for_completion_timeout(&holder->done, TIMEOUT), 0ul);
	fput(holder->file);
}

#define QUEUED		3

/*
 * One caller of SAMPLE reads hardware, others wait for the sampler lock; @last comes after them.
 * Returns when it is done; @collects: collections that began before it came.
 */
static void run_behind_callers(struct core *core, struct fake_source *fake,
			       int (*last)(void *data), unsigned int *collects)
{
	struct caller callers[QUEUED + 1] = { };
	struct kunit *test = core->test;
	struct caller holder;
	unsigned int i;
	int fd;

	for (i = 0; i < QUEUED; i++) {
		fd = session_of(core, 0, BIT(0), 0);
		KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
		callers[i].file = fget(fd);
		callers[i].cmd = DRM_PERFCTR_IOCTL_SAMPLE;
	}
	fd = session_of(core, 0, BIT(0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	hang(core, fake, fd, &holder);
	for (i = 0; i < QUEUED; i++)
		run_caller(core, &callers[i], call_once, "perfctr-caller");
	run_caller(core, &callers[QUEUED], last, "perfctr-last");
	KUNIT_EXPECT_EQ(test, fake->resets, 0);
	*collects = fake->collects;
	end_hang(core, fake, &holder);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&callers[QUEUED].done, TIMEOUT), 0ul);
	for (i = 0; i < QUEUED; i++) {
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&callers[i].done, TIMEOUT), 0ul);
		fput(callers[i].file);
	}
}

/* a reset is served before the callers that came earlier */
static void reset_waits_for_one_access(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	unsigned int collects;

	run_behind_callers(core, fake, reset_device, &collects);
	KUNIT_EXPECT_EQ(test, fake->resets, 1);
	KUNIT_EXPECT_EQ(test, fake->collects_at_reset, collects);
	drm_perfctr_post_reset(core->pc);
}

/* callers that came earlier than unplug access no hardware any more: it has the last collection */
static void unplug_waits_for_one_access(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	unsigned int collects;

	run_behind_callers(core, fake, unplug_device, &collects);
	KUNIT_EXPECT_EQ(test, fake->collects, collects + 1);
}

/* commands of users come one at a time, but do not wait for a START that waits for a reset */
static void users_go_on_while_a_start_waits(struct kunit *test)
{
	struct core *core = test->priv;
	const struct drm_perfctr_command zero = { };
	struct drm_perfctr_open open = open_of(core, 0);
	struct caller starter = { .cmd = DRM_PERFCTR_IOCTL_START };
	unsigned long begin;
	int fd, waiting;

	add_source(core, &fake_ops);
	set_paranoid(test, '0');
	KUNIT_ASSERT_EQ(test, open_as_user(core, &open, &waiting), 0);
	KUNIT_ASSERT_EQ(test, open_as_user(core, &open, &fd), 0);
	set_paranoid(test, '1');
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	drm_perfctr_pre_reset(core->pc);
	starter.file = fget(waiting);
	KUNIT_ASSERT_EQ(test, copy_to_user(core->user, &zero, sizeof(zero)), 0ul);
	run_caller(core, &starter, call_once, "perfctr-starter");
	begin = jiffies;
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), 0);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + 2 * HZ));
	drm_perfctr_post_reset(core->pc);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&starter.done, TIMEOUT), 0ul);
	fput(starter.file);
	KUNIT_EXPECT_EQ(test, status_of(core, waiting).flags, DRM_PERFCTR_STATUS_ACTIVE);
}

/* Covers: command -EINTR */
/* each command waits for a collection of another caller */
static void signal_ends_each_wait(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &plain_ops);
	int fd = session_of(core, 0, BIT(0), 0);
	int other = session_of(core, 0, BIT(0), 0);
	int idle = session_of(core, DRM_PERFCTR_OPEN_KEEP_AWAKE, BIT(0), 0);
	struct drm_perfctr_open open = open_of(core, 0);
	struct caller holder;
	int none;

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, other, 0), 0);
	hang(core, fake, other, &holder);
	allow_signal(SIGUSR1);
	send_sig(SIGUSR1, current, 1);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, idle, 0), -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_SAMPLE, fd, 0), -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, open_with(core, &open, BIT(0), 0, &none), -ERESTARTSYS);
	flush_signals(current);
	disallow_signal(SIGUSR1);
	KUNIT_EXPECT_EQ(test, core->relaxes, core->wakes);

	end_hang(core, fake, &holder);
	/* an interrupted command can be repeated */
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
	KUNIT_EXPECT_EQ(test, status_of(core, fd).published, 1);
}

/* while the worker blocks, commands that only report do not wait for it */
static void reports_do_not_wait_for_hardware(struct kunit *test)
{
	struct core *core = test->priv;
	struct fake_source *fake = add_source(core, &fake_ops);
	int fd = periodic_of(core, NSEC_PER_MSEC, BIT(0));
	struct drm_perfctr_query query = { };
	struct drm_print_iterator text = { };
	unsigned long begin = jiffies;
	struct drm_printer printer;
	char fdinfo[256];

	KUNIT_ASSERT_EQ(test, command(core, DRM_PERFCTR_IOCTL_START, fd, 0), 0);
	fake->gated = true;
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&fake->entered, TIMEOUT), 0ul);

	for (query.type = 0; query.type <= DRM_PERFCTR_QUERY_CLOCKS; query.type++)
		KUNIT_EXPECT_EQ(test, drm_perfctr_query_ioctl(core->pc, &query), 0);
	KUNIT_EXPECT_EQ(test, query_timestamp(core).epoch, 0);
	text.data = fdinfo;
	text.remain = sizeof(fdinfo) - 1;
	printer = drm_coredump_printer(&text);
	drm_perfctr_show_fdinfo(&printer, core->pc);
	fdinfo[sizeof(fdinfo) - 1 - text.remain] = '\0';
#ifdef PERFCTR_IN_TREE
	KUNIT_EXPECT_NOT_NULL(test, strstr(fdinfo, "drm-perfctr:\t4 ioctls 0xd3\n"));
#else
	KUNIT_EXPECT_NOT_NULL(test, strstr(fdinfo, "drm-perfctr:\t4 ioctls 0x9a\n"));
#endif
	KUNIT_EXPECT_EQ(test, status_of(core, fd).flags, DRM_PERFCTR_STATUS_ACTIVE);

	/* the calls did not wait for the source, which is still waiting */
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + TIMEOUT));
	fake->gated = false;
	complete(&fake->leave);
	KUNIT_EXPECT_EQ(test, command(core, DRM_PERFCTR_IOCTL_STOP, fd, 0), 0);
}

static struct kunit_case robust_cases[] = {
	KUNIT_CASE(still_clock_keeps_the_poll_interval),
	KUNIT_CASE(source_is_prepared_while_sessions_exist),
	KUNIT_CASE(missing_features_are_refused),
#ifndef PERFCTR_IN_TREE
	KUNIT_CASE(block_size_follows_its_format),
#endif
	KUNIT_CASE(unprivileged_sessions_are_few_and_slow),
	KUNIT_CASE(resume_during_reset_is_no_error),
	KUNIT_CASE(late_restart_sets_the_timer),
	KUNIT_CASE(wrong_timestamp_is_omitted),
	KUNIT_CASE(reset_before_release_ends_counting),
	KUNIT_CASE(reset_waits_for_one_access),
	KUNIT_CASE(unplug_waits_for_one_access),
	KUNIT_CASE(users_go_on_while_a_start_waits),
	KUNIT_CASE(signal_ends_each_wait),
	KUNIT_CASE(reports_do_not_wait_for_hardware),
	{ }
};

static struct kunit_suite robust_suite = {
	.name = "perfctr_robust",
	.init = core_init,
	.exit = core_exit,
	.test_cases = robust_cases,
};

kunit_test_suite(robust_suite);
