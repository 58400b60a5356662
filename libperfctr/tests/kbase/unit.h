/* SPDX-License-Identifier: MIT */
/*
 * Counters through kbase: a driver in memory that answers as Arm's library expects. Numbers and
 * places of bytes are those of that library, and written here without our declarations.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ctx.h"
#include "host/open.h"
#include "../test.h"

#define NODE "/dev/mali0"
#define SYSFS "/sys/dev/char/10:55"

enum {
	VERSION_CSF = 0xc0048034,
	VERSION_JM = 0xc0048000,
	SET_FLAGS = 0x40048001,
	GPUPROPS = 0x40108003,
	ENUM_INFO = 0xc0108038,
	SETUP = 0xc0108039,
	CMD = 0x4010bf00,
	GET_SAMPLE = 0x8010bf01,
	PUT_SAMPLE = 0x4010bf10,
	SLOTS = 4,
	COUNTERS = 64,
	/* fe, tiler, two slices, two cores; with CSF also firmware */
	BLOCKS = 7,
	SLOT = 8192,
};

static const uint8_t types[BLOCKS] = { 0, 1, 2, 2, 3, 3, 4 };
static const uint8_t indices[BLOCKS] = { 0, 0, 0, 1, 0, 1, 0 };

/* the driver and its GPU */
static struct driver {
	bool jm, longer, gone, denied, lost_offset, old_list;
	uint16_t major, minor;
	uint64_t gpu_id, cores;
	unsigned int clocks;
	uint8_t set; /* the only one that the driver has */

	int session; /* -1: none */
	unsigned int files, sessions, versions;
	bool active, fetched;
	uint64_t written, read;
	uint64_t masks[5][2];
	uint64_t start_ns;
	uint32_t flags, states; /* of the next sample, of its blocks */
	uint64_t counts[BLOCKS][COUNTERS], cycles[2];
	_Alignas(64) unsigned char memory[SLOTS * SLOT];
	unsigned char beyond[8 * COUNTERS]; /* what is not mapped */
	bool is_file[1024];
} driver;

static struct perfctr_sys sys;

static uint16_t get16(const void *at, size_t offset)
{
	uint16_t value;

	memcpy(&value, (const char *)at + offset, sizeof(value));
	return value;
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

static void put(void *at, size_t offset, uint64_t value, size_t bytes)
{
	memcpy((char *)at + offset, &value, bytes);
}

static unsigned int block_count(void)
{
	return driver.jm ? BLOCKS - 1 : BLOCKS;
}

static int version(void *argument, bool csf)
{
	if (csf == driver.jm) {
		memset(argument, 0, 4);
		return csf ? 0 : -EPERM;
	}
	driver.versions++;
	put(argument, 0, driver.major, 2);
	put(argument, 2, driver.minor, 2);
	return 0;
}

static int properties(const void *argument)
{
	unsigned char bytes[64], *to = (void *)(uintptr_t)get64(argument, 0);
	size_t size = 0;
	const struct {
		uint32_t id, log;
		uint64_t value;
	} all[] = {
		{ 25, 3, driver.cores },
		{ 13, 0, 6 },
		{ 29, 2, 0x07120206 },
		{ 55, driver.gpu_id >> 32 ? 3 : 2, driver.gpu_id },
	};

	CHECK(driver.versions);
	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++) {
		put(bytes, size, all[n].id << 2 | all[n].log, 4);
		put(bytes, size + 4, all[n].value, (size_t)1 << all[n].log);
		size += 4 + ((size_t)1 << all[n].log);
	}
	if (!get32(argument, 8))
		return (int)size;
	if (get32(argument, 8) < size)
		return -EINVAL;
	memcpy(to, bytes, size);
	return (int)size;
}

/* A block type: the items may be longer than those that are known. */
static int list(void *argument)
{
	static const uint8_t instances[] = { 1, 1, 2, 2, 1 };
	const uint32_t size = driver.longer ? 40 : 32, count = driver.jm ? 6 : 7;
	char *to = (char *)(uintptr_t)get64(argument, 8);

	if (!to) {
		put(argument, 0, size, 4);
		put(argument, 4, count, 4);
		return 0;
	}
	CHECK(get32(argument, 0) == size && get32(argument, 4) == count);
	memset(to, 0, (size_t)size * count);
	/* sample_info, then the blocks, then the end */
	put(to, 0, 2, 2);
	put(to, 8, driver.clocks, 4);
	for (uint8_t type = 0; type < count - 2; type++) {
		to += size;
		put(to, 2, driver.old_list, 2);
		put(to, 8, type, 1);
		put(to, 9, driver.set, 1);
		put(to, 12, instances[type], 2);
		put(to, 14, COUNTERS, 2);
		put(to, 16, ~UINT64_C(0), 8);
	}
	return 0;
}

static int setup(void *argument)
{
	const char *item = (const char *)(uintptr_t)get64(argument, 8);
	const uint32_t count = get32(argument, 0);
	bool has_mode = false, has_scope = false;

	if (driver.denied)
		return -EPERM;
	if (get32(argument, 4) != 32)
		return -EINVAL;
	memset(driver.masks, 0, sizeof(driver.masks));
	for (uint32_t n = 0; n < count; n++, item += 32) {
		switch (get16(item, 0)) {
		case 0x1000:
			has_mode = !item[8];
			break;
		case 0x1001:
			CHECK(item[8] < 5 && item[9] == driver.set);
			driver.masks[(int)item[8]][0] = get64(item, 16);
			driver.masks[(int)item[8]][1] = get64(item, 24);
			break;
		case 0x1002:
			has_scope = !item[8];
			break;
		default:
			/* the end is counted */
			CHECK(n == count - 1 && !get64(item, 0));
		}
	}
	if (!CHECK(has_mode && has_scope))
		return -EINVAL;
	put(argument, 0, driver.longer ? 56 : 48, 4);
	put(argument, 4, sizeof(driver.memory), 4);
	driver.session = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	driver.sessions++;
	driver.written = driver.read = 0;
	driver.active = driver.fetched = false;
	return driver.session;
}

static void signal_samples(void)
{
	uint64_t value = 1;

	if (driver.written != driver.read)
		CHECK(write(driver.session, &value, sizeof(value)) == sizeof(value));
	else
		CHECK(read(driver.session, &value, sizeof(value)) == sizeof(value));
}

static void put_sample(uint64_t user_data)
{
	const size_t slot = driver.written % SLOTS * SLOT;
	unsigned char *at = driver.memory + slot;
	const size_t item = driver.longer ? 56 : 48;
	size_t values = item * (block_count() + 3);
	const uint64_t now = perfctr_time_raw_ns();

	memset(at, 0, SLOT);
	put(at, 0, 0x2000, 2);
	put(at, 8, driver.start_ns, 8);
	put(at, 16, now, 8);
	put(at, 24, driver.written, 8);
	put(at, 32, user_data, 8);
	put(at, 40, driver.flags, 4);
	at += item;
	put(at, 0, 0x2001, 2);
	put(at, 8, driver.clocks, 4);
	put(at, 16, driver.cycles[0], 8);
	put(at, 24, driver.cycles[1], 8);
	at += item;
	for (unsigned int b = 0; b < block_count(); b++, at += item) {
		const uint8_t core = driver.minor < (driver.jm ? 37 : 17) && indices[b] ?
					     (uint8_t)(63 - __builtin_clzll(driver.cores)) :
					     indices[b];

		put(at, 0, 0x2002, 2);
		put(at, 8, types[b], 1);
		put(at, 9, types[b] == 3 ? core : indices[b], 1);
		put(at, 10, driver.set, 1);
		put(at, 12, driver.states, 4);
		put(at, 16, driver.lost_offset ? sizeof(driver.memory) - 8 : slot + values, 4);
		for (unsigned int n = 0; n < COUNTERS; n++)
			put(driver.memory + slot, values + 8 * (size_t)n,
			    driver.masks[types[b]][0] >> n & 1 ? driver.counts[b][n] : 0, 8);
		values += 8 * (size_t)COUNTERS;
	}
	driver.written++;
	driver.start_ns = now;
	driver.flags = 0;
	memset(driver.counts, 0, sizeof(driver.counts));
	memset(driver.cycles, 0, sizeof(driver.cycles));
}

static int command(const void *argument)
{
	switch (get16(argument, 0)) {
	case 1:
		driver.active = true;
		driver.start_ns = perfctr_time_raw_ns();
		memset(driver.counts, 0, sizeof(driver.counts));
		return 0;
	case 2:
		CHECK(driver.active);
		driver.active = false;
		return 0;
	case 3:
		if (!CHECK(driver.active))
			return -EINVAL;
		if (driver.gone)
			return -ENODEV;
		if (driver.written - driver.read == SLOTS - 1)
			return -EBUSY;
		put_sample(get64(argument, 8));
		signal_samples();
		return 0;
	default:
		return -EINVAL;
	}
}

static int get_sample(void *argument)
{
	if (driver.written == driver.read || driver.fetched)
		return -EINVAL;
	driver.fetched = true;
	put(argument, 0, driver.read, 8);
	put(argument, 8, driver.read % SLOTS * SLOT, 8);
	return 0;
}

static int give_back(const void *argument)
{
	CHECK(driver.fetched && get64(argument, 0) == driver.read &&
	      get64(argument, 8) == driver.read % SLOTS * SLOT);
	driver.fetched = false;
	driver.read++;
	if (driver.written == driver.read)
		signal_samples();
	return 0;
}

static int fake_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	switch ((unsigned int)request) {
	case VERSION_CSF:
	case VERSION_JM:
		return version(argument, request == VERSION_CSF);
	case SET_FLAGS:
		CHECK(get32(argument, 0) == 2);
		return driver.versions > 1 ? -EPERM : 0;
	case GPUPROPS:
		return properties(argument);
	case ENUM_INFO:
		return list(argument);
	case SETUP:
		return setup(argument);
	case CMD:
		return fd == driver.session ? command(argument) : -EINVAL;
	case GET_SAMPLE:
		return fd == driver.session ? get_sample(argument) : -EINVAL;
	case PUT_SAMPLE:
		return fd == driver.session ? give_back(argument) : -EINVAL;
	default:
		return -ENOTTY;
	}
}

static int fake_mmap(void *data, int fd, uint64_t offset, size_t size, bool writable,
		     void **address)
{
	if (fd != driver.session)
		return perfctr_sys_real.mmap(data, fd, offset, size, writable, address);
	CHECK(!offset && size == sizeof(driver.memory) && !writable);
	*address = driver.memory;
	return 0;
}

static int fake_munmap(void *data, void *address, size_t size)
{
	return address == driver.memory ? 0 : perfctr_sys_real.munmap(data, address, size);
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
	if (!*text) {
		driver.is_file[fd] = true;
		driver.files++;
	}
	return fd;
}

static int fake_dup(void *data, int fd)
{
	const int copy = perfctr_sys_real.dup(data, fd);

	if (driver.is_file[fd]) {
		driver.is_file[copy] = true;
		driver.files++;
	}
	return copy;
}

static int fake_close(void *data, int fd)
{
	driver.files -= driver.is_file[fd];
	driver.is_file[fd] = false;
	if (fd == driver.session) {
		driver.session = -1;
		driver.sessions--;
	}
	return perfctr_sys_real.close(data, fd);
}

static int fake_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	if (!strcmp(path, "/dev/dri"))
		return 0;
	if (!strcmp(path, "/dev"))
		return fn(arg, "mali0") ? -EIO : fn(arg, "malice") ? -EIO : fn(arg, "mem");
	return strcmp(path, SYSFS "/device/devfreq") ? perfctr_sys_real.list(data, path, fn, arg) :
						       fn(arg, "gpu");
}

static int fake_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	*major = 10;
	*minor = 55;
	return 0;
}

/* an RK3588's GPU, with two of its cores. Return: its system calls. */
static struct perfctr_sys *make_driver(void)
{
	driver = (struct driver){ .major = 1,
				  .minor = 23,
				  .gpu_id = 0xa8670005,
				  .cores = 0x10001,
				  .clocks = 1,
				  .states = 1 | 4 | 16,
				  .session = -1 };
	memset(driver.beyond, 1, sizeof(driver.beyond));
	sys = perfctr_sys_real;
	sys.ioctl = fake_ioctl;
	sys.open = fake_open;
	sys.close = fake_close;
	sys.dup = fake_dup;
	sys.list = fake_list;
	sys.mmap = fake_mmap;
	sys.munmap = fake_munmap;
	sys.node_number = fake_node_number;
	return &sys;
}
