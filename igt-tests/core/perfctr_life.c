// SPDX-License-Identifier: MIT
/**
 * TEST: A session lives as long as its descriptor, and each holder may use it
 * Description: The device's file closed, removal of device and module, fork(), SCM_RIGHTS,
 *   O_NONBLOCK, signals.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_raw.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

/* shorter than the time after which the core gives up an answer of the firmware */
#define SILENT_NS (50 * MS)

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

/* References, but those of the modules that call it; negative: it is built in. */
static int users_of(const char *module)
{
	char path[64];
	int users;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	users = igt_read_int(path);
	snprintf(path, sizeof(path), "/sys/module/%s/holders", module);
	return users < 0 ? users : users - (int)igt_entries(path);
}

/* until nobody but @users uses the core: sessions and their rings have gone */
static void wait_for_users(int users)
{
	for (unsigned int i = 0; users_of("drm_perfctr") != users; i++) {
		igt_assert_lt(i, 1000);
		igt_sleep_ms(10);
	}
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
	unused = users_of(mine.driver);
	igt_perfctr_reopen(&dev, &mine);
	igt_require_f(unused == 0, "%s is built in or in use\n", mine.driver);
	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_perfctr_close(&dev);
	igt_assert_eq(users_of(mine.driver), 1);
	igt_assert_eq(remove_module(mine.driver), -EWOULDBLOCK);
	count(&s);
	igt_perfctr_session_close(&s);
	igt_assert_eq(users_of(mine.driver), 0);
	igt_perfctr_reopen(&dev, &mine);
}

/* also after the device was removed, while a session of it exists */
static void module_stays_unplugged(void)
{
	const struct igt_perfctr_device mine = dev;

	igt_perfctr_close(&dev);
	igt_require_f(users_of(mine.driver) == 0, "%s is built in or in use\n", mine.driver);
	igt_perfctr_reopen(&dev, &mine);
	igt_perfctr_begin_with(&s, &dev, 4, 0);
	igt_unbind(&dev);
	igt_perfctr_close(&dev);
	igt_assert_eq(users_of(mine.driver), 1);
	igt_assert_eq(remove_module(mine.driver), -EWOULDBLOCK);
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENODEV);
	igt_perfctr_session_close(&s);
	igt_assert_eq(users_of(mine.driver), 0);
	igt_bind_again(&dev);
}

/* parent and child use one session; it ends with the child's descriptor */
static void forked(void)
{
	int go[2], reader;
	struct pollfd p = { .events = POLLIN };
	char byte;
	pid_t pid;

	igt_assert_eq(pipe(go), 0);
	igt_perfctr_begin_with(&s, &dev, 16, 0);
	reader = igt_perfctr_session_reader(&s);
	pid = fork();
	igt_assert_lte(0, pid);
	if (!pid) {
		close(go[1]);
		/* until the parent closes its end */
		if (igt_perfctr_sample(&s, 11) || read(go[0], &byte, 1) ||
		    igt_perfctr_sample(&s, 12))
			_exit(1);
		_exit(0);
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
	igt_assert_eq(waitpid(pid, NULL, 0), pid);
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

/* START waits for the end of a reset, SAMPLE and STOP for firmware that does not answer */
static void nonblocking(void)
{
	const uint64_t reset_ms = 400;
	uint64_t start_ns;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_assert_eq(fcntl(s.fd, F_SETFL, O_NONBLOCK), 0);
	igt_assert(fcntl(s.fd, F_GETFL) & O_NONBLOCK);
	igt_vsoc_debugfs_u64(&dev, "reset_ms", reset_ms);
	start_ns = igt_raw_ns();
	igt_fork(child, 1)
		igt_vsoc_debugfs(&dev, "reset", "1");
	igt_sleep_ms(reset_ms / 4);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_lte_u64(reset_ms * MS, igt_raw_ns() - start_ns);
	igt_waitchildren();
	igt_vsoc_debugfs(&dev, "reset_ms", "0");
	igt_fault_arm(&dev, "no_ack", 1);
	start_ns = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_lte_u64(SILENT_NS, igt_raw_ns() - start_ns);
	igt_assert_eq_u32(igt_fault_disarm(&dev, "no_ack"), 1);
	igt_perfctr_finish(&s);
	igt_perfctr_session_close(&s);
}

static void on_alarm(int number)
{
}

static void *sample_silent(void *data)
{
	*(int *)data = igt_perfctr_sample(&s, 1);
	return NULL;
}

/* what @call returns when a signal arrives while a sample of @s waits for the firmware */
static int interrupt(int (*call)(struct igt_perfctr_session *of), struct igt_perfctr_session *of)
{
	/* without SA_RESTART */
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction before;
	pthread_t thread;
	sigset_t alarms;
	int first, ret;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	igt_assert_eq(sigaction(SIGALRM, &action, &before), 0);
	igt_fault_arm(&dev, "no_ack", 1);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	igt_assert_eq(pthread_create(&thread, NULL, sample_silent, &first), 0);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	igt_sleep_ms(5);
	setitimer(ITIMER_REAL, &soon, NULL);
	ret = call(of);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_assert_eq(first, 0);
	igt_fault_disarm(&dev, "no_ack");
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	sigaction(SIGALRM, &before, NULL);
	return ret;
}

static int sample_2(struct igt_perfctr_session *of)
{
	return igt_perfctr_sample(of, 2);
}

/* of 20 attempts, whose timing decides, at least one is interrupted */
static void interrupted(void)
{
	unsigned int interrupts = 0;

	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		int ret;

		igt_perfctr_begin_with(&s, &dev, 8, 0);
		ret = interrupt(sample_2, &s);
		igt_assert(!ret || ret == -EINTR);
		/* no effect, and it can be repeated */
		igt_assert_eq_u64(igt_perfctr_status(&s).published, ret ? 1 : 2);
		interrupts += !!ret;
		if (ret)
			igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(s.samples, 3);
		igt_perfctr_session_close(&s);
	}
	igt_info("%u of 20 were interrupted\n", interrupts);
	igt_assert_lt(0, interrupts);
}

static void interrupted_in_open(void)
{
	unsigned int interrupts = 0, files;
	struct igt_perfctr_session other;
	int users;

	igt_perfctr_begin_with(&s, &dev, 64, 0);
	files = igt_open_files();
	users = users_of("drm_perfctr");
	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		int ret;

		igt_perfctr_session_init(&other, &dev);
		ret = interrupt(igt_perfctr_session_try_bare, &other);
		igt_assert(!ret || ret == -EINTR);
		interrupts += !!ret;
		if (!ret)
			igt_perfctr_session_end(&other);
		igt_assert_eq(igt_open_files(), files);
		wait_for_users(users);
	}
	igt_info("%u of 20 were interrupted\n", interrupts);
	igt_assert_lt(0, interrupts);
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(s.samples, 21);
	igt_perfctr_session_close(&s);
}

/* OPEN of the largest ring until killed, at any point of it: nothing is left */
static void killed_in_open(void)
{
	const int users = users_of("drm_perfctr");

	for (unsigned int i = 0; i < 40; i++) {
		int ready[2];
		char byte;
		pid_t pid;

		igt_assert_eq(pipe(ready), 0);
		pid = fork();
		igt_assert_lte(0, pid);
		if (!pid) {
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
		kill(pid, SIGKILL);
		igt_assert_eq(waitpid(pid, NULL, 0), pid);
	}
	wait_for_users(users);
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
	/* Covers: Life of the descriptor */
	igt_describe("O_NONBLOCK has no effect: START and SAMPLE wait for the hardware");
	igt_subtest("life-nonblock") igt_vsoc_only(&dev, nonblocking);
	/* Covers: command -EINTR */
	igt_describe("a command that a signal interrupts is -EINTR without effect");
	igt_subtest("life-interrupted") igt_vsoc_only(&dev, interrupted);
	/* Covers: open -EINTR */
	igt_describe("an OPEN that a signal interrupts is -EINTR, and leaves no session");
	igt_subtest("life-open-interrupted") igt_vsoc_only(&dev, interrupted_in_open);
	igt_describe("a process that is killed in OPEN ends, and leaves no session and no ring");
	igt_subtest("life-killed") killed_in_open();
	igt_fixture()
		igt_perfctr_close(&dev);
}
