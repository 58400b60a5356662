// SPDX-License-Identifier: MIT
/*
 * Counters through PERF_CONTROL: a driver in memory that answers as Arm's library expects. Numbers
 * and places of bytes are those of that library, and written here without our declarations.
 */
#include <drm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/perfctr_mali.h>

#include "fixture.h"
#include "seen.h"

#define NODE "/dev/dri/renderD128"
#define SYSFS "/sys/dev/char/226:128"

enum {
	QUERY = 0xc0106440,
	BO_CREATE = 0xc0186445,
	MMAP_OFFSET = 0xc0106446,
	CONTROL = 0xc018649e,
	PERF_INFO = 0x3ffffffe,
	SAMPLE_HEADER = 64,
	BLOCK_HEADER = 24,
	COUNTERS = 64,
	BLOCK = BLOCK_HEADER + 8 * COUNTERS,
	/* fw, cshw, tiler, two slices, two cores */
	BLOCKS = 7,
	MAX_OBJECTS = 4,
};

enum { SETUP, TEARDOWN, START, STOP, SAMPLE };

static const uint8_t types[BLOCKS] = { 1, 2, 3, 4, 4, 5, 5 };
static const uint8_t indices[BLOCKS] = { 0, 0, 0, 0, 1, 0, 1 };

/* the driver and its GPU */
static struct driver {
	bool absent, denied, gone, longer; /* no PERF_CONTROL; permission; unplug; longer headers */
	bool wrong; /* sizes do not add up */
	int refusal; /* of START */
	void *objects[MAX_OBJECTS]; /* by handle - 1 */
	size_t bytes[MAX_OBJECTS];
	unsigned int maps, sessions, samples;
	uint32_t ring, control, slots, eventfd;
	uint64_t masks[6], insert, start_ns;
	unsigned int late, held; /* so many samples are to come late; of which are kept back */
	uint64_t held_data[4]; /* their user_data */
	uint32_t flags; /* of the next sample */
	uint64_t counts[BLOCKS][COUNTERS], cycles;
	uint8_t set;
} driver;

static struct perfctr_sys sys;

static uint32_t header_bytes(void)
{
	return SAMPLE_HEADER + (driver.longer ? 16 : 0);
}

static uint32_t block_bytes(void)
{
	return BLOCK + (driver.longer ? 8 : 0);
}

static uint32_t sample_bytes(void)
{
	return header_bytes() + BLOCKS * block_bytes() + (driver.wrong ? 8 : 0);
}

static uint32_t get32(const void *at, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)at + offset, sizeof(value));
	return value;
}

static uint64_t get64(const void *at, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)at + offset, sizeof(value));
	return value;
}

static void put32(void *at, size_t offset, uint32_t value)
{
	memcpy((char *)at + offset, &value, sizeof(value));
}

static void put64(void *at, size_t offset, uint64_t value)
{
	memcpy((char *)at + offset, &value, sizeof(value));
}

static int answer(void *argument)
{
	const uint32_t info[12] = {
		COUNTERS,
		header_bytes(),
		BLOCK_HEADER + (driver.longer ? 8 : 0),
		sample_bytes(),
		1,
		1,
		1,
		1,
		1,
		2,
		2,
		0,
	};
	char *gpu = (char *)(uintptr_t)get64(argument, 8);

	if (get32(argument, 0) == PERF_INFO) {
		if (driver.absent)
			return -EINVAL;
		memcpy(gpu, info,
		       get32(argument, 4) < sizeof(info) ? get32(argument, 4) : sizeof(info));
		return 0;
	}
	CHECK(!get32(argument, 0) && get32(argument, 4) >= 96);
	put32(gpu, 0, 0xa8670005);
	/* cores 0 and 16 */
	put64(gpu, 72, 0x10001);
	return 0;
}

static int create(void *argument)
{
	unsigned int n = 0;

	while (driver.objects[n])
		CHECK(++n < MAX_OBJECTS);
	driver.bytes[n] = get64(argument, 0);
	driver.objects[n] = calloc(1, driver.bytes[n]);
	put32(argument, 16, n + 1);
	return 0;
}

static int close_object(const struct drm_gem_close *argument)
{
	CHECK(argument->handle && driver.objects[argument->handle - 1]);
	free(driver.objects[argument->handle - 1]);
	driver.objects[argument->handle - 1] = NULL;
	return 0;
}

static void put_sample(uint64_t user_data)
{
	const uint64_t now = perfctr_time_raw_ns(), one = 1;
	char *at = driver.objects[driver.ring - 1];
	char *control = driver.objects[driver.control - 1];

	CHECK(driver.insert - get64(control, 0) < driver.slots);
	CHECK(driver.bytes[driver.ring - 1] >= (size_t)driver.slots * sample_bytes());
	at += driver.insert % driver.slots * sample_bytes();
	put64(at, 0, driver.start_ns);
	put64(at, 8, now);
	at[16] = (char)driver.set;
	put32(at, 20, driver.flags);
	put64(at, 24, user_data);
	put64(at, 32, driver.cycles);
	put64(at, 48, 12345);
	at += header_bytes();
	for (unsigned int b = 0; b < BLOCKS; b++) {
		at[0] = (char)types[b];
		at[1] = (char)indices[b];
		at[2] = 1 | 4 | 16;
		put64(at, 8, driver.masks[types[b] - 1]);
		memcpy(at + block_bytes() - 8 * (size_t)COUNTERS, driver.counts[b],
		       sizeof(driver.counts[b]));
		at += block_bytes();
	}
	memset(driver.counts, 0, sizeof(driver.counts));
	driver.cycles = driver.flags = 0;
	driver.start_ns = now;
	driver.samples++;
	put64(control, 8, ++driver.insert);
	CHECK(write((int)driver.eventfd, &one, sizeof(one)) == sizeof(one));
}

static int setup(const void *s)
{
	if (driver.denied)
		return -EPERM;
	driver.set = *(const uint8_t *)s;
	driver.eventfd = get32(s, 8);
	driver.ring = get32(s, 12);
	driver.control = get32(s, 16);
	driver.slots = get32(s, 20);
	CHECK(!get64(s, 24) && !get64(s, 32));
	for (unsigned int i = 0; i < 6; i++)
		driver.masks[i] = get64(s, 40 + 16 * (size_t)i);
	driver.insert = 0;
	driver.sessions++;
	return 7;
}

static int sample(uint64_t user_data)
{
	if (driver.gone)
		return -ENODEV;
	if (driver.late) {
		driver.held_data[driver.held++] = user_data;
		driver.late--;
		return 0;
	}
	for (unsigned int n = 0; n < driver.held; n++)
		put_sample(driver.held_data[n]);
	driver.held = 0;
	put_sample(user_data);
	return 0;
}

static int control(const void *argument)
{
	const void *at = (const void *)(uintptr_t)get64(argument, 16);
	const uint32_t cmd = get32(argument, 0);

	if (cmd == SETUP)
		return get64(argument, 8) == 136 ? setup(at) : -EINVAL;
	CHECK(get32(argument, 4) == 7);
	if (cmd == TEARDOWN) {
		driver.sessions--;
		return 0;
	}
	EQUAL(get64(argument, 8), 8);
	if (cmd == START) {
		driver.start_ns = perfctr_time_raw_ns();
		memset(driver.counts, 0, sizeof(driver.counts));
		return driver.refusal;
	}
	return cmd == SAMPLE ? sample(get64(at, 0)) : 0;
}

static int fake_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	static const char name[] = "panthor";
	struct drm_version *version = argument;

	switch (request) {
	case DRM_IOCTL_VERSION:
		memcpy(version->name, name, sizeof(name) - 1);
		version->name_len = sizeof(name) - 1;
		return 0;
	case DRM_IOCTL_GEM_CLOSE:
		return close_object(argument);
	case QUERY:
		return answer(argument);
	case BO_CREATE:
		return create(argument);
	case MMAP_OFFSET:
		put64(argument, 8, (uint64_t)get32(argument, 0) << 32);
		return 0;
	case CONTROL:
		return control(argument);
	default:
		return -EINVAL;
	}
}

static int fake_mmap(void *data, int fd, uint64_t offset, size_t size, bool writable,
		     void **address)
{
	if (!(offset >> 32))
		return perfctr_sys_real.mmap(data, fd, offset, size, writable, address);
	CHECK(size <= driver.bytes[(offset >> 32) - 1]);
	*address = driver.objects[(offset >> 32) - 1];
	driver.maps++;
	return 0;
}

static int fake_munmap(void *data, void *address, size_t size)
{
	for (unsigned int n = 0; n < MAX_OBJECTS; n++)
		if (driver.objects[n] && driver.objects[n] == address) {
			driver.maps--;
			return 0;
		}
	return perfctr_sys_real.munmap(data, address, size);
}

static int fake_open(void *data, const char *path, int flags)
{
	const char *text = !strcmp(path, NODE) ? "" :
			   !strcmp(path, SYSFS "/device/devfreq/gpu/available_frequencies") ?
						 "300000000 900000000 \n" :
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

static int fake_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	*major = 226;
	*minor = 128;
	return 0;
}

static void begin(void)
{
	driver = (struct driver){ .slots = 0 };
	sys = perfctr_sys_real;
	sys.ioctl = fake_ioctl;
	sys.open = fake_open;
	sys.list = fake_list;
	sys.mmap = fake_mmap;
	sys.munmap = fake_munmap;
	sys.node_number = fake_node_number;
	perfctr_ctx_new_with(&sys, &ctx);
}

/* Nothing is left in the driver. */
static void end_driver(void)
{
	end();
	EQUAL(driver.sessions, 0);
	EQUAL(driver.maps, 0);
	for (unsigned int n = 0; n < MAX_OBJECTS; n++)
		CHECK(!driver.objects[n]);
}

static int start(const char *events, unsigned int set)
{
	int error;

	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	EQUAL(perfctr_selection_set_counter_set(selection, set), 0);
	CHECK(perfctr_selection_add(selection, events) > 0);
	EQUAL(perfctr_session_check(selection, NULL, NULL), 0);
	EQUAL(driver.sessions, 0);
	error = perfctr_session_new(selection, NULL, &session);
	if (error)
		return error;
	EQUAL(driver.sessions, 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	return perfctr_session_start(session, 0);
}

TEST_WITH(begin, end_driver, "product, clock, blocks of all types, and cores by their place")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES,shader/FRAG_PTILES", 0), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-G610");
	EQUAL(perfctr_device_info(device)->product, DRM_PERFCTR_MALI_PRODUCT_V10);
	EQUAL(perfctr_device_info(device)->gpu_id, 0xa8670005);
	EQUAL(perfctr_device_info(device)->sets, 7);
	EQUAL(perfctr_device_clock(device, 0)->max_frequency_hz, 900000000);
	EQUAL(perfctr_device_clock(device, 0)->frequency_hz, 300000000);
	EQUAL(driver.masks[4], ~UINT64_C(0xf));
	driver.counts[2][6] = 5;
	driver.counts[2][7] = 1000;
	for (unsigned int n = 4; n < COUNTERS; n++)
		driver.counts[6][n] = 1u << 20;
	seen = take(true);
	EQUAL(seen.blocks, 3);
	EQUAL(seen.sum[0], 5);
	EQUAL(seen.index[1], 0);
	EQUAL(seen.index[2], 16);
	EQUAL(seen.sum[1], 0);
	EQUAL(seen.sum[2], 1u << 20);
	CHECK(seen.states[0] & DRM_PERFCTR_STATE_ON);
}

TEST_WITH(begin, end_driver, "100 samples go through a ring of fewer slots: the sum is right")
{
	uint64_t sum = 0;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	for (uint64_t n = 0; n < 100; n++) {
		driver.counts[2][6] = n << 33;
		sum += take(false).sum[0];
	}
	CHECK(driver.slots < 100 && driver.samples > 100);
	EQUAL(sum, UINT64_C(4950) << 33);
}

TEST_WITH(begin, end_driver, "cycles of the clocks that the driver counts")
{
	struct seen seen;

	EQUAL(start("cshw/GPU_ACTIVE,shader/FRAG_PTILES", 0), 0);
	driver.cycles = 100;
	EQUAL(take(false).cycles[0], 100);
	driver.cycles = 7;
	seen = take(true);
	EQUAL(seen.cycles[0], 7);
	/* which the samples have, but the driver says nothing of */
	EQUAL(seen.cycles[1], 0);
}

TEST_WITH(begin, end_driver, "headers may be longer than those that are known")
{
	driver.longer = true;
	EQUAL(start("shader/FRAG_PTILES", 0), 0);
	for (unsigned int n = 0; n < COUNTERS; n++)
		driver.counts[5][n] = 3;
	EQUAL(take(true).sum[0], 3);
}

TEST_WITH(begin, end_driver, "a sample that the driver marks: an error, and its time is lost")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.counts[2][6] = 9;
	driver.flags = 1;
	seen = take(false);
	EQUAL(seen.sum[0], 9);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.lost_ns);
	CHECK(seen.states[0] & DRM_PERFCTR_STATE_LOST);
	/* stretched is no loss */
	driver.counts[2][6] = 4;
	driver.flags = 2;
	seen = take(true);
	EQUAL(seen.sum[0], 4);
	EQUAL(seen.lost_ns, 0);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR));
}

TEST_WITH(begin, end_driver, "a driver that answers late: an error, and the counts come later")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.counts[2][6] = 8;
	driver.late = 1;
	seen = take(false);
	EQUAL(seen.sum[0], 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR);
	seen = take(true);
	EQUAL(seen.sum[0], 8);
}

TEST_WITH(begin, end_driver, "the device goes: its last sample is counted, with its end")
{
	struct seen seen = { 0 };

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.counts[2][6] = 6;
	put_sample(0);
	driver.gone = true;
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	read_samples(&seen);
	EQUAL(seen.sum[0], 6);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
}

TEST_WITH(begin, end_driver, "other counter sets: the blocks that have them")
{
	EQUAL(start("memsys/C10", 1), 0);
	EQUAL(driver.set, 1);
	driver.counts[4][10] = 2;
	EQUAL(take(true).sum[1], 2);
}

TEST_WITH(begin, end_driver, "refusals: absent, not permitted, another set, unknown samples")
{
	struct perfctr_device *none = NULL;

	driver.absent = true;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -ENOTTY);
	HAS_TEXT(perfctr_ctx_error(ctx), "panthor offers no performance counters: it needs a "
					 "patched kernel: kernel/panthor/README.md, On a board");
	driver.absent = false;
	driver.wrong = true;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "7 blocks of 64 counters");
	driver.wrong = false;
	driver.refusal = -EBUSY;
	EQUAL(start("tiler/TRIANGLES", 0), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "another counter set");
	end();
	begin();
	driver.denied = true;
	EQUAL(start("tiler/TRIANGLES", 0), -EPERM);
	HAS_TEXT(perfctr_ctx_error(ctx), "Mali-G610: counting needs CAP_PERFMON");
}
