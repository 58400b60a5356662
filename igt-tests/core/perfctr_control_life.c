// SPDX-License-Identifier: MIT
/**
 * TEST: PERF_CONTROL: what is refused, what is hostile, and what ends
 * Description: Wrong arguments and buffers, indices and pages that the application changes, and the
 * ends of sessions, files and devices.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"
#include "igt_sys.h"

static struct igt_perfctr_device dev;
static struct igt_control c, c2, c3;

/* the result of SETUP, without the session: the end of one is a signal, a failure is none */
static int probe(void)
{
	int ret = igt_control_setup(&c);

	if (ret > 0)
		igt_assert_eq(igt_control_teardown(&c), 0);
	igt_assert_eq(igt_control_signals(&c), ret > 0);
	return ret > 0 ? 0 : ret;
}

/* it still counts: START, SAMPLE, STOP */
static void assert_works(struct igt_control *control)
{
	igt_assert_eq(igt_control_command(control, IGT_CONTROL_START, 1), 0);
	igt_known_work(&dev, 1);
	igt_control_sample(control, 2);
	igt_control_stop(control, 3);
}

static unsigned int count_lines(FILE *f)
{
	unsigned int lines = 0;
	char line[256];

	while (fgets(line, sizeof(line), f))
		lines++;
	return lines;
}

/* sessions of the device, by debugfs */
static unsigned int sessions(void)
{
	unsigned int lines = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/perfctr_sessions", dev.minor);
	f = fopen(path, "re");
	igt_require_f(f, "no %s\n", path);
	if (f) {
		lines = count_lines(f);
		fclose(f);
	}
	/* a title */
	igt_assert_lt(0, lines);
	return lines - 1;
}

/* --- arguments ----------------------------------------------------------- */

/* SETUP with a structure of that size, of which @tail follows those that are known */
static int setup_sized(uint64_t size, uint8_t tail)
{
	static uint8_t buffer[8192];
	int ret;

	memset(buffer, 0, sizeof(buffer));
	memcpy(buffer, &c.setup, sizeof(c.setup));
	buffer[sizeof(c.setup)] = tail;
	ret = igt_control_call(c.fd, IGT_CONTROL_SETUP, 0, size, buffer);
	if (ret <= 0)
		return ret;
	igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_TEARDOWN, ret, 0, NULL), 0);
	return 0;
}

static void size_tests(void)
{
	igt_describe("a structure that is one byte shorter is refused, a longer one that is zero "
		     "there works");
	igt_subtest("control-sizes")
	{
		static const uint64_t data[2];

		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(setup_sized(sizeof(c.setup), 0), 0);
		igt_assert_eq(setup_sized(sizeof(c.setup) - 1, 0), -EINVAL);
		igt_assert_eq(setup_sized(sizeof(c.setup) + 1, 0), 0);
		igt_assert_eq(setup_sized(sizeof(c.setup) + 1, 1), -E2BIG);
		igt_assert_eq(setup_sized(8192, 0), -E2BIG);
		igt_assert_eq(setup_sized(UINT64_MAX, 0), -E2BIG);
		igt_assert_eq(setup_sized(0, 0), -EINVAL);
		for (unsigned int cmd = IGT_CONTROL_START; cmd <= IGT_CONTROL_SAMPLE; cmd++) {
			igt_assert_eq(igt_control_call(c.fd, cmd, c.id, 7, data), -EINVAL);
			igt_assert_eq(igt_control_call(c.fd, cmd, c.id, 8, NULL), -EFAULT);
		}
		igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_START, c.id, 9, data), 0);
		igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_STOP, c.id, 16, data), 0);
		igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_SETUP, 0, sizeof(c.setup), NULL),
			      -EFAULT);
		igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_SAMPLE + 1, c.id, 8, data),
			      -EINVAL);
		igt_control_close(&c);
	}
	igt_describe("TEARDOWN takes any size and any pointer");
	igt_subtest("control-teardown-size")
	{
		static const uint64_t sizes[] = { 0, 1, 48, 4096, UINT64_MAX };

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
			int id = igt_control_setup(&c);

			igt_assert_lt(0, id);
			igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_TEARDOWN, id, sizes[i],
						       i % 2 ? (void *)1 : NULL),
				      0);
			igt_assert_eq(igt_control_call(c.fd, IGT_CONTROL_TEARDOWN, id, 48, NULL),
				      -EINVAL);
		}
		c.id = 0;
		igt_control_close(&c);
	}
}

static void member_tests(void)
{
	igt_describe("members of SETUP that are out of range are refused");
	igt_subtest("control-members")
	{
		struct igt_control_setup good;

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		good = c.setup;
		igt_assert_eq(probe(), 0);
#define REFUSED(member, value, error)          \
	do {                                   \
		c.setup = good;                \
		c.setup.member = value;        \
		igt_assert_eq(probe(), error); \
	} while (0)
		REFUSED(pad[6], 1, -EINVAL);
		REFUSED(set, 3, -EINVAL);
		REFUSED(set, 255, -EINVAL);
		REFUSED(slots, 0, -EINVAL);
		REFUSED(slots, 31, -EINVAL);
		REFUSED(slots, 1u << 17, -ERANGE);
		REFUSED(slots, 1u << 31, -ERANGE);
		REFUSED(eventfd, UINT32_MAX, -EBADF);
		REFUSED(eventfd, 12345, -EBADF);
		REFUSED(eventfd, c.fd, -EINVAL);
		REFUSED(period_ns, 1, -ERANGE);
		REFUSED(period_ns, UINT64_MAX, -ERANGE);
		c.setup = good;
		memset(c.setup.masks, 0, sizeof(c.setup.masks));
		igt_assert_eq(probe(), -EINVAL);
		/* header words only; of no block of the device */
		c.setup.masks[1][0] = 0xf;
		igt_assert_eq(probe(), -EINVAL);
		c.setup.masks[1][0] = 0;
		c.setup.masks[5][0] = UINT64_MAX;
		igt_assert_eq(probe(), c.info.blocks[5] ? 0 : -EINVAL);
		/* what does not exist is ignored beside what does */
		memset(c.setup.masks, 0xff, sizeof(c.setup.masks));
		igt_assert_lt(0, igt_control_setup(&c));
		assert_works(&c);
		igt_control_close(&c);
	}
	igt_describe("without CAP_PERFMON SETUP is -EPERM, unless users may watch each other");
	igt_subtest("control-permission")
	{
		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_perfctr_sysctl("paranoid", "1");
		igt_fork(child, 1) {
			igt_drop_to(IGT_NOBODY, 0);
			igt_assert_eq(probe(), -EPERM);
		}
		igt_waitchildren();
		igt_perfctr_sysctl("paranoid", "0");
		igt_fork(child, 1) {
			igt_drop_to(IGT_NOBODY, 0);
			igt_assert_eq(probe(), 0);
			/* a period that only the capability allows */
			c.setup.period_ns = 20000;
			igt_assert_eq(probe(), -EPERM);
		}
		igt_waitchildren();
		igt_perfctr_sysctl("paranoid", "1");
		igt_control_close(&c);
	}
	igt_describe("buffers count in the memory of rings that a user may have");
	igt_subtest("control-charged")
	{
		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_perfctr_sysctl("paranoid", "0");
		for (int less = 0; less < 2; less++) {
			char kb[16];

			snprintf(kb, sizeof(kb), "%d",
				 (int)((c.ring.bytes + c.control.bytes) / 1024) - less);
			igt_perfctr_sysctl("max_user_ring_kb", kb);
			igt_fork(child, 1) {
				igt_drop_to(IGT_NOBODY, 0);
				igt_assert_eq(probe(), less ? -EDQUOT : 0);
				/* what was given back can be had again */
				igt_assert_eq(probe(), less ? -EDQUOT : 0);
			}
			igt_waitchildren();
		}
		igt_perfctr_default_limits();
		igt_perfctr_sysctl("paranoid", "1");
		igt_control_close(&c);
	}
}

/* --- buffers ------------------------------------------------------------- */

static void buffer_tests(void)
{
	igt_describe(
		"buffers that are too small, closed, of another file, or no buffers are refused");
	igt_subtest("control-buffers")
	{
		const uint64_t page = sysconf(_SC_PAGESIZE);
		struct igt_control_buffer theirs, small;
		struct igt_perfctr_device other;
		struct igt_control_setup good;

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		good = c.setup;
		igt_perfctr_reopen(&other, &dev);
		/* numbers are given from 1 on: one that this file does not have */
		do {
			igt_assert_eq(igt_control_buffer_create(&dev, other.fd, c.ring.bytes,
								PROT_READ, &theirs),
				      0);
			munmap(theirs.at, theirs.bytes);
		} while (theirs.handle <= c.ring.handle || theirs.handle <= c.control.handle);
		REFUSED(ring, theirs.handle, -EINVAL);
		REFUSED(control, theirs.handle, -EINVAL);
		igt_perfctr_close(&other);
		REFUSED(ring, 0, -EINVAL);
		REFUSED(ring, UINT32_MAX, -EINVAL);
		REFUSED(control, 0, -EINVAL);
		/* a page less than the slots need, and one slot more than it has */
		igt_assert_eq(igt_control_buffer_create(&dev, c.fd, c.ring.bytes - page, PROT_READ,
							&small),
			      0);
		REFUSED(ring, small.handle, -EINVAL);
		igt_control_buffer_close(c.fd, &small);
		REFUSED(slots, 2 * IGT_CONTROL_SLOTS, -EINVAL);
		REFUSED(ring, c.control.handle, -EINVAL);
		/* one buffer for both, and for two sessions: only their application is confused */
		c.setup = good;
		c.setup.control = c.ring.handle;
		igt_assert_eq(probe(), 0);
		c.setup = good;
		igt_control_close(&c);
	}
	igt_describe(
		"the area of indices is within its buffer, at a multiple of 8: 8 works, 4088 and "
		"4090 of 4096 bytes do not");
	igt_subtest("control-offsets")
	{
		static const struct {
			uint64_t offset;
			bool good;
		} offsets[] = {
			{ 8, true },
			{ 4080, true },
			{ 4088, false },
			{ 4090, false },
			{ 4, false },
			{ 4096, false },
			{ UINT64_MAX - 7, false },
			{ UINT64_MAX - 15, false },
			{ 1ull << 32, false },
		};

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_require(c.control.bytes == 4096);
		for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++) {
			c.setup.control_offset = offsets[i].offset;
			if (!offsets[i].good) {
				igt_assert_eq(probe(), -EINVAL);
				continue;
			}
			memset(c.control.at, 0xab, c.control.bytes);
			igt_assert_lt(0, igt_control_setup(&c));
			igt_assert_eq_u64(c.indices[1], 0);
			assert_works(&c);
			igt_assert_eq_u64(c.indices[1], 2);
			/* beside the area nothing was written */
			for (unsigned int at = 0; at < c.control.bytes; at++)
				if (at - offsets[i].offset >= 16)
					igt_assert_eq(c.control.at[at], 0xab);
			igt_assert_eq(igt_control_teardown(&c), 0);
			igt_assert_eq(igt_control_signals(&c), 1);
			c.samples = 0;
		}
		igt_control_close(&c);
	}
	igt_describe("handles of the buffers that are closed in the middle of sampling: samples "
		     "and signals go on; buffers that are unmapped, too: the session goes on");
	igt_subtest("control-buffers-closed")
	{
		struct drm_gem_close ring, control;
		uint64_t insert;

		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, MS);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 1), 0);
		ring = (struct drm_gem_close){ .handle = c.ring.handle };
		control = (struct drm_gem_close){ .handle = c.control.handle };
		igt_assert_eq(ioctl(c.fd, DRM_IOCTL_GEM_CLOSE, &ring), 0);
		igt_assert_eq(ioctl(c.fd, DRM_IOCTL_GEM_CLOSE, &control), 0);
		c.ring.handle = 0;
		c.control.handle = 0;
		/* of the time before, and 100 more */
		igt_control_drain(&c);
		for (insert = c.indices[1]; c.indices[1] - insert < 100;) {
			igt_assert(igt_control_ready(&c, 10000));
			igt_control_drain(&c);
		}
		igt_control_stop(&c, 2);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 3), 0);
		igt_control_buffer_close(c.fd, &c.ring);
		igt_control_buffer_close(c.fd, &c.control);
		igt_control_signals(&c);
		for (unsigned int signals = 0; signals < 10;) {
			igt_assert(igt_control_ready(&c, 10000));
			signals += igt_control_signals(&c);
		}
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 4), 0);
		igt_control_close(&c);
	}
}

/* --- what the application may write -------------------------------------- */

static void hostile_tests(void)
{
	igt_describe("an impossible extract index frees no slot, and no slot is freed twice");
	igt_subtest("control-hostile-index")
	{
		static const uint64_t hostile[] = {
			4, 5, UINT64_MAX, 1ull << 32, (1ull << 32) + 3, 1ull << 63, UINT64_MAX - 3,
		};

		igt_control_open(&c, &dev, 4, 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 1), 0);
		for (unsigned int i = 0; i < 3; i++) {
			igt_known_work(&dev, i);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, i), 0);
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(hostile); i++) {
			c.indices[0] = hostile[i];
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 9), -ENOSPC);
			igt_assert_eq_u64(c.indices[1], 3);
		}
		c.indices[0] = 0;
		igt_control_drain(&c);
		igt_assert_eq_u64(c.samples, 3);
		/* back to a slot that was freed */
		igt_control_sample(&c, 10);
		c.indices[0] = 2;
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 11), 0);
		c.indices[0] = 4;
		igt_control_stop(&c, 12);
		igt_assert_eq_u64(c.samples, 6);
		igt_control_close(&c);
	}
	igt_describe(
		"the kernel reads nothing back of what it writes: an application that writes to "
		"all of its ring and to the insert index changes nothing but that");
	igt_subtest("control-hostile-pages")
	{
		struct igt_control_buffer ring;

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_control_buffer_create(&dev, c.fd, c.ring.bytes,
							PROT_READ | PROT_WRITE, &ring),
			      0);
		igt_control_buffer_close(c.fd, &c.ring);
		c.ring = ring;
		c.setup.ring = ring.handle;
		igt_assert_lt(0, igt_control_setup(&c));
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 1), 0);
		for (unsigned int i = 0; i < 100; i++) {
			memset(ring.at, (int)(i * 37), ring.bytes);
			c.indices[1] = i * 0x123456789ull;
			igt_control_sample(&c, i);
			igt_assert_eq_u64(c.indices[1], i + 1);
		}
		igt_control_stop(&c, 1);
		igt_control_close(&c);
	}
}

/* --- ends ---------------------------------------------------------------- */

static void number_tests(void)
{
	igt_describe("a session's number is valid for its file and until TEARDOWN");
	igt_subtest("control-numbers")
	{
		struct igt_perfctr_device other;
		int id;

		igt_perfctr_reopen(&other, &dev);
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		id = c.id;
		c.fd = other.fd;
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), -EINVAL);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 0), -EINVAL);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 0), -EINVAL);
		igt_assert_eq(igt_control_teardown(&c), -EINVAL);
		c.fd = dev.fd;
		c.id = id + 1;
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), -EINVAL);
		c.id = 0;
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), -EINVAL);
		c.id = id;
		assert_works(&c);
		igt_assert_eq(igt_control_teardown(&c), 0);
		c.id = id;
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), -EINVAL);
		c.id = 0;
		igt_perfctr_close(&other);
		igt_control_close(&c);
	}
	igt_describe("commands out of order: START twice, SAMPLE and STOP without START");
	igt_subtest("control-order")
	{
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 0), -ENOTCONN);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 0), -EALREADY);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), -EALREADY);
		igt_control_stop(&c, 0);
		igt_assert(!igt_control_ready(&c, 0));
		igt_control_close(&c);
	}
}

#define KILLED_SESSIONS 5

static _Noreturn void sample_for_ever(void)
{
	struct igt_perfctr_device other;

	igt_perfctr_reopen(&other, &dev);
	igt_perfctr_close(&dev);
	for (unsigned int i = 0; i < KILLED_SESSIONS; i++) {
		igt_control_open(&c, &other, IGT_CONTROL_SLOTS, i ? MS : 0);
		igt_control_command(&c, IGT_CONTROL_START, 0);
	}
	for (;;)
		igt_control_command(&c, IGT_CONTROL_SAMPLE, 0);
}

/* the eventfd in so many epoll sets, so often each: signals take long */
static void add_waiters(int fd, int *fds, unsigned int count)
{
	struct epoll_event item = { .events = EPOLLIN | EPOLLET };

	for (unsigned int i = 0; i < count; i++) {
		fds[i] = dup(fd);
		fds[count + i] = epoll_create1(EPOLL_CLOEXEC);
		igt_assert_lte(0, fds[count + i]);
		for (unsigned int n = 0; n <= i; n++)
			igt_assert_eq(epoll_ctl(fds[count + i], EPOLL_CTL_ADD, fds[n], &item), 0);
	}
}

static void end_tests(void)
{
	igt_describe("an eventfd with thousands of waiters, and TEARDOWN at once: the signals of "
		     "two samples and of the end are there");
	igt_subtest("control-teardown-signals")
	{
		int fds[2 * 140];

		for (unsigned int round = 0; round < 10; round++) {
			igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
			add_waiters(c.eventfd, fds, ARRAY_SIZE(fds) / 2);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), 0);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 0), 0);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 0), 0);
			igt_assert_eq(igt_control_teardown(&c), 0);
			igt_assert_eq(igt_control_signals(&c), 3);
			for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
				close(fds[i]);
			igt_control_close(&c);
		}
	}
	igt_describe(
		"TEARDOWN of an active session adds one to the eventfd, and its buffers are free");
	igt_subtest("control-teardown-active")
	{
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), 0);
		igt_assert_eq(igt_control_teardown(&c), 0);
		igt_assert(igt_control_ready(&c, 10000));
		igt_assert_eq(igt_control_signals(&c), 1);
		igt_assert_lt(0, igt_control_setup(&c));
		assert_works(&c);
		igt_control_close(&c);
	}
	igt_describe(
		"closing the device's file ends its sessions, active and not, and no other ones");
	igt_subtest("control-file-closed")
	{
		const unsigned int others = sessions();
		struct igt_perfctr_device other;

		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 1), 0);
		for (unsigned int i = 0; i < 20; i++) {
			igt_perfctr_reopen(&other, &dev);
			igt_control_open(&c2, &other, IGT_CONTROL_SLOTS, i % 2 ? MS : 0);
			if (i % 4 > 1)
				igt_assert_eq(igt_control_command(&c2, IGT_CONTROL_START, 0), 0);
			igt_assert_eq(sessions(), others + 2);
			/* the mappings of the buffers keep the file */
			munmap(c2.ring.at, c2.ring.bytes);
			munmap(c2.control.at, c2.control.bytes);
			igt_perfctr_close(&other);
			igt_assert_eq(sessions(), others + 1);
			igt_assert(igt_control_ready(&c2, 10000));
			close(c2.eventfd);
			close(c2.user_eventfd);
		}
		igt_control_sample(&c, 2);
		igt_control_stop(&c, 3);
		igt_control_close(&c);
		igt_assert_eq(sessions(), others);
	}
	igt_describe("a process that is killed leaves no session");
	igt_subtest("control-killed")
	{
		const unsigned int others = sessions();

		for (unsigned int round = 0; round < 4; round++) {
			igt_fork(child, 1)
				sample_for_ever();
			while (sessions() < others + KILLED_SESSIONS)
				igt_sleep_ms(1);
			/* somewhere in a command */
			usleep(round * 777);
			igt_kill_and_wait();
			igt_assert_eq(sessions(), others);
		}
	}
}

static void *wait_for_ever(void *data)
{
	const struct igt_control *control = data;

	igt_control_ready(control, -1);
	return NULL;
}

static void unplug_tests(void)
{
	igt_describe(
		"a client that waits without a time-out while the device goes: it wakes up, has "
		"the last sample, and one signal more; commands are -ENODEV");
	igt_subtest("control-unplug")
	{
		pthread_t threads[2];

		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_control_open(&c2, &dev, IGT_CONTROL_SLOTS, 0);
		igt_control_open(&c3, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0x5eed), 0);
		igt_known_work(&dev, 0);
		/* of those that were not started there is no sample */
		igt_assert_eq(pthread_create(&threads[0], NULL, wait_for_ever, &c), 0);
		igt_assert_eq(pthread_create(&threads[1], NULL, wait_for_ever, &c2), 0);
		igt_sleep_ms(20);
		igt_unbind(&dev);
		for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
			igt_assert_eq(pthread_join(threads[i], NULL), 0);
		igt_control_get(&c);
		igt_assert_eq_u64(c.last.user_data, 0x5eed);
		igt_assert(igt_control_ready(&c, 10000));
		igt_sleep_ms(50);
		igt_assert_eq(igt_control_signals(&c), 1);
		igt_assert_eq(igt_control_signals(&c2), 1);
		igt_assert_eq(igt_control_signals(&c3), 1);
		igt_assert_eq_u64(c.indices[0], c.indices[1]);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 0), -ENODEV);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 0), -ENODEV);
		igt_assert_eq(igt_control_teardown(&c), -ENODEV);
		c2.id = 0;
		c3.id = 0;
		igt_control_close(&c);
		igt_control_close(&c2);
		igt_control_close(&c3);
		igt_bind_again(&dev);
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		assert_works(&c);
		igt_control_close(&c);
	}
}

/* --- at the same time ---------------------------------------------------- */

static atomic_int shared_id;
static atomic_bool done;

/* commands for a session that may be ended, and may be another one by then */
static void *command(void *data)
{
	const uint64_t user_data = 0;
	unsigned int n = 0;

	while (!done) {
		int ret = igt_control_call(dev.fd, IGT_CONTROL_START + n++ % 3, shared_id,
					   sizeof(user_data), &user_data);

		if (ret && ret != -EINVAL && ret != -ENODEV && ret != -ENOTCONN &&
		    ret != -EALREADY && ret != -ENOSPC)
			*(int *)data = ret;
	}
	return NULL;
}

static void race_tests(void)
{
	igt_describe("commands of other threads while a session is ended and another one has its "
		     "number");
	igt_subtest("control-race")
	{
		const unsigned int others = sessions();
		pthread_t threads[3];
		int wrong = 0;

		done = false;
		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
			igt_assert_eq(pthread_create(&threads[i], NULL, command, &wrong), 0);
		for (unsigned int i = 0; i < 300; i++) {
			shared_id = igt_control_setup(&c);
			igt_assert_lt(0, shared_id);
			usleep(i % 7 * 100);
			igt_assert_eq(igt_control_teardown(&c), 0);
		}
		done = true;
		for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
			igt_assert_eq(pthread_join(threads[i], NULL), 0);
		igt_assert_eq(wrong, 0);
		igt_assert_eq(sessions(), others);
		igt_control_close(&c);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require(igt_perfctr_open_any(&dev));
		igt_control_info(&dev, &c.info);
	}

	size_tests();
	member_tests();
	buffer_tests();
	hostile_tests();
	number_tests();
	end_tests();
	unplug_tests();
	race_tests();

	igt_fixture()
		igt_perfctr_close(&dev);
}
