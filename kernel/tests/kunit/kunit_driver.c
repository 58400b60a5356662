// SPDX-License-Identifier: GPL-2.0
/*
 * A driver for tests, and a user of its device.
 */
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <kunit/device.h>

#include "compat.h"
#include "kunit_driver.h"

#define REQUESTS_AT		2048
#define LAYOUT_AT		1024

/* for driver functions, whose arguments do not lead to it */
static struct core *current_core;

static struct fake_source *to_fake(struct drm_perfctr_source *source)
{
	return container_of(source, struct fake_source, base);
}

static int fake_prepare(struct drm_perfctr_source *source)
{
	struct fake_source *fake = to_fake(source);

	fake->wrong_calls += fake->prepares != fake->unprepares;
	if (fake->prepare_error)
		return fake->prepare_error;
	fake->prepares++;
	return 0;
}

static void fake_unprepare(struct drm_perfctr_source *source)
{
	struct fake_source *fake = to_fake(source);

	fake->wrong_calls += fake->counting || fake->prepares != fake->unprepares + 1;
	WRITE_ONCE(fake->unprepares, fake->unprepares + 1);
}

static int fake_start(struct drm_perfctr_source *source, u8 set)
{
	struct fake_source *fake = to_fake(source);

	/* plain_ops have no prepare() */
	if (source->ops->prepare)
		fake->wrong_calls += fake->counting || fake->prepares == fake->unprepares;
	if (fake->start_error)
		return fake->start_error;
	fake->starts++;
	fake->counting = true;
	return 0;
}

static void fake_stop(struct drm_perfctr_source *source)
{
	struct fake_source *fake = to_fake(source);

	fake->wrong_calls += !fake->counting;
	fake->counting = false;
	WRITE_ONCE(fake->stops, fake->stops + 1);
}

#ifndef PERFCTR_IN_TREE
/* pieces of a batch up to the time that is due; the last one ends now */
static void fake_piece(struct fake_source *fake, struct drm_perfctr_collection *c)
{
	struct drm_perfctr_extension *ext = &fake->extension;

	if (!fake->left) {
		fake->left = fake->pieces;
		fake->time_ns = ktime_get_raw_ns() - fake->pieces * fake->step_ns;
	}
	for (; fake->left && (!c->time_ns || c->time_ns < ext->until_ns); fake->left--) {
		fake->time_ns += fake->step_ns;
		c->time_ns = fake->time_ns;
		drm_perfctr_block_totals(&fake->base, 0)[0] += fake->piece_add;
		fake->piece_sum += fake->piece_add;
	}
	c->time_ns = fake->time_ns;
	ext->more = fake->left;
	if (fake->lies) {
		fake->lies--;
		ext->more = true;
	}
	drm_perfctr_block_reached(&fake->base, 0, c->time_ns - 1);
}

#endif

static int fake_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct fake_source *fake = to_fake(source);
	const u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { ~fake->unmeasured, U64_MAX };
	unsigned int i;

	if (fake->ended_ns)
		WRITE_ONCE(fake->min_pause_ns,
			   min(fake->min_pause_ns, ktime_get_raw_ns() - fake->ended_ns));
	fake->fifo_collects += rt_task(current);
	fake->collects++;
	if (fake->gated) {
		complete(&fake->entered);
		wait_for_completion_timeout(&fake->leave, TIMEOUT);
	}
	if (fake->collect_error)
		return fake->collect_error;
	for (i = 0; i < source->block_count; i++) {
		drm_perfctr_block_totals(source, i)[0] += fake->add;
#ifndef PERFCTR_IN_TREE
		drm_perfctr_block_ran(source, i, 1000, valid);
#endif
		drm_perfctr_block_report(source, i, DRM_PERFCTR_STATE_ON, valid);
	}
	*c = fake->next;
#ifndef PERFCTR_IN_TREE
	if (fake->extension.batch_ns)
		fake_piece(fake, c);
#endif
	if (fake->busy_ms)
		msleep(fake->busy_ms);
	WRITE_ONCE(fake->ended_ns, ktime_get_raw_ns());
	return 0;
}

static void fake_reset(struct drm_perfctr_source *source)
{
	to_fake(source)->resets++;
	to_fake(source)->collects_at_reset = to_fake(source)->collects;
	to_fake(source)->counting = false;
}

#ifndef PERFCTR_IN_TREE
static void fake_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct fake_source *fake = to_fake(source);

	fake->wanted = wanted[0];
	if (current == fake->caller)
		fake->caller_wanted = wanted[0];
	fake->period_ns = fake->extension.period_ns;
	fake->extension.batch_ns = fake->pieces && fake->period_ns ? NSEC_PER_SEC * 3600 : 0;
}

#endif

const struct drm_perfctr_source_ops fake_ops = {
	.prepare = fake_prepare,
	.unprepare = fake_unprepare,
	.start = fake_start,
	.stop = fake_stop,
	.collect = fake_collect,
	.reset = fake_reset,
};

const struct drm_perfctr_source_ops plain_ops = {
	.start = fake_start,
	.stop = fake_stop,
	.collect = fake_collect,
};

static u64 core_frequency_hz(struct drm_device *drm, u8 clock)
{
	current_core->frequencies++;
	return 1000 + clock;
}

static int core_wake(struct drm_device *drm)
{
	if (current_core->wake_error)
		return current_core->wake_error;
	current_core->wakes++;
	return 0;
}

static void core_relax(struct drm_device *drm)
{
	current_core->relaxes++;
}

static const struct drm_perfctr_driver_ops core_ops = {
	.frequency_hz = core_frequency_hz,
	.wake = core_wake,
	.relax = core_relax,
};

static const struct drm_perfctr_clock_desc core_clocks[] = {
	{ .clock = DRM_PERFCTR_MALI_CLOCK_TOP, .name = "top", .max_frequency_hz = 5000 },
};

static const struct file_operations core_fops = {
	.owner = THIS_MODULE,
	PERFCTR_DRM_FOPS,
};

static const struct drm_driver core_driver = {
	.fops = &core_fops,
	.name = "perfctr-kunit",
	.desc = "KUnit's driver",
	PERFCTR_DRM_DATE
};

const struct drm_perfctr_config core_config = {
	.name = "kunit",
	.ioctl_nr = DRM_PERFCTR_IOCTL_NR,
	.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
	.features = DRM_PERFCTR_FEATURE_STATES | DRM_PERFCTR_FEATURE_AUTOMATIC |
		    DRM_PERFCTR_FEATURE_IN_STREAM,
	.timestamp_hz = TIMESTAMP_HZ,
	.timestamp_bits = TIMESTAMP_BITS,
	.clocks = core_clocks,
	.clock_count = ARRAY_SIZE(core_clocks),
	.ops = &core_ops,
};

const struct drm_perfctr_config plain_config = {
	.name = "plain",
	.ioctl_nr = DRM_PERFCTR_IOCTL_NR,
};

struct fake_source *new_source(struct core *core, const struct drm_perfctr_source_ops *ops)
{
	struct fake_source *fake = &core->sources[core->source_count];

	fake->descs[0] = (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_MALI_BLOCK_FW + core->source_count,
		.counters = 64,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = DRM_PERFCTR_MALI_CLOCK_TOP,
		.available = { 0xff },
	};
	fake->base.name = "fake";
	fake->base.ops = ops;
#ifndef PERFCTR_IN_TREE
	fake->extension.select = ops == &fake_ops ? fake_select : NULL;
#endif
	fake->base.descs = fake->descs;
	fake->base.block_count = 1;
	init_completion(&fake->entered);
	init_completion(&fake->leave);
	core->source_count++;
	return fake;
}

struct fake_source *add_source(struct core *core, const struct drm_perfctr_source_ops *ops)
{
	struct fake_source *fake = new_source(core, ops);

	KUNIT_ASSERT_EQ(core->test, drm_perfctr_add_source(core->pc, &fake->base), 0);
#ifndef PERFCTR_IN_TREE
	if (fake->extension.select)
		KUNIT_ASSERT_EQ(core->test,
				drm_perfctr_extend_source(&fake->base, &fake->extension), 0);
#endif
	return fake;
}

/* a kernel thread's files are released later, unless it waits */
static void close_at_once(int fd)
{
	close_fd(fd);
	flush_delayed_fput();
}

static void close_sessions(struct core *core)
{
	unsigned int i;

	for (i = 0; i < MAX_SESSIONS; i++) {
		if (core->sessions[i] >= 0)
			close_at_once(core->sessions[i]);
		core->sessions[i] = -1;
	}
}

void use_config(struct core *core, const struct drm_perfctr_config *config)
{
	if (core->pc) {
		close_sessions(core);
		drm_perfctr_unplug(core->pc);
	}
	core->pc = drmm_perfctr_create(core->drm, config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(core->test, core->pc);
}

int core_init(struct kunit *test)
{
	struct device *dev;
	struct core *core;

	core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, core);
	core->test = test;
	memset(core->sessions, 0xff, sizeof(core->sessions));

	dev = kunit_device_register(test, "perfctr-kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	core->drm = __devm_drm_dev_alloc(dev, &core_driver, sizeof(*core->drm), 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, core->drm);
	use_config(core, &core_config);

	core->user = (u8 __user *)kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
						MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NOT_NULL(test, (__force void *)core->user);
	core->mm = current->mm;

	test->priv = core;
	current_core = core;
	return 0;
}

void core_exit(struct kunit *test)
{
	struct core *core = test->priv;
	unsigned int i;

	if (!core)
		return;
	close_sessions(core);
	drm_perfctr_unplug(core->pc);
	for (i = 0; i < core->source_count; i++) {
		KUNIT_EXPECT_EQ(test, core->sources[i].wrong_calls, 0);
		KUNIT_EXPECT_EQ(test, core->sources[i].prepares, core->sources[i].unprepares);
	}
	/* KUnit leaks the reference of kthread_use_mm(); that thread has ended by now */
	mmdrop(core->mm);
}

/* --- commands --- */

static int call(struct core *core, unsigned int cmd, int fd, void *data)
{
	struct file *file = fget(fd);
	int ret;

	KUNIT_ASSERT_NOT_NULL(core->test, file);
	KUNIT_ASSERT_EQ(core->test, copy_to_user(core->user, data, _IOC_SIZE(cmd)), 0ul);
	ret = file->f_op->unlocked_ioctl(file, cmd, (__force unsigned long)core->user);
	KUNIT_ASSERT_EQ(core->test, copy_from_user(data, core->user, _IOC_SIZE(cmd)), 0ul);
	fput(file);
	return ret;
}

int command(struct core *core, unsigned int cmd, int fd, u64 user_data)
{
	struct drm_perfctr_command command = { .user_data = user_data };

	return call(core, cmd, fd, &command);
}

struct drm_perfctr_open open_of(struct core *core, u32 flags)
{
	return (struct drm_perfctr_open) {
		.flags = flags,
		.slots = SLOTS,
		.eventfd = -1,
		.request_stride = sizeof(struct drm_perfctr_block_request),
		.layout = (uintptr_t)core->user + LAYOUT_AT,
		.layout_size = sizeof(struct drm_perfctr_layout),
	};
}

static u8 __user *map_ring(struct core *core, struct file *file, u64 offset, u64 bytes, int prot)
{
	unsigned long at = kunit_vm_mmap(core->test, file, 0, PAGE_ALIGN(bytes), prot, MAP_SHARED,
					 offset);

	KUNIT_ASSERT_NE(core->test, at, 0ul);
	return (u8 __user *)at;
}

static void map_rings(struct core *core, int fd)
{
	struct drm_perfctr_layout layout;
	struct file *file = fget(fd);

	KUNIT_ASSERT_NOT_NULL(core->test, file);
	KUNIT_ASSERT_EQ(core->test, copy_from_user(&layout, core->user + LAYOUT_AT,
						   sizeof(layout)), 0ul);
	core->ring = map_ring(core, file, 0, layout.ring_offset, PROT_READ | PROT_WRITE);
	core->slots = map_ring(core, file, layout.ring_offset,
			       layout.map_bytes - layout.ring_offset, PROT_READ);
	core->stride = layout.slot_stride;
	fput(file);
}

static void keep_session(struct core *core, int fd)
{
	unsigned int i = 0;

	while (core->sessions[i] >= 0) {
		i++;
		KUNIT_ASSERT_LT(core->test, i, (unsigned int)MAX_SESSIONS);
	}
	core->sessions[i] = fd;
	map_rings(core, fd);
}

int open_with(struct core *core, struct drm_perfctr_open *open, unsigned long sources,
	      u64 mask, int *fd)
{
	u8 __user *to = core->user + REQUESTS_AT;
	unsigned int i;
	int ret;

	open->requests = (uintptr_t)to;
	open->request_count = 0;
	*fd = -1;
	for_each_set_bit(i, &sources, MAX_SOURCES) {
		struct drm_perfctr_block_request request = {
			.type = DRM_PERFCTR_MALI_BLOCK_FW + i,
			.mask = BIT_ULL(0) | mask,
		};

		KUNIT_ASSERT_EQ(core->test, copy_to_user(to, &request, sizeof(request)), 0ul);
		to += sizeof(request);
		open->request_count++;
	}
	ret = drm_perfctr_open_ioctl(core->pc, open);
	if (ret < 0 || open->flags & DRM_PERFCTR_OPEN_CHECK)
		return ret;
	*fd = ret;
	keep_session(core, ret);
	return 0;
}

int session_of(struct core *core, u32 flags, unsigned long sources, u64 mask)
{
	struct drm_perfctr_open open = open_of(core, flags);
	int fd;

	KUNIT_ASSERT_EQ(core->test, open_with(core, &open, sources, mask, &fd), 0);
	return fd;
}

int periodic_of(struct core *core, u64 period_ns, unsigned long sources)
{
	struct drm_perfctr_open open = open_of(core, 0);
	int fd;

	open.period_ns = period_ns;
	KUNIT_ASSERT_EQ(core->test, open_with(core, &open, sources, 0, &fd), 0);
	return fd;
}

struct drm_perfctr_status status_of(struct core *core, int fd)
{
	struct drm_perfctr_status status = { };

	KUNIT_ASSERT_EQ(core->test, call(core, DRM_PERFCTR_IOCTL_STATUS, fd, &status), 0);
	return status;
}

int close_session(struct core *core, int fd)
{
	unsigned int i;

	for (i = 0; i < MAX_SESSIONS; i++) {
		if (core->sessions[i] != fd)
			continue;
		close_at_once(fd);
		core->sessions[i] = -1;
		return 0;
	}
	return -EBADF;
}

const struct drm_perfctr_sample_header *sample_at(struct core *core, u64 index)
{
	const u32 slot = index & (SLOTS - 1);

	KUNIT_ASSERT_LE(core->test, core->stride, MAX_STRIDE);
	KUNIT_ASSERT_EQ(core->test, copy_from_user(core->sample[slot],
						   core->slots + slot * core->stride,
						   core->stride), 0ul);
	return (const void *)core->sample[slot];
}

const struct drm_perfctr_block_header *block_at(const struct drm_perfctr_sample_header *s,
						unsigned int nth)
{
	const struct drm_perfctr_block_header *block = (const void *)s + s->header_size;

	while (nth--)
		block = (const void *)block + block->size;
	return block;
}

u64 value_at(const struct drm_perfctr_sample_header *s, unsigned int nth)
{
	const struct drm_perfctr_block_header *block = block_at(s, nth);

	return *(const u64 *)((const void *)block + block->header_size);
}

const struct drm_perfctr_ring_control *ring_of(struct core *core)
{
	KUNIT_ASSERT_EQ(core->test, copy_from_user(&core->control, core->ring,
						   sizeof(core->control)), 0ul);
	return &core->control;
}

bool wait_for(const unsigned int *counter, unsigned int least)
{
	unsigned long end = jiffies + TIMEOUT;

	while (READ_ONCE(*counter) < least) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(500, 1000);
	}
	return true;
}
