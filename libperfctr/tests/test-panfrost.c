// SPDX-License-Identifier: MIT
/* Counters through panfrost's own ioctls: a driver in memory that answers as Linux 6.12 does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/perfctr_mali.h>

#include "host/open.h"
#include "host/panfrost_ioctls.h"
#include "fixture.h"
#include "idle.h"

#define NODE "/dev/dri/renderD128"
#define SYSFS "/sys/dev/char/226:128"

enum { WORDS = 64, BLOCKS = 24, GROUPS = 2, ALL_GROUPS = 0xffff };

/* the driver and its GPU */
static struct driver {
	uint64_t id, cores, l2, mem;
	bool off, old, busy, unbound; /* ioctls are off, do not exist; others count; unbind */
	bool enabled, forgotten; /* by a reset */
	unsigned int enables, dumps, set;
	uint32_t words[BLOCKS][WORDS], time;
	unsigned int stale; /* block that the GPU does not write, 0: none */
} driver;

static struct perfctr_sys sys;

static int get_param(struct panfrost_get_param *p)
{
	p->value = p->param == PANFROST_GPU_PROD_ID    ? driver.id :
		   p->param == PANFROST_GPU_REVISION   ? 0x1000 :
		   p->param == PANFROST_SHADER_PRESENT ? driver.cores :
		   p->param == PANFROST_L2_PRESENT     ? driver.l2 :
							 driver.mem;
	return 0;
}

static int enable(const struct panfrost_perfcnt_enable *argument)
{
	if (driver.off)
		return -ENOSYS;
	driver.enables++;
	/* as the driver has it: no other set-up while it is enabled */
	if (!argument->enable == !driver.enabled)
		return driver.enabled ? 0 : -EINVAL;
	if (argument->enable && driver.busy)
		return -EBUSY;
	driver.enabled = argument->enable;
	driver.set = argument->counterset;
	driver.forgotten = false;
	for (unsigned int b = 0; b < BLOCKS; b++)
		memset(driver.words[b], 0, sizeof(driver.words[b]));
	return 0;
}

static int dump(const struct panfrost_perfcnt_dump *argument)
{
	const size_t blocks = driver.id == 0x720 ? 8 * (size_t)__builtin_popcountll(driver.l2) :
						   2 + (driver.mem >> 8 & 0xf) + 1 + 64 -
							   (size_t)__builtin_clzll(driver.cores);

	if (driver.off)
		return -ENOSYS;
	if (!driver.enabled)
		return -EINVAL;
	driver.dumps++;
	if (driver.forgotten)
		return -ETIMEDOUT;
	driver.time++;
	for (unsigned int b = 0; b < blocks; b++) {
		if (driver.stale && driver.stale == b)
			continue;
		driver.words[b][0] = driver.time;
		driver.words[b][GROUPS] = ALL_GROUPS;
	}
	memcpy((void *)(uintptr_t)argument->buf_ptr, driver.words, blocks * sizeof(*driver.words));
	for (unsigned int b = 0; b < blocks; b++)
		if (!driver.stale || driver.stale != b)
			memset(driver.words[b] + 4, 0, (WORDS - 4) * sizeof(**driver.words));
	return 0;
}

static int fake_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	static const char name[] = "panfrost";
	struct drm_version *version = argument;

	switch (request) {
	case DRM_IOCTL_VERSION:
		memcpy(version->name, name, sizeof(name) - 1);
		version->name_len = sizeof(name) - 1;
		return 0;
	case PANFROST_GET_PARAM:
		return get_param(argument);
	case PANFROST_PERFCNT_ENABLE:
		return enable(argument);
	case PANFROST_PERFCNT_DUMP:
		return driver.old ? -ENOTTY : dump(argument);
	default:
		return -EINVAL;
	}
}

static int fake_open(void *data, const char *path, int flags)
{
	const char *text = !strcmp(path, NODE) || !strcmp(path, SYSFS "/dev") ?
				   "" :
			   !strcmp(path, SYSFS "/device/devfreq/gpu/available_frequencies") ?
				   "300000000 800000000 \n" :
			   !strcmp(path, SYSFS "/device/devfreq/gpu/cur_freq") ? "300000000\n" :
										 NULL;
	int fd;

	if (!text)
		return perfctr_sys_real.open(data, path, flags);
	fd = memfd_create("file", MFD_CLOEXEC);
	if (pwrite(fd, text, strlen(text), 0) < 0)
		abort();
	return fd;
}

static int fake_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	return strcmp(path, SYSFS "/device/devfreq") ? perfctr_sys_real.list(data, path, fn, arg) :
						       fn(arg, "gpu");
}

static bool fake_is_removed(void *data, int fd)
{
	return driver.unbound;
}

static int fake_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	*major = 226;
	*minor = 128;
	return 0;
}

static void begin(void)
{
	driver = (struct driver){ .id = 0x7002, .cores = 0x15, .l2 = 1, .mem = 0x100 };
	sys = perfctr_sys_real;
	sys.ioctl = fake_ioctl;
	sys.open = fake_open;
	sys.list = fake_list;
	sys.is_removed = fake_is_removed;
	sys.node_number = fake_node_number;
	perfctr_ctx_new_with(&sys, &ctx);
}

static void end_driver(void)
{
	end();
	CHECK(!driver.enabled || driver.off || driver.unbound);
}

static int start(const char *events, unsigned int set)
{
	int error;

	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(driver.enables, 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	EQUAL(perfctr_selection_set_counter_set(selection, set), 0);
	CHECK(perfctr_selection_add(selection, events) > 0);
	EQUAL(perfctr_session_check(selection, NULL, NULL), 0);
	EQUAL(driver.enables, 0);
	error = perfctr_session_new(selection, NULL, &session);
	if (error)
		return error;
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	return perfctr_session_start(session, 0);
}

/* of the unread samples */
struct seen {
	uint64_t sum[16]; /* of each block */
	unsigned int blocks, index[16];
	uint32_t flags, states[16];
	uint64_t lost_ns, ns;
};

static struct seen take(bool stops)
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	struct seen seen = { 0 };

	EQUAL(stops ? perfctr_session_stop(session, 0) : perfctr_session_sample(session, 0), 0);
	while (perfctr_cursor_next(cursor, &sample) > 0) {
		seen.flags |= sample.flags;
		seen.lost_ns += sample.lost_ns;
		seen.ns += sample.end_ns - sample.start_ns;
		for (seen.blocks = 0; perfctr_decode_block(&sample, &block) > 0; seen.blocks++) {
			seen.index[seen.blocks] = block.index;
			seen.states[seen.blocks] |= block.states;
			for (unsigned int i = 0; i < block.count; i++)
				seen.sum[seen.blocks] += perfctr_block_value(&block, i);
		}
		perfctr_cursor_advance(cursor, 1);
	}
	return seen;
}

TEST_WITH(begin, end_driver,
	  "a Bifrost GPU: product, sets, clock, and a block for each core that exists")
{
	struct seen seen;

	EQUAL(start("shader/*", 1), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-G52");
	EQUAL(perfctr_device_info(device)->product, DRM_PERFCTR_MALI_PRODUCT_G52);
	EQUAL(perfctr_device_info(device)->gpu_id, 0x70021000);
	EQUAL(perfctr_device_info(device)->sets, 3);
	EQUAL(perfctr_device_clock(device, 0)->max_frequency_hz, 800000000);
	EQUAL(perfctr_device_clock(device, 0)->frequency_hz, 300000000);
	EQUAL(driver.set, 1);
	/* behind job manager, tiler and two slices */
	driver.words[4][63] = 5;
	driver.words[5][63] = 100;
	driver.words[8][4] = 7;
	driver.words[8][3] = 100;
	seen = take(true);
	EQUAL(seen.blocks, 3);
	EQUAL(seen.index[1], 2);
	EQUAL(seen.index[2], 4);
	EQUAL(seen.sum[0], 5);
	EQUAL(seen.sum[1], 0);
	EQUAL(seen.sum[2], 7);
}

TEST_WITH(begin, end_driver, "the oldest Midgard has its blocks elsewhere, and no second set")
{
	struct seen seen;

	driver.id = 0x720;
	driver.cores = 3;
	EQUAL(start("jm/*,tiler/*,memsys/*,shader/*", 0), 0);
	EQUAL(perfctr_device_info(device)->sets, 1);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-T720");
	driver.words[7][4] = 1;
	driver.words[4][4] = 2;
	driver.words[5][4] = 3;
	driver.words[1][4] = 4;
	seen = take(true);
	EQUAL(seen.blocks, 5);
	EQUAL(seen.sum[0], 1);
	EQUAL(seen.sum[1], 2);
	EQUAL(seen.sum[2], 3);
	EQUAL(seen.sum[4], 4);
}

TEST_WITH(begin, end_driver, "a session without samples makes four calls a second at most")
{
	idle_watch();
	EQUAL(start("tiler/TRIANGLES", 0), 0);
	CHECK(idle_calls(3000) <= 12);
}

TEST_WITH(begin, end_driver, "counters of 32 bits add up to more")
{
	uint64_t sum = 0;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	for (int n = 0; n < 3; n++) {
		driver.words[1][6] = UINT32_MAX;
		sum += take(false).sum[0];
	}
	EQUAL(sum, 3 * (uint64_t)UINT32_MAX);
}

TEST_WITH(begin, end_driver, "a reset forgets the set-up: set up again, and the time is lost")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.words[1][6] = 9;
	driver.forgotten = true;
	seen = take(false);
	EQUAL(seen.sum[0], 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && !(seen.flags & DRM_PERFCTR_SAMPLE_RESET));
	CHECK(seen.lost_ns && seen.states[0] & DRM_PERFCTR_STATE_LOST);
	driver.words[1][6] = 4;
	seen = take(true);
	EQUAL(seen.sum[0], 4);
	EQUAL(seen.lost_ns, 0);
}

TEST_WITH(begin, end_driver, "a block that the GPU did not write is lost, not counted twice")
{
	struct seen seen;

	EQUAL(start("jm/*,tiler/TRIANGLES", 0), 0);
	driver.words[1][6] = 9;
	EQUAL(take(false).sum[1], 9);
	driver.words[1][6] = 9;
	driver.stale = 1;
	seen = take(false);
	EQUAL(seen.sum[1], 0);
	CHECK(seen.states[1] & DRM_PERFCTR_STATE_LOST &&
	      !(seen.states[0] & DRM_PERFCTR_STATE_LOST));
	CHECK(seen.lost_ns && seen.lost_ns == seen.ns);
	driver.stale = 0;
	driver.words[1][6] = 2;
	seen = take(true);
	EQUAL(seen.sum[1], 2);
	EQUAL(seen.lost_ns, 0);
}

TEST_WITH(begin, end_driver, "a block that was not written loses nothing of other blocks' sessions")
{
	struct seen seen;

	EQUAL(start("jm/*", 0), 0);
	driver.words[0][6] = 9;
	driver.stale = 1;
	seen = take(true);
	EQUAL(seen.sum[0], 9);
	EQUAL(seen.lost_ns, 0);
}

TEST_WITH(begin, end_driver, "the switch is turned off while it counts: errors, then all counts")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.words[1][6] = 3;
	driver.off = true;
	seen = take(false);
	EQUAL(seen.sum[0], 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR);
	driver.off = false;
	driver.words[1][6] += 1;
	EQUAL(take(true).sum[0], 4);
}

TEST_WITH(begin, end_driver, "after an unbind no ioctl is called")
{
	struct perfctr_sample sample;
	unsigned int dumps;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	dumps = driver.dumps;
	driver.unbound = true;
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	EQUAL(driver.dumps, dumps);
	CHECK(perfctr_cursor_next(cursor, &sample) > 0);
	CHECK(sample.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
}

TEST_WITH(begin, end_driver, "refusals: turned off, taken, absent, and a GPU that nobody knows")
{
	struct perfctr_device *none = NULL;

	driver.off = true;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EPERM);
	HAS_TEXT(perfctr_ctx_error(ctx), "parameters/unstable_ioctls");
	driver.off = false;
	driver.old = true;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -ENOTTY);
	HAS_TEXT(perfctr_ctx_error(ctx), "panfrost offers no performance counters");
	driver.old = false;
	driver.id = 0xa000;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "0xa000");
	driver.id = 0x7002;
	driver.busy = true;
	EQUAL(start("tiler/TRIANGLES", 0), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "to one program at a time");
}
