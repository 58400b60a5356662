// SPDX-License-Identifier: MIT
/**
 * TEST: A session lives as long as its descriptor, and each holder may use it
 * Description: The device's file closed, removal of device and module, fork(), SCM_RIGHTS, a kill.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_raw.h"
#include "igt_sys.h"

static struct igt_perfctr_device dev;
static struct igt_perfctr_session s;

static void count(struct igt_perfctr_session *session)
{
	igt_assert_eq(igt_perfctr_start(session, 1), 0);
	igt_assert_eq(igt_perfctr_sample(session, 2), 0);
	igt_assert_eq(igt_perfctr_stop(session, 3), 0);
	igt_assert_eq(igt_perfctr_drain(session), 2);
	igt_assert_eq_u64(session->last.user_data, 3);
}

static void closed_first(void)
{
	struct igt_perfctr_device mine;
	struct igt_perfctr_session r;

	igt_perfctr_reopen(&mine, &dev);
	igt_perfctr_session_init(&s, &mine);
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_perfctr_close(&mine);
	igt_perfctr_session_map(&s);
	igt_assert_eq_u32(s.control->state, 0);
	count(&s);
	igt_perfctr_session_init(&r, &dev);
	igt_raw_opened(&r, igt_perfctr_session_reader(&s));
	igt_perfctr_session_close(&r);
	count(&s);
	igt_assert_eq_u64(igt_perfctr_status(&s).published, 4);
	igt_perfctr_session_close(&s);
}

static void unplugged(void)
{
	struct igt_perfctr_session r;

	igt_perfctr_begin_with(&s, &dev, 4, 0);
	igt_assert_eq(igt_perfctr_sample(&s, 7), 0);
	igt_perfctr_session_unmap(&s);
	igt_unbind(&dev);
	for (unsigned int i = 0; i < 2; i++) {
		igt_assert_eq(igt_perfctr_start(&s, 0), -ENODEV);
		igt_assert_eq(igt_perfctr_sample(&s, 0), -ENODEV);
		igt_assert_eq(igt_perfctr_stop(&s, 0), -ENODEV);
	}
	igt_assert_eq_u32(igt_perfctr_status(&s).flags, DRM_PERFCTR_STATUS_DEAD);
	igt_assert_eq_u64(igt_perfctr_status(&s).published, 2);
	/* LAYOUT, READER and mmap() work */
	igt_perfctr_session_init(&r, &dev);
	igt_raw_opened(&r, igt_perfctr_session_reader(&s));
	igt_perfctr_session_map(&r);
	igt_assert_eq(igt_perfctr_drain(&r), 2);
	igt_assert(r.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	igt_perfctr_session_map(&s);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_bind_again(&dev);
	/* the device is another one */
	igt_assert_eq(igt_perfctr_start(&s, 0), -ENODEV);
	igt_perfctr_session_close(&s);
	igt_assert_eq_u64(igt_perfctr_slot(&r, 0)->user_data, 7);
	igt_perfctr_session_close(&r);
}

/* 0 or -errno */
static int remove_module(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? -errno : 0;
}

static void module_stays(void)
{
	struct igt_perfctr_device mine = dev;
	int unused;

	/* without the file, nobody uses the driver */
	igt_perfctr_close(&dev);
	unused = igt_module_users(mine.driver);
	igt_perfctr_reopen(&dev, &mine);
	igt_require_f(unused == 0, "%s is built in or in use\n", mine.driver);
	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_perfctr_close(&dev);
	igt_assert_eq(igt_module_users(mine.driver), 1);
	igt_assert_eq(remove_module(mine.driver), -EWOULDBLOCK);
	count(&s);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_module_users(mine.driver), 0);
	igt_perfctr_reopen(&dev, &mine);
}

/* also after the device was removed, while a session of it exists */
static void module_stays_unplugged(void)
{
	const struct igt_perfctr_device mine = dev;

	igt_perfctr_close(&dev);
	igt_require_f(igt_module_users(mine.driver) == 0, "%s is built in or in use\n",
		      mine.driver);
	igt_perfctr_reopen(&dev, &mine);
	igt_perfctr_begin_with(&s, &dev, 4, 0);
	igt_unbind(&dev);
	igt_perfctr_close(&dev);
	igt_assert_eq(igt_module_users(mine.driver), 1);
	igt_assert_eq(remove_module(mine.driver), -EWOULDBLOCK);
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENODEV);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_module_users(mine.driver), 0);
	igt_bind_again(&dev);
}

/* parent and child use one session; it ends with the child's descriptor */
static void forked(void)
{
	int go[2], reader;
	struct pollfd p = { .events = POLLIN };
	char byte;

	igt_assert_eq(pipe(go), 0);
	igt_perfctr_begin_with(&s, &dev, 16, 0);
	reader = igt_perfctr_session_reader(&s);
	igt_fork(child, 1) {
		close(go[1]);
		igt_assert_eq(igt_perfctr_sample(&s, 11), 0);
		/* until the parent closes its end */
		igt_assert_eq(read(go[0], &byte, 1), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 12), 0);
	}
	close(go[0]);
	igt_perfctr_wait_unread(&s, 1);
	igt_assert_eq(igt_perfctr_sample(&s, 10), 0);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_ACTIVE);
	close(go[1]);
	igt_perfctr_wait_unread(&s, 3);
	p.fd = reader;
	p.events = 0;
	igt_assert_eq(poll(&p, 1, 10000), 1);
	igt_assert(p.revents & POLLHUP);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_waitchildren();
	igt_assert_eq(igt_perfctr_drain(&s), 3);
	igt_assert_eq_u64(s.last.user_data, 12);
	igt_perfctr_session_close(&s);
	close(reader);
}

/* a descriptor in a socket's queue keeps the session, which counts */
static void in_flight(void)
{
	int sockets[2], fd;

	igt_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	igt_perfctr_begin_with(&s, &dev, 1024, MS);
	igt_send_fd(sockets[0], s.fd);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_perfctr_wait_unread(&s, igt_perfctr_unread(&s) + 5);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_ACTIVE);
	fd = igt_receive_fd(sockets[1]);
	s.fd = fd;
	igt_assert_eq(igt_perfctr_stop(&s, 9), 0);
	igt_perfctr_drain(&s);
	igt_assert_eq_u64(s.last.user_data, 9);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_send_fd(sockets[0], s.fd);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	/* nobody receives it */
	close(sockets[0]);
	close(sockets[1]);
	for (unsigned int i = 0; s.control->state != DRM_PERFCTR_RING_DEAD; i++) {
		igt_assert_lt(i, 1000);
		igt_sleep_ms(10);
	}
	igt_perfctr_session_close(&s);
}

/* OPEN of the largest ring until killed, at any point of it: nothing is left */
static void killed_in_open(void)
{
	const int users = igt_module_users("drm_perfctr");

	for (unsigned int i = 0; i < 40; i++) {
		int ready[2];
		char byte;

		igt_assert_eq(pipe(ready), 0);
		igt_fork(child, 1) {
			igt_perfctr_session_init(&s, &dev);
			s.params.request_count = 1;
			igt_assert_eq(igt_perfctr_session_check(&s), 0);
			while (s.params.slots < dev.info.max_slots &&
			       2ull * s.params.slots * s.layout.slot_stride <=
				       dev.info.max_ring_bytes / 8)
				s.params.slots *= 2;
			if (write(ready[1], "", 1) != 1)
				_exit(1);
			for (;;)
				if (!igt_perfctr_session_try_bare(&s))
					igt_perfctr_session_end(&s);
		}
		close(ready[1]);
		igt_assert_eq(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		usleep(i * 377);
		igt_kill_and_wait();
	}
	igt_await_core_users(users);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	/* Covers: Life of the descriptor */
	igt_describe("a session whose device's file is closed before START works as any other");
	igt_subtest("life-closed-first") closed_first();
	/* Covers: Life of the descriptor, command -ENODEV, DRM_PERFCTR_STATUS_DEAD */
	igt_describe("after removal START, SAMPLE and STOP are -ENODEV; STATUS, LAYOUT, READER and "
		     "mmap() work");
	igt_subtest("life-unplugged") unplugged();
	/* Covers: Life of the descriptor */
	igt_describe("the driver's module cannot be removed while a session exists");
	igt_subtest("life-module") module_stays();
	igt_describe("nor while a session of a removed device exists");
	igt_subtest("life-module-unplugged") module_stays_unplugged();
	igt_describe("a forked child uses the session, which ends with the child's descriptor");
	igt_subtest("life-fork") forked();
	igt_describe("a session in a socket's queue counts until nobody can receive it");
	igt_subtest("life-in-flight") in_flight();
	igt_describe("a process that is killed in OPEN ends, and leaves no session and no ring");
	igt_subtest("life-killed") killed_in_open();
	igt_fixture()
		igt_perfctr_close(&dev);
}
