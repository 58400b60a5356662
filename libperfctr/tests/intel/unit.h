/* SPDX-License-Identifier: MIT */
/*
 * Drivers i915 and xe in memory, with an OA unit whose counters the tests move, and which writes a
 * report each 2^(exponent + 1) of its clock. Calls and places in reports are written here by the
 * kernel's documentation, without the library's declarations.
 */
#pragma once

#include <drm.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "host/open.h"
#include "../test.h"

#define NODE "/dev/dri/renderD128"
#define CARD "/sys/dev/char/226:128/device/drm"

enum {
	GETPARAM = 0xc0106446,
	PERF_OPEN = 0x40106476,
	ADD_CONFIG = 0x40486477,
	XE_QUERY = 0xc0286440,
	XE_OBSERVE = 0x4020644b,
	ENABLE = 0x6900,
	STATUS = 0x6903,
	TICKS_PER_MS = 19200,
	CLOCKS_PER_TICK = 50, /* 960 MHz */
	REPORTS = 8192, /* the most that a unit's buffer has room for */
	ROOM = 256, /* so that it overflows early */
	RAWS = 64,
	OVERFLOW = 2,
	LOST = 1,
};

/* of a report, without a width */
struct values {
	uint64_t ticks, clocks, raws[RAWS];
};

static struct machine {
	bool xe, pec, a24, denied, busy, no_units, no_eus, gone, silent;
	bool new_rules; /* of Linux 7.3 */
	int perf_paranoid; /* sysctl kernel.perf_event_paranoid */
	uint16_t device;
	unsigned int eus; /* of i915's answer */

	pthread_mutex_t lock;
	unsigned int streams, files, configs, opened, polls;
	bool has_config, hide_config;
	uint32_t registers;
	char uuid[40];
	int stream;
	bool enabled, nonblock;
	uint64_t exponent, poll_ns;
	struct values base, now; /* what the hardware had at first, what was counted since */
	uint64_t began_ns, last_ticks;
	struct values reports[REPORTS];
	unsigned int first, count, room;
	uint32_t status; /* of xe, or flags of i915's unit */
	unsigned int skip; /* reports that the unit loses */
	bool is_node[1024];
} m;

static struct perfctr_sys sys;

/* --- bytes ------------------------------------------------------------------------------ */

static uint64_t get(const void *at, size_t offset, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)at + offset, bytes);
	return value;
}

static void put(void *at, size_t offset, uint64_t value, size_t bytes)
{
	memcpy((char *)at + offset, &value, bytes);
}

static size_t report_bytes(void)
{
	return m.pec ? 576 : 256;
}

/* A from raw 0 on, B from 40 on, C from 48 on; PEC from 0 on */
static void encode(const struct values *v, unsigned char *to)
{
	memset(to, 0, report_bytes());
	if (m.pec) {
		put(to, 0, 1 << 19, 8);
		put(to, 8, v->ticks, 8);
		put(to, 24, v->clocks, 8);
		for (int n = 0; n < 64; n++)
			put(to, 32 + 8 * (size_t)n, v->raws[n], 8);
		return;
	}
	put(to, 0, 1 << 19, 4);
	put(to, 4, v->ticks, 4);
	put(to, 12, v->clocks, 4);
	for (int n = 0; n < 36; n++)
		put(to, 16 + 4 * (size_t)n, v->raws[n], 4);
	for (int n = 0; n < 32; n++)
		if (!m.a24 || (n >= 4 && n <= 23) || n >= 28)
			put(to, 160 + (size_t)n, v->raws[n] >> 32, 1);
	if (m.a24) {
		put(to, 160, v->raws[36], 4);
		put(to, 184, v->raws[37], 4);
	}
	for (int n = 0; n < 8; n++) {
		put(to, 192 + 4 * (size_t)n, v->raws[40 + n], 4);
		put(to, 224 + 4 * (size_t)n, v->raws[48 + n], 4);
	}
}

/* --- the unit ----------------------------------------------------------------------------- */

static uint64_t period_ticks(void)
{
	return UINT64_C(2) << m.exponent;
}

static void write_report(void)
{
	struct values *v = &m.reports[(m.first + m.count) % REPORTS];

	if (m.skip) {
		m.skip--;
		m.status |= LOST;
		return;
	}
	*v = m.now;
	v->ticks += m.base.ticks;
	v->clocks += m.base.clocks;
	for (int n = 0; n < RAWS; n++)
		v->raws[n] += m.base.raws[n];
	if (m.count < m.room) {
		m.count++;
		return;
	}
	m.first = (m.first + 1) % REPORTS;
	m.status |= OVERFLOW;
}

/* Let time go on, with the lock. */
static void run(void)
{
	const uint64_t ticks = (perfctr_time_raw_ns() - m.began_ns) * TICKS_PER_MS / 1000000;

	if (!m.enabled || m.silent)
		return;
	while (m.last_ticks + period_ticks() <= ticks) {
		m.last_ticks += period_ticks();
		m.now.ticks = m.last_ticks;
		m.now.clocks = m.last_ticks * CLOCKS_PER_TICK;
		write_report();
	}
}

static inline void work(unsigned int raw, uint64_t count)
{
	pthread_mutex_lock(&m.lock);
	run();
	m.now.raws[raw] += count;
	pthread_mutex_unlock(&m.lock);
}

/* A job: each raw counter grows by its number and one for each unit. */
static inline void do_units(unsigned int units)
{
	pthread_mutex_lock(&m.lock);
	run();
	for (unsigned int n = 0; n < RAWS; n++)
		m.now.raws[n] += (uint64_t)units * (n + 1);
	pthread_mutex_unlock(&m.lock);
}

static void rest(unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = (long)ms * 1000000 };

	nanosleep(&pause, NULL);
}

/* The hardware starts again: counters from 0. */
static inline void restart(void)
{
	memset(m.base.raws, 0, sizeof(m.base.raws));
	for (int n = 0; n < RAWS; n++)
		m.base.raws[n] -= m.now.raws[n];
	m.base.clocks = -m.now.clocks;
}

static void drop_buffer(void)
{
	m.first = m.count = 0;
	m.status = 0;
	restart();
}

static size_t put_record(unsigned char *to, uint32_t type, const struct values *v)
{
	const size_t size = 8 + (v ? report_bytes() : 0);

	put(to, 0, type, 4);
	put(to, 6, size, 2);
	if (v)
		encode(v, to + 8);
	return size;
}

static ssize_t read_stream(unsigned char *to, size_t size)
{
	size_t used = 0;

	run();
	if (m.gone || !m.enabled)
		return m.gone ? -ENODEV : -EIO;
	if (m.xe && m.status)
		return -EIO;
	if (!m.xe && m.status & OVERFLOW) {
		used = put_record(to, 3, NULL);
		drop_buffer();
	} else if (!m.xe && m.status & LOST) {
		used = put_record(to, 2, NULL);
		m.status = 0;
	}
	while (m.count && size - used >= 8 + report_bytes()) {
		const struct values *v = &m.reports[m.first];

		if (m.xe)
			encode(v, to + used);
		used += m.xe ? report_bytes() : put_record(to + used, 1, v);
		m.first = (m.first + 1) % REPORTS;
		m.count--;
	}
	/* a read that waits would never end if the GPU hangs */
	CHECK(used || m.nonblock);
	return used ? (ssize_t)used : -EAGAIN;
}

/* --- calls -------------------------------------------------------------------------------- */

/* what the kernel asks for OPEN and ADD_CONFIG */
static int permission(void)
{
	if (!m.denied || (m.xe && m.new_rules && m.perf_paranoid <= 0))
		return 0;
	return -EACCES;
}

static int get_param(const void *argument)
{
	int *value = (int *)(uintptr_t)get(argument, 8, 8);

	switch (get(argument, 0, 4)) {
	case 4:
		*value = m.device;
		return 0;
	case 34:
		*value = (int)m.eus;
		return m.no_eus ? -ENODEV : 0;
	case 54:
		*value = 7;
		return 0;
	case 57:
		*value = m.no_units ? 0 : TICKS_PER_MS * 1000;
		return 0;
	default:
		return -EINVAL;
	}
}

static int add_config(const char *uuid, uint32_t registers)
{
	if (permission())
		return permission();
	if (m.has_config && !strncmp(m.uuid, uuid, 36))
		return -EADDRINUSE;
	memcpy(m.uuid, uuid, 36);
	m.registers = registers;
	m.has_config = true;
	m.configs++;
	return 3;
}

static int make_stream(uint64_t config, uint64_t format, uint64_t exponent)
{
	const uint64_t expected = m.pec ? 0x10105 : m.xe ? 0x500 : m.a24 ? 12 : 10;

	if (permission())
		return permission();
	if (m.no_units)
		return -ENODEV;
	if (config != 3 || !m.has_config || format != expected || exponent > 31)
		return -EINVAL;
	if (m.busy || m.streams)
		return -EBUSY;
	m.streams++;
	m.opened++;
	m.enabled = false;
	m.exponent = exponent;
	m.status = m.first = m.count = 0;
	m.nonblock = !m.xe;
	m.stream = memfd_create("stream", m.xe ? 0 : MFD_CLOEXEC);
	return m.stream;
}

static int open_i915(const void *argument)
{
	uint64_t values[16] = { 0 };
	const char *properties = (const char *)(uintptr_t)get(argument, 8, 8);

	for (uint64_t n = 0; n < get(argument, 4, 4); n++)
		values[get(properties, 16 * n, 8) & 15] = get(properties, 16 * n + 8, 8);
	EQUAL(get(argument, 0, 4), 7);
	EQUAL(values[2], 1);
	m.poll_ns = values[8];
	return make_stream(values[3], values[4], values[5]);
}

static int open_xe(const char *property)
{
	uint64_t values[16] = { 0 };

	for (; property; property = (const char *)(uintptr_t)get(property, 0, 8)) {
		EQUAL(get(property, 8, 4), 0);
		values[get(property, 16, 4) & 15] = get(property, 24, 8);
	}
	EQUAL(values[1], 2);
	EQUAL(values[2], 1);
	EQUAL(values[6], 1);
	return make_stream(values[3], values[4], values[5]);
}

static int answer(void *argument, const void *bytes, size_t size)
{
	void *to = (void *)(uintptr_t)get(argument, 16, 8);

	if (to)
		memcpy(to, bytes, size);
	put(argument, 12, size, 4);
	return 0;
}

static int query_xe(void *argument)
{
	unsigned char bytes[512] = { 0 };

	switch (get(argument, 8, 4)) {
	case 2:
		put(bytes, 0, 1, 8);
		put(bytes, 8, UINT32_C(4) << 16 | m.device, 8);
		return answer(argument, bytes, 16);
	case 5:
		/* six subslices of eight units; another GT, which is not counted */
		put(bytes, 2, 1, 2);
		put(bytes, 4, 8, 4);
		put(bytes, 8, 0x3f, 8);
		put(bytes, 18, 2, 2);
		put(bytes, 20, 4, 4);
		put(bytes, 24, 0x3f, 4);
		put(bytes, 30, m.pec ? 5 : 4, 2);
		put(bytes, 32, 2, 4);
		put(bytes, 36, 0xff, 2);
		put(bytes, 38, 1, 2);
		put(bytes, 40, 1, 2);
		put(bytes, 42, 2, 4);
		put(bytes, 46, 0xffff, 2);
		return m.no_eus ? -EINVAL : answer(argument, bytes, 48);
	case 8:
		/* a media unit with two engines, then the one of the GPU */
		put(bytes, 8, m.no_units ? 1 : 2, 4);
		put(bytes, 24, 0, 4);
		put(bytes, 28, 1, 4);
		put(bytes, 40, 12345, 8);
		put(bytes, 80, 2, 8);
		put(bytes, 104 + 8, 2, 4);
		put(bytes, 104 + 24, TICKS_PER_MS * 1000, 8);
		put(bytes, 104 + 64, 1, 8);
		return answer(argument, bytes, m.no_units ? 104 : 104 + 72 + 8);
	default:
		return -EINVAL;
	}
}

static int observe(const void *argument)
{
	const char *param = (const char *)(uintptr_t)get(argument, 24, 8);

	EQUAL(get(argument, 8, 8), 0);
	return get(argument, 16, 8) ? add_config(param + 8, (uint32_t)get(param, 44, 4)) :
				      open_xe(param);
}

static int call_node(unsigned long request, void *argument)
{
	const char *name = m.xe ? "xe" : "i915";
	struct drm_version *version = argument;

	if (m.gone)
		return -ENODEV;
	if (request == DRM_IOCTL_VERSION) {
		if (version->name_len >= strlen(name))
			memcpy(version->name, name, strlen(name));
		version->name_len = strlen(name);
		return 0;
	}
	switch ((unsigned int)request) {
	case GETPARAM:
		return m.xe ? -EINVAL : get_param(argument);
	case PERF_OPEN:
		return open_i915(argument);
	case ADD_CONFIG:
		return add_config(argument, (uint32_t)(get(argument, 36, 4) + get(argument, 40, 4) +
						       get(argument, 44, 4)));
	case XE_QUERY:
		return m.xe ? query_xe(argument) : -EINVAL;
	case XE_OBSERVE:
		return observe(argument);
	default:
		return -EINVAL;
	}
}

static int call_stream(unsigned long request, void *argument)
{
	switch ((unsigned int)request) {
	case ENABLE:
		m.enabled = true;
		m.began_ns = perfctr_time_raw_ns();
		m.last_ticks = 0;
		return 0;
	case STATUS:
		put(argument, 8, m.status, 8);
		m.status = 0;
		return m.xe ? 0 : -ENOTTY;
	default:
		return -EINVAL;
	}
}

static int fake_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	int result;

	/* of perf */
	if (fd != m.stream && !m.is_node[fd])
		return perfctr_sys_real.ioctl(data, fd, request, argument);
	pthread_mutex_lock(&m.lock);
	result = fd == m.stream ? call_stream(request, argument) : call_node(request, argument);
	pthread_mutex_unlock(&m.lock);
	return result;
}

static ssize_t fake_read(void *data, int fd, void *bytes, size_t size)
{
	ssize_t result;

	if (fd != m.stream)
		return perfctr_sys_real.read(data, fd, bytes, size);
	pthread_mutex_lock(&m.lock);
	result = read_stream(bytes, size);
	pthread_mutex_unlock(&m.lock);
	return result;
}

static int fake_poll(void *data, const int *fds, size_t count, int64_t timeout_ns)
{
	const struct timespec pause = { .tv_nsec = (long)timeout_ns };

	if (count != 1 || fds[0] != m.stream)
		return perfctr_sys_real.poll(data, fds, count, timeout_ns);
	CHECK(timeout_ns >= 0 && timeout_ns <= 1000000);
	m.polls++;
	nanosleep(&pause, NULL);
	return 0;
}

static int fake_nonblock(void *data, int fd)
{
	m.nonblock |= fd == m.stream;
	return perfctr_sys_real.nonblock(data, fd);
}

static int fake_open(void *data, const char *path, int flags)
{
	char id[128];
	int fd;

	snprintf(id, sizeof(id), CARD "/card1/metrics/%.36s/id", m.uuid);
	if (strcmp(path, NODE) != 0 && (!m.has_config || m.hide_config || strcmp(path, id) != 0))
		return perfctr_sys_real.open(data, path, flags);
	fd = memfd_create("file", MFD_CLOEXEC);
	if (!strcmp(path, NODE)) {
		m.is_node[fd] = true;
		m.files++;
	} else if (pwrite(fd, "3\n", 2, 0) < 0) {
		abort();
	}
	return fd;
}

static int fake_dup(void *data, int fd)
{
	const int copy = perfctr_sys_real.dup(data, fd);

	if (fd == m.stream) {
		m.stream = copy;
		m.streams++;
	}
	if (m.is_node[fd]) {
		m.is_node[copy] = true;
		m.files++;
	}
	return copy;
}

static int fake_close(void *data, int fd)
{
	struct machine *machine = &m;
	char link[64], text[64] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, text, sizeof(text) - 1) > 0 && strstr(text, "memfd:stream")) {
		machine->streams--;
		if (fd == machine->stream)
			machine->stream = -1;
	}
	m.files -= m.is_node[fd];
	m.is_node[fd] = false;
	return perfctr_sys_real.close(data, fd);
}

static int fake_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	if (!strcmp(path, "/dev/dri"))
		return fn(arg, strrchr(NODE, '/') + 1);
	if (!strcmp(path, CARD))
		return fn(arg, "renderD128") ? -EIO : fn(arg, "card1");
	return perfctr_sys_real.list(data, path, fn, arg);
}

static int fake_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	*major = 226;
	*minor = 128;
	return 0;
}

/* Return: its system calls. */
static struct perfctr_sys *make_machine(bool xe, uint16_t id)
{
	memset(&m, 0, sizeof(m));
	pthread_mutex_init(&m.lock, NULL);
	m.xe = xe;
	m.device = id;
	m.a24 = id == 0x7d55;
	m.pec = id == 0x64a0;
	m.eus = 96;
	m.perf_paranoid = 2;
	m.stream = -1;
	m.room = ROOM;
	/* all counters are about to wrap */
	for (int n = 0; n < RAWS; n++)
		m.base.raws[n] = m.pec ? -(uint64_t)(n + 1) : (UINT64_C(1) << 40) - 1 - (uint64_t)n;
	m.base.clocks = m.pec ? UINT64_C(1) << 40 : 0xffff0000;
	m.base.ticks = m.pec ? UINT64_C(1) << 40 : 0xfffff000;
	sys = perfctr_sys_real;
	sys.ioctl = fake_ioctl;
	sys.read = fake_read;
	sys.poll = fake_poll;
	sys.nonblock = fake_nonblock;
	sys.open = fake_open;
	sys.dup = fake_dup;
	sys.close = fake_close;
	sys.list = fake_list;
	sys.node_number = fake_node_number;
	return &sys;
}
